/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entry, exception vectors and probes of the bare-metal test images.
 *
 * A probe does one thing (a load, a fetch, an instruction ...) in an MSR of the
 * caller's choice, and always ends in an exception: the one that it provokes, or
 * the system call that comes after. The handler notes which one in "last" and
 * returns to the probe's caller, in real mode. So nothing has to be mapped but what
 * is probed, and a probe in user mode comes back like any other.
 *
 * Probes use r3-r6 only, so the handler can have the other volatile registers.
 */

	.section .vectors, "ax"

	.macro	vector number
	. = \number
#ifdef HAS_TGPR
	/* After a TLB miss r0-r3 are not the program's: end that first. */
	.if \number == 0x1000 || \number == 0x1100 || \number == 0x1200
	mfmsr	0
	rlwinm	0, 0, 0, 15, 13
	mtmsr	0
	.endif
#endif
	li	7, \number
	b	handler
	.endm

	.irp	number, 0x100, 0x200, 0x300, 0x400, 0x500, 0x600, 0x700, 0x800, 0x900, 0xc00, 0xd00, 0x1000, 0x1100, 0x1200, 0x1300, 0x1400
	vector	\number
	.endr

	. = 0x2000
handler:
	lis	8, last@ha
	addi	8, 8, last@l
	stw	7, 0(8)
	mfsrr0	9
	stw	9, 4(8)
	mfsrr1	9
	stw	9, 8(8)
	mfdar	9
	stw	9, 12(8)
	mfdsisr	9
	stw	9, 16(8)
	mfmsr	9
	stw	9, 20(8)
	mfsprg	9, 0
	mtlr	9
	/* An exception that comes outside of a probe goes there. */
	lis	9, stray_exception@ha
	addi	9, 9, stray_exception@l
	mtsprg	0, 9
	mr	3, 5
	blr

	.text
	.globl	_start
_start:
	lis	1, stack_top@ha
	addi	1, 1, stack_top@l
	/* No console yet: a bss that isn't zero would show in the first test. */
	lis	3, __bss_start@ha
	addi	3, 3, __bss_start@l
	lis	4, __bss_end@ha
	addi	4, 4, __bss_end@l
	li	0, 0
1:	cmplw	3, 4
	bge	2f
	stw	0, 0(3)
	addi	3, 3, 4
	b	1b
2:	lis	9, stray_exception@ha
	addi	9, 9, stray_exception@l
	mtsprg	0, 9
	stwu	0, -16(1)
	bl	run_tests
3:	b	3b

	/* Enter the next instruction with MSR r4; the handler returns to our caller. */
	.macro	enter
	mflr	0
	mtsprg	0, 0
	mtsrr1	4
	lis	6, 9f@ha
	addi	6, 6, 9f@l
	mtsrr0	6
	rfi
9:
	.endm

	/* r3: address, r4: MSR; what was loaded */
	.globl	probe_load
probe_load:
	li	5, 0
	enter
	lwz	5, 0(3)
	sc

	/* r3: address, r4: MSR, r5: value */
	.globl	probe_store
probe_store:
	enter
	stw	5, 0(3)
	sc

#ifdef HAS_TGPR
	/*
	 * r3: address, r4: MSR, r5: for the segment of that address, between two
	 * loads; what was loaded last. No exception and no rfi comes in between.
	 */
	.globl	probe_segment
probe_segment:
	enter
	lwz	6, 0(3)
	mtsrin	5, 3
	isync
	li	5, 0
	lwz	5, 0(3)
	sc
#endif

	/* r3: address, r4: MSR; what the code there leaves in r5 */
	.globl	probe_jump
probe_jump:
	li	5, 0
	mflr	0
	mtsprg	0, 0
	mtsrr1	4
	mtsrr0	3
	rfi

	/* r4: MSR */
	.globl	probe_illegal
probe_illegal:
	enter
	.long	0
	sc
	.globl	probe_float
probe_float:
	enter
	.long	0xfc42102a	/* fadd 2,2,2 */
	sc
	.globl	probe_mffs
probe_mffs:
	enter
	.long	0xfc40048e	/* mffs 2 */
	sc
	.globl	probe_trap
probe_trap:
	enter
	tw	31, 0, 0
	sc
	.globl	probe_privileged
probe_privileged:
	enter
	mfmsr	5
	sc
	.globl	probe_syscall
probe_syscall:
	enter
	sc

	/* r4: MSR; wait for an interrupt, for so many rounds */
	.globl	probe_wait
probe_wait:
	lis	6, 0x10
	mtctr	6
	enter
1:	bdnz	1b
	sc

	.bss
	.balign	16
	.skip	0x4000
stack_top:
	.skip	16

	.section .note.GNU-stack, "", @progbits
