// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory and the registers of a tracee's vDSO calls: see
 * sandbox_powerpc.h.
 */
#include "sandbox_powerpc.h"

#include <cinttypes>
#include <cstdio>
#include <new>

#include <time.h>

namespace
{

constexpr unsigned long xer_so_ov_ca = 0xe0000000;

} // namespace

Sandbox::Sandbox(const vdso::Image &i)
	: image(i), stack(4), memory(1),
	  buffers(*new (vdso::at<void>(memory.start())) Buffers),
	  calls(all_calls(image, buffers)), back(memory.end() + 64)
{
}

unsigned long Sandbox::pattern(unsigned int n, unsigned int round)
{
	const unsigned long value = (~0UL / 255 * 0x5a) ^ (~0UL / 65535 * n);

	return round ? ~value : value;
}

pt_regs Sandbox::entry(const Tracee &tracee, const Call &call,
		       std::uintptr_t stack_pointer, unsigned int round) const
{
	pt_regs regs = tracee.registers();

	for (unsigned int i = 0; i < 32; i++)
		regs.gpr[i] = pattern(i, round);
	regs.gpr[1] = stack_pointer;
	regs.gpr[3] = call.args[0];
	regs.gpr[4] = call.args[1];
	regs.ccr = round ? 0 : 0xffffffff;
	regs.xer = round ? 0 : xer_so_ov_ca;
	regs.ctr = pattern(32, round);
	regs.link = back;
	regs.nip = reinterpret_cast<std::uintptr_t>(call.function);
	/* The process has stopped in a system call; it is not to restart it */
	regs.trap = 0;
	return regs;
}

/*
 * The clock is updated once a tick, and a call reads its data within a few
 * dozen instructions: one tick in eight steps falls into every reading.
 */
void Sandbox::disturb(std::size_t step)
{
	if (step % 8)
		return;

	timespec tick{};

	clock_getres(CLOCK_REALTIME_COARSE, &tick);
	tick.tv_nsec += 1000000;
	nanosleep(&tick, nullptr);
}

bool Sandbox::trace(ktap::Case &t, const Call &call, bool disturbed,
		    std::size_t limit, std::vector<Step> &steps) const
{
	Tracee tracee;

	tracee.set_registers(entry(
		tracee, call, stack.start() + stack.bytes().size() / 2, 0));
	while (steps.size() < limit) {
		const pt_regs regs = tracee.registers();
		std::uint32_t instruction = 0;

		if (image.contains(regs.nip))
			instruction = *vdso::at<const std::uint32_t>(regs.nip);
		steps.push_back({ regs, instruction });
		if (regs.nip == back)
			return true;
		if (!t.check(image.contains(regs.nip),
			     "goes to %#lx, outside the image", regs.nip))
			return false;
		if (disturbed)
			disturb(steps.size());

		const Stop stop = tracee.step();

		if (!t.check(stop.why == Stop::Why::trapped, "%s at %s",
			     stop.describe().c_str(), place(regs.nip).c_str()))
			return false;
	}
	return true;
}

/*
 * An update of the clock makes a call start over, and stepping is slow, so it
 * may take several turns. On a host with more to do than it can, it is slower
 * than the clock ticks, and no turn is the last. That says nothing of the call,
 * which other cases see end when nobody steps it.
 */
std::vector<Step> Sandbox::trace(ktap::Case &t, const Call &call) const
{
	constexpr std::size_t limit = 5000;
	constexpr int attempts = 10;
	constexpr timespec pause = { 0, 200000000 };

	for (int i = 0; i < attempts; i++) {
		std::vector<Step> steps;

		if (!trace(t, call, false, limit, steps))
			return {};
		if (steps.back().regs.nip == back)
			return steps;
		nanosleep(&pause, nullptr);
	}
	t.skip("no end after %d times %zu instructions: the clock ticks faster",
	       attempts, limit);
	return {};
}

std::vector<Step> Sandbox::trace_disturbed(ktap::Case &t,
					   const Call &call) const
{
	constexpr std::size_t limit = 300;
	std::vector<Step> steps;

	if (trace(t, call, true, limit, steps))
		return steps;
	return {};
}

std::string Sandbox::place(std::uintptr_t address) const
{
	constexpr std::uintptr_t near = 4096;
	char text[64];

	if (image.contains(address))
		snprintf(text, sizeof(text), "[vdso]+%#" PRIxPTR,
			 address - image.base());
	else if (address >= stack.end() && address < stack.end() + near)
		snprintf(text, sizeof(text), "end of stack+%#" PRIxPTR,
			 address - stack.end());
	else if (address < stack.start() && address >= stack.start() - near)
		snprintf(text, sizeof(text), "start of stack-%#" PRIxPTR,
			 stack.start() - address);
	else
		snprintf(text, sizeof(text), "%#" PRIxPTR, address);
	return text;
}
