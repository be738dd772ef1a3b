// SPDX-License-Identifier: GPL-2.0-only
/*
 * From KUnit's dialect to KTAP, a line at a time; the KTAP reader judges it. A run
 * of what is built in ends when its plan is fulfilled. A run of modules ends with
 * the log, and gets the plan that it lacks there: a suite that breaks off still
 * shows, as subtests without a result line.
 */
#include "kunit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace
{

constexpr const char *built_in = "kunit";
constexpr const char *module = "kunit-module";

/* "[    0.076875] ok" */
std::string_view without_time(std::string_view text)
{
	size_t end = text.find("] ");

	if (!text.starts_with('[') || end == std::string_view::npos)
		return text;
	auto in_time = [](char c) {
		return std::isdigit(static_cast<unsigned char>(c)) ||
		       c == ' ' || c == '.';
	};
	std::string_view time = text.substr(1, end - 1);
	return std::all_of(time.begin(), time.end(), in_time) ?
		       text.substr(end + 2) :
		       text;
}

/* "ok 4 - suite": "suite", and where the number begins. */
std::string_view suite_result(std::string_view text, std::string &outcome)
{
	for (std::string_view word : { "ok ", "not ok " })
		if (text.starts_with(word)) {
			size_t dash = text.find(" - ");

			outcome = word;
			return dash == std::string_view::npos ?
				       "" :
				       text.substr(dash);
		}
	return "";
}

using Cases = std::map<std::string, Status>;

Cases cases_of(const KunitLog &log, const std::string &name)
{
	Cases cases;

	for (const auto &run : log.runs())
		for (const auto &suite : run.subtests)
			for (const auto &test : suite.subtests)
				if (run.name == name)
					cases[suite.name + "/" + test.name] =
						test.status;
	return cases;
}

std::string suite_of(const std::string &name)
{
	return name.substr(0, name.find('/'));
}

} /* namespace */

void KunitLog::open(const std::string &name)
{
	close();
	parser_ = std::make_unique<KtapParser>();
	name_ = name;
}

void KunitLog::close()
{
	if (!parser_)
		return;
	if (name_ == module)
		parser_->line(
			fmt::format("1..{}", parser_->root().subtests.size()));
	parser_->finish();
	for (const auto &error : parser_->errors())
		errors_.push_back(fmt::format("{}: {}", name_, error));
	KtapTest run = parser_->root();
	auto failed = [](const KtapTest &suite) {
		return suite.status == Status::fail;
	};
	run.name = name_;
	run.status =
		std::any_of(run.subtests.begin(), run.subtests.end(), failed) ?
			Status::fail :
			Status::pass;
	/* A kernel without any suite has a plan for none. */
	if (!run.subtests.empty())
		runs_.push_back(std::move(run));
	parser_.reset();
}

void KunitLog::feed_suite(std::string_view text)
{
	std::string outcome;
	std::string_view suite = suite_result(text, outcome);

	if (name_ != module || suite.empty())
		parser_->line(text);
	else
		parser_->line(fmt::format("{}{}{}", outcome,
					  parser_->root().subtests.size() + 1,
					  suite));
}

void KunitLog::line(std::string_view text)
{
	constexpr std::string_view subtest = "    # Subtest: ";

	text = without_time(text);
	if (text.starts_with("TAP version ")) {
		open(built_in);
	} else if (text.starts_with(subtest)) {
		if (!parser_) {
			open(module);
			parser_->line("KTAP version 1");
		}
		parser_->line("    KTAP version 1");
	}
	if (!parser_)
		return;
	feed_suite(text);
	if (name_ == built_in && parser_->complete())
		close();
}

void KunitLog::finish()
{
	close();
}

std::vector<std::string> compare_module(const KunitLog &log)
{
	Cases inside = cases_of(log, built_in), loaded = cases_of(log, module);
	std::vector<std::string> lines;

	if (loaded.empty())
		lines.push_back("no suite ran when the module was loaded");
	for (const auto &[name, status] : loaded) {
		auto same = inside.find(name);
		if (same == inside.end())
			lines.push_back(fmt::format(
				"{}: in the module, but not built in", name));
		else if (same->second != status)
			lines.push_back(fmt::format(
				"{}: {} built in, {} in the module", name,
				to_string(same->second), to_string(status)));
	}
	std::set<std::string> suites;
	for (const auto &test : loaded)
		suites.insert(suite_of(test.first));
	for (const auto &[name, status] : inside) {
		if (suites.contains(suite_of(name)) && !loaded.contains(name))
			lines.push_back(fmt::format(
				"{}: built in, but not in the module", name));
	}
	return lines;
}
