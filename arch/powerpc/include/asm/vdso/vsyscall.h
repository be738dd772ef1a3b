/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _ASM_POWERPC_VDSO_VSYSCALL_H
#define _ASM_POWERPC_VDSO_VSYSCALL_H

#ifndef __ASSEMBLY__

#include <linux/timekeeper_internal.h>
#include <asm/vdso_datapage.h>

/* Where the timekeeping code puts what the vDSO reads */
static __always_inline struct vdso_data *__arch_get_k_vdso_data(void)
{
	return vdso_data->data;
}

#define __arch_get_k_vdso_data __arch_get_k_vdso_data

/*
 * A clocksource other than the timebase is none that the vDSO can read. It does
 * not look at clock_mode but finds more than four seconds since this update,
 * which it leaves to the system call as well, see vdso_carry_seconds().
 */
static __always_inline void __arch_update_vsyscall(struct vdso_data *vdata,
						   struct timekeeper *tk)
{
	static const u8 clocks[] = {
		CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_TAI,
		CLOCK_MONOTONIC_RAW,
	};
	struct vdso_data *vd;
	int i;

	if (likely(vdata->clock_mode != VDSO_CLOCKMODE_NONE))
		return;

	for (vd = vdata; vd < vdata + CS_BASES; vd++) {
		vd->mult = 0;
		vd->shift = 1;
		for (i = 0; i < ARRAY_SIZE(clocks); i++)
			vd->basetime[clocks[i]].nsec = U64_MAX;
	}
}

#define __arch_update_vsyscall __arch_update_vsyscall

/* The asm-generic header needs to be included after the definitions above */
#include <asm-generic/vdso/vsyscall.h>

#endif /* __ASSEMBLY__ */

#endif /* _ASM_POWERPC_VDSO_VSYSCALL_H */
