/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel's timekeeper knows when it updates the vDSO, and the pages
 * that it makes of it.
 */
#ifndef VDSO_TIMEKEEPER_H
#define VDSO_TIMEKEEPER_H

#include "datapage.h"

#include <cstdint>
#include <vector>

namespace vdso
{

constexpr uint64_t nsec_per_sec = 1000000000;

struct timespec_pair {
	int64_t sec;
	int64_t nsec;
};

struct timekeeper {
	uint32_t seq = 0;
	int32_t clock_mode = archtimer;
	uint64_t cycle_last = 0;
	uint64_t mask = ~0ULL;
	uint32_t mult = 0, shift = 0;
	uint64_t xtime_nsec = 0; /* shifted left by @shift */
	int64_t xtime_sec = 0;
	timespec_pair wall_to_monotonic = {};
	timespec_pair monotonic_to_boot = {};
	int32_t tai_offset = 0;
	uint32_t raw_mult = 0, raw_shift = 0;
	uint64_t raw_nsec = 0; /* shifted left by @raw_shift */
	int64_t raw_sec = 0;
	int32_t tz_minuteswest = 0, tz_dsttime = 0;
	uint32_t hrtimer_res = 1;

	/* A machine that is up for a while, with a timebase of @hz. */
	static timekeeper sample(uint64_t hz);
};

struct timens_offsets {
	timespec_pair monotonic, boottime;
};

template <class I> void fill(generic_data<I> (&data)[2], const timekeeper &tk);
template <class I> void fill(asm32_data<I> &data, const timekeeper &tk);
template <class I> void fill(asm64_data<I> &data, const timekeeper &tk);
/* The page that stands before the real one in a time namespace. */
template <class I>
void fill(generic_data<I> (&data)[2], const timens_offsets &offsets);

} // namespace vdso

#endif
