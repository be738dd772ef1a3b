/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The three powerpc ABIs for one assembly source: SysV 32 bit, and ELFv1 and
 * ELFv2 of 64 bit. The smallest frame that all three accept has room for the
 * header of ELFv1 and the eight words where its callee may put its arguments.
 */
/* clang-format off */
#ifndef VDSO_TEST_ASM_POWERPC_H
#define VDSO_TEST_ASM_POWERPC_H

#ifdef __powerpc64__
#define WORD	8
#define PUT	std
#define PUTU	stdu
#define GET	ld
#define LR_SAVE	16
#define FRAME	128
#else
#define WORD	4
#define PUT	stw
#define PUTU	stwu
#define GET	lwz
#define LR_SAVE	4
#define FRAME	32
#endif

#if defined(__powerpc64__) && (!defined(_CALL_ELF) || _CALL_ELF == 1)
/* ELFv1: the name is the descriptor's, the code has the name with a dot */
#define FUNCTION(name)					\
	.section .opd, "aw";				\
	.balign	8;					\
	.globl	name;					\
name:	.quad	.name, .TOC.@tocbase, 0;		\
	.type	name, @function;			\
	.text;						\
	.balign	4;					\
.name:
#define END(name)	.size name, . - .name
#else
#define FUNCTION(name)					\
	.text;						\
	.balign	4;					\
	.globl	name;					\
	.type	name, @function;			\
name:
#define END(name)	.size name, . - name
#endif

#endif /* VDSO_TEST_ASM_POWERPC_H */
