/* SPDX-License-Identifier: GPL-2.0-only */
/* vdso-lab torture: readers of a page that is rewritten all the time. */
#ifndef VDSO_TORTURE_H
#define VDSO_TORTURE_H

#include "session.h"

namespace vdso
{

struct torture_options {
	std::vector<std::string> images;
	uint64_t seconds = 10; /* for all of them together */
	/* The writer does not touch the sequence counter: the readers must notice. */
	bool broken_writer = false;
};

/* The number of images with an inconsistent result. */
unsigned torture(const environment &env, const torture_options &opt);

} // namespace vdso

#endif
