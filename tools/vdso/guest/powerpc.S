/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entry of the guest, and the one call that the lab is about.
 *
 * lab_call(function, args, after): puts a known value into every non-volatile
 * register and into CR2-CR4, calls, and records all registers as the call left
 * them. r1, r2 and r13 are recorded as the difference to their value before.
 */
#ifdef __powerpc64__
#define STORE std
#define LOAD ld
#define STOREU stdu
#define COMPARE cmpd
#define WORD 8
#define LR_SLOT 16
#else
#define STORE stw
#define LOAD lwz
#define STOREU stwu
#define WORD 4
#define LR_SLOT 4
#endif
#define FRAME 512
#define SAVED(n) (FRAME - (32 - (n)) * WORD)
#define AFTER_PTR 64
#define CR_SAVE 72
#define R2_SAVE 80
#define SCRATCH 88

	.text
	.globl _start
_start:
	mr	3, 1
#ifdef __powerpc64__
	bcl	20, 31, 0f
0:	mflr	12
	addis	2, 12, (.TOC. - 0b)@ha
	addi	2, 2, (.TOC. - 0b)@l
#endif
	li	0, 0
	STOREU	1, -64(1)
	bl	guest_main

	.globl lab_call
	.type lab_call, @function
lab_call:
	mflr	0
	STORE	0, LR_SLOT(1)
	STOREU	1, -FRAME(1)
	mfcr	0
	STORE	0, CR_SAVE(1)
	STORE	5, AFTER_PTR(1)
	STORE	2, R2_SAVE(1)
	.irp n, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	STORE	\n, SAVED(\n)(1)
	.endr
	.irp n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	li	\n, 0x1000 + \n
	.endr
	/* everything but CR2-CR4 starts as all ones: SO is set, too */
	lis	0, 0xff55
	ori	0, 0, 0x5fff
	mtcrf	0xff, 0
	mtctr	3
	LOAD	3, 0(4)
	LOAD	5, 2*WORD(4)
	LOAD	4, WORD(4)
	bctrl

	STORE	4, SCRATCH(1)
	mfcr	0
	LOAD	4, AFTER_PTR(1)
	STORE	0, 32*WORD(4)
	LOAD	0, SCRATCH(1)
	STORE	0, 4*WORD(4)
	STORE	3, 3*WORD(4)
	.irp n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	STORE	\n, \n*WORD(4)
	.endr
	LOAD	0, R2_SAVE(1)
	subf	0, 0, 2
	STORE	0, 2*WORD(4)
	LOAD	0, SAVED(13)(1)
	subf	0, 0, 13
	STORE	0, 13*WORD(4)
	/* r1: the back chain says where it must be; a wrong one rarely gets here */
	LOAD	0, 0(1)
	addi	3, 1, FRAME
	subf	0, 0, 3
	STORE	0, 1*WORD(4)

	LOAD	2, R2_SAVE(1)
	.irp n, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	LOAD	\n, SAVED(\n)(1)
	.endr
	LOAD	0, CR_SAVE(1)
	mtcrf	0xff, 0
	addi	1, 1, FRAME
	LOAD	0, LR_SLOT(1)
	mtlr	0
	blr
	.size lab_call, .-lab_call
	.section .note.GNU-stack, "", @progbits
