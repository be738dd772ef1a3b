/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An architecture that does nothing in a way of its own. All functions that
 * lib/vdso calls are in reader.c.
 */
#define VDSO_HAS_CLOCK_GETRES	1
#define VDSO_HAS_TIME		1
