// SPDX-License-Identifier: GPL-2.0-only
/*
 * Old assembly, new C and the reference on the same pages and counter values.
 *
 * The C code is compared to the last bit. The assembly's arithmetic is coarser
 * by design: its pages hold binary fractions, and its 32-bit variant uses half
 * of the scale factor. It is compared where a kernel can get to, within the
 * error that the kernel's comments grant it.
 *
 * A case that differs is made simpler, one field at a time, as long as it
 * still differs, and printed so that --replay can run it again.
 */
#include "diff.h"
#include "layout.h"
#include "reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <random>

namespace vdso
{

namespace
{

constexpr size_t batch = 20000;
constexpr unsigned calls_per_page = 8;
/* From here on a system call is right as well: see expectation. */
constexpr uint64_t many_ns = 0xffffffff;

class generator {
    public:
	generator(uint64_t seed, bool with_timens, bool wide_calls)
		: rng(seed), timens(with_timens), has_64_calls(wide_calls)
	{
	}

	test_case next()
	{
		if (left_of_page-- == 0) {
			new_page();
			left_of_page = calls_per_page - 1;
		}
		test_case c = page;
		new_call(c);
		return c;
	}

    private:
	uint64_t below(uint64_t limit)
	{
		return std::uniform_int_distribution<uint64_t>(0,
							       limit - 1)(rng);
	}
	bool one_in(uint64_t n)
	{
		return below(n) == 0;
	}
	/* Any magnitude is as likely as any other. */
	uint64_t any_size(unsigned bits)
	{
		return rng() >> (64 - bits + below(bits));
	}
	uint64_t near(std::initializer_list<uint64_t> points)
	{
		return points.begin()[below(points.size())] + below(5) - 2;
	}

	void scale(uint32_t &mult, uint32_t &shift)
	{
		if (one_in(4)) {
			/* as clocks_calc_mult_shift() has it below 1 GHz */
			shift = static_cast<uint32_t>(1 + below(31));
			mult = static_cast<uint32_t>(
				one_in(2) ?
					near({ 3, 1U << 31, 0xffffffffU - 2 }) :
					1 + any_size(32));
			return;
		}
		uint64_t hz = 1100000ULL << below(11);
		hz += below(hz);
		shift = static_cast<uint32_t>(20 + below(5));
		while ((nsec_per_sec << shift) / hz > 0xf0000000U)
			shift--;
		mult = static_cast<uint32_t>((nsec_per_sec << shift) / hz);
		mult += static_cast<uint32_t>(
			below(mult / 32 + 1)); /* as NTP does */
	}
	uint64_t shifted_nsec(uint32_t shift)
	{
		uint64_t nsec =
			one_in(2) ?
				below(nsec_per_sec) :
				near({ 2, nsec_per_sec / 2, nsec_per_sec - 3 });
		return nsec << shift | below(1ULL << shift);
	}
	int64_t nsec()
	{
		return static_cast<int64_t>(
			one_in(2) ? below(nsec_per_sec) :
				    near({ 2, nsec_per_sec - 3 }));
	}

	void new_page()
	{
		timekeeper &tk = page.tk;

		scale(tk.mult, tk.shift);
		scale(tk.raw_mult, tk.raw_shift);
		tk.seq = static_cast<uint32_t>(rng()) & ~1U;
		tk.clock_mode = one_in(32) ? none : archtimer;
		tk.cycle_last =
			one_in(2) ?
				any_size(64) :
				near({ 2, 1ULL << 32, 1ULL << 63, ~0ULL - 2 });
		tk.xtime_nsec = shifted_nsec(tk.shift);
		tk.raw_nsec = shifted_nsec(tk.raw_shift);
		tk.xtime_sec = static_cast<int64_t>(
			one_in(2) ? any_size(34) :
				    near({ 0, 1606800000, 1ULL << 31,
					   1ULL << 32 }));
		tk.raw_sec = static_cast<int64_t>(any_size(33));
		tk.wall_to_monotonic = { static_cast<int64_t>(any_size(33)) -
						 tk.xtime_sec,
					 nsec() };
		tk.monotonic_to_boot = { static_cast<int64_t>(any_size(25)),
					 nsec() };
		tk.tai_offset = static_cast<int32_t>(below(80)) - 20;
		tk.tz_minuteswest = static_cast<int32_t>(rng());
		tk.tz_dsttime = static_cast<int32_t>(rng());
		tk.hrtimer_res =
			one_in(2) ?
				1 :
				static_cast<uint32_t>(1 + below(nsec_per_sec));
		page.ns.reset();
		if (timens && one_in(4))
			page.ns = timens_offsets{
				{ static_cast<int64_t>(any_size(33)) -
					  (1LL << 31),
				  nsec() },
				{ static_cast<int64_t>(any_size(33)) -
					  (1LL << 31),
				  nsec() },
			};
	}

