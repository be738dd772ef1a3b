/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _ASM_POWERPC_CLOCKSOURCE_H
#define _ASM_POWERPC_CLOCKSOURCE_H

#include <asm/vdso/clocksource.h>

#endif /* _ASM_POWERPC_CLOCKSOURCE_H */
