/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * As many updates of the vDSO's page as the kernel lets a process force.
 *
 * Problem: a tick writes the page 250 times a second, so a reader meets a writer
 * once in many thousand readings. steer.h's Disturber writes more often, but
 * readers have to drop what they read meanwhile, as no one can say what it should
 * have been.
 *
 * So here every update leaves the clocks where they are, but for steps of which
 * each size is known: CLOCK_REALTIME is at one of two distances from
 * CLOCK_MONOTONIC, CLOCK_TAI at one of two from that. The distances differ in the
 * seconds and in the nanoseconds, so a reading that mixes two pages is at none of
 * them. Changes of the rate are the smallest that there are, and move a clock by
 * less than a nanosecond until the page shows them. No sample is dropped.
 *
 * The writer is one process. With a second CPU it never rests; on a single one it
 * wakes as often as a timer can wake it, with a priority that lets it interrupt a
 * reader wherever that is.
 */
#ifndef VDSO_TEST_STORM_H
#define VDSO_TEST_STORM_H

#include <atomic>
#include <cstdint>
#include <functional>

#include <sys/types.h>

#include "clocks.h"

namespace storm
{

/* By which CLOCK_REALTIME steps forth and back */
constexpr clocks::Stamp step = { 1000, 500 * clocks::nsec_per_msec };

/* Of CLOCK_TAI, in seconds */
constexpr int tai_offsets[] = { 37, 10 };

/* Writes the page in one way or another; returns the errno, or 0 */
int update(unsigned int round);

/*
 * Something that a process of its own does again and again until the object goes.
 * It returns an errno, or 0.
 */
class Meanwhile {
    public:
	using What = std::function<int(unsigned int round)>;

	/* pause in microseconds; urgent: before anything else that could run */
	Meanwhile(const What &what, unsigned int pause, bool urgent = false);
	~Meanwhile();
	Meanwhile(const Meanwhile &) = delete;
	Meanwhile &operator=(const Meanwhile &) = delete;

	/* How often it was done */
	unsigned int rounds() const
	{
		return shared_->rounds;
	}

	/* The last errno that was not 0 */
	int error() const
	{
		return shared_->error;
	}

    private:
	struct Shared {
		std::atomic<std::uint32_t> rounds;
		std::atomic<int> error;
	};

	[[noreturn]] void run(const What &what, unsigned int pause,
			      bool urgent);

	Shared *shared_;
	pid_t pid_;
};

} // namespace storm

#endif /* VDSO_TEST_STORM_H */
