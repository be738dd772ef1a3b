// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts what one call executes inside the image. The page is the same for
 * every image and every row, so a count changes only when the code does.
 */
#include "count.h"
#include "disasm.h"
#include "layout.h"

#include <fmt/format.h>

#include <string_view>

namespace vdso
{

namespace
{

constexpr uint64_t out_ptr = scratch_addr;

/*
 * Ticks since the last update. The 32-bit assembly takes a shorter way below
 * 2^20 ticks, so both sides of that are rows; the C code makes no difference.
 */
constexpr uint64_t usual_delta = 2000000;
constexpr uint64_t short_delta = 1000;

enum class special {
	no,
	timens,
	short_delta,
	large_delta,
	odd_once,
	moved_once
};

struct row {
	const char *name;
	const char *function;
	uint64_t args[2];
	special how = special::no;
	bool raw = false;
};

constexpr uint64_t unknown_clock = 100;
constexpr std::string_view last_in_table = "getcpu";

const row rows[] = {
	{ "gettimeofday(tv, NULL)", "__kernel_gettimeofday", { out_ptr, 0 } },
	{ "clock_getres REALTIME_COARSE",
	  "__kernel_clock_getres",
	  { realtime_coarse, out_ptr } },
	{ "clock_gettime REALTIME_COARSE",
	  "__kernel_clock_gettime",
	  { realtime_coarse, out_ptr } },
	{ "clock_getres REALTIME",
	  "__kernel_clock_getres",
	  { realtime, out_ptr } },
	{ "clock_gettime REALTIME",
	  "__kernel_clock_gettime",
	  { realtime, out_ptr } },
	{ "clock_gettime MONOTONIC_COARSE",
	  "__kernel_clock_gettime",
	  { monotonic_coarse, out_ptr } },
	{ "clock_gettime MONOTONIC",
	  "__kernel_clock_gettime",
	  { monotonic, out_ptr } },
	{ "clock_gettime MONOTONIC_RAW",
	  "__kernel_clock_gettime",
	  { monotonic_raw, out_ptr },
	  special::no,
	  true },
	{ "clock_gettime TAI", "__kernel_clock_gettime", { tai, out_ptr } },
	{ "clock_gettime BOOTTIME",
	  "__kernel_clock_gettime",
	  { boottime, out_ptr } },
	{ "time(NULL)", "__kernel_time", { 0, 0 } },
	{ "getcpu", "__kernel_getcpu", { out_ptr, out_ptr + 8 } },
	{ "clock_gettime64 REALTIME",
	  "__kernel_clock_gettime64",
	  { realtime, out_ptr } },
	{ "clock_gettime64 MONOTONIC",
	  "__kernel_clock_gettime64",
	  { monotonic, out_ptr } },
	{ "clock_gettime64 MONOTONIC_COARSE",
	  "__kernel_clock_gettime64",
	  { monotonic_coarse, out_ptr } },
	{ "clock_getres_time64 REALTIME",
	  "__kernel_clock_getres_time64",
	  { realtime, out_ptr } },
	{ "gettimeofday(tv, tz)",
	  "__kernel_gettimeofday",
	  { out_ptr, out_ptr + 16 } },
	{ "time(&t)", "__kernel_time", { out_ptr, 0 } },
	{ "clock_getres TAI", "__kernel_clock_getres", { tai, out_ptr } },
	{ "get_tbfreq", "__kernel_get_tbfreq", { 0, 0 } },
	{ "get_syscall_map", "__kernel_get_syscall_map", { out_ptr, 0 } },
	{ "fallback: PROCESS_CPUTIME",
	  "__kernel_clock_gettime",
	  { process_cputime, out_ptr } },
	{ "fallback: getres PROCESS_CPUTIME",
	  "__kernel_clock_getres",
	  { process_cputime, out_ptr } },
	{ "error: unknown clock",
	  "__kernel_clock_gettime",
	  { unknown_clock, out_ptr } },
	{ "error: getres unknown clock",
	  "__kernel_clock_getres",
	  { unknown_clock, out_ptr } },
	{ "timens: REALTIME",
	  "__kernel_clock_gettime",
	  { realtime, out_ptr },
	  special::timens },
	{ "timens: MONOTONIC",
	  "__kernel_clock_gettime",
	  { monotonic, out_ptr },
	  special::timens },
	{ "timens: MONOTONIC_COARSE",
	  "__kernel_clock_gettime",
	  { monotonic_coarse, out_ptr },
	  special::timens },
	{ "seqlock odd once: REALTIME",
	  "__kernel_clock_gettime",
	  { realtime, out_ptr },
	  special::odd_once },
	{ "seqlock odd once: MONOTONIC_COARSE",
	  "__kernel_clock_gettime",
	  { monotonic_coarse, out_ptr },
	  special::odd_once },
	{ "seqlock moved once: REALTIME",
	  "__kernel_clock_gettime",
	  { realtime, out_ptr },
	  special::moved_once },
	{ "short delta: gettimeofday(tv, NULL)",
	  "__kernel_gettimeofday",
	  { out_ptr, 0 },
	  special::short_delta },
	{ "short delta: REALTIME",
	  "__kernel_clock_gettime",
	  { realtime, out_ptr },
	  special::short_delta },
	{ "short delta: MONOTONIC",
	  "__kernel_clock_gettime",
	  { monotonic, out_ptr },
	  special::short_delta },
	{ "large delta: REALTIME",
	  "__kernel_clock_gettime",
	  { realtime, out_ptr },
	  special::large_delta },
	{ "large delta: MONOTONIC",
	  "__kernel_clock_gettime",
	  { monotonic, out_ptr },
	  special::large_delta },
};

uint64_t delta_of(special how, uint64_t hz)
{
	switch (how) {
	case special::short_delta:
		return short_delta;
	case special::large_delta:
		return 2 * hz + hz / 2;
	default:
		return usual_delta;
	}
}

call make_call(const subject &sub, const row &r, const timekeeper &tk,
	       uint64_t hz)
{
	bool in_timens = r.how == special::timens;
	call c = { sub.address(r.function), { r.args[0], r.args[1], 0 } };

	c.counter = tk.cycle_last + delta_of(r.how, hz);
	c.patches = in_timens ? sub.pages(tk, { { -1000, 0 }, { -1000, 0 } }) :
				sub.pages(tk);
	c.seq = sub.seq_address(r.raw, in_timens);
	c.data_page = sub.view_address();
	if (r.how == special::odd_once)
		c.event = job::seq_odd_once;
	if (r.how == special::moved_once)
		c.event = job::seq_moved_once;
	return c;
}

row_count summarise(const row &r, const std::vector<uint64_t> &trace,
		    uint64_t base, const disassembler &dis)
{
	row_count count = {};

	count.row = r.name;
	for (size_t i = 0; i < trace.size(); i++) {
		decoded insn = dis.at(trace[i] - base);

		/* the caller's next instruction is outside and not in the trace: the last is taken */
		if (insn.branch &&
		    (i + 1 == trace.size() || trace[i + 1] != trace[i] + 4))
			count.taken++;
		count.instructions++;
		count.loads += insn.load;
		count.stores += insn.store;
		count.multiplies += insn.multiply;
		count.syscall |= insn.syscall;
		count.path.push_back(trace[i] - base);
	}
	return count;
}

} // namespace

const std::vector<row_info> &row_list()
{
	static const std::vector<row_info> list = [] {
		std::vector<row_info> infos;
		bool in_table = true;

		for (const auto &r : rows) {
			infos.push_back(
				{ r.name, in_table,
				  in_table || r.how == special::short_delta });
			if (std::string_view(r.name) == last_in_table)
				in_table = false;
		}
		return infos;
	}();

	return list;
}

std::vector<std::optional<row_count> > count(const environment &env,
					     const image &img)
{
	uint64_t hz = img.is64() ? 512000000 : 33333333;
	timekeeper tk = timekeeper::sample(hz);
	layout lay = probe_layout(env, img);
	session s(env, img.arch, img.order);
	subject sub(s, img, lay);
	disassembler dis(img);
	std::vector<call> calls;
	std::vector<const row *> wanted;
	std::vector<std::optional<row_count> > counts;

	for (const auto &r : rows) {
		bool possible = img.has(r.function) &&
				(r.how != special::timens || lay.timens);

		wanted.push_back(possible ? &r : nullptr);
		if (possible)
			calls.push_back(make_call(sub, r, tk, hz));
	}
	auto outcomes = s.run(calls, true);
	size_t n = 0;
	for (const row *r : wanted) {
		counts.emplace_back();
		if (!r)
			continue;
		const outcome &out = outcomes[n];
		if (calls[n++].event == job::none || out.event_seen)
			counts.back() = summarise(*r, out.trace,
						  sub.base_address(), dis);
	}
	return counts;
}

nlohmann::json to_json(const std::vector<std::optional<row_count> > &counts)
{
	nlohmann::json rows_json = nlohmann::json::array();

	for (const auto &c : counts)
		if (c)
			rows_json.push_back(
				{ { "row", c->row },
				  { "instructions", c->instructions },
				  { "loads", c->loads },
				  { "stores", c->stores },
				  { "branches taken", c->taken },
				  { "multiplies", c->multiplies },
				  { "system call", c->syscall } });
	return rows_json;
}

void print_table(
	const std::vector<std::string> &paths,
	const std::vector<std::vector<std::optional<row_count> > > &counts)
{
	for (size_t i = 0; i < paths.size(); i++)
		fmt::print("[{}] {}\n", i, paths[i]);
	fmt::print(
		"instructions (loads, stores, taken branches, multiplies), s: system call\n\n");
	fmt::print("{:<36}", "call");
	for (size_t i = 0; i < paths.size(); i++)
		fmt::print(" {:>20}", fmt::format("[{}]", i));
	fmt::print("\n");
	for (size_t r = 0; r < row_list().size(); r++) {
		fmt::print("{:<36}", row_list()[r].name);
		for (const auto &image_counts : counts) {
			const auto &c = image_counts[r];

			fmt::print(" {:>20}",
				   c ? fmt::format("{}{} ({},{},{},{})",
						   c->instructions,
						   c->syscall ? "s" : "",
						   c->loads, c->stores,
						   c->taken, c->multiplies) :
				       "-");
		}
		fmt::print("\n");
	}
}

void print_trace(const image &img, const row_count &count)
{
	disassembler dis(img);

	fmt::print("{}: {} instructions\n", count.row, count.instructions);
	for (uint64_t offset : count.path)
		fmt::print("  {:<40} {:5x}  {}\n", img.describe(offset), offset,
			   dis.at(offset).text);
}

} // namespace vdso
