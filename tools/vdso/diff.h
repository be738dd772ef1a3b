/* SPDX-License-Identifier: GPL-2.0-only */
/* vdso-lab diff: images against the reference on random pages. */
#ifndef VDSO_DIFF_H
#define VDSO_DIFF_H

#include "session.h"

#include <cstdint>
#include <string>
#include <vector>

namespace vdso
{

struct diff_options {
	std::vector<std::string> images; /* of one machine and byte order */
	uint64_t cases = 1000000;
	uint64_t seed = 1;
	std::string replay; /* a file with one case */
};

/* The number of images that differ; each difference is printed, shrunk. */
unsigned diff(const environment &env, const diff_options &opt);

} // namespace vdso

#endif
