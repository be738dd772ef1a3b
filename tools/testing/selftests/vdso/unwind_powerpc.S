/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * void unwind_call(struct unwind_frame *frame): see unwind_powerpc.h.
 *
 * Calls a vDSO function with every non-volatile register set to a value that
 * the frame gives, and r31 to the frame. The CFI here is what the unwinder
 * goes on with when it has left the vDSO.
 */
#include "asm_powerpc.h"
#include "unwind_powerpc.h"

#ifdef __powerpc64__
#define CALL_FRAME	256	/* 112 of ELFv1, r14 to r31 */
#else
#define CALL_FRAME	96
#endif

FUNCTION(unwind_call)
	.cfi_startproc
	mflr	%r0
	PUT	%r0, LR_SAVE(%r1)
	.cfi_offset lr, LR_SAVE
	PUTU	%r1, -CALL_FRAME(%r1)
	.cfi_def_cfa_offset CALL_FRAME
	.irp	n, 14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	PUT	%r\n, (CALL_FRAME - (32 - \n) * WORD)(%r1)
	.cfi_offset %r\n, -(32 - \n) * WORD
	.endr
	mr	%r31, %r3
	PUT	%r1, UNWIND_STACK_POINTER * WORD(%r31)
	.irp	n, 14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30
	GET	%r\n, ((UNWIND_REGISTERS + \n - UNWIND_FIRST_REGISTER) * WORD)(%r31)
	.endr
	GET	%r0, UNWIND_FUNCTION * WORD(%r31)
	GET	%r3, UNWIND_ARG0 * WORD(%r31)
	GET	%r4, UNWIND_ARG1 * WORD(%r31)
	mtctr	%r0
	bctrl
	.globl	unwind_call_return
unwind_call_return:
	.irp	n, 14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	GET	%r\n, (CALL_FRAME - (32 - \n) * WORD)(%r1)
	.cfi_restore %r\n
	.endr
	addi	%r1, %r1, CALL_FRAME
	.cfi_def_cfa_offset 0
	GET	%r0, LR_SAVE(%r1)
	mtlr	%r0
	.cfi_restore lr
	blr
	.cfi_endproc
END(unwind_call)

	.section .note.GNU-stack, "", %progbits
