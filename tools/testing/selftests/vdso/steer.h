/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Setting and steering the system clock under a test.
 *
 * Problem: the interesting moments of a vDSO are those when somebody sets the
 * clock or changes its rate; but CLOCK_REALTIME then jumps for a good reason,
 * and a reading outside its bracket would prove nothing.
 *
 * So another process does it, and publishes a sequence number in shared
 * memory: odd while a step is being made. A reader whose bracket saw an odd or
 * a changed number has met a step and drops the sample; every other one counts
 * in full.
 *
 * A change of the rate is meant to be no step, but is one when it is large: the
 * kernel reads the counter, works out from where to go on at the new rate, and
 * until it has published that, readers run on at the old one. The test's rates
 * differ by up to a fifth, so they have a sequence number as well. It also
 * covers that in kernels before 6.15 a coarse clock goes back a little then.
 * CLOCK_MONOTONIC_RAW knows no rate and is held to every sample.
 *
 * Whatever a test does to the clock is undone by SavedClock, from the time
 * that CLOCK_BOOTTIME says has passed.
 */
#ifndef VDSO_TEST_STEER_H
#define VDSO_TEST_STEER_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <sys/timex.h>
#include <sys/types.h>

#include "clocks.h"

namespace steer
{

/*
 * Why the clock must not be set here; empty when it may. A machine that says
 * which variant it runs was booted for the tests. Any other belongs to
 * somebody, and gets its clock disturbed only with CVDSO_SET_CLOCK=1.
 */
std::string refusal();

/* The errno of clock_settime(CLOCK_REALTIME), or 0 */
int set_realtime(const clocks::Stamp &time);

/* The same by other ways in: settimeofday(), and a step by adjtimex() */
int set_timeofday(const clocks::Stamp &time, const vdso::Timezone *tz);
int step_realtime(const clocks::Stamp &offset);

int set_tai_offset(int seconds);

class SavedClock {
    public:
	SavedClock();
	~SavedClock();
	SavedClock(const SavedClock &) = delete;
	SavedClock &operator=(const SavedClock &) = delete;

    private:
	clocks::Stamp realtime_;
	clocks::Stamp boottime_;
	timex timex_{};
};

/* A process that steps and slews the clock until the object goes */
class Disturber {
    public:
	Disturber();
	~Disturber();
	Disturber(const Disturber &) = delete;
	Disturber &operator=(const Disturber &) = delete;

	/* To read before and after a sample of that clock: see moved() */
	std::uint32_t sequence(const clocks::Clock &clock) const;

	/* Whether the clock may have been moved between the two */
	static bool moved(std::uint32_t before, std::uint32_t after)
	{
		return (before & 1) || before != after;
	}

	/* How many there have been */
	unsigned int steps() const
	{
		return shared_->steps / 2;
	}

	unsigned int slews() const
	{
		return shared_->slews / 2;
	}

	/* The errno of the last thing that the kernel refused, or 0 */
	int error() const
	{
		return shared_->error;
	}

    private:
	struct Shared {
		std::atomic<std::uint32_t> steps, slews;
		std::atomic<int> error;
	};

	void disturb(unsigned int round, const clocks::Stamp &origin);
	[[noreturn]] void run();

	Shared *shared_;
	pid_t pid_;
};

} // namespace steer

#endif /* VDSO_TEST_STEER_H */
