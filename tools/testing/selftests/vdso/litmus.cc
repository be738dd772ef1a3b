// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether two CPUs agree on what was before what: see litmus.h.
 */
#include "litmus.h"
#include "cpus.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cinttypes>
#include <cstddef>
#include <thread>

namespace litmus
{

namespace
{

/* Less proves nothing; a slow emulator gets more time for them, but not for ever */
constexpr std::uint64_t enough_samples = 1000;
constexpr unsigned int patience = 20;

/* For a loss to be seen */
constexpr unsigned int tries = 3;

constexpr std::size_t line_bytes = 128;

/* Of its own, so that a store by one CPU is a miss for the other and no more */
template <typename T> struct alignas(line_bytes) Shared
{
	std::atomic<T> value{};

	T get() const
	{
		return value.load(std::memory_order_acquire);
	}

	void set(T what)
	{
		value.store(what, std::memory_order_release);
	}
};

/* All before it is visible, and nothing behind it has begun */
void fence()
{
#if defined(__x86_64__) || defined(__i386__)
	asm volatile("mfence; lfence" : : : "memory");
#else
	std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/* What one thread counts; only it writes */
class alignas(line_bytes) Counter
{
    public:
	/* @behind: by how much the later reading is before the earlier one */
	void sample(std::int64_t behind)
	{
		if (behind > 0)
			back_.add(behind);
		samples_.store(samples() + 1, std::memory_order_relaxed);
	}

	std::uint64_t samples() const
	{
		return samples_.load(std::memory_order_relaxed);
	}

	const Histogram &back() const
	{
		return back_;
	}

    private:
	std::atomic<std::uint64_t> samples_{};
	Histogram back_;
};

/* Two threads on two CPUs that go on until they have enough */
class Race {
    public:
	using Work = std::function<void(Race &race, Counter &counter)>;

	bool running() const
	{
		return !stop_.load(std::memory_order_relaxed);
	}

	Result run(const Work &first, const Work &second,
		   std::int64_t milliseconds)
	{
		const std::vector<int> numbers = cpus::usable();
		std::array<Counter, 2> counters;
		Result result;

		{
			const std::jthread a([&] {
				cpus::pin(numbers.front());
				first(*this, counters[0]);
			});
			const std::jthread b([&] {
				cpus::pin(numbers.back());
				second(*this, counters[1]);
			});

			for (unsigned int i = 0; i < patience; i++) {
				std::this_thread::sleep_for(
					std::chrono::milliseconds(
						milliseconds));
				if (counters[0].samples() +
					    counters[1].samples() >=
				    enough_samples)
					break;
			}
			stop_ = true;
		}
		for (const Counter &counter : counters) {
			result.samples += counter.samples();
			result.back.merge(counter.back());
		}
		return result;
	}

    private:
	std::atomic<bool> stop_ = false;
};

Result now(const Clock &clock, std::int64_t milliseconds)
{
	std::array<Shared<std::int64_t>, 2> newest;
	Race race;
	const auto side = [&](std::size_t own) {
		return [&, own](Race &r, Counter &counter) {
			while (r.running()) {
				const std::int64_t seen = newest[1 - own].get();
				const std::int64_t time = clock.now();

				counter.sample(seen - time);
				newest[own].set(time);
			}
		};
	};

	return race.run(side(0), side(1), milliseconds);
}

/*
 * The writer publishes numbers, and notes when the publication of each was over
 * for certain. The reader's number says that the next one was not there yet, so
 * its clock must not be later than that.
 */
Result load(const Clock &clock, std::int64_t milliseconds)
{
	constexpr std::size_t ring = 1 << 12;
	static std::array<std::atomic<std::int64_t>, ring> over;
	Shared<std::int64_t> number;
	Race race;
	const auto writer = [&](Race &r, Counter &) {
		for (std::int64_t n = 1; r.running(); n++) {
			number.set(n);
			fence();
			over[static_cast<std::size_t>(n) % ring].store(
				clock.now(), std::memory_order_release);
		}
	};
	const auto reader = [&](Race &r, Counter &counter) {
		while (r.running()) {
			const std::int64_t time = clock.now();
			const std::int64_t missed = number.get() + 1;

			while (number.get() <= missed)
				if (!r.running())
					return;
			counter.sample(
				time -
				over[static_cast<std::size_t>(missed) % ring]
					.load(std::memory_order_acquire));
		}
	};

	return race.run(writer, reader, milliseconds);
}

Result load3(const Clock &clock, std::int64_t milliseconds)
{
	constexpr std::size_t nodes = 256;
	constexpr std::size_t stride = 7; /* no prefetcher follows that */
	static std::array<Shared<std::int64_t>, nodes> stamps;
	static std::array<Shared<std::size_t>, nodes> links;
	Shared<std::size_t> head;
	Race race;
	const auto writer = [&](Race &r, Counter &) {
		for (std::size_t n = 0; r.running(); n++) {
			const std::size_t node = n * stride % nodes;

			stamps[node].set(clock.now());
			links[n % nodes].set(node);
			head.set(n % nodes);
		}
	};
	const auto reader = [&](Race &r, Counter &counter) {
		while (r.running()) {
			const std::int64_t seen =
				stamps[links[head.get()].get()].get();

			counter.sample(seen - clock.now());
		}
	};

	/* Another clock may have been here before */
	for (std::size_t n = 0; n < nodes; n++) {
		stamps[n].set(0);
		links[n].set(n);
	}
	return race.run(writer, reader, milliseconds);
}

Result store(const Clock &clock, std::int64_t milliseconds)
{
	Shared<std::int64_t> newest;
	Race race;
	const auto writer = [&](Race &r, Counter &) {
		while (r.running())
			newest.set(clock.now());
	};
	const auto reader = [&](Race &r, Counter &counter) {
		while (r.running()) {
			const std::int64_t seen = newest.get();

			fence();
			counter.sample(seen - clock.now());
		}
	};

	return race.run(writer, reader, milliseconds);
}

void report(ktap::Case &t, const Result &result)
{
	const std::string steps = result.back.text();

	t.diag("%" PRIu64 " samples, %" PRIu64 " steps back, the worst %" PRId64
	       " ns%s%s",
	       result.samples, result.back.count(), result.back.worst(),
	       steps.empty() ? "" : ": ", steps.c_str());
}

void run_loop(ktap::Case &t, const Loop &loop, const Clock &clock, Read read,
	      std::int64_t milliseconds)
{
	if (!have_two_cpus())
		return t.skip("there is one CPU only");

	Result result = loop.run(clock, milliseconds);

	/* A loss is rare where the CPUs are busy with something else */
	for (unsigned int i = 1;
	     i < tries && judge(loop, read, result) == Verdict::not_seen; i++) {
		const Result more = loop.run(clock, milliseconds);

		result.samples += more.samples;
		result.back.merge(more.back);
	}
	report(t, result);
	switch (judge(loop, read, result)) {
	case Verdict::good:
		break;
	case Verdict::bad:
		t.fail("time steps back between two CPUs");
		break;
	case Verdict::not_seen:
		t.skip("a plain read may step back here, not seen on this CPU");
		break;
	case Verdict::too_few:
		t.skip("%" PRIu64 " samples are too few to tell",
		       result.samples);
		break;
	}
}

} // namespace

void Histogram::add(std::int64_t nsec)
{
	const auto magnitude = static_cast<std::uint64_t>(nsec);

	buckets_[static_cast<std::size_t>(std::bit_width(magnitude) - 1)]++;
	worst_ = std::max(worst_, nsec);
}

void Histogram::merge(const Histogram &other)
{
	for (std::size_t i = 0; i < buckets_.size(); i++)
		buckets_[i] += other.buckets_[i];
	worst_ = std::max(worst_, other.worst_);
}

std::uint64_t Histogram::count() const
{
	std::uint64_t sum = 0;

	for (const std::uint64_t n : buckets_)
		sum += n;
	return sum;
}

std::string Histogram::text() const
{
	std::string all;

	for (std::size_t i = 0; i < buckets_.size(); i++) {
		const std::uint64_t low = std::uint64_t(1) << i;

		if (!buckets_[i])
			continue;
		if (!all.empty())
			all += ", ";
		all += std::to_string(low);
		if (i)
			all += "-" + std::to_string(2 * low - 1);
		all += " ns: " + std::to_string(buckets_[i]);
	}
	return all;
}

const std::array<Loop, 4> loops = { {
	{ "now", true, now },
	{ "load", true, load },
	{ "load3", true, load3 },
	/* A store is not visible before what is older than it is over */
	{ "store", false, store },
} };

Result one_cpu(const Clock &clock, std::int64_t milliseconds)
{
	constexpr std::int64_t nsec_per_msec = 1000000;
	Counter counter;
	Result result;

	cpus::pin(cpus::usable().front());
	std::int64_t last = clock.now();
	const std::int64_t end = last + milliseconds * nsec_per_msec;

	while (last < end) {
		const std::int64_t time = clock.now();

		counter.sample(last - time);
		last = time;
	}
	result.samples = counter.samples();
	result.back = counter.back();
	return result;
}

bool have_two_cpus()
{
	return cpus::usable().size() > 1;
}

Verdict judge(const Loop &loop, Read read, const Result &result)
{
	const bool steps = result.back.count() != 0;

	if (steps && (read == Read::ordered || !loop.lossy))
		return Verdict::bad;
	if (!steps && result.samples < enough_samples)
		return Verdict::too_few;
	if (!steps && read == Read::plain && loop.lossy)
		return Verdict::not_seen;
	return Verdict::good;
}

void add_cases(ktap::Suite &suite, const std::string &prefix,
	       const Clock &clock, Read read, std::int64_t milliseconds)
{
	for (const Loop &loop : loops)
		suite.add(prefix + loop.name, [=](ktap::Case &t) {
			run_loop(t, loop, clock, read, milliseconds);
		});
	suite.add(prefix + "one-cpu", [=](ktap::Case &t) {
		const Result result = one_cpu(clock, milliseconds);

		report(t, result);
		t.check(!result.back.count(), "one CPU sees time step back");
	});
}

} // namespace litmus
