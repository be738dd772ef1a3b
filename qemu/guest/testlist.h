/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the guest runs, from the lists in qemu/tests/. A line is one of
 *
 *	run MODE PROGRAM SECONDS
 *	skip PROGRAM VARIANT TRIPLE REASON...
 *
 * PROGRAM is a path below /tests/<triple>/; PROGRAM, VARIANT and TRIPLE of a
 * skip are shell patterns. VARIANT is base, patched or without-<part>, see init.cc. Every program of a run line is reported for every
 * triple: as a result, or as SKIP with the reason given here.
 */
#pragma once

#include <string>
#include <string_view>
#include <vector>

struct TestEntry {
	std::string mode;
	std::string program;
	int limit_seconds;
};

struct SkipRule {
	std::string program;
	std::string variant;
	std::string triple;
	std::string reason;
};

struct TestList {
	std::vector<TestEntry> entries;
	std::vector<SkipRule> skips;
	std::vector<std::string> errors; /* "line 7: ..." */

	/* Why the program is not run, or nullptr. */
	const std::string *skip_reason(const std::string &program,
				       const std::string &variant,
				       const std::string &triple) const;
};

TestList parse_test_list(std::string_view text);
