// SPDX-License-Identifier: GPL-2.0-only
/*
 * A signal arrives at every instruction of every vDSO call, and the unwinder
 * must get out of each.
 *
 * Problem: a debugger, a profiler, pthread_cancel() and a C++ exception from a
 * signal handler all read the vDSO's CFI for wherever it happens to be. A
 * wrong row matters for a few instructions only, and no ordinary run finds it.
 *
 * So each call is first executed in single steps, to learn which instructions
 * it has: once as it is, and once with updates of the clock in between. Then a
 * process makes the call again and again at full speed, and is stopped by a
 * breakpoint at one of them after the other, where it gets a signal. (Stepping
 * all the way for each would take so long that the clock always changes in
 * between, and the call never ends.) The handler asks libgcc's unwinder for
 * the frames: the one after the signal's must be at the interrupted
 * instruction, the first outside the vDSO at the place that called it, with
 * the stack pointer and r14 to r31 of that caller, and main() must be among
 * the rest.
 *
 * Three kinds of signals: a handler with SA_SIGINFO and one without, which use
 * two different trampolines on 32 bit, and one that throws an exception
 * through the vDSO to where it is caught.
 */
#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "ktap.h"
#include "sandbox_powerpc.h"
#include "unwind_signals_powerpc.h"
#include "vdso.h"

int main(int argc, char **argv);

namespace
{

using ktap::Case;
using unwind::Frame;
using unwind::shared;
using unwind::Shared;

std::uintptr_t entry_of(int (*function)(int, char **))
{
	const void *pointer = reinterpret_cast<const void *>(function);

#if defined(__powerpc64__) && _CALL_ELF != 2
	/* The first word of the descriptor */
	pointer = *static_cast<const void *const *>(pointer);
#endif
	return reinterpret_cast<std::uintptr_t>(pointer);
}

struct Kind {
	int signal;
	bool throws;
	const char *name;
};

constexpr Kind kinds[] = {
	{ unwind::siginfo_signal, false, "backtrace" },
	{ unwind::plain_signal, false, "backtrace without SA_SIGINFO" },
	{ unwind::siginfo_signal, true, "exception" },
};

/* What is wrong, in words; empty when nothing is */
using Problem = std::string;

[[gnu::format(printf, 1, 2)]] Problem problem(const char *fmt, ...)
{
	char text[200];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return text;
}

Problem check_registers()
{
	for (std::size_t i = 0; i < std::size(shared->call.registers); i++)
		if (shared->registers[i] != shared->call.registers[i])
			return problem("r%zu of the caller is %#lx, not %#lx",
				       UNWIND_FIRST_REGISTER + i,
				       shared->registers[i],
				       shared->call.registers[i]);
	if (shared->registers[31 - UNWIND_FIRST_REGISTER] !=
	    reinterpret_cast<std::uintptr_t>(&shared->call))
		return "r31 of the caller is wrong";
	return {};
}

Problem check_backtrace(const Sandbox &sandbox, std::uintptr_t pc)
{
	const auto back = reinterpret_cast<std::uintptr_t>(unwind_call_return);
	const Frame *begin = shared->frame;
	const Frame *end = begin + shared->frames;
	const Frame *vdso = std::find_if(begin, end, [&](const Frame &f) {
		return f.ip == pc;
	});
	/* A function of the vDSO may have called another one */
	const Frame *caller = std::find_if(vdso, end, [&](const Frame &f) {
		return !sandbox.image.contains(f.ip);
	});

	if (vdso == end)
		return problem("no frame there, of %zu", shared->frames);
	if (caller == end)
		return "no frame outside the vDSO";
	if (caller->ip != back)
		return problem("called from %#" PRIxPTR ", not %#" PRIxPTR,
			       caller->ip, back);
	if (caller->stack_pointer != shared->call.stack_pointer)
		return problem("CFA %#" PRIxPTR ", not %#lx",
			       caller->stack_pointer,
			       shared->call.stack_pointer);
	if (std::none_of(caller, end, [](const Frame &f) {
		    return f.function == entry_of(main);
	    }))
		return "main() is not reached";
	return check_registers();
}

/* The process that gets the signals; a new one when a signal was its end */
class Victim {
    public:
	/* To an instruction; false when the call does not come there */
	bool go_to(Case &t, const Sandbox &sandbox, std::uintptr_t pc)
	{
		if (!tracee_)
			tracee_ =
				std::make_unique<Tracee>(unwind::call_forever);

		const Stop stop = tracee_->run_to(pc);

		if (is_at(stop, pc))
			return true;
		if (stop.why == Stop::Why::signalled &&
		    stop.signal == SIGSTOP) {
			if (go_disturbed(sandbox, pc))
				return true;
			t.diag("%s is not reached again",
			       sandbox.place(pc).c_str());
		} else {
			t.fail("%s at %s on the way to %s",
			       stop.describe().c_str(),
			       where(sandbox, stop).c_str(),
			       sandbox.place(pc).c_str());
		}
		tracee_.reset();
		return false;
	}

