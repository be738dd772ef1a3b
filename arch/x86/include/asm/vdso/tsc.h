/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __ASM_VDSO_TSC_H
#define __ASM_VDSO_TSC_H

#ifndef __ASSEMBLY__

#include <linux/types.h>
#include <asm/alternative.h>
#include <asm/cpufeatures.h>
#include <asm/msr.h>

/*
 * As long as "lfence; rdtsc", which has to fit in its place.  The DS prefix
 * does nothing here; a NOP would be one more instruction on the way of
 * everybody.
 */
#define VDSO_RDTSC_PLAIN	".byte 0x3e, 0x3e, 0x3e; rdtsc"

/* The last alternative whose condition holds counts. */
#define VDSO_RDTSC							\
	ALTERNATIVE_3(VDSO_RDTSC_PLAIN,					\
		      "lfence; rdtsc", X86_FEATURE_LFENCE_RDTSC,	\
		      "rdtscp", X86_FEATURE_RDTSCP,			\
		      VDSO_RDTSC_PLAIN, ALT_NOT(X86_FEATURE_VDSO_TSC_ORDERED))

/**
 * vdso_rdtsc() - read the TSC on behalf of the vDSO
 *
 * Plain RDTSC, or what rdtsc_ordered() is on this CPU if the kernel was booted
 * with vdso_tsc=ordered.
 */
static __always_inline u64 vdso_rdtsc(void)
{
	DECLARE_ARGS(val, low, high);

	/* RDTSCP clobbers ECX with MSR_TSC_AUX. */
	asm_inline volatile (VDSO_RDTSC
			     : EAX_EDX_RET(val, low, high) : : "ecx");

	return EAX_EDX_VAL(val, low, high);
}

#endif /* !__ASSEMBLY__ */

#endif /* __ASM_VDSO_TSC_H */
