// SPDX-License-Identifier: GPL-2.0-only
/*
 * A row's goal is the smaller of what the assembly takes, counted here, and of
 * what the C vDSO as merged upstream takes, which is a constant of the past
 * (upstream.json). Where the assembly makes a system call, only the latter is
 * there to beat. Over the rows of the table that both images have, the
 * geometric mean of the ratios has a goal of its own.
 */
#include "bench.h"
#include "count.h"
#include "estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace vdso
{

namespace
{

constexpr double mean_goal = 0.85;

using counts = std::vector<std::optional<row_count> >;

struct tally {
	unsigned met = 0, missed = 0;
	double log_sum = 0;
	unsigned ratios = 0;

	const char *judge(bool good)
	{
		(good ? met : missed)++;
		return good ? "met" : "NOT MET";
	}
};

std::optional<unsigned> goal_of(const std::string &row,
				const std::optional<row_count> &base,
				const nlohmann::json &upstream)
{
	std::optional<unsigned> goal;

	if (base && !base->syscall)
		goal = base->instructions;
	if (upstream.contains(row))
		goal = std::min(goal.value_or(~0U),
				upstream[row].get<unsigned>());
	return goal;
}

nlohmann::json print_row(const row_info &row,
			 const std::optional<row_count> &base,
			 const row_count &patched,
			 const std::optional<row_count> &peer,
			 const nlohmann::json &upstream, tally &sum)
{
	auto goal = goal_of(row.name, base, upstream);
	bool comparable = base && !base->syscall && !patched.syscall;
	std::string assembly = !base ? "-" :
			       base->syscall ?
				       "syscall" :
				       std::to_string(base->instructions);
	double ratio =
		comparable ? double(patched.instructions) / base->instructions :
			     0;
	const char *verdict = "";
	nlohmann::json json = { { "row", row.name },
				{ "C", patched.instructions } };

	if (base)
		json["assembly"] = base->syscall ?
					   nlohmann::json("syscall") :
					   nlohmann::json(base->instructions);
	if (row.has_goal && goal) {
		verdict = sum.judge(patched.instructions <= *goal);
		json["goal"] = *goal;
		json["met"] = patched.instructions <= *goal;
	}
	if (row.in_table && comparable) {
		sum.log_sum += std::log(ratio);
		sum.ratios++;
	}
	fmt::print("  {:<36} {:>8} {:>6} {:>6} {:>6}  {:<7}{}\n", row.name,
		   assembly, patched.instructions,
		   comparable ? fmt::format("{:.2f}", ratio) : "",
		   row.has_goal && goal ? std::to_string(*goal) : "", verdict,
		   peer ? fmt::format(" {:>6}", peer->instructions) : "");
	if (peer)
		json["peer"] = peer->instructions;
	return json;
}

} // namespace

pair_of_images parse_pair(const std::string &text)
{
	std::vector<std::string> parts(1);

	for (char c : text)
		if (c == ':')
			parts.emplace_back();
		else
			parts.back() += c;
	if (parts.size() < 3 || parts.size() > 5)
		throw user_error{ fmt::format(
			"\"{}\": NAME:BASE:PATCHED[:SEED[:PEER]] is wanted",
			text) };
	parts.resize(5);
	return { parts[0], parts[1], parts[2], parts[3], parts[4] };
}

bench_result bench(const environment &env,
		   const std::vector<pair_of_images> &pairs,
		   const nlohmann::json &upstream)
{
	bench_result result = { 0, 0, nlohmann::json::array() };

	for (const auto &pair : pairs) {
		image base_image(pair.base), patched_image(pair.patched);
		counts base = count(env, base_image),
		       patched = count(env, patched_image),
		       peer(row_list().size());

		if (!pair.peer.empty())
			peer = count(env, image(pair.peer));
		nlohmann::json rows = nlohmann::json::array();
		tally sum;

		fmt::print("{}, {} bit, instructions per call\n", pair.name,
			   patched_image.is64() ? 64 : 32);
		fmt::print("  {:<36} {:>8} {:>6} {:>6} {:>6}  {}\n", "",
			   "assembly", "C", "ratio", "goal",
			   pair.peer.empty() ? "" : "         peer");
		const auto &theirs =
			upstream[patched_image.is64() ? "64" : "32"];
		for (size_t i = 0; i < row_list().size(); i++)
			if (patched[i])
				rows.push_back(print_row(row_list()[i], base[i],
							 *patched[i], peer[i],
							 theirs, sum));
		double mean =
			sum.ratios ? std::exp(sum.log_sum / sum.ratios) : 0;
		fmt::print("  {:<36} {:>8} {:>6} {:>6.2f} {:>6.2f}  {}\n\n",
			   fmt::format("geometric mean of {} rows", sum.ratios),
			   "", "", mean, mean_goal,
			   sum.judge(sum.ratios && mean <= mean_goal));
		result.met += sum.met;
		result.missed += sum.missed;
		result.json.push_back({ { "image", pair.name },
					{ "rows", rows },
					{ "geometric mean", mean } });
		if (!pair.seed.empty())
			result.json.back()["estimate"] = estimate(
				nlohmann::json::parse(read_file(pair.seed)),
				base, patched, theirs);
	}
	fmt::print("{} goals met, {} not met\n", result.met, result.missed);
	return result;
}

} // namespace vdso
