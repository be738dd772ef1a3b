/* SPDX-License-Identifier: GPL-2.0-only */
/* The same for x86_64, see broken-powerpc.S. */
	.text
	.globl __vdso_clock_gettime
	.type __vdso_clock_gettime, @function
__vdso_clock_gettime:
	.cfi_startproc
	push	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset rbx, -16
	sub	$16, %rsp
#ifndef BREAK_cfi_cfa
	.cfi_adjust_cfa_offset 16
#endif
	mov	%rsi, 8(%rsp)
	cmp	$1, %edi
	ja	2f
	lea	-0x1000(%rip), %rbx
1:	mov	(%rbx), %eax
	test	$1, %al
	jne	1b
	mov	8(%rbx), %rdx
	mov	8(%rsp), %rsi
	mov	%rdx, (%rsi)
#ifdef BREAK_branch_far
	je	__vdso_clock_gettime + 0x10000
#endif
#ifdef BREAK_branch_indirect
	jmp	*%rdx
#endif
	xor	%eax, %eax
3:
#ifdef BREAK_balance
	add	$8, %rsp
	.cfi_def_cfa_offset 24
	mov	8(%rsp), %rbx
	add	$8, %rsp
	.cfi_def_cfa_offset 16
	ret
#endif
	add	$16, %rsp
	.cfi_def_cfa_offset 16
#ifdef BREAK_preserved
	pop	%rcx
#else
661:	pop	%rbx
#endif
	.cfi_def_cfa_offset 8
	ret
#ifndef BREAK_cfi_cfa
	.cfi_def_cfa_offset 32
#endif
2:	mov	$228, %eax
	syscall
	jmp	3b
	.cfi_endproc
	.size __vdso_clock_gettime, .-__vdso_clock_gettime

	/* A frame that is aligned, which only the frame pointer leads out of */
	.globl __vdso_gettimeofday
	.type __vdso_gettimeofday, @function
__vdso_gettimeofday:
	.cfi_startproc
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register rbp
	push	%rbx
	.cfi_offset rbx, -24
	and	$-16, %rsp
	sub	$32, %rsp
	mov	%rdi, 8(%rsp)
	xor	%eax, %eax
#ifdef BREAK_balance_aligned
	add	$32, %rsp
	ret
#endif
	lea	-8(%rbp), %rsp
	pop	%rbx
	pop	%rbp
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.size __vdso_gettimeofday, .-__vdso_gettimeofday

	.section .rodata, "a"
#ifdef BREAK_relocation
	.quad	__vdso_clock_gettime
#endif
	/* Right as built, and on a CPU without LFENCE_RDTSC */
#ifdef BREAK_preserved_alternative
	.section .altinstructions, "a"
	.long	661b - .
	.long	662f - .
	.word	3*32+18
	.byte	1, 1
	.section .altinstr_replacement, "ax"
662:	pop	%rcx
#endif
	.section .note.GNU-stack, "", @progbits
