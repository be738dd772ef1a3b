/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Turns what one program printed, and how it ended, into a result line of the
 * guest's KTAP with the program's own results nested below it.
 *
 * A program that speaks KTAP or TAP is indented by two spaces and so becomes
 * a subtest. Anything else becomes diagnostics, and the exit code alone
 * decides; it does so too, together with the nested results, for a program
 * that speaks KTAP. The conventions of kselftest and of the powerpc selftests'
 * harness are understood, so that a skipped test never counts as passed.
 */
#pragma once

#include <string>
#include <string_view>

#include "../lines.h"
#include "process.h"

class Subtest {
    public:
	explicit Subtest(OutputSink writer) : write_(std::move(writer))
	{
	}

	/* A piece of the program's output, in any size. */
	void feed(std::string_view piece)
	{
		lines_.feed(piece);
	}
	/* Writes the result line. */
	void finish(unsigned number, const std::string &name,
		    const Outcome &outcome, int limit_seconds);

    private:
	void line(std::string_view text);
	std::string verdict(const Outcome &outcome, int limit_seconds) const;

	OutputSink write_;
	LineSplitter lines_{ [this](std::string_view text) { line(text); } };
	std::string skip_reason_;
	std::string last_line_;
	bool started_ = false;
	bool ktap_ = false;
	bool harness_skip_ = false;
};