	void new_call(test_case &c)
	{
		static const char *const functions[] = {
			"__kernel_clock_gettime", "__kernel_clock_gettime",
			"__kernel_gettimeofday",  "__kernel_clock_getres",
			"__kernel_time",
		};
		static const int clocks[] = { realtime,
					      monotonic,
					      monotonic_raw,
					      realtime_coarse,
					      monotonic_coarse,
					      boottime,
					      tai,
					      process_cputime,
					      thread_cputime };

		c.function = functions[below(std::size(functions))];
		if (has_64_calls && c.function.starts_with("__kernel_clock") &&
		    one_in(2))
			c.function +=
				c.function.ends_with("res") ? "_time64" : "64";
		c.clock = clocks[below(std::size(clocks))];
		if (one_in(64))
			c.clock = static_cast<int>(nr_bases + 1 + below(100));
		bool may_be_null =
			!c.function.starts_with("__kernel_clock_gettime");
		c.null_pointer = may_be_null && one_in(4);
		c.timezone = c.function == "__kernel_gettimeofday" && one_in(2);
		c.event = job::none;
		if (!c.ns && one_in(100))
			c.event = one_in(2) ? job::seq_odd_once :
					      job::seq_moved_once;
		c.counter = c.tk.cycle_last + delta(c);
	}

	/*
	 * Any distance, before the last update as well, but for the most part
	 * one that the vDSO has an answer of its own for.
	 */
	uint64_t delta(test_case c)
	{
		uint64_t d = one_in(2) ? any_size(64) :
					 near({ 2, 1ULL << 20, 1ULL << 31,
						1ULL << 32, 1ULL << 63 });

		if (one_in(16))
			d = -below(1000);
		if (one_in(16))
			return d;
		for (; d; d >>= 1) {
			c.counter = c.tk.cycle_last + d;
			if (ns_to_carry(c) < many_ns)
				break;
		}
		return d;
	}

	std::mt19937_64 rng;
	bool timens, has_64_calls;
	test_case page;
	unsigned left_of_page = 0;
};

class comparer {
    public:
	comparer(const environment &environment, const image &image)
		: img(image), env(environment),
		  lay(probe_layout(environment, image)),
		  s(environment, image.arch, image.order), sub(s, image, lay)
	{
	}

	bool applies(const test_case &c) const
	{
		if (!img.has(c.function) || (c.ns && !lay.timens) ||
		    !expect(c, img))
			return false;
		return lay.kind == layout::generic || assembly_can(c);
	}

	std::vector<outcome> run(const std::vector<test_case> &cases)
	{
		std::vector<call> calls;
		const test_case *before = nullptr;

		for (const auto &c : cases) {
			calls.push_back(make_call(c, before));
			before = &c;
		}
		return s.run(calls, false, 600);
	}

	/* What is wrong, or nothing. */
	std::string check(const test_case &c, const outcome &out) const;

	const image &img;

    private:
	bool assembly_can(const test_case &c) const;
	call make_call(const test_case &c, const test_case *before) const;
	bool is_now(const test_case &c, timespec_pair time) const;
	bool close_enough(const test_case &c, const expectation &e,
			  const outcome &out) const;

