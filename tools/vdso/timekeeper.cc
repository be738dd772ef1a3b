// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's side of the page: what update_vsyscall() does, for the generic
 * vDSO and for the assembly one, written again for a page of any byte order.
 */
#include "timekeeper.h"
#include "integers.h"

namespace vdso
{

timekeeper timekeeper::sample(uint64_t hz)
{
	timekeeper tk;

	tk.shift = tk.raw_shift = 24;
	tk.mult = tk.raw_mult =
		static_cast<uint32_t>((nsec_per_sec << tk.shift) / hz);
	tk.cycle_last = 0x123456789aULL;
	tk.xtime_sec = 1606800000;
	tk.xtime_nsec = 250000000ULL << tk.shift;
	tk.wall_to_monotonic = { 5000 - tk.xtime_sec, 500000000 };
	tk.monotonic_to_boot = { 17, 1000 };
	tk.tai_offset = 37;
	tk.raw_sec = 5000;
	tk.raw_nsec = 750000000ULL << tk.raw_shift;
	return tk;
}

namespace
{

constexpr int64_t nonsense = 0x5a5a5a5a5a;

template <class I>
void set_base(timestamp<I> &base, int64_t sec, uint64_t nsec, uint64_t second)
{
	while (nsec >= second) {
		nsec -= second;
		sec++;
	}
	base.sec = sec;
	base.nsec = nsec;
}

/* The fraction of a second as the assembly vDSO wants it, in units of 2^-32 s. */
uint32_t binary_fraction(const timekeeper &tk)
{
	return static_cast<uint32_t>((tk.xtime_nsec << (32 - tk.shift)) /
				     nsec_per_sec);
}

/* (2^20 / 1e9 * mult) >> shift as a 0.64 fixed point number, in the kernel's precision. */
uint64_t tb_to_xs(const timekeeper &tk)
{
	if (tk.mult <= 62500000 && tk.shift >= 16)
		return tk.mult * 295147905179ULL >> (tk.shift - 16);
	return tk.mult * (19342813113834067ULL >> tk.shift);
}

template <class D> void fill_asm(D &data, const timekeeper &tk)
{
	data.tb_update_count = tk.seq;
	data.tb_orig_stamp = tk.cycle_last;
	data.tb_to_xs = tb_to_xs(tk);
	data.stamp_sec_fraction = binary_fraction(tk);
	data.wtom_clock_nsec = static_cast<int32_t>(tk.wall_to_monotonic.nsec);
	data.tz_minuteswest = tk.tz_minuteswest;
	data.tz_dsttime = tk.tz_dsttime;
	data.hrtimer_res = tk.hrtimer_res;
}

/* What powerpc has in the page for a clocksource that the vDSO cannot read. */
template <class I> void hide_clocksource(generic_data<I> (&data)[2])
{
	for (auto &d : data) {
		d.mult = 0;
		d.shift = 1;
		for (int clock :
		     { realtime, monotonic, boottime, tai, monotonic_raw })
			d.basetime[clock].nsec = ~0ULL;
	}
}

} // namespace

template <class I> void fill(generic_data<I> (&data)[2], const timekeeper &tk)
{
	uint64_t second = nsec_per_sec << tk.shift;
	int64_t mono_sec = tk.xtime_sec + tk.wall_to_monotonic.sec;
	auto mono_nsec = static_cast<uint64_t>(tk.wall_to_monotonic.nsec)
			 << tk.shift;
	auto boot_nsec = static_cast<uint64_t>(tk.monotonic_to_boot.nsec)
			 << tk.shift;
	auto &base = data[0].basetime;
	uint64_t coarse = tk.xtime_nsec >> tk.shift;

	for (auto &d : data) {
		/* clocks that are none of the vDSO's have no time there */
		for (auto &unused : d.basetime)
			unused.sec = nonsense;
		d.seq = tk.seq;
		d.clock_mode = tk.clock_mode;
		d.cycle_last = tk.cycle_last;
		d.mask = tk.mask;
	}
	data[0].mult = tk.mult;
	data[0].shift = tk.shift;
	data[1].mult = tk.raw_mult;
	data[1].shift = tk.raw_shift;
	data[0].tz_minuteswest = tk.tz_minuteswest;
	data[0].tz_dsttime = tk.tz_dsttime;
	data[0].hrtimer_res = tk.hrtimer_res;

	set_base(base[realtime], tk.xtime_sec, tk.xtime_nsec, ~0ULL);
	set_base(base[tai], tk.xtime_sec + tk.tai_offset, tk.xtime_nsec, ~0ULL);
	set_base(base[monotonic], mono_sec, tk.xtime_nsec + mono_nsec, second);
	set_base(base[boottime], base[monotonic].sec + tk.monotonic_to_boot.sec,
		 base[monotonic].nsec + boot_nsec, second);
	set_base(base[realtime_coarse], tk.xtime_sec, coarse, ~0ULL);
	set_base(base[monotonic_coarse], mono_sec,
		 coarse + static_cast<uint64_t>(tk.wall_to_monotonic.nsec),
		 nsec_per_sec);
	set_base(data[1].basetime[monotonic_raw], tk.raw_sec, tk.raw_nsec,
		 ~0ULL);
	if (tk.clock_mode == none)
		hide_clocksource(data);
}

template <class I> void fill(asm32_data<I> &data, const timekeeper &tk)
{
	fill_asm(data, tk);
	data.wtom_clock_sec = static_cast<int32_t>(tk.wall_to_monotonic.sec);
	data.stamp_xtime_sec = static_cast<int32_t>(tk.xtime_sec);
	data.stamp_xtime_nsec = static_cast<int32_t>(tk.xtime_nsec >> tk.shift);
}

template <class I> void fill(asm64_data<I> &data, const timekeeper &tk)
{
	fill_asm(data, tk);
	data.wtom_clock_sec = tk.wall_to_monotonic.sec;
	data.stamp_xtime_sec = tk.xtime_sec;
	data.stamp_xtime_nsec = static_cast<int64_t>(tk.xtime_nsec >> tk.shift);
}

template <class I>
void fill(generic_data<I> (&data)[2], const timens_offsets &offsets)
{
	for (auto &d : data) {
		d.seq = 1;
		d.clock_mode = timens;
	}
	for (auto [clock, offset] : { std::pair{ monotonic, offsets.monotonic },
				      { monotonic_coarse, offsets.monotonic },
				      { monotonic_raw, offsets.monotonic },
				      { boottime, offsets.boottime } })
		for (auto &d : data) {
			d.basetime[clock].sec = offset.sec;
			d.basetime[clock].nsec =
				static_cast<uint64_t>(offset.nsec);
		}
}

template void fill(generic_data<big> (&)[2], const timekeeper &);
template void fill(generic_data<little> (&)[2], const timekeeper &);
template void fill(asm32_data<big> &, const timekeeper &);
template void fill(asm64_data<big> &, const timekeeper &);
template void fill(asm64_data<little> &, const timekeeper &);
template void fill(generic_data<big> (&)[2], const timens_offsets &);
template void fill(generic_data<little> (&)[2], const timens_offsets &);

} // namespace vdso
