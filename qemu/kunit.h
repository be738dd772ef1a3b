/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The results of the kernel's own unit tests, KUnit, out of its log.
 *
 * Built in, all suites run before init, under one plan. A suite in a module runs
 * when that is loaded: without a plan, and numbered on from the last suite. Inner
 * levels say "# Subtest:" where KTAP wants a version.
 */
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ktap.h"

class KunitLog {
    public:
	/* A line of the kernel log, with or without its time. */
	void line(std::string_view text);
	/* No more lines. */
	void finish();

	/* "kunit" for what is built in and "kunit-module": their subtests are suites. */
	const std::vector<KtapTest> &runs() const
	{
		return runs_;
	}
	const std::vector<std::string> &errors() const
	{
		return errors_;
	}

    private:
	void open(const std::string &name);
	void close();
	void feed_suite(std::string_view text);

	std::unique_ptr<KtapParser> parser_; /* of the run that goes on */
	std::string name_;
	std::vector<KtapTest> runs_;
	std::vector<std::string> errors_;
};

/*
 * What a module that was loaded did otherwise than the same suites built in: a case
 * that is missing in either, or has another result. One line each.
 */
std::vector<std::string> compare_module(const KunitLog &log);
