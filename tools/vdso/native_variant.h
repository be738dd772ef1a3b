/* SPDX-License-Identifier: GPL-2.0-only */
/* The images of a kernel as they come to be on the CPU at hand. */
#ifndef VDSO_NATIVE_VARIANT_H
#define VDSO_NATIVE_VARIANT_H

#include "image.h"
#include "native.h"

#include <tsc_read.h>

#include <string>
#include <vector>

namespace vdso
{

struct variant {
	std::string name;
	image img; /* with its alternatives applied */
	tsc_read::Kind read;
};

/*
 * The image at @path as it is booted on this CPU, and once more with
 * vdso_tsc=ordered where it knows that. Beside it is image.sh's cpufeatures.h.
 */
std::vector<variant> variants_of(const std::string &path);

constexpr const char *name_of(source src)
{
	return src == source::tsc ? "TSC" : "PVCLOCK";
}

/* Model, guest or not. */
std::string describe_cpu();

} // namespace vdso

#endif
