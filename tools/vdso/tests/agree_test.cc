// SPDX-License-Identifier: GPL-2.0-only
#include "../agree.h"

#include <gtest/gtest.h>

namespace
{

using namespace vdso;
using nlohmann::json;

const named_counts counts = { { "gettimeofday", { 56, 52 } },
			      { "clock-getres-realtime", { 23 } },
			      { "clock-gettime-realtime", { 63, 59 } },
			      { "time", { 12 } } };

json guest(const char *triple, double gettimeofday, double getres, double time)
{
	json bench = json::array();

	for (auto [api, ns] : { std::pair{ "gettimeofday", gettimeofday },
				{ "clock-getres-realtime", getres },
				{ "time", time },
				{ "clock-gettime-tai", 492.0 } })
		bench.push_back({ { "api", api },
				  { "column", "vdso" },
				  { "nanoseconds", ns },
				  { "triple", triple } });
	bench.push_back({ { "api", "time" },
			  { "column", "syscall" },
			  { "nanoseconds", 300 },
			  { "triple", triple } });
	return { { "bench", bench } };
}

TEST(agree, the_same_loop_around_each_call)
{
	auto sum = overhead_of(counts, false,
			       guest("powerpc-linux-gnu", 58, 29, 17), 1);

	EXPECT_EQ(sum.rows, 3U);
	EXPECT_EQ(sum.least, 5);
	EXPECT_EQ(sum.most, 6);
	EXPECT_TRUE(sum.steady());
}

TEST(agree, a_step_is_more_than_one_nanosecond)
{
	auto sum = overhead_of(counts, false,
			       guest("powerpc-linux-gnu", 464, 232, 136), 8);

	EXPECT_EQ(sum.most, 6);
	EXPECT_TRUE(sum.steady());
}

TEST(agree, a_call_that_takes_longer_than_counted_is_found)
{
	auto sum = overhead_of(counts, false,
			       guest("powerpc-linux-gnu", 58, 34, 17), 1);

	EXPECT_FALSE(sum.steady());
}

TEST(agree, nothing_to_compare_is_no_agreement)
{
	auto sum = overhead_of(counts, true,
			       guest("powerpc-linux-gnu", 58, 29, 17), 1);

	EXPECT_EQ(sum.rows, 0U);
	EXPECT_FALSE(sum.steady());
}

} // namespace
