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
#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clocks.h"
#include "ktap.h"
#include "steer.h"
#include "vdso.h"

namespace
{

using clocks::Source;
using clocks::Stamp;

/* How long a case reads, in nanoseconds: alone, and while disturbed */
constexpr std::int64_t quiet_time = 300 * clocks::nsec_per_msec;
constexpr std::int64_t disturbed_time = 1000 * clocks::nsec_per_msec;

/*
 * Fewer samples prove little, so a slow machine gets more time, up to a point
 */
constexpr unsigned int enough_samples = 100;
constexpr int patience = 10;

struct Tally {
	unsigned int good = 0, dropped = 0, bad = 0;
	std::string first;

	void complain(const std::string &what)
	{
		if (!bad++)
			first = what;
	}

	void add(const Tally &other)
	{
		good += other.good;
		dropped += other.dropped;
		if (other.bad && !bad)
			first = other.first;
		bad += other.bad;
	}
};

std::vector<int> usable_cpus()
{
	std::vector<int> cpus;
	cpu_set_t set;

	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(static_cast<std::size_t>(cpu), &set))
			cpus.push_back(cpu);
	return cpus;
}

void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(static_cast<std::size_t>(cpu), &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

/* One thread a CPU, at least two in all; returns when all have ended */
void on_all_cpus(const std::function<void(std::size_t thread)> &work)
{
	std::vector<int> cpus = usable_cpus();
	std::vector<std::jthread> threads;

	if (cpus.size() == 1)
		cpus.push_back(cpus[0]);
	for (std::size_t i = 0; i < cpus.size(); i++)
		threads.emplace_back([&work, i, cpu = cpus[i]] {
			pin(cpu);
			work(i);
		});
}

std::size_t thread_count()
{
	return std::max<std::size_t>(2, usable_cpus().size());
}

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

void sample(const Source &source, const steer::Disturber *disturber,
	    Tally &tally)
{
	const bool steps = disturber && source.clock().steps;
	const std::uint32_t sequence = steps ? disturber->sequence() : 0;
	const clocks::Bracket bracket = clocks::bracket(source);

	if (steps && disturber->moved(sequence, disturber->sequence())) {
		tally.dropped++;
		/* On a single CPU the step cannot end while this one spins */
		sched_yield();
		return;
	}

	const std::string complaint = clocks::complaint(source, bracket);

	if (complaint.empty())
		tally.good++;
	else
		tally.complain(complaint);
}

bool sampled_enough(const std::vector<Tally> &tallies)
{
	return std::ranges::all_of(tallies, [](const Tally &tally) {
		return tally.good + tally.bad >= enough_samples;
	});
}

void report(ktap::Case &t, const std::vector<Source> &sources,
	    const std::vector<std::vector<Tally> > &threads)
{
	for (std::size_t i = 0; i < sources.size(); i++) {
		Tally sum;

		for (const std::vector<Tally> &thread : threads) {
			t.check(thread[i].good >= enough_samples ||
					thread[i].bad,
				"%s: only %u samples on one CPU",
				sources[i].name().c_str(), thread[i].good);
			sum.add(thread[i]);
		}
		t.diag("%s: %u good, %u dropped, %u bad",
		       sources[i].name().c_str(), sum.good, sum.dropped,
		       sum.bad);
		t.check(!sum.bad, "%s", sum.first.c_str());
	}
}

void check_brackets(ktap::Case &t, const std::vector<Source> &sources,
		    std::int64_t time, const steer::Disturber *disturber)
{
	std::vector<std::vector<Tally> > threads(
		thread_count(), std::vector<Tally>(sources.size()));

	if (!t.check(!sources.empty(), "the vDSO has no such function"))
		return;
	on_all_cpus([&](std::size_t thread) {
		std::vector<Tally> &tallies = threads[thread];
		const clocks::Deadline deadline(time);
		const clocks::Deadline end(time * patience);

		while (!deadline.passed() ||
		       !(sampled_enough(tallies) || end.passed()))
			for (std::size_t i = 0; i < sources.size(); i++)
				sample(sources[i], disturber, tallies[i]);
	});
	report(t, sources, threads);
}

void check_disturbed(ktap::Case &t, const std::vector<Source> &sources)
{
	constexpr unsigned int enough_steps = 20;

	if (const std::string reason = steer::refusal(); !reason.empty())
		return t.skip("%s", reason.c_str());

	const steer::SavedClock saved;
	const steer::Disturber disturber;

	check_brackets(t, sources, disturbed_time, &disturber);
	t.diag("%u steps, %u changes of the rate", disturber.steps(),
	       disturber.slews());
	t.check(!disturber.error(), "the clock was not steered: %s",
		strerrorname_np(disturber.error()));
	t.check(disturber.steps() >= enough_steps, "too few steps");
}

void add_group(ktap::Suite &suite, const std::string &group,
	       const Filter &filter)
{
	suite.add(group + " between system calls", [=](ktap::Case &t) {
		check_brackets(t, select(filter), quiet_time, nullptr);
	});
	suite.add(group + " between system calls, clock stepped and slewed",
		  [=](ktap::Case &t) { check_disturbed(t, select(filter)); });
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

Tally follow(const Source &source, Newest &newest)
{
	Tally tally;
	std::int64_t last = nanoseconds(source.vdso());
	const clocks::Deadline deadline(quiet_time);
	/* Looking at the deadline costs more than a sample */
	constexpr int batch = 64;

	do {
		for (int i = 0; i < batch; i++) {
			const Newest::Word seen = newest.get();
			const Stamp stamp = source.vdso();
			const std::int64_t now = nanoseconds(stamp);
			const auto later = Newest::older_by(now, seen);

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

void check_order(ktap::Case &t)
{
	const std::vector<Source> sources = select(never_goes_back);
	std::vector<std::vector<Tally> > threads(
		thread_count(), std::vector<Tally>(sources.size()));
	std::optional<steer::SavedClock> saved;
	std::optional<steer::Disturber> disturber;

	if (steer::refusal().empty()) {
		saved.emplace();
		disturber.emplace();
	} else {
		t.diag("the clock is left alone");
	}
	for (std::size_t i = 0; i < sources.size(); i++) {
		Newest newest;

		newest.start(nanoseconds(sources[i].vdso()));
		on_all_cpus([&](std::size_t thread) {
			threads[thread][i] = follow(sources[i], newest);
		});
	}
	report(t, sources, threads);
}

/* The page has not been updated for as long as the machine was idle */
void check_after_idle(ktap::Case &t)
{
	constexpr useconds_t idle = 2500000;
	const std::vector<Source> sources = select([](auto &) { return true; });
	std::vector<Tally> tallies(thread_count());

	on_all_cpus([&](std::size_t thread) {
		usleep(idle);
		for (const Source &source : sources)
			sample(source, nullptr, tallies[thread]);
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
	constexpr std::int64_t lag = 100 * clocks::nsec_per_msec;
	const std::vector<Source> fine = select([](const Source &s) {
		return s.api() == clocks::Api::gettimeofday;
	});
	const std::vector<Source> coarse = select(
		[](const Source &s) { return s.api() == clocks::Api::time; });
	const clocks::Deadline deadline(quiet_time * 4);

	if (fine.empty() || coarse.empty())
		return t.skip("the vDSO has no gettimeofday or no time");
	while (!deadline.passed()) {
		const Stamp before = fine[0].vdso();
		const Stamp now = coarse[0].vdso();
		const Stamp after = fine[0].vdso();
		const Stamp oldest = { before.sec - (before.nsec < lag), 0 };

		t.check(coarse[0].difference(now, oldest) >= 0 &&
				coarse[0].difference(now, after) <= 0,
			"time %s, gettimeofday %s and %s",
			clocks::text(now).c_str(), clocks::text(before).c_str(),
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
	check_brackets(t, select(follows_steps), quiet_time, nullptr);

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
	check_brackets(t, select(follows_steps), quiet_time, nullptr);
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
	check_brackets(t, select(follows_steps), quiet_time, nullptr);
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
	suite.add("never backwards, on one CPU and across", check_order);
	suite.add("after an idle time", check_after_idle);
	suite.add("time and gettimeofday agree", check_time_of_day);
	suite.add("CLOCK_TAI is its offset ahead of CLOCK_REALTIME", check_tai);
	suite.add("time zone", check_timezone);
	add_dates(suite);
	return suite.run(argc, argv);
}
