// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process rewrites the page as the kernel does (sequence counter odd, write
 * barrier, fields, write barrier, sequence counter even) while another calls
 * the vDSO and checks each result.
 *
 * A tick is a nanosecond in every version of the page, and the time is the
 * counter, so a result that mixes two versions is off the line by up to a
 * second. A result on the line between two readings of the counter also cannot
 * go back. For the coarse clocks the nanoseconds are a multiple of the seconds.
 */
#include "torture.h"
#include "integers.h"
#include "layout.h"

#include <fmt/format.h>

#include <random>

namespace vdso
{

namespace
{

constexpr size_t nr_versions = 256;
constexpr uint64_t counter_start =
	0x140000000; /* no carry to the upper half to come */

timekeeper version(std::mt19937_64 &rng)
{
	timekeeper tk;
	uint64_t point = counter_start - rng() % nsec_per_sec;

	tk.shift = tk.raw_shift = static_cast<uint32_t>(16 + rng() % 9);
	tk.mult = tk.raw_mult = 1U << tk.shift;
	tk.cycle_last = point;
	tk.xtime_sec = tk.raw_sec = static_cast<int64_t>(point / nsec_per_sec);
	tk.xtime_nsec = tk.raw_nsec = point % nsec_per_sec << tk.shift;
	return tk;
}

/* The coarse clocks' fields, which the assembly shares in part with the others. */
template <class I> void link_coarse(generic_data<I> (&data)[2], uint64_t n)
{
	for (int clock : { realtime_coarse, monotonic_coarse }) {
		data[0].basetime[clock].sec = static_cast<int64_t>(n);
		data[0].basetime[clock].nsec = n * job::link_factor;
	}
}

template <class D> void link_coarse(D &data, uint64_t)
{
	data.stamp_xtime_nsec =
		static_cast<int32_t>(data.stamp_xtime_sec * job::link_factor);
}

template <class D>
std::vector<unsigned char> make_version(const timekeeper &tk, uint64_t n)
{
	D data = {};
	std::vector<unsigned char> bytes(sizeof(data));

	fill(data, tk);
	link_coarse(data, n);
	memcpy(bytes.data(), &data, sizeof(data));
	return bytes;
}

template <class I> using both_data = generic_data<I>[2];

std::vector<unsigned char> make_version(const image &img, layout::shape kind,
					const timekeeper &tk, uint64_t n)
{
	bool is_big = img.order == std::endian::big;

	if (kind == layout::asm32)
		return make_version<asm32_data<big> >(tk, n);
	if (kind == layout::asm64)
		return is_big ? make_version<asm64_data<big> >(tk, n) :
				make_version<asm64_data<little> >(tk, n);
	return is_big ? make_version<both_data<big> >(tk, n) :
			make_version<both_data<little> >(tk, n);
}

std::vector<call> make_calls(const subject &sub)
{
	std::vector<call> calls;
	bool assembly = sub.lay.kind != layout::generic;
	uint32_t size = sub.img.is64() ? 8 : 4;

	for (const auto &[name, wide] :
	     { std::pair{ "__kernel_clock_gettime", size },
	       { "__kernel_clock_gettime64", uint32_t(8) } })
		for (int clock : { realtime, monotonic, realtime_coarse,
				   boottime, tai, monotonic_coarse }) {
			bool coarse = clock == realtime_coarse ||
				      clock == monotonic_coarse;

			if (!sub.img.has(name) ||
			    (assembly && (clock == boottime || clock == tai)))
				continue;
			call c = { sub.address(name),
				   { static_cast<uint64_t>(clock),
				     scratch_addr } };
			c.check = coarse ? job::linked : job::on_line;
			c.time_size = wide;
			calls.push_back(c);
		}
	call c = { sub.address("__kernel_gettimeofday"), { scratch_addr } };
	c.check = job::on_line_usec;
	c.time_size = size;
	calls.push_back(c);
	return calls;
}

bool torture_one(const environment &env, const image &img, const layout &lay,
		 bool in_timens, uint64_t seconds, bool broken_writer)
{
	session s(env, img.arch, img.order);
	subject sub(s, img, lay);
	std::mt19937_64 rng(1);
	torture_plan plan = {};

	plan.seconds = seconds;
	plan.page = in_timens ? sub.host_data_address() : sub.data_address();
	plan.seq = sub.seq_address(false, in_timens);
	if (in_timens)
		s.preset(sub.pages({}, timens_offsets{})[0]);
	plan.counter = counter_start;
	plan.tolerance = lay.kind == layout::generic ? 0 : 2000;
	plan.keep_seq = broken_writer;
	for (uint64_t n = 0; n < nr_versions; n++)
		plan.versions.push_back(
			make_version(img, lay.kind, version(rng), n));
	torture_result r = s.torture(make_calls(sub), plan);

	fmt::print("{}{}: {} readings, {} updates, {}\n", img.path,
		   in_timens ? " in a time namespace" : "", r.readings,
		   r.updates, r.bad_call ? "INCONSISTENT" : "all consistent");
	if (r.bad_call)
		fmt::print(
			"  call {}: {} s {} ns, counter {} before and {} after\n",
			r.bad_call - 1, r.bad_sec, r.bad_nsec, r.bad_before,
			r.bad_after);
	return r.bad_call;
}

} // namespace

unsigned torture(const environment &env, const torture_options &opt)
{
	uint64_t each = std::max<uint64_t>(1, opt.seconds / opt.images.size());
	unsigned bad = 0;

	for (const auto &path : opt.images) {
		image img(path);
		layout lay = probe_layout(env, img);
		uint64_t half = std::max<uint64_t>(1, each / 2);

		if (!lay.timens) {
			bad += torture_one(env, img, lay, false, each,
					   opt.broken_writer);
			continue;
		}
		bad += torture_one(env, img, lay, false, half,
				   opt.broken_writer) ||
		       torture_one(env, img, lay, true, half,
				   opt.broken_writer);
	}
	return bad;
}

} // namespace vdso
