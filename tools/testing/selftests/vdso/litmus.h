/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether two CPUs agree on what was before what, with nothing but the clock
 * and a word of shared memory to tell.
 *
 * Problem: a counter that is read before an earlier load was done, or after a
 * later one, gives a stamp that contradicts what the program has seen: a
 * message from another CPU that was sent "after" it was received. No single
 * CPU can notice, and a bracket by system calls cannot either, since those
 * serialise. So two pinned threads exchange stamps as fast as they can, in four
 * ways, and count how often time steps back between them, and how far:
 *
 *	now	read the newest stamp that the other one has published, then
 *		the clock: it must not be before that stamp
 *	load	read the clock, then a shared number; where another number was
 *		published already by that time it must have been seen
 *	load3	the same as now behind a chain of three loads, which is a longer
 *		time for the clock to be read too early in
 *	store	read the clock, then publish: whoever sees it and then reads the
 *		clock, with fences, must not get an earlier time
 *
 * The clock is what the caller says, so the same loops run in a guest and
 * against any image that the lab has mapped.
 */
#ifndef VDSO_TEST_LITMUS_H
#define VDSO_TEST_LITMUS_H

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ktap.h"

namespace litmus
{

/* clock_gettime(), or clock_gettime64() of a 32-bit program */
struct Stamp {
	std::int64_t sec;
	std::int64_t nsec;
};

using Gettime = int (*)(int clock, Stamp *stamp);

struct Clock {
	Gettime gettime;
	int id;

	std::int64_t now() const
	{
		constexpr std::int64_t nsec_per_sec = 1000000000;
		Stamp stamp{};

		gettime(id, &stamp);
		return stamp.sec * nsec_per_sec + stamp.nsec;
	}
};

/* Steps back by their size, in powers of two of nanoseconds */
class Histogram {
    public:
	/* nsec > 0 */
	void add(std::int64_t nsec);
	void merge(const Histogram &other);

	std::uint64_t count() const;

	std::int64_t worst() const
	{
		return worst_;
	}

	/* "1 ns: 3, 2-3 ns: 5, 16-31 ns: 1"; empty when there is nothing */
	std::string text() const;

	const std::array<std::uint64_t, 63> &buckets() const
	{
		return buckets_;
	}

    private:
	std::array<std::uint64_t, 63> buckets_{};
	std::int64_t worst_ = 0;
};

struct Result {
	std::uint64_t samples = 0;
	Histogram back;
};

struct Loop {
	const char *name;
	/* A read that is not ordered may step back here, by the architecture */
	bool lossy;
	Result (*run)(const Clock &clock, std::int64_t milliseconds);
};

extern const std::array<Loop, 4> loops;

/* What any read must keep: one CPU never sees its own time go back */
Result one_cpu(const Clock &clock, std::int64_t milliseconds);

/* A chain or a race needs two */
bool have_two_cpus();

enum class Read { plain, ordered };
enum class Verdict { good, bad, not_seen, too_few };

/*
 * Ordered: no step back at all. Plain: what may step back has to be seen to do
 * so, or nothing is known; what may not must not.
 */
Verdict judge(const Loop &loop, Read read, const Result &result);

/* One case for each loop and one for one_cpu */
void add_cases(ktap::Suite &suite, const std::string &prefix,
	       const Clock &clock, Read read, std::int64_t milliseconds);

} // namespace litmus

#endif /* VDSO_TEST_LITMUS_H */
