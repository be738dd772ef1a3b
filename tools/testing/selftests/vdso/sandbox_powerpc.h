/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory on which a tracee makes a vDSO call, and the registers with which
 * it starts: the test and its tracees share it.
 */
#ifndef VDSO_TEST_SANDBOX_POWERPC_H
#define VDSO_TEST_SANDBOX_POWERPC_H

#include <cstdint>
#include <string>
#include <vector>

#include "calls_powerpc.h"
#include "ktap.h"
#include "tracee_powerpc.h"
#include "vdso.h"

/* An instruction and the registers before it is executed */
struct Step {
	pt_regs regs;
	std::uint32_t instruction;
};

struct Sandbox {
	static constexpr std::uint8_t stack_pattern = 0xa5;

	explicit Sandbox(const vdso::Image &image);

	/* What register n holds; the second round has the complement */
	static unsigned long pattern(unsigned int n, unsigned int round);

	/* The registers at the first instruction of a call */
	pt_regs entry(const Tracee &tracee, const Call &call,
		      std::uintptr_t stack_pointer, unsigned int round) const;

	/*
	 * One call, instruction by instruction, the return address included;
	 * nothing when it does not come to an end.
	 */
	std::vector<Step> trace(ktap::Case &t, const Call &call) const;

	/*
	 * The same while the clock is updated every few instructions, for the
	 * path on which a call starts over. It need not come to an end.
	 */
	std::vector<Step> trace_disturbed(ktap::Case &t,
					  const Call &call) const;

	/* Lets the clock be updated, at some of the steps of a call */
	static void disturb(std::size_t step);

	/* An address in words */
	std::string place(std::uintptr_t address) const;

    private:
	/* False when the call went wrong; t knows why */
	bool trace(ktap::Case &t, const Call &call, bool disturbed,
		   std::size_t limit, std::vector<Step> &steps) const;

    public:
	vdso::Image image;
	GuardedPages stack, memory;
	Buffers &buffers;
	std::vector<Call> calls;
	/* The return address. No instruction can be there: a fault ends it. */
	std::uintptr_t back;
};

#endif /* VDSO_TEST_SANDBOX_POWERPC_H */
