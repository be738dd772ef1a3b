// SPDX-License-Identifier: GPL-2.0-only
/*
 * The model answers with the whole result: return value, error flag and every
 * byte of the place that the results go to, so a store too many is a
 * difference, too.
 *
 * The vDSO's product of delta and mult is 64 bits wide and wraps. The model
 * computes it in 128 bits and takes the same 64, so that cases beyond what the
 * kernel allows still have one right answer.
 */
#include "reference.h"

#include <ctime>
#include <limits>
#include <utility>

namespace vdso
{

namespace
{

using u128 = unsigned __int128;

constexpr int64_t error_invalid = 22;
constexpr uint64_t tz_offset = 16;

struct reading {
	int64_t sec;
	uint64_t nsec;
	uint64_t delta_ns;
	uint64_t to_carry;
	bool wraps;
};

/* A result's place in memory, as four 64-bit words of the guest's byte order. */
class out_words {
    public:
	explicit out_words(const image &image) : img(image)
	{
		words.fill(job::poison);
	}

	void put(unsigned index, unsigned size, int64_t value)
	{
		if (size == 8) {
			words[index] = static_cast<uint64_t>(value);
			return;
		}
		bool high = (index % 2 == 0) == (img.order == std::endian::big);
		uint64_t &word = words[index / 2];
		uint64_t half = static_cast<uint32_t>(value);

		word = high ? (word & 0xffffffff) | half << 32 :
			      (word & ~0xffffffffULL) | half;
	}
	int64_t get(unsigned index, unsigned size) const
	{
		if (size == 8)
			return static_cast<int64_t>(words[index]);
		bool high = (index % 2 == 0) == (img.order == std::endian::big);
		return static_cast<int32_t>(words[index / 2] >>
					    (high ? 32 : 0));
	}

	std::array<uint64_t, job::out_words> words;

