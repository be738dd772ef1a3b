// SPDX-License-Identifier: GPL-2.0-only
/* KUnit in a kernel log: built in, as a module, and what must not look like success. */
#include "../kunit.h"

#include <gtest/gtest.h>

#include <sstream>

namespace
{

void feed(KunitLog &log, const std::string &text)
{
	std::istringstream stream(text);

	for (std::string line; std::getline(stream, line);)
		log.line(line);
}

const std::string built_in = "[    0.076800] clocksource: tick\n"
			     "[    0.076875] TAP version 14\n"
			     "[    0.076942] 1..2\n"
			     "[    0.076988]     # Subtest: first\n"
			     "[    0.077089]     1..2\n"
			     "[    0.080800]     ok 1 - a\n"
			     "[    0.080900] random: crng init done\n"
			     "[    0.081549]     ok 2 - b\n"
			     "[    0.088794] ok 1 - first\n"
			     "[    0.089076]     # Subtest: second\n"
			     "[    0.089082]     1..1\n"
			     "[    0.090756]     ok 1 - c\n"
			     "[    0.103892] ok 2 - second\n"
			     "[    0.109957] Run /init as init process\n";

/* Its suite is the third that the kernel counts. */
std::string loaded(const std::string &result)
{
	return "[    1.089076]     # Subtest: first\n"
	       "[    1.089082]     1..2\n"
	       "[    1.090756]     ok 1 - a\n" +
	       result + "[    1.123456] reboot: Power down\n";
}

TEST(Kunit, BuiltIn)
{
	KunitLog log;

	feed(log, built_in);
	log.finish();
	EXPECT_TRUE(log.errors().empty());
	ASSERT_EQ(log.runs().size(), 1u);
	const KtapTest &run = log.runs()[0];
	EXPECT_EQ(run.name, "kunit");
	EXPECT_EQ(run.status, Status::pass);
	ASSERT_EQ(run.subtests.size(), 2u);
	EXPECT_EQ(run.subtests[0].name, "first");
	ASSERT_EQ(run.subtests[0].subtests.size(), 2u);
	EXPECT_EQ(run.subtests[0].subtests[1].name, "b");
}

TEST(Kunit, ModuleHasTheSame)
{
	KunitLog log;

	feed(log, built_in + loaded("[    1.091000]     ok 2 - b\n"
				    "[    1.092000] ok 3 - first\n"));
	log.finish();
	EXPECT_TRUE(log.errors().empty());
	ASSERT_EQ(log.runs().size(), 2u);
	EXPECT_EQ(log.runs()[1].name, "kunit-module");
	EXPECT_EQ(log.runs()[1].status, Status::pass);
	EXPECT_TRUE(compare_module(log).empty());
}

TEST(Kunit, ModuleDiffers)
{
	KunitLog log;

	feed(log, built_in + loaded("[    1.091000]     # b: EXPECTATION "
				    "FAILED at lib/b.c:12\n"
				    "[    1.091000]     not ok 2 - b\n"
				    "[    1.092000] not ok 3 - first\n"));
	log.finish();
	ASSERT_EQ(log.runs().size(), 2u);
	EXPECT_EQ(log.runs()[1].status, Status::fail);
	const KtapTest &b = log.runs()[1].subtests[0].subtests[1];
	EXPECT_EQ(b.diagnostics,
		  std::vector<std::string>{
			  "b: EXPECTATION FAILED at lib/b.c:12" });
	EXPECT_EQ(compare_module(log),
		  std::vector<std::string>{
			  "first/b: pass built in, fail in the module" });
}

TEST(Kunit, ModuleMissesACase)
{
	KunitLog log;

	feed(log, built_in + "    # Subtest: first\n"
			     "    1..1\n"
			     "    ok 1 - a\n"
			     "ok 3 - first\n");
	log.finish();
	EXPECT_EQ(compare_module(log),
		  std::vector<std::string>{
			  "first/b: built in, but not in the module" });
}

TEST(Kunit, ModuleThatDidNotRun)
{
	KunitLog log;

	feed(log, built_in);
	log.finish();
	EXPECT_EQ(compare_module(log).size(), 1u);
}

TEST(Kunit, NoSuiteAtAll)
{
	KunitLog log;

	feed(log, "[    0.076875] TAP version 14\n[    0.076942] 1..0\n");
	log.finish();
	EXPECT_TRUE(log.errors().empty());
	EXPECT_TRUE(log.runs().empty());
}

TEST(Kunit, BrokenOff)
{
	KunitLog log, module;

	feed(log, built_in.substr(0, built_in.find("[    0.090756]")));
	log.finish();
	EXPECT_FALSE(log.errors().empty());

	feed(module, built_in + loaded(""));
	module.finish();
	EXPECT_FALSE(module.errors().empty());
}

/* The host of a nested guest has a kernel log, too, and nothing in it. */
TEST(Kunit, GuestBehindHost)
{
	KunitLog log;

	feed(log, "[    0.07] TAP version 14\n[    0.08] 1..0\n" + built_in);
	log.finish();
	EXPECT_TRUE(log.errors().empty());
	ASSERT_EQ(log.runs().size(), 1u);
	EXPECT_EQ(log.runs()[0].subtests.size(), 2u);
}

} /* namespace */
