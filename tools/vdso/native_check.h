/* SPDX-License-Identifier: GPL-2.0-only */
/* vdso-native check: everything an x86 image must keep on this CPU, as KTAP. */
#ifndef VDSO_NATIVE_CHECK_H
#define VDSO_NATIVE_CHECK_H

#include <string>
#include <vector>

namespace vdso
{

struct native_check_options {
	std::vector<std::string> images;
	double seconds = 1; /* for each case that is measured by time */
	std::string
		expect; /* "ordered" or "plain" instead of what the image is */
	bool broken_writer = false;
};

/* The exit status of a KTAP program. */
int native_check(const native_check_options &opt);

} // namespace vdso

#endif