	/* Handles the signal, and goes on to where the next call begins */
	Problem handle(int signal)
	{
		const Stop stop = tracee_->run_to(entry(), signal);

		if (is_at(stop, entry()))
			return {};
		tracee_.reset();
		return stop.describe();
	}

    private:
	/* To an instruction that is for when the clock was updated */
	bool go_disturbed(const Sandbox &sandbox, std::uintptr_t pc)
	{
		constexpr std::size_t limit = 300;

		shared->calls_since_signal = 0;
		if (!is_at(tracee_->run_to(entry()), entry()))
			return false;
		for (std::size_t i = 1; i < limit; i++) {
			Sandbox::disturb(i);

			const Stop stop = tracee_->step();

			if (is_at(stop, pc))
				return true;
			if (stop.why != Stop::Why::trapped ||
			    !sandbox.image.contains(tracee_->registers().nip))
				return false;
		}
		return false;
	}

	std::string where(const Sandbox &sandbox, const Stop &stop) const
	{
		if (stop.why == Stop::Why::gone)
			return "its end";
		return sandbox.place(tracee_->registers().nip);
	}

	static std::uintptr_t entry()
	{
		return reinterpret_cast<std::uintptr_t>(shared->call.function);
	}

	bool is_at(const Stop &stop, std::uintptr_t pc) const
	{
		return stop.why == Stop::Why::trapped &&
		       tracee_->registers().nip == pc;
	}

	std::unique_ptr<Tracee> tracee_;
};

Problem check_signal(Victim &victim, const Sandbox &sandbox, std::uintptr_t pc,
		     const Kind &kind)
{
	shared->throws = kind.throws;
	shared->caught = 0;
	shared->frames = 0;

	Problem died = victim.handle(kind.signal);

	if (!died.empty())
		return died;
	if (!kind.throws)
		return check_backtrace(sandbox, pc);
	if (shared->caught != 1)
		return "the exception is not caught";
	return {};
}

/* Each instruction once, as it was when it was first reached */
std::vector<Step> distinct(const std::vector<Step> &steps,
			   const vdso::Image &image)
{
	std::set<std::uintptr_t> seen;
	std::vector<Step> some;

	for (const Step &step : steps)
		if (image.contains(step.regs.nip) &&
		    seen.insert(step.regs.nip).second)
			some.push_back(step);
	return some;
}

/*
 * The assembly keeps LR in r12 and says so in its CFI, also for the lines
 * below, where a branch leads that is taken before r12 is loaded.
 */
bool never_saved_lr(const Sandbox &sandbox, const Step &step)
{
	return step.regs.link == sandbox.back &&
	       step.regs.gpr[12] != sandbox.back;
}

void prepare(const Call &call)
{
	shared->call.function = call.function;
	std::copy(call.args.begin(), call.args.end(), shared->call.args);
	for (unsigned int i = 0; i < std::size(shared->call.registers); i++)
		shared->call.registers[i] =
			Sandbox::pattern(UNWIND_FIRST_REGISTER + i, 0);
}

void check_call(Case &t, const Sandbox &sandbox, const Call &call)
{
	const GuardedPages memory(1);
	auto all = sandbox.trace(t, call);
	const auto more = sandbox.trace_disturbed(t, call);

	all.insert(all.end(), more.begin(), more.end());
	const auto steps = distinct(all, sandbox.image);
	std::set<std::uintptr_t> lost;
	Victim victim;

	shared = new (vdso::at<void>(memory.start())) Shared{};
	prepare(call);
	for (const Step &step : steps) {
		const std::uintptr_t pc = step.regs.nip;

		for (const Kind &kind : kinds) {
			if (!victim.go_to(t, sandbox, pc))
				continue;

			const Problem p =
				check_signal(victim, sandbox, pc, kind);

			if (p.empty())
				continue;
			if (never_saved_lr(sandbox, step))
				lost.insert(pc);
			else
				t.fail("%s: %s: %s", sandbox.place(pc).c_str(),
				       kind.name, p.c_str());
		}
	}
	t.check(!steps.empty(), "no instruction");
	for (const std::uintptr_t pc : lost)
		t.diag("%s: LR is intact, the CFI looks elsewhere",
		       sandbox.place(pc).c_str());
	if (!lost.empty())
		t.lacking("wrong CFI for LR at %zu of %zu instructions",
			  lost.size(), steps.size());
}

} // namespace

int main(int argc, char **argv)
{
	ktap::Suite suite;
	const auto image = vdso::Image::self();

	if (!image) {
		suite.add("image", [](Case &t) {
			t.lacking("AT_SYSINFO_EHDR: the kernel gives no vDSO");
		});
		return suite.run(argc, argv);
	}

	const Sandbox sandbox(*image);

	for (const Call &call : sandbox.calls)
		suite.add(call.name,
			  [&](Case &t) { check_call(t, sandbox, call); });
	return suite.run(argc, argv);
}
