// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parts of the seeds' tables are in order and slow, so the instructions of a
 * call say nearly all about its time. How much is not assumed: the line comes from
 * the assembly rows, and the C rows of the same table, which it has not seen, say
 * how far off it is. Where that is too far, there is no estimate.
 *
 * On 32 bit, the assembly takes a shorter way for less than 2^20 ticks, which is
 * any time on these parts: that row's count is the one to take.
 */
#include "estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace vdso
{

namespace
{

constexpr double most_error = 0.1;
constexpr const char *short_prefix = "short delta: ";

struct seed_row {
	std::string name;
	unsigned base, upstream, patched;
	double assembly_ns, c_ns;
};

/* How many instructions @row takes when the last update was a moment ago. */
std::optional<unsigned>
moment_ago(const std::vector<std::optional<row_count> > &counts,
	   const std::string &row)
{
	const auto &rows = row_list();
	std::string call =
		row.starts_with("clock_gettime ") ? row.substr(14) : row;
	std::optional<unsigned> found;

	for (size_t i = 0; i < rows.size(); i++)
		if (counts[i] && !counts[i]->syscall &&
		    (rows[i].name == row ||
		     rows[i].name == short_prefix + call))
			found = counts[i]->instructions;
	return found;
}

std::vector<seed_row>
known_rows(const nlohmann::json &seed,
	   const std::vector<std::optional<row_count> > &base,
	   const std::vector<std::optional<row_count> > &patched,
	   const nlohmann::json &upstream)
{
	std::vector<seed_row> known;

	for (const auto &row : row_list()) {
		std::string name = seed_name(row.name);
		auto before = moment_ago(base, row.name);
		auto after = moment_ago(patched, row.name);

		if (!before || !after || !upstream.contains(row.name) ||
		    !seed.at("rows").contains(name))
			continue;
		const auto &measured = seed.at("rows").at(name);
		known.push_back({ name, *before, upstream.at(row.name), *after,
				  measured.at(0), measured.at(1) });
	}
	return known;
}

double error_of(double model, double measured)
{
	return model / measured - 1;
}

} // namespace

std::optional<cost_line>
fit(const std::vector<std::pair<double, double> > &points)
{
	double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;

	for (auto [x, y] : points) {
		double weight = 1 / (y * y);

		w += weight;
		wx += weight * x;
		wy += weight * y;
		wxx += weight * x * x;
		wxy += weight * x * y;
	}
	double determinant = w * wxx - wx * wx;
	if (!(determinant > 1e-9 * w * wxx))
		return std::nullopt;
	double each = (w * wxy - wx * wy) / determinant;
	return cost_line{ (wy - each * wx) / w, each };
}

double median(std::vector<double> values)
{
	if (values.empty())
		return 0;
	std::ranges::sort(values);
	size_t half = values.size() / 2;
	return values.size() % 2 ? values[half] :
				   (values[half - 1] + values[half]) / 2;
}

std::string seed_name(const std::string &row)
{
	std::string name = row.substr(0, row.find('('));

	for (char &c : name)
		c = c == ' ' || c == '_' ? '-' :
					   static_cast<char>(std::tolower(c));
	return name;
}

nlohmann::json estimate(const nlohmann::json &seed,
			const std::vector<std::optional<row_count> > &base,
			const std::vector<std::optional<row_count> > &patched,
			const nlohmann::json &upstream)
{
	auto rows = known_rows(seed, base, patched, upstream);
	std::vector<std::pair<double, double> > points;
	std::vector<double> errors;
	nlohmann::json json = nlohmann::json::array();

	points.reserve(rows.size());
	errors.reserve(rows.size());
	for (const auto &row : rows)
		points.emplace_back(row.base, row.assembly_ns);
	auto line = fit(points);
	if (!line)
		return json;
	for (const auto &row : rows)
		errors.push_back(
			std::abs(error_of(line->at(row.upstream), row.c_ns)));
	double typical = median(errors);
	bool good = typical < most_error;

	fmt::print(
		"  {}: {:.1f} + {:.2f} ns for each instruction, fitted to the assembly's\n"
		"  time as the seed measured it; checked against the seed's C\n",
		seed.at("cpu").get<std::string>(), line->start, line->each);
	fmt::print("  {:<32} {:>8} {:>6} {:>6}  {:>8} {:>6} {:>6}  {}\n", "",
		   "assembly", "line", "error", "seed's C", "line", "error",
		   good ? "this series, estimated" : "");
	for (const auto &row : rows) {
		double a = line->at(row.base), c = line->at(row.upstream);
		std::string mine;

		if (good) {
			mine = fmt::format("{:.0f} ns", line->at(row.patched));
			json.push_back(
				{ { "row", row.name },
				  { "estimated ns", line->at(row.patched) } });
		}
		fmt::print(
			"  {:<32} {:>8} {:>6.0f} {:>+5.0f}%  {:>8} {:>6.0f} {:>+5.0f}%  {}\n",
			row.name, row.assembly_ns, a,
			100 * error_of(a, row.assembly_ns), row.c_ns, c,
			100 * error_of(c, row.c_ns), mine);
	}
	fmt::print("  median error on the seed's C: {:.0f} %{}\n\n",
		   100 * typical,
		   good ? "" : ", so the line estimates nothing here");
	return json;
}

} // namespace vdso
