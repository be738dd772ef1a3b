// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of the change log that proposed the plain read, with the images
 * beside each other in one process: a batch of calls of one, a batch of the
 * next, and so on, on one CPU, so that whatever else the machine does meets all
 * of them alike. Before each batch the page is written as at a tick.
 *
 * The second table is what the first one costs: how often the same images show
 * time stepping back between two CPUs.
 */
#include "native_bench.h"
#include "native_variant.h"

#include <cpus.h>
#include <litmus.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <time.h>

namespace vdso
{

namespace
{

constexpr uint64_t batch_calls = 10000;
/* of --calls, for the clocks that the seed has no row for */
constexpr uint64_t other_share = 20;

struct row {
	source src;
	const char *name;
	int clock;
};

/* This thread's time: what others run on the CPU meanwhile is not in it. */
uint64_t own_nsec()
{
	timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return static_cast<uint64_t>(t.tv_sec) * nsec_per_sec +
	       static_cast<uint64_t>(t.tv_nsec);
}

/* One image with one kind of page. */
class contestant {
    public:
	contestant(const variant &v, uint64_t hz, source src)
		: name(v.name), mapped(v.img), line(hz, src), writer(mapped)
	{
	}
	void batch(int clock, uint64_t calls)
	{
		gettime_fn gettime = mapped.gettime();
		stamp t;

		writer.write(line, fenced_tsc());
		uint64_t begin = own_nsec();
		for (uint64_t n = calls; n; n--)
			gettime(clock, &t);
		nsec.push_back(own_nsec() - begin);
	}
	litmus::Clock clock(int id)
	{
		writer.write(line, fenced_tsc());
		return { reinterpret_cast<litmus::Gettime>(mapped.gettime()),
			 id };
	}

	std::string name;
	std::vector<uint64_t> nsec; /* of each batch */

