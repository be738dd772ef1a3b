/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A vDSO call from a frame whose contents are known, for vdso_unwind. The
 * words are read and written by unwind_powerpc.S.
 */
#ifndef VDSO_TEST_UNWIND_POWERPC_H
#define VDSO_TEST_UNWIND_POWERPC_H

#define UNWIND_FUNCTION 0
#define UNWIND_ARG0 1
#define UNWIND_ARG1 2
#define UNWIND_STACK_POINTER 3
#define UNWIND_REGISTERS 4

#define UNWIND_FIRST_REGISTER 14
#define UNWIND_LAST_REGISTER 30

#ifndef __ASSEMBLER__

#include <cstddef>

struct unwind_frame {
	const void *function;
	unsigned long args[2];
	unsigned long stack_pointer; /* in the call: what the CFA must be */
	unsigned long
		registers[UNWIND_LAST_REGISTER - UNWIND_FIRST_REGISTER + 1];
};

static_assert(offsetof(unwind_frame, stack_pointer) ==
	      UNWIND_STACK_POINTER * sizeof(long));
static_assert(offsetof(unwind_frame, registers) ==
	      UNWIND_REGISTERS * sizeof(long));

/* May throw: a signal handler that interrupts it does */
extern "C" void unwind_call(unwind_frame *frame);

/* Where the vDSO function returns to, in unwind_call() */
extern "C" const char unwind_call_return[];

#endif /* __ASSEMBLER__ */

#endif /* VDSO_TEST_UNWIND_POWERPC_H */
