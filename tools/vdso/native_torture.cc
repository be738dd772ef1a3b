// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two ways to change the page at a bad moment.
 *
 * torture: one CPU rewrites the pages as fast as it can, another reads. Every
 * version of the pages is on the same line from TSC to time, but written with
 * another base and another scale, so a stamp made of two versions is off the
 * line; and the TSC, read with fences before and after the call, says how far
 * on the line the stamp may be.
 *
 * steps: what a race hits once in a while, the processor's trap flag hits for
 * certain. The call is stepped, and at its n-th instruction the page becomes
 * another one, in one go or half and half later, for every n there is. The new
 * page begins a little after the counter that the call may have read already:
 * the stamp must not be before the base time of the page it is from.
 */
#include "native_torture.h"

#include <cpus.h>
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <random>
#include <thread>
#include <ucontext.h>

namespace vdso
{

namespace
{

constexpr std::array clocks = { realtime, monotonic, boottime, tai,
				monotonic_raw };

void complain(native_torture_result &r, const std::string &what)
{
	if (!r.bad++)
		r.first = what;
}

/*
 * Many calls between two readings of the TSC: fences at each would keep the
 * CPU from doing the call's own reading early.
 */
constexpr size_t batch = 64;

void read_batch(gettime_fn gettime, const time_line &line, int clock,
		native_torture_result &r)
{
	/* A pvclock's nanoseconds are rounded down at each update */
	int64_t tolerance = line.from() == source::pvclock ? 2 : 0;
	std::array<stamp, batch> stamps;
	int error = 0;
	uint64_t before = fenced_tsc();

	for (stamp &t : stamps)
		error |= gettime(clock, &t);
	int64_t high = line.nsec(fenced_tsc(), clock) + tolerance;
	int64_t low = line.nsec(before, clock) - tolerance;

	r.readings += batch;
	if (error)
		return complain(r, fmt::format("clock {}: error {}", clock,
					       error));
	for (const stamp &t : stamps) {
		int64_t got = in_nsec(t);

		if (got < low || got > high)
			complain(r, fmt::format("clock {}: {}.{:09}, {} ns "
						"from where it may be",
						clock, t.sec, t.nsec,
						got < low ? got - low :
							    got - high));
		low = std::max(low, got - tolerance);
	}
}

void read_until(const std::atomic<bool> &stop, gettime_fn gettime,
		const time_line &line, native_torture_result &r)
{
	for (size_t n = 0; !stop.load(std::memory_order_relaxed); n++)
		read_batch(gettime, line, clocks[n % clocks.size()], r);
}

} // namespace

/*
 * A host's updates, as soon as it has read the TSC: a reader that read it a
 * little earlier, and the page a little later, must not take it for a time
 * before the page's.
 */
static uint64_t hurry(page_writer &writer, const time_line &line,
		      std::minstd_rand &rng)
{
	constexpr uint64_t times = 1024;

	for (uint64_t n = 0; n < times; n++) {
		writer.write_quickly(line);
		for (auto wait = rng() % 4; wait; wait--)
			asm volatile("pause");
	}
	return times;
}

native_torture_result native_torture(const image &img, source src, uint64_t hz,
				     double seconds, bool broken_writer)
{
	std::vector<int> numbers = cpus::usable();
	native_image native(img);
	time_line line(hz, src);
	page_writer writer(native);
	native_torture_result r;
	std::atomic<bool> stop = false;
	std::minstd_rand rng(1);

	writer.write(line, fenced_tsc());
	if (broken_writer)
		writer.break_rules();
	std::thread reader([&] {
		pinned here(numbers.front());
		read_until(stop, native.gettime(), line, r);
	});
	pinned here(numbers.back());
	uint64_t end =
		fenced_tsc() + static_cast<uint64_t>(seconds * double(hz));
	for (uint64_t now = fenced_tsc(); now < end; now = fenced_tsc()) {
		writer.write(line, now, static_cast<uint32_t>(rng() % 5));
		r.updates++;
		for (auto wait = rng() % 1024; wait; wait--)
			asm volatile("pause");
		r.updates +=
			src == source::pvclock ? hurry(writer, line, rng) : 0;
	}
	stop = true;
	reader.join();
	return r;
}

namespace
{

constexpr unsigned long trap_flag = 0x100;
constexpr unsigned most_steps = 400; /* of a call that does not wait */
constexpr unsigned half_later = 40;
constexpr unsigned endless = 100000;

/* What the trap handler works on; there is one call at a time. */
struct stepping {
	const native_image *img = nullptr;
	page_writer *writer = nullptr;
	const time_line *line = nullptr;
	uint64_t ahead = 0; /* of the counter, in ticks */
	unsigned steps = 0, change_at = 0;
	bool in_halves = false, inside = false, changed = false,
	     half_done = false;
	uint64_t base = 0; /* the new page's counter */
};

stepping state;

void change_page()
{
	state.base = fenced_tsc() + state.ahead;
	state.writer->write(*state.line, state.base, 3);
	state.changed = true;
}

void on_step()
{
	unsigned n = state.steps++;

	if (!state.in_halves) {
		if (n == state.change_at)
			change_page();
		return;
	}
	if (n == state.change_at) {
		state.writer->begin();
		state.half_done = true;
	}
	if (n == state.change_at + half_later) {
		state.writer->end();
		change_page();
		state.half_done = false;
	}
}

void on_trap(int, siginfo_t *, void *context)
{
	auto *uc = static_cast<ucontext_t *>(context);
	auto ip = static_cast<uint64_t>(uc->uc_mcontext.gregs[REG_RIP]);

	if (state.img->contains(ip) && state.steps < endless) {
		state.inside = true;
		on_step();
	} else if (state.inside) {
		uc->uc_mcontext.gregs[REG_EFL] &=
			~static_cast<greg_t>(trap_flag);
	}
}

class trap_handler {
    public:
	trap_handler()
	{
		struct sigaction action = {};

		action.sa_sigaction = on_trap;
		action.sa_flags = SA_SIGINFO;
		sigaction(SIGTRAP, &action, &old);
	}
	~trap_handler()
	{
		sigaction(SIGTRAP, &old, nullptr);
	}
	trap_handler(const trap_handler &) = delete;
	trap_handler &operator=(const trap_handler &) = delete;

