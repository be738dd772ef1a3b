/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small vDSO function that keeps every rule, and one way to break each. The
 * breakage is on a path that is rarely taken wherever that is possible: the
 * verifier has to find it, not to stumble over it.
 *
 * BREAK_<rule>_<how> makes the image that must be reported for <rule>.
 */
#ifdef __powerpc64__
#define STORE std
#define LOAD ld
#define STOREU stdu
#define WORD 8
#define FRAME 64
#else
#define STORE stw
#define LOAD lwz
#define STOREU stwu
#define WORD 4
#define FRAME 32
#endif

	.text
	.globl __kernel_clock_gettime
	.type __kernel_clock_gettime, @function
__kernel_clock_gettime:
	.cfi_startproc
#ifdef BREAK_unknown
	.long 0
#endif
	cmplwi	0, 3, 1
	bgt	0, 9f
	mflr	12
#ifndef BREAK_cfi_return
	.cfi_register lr, 12
#endif
	bcl	20, 31, 1f
1:	mflr	9
	mtlr	12
2:	lwz	8, -0x2000(9)
	andi.	0, 8, 1
	bne	0, 2b
	cmpwi	1, 3, 1
	beq	1, 3f
	/* CLOCK_REALTIME: a leaf's way */
	lwz	5, -0x1ff0(9)
	stw	5, 0(4)
	b	4f
3:	/* CLOCK_MONOTONIC: with a frame */
#ifdef BREAK_store_below
	stw	31, -292(1)
#endif
#ifdef BREAK_store_caller
	STORE	12, 2*WORD(1)
#endif
	STOREU	1, -FRAME(1)
#ifndef BREAK_cfi_cfa
	.cfi_adjust_cfa_offset FRAME
#endif
	STORE	31, FRAME-WORD(1)
	lwz	31, -0x1ff0(9)
	stw	31, 0(4)
#ifndef BREAK_preserved_r31
	LOAD	31, FRAME-WORD(1)
#endif
#ifdef BREAK_preserved_r1
	addi	1, 1, FRAME-16
	.cfi_adjust_cfa_offset 16-FRAME
	crclr	3
	li	3, 0
	blr
	.cfi_adjust_cfa_offset FRAME-16
#endif
	addi	1, 1, FRAME
#ifndef BREAK_cfi_cfa
	.cfi_adjust_cfa_offset -FRAME
#endif
#ifdef BREAK_preserved_r2
	li	2, 0
#endif
#ifdef BREAK_preserved_cr
	cmpwi	3, 8, 0
#endif
#ifdef BREAK_r30
	mr	11, 30
	li	30, 0
	mr	30, 11
#endif
#ifdef BREAK_store_clock
	stw	8, 0(3)
#endif
#ifdef BREAK_store_data
	stw	8, -0x2000(9)
#endif
#ifdef BREAK_got
	lwz	6, got-1b(9)
#endif
#ifdef BREAK_got_toc
	LOAD	6, 8(2)
#endif
#ifdef BREAK_vector
	lfd	0, -0x1ff0(9)
#endif
#ifdef BREAK_branch_far
	b	. + 0x10000
#endif
#ifdef BREAK_branch_ctr
	mtctr	8
	bctr
#endif
#ifdef BREAK_branch_return
	mtlr	8
#endif
4:
#ifdef BREAK_so_set
	crset	3
#elif defined(BREAK_so_compare)
	crclr	3
	cmplwi	0, 8, 1
#elif !defined(BREAK_so_missing)
	crclr	3
#endif
#ifdef BREAK_so_result
	mr	3, 8
#else
	li	3, 0
#endif
	blr
#ifdef BREAK_cfi_none
	.cfi_endproc
#else
	.cfi_restore lr
#endif
9:	li	0, 246
	sc
	blr
#ifndef BREAK_cfi_none
	.cfi_endproc
#endif
	.size __kernel_clock_gettime, .-__kernel_clock_gettime

	.section .got, "aw"
got:	.long	0
	.section .rodata, "a"
#ifdef BREAK_relocation
	.long	__kernel_clock_gettime
	.long	0
#endif
#ifdef BREAK_undefined
	.long	nobody_has_this
#endif
	.section .note.GNU-stack, "", @progbits
