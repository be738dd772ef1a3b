/* SPDX-License-Identifier: GPL-2.0-only */
/* vdso-native torture: an x86 image on this CPU while its pages are rewritten. */
#ifndef VDSO_NATIVE_TORTURE_H
#define VDSO_NATIVE_TORTURE_H

#include "native.h"

#include <string>

namespace vdso
{

struct native_torture_result {
	uint64_t readings = 0, updates = 0, bad = 0;
	std::string first; /* what was bad */
};

native_torture_result native_torture(const image &img, source src, uint64_t hz,
				     double seconds, bool broken_writer);

/*
 * Calls with the page changed at each instruction in turn. @plain: the counter
 * may have been read before the page was, so its base may be in the future.
 */
native_torture_result native_steps(const image &img, source src, uint64_t hz,
				   bool plain);

} // namespace vdso

#endif
