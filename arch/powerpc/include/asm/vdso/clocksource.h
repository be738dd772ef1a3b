/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _ASM_POWERPC_VDSO_CLOCKSOURCE_H
#define _ASM_POWERPC_VDSO_CLOCKSOURCE_H

/* The timebase is the only clocksource that user space can read */
#define VDSO_ARCH_CLOCKMODES	VDSO_CLOCKMODE_TIMEBASE

#endif /* _ASM_POWERPC_VDSO_CLOCKSOURCE_H */
