/* SPDX-License-Identifier: GPL-2.0-only */
/* vdso-lab count: the exact path of one call for each row of the table. */
#ifndef VDSO_COUNT_H
#define VDSO_COUNT_H

#include "session.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace vdso
{

struct row_count {
	std::string row;
	unsigned instructions, loads, stores, taken, multiplies;
	bool syscall;
	std::vector<uint64_t> path; /* offsets in the image */
};

/* One entry for each row; nothing where the image lacks the function. */
std::vector<std::optional<row_count> > count(const environment &env,
					     const image &img);

struct row_info {
	std::string name;
	bool in_table; /* one of the calls that the change logs' tables list */
	bool has_goal;
};
/* What count() returns counts of, in that order. */
const std::vector<row_info> &row_list();

nlohmann::json to_json(const std::vector<std::optional<row_count> > &counts);
void print_table(
	const std::vector<std::string> &paths,
	const std::vector<std::vector<std::optional<row_count> > > &counts);
void print_trace(const image &img, const row_count &count);

} // namespace vdso

#endif
