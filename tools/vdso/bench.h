/* SPDX-License-Identifier: GPL-2.0-only */
/* vdso-lab bench: the assembly and the C image of each kernel side by side. */
#ifndef VDSO_BENCH_H
#define VDSO_BENCH_H

#include "session.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace vdso
{

struct pair_of_images {
	std::string name, base, patched;
};

/* "NAME:BASE:PATCHED" */
pair_of_images parse_pair(const std::string &text);

struct bench_result {
	unsigned met, missed;
	nlohmann::json json;
};

/* @upstream: what the merged C vDSO takes, see upstream.json. Prints the tables. */
bench_result bench(const environment &env,
		   const std::vector<pair_of_images> &pairs,
		   const nlohmann::json &upstream);

} // namespace vdso

#endif
