/* SPDX-License-Identifier: GPL-2.0-only */
/* vdso-verify: what must hold on every path of every function of an image. */
#ifndef VDSO_VERIFY_H
#define VDSO_VERIFY_H

#include "image.h"

#include <cstdint>
#include <string>
#include <vector>

namespace vdso
{

struct violation {
	std::string rule;
	std::string function;
	std::string what;
	std::vector<uint64_t> path; /* offsets, from the function's entry on */
};

std::vector<violation> verify_elf(const image &img);
std::vector<violation> verify_powerpc(const image &img);
std::vector<violation> verify_x86(const image &img);

/* Exported functions that a program calls, that is, all but the signal trampolines. */
std::vector<std::string> callable_functions(const image &img);

} // namespace vdso

#endif
