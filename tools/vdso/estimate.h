/* SPDX-License-Identifier: GPL-2.0-only */
/* Nanoseconds on a part that is not here, from counts and from what was measured there. */
#ifndef VDSO_ESTIMATE_H
#define VDSO_ESTIMATE_H

#include "count.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vdso
{

/* A call takes @start + @each * instructions nanoseconds. */
struct cost_line {
	double start, each;

	double at(double instructions) const
	{
		return start + each * instructions;
	}
};

/*
 * The line with the least sum of squared relative errors through pairs of
 * instructions and nanoseconds; nothing if they are less than two different ones.
 */
std::optional<cost_line>
fit(const std::vector<std::pair<double, double> > &points);

/* The middle of @values, or the mean of the two middle ones; 0 if there are none. */
double median(std::vector<double> values);

/* What a row is called in a seed's table: "clock-getres-realtime-coarse". */
std::string seed_name(const std::string &row);

/*
 * Fits the line to the assembly rows of @seed (qemu/seed/), whose instructions are
 * in @base, checks it against its C rows with the instructions of @upstream, and
 * prints both with their errors. Only if the median of the latter is below a tenth,
 * it also prints, and returns, what @patched is estimated to take.
 */
nlohmann::json estimate(const nlohmann::json &seed,
			const std::vector<std::optional<row_count> > &base,
			const std::vector<std::optional<row_count> > &patched,
			const nlohmann::json &upstream);

} // namespace vdso

#endif
