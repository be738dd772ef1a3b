// SPDX-License-Identifier: GPL-2.0-only
/*
 * Results and errors of the vDSO's calls, against the system calls they stand
 * for: the same success, the same errno, and for a time one that lies between
 * two answers of the kernel.
 *
 * The vDSO may be a little off the kernel's own clock (vdso_correctness looks
 * at that closely); here it is only asked whether it is the right clock.
 *
 * A bad pointer is passed only where the kernel sees it: where the vDSO itself
 * stores to it, a fault is the caller's.
 */
#include "abi.h"
#include "cpus.h"

#include <array>
#include <climits>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace
{

using ktap::Case;
using ktap::Expect;
using vdso::arg;
using vdso::Image;
using vdso::Result;

constexpr std::int64_t second = 1000000000;
constexpr std::int64_t tolerance = second / 1000;

/* The two forms of clock_gettime() and clock_getres() */
struct Form {
	const char *gettime;
	const char *getres;
	long nr_gettime;
	long nr_getres;
	bool wide; /* the struct, on a machine whose long is narrow */
};

constexpr Form native = { "clock_gettime", "clock_getres", SYS_clock_gettime,
			  SYS_clock_getres, false };
#ifdef SYS_clock_gettime64
constexpr Form time64 = { "clock_gettime64", "clock_getres_time64",
			  SYS_clock_gettime64, SYS_clock_getres_time64, true };
#endif

/* Room for either struct, with a pattern where nothing is stored */
class Time {
    public:
	Time()
	{
		bytes_.fill(0x5a);
	}

	vdso::Timespec64 get(bool wide) const
	{
		vdso::Timespec64 time;
		vdso::Timespec narrow;

		if (wide) {
			memcpy(&time, bytes_.data(), sizeof(time));
			return time;
		}
		memcpy(&narrow, bytes_.data(), sizeof(narrow));
		return { narrow.sec, narrow.nsec };
	}

	std::int64_t ns(bool wide) const
	{
		const auto [sec, nsec] = get(wide);

		return sec * second + nsec;
	}

    private:
	alignas(vdso::Timespec64)
		std::array<char, sizeof(vdso::Timespec64)> bytes_;
};

bool same_end(Case &t, const Result &result, const Result &kernel)
{
	return t.check(result.failed == kernel.failed &&
			       result.value == kernel.value,
		       "vDSO %s %ld, system call %s %ld",
		       result.failed ? "error" : "result", result.value,
		       kernel.failed ? "error" : "result", kernel.value);
}

void check_between(Case &t, std::int64_t before, std::int64_t value,
		   std::int64_t after)
{
	t.check(value >= before - tolerance && value <= after + tolerance,
		"%lld ns is not between %lld and %lld",
		static_cast<long long>(value), static_cast<long long>(before),
		static_cast<long long>(after));
}

void check_gettime(Case &t, const void *function, const Form &form, int clock)
{
	Time before, value, after;
	const Result kernel =
		vdso::system_call(form.nr_gettime, arg(clock), arg(&before));
	const Result result = vdso::call(function, arg(clock), arg(&value));

	vdso::system_call(form.nr_gettime, arg(clock), arg(&after));
	if (!same_end(t, result, kernel) || kernel.failed)
		return;
	check_between(t, before.ns(form.wide), value.ns(form.wide),
		      after.ns(form.wide));

	const std::int64_t nsec = value.get(form.wide).nsec;

	t.check(nsec >= 0 && nsec < second, "%lld nanoseconds",
		static_cast<long long>(nsec));
}

void check_getres(Case &t, const void *function, const Form &form, int clock)
{
	Time want, value;
	const Result kernel =
		vdso::system_call(form.nr_getres, arg(clock), arg(&want));
	const Result result = vdso::call(function, arg(clock), arg(&value));

#if defined(__powerpc__) && !defined(__powerpc64__)
	/* CLOCK_SGI_CYCLE is gone and an alarm clock may not be there */
	if (kernel.failed && !result.failed && clock >= 0 && clock <= CLOCK_TAI)
		return t.lacking("every id up to CLOCK_TAI is answered like "
				 "CLOCK_REALTIME, whether it exists or not");
#endif
	if (!same_end(t, result, kernel) || kernel.failed)
		return;
	t.check(value.ns(form.wide) == want.ns(form.wide),
		"%lld ns, system call %lld ns",
		static_cast<long long>(value.ns(form.wide)),
		static_cast<long long>(want.ns(form.wide)));
	same_end(t, vdso::call(function, arg(clock), 0),
		 vdso::system_call(form.nr_getres, arg(clock), 0));
}

/*
 * A clock id is a number from 0, or the complement of a process id or of a
 * file descriptor, with the kind in the lowest three bits.
 */
constexpr int process_clock = 2;
constexpr int thread_clock = 6;
constexpr int fd_clock = 3;

constexpr int dynamic_clock(int number, int kind)
{
	return static_cast<int>(~static_cast<unsigned int>(number) << 3 |
				static_cast<unsigned int>(kind));
}

struct Clock {
	std::string name;
	int id;
};

std::vector<Clock> clocks()
{
	std::vector<Clock> all = {
		{ "REALTIME", CLOCK_REALTIME },
		{ "MONOTONIC", CLOCK_MONOTONIC },
		{ "PROCESS_CPUTIME_ID", CLOCK_PROCESS_CPUTIME_ID },
		{ "THREAD_CPUTIME_ID", CLOCK_THREAD_CPUTIME_ID },
		{ "MONOTONIC_RAW", CLOCK_MONOTONIC_RAW },
		{ "REALTIME_COARSE", CLOCK_REALTIME_COARSE },
		{ "MONOTONIC_COARSE", CLOCK_MONOTONIC_COARSE },
		{ "BOOTTIME", CLOCK_BOOTTIME },
		{ "REALTIME_ALARM", CLOCK_REALTIME_ALARM },
		{ "BOOTTIME_ALARM", CLOCK_BOOTTIME_ALARM },
		{ "TAI", CLOCK_TAI },
		{ "cpu time of this process", dynamic_clock(0, process_clock) },
		{ "cpu time of this thread", dynamic_clock(0, thread_clock) },
		{ "cpu time of init", dynamic_clock(1, process_clock) },
		{ "cpu time of no process",
		  dynamic_clock(0x3fffff, process_clock) },
		{ "clock of a descriptor that is closed",
		  dynamic_clock(1000, fd_clock) },
	};

	/* Clocks are taken as bits of a mask: look where a shift wraps */
	for (const int id :
	     { 10, 12, 15, 16,	17,  31,      32,	  33,	   37,
	       63, 64, 65, 95,	99,  256,     0x10000,	  0x10001, INT_MAX,
	       -1, -2, -5, -32, -64, INT_MIN, INT_MIN + 1 })
		all.push_back({ std::to_string(id), id });
	return all;
}

/* A character device that is not a clock, and a clock if there is one */
void check_descriptors(Case &t, const void *function, const Form &form)
{
	for (const char *path : { "/dev/null", "/dev/ptp0" }) {
		const int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			continue;
		check_gettime(t, function, form, dynamic_clock(fd, fd_clock));
		close(fd);
	}
}

/* The kernel sees the pointer of a clock that the vDSO does not serve */
void check_fallback_efault(Case &t, const void *gettime, const void *getres,
			   const Form &form)
{
	const unsigned long bad = 16;

	same_end(t, vdso::call(gettime, CLOCK_PROCESS_CPUTIME_ID, bad),
		 vdso::system_call(form.nr_gettime, CLOCK_PROCESS_CPUTIME_ID,
				   bad));
	same_end(t, vdso::call(gettime, 99, 0),
		 vdso::system_call(form.nr_gettime, 99, 0));
	if (!getres)
		return;
	same_end(t, vdso::call(getres, CLOCK_PROCESS_CPUTIME_ID, 0),
		 vdso::system_call(form.nr_getres, CLOCK_PROCESS_CPUTIME_ID,
				   0));
}

void add_form(ktap::Suite &suite, const Image &image, const Form &form)
{
	const void *gettime = image.function(form.gettime);
	const void *getres = image.function(form.getres);

#ifdef __i386__
	/* It has no clock_getres_time64(); whether it should is not asked here */
	const bool complete = gettime;
#else
	const bool complete = gettime && getres;
#endif
	if (!complete) {
		suite.add(form.gettime, [=](Case &t) {
			t.lacking("no %s and %s in this vDSO", form.gettime,
				  form.getres);
		});
		return;
	}
	for (const auto &clock : clocks()) {
		const int id = clock.id;

		suite.add(std::string(form.gettime) + "(" + clock.name + ")",
			  [=](Case &t) {
				  check_gettime(t, gettime, form, id);
			  });
		if (!getres)
			continue;
		suite.add(std::string(form.getres) + "(" + clock.name + ")",
			  [=](Case &t) { check_getres(t, getres, form, id); });
	}
	suite.add(std::string(form.gettime) + " of an open descriptor",
		  [=](Case &t) { check_descriptors(t, gettime, form); });
	suite.add(std::string(form.gettime) + " passes bad pointers on",
		  [=](Case &t) {
			  check_fallback_efault(t, gettime, getres, form);
		  });
}

std::int64_t ns(const vdso::Timeval &tv)
{
	return std::int64_t{ tv.sec } * second + std::int64_t{ tv.usec } * 1000;
}

void check_timeval(Case &t, const void *function, bool with_zone)
{
	vdso::Timeval before{}, tv{ -1, -1 }, after{};
	vdso::Timezone tz{ -1, -1 }, want{};
	const Result kernel =
		vdso::system_call(SYS_gettimeofday, arg(&before), arg(&want));
	const Result result =
		vdso::call(function, arg(&tv), with_zone ? arg(&tz) : 0);

	vdso::system_call(SYS_gettimeofday, arg(&after), 0);
	same_end(t, result, kernel);
	check_between(t, ns(before), ns(tv), ns(after));
	t.check(tv.usec >= 0 && tv.usec < 1000000, "%ld microseconds", tv.usec);
	if (with_zone)
		t.check(tz.minuteswest == want.minuteswest &&
				tz.dsttime == want.dsttime,
			"zone %d %d, system call %d %d", tz.minuteswest,
			tz.dsttime, want.minuteswest, want.dsttime);
}

void check_zone_only(Case &t, const void *function)
{
	vdso::Timezone tz{ -1, -1 }, want{};

	vdso::system_call(SYS_gettimeofday, 0, arg(&want));
	same_end(t, vdso::call(function, 0, arg(&tz)), { false, 0, 0 });
	t.check(tz.minuteswest == want.minuteswest &&
			tz.dsttime == want.dsttime,
		"zone %d %d, system call %d %d", tz.minuteswest, tz.dsttime,
		want.minuteswest, want.dsttime);
}

/*
 * A zone that is not zero. Only in a machine that was booted for the tests: it
 * belongs to everybody. The time is set along with it, because the first zone
 * that comes without a time shifts the clock; libc refuses to do both at once.
 */
void check_zone_set(Case &t, const void *function)
{
	const vdso::Timezone odd{ -345, 3 };
	vdso::Timezone old{}, tz{};
	vdso::Timeval now{};

	if (ktap::expect() == Expect::unset)
		return t.skip("CVDSO_VARIANT is not set: would set the zone of "
			      "the whole machine");
	vdso::system_call(SYS_gettimeofday, arg(&now), arg(&old));
	const Result set =
		vdso::system_call(SYS_settimeofday, arg(&now), arg(&odd));

	if (set.failed)
		return t.skip("settimeofday: %s",
			      strerror(static_cast<int>(set.value)));
	same_end(t, vdso::call(function, arg(&now), arg(&tz)), { false, 0, 0 });
	t.check(tz.minuteswest == odd.minuteswest && tz.dsttime == odd.dsttime,
		"zone %d %d, set %d %d", tz.minuteswest, tz.dsttime,
		odd.minuteswest, odd.dsttime);
	vdso::system_call(SYS_gettimeofday, arg(&now), 0);
	vdso::system_call(SYS_settimeofday, arg(&now), arg(&old));
}

void add_gettimeofday(ktap::Suite &suite, const void *function)
{
	suite.add("gettimeofday(tv, NULL)",
		  [=](Case &t) { check_timeval(t, function, false); });
	suite.add("gettimeofday(tv, tz)",
		  [=](Case &t) { check_timeval(t, function, true); });
	suite.add("gettimeofday(NULL, tz)",
		  [=](Case &t) { check_zone_only(t, function); });
	suite.add("gettimeofday(NULL, NULL)", [=](Case &t) {
		same_end(t, vdso::call(function, 0, 0), { false, 0, 0 });
	});
	suite.add("gettimeofday(tv, tz) with a zone",
		  [=](Case &t) { check_zone_set(t, function); });
}

void check_time(Case &t, const void *function, bool with_pointer)
{
	long stored = -1;
	vdso::Timespec before{}, after{};

	vdso::system_call(SYS_clock_gettime, CLOCK_REALTIME_COARSE,
			  arg(&before));
	const Result result =
		vdso::call(function, with_pointer ? arg(&stored) : 0);

	vdso::system_call(SYS_clock_gettime, CLOCK_REALTIME_COARSE,
			  arg(&after));
	t.check(!result.failed, "error %ld", result.value);
	t.check(result.value >= before.sec && result.value <= after.sec,
		"%ld is not between %ld and %ld", result.value, before.sec,
		after.sec);
	if (with_pointer)
		t.check(stored == result.value, "stored %ld, returned %ld",
			stored, result.value);
}

void add_time(ktap::Suite &suite, const void *function)
{
	suite.add("time(t)", [=](Case &t) { check_time(t, function, true); });
	suite.add("time(NULL)",
		  [=](Case &t) { check_time(t, function, false); });
}

void check_getcpu(Case &t, const void *function)
{
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);

	for (unsigned int i = 0; i < static_cast<unsigned long>(cpus); i++) {
		unsigned int cpu = ~0U, node = ~0U, want_node = ~1U;

		if (!cpus::pin(static_cast<int>(i)))
			continue;
		vdso::system_call(SYS_getcpu, 0, arg(&want_node));
		same_end(t, vdso::call(function, arg(&cpu), arg(&node)),
			 { false, 0, 0 });
		t.check(cpu == i && node == want_node,
			"CPU %u node %u, pinned to CPU %u node %u", cpu, node,
			i, want_node);
		cpu = node = ~0U;
		vdso::call(function, arg(&cpu), 0);
		vdso::call(function, 0, arg(&node));
		same_end(t, vdso::call(function, 0, 0), { false, 0, 0 });
		t.check(cpu == i && node == want_node,
			"with one NULL: CPU %u node %u, pinned to %u node %u",
			cpu, node, i, want_node);
	}
}

} // namespace

namespace abi
{

void add_results(ktap::Suite &suite, const Image &image)
{
	add_form(suite, image, native);
#ifdef SYS_clock_gettime64
	add_form(suite, image, time64);
#endif
	if (const void *function = image.function("gettimeofday"))
		add_gettimeofday(suite, function);
	if (const void *function = image.function("time"))
		add_time(suite, function);
	/* A missing function is a missing symbol: add_image() tells */
	if (const void *function = image.function("getcpu"))
		suite.add("getcpu on every CPU",
			  [=](Case &t) { check_getcpu(t, function); });
}

} // namespace abi