	environment env;
	layout lay;
	session s;
	subject sub;
};

/* Where the assembly has a way of its own, and its page can hold the values. */
bool comparer::assembly_can(const test_case &c) const
{
	auto e = expect(c, img);
	bool getres = c.function == "__kernel_clock_getres";
	bool known = c.clock == realtime || c.clock == monotonic;
	bool coarse = c.clock == realtime_coarse || c.clock == monotonic_coarse;
	unsigned __int128 xs = static_cast<unsigned __int128>(c.tk.mult) *
			       (19342813113834067ULL >> c.tk.shift);

	if (c.function == "__kernel_time" || e->error)
		return true;
	if (c.function != "__kernel_gettimeofday" && !known && !coarse)
		return false;
	if (getres)
		return known || img.arch == machine::ppc;
	if (e->system_call == expectation::always)
		return false;
	/* below that, what the comments of update_vsyscall() say of the error does not hold */
	if (e->is_time && (xs >> 64 || c.tk.shift < 16 || c.tk.mult < 65536))
		return false;
	return !e->wraps && e->delta_ns < 10 * nsec_per_sec &&
	       c.counter - c.tk.cycle_last < 1ULL << 52;
}

call comparer::make_call(const test_case &c, const test_case *before) const
{
	call out;

	out.function = sub.address(c.function);
	out.args = arguments(c);
	out.counter = c.counter;
	out.event = c.event;
	out.seq = sub.seq_address(c.clock == monotonic_raw, c.ns.has_value());
	out.data_page = sub.view_address();
	/* a page stays until the next one, but an event may have moved its seq */
	if (!before || before->tk.xtime_nsec != c.tk.xtime_nsec ||
	    before->tk.seq != c.tk.seq ||
	    before->ns.has_value() != c.ns.has_value() ||
	    before->event != job::none)
		out.patches = c.ns ? sub.pages(c.tk, *c.ns) : sub.pages(c.tk);
	return out;
}

/*
 * One part in how many is the assembly's scale factor exact? The kernel shifts
 * the bits of a constant out before it multiplies, and the 32-bit code takes
 * only the upper half of the product.
 */
uint64_t scale_precision(const timekeeper &tk, bool is64)
{
	uint64_t constant = 19342813113834067ULL >> tk.shift;
	uint64_t upper = (constant * tk.mult) >> 32;

	return std::max<uint64_t>(
		1, std::min(constant, is64 ? constant : upper) / 2);
}

bool comparer::close_enough(const test_case &c, const expectation &e,
			    const outcome &out) const
{
	timespec_pair got = decode_time(c, img, out.out);
	int64_t sec = got.sec - e.time.sec;
	/* 2^-32 s for each of the two fractions, and the scale factor's own error */
	uint64_t allowed = 3 + e.delta_ns / scale_precision(c.tk, img.is64()) +
			   (c.function == "__kernel_gettimeofday" ? 1000 : 0);

	if (!img.is64())
		sec = static_cast<int32_t>(sec);
	if (got.nsec < 0 || got.nsec >= static_cast<int64_t>(nsec_per_sec) ||
	    std::abs(sec) > 1)
		return false;
	int64_t off = sec * static_cast<int64_t>(nsec_per_sec) + got.nsec -
		      e.time.nsec;
	return static_cast<uint64_t>(std::abs(off)) <= allowed;
}

/* The time is the running kernel's, give or take the time of a batch of calls. */
bool comparer::is_now(const test_case &c, timespec_pair time) const
{
	constexpr int64_t most_off = 600;
	bool tod = c.function == "__kernel_gettimeofday";
	timespec now = {};

	clock_gettime(tod ? realtime : c.clock, &now);
	int64_t off = now.tv_sec - time.sec;
	if (!img.is64())
		off = static_cast<int32_t>(off);
	return off >= 0 && off < most_off;
}

std::string comparer::check(const test_case &c, const outcome &out) const
{
	expectation e = *expect(c, img);
	uint64_t value_mask = img.is64() && !e.error ? ~0ULL : 0xffffffff;
	auto words = out.out;

	if (out.clobbered)
		return fmt::format("registers changed: {:#x}", out.clobbered);
	if (out.error() != e.error)
		return fmt::format("CR0.SO is {}",
				   out.error() ? "set" : "clear");
	if ((out.value ^ static_cast<uint64_t>(e.value)) & value_mask)
		return fmt::format("returned {:#x}, not {:#x}", out.value,
				   e.value);
	if (e.coarse_resolution) {
		int64_t tick = decode_time(c, img, words).nsec;

		for (int64_t hz : { 100, 250, 300, 1000 })
			if (tick == (1000000000 + hz / 2) / hz)
				return "";
		return fmt::format("the resolution {} ns is no tick", tick);
	}
	if (e.system_call != expectation::never &&
	    is_now(c, decode_time(c, img, words)))
		return "";
	if (e.system_call == expectation::always)
		return "no system call for a clock that cannot be read";
	if (words == e.out)
		return "";
	if (lay.kind != layout::generic && e.is_time && close_enough(c, e, out))
		return "";
	return fmt::format(
		"stored {:016x} {:016x} {:016x}, not {:016x} {:016x} {:016x}",
		words[0], words[1], words[2], e.out[0], e.out[1], e.out[2]);
}

/* Tries simpler values for each field for as long as the case still differs. */
test_case shrink(comparer &images, test_case c)
{
	using edit = std::function<void(test_case &)>;
	const std::vector<edit> edits = {
		[](test_case &t) { t.ns.reset(); },
		[](test_case &t) { t.event = job::none; },
		[](test_case &t) { t.tk.clock_mode = archtimer; },
		[](test_case &t) { t.timezone = false; },
		[](test_case &t) { t.tk.tz_minuteswest = t.tk.tz_dsttime = 0; },
		[](test_case &t) { t.tk.monotonic_to_boot = {}; },
		[](test_case &t) { t.tk.wall_to_monotonic = {}; },
		[](test_case &t) { t.tk.wall_to_monotonic.nsec = 0; },
		[](test_case &t) { t.tk.tai_offset = 0; },
		[](test_case &t) { t.tk.hrtimer_res = 1; },
		[](test_case &t) { t.tk.raw_sec = 0; },
		[](test_case &t) { t.tk.raw_nsec = 0; },
		[](test_case &t) { t.tk.raw_nsec /= 2; },
		[](test_case &t) { t.tk.xtime_sec = 0; },
		[](test_case &t) { t.tk.xtime_sec /= 2; },
		[](test_case &t) { t.tk.xtime_nsec = 0; },
		[](test_case &t) { t.tk.xtime_nsec /= 2; },
		[](test_case &t) {
			t.counter -= std::exchange(t.tk.cycle_last, 0);
		},
		[](test_case &t) { t.counter = t.tk.cycle_last; },
		[](test_case &t) {
			t.counter -= (t.counter - t.tk.cycle_last) / 2;
		},
		[](test_case &t) { t.counter -= t.counter != t.tk.cycle_last; },
		[](test_case &t) { t.tk.mult = t.tk.raw_mult = 1; },
		[](test_case &t) { t.tk.mult /= 2, t.tk.raw_mult /= 2; },
	};
	bool simpler = true;

	for (unsigned rounds = 0; simpler && rounds < 20; rounds++) {
		simpler = false;
		for (const auto &apply : edits) {
			test_case t = c;

			apply(t);
			if (to_json(t) == to_json(c) || !images.applies(t))
				continue;
			if (!images.check(t, images.run({ t })[0]).empty()) {
				c = t;
				simpler = true;
			}
		}
	}
	return c;
}

void report(comparer &images, const test_case &found)
{
	test_case c = shrink(images, found);

	fmt::print("{}: {}\n{}\n", images.img.path,
		   images.check(c, images.run({ c })[0]),
		   to_json(c).dump(1, '\t'));
}

/* True if a difference was found, and printed. */
bool differs(comparer &images, const std::vector<test_case> &all,
	     uint64_t &compared)
{
	std::vector<test_case> cases;

	for (const auto &c : all)
		if (images.applies(c))
			cases.push_back(c);
	if (cases.empty())
		return false;
	auto outcomes = images.run(cases);
	compared += cases.size();
	for (size_t i = 0; i < cases.size(); i++)
		if (!images.check(cases[i], outcomes[i]).empty()) {
			report(images, cases[i]);
			return true;
		}
	return false;
}

} // namespace

unsigned diff(const environment &env, const diff_options &opt)
{
	unsigned bad = 0;

	for (const auto &path : opt.images) {
		image img(path);
		comparer images(env, img);
		generator gen(opt.seed, !img.has("__kernel_datapage_offset"),
			      !img.is64());
		uint64_t compared = 0;
		bool found = false;

		if (!opt.replay.empty()) {
			test_case c = from_json(
				nlohmann::json::parse(read_file(opt.replay)));

			if (!images.applies(c))
				throw user_error{ fmt::format(
					"{}: {} has no such call", opt.replay,
					path) };
			found = differs(images, { c }, compared);
		}
		while (!found && opt.replay.empty() && compared < opt.cases) {
			std::vector<test_case> cases;

			while (cases.size() < batch)
				cases.push_back(gen.next());
			found = differs(images, cases, compared);
		}
		fmt::print("{}: {} cases, {}\n", path, compared,
			   found ? "DIFFERS" : "no difference");
		bad += found;
	}
	return bad;
}

} // namespace vdso