    private:
	native_image mapped;
	time_line line;
	page_writer writer;
};

struct cost {
	uint64_t calls, total_ns;
	double median, low, high; /* ns per call */
};

cost sum_up(std::vector<uint64_t> nsec, uint64_t calls)
{
	uint64_t total = 0;

	for (uint64_t n : nsec)
		total += n;
	std::ranges::sort(nsec);
	auto at = [&](size_t percent) {
		return double(nsec[(nsec.size() - 1) * percent / 100]) /
		       double(calls);
	};
	return { calls * nsec.size(), total, at(50), at(5), at(95) };
}

std::vector<cost> compare(const std::vector<variant> &variants, const row &what,
			  uint64_t calls, uint64_t hz)
{
	std::vector<std::unique_ptr<contestant> > all;
	std::vector<cost> costs;
	uint64_t each = std::min(calls, batch_calls);

	all.reserve(variants.size());
	for (const auto &v : variants)
		all.push_back(std::make_unique<contestant>(v, hz, what.src));
	for (auto &c : all) /* caches and branch predictors */
		c->batch(what.clock, each);
	for (auto &c : all)
		c->nsec.clear();
	for (uint64_t n = 0; n < calls / each; n++)
		for (size_t i = 0; i < all.size(); i++)
			all[(i + n) % all.size()]->batch(what.clock, each);
	costs.reserve(all.size());
	for (auto &c : all)
		costs.push_back(sum_up(c->nsec, each));
	return costs;
}

nlohmann::json to_json(const cost &c)
{
	return { { "calls", c.calls },
		 { "total_ns", c.total_ns },
		 { "median_ns", c.median },
		 { "p5_ns", c.low },
		 { "p95_ns", c.high } };
}

long promote(double before, double after)
{
	return std::lround((before - after) * 100 / before);
}

std::string spread(const cost &c)
{
	return fmt::format("{:.2f} [{:.2f} .. {:.2f}]", c.median, c.low,
			   c.high);
}

/* The columns of each image after the first two, which the seed has. */
std::string more_columns(const std::vector<cost> &costs,
			 std::string (*text)(const cost &), int width)
{
	std::string all;

	for (size_t i = 2; i < costs.size(); i++)
		all += fmt::format(" | {:>{}}", text(costs[i]), width);
	return all;
}

std::string total(const cost &c)
{
	return std::to_string(c.total_ns);
}

constexpr int total_width = 16, spread_width = 24;

void print_seed_table(const std::vector<row> &rows,
		      const std::vector<std::vector<cost> > &costs)
{
	bool ordered = costs[0].size() > 2;
	const char *third = ordered ? " | vdso_tsc=ordered" : "";

	fmt::print("     Time Consume(ns) | rdtsc_ordered() |  rdtsc()   | "
		   "Promote{}\n",
		   third);
	fmt::print("    ------------------+-----------------+------------+"
		   "---------{}\n",
		   ordered ? "+-----------------" : "");
	for (size_t i = 0; i < rows.size(); i++)
		fmt::print("     {:<16} | {:>15} | {:>10} | {:>5} %{}\n",
			   name_of(rows[i].src), costs[i][0].total_ns,
			   costs[i][1].total_ns,
			   promote(double(costs[i][0].total_ns),
				   double(costs[i][1].total_ns)),
			   more_columns(costs[i], total, total_width));
	fmt::print("\n    and what was measured when this was proposed, 100 M "
		   "calls, on a CPU that is not named:\n");
	fmt::print("     Physical Machine | {:>15} | {:>10} | {:>5} %\n",
		   1269147289, 759067324, 40);
	fmt::print("     Guest OS (KVM)   | {:>15} | {:>10} | {:>5} %\n\n",
		   1756615963, 995823886, 43);
}

void print_medians(const std::string &title, const std::vector<row> &rows,
		   const std::vector<std::vector<cost> > &costs)
{
	fmt::print("{}\n  {:<24} {:>{}} | {:>{}} | Promote{}\n", title, "",
		   "rdtsc_ordered()", spread_width, "rdtsc()", spread_width,
		   costs[0].size() > 2 ?
			   fmt::format(" | {:>{}}", "vdso_tsc=ordered",
				       spread_width) :
			   "");
	for (size_t i = 0; i < rows.size(); i++)
		fmt::print("  {:<24} {:>{}} | {:>{}} | {:>5} %{}\n",
			   fmt::format("{} {}", name_of(rows[i].src),
				       rows[i].name),
			   spread(costs[i][0]), spread_width,
			   spread(costs[i][1]), spread_width,
			   promote(costs[i][0].median, costs[i][1].median),
			   more_columns(costs[i], spread, spread_width));
	fmt::print("\n");
}

template <class F> double instruction_ns(uint64_t hz, const F &instruction)
{
	constexpr uint64_t calls = 100000;
	uint64_t best = ~0ULL;

	for (int i = 0; i < 9; i++) {
		uint64_t begin = fenced_tsc();

		for (uint64_t n = calls; n; n--)
			instruction();
		best = std::min(best, fenced_tsc() - begin);
	}
	return double(best) * double(nsec_per_sec) / double(hz) / calls;
}

nlohmann::json print_instructions(uint64_t hz)
{
	double plain = instruction_ns(hz, [] { plain_tsc(); });
	double lfence = instruction_ns(hz, [] {
		asm volatile("lfence; rdtsc" : : : "eax", "edx", "memory");
	});
	double rdtscp = instruction_ns(hz, [] {
		asm volatile("rdtscp" : : : "eax", "ecx", "edx", "memory");
	});

	fmt::print("The instructions by themselves, ns: rdtsc {:.2f}, "
		   "lfence; rdtsc {:.2f}, rdtscp {:.2f}\n\n",
		   plain, lfence, rdtscp);
	return { { "rdtsc", plain },
		 { "lfence; rdtsc", lfence },
		 { "rdtscp", rdtscp } };
}

std::string loss_text(const litmus::Result &r)
{
	uint64_t back = r.back.count();

	if (!back)
		return fmt::format("0 of {:.1f} M", double(r.samples) / 1e6);
	return fmt::format("{} of {:.1f} M ({:.4f} %), worst {} ns", back,
			   double(r.samples) / 1e6,
			   double(back) * 100 / double(r.samples),
			   r.back.worst());
}

nlohmann::json to_json(const litmus::Result &r)
{
	return { { "samples", r.samples },
		 { "back", r.back.count() },
		 { "worst_ns", r.back.worst() },
		 { "histogram", r.back.text() } };
}

nlohmann::json print_losses(const std::vector<variant> &variants, uint64_t hz,
			    double seconds)
{
	nlohmann::json json = nlohmann::json::array();
	auto time = static_cast<int64_t>(seconds * 1000);

	if (!litmus::have_two_cpus()) {
		fmt::print("Steps back: two CPUs are needed to see any.\n");
		return json;
	}
	fmt::print("Steps back of CLOCK_MONOTONIC_RAW between two CPUs, {} ms "
		   "each\n",
		   time);
	for (source src : { source::tsc, source::pvclock })
		for (const auto &loop : litmus::loops) {
			fmt::print("  {} {}\n", name_of(src), loop.name);
			for (const auto &v : variants) {
				contestant c(v, hz, src);
				auto r = loop.run(c.clock(monotonic_raw), time);

				fmt::print("    {:<42} {}\n", v.name,
					   loss_text(r));
				nlohmann::json entry = to_json(r);
				entry["image"] = v.name;
				entry["page"] = name_of(src);
				entry["loop"] = loop.name;
				json.push_back(std::move(entry));
			}
		}
	return json;
}

nlohmann::json to_json(const std::vector<variant> &variants,
		       const std::vector<row> &rows,
		       const std::vector<std::vector<cost> > &costs)
{
	nlohmann::json json = nlohmann::json::array();

	for (size_t i = 0; i < rows.size(); i++)
		for (size_t j = 0; j < variants.size(); j++) {
			nlohmann::json entry = to_json(costs[i][j]);

			entry["image"] = variants[j].name;
			entry["read"] = tsc_read::name(variants[j].read);
			entry["page"] = name_of(rows[i].src);
			entry["clock"] = rows[i].clock;
			json.push_back(std::move(entry));
		}
	return json;
}

} // namespace

nlohmann::json native_bench(const native_bench_options &opt)
{
	const std::vector<row> seed = { { source::tsc, "realtime", realtime },
					{ source::pvclock, "realtime",
					  realtime } };
	std::vector<row> others;
	std::vector<variant> variants = variants_of(opt.base);
	uint64_t hz = measure_tsc_hz();
	int cpu = cpus::usable().back();
	nlohmann::json json;
	std::vector<std::vector<cost> > costs, other_costs;

	for (auto &v : variants_of(opt.patched))
		variants.push_back(std::move(v));
	for (source src : { source::tsc, source::pvclock })
		for (auto [name, clock] :
		     { std::pair{ "monotonic", monotonic },
		       { "boottime", boottime },
		       { "tai", tai },
		       { "monotonic-raw", monotonic_raw },
		       { "realtime-coarse", realtime_coarse } })
			others.push_back({ src, name, clock });

	json["cpu"] = describe_cpu();
	json["tsc_hz"] = hz;
	fmt::print("{}, TSC {:.1f} MHz, CPU {}\n", describe_cpu(),
		   double(hz) / 1e6, cpu);
	for (const auto &v : variants)
		fmt::print("  {}: {}\n", v.name, tsc_read::name(v.read));
	fmt::print("{} calls of clock_gettime(CLOCK_REALTIME), images in turn "
		   "every {} calls\n\n",
		   opt.calls, batch_calls);
	{
		pinned here(cpu);

		for (const auto &r : seed)
			costs.push_back(compare(variants, r, opt.calls, hz));
		print_seed_table(seed, costs);
		for (const auto &r : others)
			other_costs.push_back(compare(
				variants, r,
				std::max(batch_calls, opt.calls / other_share),
				hz));
		print_medians(
			"ns per call, median [5 % .. 95 %] of the batches",
			seed, costs);
		print_medians("the same for other clocks", others, other_costs);
		json["instructions"] = print_instructions(hz);
	}
	json["realtime"] = to_json(variants, seed, costs);
	json["clocks"] = to_json(variants, others, other_costs);
	json["ordering"] = print_losses(variants, hz, opt.seconds);
	return json;
}

} // namespace vdso
