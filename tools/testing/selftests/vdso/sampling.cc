// SPDX-License-Identifier: GPL-2.0-only
/*
 * Taking very many brackets: see sampling.h.
 */
#include "sampling.h"
#include "cpus.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include <sched.h>

namespace sampling
{

namespace
{

/*
 * Less proves little, so a slow machine gets more time, but not for ever:
 * samples of each source on each CPU, and steps of the clock meanwhile
 */
constexpr unsigned int enough_samples = 100;
constexpr unsigned int enough_steps = 20;
constexpr std::int64_t patience = 30 * clocks::nsec_per_sec;

bool sampled_enough(const std::vector<Tally> &tallies,
		    const steer::Disturber *disturber)
{
	if (disturber && disturber->steps() < enough_steps)
		return false;
	return std::ranges::all_of(tallies, [](const Tally &tally) {
		return tally.good + tally.bad >= enough_samples;
	});
}

} // namespace

std::size_t thread_count()
{
	return std::max<std::size_t>(2, cpus::usable().size());
}

void on_all_cpus(const std::function<void(std::size_t thread)> &work)
{
	std::vector<int> numbers = cpus::usable();
	std::vector<std::jthread> threads;

	if (numbers.size() == 1)
		numbers.push_back(numbers[0]);
	for (std::size_t i = 0; i < numbers.size(); i++)
		threads.emplace_back([&work, i, cpu = numbers[i]] {
			cpus::pin(cpu);
			work(i);
		});
}

void Tally::complain(const std::string &what)
{
	if (!bad++)
		first = what;
}

void sample(const clocks::Source &source, const steer::Disturber *disturber,
	    Tally &tally)
{
	const auto sequence = [&] {
		return disturber ? disturber->sequence(source.clock()) : 0;
	};
	const std::uint32_t start = sequence();
	const clocks::Bracket bracket = clocks::bracket(source);

	if (steer::Disturber::moved(start, sequence())) {
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

void report(ktap::Case &t, const std::vector<clocks::Source> &sources,
	    const Tallies &threads)
{
	Tally sum;

	for (std::size_t i = 0; i < sources.size(); i++)
		for (const std::vector<Tally> &thread : threads) {
			const Tally &tally = thread[i];

			t.check(!tally.bad, "%u times like %s", tally.bad,
				tally.first.c_str());
			t.check(tally.good + tally.bad >= enough_samples,
				"%s: only %u samples on one CPU",
				sources[i].name().c_str(), tally.good);
			sum.good += tally.good;
			sum.dropped += tally.dropped;
		}
	t.diag("%u good samples, %u dropped", sum.good, sum.dropped);
}

void check_brackets(ktap::Case &t, const std::vector<clocks::Source> &sources,
		    std::int64_t time, const steer::Disturber *disturber)
{
	Tallies threads(thread_count(), std::vector<Tally>(sources.size()));

	if (sources.empty())
		return t.lacking("the vDSO has no such function");
	on_all_cpus([&](std::size_t thread) {
		std::vector<Tally> &tallies = threads[thread];
		const clocks::Deadline deadline(time);
		const clocks::Deadline end(patience);

		while (!deadline.passed() ||
		       !(sampled_enough(tallies, disturber) || end.passed()))
			for (std::size_t i = 0; i < sources.size(); i++)
				sample(sources[i], disturber, tallies[i]);
	});
	report(t, sources, threads);
}

void check_disturbed(ktap::Case &t, const std::vector<clocks::Source> &sources)
{
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

} // namespace sampling
