/* SPDX-License-Identifier: GPL-2.0-only */
/* vdso-native bench: what a plain read of the TSC gains, and what it loses. */
#ifndef VDSO_NATIVE_BENCH_H
#define VDSO_NATIVE_BENCH_H

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace vdso
{

struct native_bench_options {
	std::string base, patched;
	uint64_t calls = 100000000;
	double seconds = 1; /* for each litmus loop */
};

/* Prints the tables. */
nlohmann::json native_bench(const native_bench_options &opt);

} // namespace vdso

#endif
