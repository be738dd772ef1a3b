/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking very many brackets (clocks.h), on all CPUs, and summing them up.
 *
 * A race between a reader and an update of the vDSO's page shows once in many
 * thousand readings, and only where reader and writer are on different CPUs,
 * so there is one pinned thread for each. On a single CPU there are two all
 * the same: they are then preempted in the middle of a reading.
 */
#ifndef VDSO_TEST_SAMPLING_H
#define VDSO_TEST_SAMPLING_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "clocks.h"
#include "ktap.h"
#include "steer.h"

namespace sampling
{

/* How long to read, in nanoseconds: by itself, and while the clock is steered */
constexpr std::int64_t quiet_time = 300 * clocks::nsec_per_msec;
constexpr std::int64_t disturbed_time = 1000 * clocks::nsec_per_msec;

struct Tally {
	unsigned int good = 0, dropped = 0, bad = 0;
	std::string first;

	void complain(const std::string &what);
};

/* Tallies by thread and by source */
using Tallies = std::vector<std::vector<Tally> >;

std::size_t thread_count();

/* Returns when the work of all threads is done */
void on_all_cpus(const std::function<void(std::size_t thread)> &work);

/* One bracket. The disturber, if there is one, may step the clock meanwhile. */
void sample(const clocks::Source &source, const steer::Disturber *disturber,
	    Tally &tally);

/* Says the sum, and each source's first complaint on each CPU */
void report(ktap::Case &t, const std::vector<clocks::Source> &sources,
	    const Tallies &threads);

/* All of that for a time */
void check_brackets(ktap::Case &t, const std::vector<clocks::Source> &sources,
		    std::int64_t time,
		    const steer::Disturber *disturber = nullptr);

/* With a disturber of its own; a skip where the clock must not be set */
void check_disturbed(ktap::Case &t, const std::vector<clocks::Source> &sources);

} // namespace sampling

#endif /* VDSO_TEST_SAMPLING_H */
