// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether the vDSO tells the right time.
 *
 * Every reading is put between two system calls (clocks.h), on all CPUs at
 * once, while another process steps and slews the clock (steer.h). Clocks that
 * are called monotonic must also never be seen to go backwards, on one CPU or
 * from one to another: there, each thread reads the newest stamp that any of
 * them has published before it takes its own.
 *
 * The remaining cases take the clock to where the numbers get large or wrap.
 */
#include <atomic>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clocks.h"
#include "ktap.h"
#include "sampling.h"
#include "steer.h"
#include "vdso.h"

namespace
{

using clocks::Source;
using clocks::Stamp;
using sampling::check_brackets;
using sampling::quiet_time;
using sampling::Tally;

using Filter = std::function<bool(const Source &)>;

std::vector<Source> select(const Filter &filter)
{
	const std::optional<vdso::Image> image = vdso::Image::self();
	std::vector<Source> chosen;

	if (image)
		chosen = clocks::sources(*image);
	std::erase_if(chosen, std::not_fn(filter));
	return chosen;
}

bool is_coarse(const Source &source)
{
	return source.clock().coarse;
}

bool is_realtime(const Source &source)
{
	return source.clock().steps && !is_coarse(source);
}

bool is_monotonic(const Source &source)
{
	return !source.clock().steps && !is_coarse(source);
}

bool follows_steps(const Source &source)
{
	return source.clock().steps;
}

bool never_goes_back(const Source &source)
{
	return !source.clock().steps;
}

void add_group(ktap::Suite &suite, const std::string &group,
	       const Filter &filter)
{
	suite.add(group + " between system calls", [=](ktap::Case &t) {
		check_brackets(t, select(filter), quiet_time);
	});
	suite.add(group + " between system calls, clock stepped and slewed",
		  [=](ktap::Case &t) {
			  sampling::check_disturbed(t, select(filter));
		  });
}

/*
 * The newest stamp of any thread, in nanoseconds. Where 64 bits cannot be
 * exchanged without a lock, which would order what is to be observed, the low
 * half must do; it is ambiguous only after two seconds.
 */
class Newest {
    public:
	using Word =
		std::conditional_t<std::atomic<std::int64_t>::is_always_lock_free,
				   std::int64_t, std::int32_t>;
	static constexpr std::int64_t ambiguous = 1 * clocks::nsec_per_sec;

	Word get() const
	{
		return word_.load(std::memory_order_acquire);
	}

	static Word older_by(std::int64_t now, Word seen)
	{
		using Unsigned = std::make_unsigned_t<Word>;

		return static_cast<Word>(static_cast<Unsigned>(now) -
					 static_cast<Unsigned>(seen));
	}

	void publish(std::int64_t now)
	{
		Word seen = word_.load(std::memory_order_relaxed);

		while (older_by(now, seen) > 0 &&
		       !word_.compare_exchange_weak(seen,
						    static_cast<Word>(now),
						    std::memory_order_release,
						    std::memory_order_relaxed))
			;
	}

	/* Before any thread runs */
	void start(std::int64_t now)
	{
		word_ = static_cast<Word>(now);
	}

