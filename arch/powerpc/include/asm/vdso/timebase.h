/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading the timebase, in the kernel and in both vDSOs: the 32-bit one of a
 * 64-bit kernel has to read it in two halves.
 */
#ifndef _ASM_POWERPC_VDSO_TIMEBASE_H
#define _ASM_POWERPC_VDSO_TIMEBASE_H

#ifndef __ASSEMBLY__

#include <linux/types.h>
#include <asm/reg.h>

static inline u64 get_tb(void)
{
	unsigned int tbhi, tblo, tbhi2;

	if (__is_defined(__powerpc64__))
		return mftb();

	do {
		tbhi = mftbu();
		tblo = mftb();
		tbhi2 = mftbu();
	} while (tbhi != tbhi2);

	return ((u64)tbhi << 32) | tblo;
}

#endif /* __ASSEMBLY__ */

#endif /* _ASM_POWERPC_VDSO_TIMEBASE_H */
