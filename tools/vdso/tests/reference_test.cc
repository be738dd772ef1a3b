// SPDX-License-Identifier: GPL-2.0-only
/* The model is what the images are judged by, so it is judged by hand-made cases. */
#include "../reference.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace
{

using namespace vdso;

class model : public testing::Test {
    protected:
	model()
	{
		c.tk.mult = c.tk.raw_mult = 10 << 8;
		c.tk.shift = c.tk.raw_shift = 8;
		c.tk.cycle_last = 1000;
		c.tk.xtime_sec = 100;
		c.tk.xtime_nsec = 999999990ULL << 8;
		c.tk.wall_to_monotonic = { -90, 5 };
		c.tk.monotonic_to_boot = { 7, 0 };
		c.tk.tai_offset = 37;
		c.counter = 1000;
		c.function = "__kernel_clock_gettime";
	}

	timespec_pair time(int clock)
	{
		c.clock = clock;
		e = *expect(c, img);
		return decode_time(c, img, e.out);
	}

	image img{ std::string(std::getenv("BROKEN_IMAGES")) +
		   "/ppc64le-good.so" };
	image img32{ std::string(std::getenv("BROKEN_IMAGES")) +
		     "/ppc32-good.so" };
	test_case c;
	expectation e;
};

TEST_F(model, a_tick_of_ten_nanoseconds_carries_into_the_seconds)
{
	EXPECT_EQ(time(realtime).sec, 100);
	EXPECT_EQ(time(realtime).nsec, 999999990);
	c.counter++;
	EXPECT_EQ(time(realtime).sec, 101);
	EXPECT_EQ(time(realtime).nsec, 0);
	EXPECT_EQ(time(tai).sec, 138);
	EXPECT_EQ(time(monotonic).sec, 11);
	EXPECT_EQ(time(monotonic).nsec, 5);
	EXPECT_EQ(time(boottime).sec, 18);
}

TEST_F(model, a_coarse_clock_does_not_look_at_the_counter)
{
	c.counter += 100;
	EXPECT_EQ(time(realtime_coarse).nsec, 999999990);
	EXPECT_EQ(time(monotonic_coarse).nsec, 999999995);
}

TEST_F(model, a_time_namespace_moves_the_monotonic_clocks_only)
{
	c.ns = timens_offsets{ { 1000, 0 }, { 2000, 5 } };
	EXPECT_EQ(time(realtime).sec, 100);
	EXPECT_EQ(time(monotonic).sec, 1010);
	EXPECT_EQ(time(boottime).sec, 2018);
	EXPECT_EQ(time(boottime).nsec, 0);
}

TEST_F(model, results_of_32_bits_wrap_and_the_rest_stays_as_it_was)
{
	c.tk.xtime_sec = 1LL << 32 | 5;
	c.clock = realtime;
	e = *expect(c, img32);
	EXPECT_EQ(e.out[0], 5ULL << 32 | 999999990);
	EXPECT_EQ(e.out[1], job::poison);
	c.function = "__kernel_clock_gettime64";
	e = *expect(c, img32);
	EXPECT_EQ(e.out[0], 1ULL << 32 | 5);
}

TEST_F(model, gettimeofday_has_microseconds)
{
	c.function = "__kernel_gettimeofday";
	c.timezone = true;
	c.tk.tz_minuteswest = -60;
	EXPECT_EQ(time(realtime).nsec, 999999000);
	EXPECT_EQ(static_cast<int32_t>(e.out[2]), -60);
}

TEST_F(model, the_kernel_may_be_asked_after_four_seconds_only)
{
	time(realtime);
	EXPECT_EQ(e.system_call, expectation::never);
	c.counter += 300000000;
	time(realtime);
	EXPECT_EQ(e.system_call, expectation::never);
	c.counter += 100000000;
	time(realtime);
	EXPECT_EQ(e.system_call, expectation::possibly);
	EXPECT_EQ(e.time.sec, 104);
}

TEST_F(model, the_kernel_has_to_be_asked_where_there_is_no_time)
{
	time(process_cputime);
	EXPECT_EQ(e.system_call, expectation::always);
	c.tk.clock_mode = none;
	time(monotonic);
	EXPECT_EQ(e.system_call, expectation::always);
	time(monotonic_coarse);
	EXPECT_EQ(e.system_call, expectation::never);
}

TEST_F(model, a_case_is_the_same_after_it_was_written_and_read)
{
	c.ns = timens_offsets{ { 1, 2 }, { 3, 4 } };
	EXPECT_EQ(to_json(from_json(to_json(c))), to_json(c));
}

} // namespace
