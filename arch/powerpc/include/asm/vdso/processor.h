/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _ASM_POWERPC_VDSO_PROCESSOR_H
#define _ASM_POWERPC_VDSO_PROCESSOR_H

#ifndef __ASSEMBLY__

static inline void cpu_relax(void)
{
#ifdef CONFIG_PPC64
	/* Low priority and back to medium: the other threads of the core run */
	asm volatile("or	1, 1, 1\n\t"
		     "or	2, 2, 2" : : : "memory");
#else
	asm volatile("" : : : "memory");
#endif
}

#endif /* __ASSEMBLY__ */

#endif /* _ASM_POWERPC_VDSO_PROCESSOR_H */
