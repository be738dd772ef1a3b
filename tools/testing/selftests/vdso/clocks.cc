// SPDX-License-Identifier: GPL-2.0-only
/*
 * Everything in the vDSO that tells the time: see clocks.h.
 */
#include "clocks.h"

#include <algorithm>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/syscall.h>

#include "ktap.h"

namespace clocks
{

namespace
{

/* Outside every valid range: what a call does not write is seen */
constexpr long poison = -99;

constexpr bool long_is_narrow = sizeof(long) == 4;

[[noreturn]] void die(const char *what, long error)
{
	printf("# %s failed: %s\n", what,
	       strerrorname_np(static_cast<int>(error)));
	fflush(stdout);
	abort();
}

vdso::Result ask(const void *function, long number, unsigned long a,
		 unsigned long b)
{
	return function ? vdso::call(function, a, b) :
			  vdso::system_call(number, a, b);
}

template <typename Spec>
Stamp gettime(const void *function, long number, clockid_t id)
{
	Spec ts{ poison, poison };
	const vdso::Result result =
		ask(function, number, vdso::arg(id), vdso::arg(&ts));

	if (result.failed)
		die("clock_gettime", result.value);
	return { ts.sec, ts.nsec };
}

Stamp gettimeofday(const void *function)
{
	vdso::Timeval tv{ poison, poison };
	const vdso::Result result =
		ask(function, SYS_gettimeofday, vdso::arg(&tv), 0);

	if (result.failed)
		die("gettimeofday", result.value);
	return { tv.sec, tv.usec * nsec_per_usec };
}

/*
 * The system call time() reads the seconds without the timekeeper's sequence
 * count on 64 bit, and so may still say the old second when the page already
 * has the new one. CLOCK_REALTIME_COARSE is the same number, read with it.
 */
Stamp time(const void *function)
{
	if (!function) {
		Stamp now = gettime<vdso::Timespec>(nullptr, SYS_clock_gettime,
						    CLOCK_REALTIME_COARSE);
		now.nsec = 0;
		return now;
	}

#ifdef __powerpc__
	const vdso::Result result = vdso::call(function);

	if (result.failed)
		die("time", result.value);
	return { result.value, 0 };
#else
	/* It cannot fail, and a negative time looks like an error */
	return { vdso::pointer<long(long *)>(function)(nullptr), 0 };
#endif
}

const char *function_name(Api api)
{
	switch (api) {
	case Api::clock_gettime:
		return "clock_gettime";
	case Api::clock_gettime64:
		return "clock_gettime64";
	case Api::gettimeofday:
		return "gettimeofday";
	case Api::time:
		return "time";
	}
	return "";
}

std::string row_name(Api api, const Clock &clock)
{
	std::string name = function_name(api);

	std::ranges::replace(name, '_', '-');
	if (api == Api::clock_gettime || api == Api::clock_gettime64)
		name.append("-").append(clock.name);
	return name;
}

/*
 * How far the assembly vDSO of powerpc may lag behind the system call. It
 * multiplies with the upper half of a fixed point factor, an error of up to
 * 0.25 ppm of the time since the last update of its page, which is at most a
 * few seconds on an idle machine. The generic code has no such error.
 */
std::int64_t allowed_lag()
{
#ifdef __powerpc__
	static const bool assembly = ktap::expect() != ktap::Expect::patched &&
				     vdso::mappings("[vvar]").empty();

	return assembly ? nsec_per_usec : 0;
#else
	return 0;
#endif
}

} // namespace

std::string text(const Stamp &stamp)
{
	/* Half a second before zero is -1 s and 500000000 ns */
	const bool negative =
		stamp.sec < 0 && stamp.nsec > 0 && stamp.nsec < nsec_per_sec;
	char line[64];

	snprintf(line, sizeof(line), "%s%" PRId64 ".%09" PRId64,
		 negative ? "-" : "", negative ? -(stamp.sec + 1) : stamp.sec,
		 negative ? nsec_per_sec - stamp.nsec : stamp.nsec);
	return line;
}

Stamp add(const Stamp &stamp, const Stamp &offset)
{
	Stamp sum = { stamp.sec + offset.sec, stamp.nsec + offset.nsec };

	if (sum.nsec >= nsec_per_sec) {
		sum.nsec -= nsec_per_sec;
		sum.sec++;
	}
	return sum;
}

Source::Source(const vdso::Image &image, Api api, const Clock &clock)
	: api_(api), clock_(clock), name_(row_name(api, clock)),
	  function_(image.function(function_name(api)))
{
}

Stamp Source::read(const void *function) const
{
	switch (api_) {
	case Api::clock_gettime:
		return gettime<vdso::Timespec>(function, SYS_clock_gettime,
					       clock_.id);
	case Api::clock_gettime64:
#ifdef SYS_clock_gettime64
		return gettime<vdso::Timespec64>(function, SYS_clock_gettime64,
						 clock_.id);
#else
		break;
#endif
	case Api::gettimeofday:
		return gettimeofday(function);
	case Api::time:
		return time(function);
	}
	abort();
}

Stamp Source::vdso() const
{
	return read(function_);
}

Stamp Source::system() const
{
	return read(nullptr);
}

std::int64_t Source::difference(const Stamp &a, const Stamp &b) const
{
	/* Far more than any valid difference, and no overflow below */
	constexpr std::int64_t limit = INT_MAX;
	std::int64_t sec =
		static_cast<std::int64_t>(static_cast<std::uint64_t>(a.sec) -
					  static_cast<std::uint64_t>(b.sec));

	if (long_is_narrow && api_ != Api::clock_gettime64)
		sec = static_cast<std::int32_t>(sec);
	sec = std::clamp(sec, -limit, limit);
	return sec * nsec_per_sec + a.nsec - b.nsec;
}

std::vector<Source> sources(const vdso::Image &image)
{
	constexpr Clock realtime = all_clocks[0];
	constexpr Clock coarse = all_clocks[2];
	std::vector<Source> all;

	for (const Clock &clock : all_clocks) {
		all.emplace_back(image, Api::clock_gettime, clock);
		if (long_is_narrow)
			all.emplace_back(image, Api::clock_gettime64, clock);
	}
	all.emplace_back(image, Api::gettimeofday, realtime);
	all.emplace_back(image, Api::time, coarse);
	std::erase_if(all, [](const Source &s) { return !s.function(); });
	return all;
}

Bracket bracket(const Source &source)
{
	const Stamp before = source.system();
	const Stamp vdso = source.vdso();

	return { before, vdso, source.system() };
}

std::string complaint(const Source &source, const Bracket &b)
{
	const std::string vdso = source.name() + " " + text(b.vdso);

	if (b.vdso.nsec < 0 || b.vdso.nsec >= nsec_per_sec)
		return vdso + ": nanoseconds out of range";

	const std::int64_t early = source.difference(b.before, b.vdso);
	const std::int64_t late = source.difference(b.vdso, b.after);

	if (early > allowed_lag())
		return vdso + " is " + std::to_string(early) +
		       " ns before the system call before it, " +
		       text(b.before);
	if (late > 0)
		return vdso + " is " + std::to_string(late) +
		       " ns after the system call after it, " + text(b.after);
	return "";
}

Stamp system_clock(clockid_t id)
{
#if defined(SYS_clock_gettime64)
	return gettime<vdso::Timespec64>(nullptr, SYS_clock_gettime64, id);
#else
	return gettime<vdso::Timespec>(nullptr, SYS_clock_gettime, id);
#endif
}

Deadline::Deadline(std::int64_t budget)
	: end_(add(system_clock(CLOCK_MONOTONIC_RAW),
		   { budget / nsec_per_sec, budget % nsec_per_sec }))
{
}

bool Deadline::passed() const
{
	return system_clock(CLOCK_MONOTONIC_RAW) >= end_;
}

} // namespace clocks
