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
	std::string seed, peer; /* may be empty */
};

/* "NAME:BASE:PATCHED[:SEED[:PEER]]" */
pair_of_images parse_pair(const std::string &text);

struct bench_result {
	unsigned met, missed;
	nlohmann::json json;
};

/*
 * @upstream: what the merged C vDSO takes, see upstream.json. Prints the tables,
 * with a column for the peer, and the estimate where there is a seed.
 */
bench_result bench(const environment &env,
		   const std::vector<pair_of_images> &pairs,
		   const nlohmann::json &upstream);

} // namespace vdso

#endif