    private:
	std::atomic<Word> word_{ 0 };
};

std::int64_t nanoseconds(const Stamp &stamp)
{
	return stamp.sec * clocks::nsec_per_sec + stamp.nsec;
}

Tally follow(const Source &source, const steer::Disturber *disturber,
	     Newest &newest)
{
	const auto sequence = [&] {
		return disturber ? disturber->sequence(source.clock()) : 0;
	};
	Tally tally;
	std::int64_t last = nanoseconds(source.vdso());
	const clocks::Deadline deadline(quiet_time);
	/* Looking at the deadline costs more than a sample */
	constexpr int batch = 64;

	do {
		for (int i = 0; i < batch; i++) {
			const std::uint32_t start = sequence();
			const Newest::Word seen = newest.get();
			const Stamp stamp = source.vdso();
			const std::int64_t now = nanoseconds(stamp);
			const auto later = Newest::older_by(now, seen);

			if (steer::Disturber::moved(start, sequence())) {
				tally.dropped++;
				sched_yield();
				continue;
			}
			if (now < last)
				tally.complain(source.name() + " " +
					       clocks::text(stamp) + " is " +
					       std::to_string(last - now) +
					       " ns before its last reading");
			else if (now - last > Newest::ambiguous)
				tally.dropped++;
			else if (later < 0)
				tally.complain(
					source.name() + " " +
					clocks::text(stamp) + " is " +
					std::to_string(-std::int64_t{ later }) +
					" ns before a stamp that was there "
					"already");
			else
				tally.good++;
			last = now;
			newest.publish(now);
		}
	} while (!deadline.passed());
	return tally;
}

void check_order(ktap::Case &t, const std::vector<Source> &sources,
		 const steer::Disturber *disturber)
{
	sampling::Tallies threads(sampling::thread_count(),
				  std::vector<Tally>(sources.size()));

	for (std::size_t i = 0; i < sources.size(); i++) {
		Newest newest;

		newest.start(nanoseconds(sources[i].vdso()));
		sampling::on_all_cpus([&](std::size_t thread) {
			threads[thread][i] =
				follow(sources[i], disturber, newest);
		});
	}
	sampling::report(t, sources, threads);
}

/*
 * Without the coarse clocks, which a change of the rate moves back and leaves
 * there until the next tick: see steer.h
 */
void check_order_disturbed(ktap::Case &t)
{
	if (const std::string reason = steer::refusal(); !reason.empty())
		return t.skip("%s", reason.c_str());

	const steer::SavedClock saved;
	const steer::Disturber disturber;

	check_order(t, select(is_monotonic), &disturber);
}

/* The page has not been updated for as long as the machine was idle */
void check_after_idle(ktap::Case &t)
{
	constexpr useconds_t idle = 2500000;
	const std::vector<Source> sources = select([](auto &) { return true; });
	std::vector<Tally> tallies(sampling::thread_count());

	sampling::on_all_cpus([&](std::size_t thread) {
		usleep(idle);
		for (const Source &source : sources)
			sampling::sample(source, nullptr, tallies[thread]);
	});
	for (const Tally &tally : tallies)
		t.check(!tally.bad, "%s", tally.first.c_str());
}

/*
 * time() is the second of the last timer tick, so it may be behind by one for
 * a tick or two after the second has changed, and never ahead.
 */
void check_time_of_day(ktap::Case &t)
{
	const std::vector<Source> fine = select([](const Source &s) {
		return s.api() == clocks::Api::gettimeofday;
	});
	const std::vector<Source> coarse = select(
		[](const Source &s) { return s.api() == clocks::Api::time; });
	const clocks::Deadline deadline(quiet_time * 4);

	if (fine.empty() || coarse.empty())
		return t.skip("the vDSO has no gettimeofday or no time");
	while (!deadline.passed()) {
		/* A guest without its host for long has late ticks */
		const Stamp tick = clocks::system_clock(CLOCK_REALTIME_COARSE);
		const Stamp now = coarse[0].vdso();
		const Stamp after = fine[0].vdso();

		t.check(coarse[0].difference(now, { tick.sec, 0 }) >= 0 &&
				coarse[0].difference(now, after) <= 0,
			"last tick %s, time %s, gettimeofday %s",
			clocks::text(tick).c_str(), clocks::text(now).c_str(),
			clocks::text(after).c_str());
	}
}

void check_tai(ktap::Case &t)
{
	const std::vector<Source> sources = select([](const Source &source) {
		return source.clock().id == CLOCK_TAI;
	});

	if (const std::string reason = steer::refusal(); !reason.empty())
		return t.skip("%s", reason.c_str());

	const steer::SavedClock saved;

	for (const int offset : { 37, 0, 100000, 10 }) {
		t.check(!steer::set_tai_offset(offset), "ADJ_TAI %d refused",
			offset);
		for (const Source &source : sources) {
			const Stamp r1 = clocks::system_clock(CLOCK_REALTIME);
			const Stamp tai = source.vdso();
			const Stamp r2 = clocks::system_clock(CLOCK_REALTIME);
			const std::string complaint = clocks::complaint(
				source, { clocks::add(r1, { offset, 0 }), tai,
					  clocks::add(r2, { offset, 0 }) });

			t.check(complaint.empty(), "offset %d: %s", offset,
				complaint.c_str());
		}
	}
}

/* Sets the clock shortly before a date and reads on until it is past it */
void check_across(ktap::Case &t, std::int64_t date)
{
	if (const std::string reason = steer::refusal(); !reason.empty())
		return t.skip("%s", reason.c_str());

	const steer::SavedClock saved;
	const Stamp start = { date - 1, 850 * clocks::nsec_per_msec };

	if (const int error = steer::set_realtime(start))
		return t.skip("the kernel refuses this date: %s",
			      strerrorname_np(error));
	check_brackets(t, select(follows_steps), quiet_time);

	const Stamp end = clocks::system_clock(CLOCK_REALTIME);

	t.check(end.sec >= date && end.sec < date + 1000, "ended at %s",
		clocks::text(end).c_str());
}

void check_before_1970(ktap::Case &t)
{
	constexpr Stamp date = { -1, 0 };

	if (const std::string reason = steer::refusal(); !reason.empty())
		return t.skip("%s", reason.c_str());

	const steer::SavedClock saved;
	const Stamp now = clocks::system_clock(CLOCK_REALTIME);
	const int error = steer::set_realtime(date);

	if (error && steer::set_timeofday(date, nullptr) &&
	    steer::step_realtime({ -now.sec - 2, 0 }))
		return t.skip("the kernel refuses it by clock_settime, "
			      "settimeofday and adjtimex: %s",
			      strerrorname_np(error));
	check_brackets(t, select(follows_steps), quiet_time);
}

/* As early as the kernel lets it be: CLOCK_MONOTONIC's own zero */
void check_early_1970(ktap::Case &t)
{
	if (const std::string reason = steer::refusal(); !reason.empty())
		return t.skip("%s", reason.c_str());

	const steer::SavedClock saved;
	const Stamp now = clocks::system_clock(CLOCK_MONOTONIC);
	const int error = steer::set_realtime(clocks::add(now, { 1, 0 }));

	t.check(!error, "clock_settime: %s", strerrorname_np(error));
	check_brackets(t, select(follows_steps), quiet_time);
}

/*
 * Given with a time, or the first one to be set would shift the clock: the
 * kernel takes it for a machine whose clock is in local time.
 */
void check_timezone(ktap::Case &t)
{
	const std::optional<vdso::Image> image = vdso::Image::self();
	const void *function =
		image ? image->function("gettimeofday") : nullptr;

	if (!function)
		return t.skip("the vDSO has no gettimeofday");
	if (const std::string reason = steer::refusal(); !reason.empty())
		return t.skip("%s", reason.c_str());

	const steer::SavedClock saved;
	vdso::Timezone old{};

	vdso::system_call(SYS_gettimeofday, 0, vdso::arg(&old));
	for (const vdso::Timezone &tz :
	     { vdso::Timezone{ -345, 1 }, vdso::Timezone{ 480, 0 }, old }) {
		vdso::Timezone seen = { 99, 99 };
		const Stamp now = clocks::system_clock(CLOCK_REALTIME);

		t.check(!steer::set_timeofday(now, &tz), "tz refused");
		vdso::call(function, 0, vdso::arg(&seen));
		t.check(seen.minuteswest == tz.minuteswest &&
				seen.dsttime == tz.dsttime,
			"set %d %d, vDSO says %d %d", tz.minuteswest,
			tz.dsttime, seen.minuteswest, seen.dsttime);
	}
}

void add_dates(ktap::Suite &suite)
{
	/* The last date that can be set: 30 years before ktime_t ends */
	constexpr std::int64_t last =
		INT64_MAX / clocks::nsec_per_sec - 30LL * 365 * 24 * 3600;

	suite.add("into 2038, where 31 bits of seconds end",
		  [](ktap::Case &t) { check_across(t, 1LL << 31); });
	suite.add("into 2106, where 32 bits of seconds end",
		  [](ktap::Case &t) { check_across(t, 1LL << 32); });
	suite.add("into 2232, where the kernel's dates end",
		  [](ktap::Case &t) { check_across(t, last); });
	suite.add("soon after 1970", check_early_1970);
	suite.add("before 1970", check_before_1970);
}

} // namespace

int main(int argc, char **argv)
{
	ktap::Suite suite;

	add_group(suite, "realtime clocks", is_realtime);
	add_group(suite, "monotonic clocks", is_monotonic);
	add_group(suite, "coarse clocks", is_coarse);
	suite.add("never backwards, on one CPU and across", [](ktap::Case &t) {
		check_order(t, select(never_goes_back), nullptr);
	});
	suite.add("never backwards, clock stepped and slewed",
		  check_order_disturbed);
	suite.add("after an idle time", check_after_idle);
	suite.add("time and gettimeofday agree", check_time_of_day);
	suite.add("CLOCK_TAI is its offset ahead of CLOCK_REALTIME", check_tai);
	suite.add("time zone", check_timezone);
	add_dates(suite);
	return suite.run(argc, argv);
}
