// SPDX-License-Identifier: GPL-2.0-only
/* The KTAP reader: what it understands, and what it must not let pass. */
#include "../ktap.h"

#include <gtest/gtest.h>

#include <sstream>

namespace
{

struct Parsed {
	KtapTest root;
	std::vector<std::string> errors;
	bool complete;
};

Parsed parse(const std::string &text)
{
	KtapParser parser;
	std::istringstream stream(text);

	for (std::string line; std::getline(stream, line);)
		parser.line(line);
	bool complete = parser.complete();
	parser.finish();
	return { parser.root(), parser.errors(), complete };
}

bool mentions(const Parsed &parsed, const std::string &words)
{
	for (const auto &error : parsed.errors)
		if (error.find(words) != std::string::npos)
			return true;
	return false;
}

TEST(Ktap, Flat)
{
	auto parsed = parse("KTAP version 1\n"
			    "1..4\n"
			    "ok 1 first\n"
			    "# a remark\n"
			    "not ok 2 - second # timed out\n"
			    "ok 3 third # SKIP no such clock\n"
			    "ok 4 # SKIP nameless\n");

	EXPECT_TRUE(parsed.errors.empty());
	EXPECT_TRUE(parsed.complete);
	ASSERT_EQ(parsed.root.subtests.size(), 4u);
	EXPECT_EQ(parsed.root.subtests[0].name, "first");
	EXPECT_EQ(parsed.root.subtests[0].status, Status::pass);
	EXPECT_EQ(parsed.root.subtests[1].name, "second");
	EXPECT_EQ(parsed.root.subtests[1].status, Status::fail);
	EXPECT_EQ(parsed.root.subtests[1].reason, "timed out");
	EXPECT_EQ(parsed.root.subtests[1].diagnostics,
		  std::vector<std::string>{ "a remark" });
	EXPECT_EQ(parsed.root.subtests[2].status, Status::skip);
	EXPECT_EQ(parsed.root.subtests[2].reason, "no such clock");
	EXPECT_EQ(parsed.root.subtests[3].status, Status::skip);
}

TEST(Ktap, Nested)
{
	auto parsed = parse("KTAP version 1\n"
			    "1..2\n"
			    "  TAP version 13\n"
			    "  1..1\n"
			    "    KTAP version 1\n"
			    "    1..2\n"
			    "    ok 1 deep\n"
			    "    not ok 2 deeper\n"
			    "  not ok 1 middle\n"
			    "not ok 1 outer\n"
			    "ok 2 plain\n");

	EXPECT_TRUE(parsed.errors.empty());
	ASSERT_EQ(parsed.root.subtests.size(), 2u);
	const KtapTest &outer = parsed.root.subtests[0];
	ASSERT_EQ(outer.subtests.size(), 1u);
	ASSERT_EQ(outer.subtests[0].subtests.size(), 2u);
	EXPECT_EQ(outer.subtests[0].subtests[1].name, "deeper");
	EXPECT_TRUE(parsed.root.subtests[1].subtests.empty());
}

TEST(Ktap, OkAboveAFailureIsAFailure)
{
	auto parsed = parse("KTAP version 1\n1..1\n"
			    "  KTAP version 1\n  1..1\n  not ok 1 inner\n"
			    "ok 1 outer\n");

	EXPECT_TRUE(mentions(parsed, "a subtest of it is not"));
	EXPECT_EQ(parsed.root.subtests[0].status, Status::fail);
}

TEST(Ktap, LostResult)
{
	EXPECT_TRUE(mentions(parse("KTAP version 1\n1..3\nok 1 a\nok 3 c\n"),
			     "test number 3 where 2 was expected"));
	auto parsed = parse("KTAP version 1\n1..2\nok 1 a\n");
	EXPECT_TRUE(mentions(parsed, "2 tests were planned, 1 reported"));
	EXPECT_FALSE(parsed.complete);
}

TEST(Ktap, TooManyResults)
{
	EXPECT_TRUE(mentions(parse("KTAP version 1\n1..1\nok 1 a\nok 2 b\n"),
			     "1 tests were planned, 2 reported"));
}

TEST(Ktap, MissingPlanAndMissingEverything)
{
	EXPECT_TRUE(mentions(parse("KTAP version 1\nok 1 a\n"),
			     "a plan is missing"));
	EXPECT_TRUE(mentions(parse(""), "no KTAP at all"));
	EXPECT_TRUE(mentions(parse("ok 1 a\n1..1\n"), "no KTAP at all"));
}

TEST(Ktap, InnerLevelThatNobodySumsUp)
{
	EXPECT_TRUE(mentions(parse("KTAP version 1\n1..0\n"
				   "  KTAP version 1\n  1..1\n  ok 1 a\n"),
			     "subtests without a result line"));
	EXPECT_TRUE(mentions(parse("KTAP version 1\n1..1\n"
				   "  KTAP version 1\n  1..1\n  ok 1 a\n"
				   "  KTAP version 1\n  1..1\n  ok 1 b\n"
				   "ok 1 only one\n"),
			     "subtests without a result line"));
}

TEST(Ktap, SecondVersionOrPlan)
{
	EXPECT_TRUE(mentions(parse("KTAP version 1\n1..1\n1..1\nok 1 a\n"),
			     "a second plan"));
	EXPECT_TRUE(mentions(parse("KTAP version 1\n1..1\nok 1 a\n"
				   "KTAP version 1\n"),
			     "a second version line"));
}

TEST(Ktap, ChatterIsNoResult)
{
	auto parsed = parse("KTAP version 1\n1..1\n"
			    "ok, let us begin\n"
			    "      ok 7 indented without a level\n"
			    "ok 1 a\n");

	EXPECT_TRUE(parsed.errors.empty());
	ASSERT_EQ(parsed.root.subtests.size(), 1u);
	EXPECT_EQ(parsed.root.subtests[0].diagnostics.size(), 2u);
}

TEST(Ktap, NoTestsAtAllIsComplete)
{
	auto parsed = parse("KTAP version 1\n1..0 # SKIP nothing to do\n");

	EXPECT_TRUE(parsed.errors.empty());
	EXPECT_TRUE(parsed.complete);
}

} /* namespace */
