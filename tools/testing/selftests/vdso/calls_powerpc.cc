// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every call that the powerpc vDSO can take: see calls_powerpc.h.
 */
#include "calls_powerpc.h"

#include <utility>

#include <time.h>

namespace
{

using End = Call::End;
using Served = Call::Served;

class Table {
    public:
	explicit Table(const vdso::Image &image) : image_(image)
	{
	}

	void add(const char *symbol, const std::string &text, unsigned long a,
		 unsigned long b, End end, Served served)
	{
		const void *function = image_.function(symbol);

		if (function)
			calls_.push_back({ symbol + ("(" + text + ")"),
					   function,
					   { a, b },
					   end,
					   served });
	}

	std::vector<Call> take()
	{
		return std::move(calls_);
	}

    private:
	const vdso::Image &image_;
	std::vector<Call> calls_;
};

struct Clock {
	const char *name;
	int id;
};

/* No clock has this number: the system call says EINVAL */
constexpr Clock no_clock = { "99", 99 };

void add_clocks(Table &table, const char *gettime, const char *getres,
		unsigned long buffer)
{
	static constexpr std::pair<Clock, Served> clocks[] = {
		{ { "REALTIME", CLOCK_REALTIME }, Served::always },
		{ { "MONOTONIC", CLOCK_MONOTONIC }, Served::always },
		{ { "REALTIME_COARSE", CLOCK_REALTIME_COARSE },
		  Served::always },
		{ { "MONOTONIC_COARSE", CLOCK_MONOTONIC_COARSE },
		  Served::always },
		{ { "MONOTONIC_RAW", CLOCK_MONOTONIC_RAW }, Served::patched },
		{ { "BOOTTIME", CLOCK_BOOTTIME }, Served::patched },
		{ { "TAI", CLOCK_TAI }, Served::patched },
		{ { "PROCESS_CPUTIME_ID", CLOCK_PROCESS_CPUTIME_ID },
		  Served::no_one },
	};

	for (const auto &[clock, served] : clocks) {
		table.add(gettime, clock.name, vdso::arg(clock.id), buffer,
			  End::zero, served);
		/* The 64 bit assembly asks the kernel for a coarse one */
		table.add(getres, clock.name, vdso::arg(clock.id), buffer,
			  End::zero,
			  clock.id == CLOCK_REALTIME ||
					  clock.id == CLOCK_MONOTONIC ||
					  served == Served::no_one ?
				  served :
				  Served::patched);
	}
	table.add(getres, "REALTIME, NULL", CLOCK_REALTIME, 0, End::zero,
		  Served::always);
	table.add(gettime, no_clock.name, vdso::arg(no_clock.id), buffer,
		  End::error, Served::no_one);
	table.add(getres, no_clock.name, vdso::arg(no_clock.id), buffer,
		  End::error, Served::no_one);
}

void add_gettimeofday(Table &table, const Buffers &buffers)
{
	const unsigned long tv = vdso::arg(&buffers.tv);
	const unsigned long tz = vdso::arg(&buffers.tz);

	table.add("gettimeofday", "tv, tz", tv, tz, End::zero, Served::always);
	table.add("gettimeofday", "tv, NULL", tv, 0, End::zero, Served::always);
	table.add("gettimeofday", "NULL, tz", 0, tz, End::zero, Served::always);
	table.add("gettimeofday", "NULL, NULL", 0, 0, End::zero,
		  Served::always);
}

/* Several cache blocks that start and end inside one, and none at all */
void add_sync_dicache(Table &table, const char *symbol, const Buffers &buffers)
{
	const unsigned long code = vdso::arg(buffers.code.data());

	table.add(symbol, "range", code + 4, code + 500, End::result,
		  Served::always);
	table.add(symbol, "empty", code, code, End::result, Served::always);
}

} // namespace

std::vector<Call> all_calls(const vdso::Image &image, Buffers &buffers)
{
	Table table(image);

	add_gettimeofday(table, buffers);
	add_clocks(table, "clock_gettime", "clock_getres",
		   vdso::arg(&buffers.ts));
	add_clocks(table, "clock_gettime64", "clock_getres_time64",
		   vdso::arg(&buffers.ts64));
	table.add("time", "t", vdso::arg(&buffers.time), 0, End::result,
		  Served::always);
	table.add("time", "NULL", 0, 0, End::result, Served::always);
	table.add("getcpu", "cpu, node", vdso::arg(&buffers.cpu),
		  vdso::arg(&buffers.node), End::zero, Served::always);
	table.add("getcpu", "NULL, NULL", 0, 0, End::zero, Served::always);
	table.add("get_tbfreq", "", 0, 0, End::result, Served::always);
	table.add("get_syscall_map", "count", vdso::arg(&buffers.count), 0,
		  End::result, Served::always);
	table.add("get_syscall_map", "NULL", 0, 0, End::result, Served::always);
	add_sync_dicache(table, "sync_dicache", buffers);
	add_sync_dicache(table, "sync_dicache_p5", buffers);
	return table.take();
}
