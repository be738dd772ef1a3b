/* SPDX-License-Identifier: GPL-2.0-only */
/* The same for 32-bit x86, see broken-powerpc.S. */
	.text
	.globl __vdso_clock_gettime
	.type __vdso_clock_gettime, @function
__vdso_clock_gettime:
	.cfi_startproc
	push	%ebx
	.cfi_adjust_cfa_offset 4
	.cfi_offset ebx, -8
	sub	$8, %esp
#ifndef BREAK_cfi_cfa
	.cfi_adjust_cfa_offset 8
#endif
	call	pc_thunk
	mov	16(%esp), %ecx
	cmp	$1, %ecx
	ja	2f
#ifdef BREAK_branch_far
	je	__vdso_clock_gettime + 0x10000
#endif
	mov	-0x2000(%ebx), %eax
	mov	20(%esp), %edx
	mov	%eax, (%edx)
	xor	%eax, %eax
3:
#ifdef BREAK_balance
	add	$4, %esp
	.cfi_def_cfa_offset 12
	mov	4(%esp), %ebx
	ret
	.cfi_def_cfa_offset 16
#endif
	add	$8, %esp
	.cfi_def_cfa_offset 8
#ifdef BREAK_preserved
	pop	%ecx
#else
	pop	%ebx
#endif
	.cfi_def_cfa_offset 4
	ret
#ifndef BREAK_cfi_cfa
	.cfi_def_cfa_offset 16
#else
	.cfi_def_cfa_offset 8
#endif
2:	mov	$265, %eax
	int	$0x80
	jmp	3b
	.cfi_endproc
	.size __vdso_clock_gettime, .-__vdso_clock_gettime

pc_thunk:
	.cfi_startproc
	mov	(%esp), %ebx
	ret
	.cfi_endproc

	.section .note.GNU-stack, "", @progbits
