/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A KTAP reader that is fed a line at a time, as the lines arrive.
 *
 * It is strict where a lost line would otherwise look like success: every
 * level needs a plan, numbers must count up from 1, the count must match the
 * plan, and a test is not "ok" above a subtest that is "not ok".
 */
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

enum class Status { pass, fail, skip };

const char *to_string(Status status);

struct KtapTest {
	std::string name;
	Status status = Status::fail;
	std::string reason; /* what stands behind the '#' of the result line */
	std::vector<KtapTest> subtests;
	/* What is not KTAP, in order, without indentation and "# ". */
	std::vector<std::string> diagnostics;
};

class KtapParser {
    public:
	KtapParser();
	~KtapParser();
	KtapParser(const KtapParser &) = delete;
	KtapParser &operator=(const KtapParser &) = delete;

	void line(std::string_view text);
	/* The outermost plan is fulfilled. */
	bool complete() const;
	/* No more lines. */
	void finish();

	/* The outermost level: its subtests and diagnostics. */
	const KtapTest &root() const;
	/* "line 12: ..." */
	const std::vector<std::string> &errors() const
	{
		return errors_;
	}

    private:
	struct Level;

	void open_level(size_t indent);
	void close_level();
	bool plan(Level &level, std::string_view text);
	bool result(Level &level, std::string_view text);
	void error(const std::string &message);

	std::vector<std::unique_ptr<Level> > levels_;
	std::vector<std::string> errors_;
	size_t line_number_ = 0;
};
