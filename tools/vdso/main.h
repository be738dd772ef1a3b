/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How each of the programs here ends when something is wrong: one line on
 * standard error, and a status that is no verdict.
 */
#ifndef VDSO_MAIN_H
#define VDSO_MAIN_H

#include "image.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>

namespace vdso
{

inline int run_main(const char *program, int (*work)(int argc, char **argv),
		    int argc, char **argv)
{
	try {
		return work(argc, argv);
	} catch (const user_error &e) {
		fmt::print(stderr, "{}: {}\n", program, e.what);
	} catch (const std::exception &e) {
		fmt::print(stderr, "{}: {}\n", program, e.what());
	}
	return 2;
}

} // namespace vdso

#endif