    private:
	const image &img;
};

reading normalise(int64_t sec, u128 nsec)
{
	sec = static_cast<int64_t>(static_cast<uint64_t>(sec) +
				   static_cast<uint64_t>(nsec / nsec_per_sec));
	return { sec, static_cast<uint64_t>(nsec % nsec_per_sec), 0,
		 static_cast<uint64_t>(nsec), false };
}

/* Seconds and shifted nanoseconds of a clock at the last update. */
std::pair<int64_t, uint64_t> base_of(const timekeeper &tk, int clock)
{
	u128 second = static_cast<u128>(nsec_per_sec) << tk.shift;
	u128 nsec = tk.xtime_nsec;
	int64_t sec = tk.xtime_sec;

	switch (clock) {
	case monotonic_raw:
		return { tk.raw_sec, tk.raw_nsec };
	case tai:
		return { sec + tk.tai_offset, tk.xtime_nsec };
	case realtime:
		return { sec, tk.xtime_nsec };
	case boottime:
		sec += tk.monotonic_to_boot.sec;
		nsec += static_cast<u128>(tk.monotonic_to_boot.nsec)
			<< tk.shift;
		[[fallthrough]];
	default:
		sec += tk.wall_to_monotonic.sec;
		nsec += static_cast<u128>(tk.wall_to_monotonic.nsec)
			<< tk.shift;
	}
	return { sec + static_cast<int64_t>(nsec / second),
		 static_cast<uint64_t>(nsec % second) };
}

/* Of the clock that is read: gettimeofday() reads another than c.clock */
timespec_pair ns_offset(const test_case &c, int clock)
{
	if (!c.ns)
		return { 0, 0 };
	switch (clock) {
	case monotonic:
	case monotonic_raw:
	case monotonic_coarse:
		return c.ns->monotonic;
	case boottime:
		return c.ns->boottime;
	default:
		return { 0, 0 };
	}
}

reading read_hres(const test_case &c, int clock)
{
	bool raw = clock == monotonic_raw;
	uint32_t mult = raw ? c.tk.raw_mult : c.tk.mult;
	uint32_t shift = raw ? c.tk.raw_shift : c.tk.shift;
	auto [sec, base] = base_of(c.tk, clock);
	uint64_t delta = (c.counter - c.tk.cycle_last) & c.tk.mask;
	auto wide = static_cast<u128>(delta) * mult;
	auto ns = static_cast<uint64_t>(wide + base) >> shift;
	timespec_pair offset = ns_offset(c, clock);
	reading r = normalise(sec + offset.sec,
			      ns + static_cast<uint64_t>(offset.nsec));
	u128 delta_ns = wide >> shift;

	r.wraps = (wide + base) >> 64;
	r.delta_ns = delta_ns > std::numeric_limits<int64_t>::max() ?
			     std::numeric_limits<int64_t>::max() :
			     static_cast<uint64_t>(delta_ns);
	return r;
}

reading read_coarse(const test_case &c)
{
	timespec_pair offset = ns_offset(c, c.clock);
	int64_t sec = c.tk.xtime_sec + offset.sec;
	u128 nsec = (c.tk.xtime_nsec >> c.tk.shift) +
		    static_cast<uint64_t>(offset.nsec);

	if (c.clock == monotonic_coarse) {
		sec += c.tk.wall_to_monotonic.sec;
		nsec += static_cast<uint64_t>(c.tk.wall_to_monotonic.nsec);
	}
	return normalise(sec, nsec);
}

bool is_hres(int clock)
{
	return clock == realtime || clock == monotonic || clock == boottime ||
	       clock == tai || clock == monotonic_raw;
}

bool is_coarse(int clock)
{
	return clock == realtime_coarse || clock == monotonic_coarse;
}

unsigned time_size(const test_case &c, const image &img)
{
	return img.is64() || c.function.ends_with("64") ? 8 : 4;
}

/*
 * No tick for more than four seconds, or no clocksource to read: a vDSO that
 * computes in 32 bits may ask the kernel in the first case and has to in the
 * second.
 */
void leave_to_kernel(expectation &e, const test_case &c, const reading &r)
{
	if (c.tk.clock_mode == none)
		e.system_call = expectation::always;
	else if (r.to_carry >= std::numeric_limits<uint32_t>::max())
		e.system_call = expectation::possibly;
}

std::optional<expectation> expect_gettime(const test_case &c, const image &img)
{
	expectation e;
	out_words out(img);
	unsigned size = time_size(c, img);

	if (c.clock == process_cputime || c.clock == thread_cputime) {
		e.system_call = expectation::always;
		return e;
	}
	if (!is_hres(c.clock) && !is_coarse(c.clock))
		return std::nullopt;
	reading r = is_coarse(c.clock) ? read_coarse(c) : read_hres(c, c.clock);
	out.put(0, size, r.sec);
	out.put(1, size, static_cast<int64_t>(r.nsec));
	e.is_time = !is_coarse(c.clock);
	if (e.is_time)
		leave_to_kernel(e, c, r);
	e.time = { r.sec, static_cast<int64_t>(r.nsec) };
	e.delta_ns = r.delta_ns;
	e.wraps = r.wraps;
	e.out = out.words;
	return e;
}

std::optional<expectation> expect_getres(const test_case &c, const image &img)
{
	expectation e;
	out_words out(img);
	unsigned size = time_size(c, img);

	if (!is_hres(c.clock) && !is_coarse(c.clock))
		return std::nullopt;
	if (!c.null_pointer) {
		out.put(0, size, 0);
		out.put(1, size, c.tk.hrtimer_res);
		e.coarse_resolution = is_coarse(c.clock);
	}
	e.out = out.words;
	return e;
}

expectation expect_gettimeofday(const test_case &c, const image &img)
{
	expectation e;
	out_words out(img);
	unsigned size = img.is64() ? 8 : 4;

	if (!c.null_pointer) {
		reading r = read_hres(c, realtime);

		out.put(0, size, r.sec);
		out.put(1, size, static_cast<int64_t>(r.nsec / 1000));
		e.is_time = true;
		leave_to_kernel(e, c, r);
		e.time = { r.sec, static_cast<int64_t>(r.nsec / 1000 * 1000) };
		e.delta_ns = r.delta_ns;
		e.wraps = r.wraps;
	}
	if (c.timezone) {
		out.put(tz_offset / 4, 4, c.tk.tz_minuteswest);
		out.put(tz_offset / 4 + 1, 4, c.tk.tz_dsttime);
	}
	e.out = out.words;
	return e;
}

expectation expect_time(const test_case &c, const image &img)
{
	expectation e;
	out_words out(img);

	e.value = c.tk.xtime_sec;
	if (!c.null_pointer)
		out.put(0, img.is64() ? 8 : 4, e.value);
	e.out = out.words;
	return e;
}

} // namespace

uint64_t ns_to_carry(const test_case &c)
{
	if (c.function == "__kernel_gettimeofday")
		return read_hres(c, realtime).to_carry;
	return is_hres(c.clock) ? read_hres(c, c.clock).to_carry : 0;
}

std::optional<expectation> expect(const test_case &c, const image &img)
{
	/* the first numbers that no kernel has a clock for */
	if (c.function.starts_with("__kernel_clock_get") &&
	    c.clock > nr_bases && c.clock < 1000) {
		expectation e;
		timespec ignored;

		/* some kernels under the lab answer for clocks that they do not have */
		if (c.function.starts_with("__kernel_clock_getres") &&
		    clock_getres(c.clock, &ignored) == 0)
			return std::nullopt;
		e.error = true;
		e.value = error_invalid;
		e.out = out_words(img).words;
		return e;
	}
	if (c.function.starts_with("__kernel_clock_gettime"))
		return expect_gettime(c, img);
	if (c.function.starts_with("__kernel_clock_getres"))
		return expect_getres(c, img);
	if (c.function == "__kernel_gettimeofday")
		return expect_gettimeofday(c, img);
	return expect_time(c, img);
}

timespec_pair decode_time(const test_case &c, const image &img,
			  const std::array<uint64_t, job::out_words> &words)
{
	out_words out(img);
	unsigned size = time_size(c, img);
	int64_t scale = c.function == "__kernel_gettimeofday" ? 1000 : 1;

	out.words = words;
	return { out.get(0, size), out.get(1, size) * scale };
}

std::array<uint64_t, 3> arguments(const test_case &c)
{
	uint64_t out = c.null_pointer ? 0 : scratch_addr;

	if (c.function == "__kernel_gettimeofday")
		return { out, c.timezone ? scratch_addr + tz_offset : 0, 0 };
	if (c.function == "__kernel_time")
		return { out, 0, 0 };
	return { static_cast<uint32_t>(c.clock), out, 0 };
}

nlohmann::json to_json(const test_case &c)
{
	const timekeeper &tk = c.tk;
	nlohmann::json json = {
		{ "function", c.function },
		{ "clock", c.clock },
		{ "null pointer", c.null_pointer },
		{ "timezone", c.timezone },
		{ "event", static_cast<unsigned>(c.event) },
		{ "counter", c.counter },
		{ "clock mode", tk.clock_mode },
		{ "cycle_last", tk.cycle_last },
		{ "mult", tk.mult },
		{ "shift", tk.shift },
		{ "xtime_nsec", tk.xtime_nsec },
		{ "xtime_sec", tk.xtime_sec },
		{ "wall_to_monotonic",
		  { tk.wall_to_monotonic.sec, tk.wall_to_monotonic.nsec } },
		{ "monotonic_to_boot",
		  { tk.monotonic_to_boot.sec, tk.monotonic_to_boot.nsec } },
		{ "tai_offset", tk.tai_offset },
		{ "raw_mult", tk.raw_mult },
		{ "raw_shift", tk.raw_shift },
		{ "raw_nsec", tk.raw_nsec },
		{ "raw_sec", tk.raw_sec },
		{ "tz", { tk.tz_minuteswest, tk.tz_dsttime } },
		{ "hrtimer_res", tk.hrtimer_res },
	};

	if (c.ns)
		json["timens"] = { c.ns->monotonic.sec, c.ns->monotonic.nsec,
				   c.ns->boottime.sec, c.ns->boottime.nsec };
	return json;
}

test_case from_json(const nlohmann::json &json)
{
	test_case c;
	timekeeper &tk = c.tk;

	c.function = json.at("function");
	c.clock = json.at("clock");
	c.null_pointer = json.at("null pointer");
	c.timezone = json.at("timezone");
	c.event = static_cast<job::event>(json.at("event").get<unsigned>());
	c.counter = json.at("counter");
	tk.clock_mode = json.at("clock mode");
	tk.cycle_last = json.at("cycle_last");
	tk.mult = json.at("mult");
	tk.shift = json.at("shift");
	tk.xtime_nsec = json.at("xtime_nsec");
	tk.xtime_sec = json.at("xtime_sec");
	tk.wall_to_monotonic = { json.at("wall_to_monotonic")[0],
				 json.at("wall_to_monotonic")[1] };
	tk.monotonic_to_boot = { json.at("monotonic_to_boot")[0],
				 json.at("monotonic_to_boot")[1] };
	tk.tai_offset = json.at("tai_offset");
	tk.raw_mult = json.at("raw_mult");
	tk.raw_shift = json.at("raw_shift");
	tk.raw_nsec = json.at("raw_nsec");
	tk.raw_sec = json.at("raw_sec");
	tk.tz_minuteswest = json.at("tz")[0];
	tk.tz_dsttime = json.at("tz")[1];
	tk.hrtimer_res = json.at("hrtimer_res");
	if (json.contains("timens")) {
		const auto &ns = json["timens"];

		c.ns = timens_offsets{ { ns[0], ns[1] }, { ns[2], ns[3] } };
	}
	return c;
}

} // namespace vdso
