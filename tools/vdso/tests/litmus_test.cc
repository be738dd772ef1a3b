// SPDX-License-Identifier: GPL-2.0-only
/* The verdicts of the ordering test, on results that no CPU has to give. */
#include <litmus.h>
#include <tsc_read.h>

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace
{

using namespace litmus;
using tsc_read::Kind;

Result result(std::uint64_t samples, std::int64_t back = 0)
{
	Result r;

	r.samples = samples;
	if (back)
		r.back.add(back);
	return r;
}

const Loop lossy = { "lossy", true, nullptr };
const Loop strict = { "strict", false, nullptr };

TEST(histogram, powers_of_two)
{
	Histogram h;

	for (std::int64_t nsec : { 1, 2, 3, 4, 1000 })
		h.add(nsec);
	EXPECT_EQ(h.count(), 5U);
	EXPECT_EQ(h.worst(), 1000);
	EXPECT_EQ(h.text(), "1 ns: 1, 2-3 ns: 2, 4-7 ns: 1, 512-1023 ns: 1");
}

TEST(histogram, largest)
{
	Histogram h;

	h.add(INT64_MAX);
	EXPECT_EQ(h.buckets().back(), 1U);
}

TEST(histogram, merges)
{
	Histogram a, b;

	a.add(5);
	b.add(9);
	a.merge(b);
	EXPECT_EQ(a.count(), 2U);
	EXPECT_EQ(a.worst(), 9);
	EXPECT_TRUE(Histogram().text().empty());
}

TEST(judge, ordered_allows_no_step)
{
	EXPECT_EQ(judge(lossy, Read::ordered, result(1000000, 1)),
		  Verdict::bad);
	EXPECT_EQ(judge(lossy, Read::ordered, result(1000000)), Verdict::good);
	EXPECT_EQ(judge(lossy, Read::ordered, result(10, 1)), Verdict::bad);
}

TEST(judge, plain_has_to_show_the_loss)
{
	EXPECT_EQ(judge(lossy, Read::plain, result(1000000, 1)), Verdict::good);
	EXPECT_EQ(judge(lossy, Read::plain, result(1000000)),
		  Verdict::not_seen);
}

TEST(judge, what_no_read_may_lose)
{
	EXPECT_EQ(judge(strict, Read::plain, result(1000000, 1)), Verdict::bad);
	EXPECT_EQ(judge(strict, Read::plain, result(1000000)), Verdict::good);
}

TEST(judge, a_handful_tells_nothing)
{
	EXPECT_EQ(judge(lossy, Read::ordered, result(10)), Verdict::too_few);
	EXPECT_EQ(judge(strict, Read::plain, result(10)), Verdict::too_few);
}

/* A clock that is wrong in a known way, through the loops themselves. */
std::atomic<std::int64_t> ticks;

int backward(int, Stamp *stamp)
{
	*stamp = { 0, 1000000000 - ticks++ };
	return 0;
}

int forward(int, Stamp *stamp)
{
	*stamp = { 0, ticks++ };
	return 0;
}

/* On a loaded machine the two threads may be away in turn, so not at once. */
TEST(loops, a_clock_that_runs_backward_is_seen)
{
	for (const Loop &loop : loops) {
		if (!have_two_cpus())
			GTEST_SKIP() << "one CPU";
		std::uint64_t seen = 0;

		for (int i = 0; i < 100 && !seen; i++) {
			ticks = 0;
			seen = loop.run({ backward, 0 }, 20).back.count();
		}
		EXPECT_GT(seen, 0U) << loop.name;
	}
}

TEST(loops, a_shared_counter_is_in_order)
{
	for (const Loop &loop : loops) {
		if (!have_two_cpus())
			GTEST_SKIP() << "one CPU";
		ticks = 1;
		Result r = loop.run({ forward, 0 }, 20);

		EXPECT_EQ(r.back.count(), 0U) << loop.name << r.back.text();
		EXPECT_GE(r.samples, 1000U) << loop.name;
	}
}

TEST(tsc_read, kinds)
{
	using code = std::vector<unsigned char>;

	EXPECT_EQ(tsc_read::find(code{ 0x90, 0xc3 }), Kind::none);
	EXPECT_EQ(tsc_read::find(code{ 0x90, 0x0f, 0x31 }), Kind::plain);
	EXPECT_EQ(tsc_read::find(code{ 0x0f, 0x01, 0xf9 }), Kind::ordered);
	EXPECT_EQ(tsc_read::find(code{ 0x0f, 0xae, 0xe8, 0x0f, 0x31 }),
		  Kind::ordered);
	EXPECT_EQ(tsc_read::find(code{ 0x0f, 0x31, 0x90, 0x0f, 0x01, 0xf9 }),
		  Kind::mixed);
	EXPECT_EQ(tsc_read::find(code{ 0x0f }), Kind::none);
}

TEST(tsc_read, no_image)
{
	std::vector<unsigned char> nothing(16);

	EXPECT_EQ(tsc_read::in_image(nothing.data(), nothing.size()),
		  Kind::none);
}

} // namespace