    private:
	struct sigaction old = {};
};

/* No red zone may be in the way of what is pushed here. */
[[gnu::noinline]] int stepped_call(gettime_fn gettime, int clock, stamp *t)
{
	asm volatile("lea -128(%%rsp), %%rsp\n\t"
		     "pushf\n\t"
		     "orq %0, (%%rsp)\n\t"
		     "popf\n\t"
		     "lea 128(%%rsp), %%rsp"
		     :
		     : "i"(trap_flag)
		     : "memory", "cc");
	return gettime(clock, t);
}

/* True while there was an instruction to change the page at. */
bool step_once(native_torture_result &r, int clock)
{
	int64_t low_old = state.line->nsec(fenced_tsc(), clock);
	stamp t = {};

	state.steps = 0;
	state.inside = state.changed = state.half_done = false;
	int error = stepped_call(state.img->gettime(), clock, &t);
	uint64_t after = fenced_tsc();
	if (state.half_done)
		state.writer->end();
	if (!state.changed)
		return state.half_done;
	/* The stamp of the new page is its base time: the counter is behind it. */
	int64_t base = state.line->nsec(state.base, clock);
	int64_t high_old = state.line->nsec(after, clock);

	r.readings++;
	r.updates++;
	if (state.steps >= endless)
		throw user_error{ fmt::format(
			"clock {}: no end when the page changes at step {}",
			clock, state.change_at) };
	int64_t got = in_nsec(t);
	int64_t slack = state.line->from() == source::pvclock ? 2 : 0;
	bool from_new =
		state.ahead && got >= base - slack && got <= base + slack;
	bool from_old = got >= low_old - slack && got <= high_old + slack;
	if (error || !(from_new || from_old))
		complain(r,
			 fmt::format("clock {}: the page changes {}at step {}: "
				     "{} ns before its base time",
				     clock, state.in_halves ? "in halves " : "",
				     state.change_at, base - got));
	return true;
}

} // namespace

native_torture_result native_steps(const image &img, source src, uint64_t hz,
				   bool plain)
{
	native_image native(img);
	time_line line(hz, src);
	page_writer writer(native);
	trap_handler handler;
	native_torture_result r;

	pinned here(cpus::usable().front());
	state = {};
	state.img = &native;
	state.writer = &writer;
	state.line = &line;
	/*
	 * A second: another socket's TSC may be ahead, which the TSC's page has
	 * to stand whatever the read. A pvclock's host sees to that.
	 */
	std::vector<uint64_t> aheads = { 0 };
	if (plain || src == source::tsc)
		aheads.push_back(hz);
	for (int clock : clocks)
		for (uint64_t ahead : aheads)
			for (bool in_halves : { false, true }) {
				state.ahead = ahead;
				state.in_halves = in_halves;
				for (unsigned n = 0; n < most_steps; n++) {
					state.change_at = n;
					writer.write(line, fenced_tsc());
					if (!step_once(r, clock))
						break;
				}
			}
	return r;
}

} // namespace vdso
