// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a call costs: as a system call, through libc, and in the vDSO.
 *
 * The rows have vdsotest's names and its form, so that they compare with the
 * figures of old change logs. How a figure comes about:
 *
 *	A batch is a fixed number of calls in a loop between two readings of
 *	CLOCK_MONOTONIC_RAW by system call. Of some batches, after one that warms
 *	up, the quickest counts: it is the one that no interrupt fell into. An
 *	empty batch, which is what the two readings cost, is taken off, and the
 *	rest is divided by the number of calls.
 *
 * So a figure contains the call and the loop, as in vdsotest, and the time in
 * interrupts not. Calls are counted, and not seconds, because under QEMU's
 * -icount a nanosecond is a number of instructions: then the same build does
 * the same in every boot and prints the same, whatever the host.
 *
 * A function may well be in the vDSO and only ask the kernel. The verdict of a
 * row says whether it does what it is there for: it takes at most half of the
 * system call's time.
 */
#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sched.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "clocks.h"
#include "cpus.h"
#include "ktap.h"
#include "vdso.h"

namespace
{

constexpr int calls = 1000;
constexpr int batches = 9;

std::int64_t now()
{
	const clocks::Stamp stamp = clocks::system_clock(CLOCK_MONOTONIC_RAW);

	return stamp.sec * clocks::nsec_per_sec + stamp.nsec;
}

template <typename Loop> std::int64_t quickest(const Loop &loop)
{
	std::int64_t least = std::numeric_limits<std::int64_t>::max();

	loop();
	for (int i = 0; i < batches; i++) {
		const std::int64_t start = now();

		loop();
		least = std::min(least, now() - start);
	}
	return least;
}

template <typename Call> std::int64_t picoseconds(const Call &call)
{
	constexpr std::int64_t psec_per_nsec = 1000;
	const std::int64_t empty = quickest([] {});
	/*
	 * Unrolled once, the loop would take half an instruction, and a figure
	 * under -icount be rounded up or down by the clock's last digit.
	 */
	const std::int64_t full = quickest([&] {
#pragma GCC unroll 1
		for (int i = 0; i < calls; i++)
			call();
	});

	return (full - empty) * psec_per_nsec / calls;
}

using Measure = std::function<std::int64_t()>;

struct Row {
	std::string name;
	const void *function; /* in the vDSO, or null */
	Measure syscall, libc, vdso;
};

/* clock_gettime and clock_getres, with either width of the seconds */
template <typename Spec>
Row clock_row(std::string name, const void *function, long number,
	      clockid_t clock, int (*libc)(clockid_t, timespec *))
{
	Row row{ std::move(name), function, {}, {}, {} };

	row.syscall = [=] {
		Spec result;

		return picoseconds([&] { syscall(number, clock, &result); });
	};
	if (libc)
		row.libc = [=] {
			timespec result;

			return picoseconds([&] { libc(clock, &result); });
		};
	row.vdso = [=] {
		auto *call = vdso::pointer<long(clockid_t, Spec *)>(function);
		Spec result;

		return picoseconds([&] { call(clock, &result); });
	};
	return row;
}

Row gettimeofday_row(const void *function)
{
	return { "gettimeofday", function,
		 [] {
			 vdso::Timeval tv;

			 return picoseconds([&] {
				 syscall(SYS_gettimeofday, &tv, nullptr);
			 });
		 },
		 [] {
			 timeval tv;

			 return picoseconds(
				 [&] { gettimeofday(&tv, nullptr); });
		 },
		 [=] {
			 auto *call =
				 vdso::pointer<long(vdso::Timeval *, void *)>(
					 function);
			 vdso::Timeval tv;

			 return picoseconds([&] { call(&tv, nullptr); });
		 } };
}

Row time_row(const void *function)
{
	return { "time", function,
#ifdef SYS_time
		 [] { return picoseconds([] { syscall(SYS_time, nullptr); }); },
#else
		 {},
#endif
		 [] { return picoseconds([] { time(nullptr); }); },
		 [=] {
			 auto *call = vdso::pointer<long(long *)>(function);

			 return picoseconds([&] { call(nullptr); });
		 } };
}

Row getcpu_row(const void *function)
{
	return { "getcpu", function,
		 [] {
			 unsigned int cpu, node;

			 return picoseconds([&] {
				 syscall(SYS_getcpu, &cpu, &node, nullptr);
			 });
		 },
		 [] {
			 unsigned int cpu, node;

			 return picoseconds([&] { getcpu(&cpu, &node); });
		 },
		 [=] {
			 auto *call = vdso::pointer<long(
				 unsigned int *, unsigned int *, void *)>(
				 function);
			 unsigned int cpu, node;

			 return picoseconds(
				 [&] { call(&cpu, &node, nullptr); });
		 } };
}

std::vector<Row> rows(const vdso::Image &image)
{
	std::vector<Row> all = { gettimeofday_row(
		image.function("gettimeofday")) };

	for (const clocks::Clock &clock : clocks::all_clocks) {
		all.push_back(clock_row<vdso::Timespec>(
			std::string("clock-getres-") + clock.name,
			image.function("clock_getres"), SYS_clock_getres,
			clock.id, clock_getres));
		all.push_back(clock_row<vdso::Timespec>(
			std::string("clock-gettime-") + clock.name,
			image.function("clock_gettime"), SYS_clock_gettime,
			clock.id, clock_gettime));
	}
#ifdef SYS_clock_gettime64
	for (const clocks::Clock &clock : clocks::all_clocks)
		all.push_back(clock_row<vdso::Timespec64>(
			std::string("clock-gettime64-") + clock.name,
			image.function("clock_gettime64"), SYS_clock_gettime64,
			clock.id, nullptr));
#endif
	all.push_back(time_row(image.function("time")));
	all.push_back(getcpu_row(image.function("getcpu")));
	return all;
}

std::int64_t print(ktap::Case &t, const Row &row, const char *column,
		   const Measure &measure)
{
	constexpr std::int64_t psec_per_nsec = 1000;
	const std::int64_t cost = measure();

	t.diag("%s: %s: %" PRId64 " nsec/call", row.name.c_str(), column,
	       (cost + psec_per_nsec / 2) / psec_per_nsec);
	return cost;
}

/* Neither another CPU's caches nor its counter in the middle of a batch */
void stay_on_this_cpu()
{
	const int cpu = sched_getcpu();

	if (cpu >= 0)
		cpus::pin(cpu);
}

void measure_row(ktap::Case &t, const Row &row)
{
	std::int64_t kernel = 0;

	stay_on_this_cpu();
	if (row.syscall)
		kernel = print(t, row, "syscall", row.syscall);
	if (row.libc)
		print(t, row, "libc", row.libc);
	if (!row.function) {
		/* A 32-bit kernel with SMP never had it */
		if (row.name == "getcpu")
			return t.skip("not in this vDSO");
		return t.lacking("not in this vDSO");
	}

	const std::int64_t vdso = print(t, row, "vdso", row.vdso);

	t.check(vdso > 0, "a call that takes no time");
	if (row.syscall && vdso * 2 > kernel)
		t.lacking("the vDSO asks the kernel");
}

/*
 * Once more, at addresses that are the same every time: what a kernel does to
 * write a result may depend on where that is.
 */
void run_without_randomisation(char **argv)
{
	constexpr unsigned long query = 0xffffffff;
	const int current = personality(query);

	if (current < 0 || current & ADDR_NO_RANDOMIZE)
		return;
	if (personality(static_cast<unsigned long>(current) |
			ADDR_NO_RANDOMIZE) >= 0)
		execv("/proc/self/exe", argv);
}

} // namespace

int main(int argc, char **argv)
{
	run_without_randomisation(argv);

	const std::optional<vdso::Image> image = vdso::Image::self();
	ktap::Suite suite;

	if (image)
		for (const Row &row : rows(*image))
			suite.add(row.name, [row](ktap::Case &t) {
				measure_row(t, row);
			});
	else
		suite.add("vDSO", [](ktap::Case &t) {
			t.lacking("this process has no vDSO");
		});
	return suite.run(argc, argv);
}
