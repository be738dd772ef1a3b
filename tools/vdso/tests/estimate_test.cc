// SPDX-License-Identifier: GPL-2.0-only
#include "../estimate.h"

#include <gtest/gtest.h>

namespace
{

using namespace vdso;

TEST(fit, finds_the_line_that_the_points_are_on)
{
	auto line = fit({ { 10, 84 }, { 50, 184 }, { 70, 234 } });

	ASSERT_TRUE(line);
	EXPECT_NEAR(line->start, 59, 1e-6);
	EXPECT_NEAR(line->each, 2.5, 1e-6);
	EXPECT_NEAR(line->at(100), 309, 1e-6);
}

TEST(fit, a_relative_error_counts_the_same_anywhere)
{
	/* no line is exact: the small values are to be met as well as the large */
	auto line = fit({ { 1, 11 }, { 1, 9 }, { 100, 1100 }, { 100, 900 } });

	ASSERT_TRUE(line);
	EXPECT_NEAR(line->at(1) / 10, line->at(100) / 1000, 1e-6);
}

TEST(fit, one_point_is_no_line)
{
	EXPECT_FALSE(fit({}));
	EXPECT_FALSE(fit({ { 10, 84 } }));
	EXPECT_FALSE(fit({ { 10, 84 }, { 10, 90 } }));
}

TEST(median, of_none_odd_and_even)
{
	EXPECT_EQ(median({}), 0);
	EXPECT_EQ(median({ 5, 1, 3 }), 3);
	EXPECT_EQ(median({ 4, 1, 3, 100 }), 3.5);
}

TEST(seed_name, is_vdsotest_s)
{
	EXPECT_EQ(seed_name("clock_getres REALTIME_COARSE"),
		  "clock-getres-realtime-coarse");
	EXPECT_EQ(seed_name("gettimeofday(tv, NULL)"), "gettimeofday");
}

} // namespace
