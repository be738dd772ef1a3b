/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's few words of PowerPC: entry, system calls, the call itself with
 * every register accounted for, and the loads that a fault handler can carry
 * out. The 64-bit guests are ELFv2 in both byte orders: nothing here needs the
 * platform's own ABI and one is less than two.
 */
#ifndef VDSO_GUEST_ARCH_H
#define VDSO_GUEST_ARCH_H

#include "job.h"

#include <asm/siginfo.h>
#include <asm/signal.h>
#include <asm/ucontext.h>

namespace arch
{

using word = unsigned long;
using siginfo = siginfo_t;

constexpr word sys_exit = 1, sys_fork = 2, sys_write = 4, sys_open = 5,
	       sys_waitpid = 7, sys_kill = 37, sys_mmap = 90,
	       sys_gettimeofday = 78, sys_mprotect = 125,
	       sys_rt_sigaction = 173;

/* As smp_wmb(): the stores before are seen before those after. */
inline void write_barrier()
{
	asm volatile("sync" : : : "memory");
}

/* A PowerPC system call says error by CR0.SO; here -errno is returned. */
inline word syscall(word nr, word a = 0, word b = 0, word c = 0, word d = 0,
		    word e = 0, word f = 0)
{
	register word r0 asm("r0") = nr;
	register word r3 asm("r3") = a;
	register word r4 asm("r4") = b;
	register word r5 asm("r5") = c;
	register word r6 asm("r6") = d;
	register word r7 asm("r7") = e;
	register word r8 asm("r8") = f;

	asm volatile("sc\n\tbns+ 1f\n\tneg %1,%1\n1:"
		     : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6),
		       "+r"(r7), "+r"(r8)
		     :
		     : "r9", "r10", "r11", "r12", "cr0", "ctr", "memory");
	return r3;
}

inline word mmap(word addr, word size, int prot, int flags, word fd,
		 word offset)
{
	return syscall(sys_mmap, addr, size, static_cast<word>(prot),
		       static_cast<word>(flags), fd, offset);
}

/* The kernel's sigaction, which is not the C library's. */
struct kernel_sigaction {
	void (*handler)(int, siginfo_t *, void *);
	word flags;
	word restorer;
	unsigned long long mask;
};

inline void catch_faults(void (*handler)(int, siginfo_t *, void *))
{
	kernel_sigaction action = { handler, SA_SIGINFO, 0, 0 };

	syscall(sys_rt_sigaction, SIGSEGV, reinterpret_cast<word>(&action), 0,
		8);
	syscall(sys_rt_sigaction, SIGILL, reinterpret_cast<word>(&action), 0,
		8);
}

constexpr int illegal_instruction = SIGILL;

inline word fault_address(const siginfo_t *info)
{
	return reinterpret_cast<word>(info->si_addr);
}

/* The registers of the interrupted vDSO code. */
class frame {
    public:
	explicit frame(void *context)
	{
		auto *uc = static_cast<ucontext *>(context);
#ifdef __powerpc64__
		regs = uc->uc_mcontext.gp_regs;
#else
		regs = reinterpret_cast<word *>(uc->uc_regs);
#endif
	}

	/* Carries out the interrupted load and goes on behind it; @odd: as if bit 0 were set. */
	bool emulate_load(word addr, bool odd)
	{
		word insn = *reinterpret_cast<unsigned int *>(regs[nip]);
		word opcode = insn >> 26, extended = insn >> 1 & 0x3ff;
		word value;

		if (opcode == 58 && (insn & 3) == 0)
			value = static_cast<word>(
				*reinterpret_cast<unsigned long *>(addr));
		else if (opcode == 32 || (opcode == 31 && extended == 23))
			value = *reinterpret_cast<unsigned int *>(addr);
		else if (opcode == 58 && (insn & 3) == 2)
			value = static_cast<word>(static_cast<long>(
				*reinterpret_cast<int *>(addr)));
		else if (sizeof(word) == 8 && opcode == 31 && extended == 21)
			value = static_cast<word>(
				*reinterpret_cast<unsigned long *>(addr));
		else
			return false;
		regs[insn >> 21 & 31] = value | odd;
		regs[nip] += 4;
		return true;
	}

	/*
	 * gcc uses maddld in 32-bit code for Power9, and no CPU that qemu-user
	 * has for 32-bit programs knows it.
	 */
	bool emulate_instruction()
	{
		word insn = *reinterpret_cast<unsigned int *>(regs[nip]);

		if (insn >> 26 != 4 || (insn & 0x3f) != 51)
			return false;
		regs[insn >> 21 & 31] =
			regs[insn >> 16 & 31] * regs[insn >> 11 & 31] +
			regs[insn >> 6 & 31];
		regs[nip] += 4;
		return true;
	}

    private:
	static constexpr unsigned nip = 32;
	word *regs;
};

/* How lab_call leaves the registers: see the assembly below. */
struct registers {
	word r[32];
	word cr;
};

extern "C" void lab_call(word function, const word *args, registers *after);

/* powerpc.S puts 0x1000 + n into non-volatile register n and 0b0101 into CR2-CR4. */
template <class I>
inline void call(unsigned long long function, const unsigned long long *args,
		 job::result<I> &result)
{
	registers after;
	word in[3];

	for (unsigned i = 0; i < 3; i++)
		in[i] = static_cast<word>(args[i]);
	lab_call(static_cast<word>(function), in, &after);
	result.value = after.r[3];
	result.value2 = after.r[4];
	result.cr = after.cr;
	result.clobbered = 0;
	for (unsigned i = 14; i < 32; i++)
		if (after.r[i] != 0x1000 + i)
			result.clobbered |= 1ULL << i;
	if (after.r[1])
		result.clobbered |= 1ULL << 1;
	if (after.r[2])
		result.clobbered |= 1ULL << 2;
	if (after.r[13])
		result.clobbered |= 1ULL << 13;
	if ((after.cr & 0x00fff000) != 0x00555000)
		result.clobbered |= 1ULL << 32;
}

inline void call_marker(unsigned long long marker)
{
	word m = static_cast<word>(marker);

	asm volatile("mtctr %0\n\tbctrl" : : "r"(m) : "ctr", "lr", "memory");
}

} // namespace arch

#endif
