// SPDX-License-Identifier: GPL-2.0-only
/*
 * Setting and steering the system clock under a test: see steer.h.
 */
#include "steer.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <system_error>

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ktap.h"

namespace steer
{

namespace
{

using clocks::Stamp;

int error_of(const vdso::Result &result)
{
	return result.failed ? static_cast<int>(result.value) : 0;
}

int adjust(timex &request)
{
	return adjtimex(&request) < 0 ? errno : 0;
}

int set_frequency(long scaled_ppm)
{
	timex request{};

	request.modes = ADJ_FREQUENCY;
	request.freq = scaled_ppm;
	return adjust(request);
}

int set_tick(long usec)
{
	timex request{};

	request.modes = ADJ_TICK;
	request.tick = usec;
	return adjust(request);
}

/*
 * As adjtime() does: a rate that lets the offset vanish within a second, from
 * the next second on. The kernel begins it at a time of its own choice, so it
 * must be too small to be seen as a step; the same is true of the next one.
 */
int slew_once(long usec)
{
	timex request{};

	request.modes = ADJ_OFFSET_SINGLESHOT;
	request.offset = usec;
	return adjust(request);
}

/* As an NTP daemon does: a part of the rest every second */
int slew_by_pll(long usec)
{
	timex request{};

	request.modes = ADJ_OFFSET | ADJ_STATUS | ADJ_MICRO;
	request.status = STA_PLL | STA_UNSYNC;
	request.offset = usec;
	return adjust(request);
}

Stamp elapsed_since(const Stamp &start)
{
	const Stamp now = clocks::system_clock(CLOCK_BOOTTIME);
	Stamp passed = { now.sec - start.sec, now.nsec - start.nsec };

	if (passed.nsec < 0) {
		passed.nsec += clocks::nsec_per_sec;
		passed.sec--;
	}
	return passed;
}

} // namespace

std::string refusal()
{
	if (ktap::expect() == ktap::Expect::unset && !getenv("CVDSO_SET_CLOCK"))
		return "would set this machine's clock: "
		       "CVDSO_SET_CLOCK=1 allows it";

	timex request{};

	/* Setting what is set already: the right to do it, and nothing else */
	if (adjtimex(&request) < 0)
		return "adjtimex is missing";
	request.modes = ADJ_TICK;
	if (adjust(request))
		return "no right to set the clock: run as root";
	return "";
}

int set_realtime(const Stamp &time)
{
#ifdef SYS_clock_settime64
	constexpr long number = SYS_clock_settime64;
	const vdso::Timespec64 ts = { time.sec, time.nsec };
#else
	constexpr long number = SYS_clock_settime;
	const vdso::Timespec ts = { time.sec, time.nsec };
#endif
	return error_of(
		vdso::system_call(number, CLOCK_REALTIME, vdso::arg(&ts)));
}

int set_timeofday(const Stamp &time, const vdso::Timezone *tz)
{
	const vdso::Timeval tv = { static_cast<long>(time.sec),
				   static_cast<long>(time.nsec /
						     clocks::nsec_per_usec) };

	return error_of(vdso::system_call(SYS_settimeofday, vdso::arg(&tv),
					  vdso::arg(tz)));
}

int step_realtime(const Stamp &offset)
{
	timex request{};

	request.modes = ADJ_SETOFFSET | ADJ_NANO;
	request.time.tv_sec = static_cast<time_t>(offset.sec);
	request.time.tv_usec = static_cast<suseconds_t>(offset.nsec);
	return adjust(request);
}

int set_tai_offset(int seconds)
{
	timex request{};

	request.modes = ADJ_TAI;
	request.constant = seconds;
	return adjust(request);
}

SavedClock::SavedClock()
	: realtime_(clocks::system_clock(CLOCK_REALTIME)),
	  boottime_(clocks::system_clock(CLOCK_BOOTTIME))
{
	adjtimex(&timex_);
}

SavedClock::~SavedClock()
{
	timex back = timex_;

	slew_once(0);
	back.modes = ADJ_FREQUENCY | ADJ_TICK | ADJ_STATUS |
		     (timex_.status & STA_NANO ? ADJ_NANO : ADJ_MICRO);
	adjtimex(&back);
	set_tai_offset(timex_.tai);
	set_realtime(clocks::add(realtime_, elapsed_since(boottime_)));
}

Disturber::Disturber()
{
	void *page = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		throw std::system_error(errno, std::generic_category(), "mmap");
	shared_ = new (page) Shared();
	fflush(stdout);
	pid_ = fork();
	if (pid_ == 0)
		run();
	if (pid_ < 0) {
		munmap(shared_, sizeof(Shared));
		throw std::system_error(errno, std::generic_category(), "fork");
	}
}

Disturber::~Disturber()
{
	kill(pid_, SIGKILL);
	waitpid(pid_, nullptr, 0);
	munmap(shared_, sizeof(Shared));
}

/* At most one of the two is odd: the sum serves a clock that obeys both */
std::uint32_t Disturber::sequence(const clocks::Clock &clock) const
{
	std::uint32_t sum = 0;

	if (clock.steps)
		sum += shared_->steps.load(std::memory_order_acquire);
	if (clock.id != CLOCK_MONOTONIC_RAW)
		sum += shared_->slews.load(std::memory_order_acquire);
	return sum;
}

/*
 * Steps go both ways, but around a clock that runs on from where it began: the
 * kernel refuses a CLOCK_REALTIME that is less than CLOCK_MONOTONIC.
 */
void Disturber::disturb(unsigned int round, const Stamp &origin)
{
	constexpr unsigned int first_slew = 4, kinds = 8;
	static std::minstd_rand random;
	const auto within = [](std::int64_t low, std::int64_t high) {
		return std::uniform_int_distribution(low, high)(random);
	};
	const Stamp aside = { within(-300, 300),
			      within(0, clocks::nsec_per_sec - 1) };
	const unsigned int kind = round % kinds;
	std::atomic<std::uint32_t> &sequence =
		kind < first_slew ? shared_->steps : shared_->slews;
	int error = 0;

	sequence.fetch_add(1);
	switch (kind) {
	case 0:
		error = set_realtime(clocks::add(origin, aside));
		break;
	case 1:
		error = set_timeofday(clocks::add(origin, aside), nullptr);
		break;
	case 2:
		error = step_realtime({ within(-2, 1), aside.nsec });
		break;
	case 3:
		error = set_tai_offset(static_cast<int>(within(0, 100)));
		break;
	case first_slew:
		/* 500 ppm is the most that the kernel takes */
		error = set_frequency(static_cast<long>(
			within(-500LL * 65536, 500LL * 65536)));
		break;
	case 5:
		/* Almost 10 %, as far as the kernel lets it go */
		error = set_tick(static_cast<long>(within(9100, 10900)));
		break;
	case 6:
		error = slew_once(static_cast<long>(within(-9, 9)));
		break;
	default:
		error = slew_by_pll(static_cast<long>(within(-99, 99)));
		break;
	}
	sequence.fetch_add(1);
	if (error)
		shared_->error = error;
}

void Disturber::run()
{
	/* A date that leaves room for steps back, even on a new machine */
	constexpr Stamp early = { 1000000000, 0 };
	constexpr useconds_t pause = 700;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Not to be kept waiting in the middle of a step by the readers */
	setpriority(PRIO_PROCESS, 0, -20);

	const Stamp realtime =
		std::max(early, clocks::system_clock(CLOCK_REALTIME));
	const Stamp start = clocks::system_clock(CLOCK_BOOTTIME);

	for (unsigned int round = 0;; round++) {
		disturb(round, clocks::add(realtime, elapsed_since(start)));
		usleep(pause);
	}
}

} // namespace steer
