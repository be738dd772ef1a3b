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

/*
 * Assembly that Linux has without call frame information since 6.11, in the 64-bit
 * image's getrandom(). It has nothing to do with reading a clock; what it does to
 * registers and stack is proven as everything else.
 */
inline constexpr const char *function_without_cfi =
	"__arch_chacha20_blocks_nostack";

std::vector<violation> verify_elf(const image &img);
std::vector<violation> verify_powerpc(const image &img);
std::vector<violation> verify_x86(const image &img);

/* Exported functions that a program calls, that is, all but the signal trampolines. */
std::vector<std::string> callable_functions(const image &img);

/* How a walk got to its node @at: offsets, from the first node on, its own parent. */
template <class N>
std::vector<uint64_t> path_to(const std::vector<N> &nodes, size_t at)
{
	std::vector<uint64_t> path;

	for (size_t n = at;; n = nodes[n].parent) {
		path.insert(path.begin(), static_cast<uint64_t>(nodes[n].pc));
		if (n == nodes[n].parent)
			return path;
	}
}

} // namespace vdso

#endif
