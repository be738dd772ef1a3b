/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls a vDSO function and keeps what a C call would lose: the condition
 * register, whose CR0.SO tells an error from a result.
 *
 * void vdso_call_powerpc(struct vdso_call_result *result,
 *			  const void *function, a, b, c, d)
 *
 * It has a frame of its own, because a vDSO function may store its return
 * address in its caller's.
 */
#include "asm_powerpc.h"

FUNCTION(vdso_call_powerpc)
	.cfi_startproc
	mflr	%r0
	PUT	%r31, -WORD(%r1)
	PUT	%r0, LR_SAVE(%r1)
	PUTU	%r1, -FRAME(%r1)
	.cfi_def_cfa_offset FRAME
	.cfi_offset lr, LR_SAVE
	.cfi_offset r31, -WORD
	mr	%r31, %r3
	mtctr	%r4
	mr	%r3, %r5
	mr	%r4, %r6
	mr	%r5, %r7
	mr	%r6, %r8
	bctrl
	PUT	%r3, 0(%r31)
	PUT	%r4, WORD(%r31)
	mfcr	%r0
	PUT	%r0, 2*WORD(%r31)
	addi	%r1, %r1, FRAME
	GET	%r0, LR_SAVE(%r1)
	mtlr	%r0
	GET	%r31, -WORD(%r1)
	blr
	.cfi_endproc
END(vdso_call_powerpc)

	.section .note.GNU-stack, "", %progbits
