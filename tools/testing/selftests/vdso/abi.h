/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of vdso_abi: each adds its cases.
 */
#ifndef VDSO_TEST_ABI_H
#define VDSO_TEST_ABI_H

#include "ktap.h"
#include "vdso.h"

namespace abi
{

/* For add_image(): what it does on every architecture */
void check_soname(ktap::Case &t, const vdso::Image &image, const char *want);
void check_found(ktap::Case &t, const vdso::Image &image,
		 const vdso::Symbol &symbol);

/* What the image exports, and where it is mapped */
void add_image(ktap::Suite &suite, const vdso::Image &image);

/* Results and errors: the same as the system call's */
void add_results(ktap::Suite &suite, const vdso::Image &image);

/* What only powerpc's vDSO has: timebase, system call map, cache */
void add_services(ktap::Suite &suite, const vdso::Image &image);

/* The calling convention: registers, stack, system calls */
void add_convention(ktap::Suite &suite, const vdso::Image &image);

} // namespace abi

#endif /* VDSO_TEST_ABI_H */
