/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Everything in the vDSO that tells the time, next to the system call that
 * tells the same.
 *
 * Problem: a vDSO reading cannot be compared with a system call's: time goes
 * on between the two. But it can be put between two system calls, and then
 * before <= vdso <= after must hold to the nanosecond: the vDSO and the kernel
 * compute the time from the same counter, the same multiplier and the same
 * base. A page that was not updated, a lost carry or a wrong offset is outside
 * the bracket at once or after the next tick.
 *
 * System calls are made directly: libc would read its first and last stamp
 * through the very code under test.
 */
#ifndef VDSO_TEST_CLOCKS_H
#define VDSO_TEST_CLOCKS_H

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <time.h>

#include "vdso.h"

namespace clocks
{

constexpr std::int64_t nsec_per_sec = 1000000000;
constexpr std::int64_t nsec_per_msec = 1000000;
constexpr std::int64_t nsec_per_usec = 1000;

struct Stamp {
	std::int64_t sec;
	std::int64_t nsec;

	/* NOLINTNEXTLINE(modernize-use-nullptr): not a pointer, a comparison */
	auto operator<=>(const Stamp &) const = default;
};

std::string text(const Stamp &stamp);

Stamp add(const Stamp &stamp, const Stamp &offset);

struct Clock {
	clockid_t id;
	const char *name; /* vdsotest's words */
	bool coarse;
	bool steps; /* follows clock_settime() and TAI offsets */
};

constexpr std::array<Clock, 7> all_clocks = { {
	{ CLOCK_REALTIME, "realtime", false, true },
	{ CLOCK_MONOTONIC, "monotonic", false, false },
	{ CLOCK_REALTIME_COARSE, "realtime-coarse", true, true },
	{ CLOCK_MONOTONIC_COARSE, "monotonic-coarse", true, false },
	{ CLOCK_MONOTONIC_RAW, "monotonic-raw", false, false },
	{ CLOCK_BOOTTIME, "boottime", false, false },
	{ CLOCK_TAI, "tai", false, true },
} };

enum class Api { clock_gettime, clock_gettime64, gettimeofday, time };

/* One function of the vDSO, for one clock */
class Source {
    public:
	Source(const vdso::Image &image, Api api, const Clock &clock);

	/* vdsotest's name of it: clock-gettime-monotonic */
	const std::string &name() const
	{
		return name_;
	}

	const Clock &clock() const
	{
		return clock_;
	}

	Api api() const
	{
		return api_;
	}

	const void *function() const
	{
		return function_;
	}

	/* Reads through the vDSO, or with the system call */
	Stamp vdso() const;
	Stamp system() const;

	/*
	 * a - b in nanoseconds. An interface with 32 bits for the seconds
	 * wraps in 2038 in the vDSO as in the system call.
	 */
	std::int64_t difference(const Stamp &a, const Stamp &b) const;

    private:
	Stamp read(const void *function) const;

	Api api_;
	Clock clock_;
	std::string name_;
	const void *function_;
};

/* The functions that the image has, each with every clock it knows */
std::vector<Source> sources(const vdso::Image &image);

/* A reading of the vDSO between two system calls */
struct Bracket {
	Stamp before;
	Stamp vdso;
	Stamp after;
};

Bracket bracket(const Source &source);

/* What is wrong with it, for a person to read; empty when nothing is */
std::string complaint(const Source &source, const Bracket &bracket);

/* Runs for budget nanoseconds of CLOCK_MONOTONIC_RAW's time */
class Deadline {
    public:
	explicit Deadline(std::int64_t budget);

	bool passed() const;

    private:
	Stamp end_;
};

/* CLOCK_* by system call; 64 bits for the seconds where the kernel has them */
Stamp system_clock(clockid_t id);

} // namespace clocks

#endif /* VDSO_TEST_CLOCKS_H */
