// SPDX-License-Identifier: GPL-2.0-only
#include "../integers.h"
#include "../timekeeper.h"

#include <gtest/gtest.h>

namespace
{

using namespace vdso;

TEST(fill, monotonic_second_is_normalised)
{
	timekeeper tk = timekeeper::sample(512000000);
	generic_data<big> data[2];

	tk.xtime_nsec = 900000000ULL << tk.shift;
	tk.wall_to_monotonic = { 10 - tk.xtime_sec, 200000000 };
	fill(data, tk);
	EXPECT_EQ(data[0].basetime[monotonic].sec, 11);
	EXPECT_EQ(data[0].basetime[monotonic].nsec, 100000000ULL << tk.shift);
	EXPECT_EQ(data[0].basetime[realtime].nsec, 900000000ULL << tk.shift);
	EXPECT_EQ(data[0].basetime[monotonic_coarse].sec, 11);
	EXPECT_EQ(data[0].basetime[monotonic_coarse].nsec, 100000000U);
}

TEST(fill, a_time_namespace_page_is_marked)
{
	generic_data<little> data[2] = {};

	fill(data, timens_offsets{ { 1, 2 }, { 3, 4 } });
	EXPECT_EQ(data[0].seq, 1U);
	EXPECT_EQ(data[0].clock_mode, timens);
	EXPECT_EQ(data[1].basetime[monotonic_raw].sec, 1);
	EXPECT_EQ(data[0].basetime[boottime].nsec, 4U);
	EXPECT_EQ(data[0].basetime[realtime].sec, 0);
}

TEST(fill, half_a_second_as_a_binary_fraction)
{
	timekeeper tk = timekeeper::sample(512000000);
	asm64_data<big> data;

	tk.xtime_nsec = 500000000ULL << tk.shift;
	fill(data, tk);
	EXPECT_EQ(data.stamp_sec_fraction, 0x80000000U);
}

} // namespace
