// SPDX-License-Identifier: GPL-2.0-only
/*
 * The calling convention of the powerpc vDSO, for every call of
 * calls_powerpc.h, on a process that is held by ptrace (tracee_powerpc.h).
 *
 * Registers. The ABIs of powerpc let a function change r0, r3-r12, CTR, LR,
 * XER, CR0, CR1, CR5-CR7, f0-f13 and v0-v19. libc's call from inline assembly
 * says so to the compiler for all but the floating point and vector
 * registers: these the vDSO must leave alone, each and every one. r12 holds
 * no entry address, as ELFv2 would have it, and r2 no TOC of the vDSO's. In
 * the 64 bit image r30 is never written, not even to be restored: old Go
 * runtimes keep their "g" there, and a signal handler may run in between.
 *
 * CR0.SO. A compare copies XER.SO there, so a function that never clears the
 * bit works until a caller comes with XER.SO set. Each call is made with both
 * bits set, and with both clear.
 *
 * Stack. By the ABI a function may store its LR and CR in the frame of its
 * caller, at 16(r1) and 8(r1) or, on 32 bit, LR at 4(r1). A caller that has
 * made no frame has its own return address in that very word: r1 still is
 * that of *its* caller. Go and others call like this. So nothing from r1 up
 * may change; and a vDSO that makes no use of it does not read it either,
 * which is checked with r1 at the end of the mapped stack.
 *
 * Below r1 the ABI would allow more: a new frame, and on 64 bit 288 bytes that
 * no signal handler touches (32 bit has no such zone). The assembly uses none
 * of it, and a thread with its stack full to the last byte can ask for the
 * time. The series keeps to that: its calls are leaves without a frame, and a
 * spill that a compiler adds costs what the series must not lose. So the last
 * check puts r1 at the start of the mapped stack.
 */
#include "abi.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <sys/auxv.h>

#include "sandbox_powerpc.h"

