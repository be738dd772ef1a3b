// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two ways to measure the same image: the lab counts the instructions of one call in
 * a process, and vdso_bench times a loop of calls in a booted guest whose clock
 * counts instructions. If both are right, the guest needs the counted instructions
 * and those of its loop, which are the same few for every call.
 */
#include "agree.h"

#include "count.h"
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

named_counts by_name(const std::vector<std::optional<row_count> > &counts)
{
	named_counts named;

	for (const auto &count : counts) {
		if (!count || count->syscall)
			continue;
		std::string name = count->row;
		bool other_arguments = name.find('(') != std::string::npos &&
				       !name.ends_with("NULL)");
		if (other_arguments)
			continue;
		if (name.starts_with(short_prefix)) {
			name = name.substr(short_prefix.size());
			if (!name.ends_with(')'))
				name.insert(0, "clock_gettime ");
		}
		named[seed_name(name)].push_back(count->instructions);
	}
	return named;
}

} // namespace

agree_pair parse_agree(const std::string &text)
{
	std::istringstream in(text);
	agree_pair pair = {};
	std::string step;

	if (!std::getline(in, pair.image, ':') ||
	    !std::getline(in, step, ':') || !std::getline(in, pair.result, ':'))
		throw user_error{ fmt::format(
			"\"{}\": IMAGE:STEP:RESULT is wanted", text) };
	pair.step = std::stod(step);
	return pair;
}

void overhead::add(double instructions)
{
	least = rows ? std::min(least, instructions) : instructions;
	most = rows ? std::max(most, instructions) : instructions;
	rows++;
}

overhead overhead_of(named_counts counts, bool is64,
		     const nlohmann::json &result, double step)
{
	auto times = guest_times(result, is64);
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

unsigned agree(const environment &env, const std::vector<agree_pair> &pairs)
{
	unsigned bad = 0;

	for (const auto &pair : pairs) {
		image img(pair.image);
		auto result = nlohmann::json::parse(read_file(pair.result));
		overhead sum = overhead_of(by_name(count(env, img)), img.is64(),
					   result, pair.step);

		fmt::print(
			"{} {}, {} bit: {} calls take {:.1f} to {:.1f} instructions more in the guest's loop{}\n",
			result.at("machine").get<std::string>(),
			result.at("variant").get<std::string>(),
			img.is64() ? 64 : 32, sum.rows, sum.least, sum.most,
			sum.steady() ? "" : ": DO NOT AGREE");
		bad += !sum.steady();
	}
	return bad;
}

} // namespace vdso
