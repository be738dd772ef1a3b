// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two ways to measure the same code: the lab counts the instructions of one call in
 * a process, and vdso_bench times a loop of calls in a booted guest whose clock
 * counts instructions. If both are right, the guest needs the counted instructions
 * and those of its loop, which are the same few for every call.
 */
#include "agree.h"

#include "estimate.h"
#include "image.h"
#include "process.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

namespace vdso
{

namespace
{

constexpr const char *triple_of_32_bit = "powerpc-linux-gnu";
const std::string short_prefix = "short delta: ";

/* The guest's nanoseconds for each call, by vdsotest's name of it. */
std::map<std::string, double> guest_times(const nlohmann::json &result,
					  bool is64)
{
	std::map<std::string, double> times;

	for (const auto &row : result.at("bench"))
		if (row.at("column") == "vdso" &&
		    (row.at("triple") != triple_of_32_bit) == is64)
			times[row.at("api")] = row.at("nanoseconds");
	return times;
}

/* Counts of one column by vdsotest's name; two where the last update matters. */
std::map<std::string, std::vector<double> >
row_counts(const nlohmann::json &rows, const std::string &column)
{
	std::map<std::string, std::vector<double> > counts;

	for (const auto &row : rows) {
		std::string name = row.at("row");
		bool other_arguments = name.find('(') != std::string::npos &&
				       !name.ends_with("NULL)");

		if (other_arguments || !row.contains(column) ||
		    !row.at(column).is_number())
			continue;
		if (name.starts_with(short_prefix)) {
			name = name.substr(short_prefix.size());
			if (!name.ends_with(')'))
				name.insert(0, "clock_gettime ");
		}
		counts[seed_name(name)].push_back(row.at(column));
	}
	return counts;
}

const nlohmann::json *find_image(const nlohmann::json &counts,
				 const std::string &name)
{
	for (const auto &image : counts)
		if (image.at("image") == name)
			return &image;
	return nullptr;
}

} // namespace

agree_pair parse_agree(const std::string &text)
{
	std::istringstream in(text);
	agree_pair pair = {};
	std::string step;

	if (!std::getline(in, pair.image, ':') ||
	    !std::getline(in, step, ':') || !std::getline(in, pair.base, ':') ||
	    !std::getline(in, pair.patched, ':'))
		throw user_error{ fmt::format(
			"\"{}\": IMAGE:STEP:BASE:PATCHED is wanted", text) };
	pair.step = std::stod(step);
	return pair;
}

void overhead::add(double instructions)
{
	least = rows ? std::min(least, instructions) : instructions;
	most = rows ? std::max(most, instructions) : instructions;
	rows++;
}

overhead overhead_of(const nlohmann::json &rows, const std::string &column,
		     bool is64, const nlohmann::json &result, double step)
{
	auto times = guest_times(result, is64);
	auto counts = row_counts(rows, column);
	std::vector<double> certain;
	overhead sum;

	for (const auto &[name, ns] : times)
		if (counts[name].size() == 1)
			certain.push_back(ns / step - counts[name][0]);
	double typical = median(certain);
	for (const auto &[name, ns] : times) {
		double best = HUGE_VAL;

		for (double count : counts[name])
			if (double rest = ns / step - count;
			    std::abs(rest - typical) < std::abs(best - typical))
				best = rest;
		if (best != HUGE_VAL)
			sum.add(best);
	}
	return sum;
}

unsigned agree(const nlohmann::json &counts,
	       const std::vector<agree_pair> &pairs)
{
	unsigned bad = 0;

	for (const auto &pair : pairs) {
		const nlohmann::json *image = find_image(counts, pair.image);

		if (!image)
			throw user_error{ fmt::format(
				"there are no counts of {}", pair.image) };
		bool is64 = pair.image.ends_with("64");
		for (const auto &[column, file] :
		     { std::pair{ "assembly", pair.base },
		       { "C", pair.patched } }) {
			overhead sum = overhead_of(
				image->at("rows"), column, is64,
				nlohmann::json::parse(read_file(file)),
				pair.step);

			fmt::print(
				"{}, {}: {} calls take {:.1f} to {:.1f} instructions more in the guest's loop{}\n",
				pair.image, column, sum.rows, sum.least,
				sum.most, sum.steady() ? "" : ": DO NOT AGREE");
			bad += !sum.steady();
		}
	}
	return bad;
}

} // namespace vdso