namespace
{

using ktap::Case;
using vdso::Image;

constexpr bool wide = sizeof(long) == 8;
constexpr unsigned long cr0_so = 0x10000000;
constexpr unsigned long cr2_to_cr4 = 0x00fff000;

constexpr std::uint32_t instruction_sc = 0x44000002;
constexpr std::uint32_t instruction_scv = 0x44000001;
constexpr std::uint32_t instruction_sync = 0x7c0004ac;
constexpr std::uint32_t instruction_isync = 0x4c00012c;

/* Two rounds with every bit once set and once clear */
constexpr unsigned int rounds = 2;

/* Distinct values in every register that holds numbers; no control bits */
FpState fp_pattern(FpState state)
{
	constexpr std::size_t fprs = 256, vrs = 512; /* bytes */
	std::uint8_t next = 1;

	const auto fill = [&](std::vector<std::uint8_t> &set, std::size_t n) {
		for (std::size_t i = 0; i < std::min(n, set.size()); i++)
			set[i] = next = static_cast<std::uint8_t>(next * 5 + 3);
	};

	fill(state.fpr, fprs);
	fill(state.vmx, vrs);
	fill(state.vsx, fprs);
	return state;
}

/* The call is over when it faults at the return address */
bool check_back(Case &t, const Sandbox &f, const pt_regs &regs,
		const Stop &stop)
{
	if (stop.why == Stop::Why::signalled && regs.nip == f.back)
		return true;
	t.fail("%s at %s (%s)", stop.describe().c_str(),
	       f.place(regs.nip).c_str(), f.place(stop.address).c_str());
	return false;
}

void check_end(Case &t, const Call &call, const pt_regs &regs)
{
	const bool error = regs.ccr & cr0_so;
	const auto r3 = static_cast<long>(regs.gpr[3]);

	/* "mr." copies XER.SO, and nothing clears it when there is no pointer */
	if (!wide && error && call.name == "get_syscall_map(NULL)")
		return t.lacking("CR0.SO is what XER.SO was");
	switch (call.end) {
	case Call::End::zero:
		t.check(!error && r3 == 0, "CR0.SO %d, r3 %ld", error, r3);
		break;
	case Call::End::result:
		t.check(!error, "CR0.SO is set");
		break;
	case Call::End::error:
		t.check(error && r3 > 0 && r3 < 4096, "CR0.SO %d, r3 %ld",
			error, r3);
		break;
	}
}

void check_preserved(Case &t, const pt_regs &before, const pt_regs &after)
{
	const auto same = [&](unsigned int i) {
		t.check(before.gpr[i] == after.gpr[i], "r%u: %#lx, was %#lx", i,
			after.gpr[i], before.gpr[i]);
	};

	same(1);
	same(2);
	for (unsigned int i = 13; i < 32; i++)
		same(i);
	t.check(((before.ccr ^ after.ccr) & cr2_to_cr4) == 0,
		"CR2-CR4: CR is %#lx, was %#lx", after.ccr, before.ccr);
}

void check_registers(Case &t, const Sandbox &f, const Call &call)
{
	Tracee tracee;

	for (unsigned int round = 0; round < rounds; round++) {
		const std::uintptr_t stack = f.stack.start() + 4096;
		const pt_regs before = f.entry(tracee, call, stack, round);
		const FpState fp = fp_pattern(tracee.fp_state());

		tracee.set_registers(before);
		tracee.set_fp_state(fp);
		const Stop stop = tracee.resume();

		if (stop.why == Stop::Why::gone)
			return t.fail("%s", stop.describe().c_str());

		const pt_regs after = tracee.registers();

		if (!check_back(t, f, after, stop))
			return;
		check_end(t, call, after);
		check_preserved(t, before, after);
		t.check(tracee.fp_state() == fp,
			"a floating point or vector register has changed");
	}
}

enum class Where { middle, start, end };

void check_stack(Case &t, const Sandbox &f, const Call &call, Where where)
{
	Tracee tracee;
	const std::uintptr_t stack =
		where == Where::start ? f.stack.start() :
		where == Where::end   ? f.stack.end() :
					f.stack.start() + 8192;
	const pt_regs before = f.entry(tracee, call, stack, 1);

	/* It is shared, and a case before this one may have spoiled it */
	memset(f.stack.bytes().data(), Sandbox::stack_pattern,
	       f.stack.bytes().size());

	tracee.set_registers(before);
	const Stop stop = tracee.resume();

	if (stop.why == Stop::Why::gone)
		return t.fail("%s", stop.describe().c_str());

	const pt_regs after = tracee.registers();

	if (!check_back(t, f, after, stop))
		return;
	for (const std::uint8_t &byte : f.stack.bytes()) {
		const auto at = reinterpret_cast<std::uintptr_t>(&byte);

		/* With room below, a frame there is the callee's own affair */
		if (at >= stack && byte != Sandbox::stack_pattern)
			return t.fail("the word at %" PRIuPTR
				      "(r1) has changed",
				      (at - stack) & ~(sizeof(long) - 1));
	}
}

/* As it goes when nothing disturbs it, and when the clock is updated */
std::vector<Step> both_traces(Case &t, const Sandbox &f, const Call &call)
{
	std::vector<Step> steps = f.trace(t, call);
	const std::vector<Step> more = f.trace_disturbed(t, call);

	steps.insert(steps.end(), more.begin(), more.end());
	return steps;
}

void check_r30(Case &t, const Sandbox &f, const Call &call)
{
	for (const Step &step : both_traces(t, f, call))
		if (!t.check(step.regs.gpr[30] == Sandbox::pattern(30, 0),
			     "r30 is %#lx at %s", step.regs.gpr[30],
			     f.place(step.regs.nip).c_str()))
			return;
}

void check_no_system_call(Case &t, const Sandbox &f, const Call &call)
{
	bool found = false;

	for (const Step &step : both_traces(t, f, call))
		found |= step.instruction == instruction_sc ||
			 step.instruction == instruction_scv;
	if (!found)
		return;
	if (call.served == Call::Served::always)
		t.fail("makes a system call");
	else
		t.lacking("makes a system call");
}

/* X-form opcode 31: the address is RA|0 + RB */
std::uintptr_t effective_address(const Step &step)
{
	const std::uint32_t ra = step.instruction >> 16 & 31;
	const std::uint32_t rb = step.instruction >> 11 & 31;

	return (ra ? step.regs.gpr[ra] : 0) + step.regs.gpr[rb];
}

/* dcbst, dcbf or icbi of X-form opcode 31 */
bool is_cache_op(std::uint32_t instruction, std::uint32_t extended)
{
	return instruction >> 26 == 31 &&
	       (instruction >> 1 & 0x3ff) == extended;
}

bool is_store_block(std::uint32_t instruction)
{
	constexpr std::uint32_t dcbst = 54, dcbf = 86;

	return is_cache_op(instruction, dcbst) ||
	       is_cache_op(instruction, dcbf);
}

bool is_invalidate_block(std::uint32_t instruction)
{
	constexpr std::uint32_t icbi = 982;

	return is_cache_op(instruction, icbi);
}

/* Every block of the range is treated, by the size that AT_*BSIZE tells */
void check_blocks(Case &t, const std::vector<Step> &steps, const Call &call,
		  unsigned long auxv, bool (*is_op)(std::uint32_t),
		  const char *what)
{
	const unsigned long size = getauxval(auxv);

	if (!t.check(size != 0, "no block size in the auxiliary vector"))
		return;
	for (unsigned long block = call.args[0] & ~(size - 1);
	     block < call.args[1]; block += size)
		t.check(std::any_of(steps.begin(), steps.end(),
				    [&](const Step &step) {
					    return is_op(step.instruction) &&
						   (effective_address(step) &
						    ~(size - 1)) == block;
				    }),
			"no %s for the block at %+ld", what,
			static_cast<long>(block - call.args[0]));
}

std::size_t find_last(const std::vector<Step> &steps,
		      bool (*is_op)(std::uint32_t))
{
	for (std::size_t i = steps.size(); i-- > 0;)
		if (is_op(steps[i].instruction))
			return i;
	return 0;
}

std::size_t find_from(const std::vector<Step> &steps, std::size_t from,
		      std::uint32_t instruction)
{
	while (from < steps.size() && steps[from].instruction != instruction)
		from++;
	return from;
}

/*
 * The sequence of the Power ISA for modified code: store every block, sync,
 * invalidate every block, sync (the assembly leaves this one out), isync.
 * With an instruction cache that snoops, sync and isync are enough.
 */
void check_cache_sequence(Case &t, const Sandbox &f, const Call &call)
{
	const auto steps = f.trace(t, call);
	const bool snoops = getauxval(AT_HWCAP) & PPC_FEATURE_ICACHE_SNOOP;

	if (t.failed())
		return;
	if (!snoops) {
		check_blocks(t, steps, call, AT_DCACHEBSIZE, is_store_block,
			     "dcbst");
		check_blocks(t, steps, call, AT_ICACHEBSIZE,
			     is_invalidate_block, "icbi");
	}

	const std::size_t stored = find_last(steps, is_store_block);
	const std::size_t sync = find_from(steps, stored, instruction_sync);
	const std::size_t invalidated = find_last(steps, is_invalidate_block);

	t.check(sync < steps.size(), "no sync after the last dcbst");
	t.check(invalidated == 0 || sync < invalidated,
		"no icbi after the sync");
	t.check(find_from(steps, std::max(sync, invalidated),
			  instruction_isync) < steps.size(),
		"no isync at the end");
}

void add_call(ktap::Suite &suite, const std::shared_ptr<Sandbox> &f,
	      const Call &call)
{
	suite.add("registers: " + call.name,
		  [=](Case &t) { check_registers(t, *f, call); });
	suite.add("caller without a frame: " + call.name, [=](Case &t) {
		check_stack(t, *f, call, Where::middle);
		check_stack(t, *f, call, Where::end);
	});
	suite.add("stack full: " + call.name,
		  [=](Case &t) { check_stack(t, *f, call, Where::start); });
	if (wide)
		suite.add("r30 is never written: " + call.name,
			  [=](Case &t) { check_r30(t, *f, call); });
	if (call.served != Call::Served::no_one)
		suite.add("no system call: " + call.name,
			  [=](Case &t) { check_no_system_call(t, *f, call); });
}

} // namespace

namespace abi
{

void add_convention(ktap::Suite &suite, const Image &image)
{
	const auto f = std::make_shared<Sandbox>(image);

	for (const Call &call : f->calls) {
		add_call(suite, f, call);
		if (call.name == "sync_dicache(range)")
			suite.add("sequence for new code: " + call.name,
				  [=](Case &t) {
					  check_cache_sequence(t, *f, call);
				  });
	}
}

} // namespace abi
