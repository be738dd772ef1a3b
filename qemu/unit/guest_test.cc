// SPDX-License-Identifier: GPL-2.0-only
/* The parts of the guest's init that a host can run, too. */
#include <gtest/gtest.h>

#include <chrono>

#include "../guest/process.h"
#include "../guest/subtest.h"
#include "../guest/testlist.h"

namespace
{

TEST(TestList, RunAndSkip)
{
	TestList list = parse_test_list("# comment\n"
					"\n"
					"run test\ta/b 30\n"
					"run bench c 5\n"
					"skip a/* base powerpc64* no clock\n");

	EXPECT_TRUE(list.errors.empty());
	ASSERT_EQ(list.entries.size(), 2u);
	EXPECT_EQ(list.entries[0].mode, "test");
	EXPECT_EQ(list.entries[0].program, "a/b");
	EXPECT_EQ(list.entries[0].limit_seconds, 30);
	ASSERT_TRUE(list.skip_reason("a/b", "base", "powerpc64le-linux-gnu"));
	EXPECT_EQ(*list.skip_reason("a/b", "base", "powerpc64-linux-gnu"),
		  "no clock");
	EXPECT_FALSE(list.skip_reason("a/b", "patched", "powerpc64-linux-gnu"));
	EXPECT_FALSE(list.skip_reason("a/b", "base", "powerpc-linux-gnu"));
	EXPECT_FALSE(list.skip_reason("a/b", "*", "powerpc64-linux-gnu"));
}

TEST(TestList, Mistakes)
{
	for (const char *text :
	     { "run test a\n", "run test a soon\n", "run test a 0\n",
	       "run test a 5 x\n", "skip a base *\n", "walk test a 5\n" })
		EXPECT_EQ(parse_test_list(text).errors.size(), 1u) << text;
	EXPECT_EQ(parse_test_list("\nrun\n").errors[0].find("line 2 "), 0u);
}

std::string wrap(const std::string &output, const Outcome &outcome)
{
	std::string written;
	Subtest subtest([&](std::string_view text) { written += text; });

	for (char c : output)
		subtest.feed({ &c, 1 });
	subtest.finish(1, "x", outcome, 9);
	return written;
}

Outcome exited(int code)
{
	Outcome outcome;

	outcome.exit_code = code;
	return outcome;
}

TEST(Subtest, PlainOutput)
{
	EXPECT_EQ(wrap("hello\nworld", exited(0)),
		  "# hello\n# world\nok 1 x\n");
	EXPECT_EQ(wrap("", exited(3)), "not ok 1 x # exit code 3\n");
	EXPECT_EQ(wrap("no such thing\n", exited(4)),
		  "# no such thing\nok 1 x # SKIP no such thing\n");
}

TEST(Subtest, KtapIsNested)
{
	EXPECT_EQ(wrap("TAP version 13\n1..1\nok 1 a\n", exited(0)),
		  "  TAP version 13\n  1..1\n  ok 1 a\nok 1 x\n");
	EXPECT_EQ(wrap("KTAP version 1\n1..0 # SKIP no clock\n", exited(4)),
		  "  KTAP version 1\n  1..0 # SKIP no clock\n"
		  "ok 1 x # SKIP no clock\n");
}

TEST(Subtest, PowerpcHarness)
{
	std::string skipped = wrap("test: a\n[SKIP] Test skipped on line 7\n"
				   "skip: a\n",
				   exited(0));

	EXPECT_NE(skipped.find("\nok 1 x # SKIP [SKIP] Test skipped on line 7"),
		  std::string::npos);
	EXPECT_NE(wrap("test: a\nfailure: a\n", exited(1))
			  .find("\nnot ok 1 x # exit code 1"),
		  std::string::npos);
}

TEST(Subtest, BadEnds)
{
	Outcome killed;
	killed.signal = 11;
	EXPECT_EQ(wrap("", killed).find("not ok 1 x # killed by signal 11"),
		  0u);

	Outcome late = killed;
	late.timed_out = true;
	EXPECT_EQ(wrap("", late), "not ok 1 x # still running after 9 s\n");

	Outcome never;
	never.error = "no memory";
	EXPECT_EQ(wrap("", never),
		  "not ok 1 x # could not be started: no memory\n");
}

struct Ran {
	Outcome outcome;
	std::string output;
};

Ran run(const std::string &script, int limit)
{
	Ran ran;
	Command command{
		{ "sh", "-c", script }, { "PATH=/usr/bin:/bin" }, "/", limit
	};

	ran.outcome = run_captured(command, [&](std::string_view text) {
		ran.output += text;
	});
	return ran;
}

TEST(Process, OutputAndExitCode)
{
	Ran ran = run("echo out; echo err >&2; exit 3", 10);

	EXPECT_EQ(ran.output, "out\nerr\n");
	EXPECT_EQ(ran.outcome.exit_code, 3);
	EXPECT_EQ(shell_status(ran.outcome), 3);
}

TEST(Process, Signal)
{
	Ran ran = run("kill -SEGV $$", 10);

	EXPECT_EQ(ran.outcome.signal, 11);
	EXPECT_EQ(shell_status(ran.outcome), 139);
}

TEST(Process, MissingProgram)
{
	Command command{ { "/no/such/program" }, {}, "/", 10 };
	std::string output;
	Outcome outcome = run_captured(command, [&](std::string_view text) {
		output += text;
	});

	EXPECT_EQ(outcome.exit_code, 127);
	EXPECT_NE(output.find("No such file"), std::string::npos);
}

TEST(Process, TimeLimitEvenForOneThatFloods)
{
	EXPECT_TRUE(run("sleep 60", 1).outcome.timed_out);
	EXPECT_TRUE(run("yes", 1).outcome.timed_out);
}

TEST(Process, ForgottenChildDoesNotKeepTheTestAlive)
{
	auto before = std::chrono::steady_clock::now();
	Ran ran = run("sleep 60 & echo done", 30);
	auto took = std::chrono::steady_clock::now() - before;

	EXPECT_EQ(ran.output, "done\n");
	EXPECT_EQ(ran.outcome.exit_code, 0);
	EXPECT_LT(took, std::chrono::seconds(20));
}

} /* namespace */
