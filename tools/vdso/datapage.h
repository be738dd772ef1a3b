/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The vDSO's data pages, in the byte order of whoever reads them.
 *
 * Three shapes: the assembly vDSO's page of a 64-bit and of a 32-bit powerpc
 * kernel, and the two struct vdso_data (high resolution and raw) that every
 * architecture with the generic C vDSO has somewhere in its page. Where they
 * are is not written here: the lab asks the image (layout.h).
 */
#ifndef VDSO_DATAPAGE_H
#define VDSO_DATAPAGE_H

#include <cstddef>

namespace vdso
{

enum clock_id : int {
	realtime,
	monotonic,
	process_cputime,
	thread_cputime,
	monotonic_raw,
	realtime_coarse,
	monotonic_coarse,
	boottime,
	realtime_alarm,
	boottime_alarm,
	sgi_cycle,
	tai,
	nr_bases,
};

enum clock_mode : int {
	none = 0,
	archtimer = 1,
	timens = 0x7fffffff,
};

template <class I> struct timestamp {
	typename I::s64 sec;
	typename I::u64 nsec;
};

template <class I> struct generic_data {
	typename I::u32 seq;
	typename I::s32 clock_mode;
	typename I::u64 cycle_last;
	typename I::u64 mask;
	typename I::u32 mult;
	typename I::u32 shift;
	timestamp<I> basetime[nr_bases];
	typename I::s32 tz_minuteswest;
	typename I::s32 tz_dsttime;
	typename I::u32 hrtimer_res;
	typename I::u32 unused;
};

template <class I> struct asm32_data {
	typename I::u64 tb_orig_stamp;
	typename I::u64 tb_ticks_per_sec;
	typename I::u64 tb_to_xs;
	typename I::u64 stamp_xsec;
	typename I::u32 tb_update_count;
	typename I::s32 tz_minuteswest;
	typename I::s32 tz_dsttime;
	typename I::s32 wtom_clock_sec;
	typename I::s32 wtom_clock_nsec;
	typename I::s32 stamp_xtime_sec;
	typename I::s32 stamp_xtime_nsec;
	typename I::u32 stamp_sec_fraction;
	typename I::u32 hrtimer_res;
};

template <class I> struct asm64_data {
	unsigned char systemcfg[0x30];
	typename I::u64 tb_orig_stamp;
	typename I::u64 tb_ticks_per_sec;
	typename I::u64 tb_to_xs;
	typename I::u64 stamp_xsec;
	typename I::u64 tb_update_count;
	typename I::s32 tz_minuteswest;
	typename I::s32 tz_dsttime;
	typename I::u32 cache_sizes[4];
	typename I::u32 cache_blocks[4];
	typename I::u32 stamp_sec_fraction;
	typename I::s32 wtom_clock_nsec;
	typename I::s64 wtom_clock_sec;
	typename I::s64 stamp_xtime_sec;
	typename I::s64 stamp_xtime_nsec;
	typename I::u32 hrtimer_res;
};

} // namespace vdso

#endif
