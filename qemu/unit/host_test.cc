// SPDX-License-Identifier: GPL-2.0-only
/* Machine files, signs of trouble, results, and the words of a command. */
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "../elf_file.h"
#include "../lines.h"
#include "../machine.h"
#include "../result.h"
#include "../trouble.h"
#include "../words.h"

namespace
{

namespace fs = std::filesystem;

class Files : public testing::Test {
    protected:
	Files() : directory_(testing::TempDir() + "cvdso-unit")
	{
		fs::create_directories(directory_);
	}
	~Files() override
	{
		fs::remove_all(directory_);
	}
	fs::path write(const std::string &name, const std::string &text)
	{
		std::ofstream(directory_ / name) << text;
		return directory_ / name;
	}

	fs::path directory_;
};

TEST_F(Files, MachineFile)
{
	Machine machine(write("m", "# comment\n\nQEMU = qemu\n"
				   "QEMU_ARGS = -M a,b=c  -cpu d\nSMP=2\n"));

	EXPECT_EQ(machine.name(), "m");
	EXPECT_EQ(machine.get("QEMU"), "qemu");
	EXPECT_EQ(machine.words("QEMU_ARGS"),
		  (std::vector<std::string>{ "-M", "a,b=c", "-cpu", "d" }));
	EXPECT_EQ(machine.number("SMP"), 2);
	EXPECT_EQ(machine.get("DTB", "none"), "none");
	EXPECT_THROW(machine.get("DTB"), UserError);
	EXPECT_THROW(machine.number("QEMU"), UserError);
}

TEST_F(Files, MachineFileMistakes)
{
	EXPECT_THROW(Machine(write("m", "QMEU = qemu\n")), UserError);
	EXPECT_THROW(Machine(write("m", "a line\n")), UserError);
	EXPECT_THROW(Machine(directory_ / "no-such-machine"), UserError);
}

TEST(Trouble, WordsOfTheKernel)
{
	EXPECT_TRUE(is_trouble("[    1.0] WARNING: CPU: 0 PID: 1 at x.c:1"));
	EXPECT_TRUE(is_trouble("[    1.0] BUG: sleeping function called"));
	EXPECT_TRUE(is_trouble("[    1.0] Oops: Kernel access of bad area"));
	EXPECT_TRUE(is_trouble("[    1.0] Call Trace:"));
	EXPECT_TRUE(is_trouble("Kernel panic - not syncing: x"));
	EXPECT_TRUE(is_fatal("Kernel panic - not syncing: x"));
	EXPECT_FALSE(is_fatal("[    1.0] WARNING: CPU: 0"));
	EXPECT_FALSE(is_trouble("[    1.0] DEBUG: nothing"));
	EXPECT_FALSE(is_trouble("[    1.0] Warning: unable to open"));
}

KtapTest leaf(const std::string &name, Status status)
{
	KtapTest test;

	test.name = name;
	test.status = status;
	return test;
}

KtapTest sample()
{
	KtapTest root;
	KtapTest outer = leaf("powerpc-linux-gnu/t", Status::fail);

	outer.subtests = { leaf("a", Status::pass), leaf("b", Status::skip) };
	outer.reason = "exit code 1";
	outer.subtests[0].diagnostics = {
		"clock-gettime-monotonic: vdso: 37 nsec/call",
		"getcpu: syscall:   8.5 nsec/call", "x: vdso: fast nsec/call",
		"no row"
	};
	root.subtests = { outer };
	return root;
}

TEST(Result, NoFailureIsLost)
{
	MachineResult result;

	result.add("test", sample());
	ASSERT_EQ(result.tests.size(), 3u);
	EXPECT_EQ(result.tests[0].name, "powerpc-linux-gnu/t/a");
	EXPECT_EQ(result.tests[2].name, "powerpc-linux-gnu/t");
	EXPECT_EQ(result.counts().passed, 1u);
	EXPECT_EQ(result.counts().failed, 1u);
	EXPECT_EQ(result.counts().skipped, 1u);
	EXPECT_FALSE(result.good());
}

TEST(Result, BenchRows)
{
	MachineResult result;

	result.add("bench", sample());
	ASSERT_EQ(result.bench.size(), 2u);
	EXPECT_EQ(result.bench[0].triple, "powerpc-linux-gnu");
	EXPECT_EQ(result.bench[0].api, "clock-gettime-monotonic");
	EXPECT_EQ(result.bench[0].column, "vdso");
	EXPECT_DOUBLE_EQ(result.bench[0].nanoseconds, 37);
	EXPECT_DOUBLE_EQ(result.bench[1].nanoseconds, 8.5);
}

TEST_F(Files, ResultSurvivesJson)
{
	MachineResult result;
	fs::path file = directory_ / "r.json";

	result.machine = "m";
	result.variant = "base";
	result.problems = { "guest silent" };
	result.add("test", sample());
	save_result(result, file);
	MachineResult loaded = load_result(file);
	EXPECT_EQ(loaded.machine, "m");
	EXPECT_EQ(loaded.problems, result.problems);
	ASSERT_EQ(loaded.tests.size(), 3u);
	EXPECT_EQ(loaded.tests[1].status, Status::skip);
	EXPECT_EQ(loaded.bench.size(), 2u);
	EXPECT_THROW(load_result(write("bad.json", "{")), UserError);
}

TEST(Result, WhatIsNoText)
{
	fs::path file = fs::path(testing::TempDir()) / "bytes.json";
	MachineResult result;

	result.problems = { "verdict: \xff\x80 '\x01'" };
	save_result(result, file);
	EXPECT_TRUE(load_result(file).problems[0].starts_with("verdict: "));
	EXPECT_FALSE(fs::exists(file.string() + ".new"));
}

TEST(Lines, WithoutEnd)
{
	std::vector<size_t> sizes;
	LineSplitter lines{ [&](auto line) { sizes.push_back(line.size()); } };

	for (int i = 0; i < 200; i++)
		lines.feed(std::string(1000, 'x'));
	lines.end();
	ASSERT_GT(sizes.size(), 1U);
	EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), size_t{}),
		  200000U);
	EXPECT_EQ(printable("a\x1b[2J\xff"), "a?[2J?");
	EXPECT_LT(printable(std::string(100000, 'x')).size(), 1000U);
}

TEST(Words, AsAShellWould)
{
	using Words = std::vector<std::string>;

	EXPECT_EQ(split_command(" a  b\tc "), (Words{ "a", "b", "c" }));
	EXPECT_EQ(split_command("a 'b c' \"d e\"f"),
		  (Words{ "a", "b c", "d ef" }));
	EXPECT_EQ(split_command("a '' b\\ c"), (Words{ "a", "", "b c" }));
	EXPECT_EQ(split_command("a '|'"), (Words{ "a", "|" }));
	EXPECT_TRUE(split_command("").empty());
	EXPECT_THROW(split_command("a | b"), UserError);
	EXPECT_THROW(split_command("a 'b"), UserError);
}

TEST_F(Files, Elf)
{
	auto self = read_elf("/proc/self/exe");

	ASSERT_TRUE(self);
	EXPECT_NE(self->interpreter.find("ld"), std::string::npos);
	EXPECT_FALSE(self->needed.empty());
	EXPECT_FALSE(read_elf(write("script", "#!/bin/sh\n")));
}

} /* namespace */
