// SPDX-License-Identifier: GPL-2.0-only
/*
 * The KTAP reader. Nested results come before the line that sums them up, so
 * a level that ends is kept as "pending" in the level around it until that
 * level's next result line takes it.
 */
#include "ktap.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

struct KtapParser::Level {
	size_t indent = 0;
	bool version_seen = false;
	std::optional<size_t> planned;
	KtapTest test; /* its subtests are the results of this level */
	std::optional<KtapTest> pending;
};

namespace
{

bool take(std::string_view &text, std::string_view prefix)
{
	if (!text.starts_with(prefix))
		return false;
	text.remove_prefix(prefix.size());
	return true;
}

std::string_view trim(std::string_view text)
{
	size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
	size_t end = text.find_last_not_of(" \t\r");

	return begin == text.size() ? "" : text.substr(begin, end - begin + 1);
}

std::optional<size_t> take_number(std::string_view &text)
{
	size_t value = 0;
	auto [end, error] =
		std::from_chars(text.data(), text.data() + text.size(), value);

	if (error != std::errc())
		return std::nullopt;
	text.remove_prefix(static_cast<size_t>(end - text.data()));
	return value;
}

bool is_version(std::string_view text)
{
	return text.starts_with("KTAP version ") ||
	       text.starts_with("TAP version ");
}

/* "name # SKIP reason" */
void parse_description(std::string_view text, KtapTest &test)
{
	size_t hash = text.find(" #");
	std::string_view directive;

	if (take(text, "#")) {
		directive = trim(text);
		text = "";
	} else if (hash != std::string_view::npos) {
		directive = trim(text.substr(hash + 2));
		text = text.substr(0, hash);
	}
	text = trim(text);
	if (take(text, "- "))
		text = trim(text);
	test.name = text;
	if (test.status == Status::pass &&
	    (take(directive, "SKIP") || take(directive, "skip")))
		test.status = Status::skip;
	test.reason = trim(directive);
}

bool any_failed(const KtapTest &test)
{
	return std::any_of(test.subtests.begin(), test.subtests.end(),
			   [](const KtapTest &subtest) {
				   return subtest.status == Status::fail;
			   });
}

} /* namespace */

const char *to_string(Status status)
{
	switch (status) {
	case Status::pass:
		return "pass";
	case Status::skip:
		return "skip";
	case Status::fail:
		break;
	}
	return "fail";
}

KtapParser::KtapParser()
{
	levels_.push_back(std::make_unique<Level>());
}

KtapParser::~KtapParser() = default;

const KtapTest &KtapParser::root() const
{
	return levels_.front()->test;
}

bool KtapParser::complete() const
{
	const Level &top = *levels_.front();

	return levels_.size() == 1 && top.planned &&
	       top.test.subtests.size() >= *top.planned;
}

void KtapParser::error(const std::string &message)
{
	errors_.push_back(fmt::format("line {}: {}", line_number_, message));
}

void KtapParser::open_level(size_t indent)
{
	levels_.push_back(std::make_unique<Level>());
	levels_.back()->indent = indent;
	levels_.back()->version_seen = true;
}

void KtapParser::close_level()
{
	Level &level = *levels_.back();
	size_t found = level.test.subtests.size();

	if (!level.planned)
		error("a plan is missing");
	else if (*level.planned != found)
		error(fmt::format("{} tests were planned, {} reported",
				  *level.planned, found));
	if (level.pending)
		error("subtests without a result line");
	if (levels_.size() == 1)
		return;

	std::unique_ptr<Level> inner = std::move(levels_.back());
	levels_.pop_back();
	if (levels_.back()->pending)
		error("subtests without a result line");
	levels_.back()->pending = std::move(inner->test);
}

bool KtapParser::plan(Level &level, std::string_view text)
{
	if (!take(text, "1.."))
		return false;
	std::optional<size_t> count = take_number(text);
	if (!count)
		return false;
	if (level.planned)
		error("a second plan");
	level.planned = count;
	return true;
}

bool KtapParser::result(Level &level, std::string_view text)
{
	KtapTest test;

	if (take(text, "ok "))
		test.status = Status::pass;
	else if (!take(text, "not ok "))
		return false;
	std::optional<size_t> number = take_number(text);
	if (!number)
		return false;

	if (level.pending) {
		test.subtests = std::move(level.pending->subtests);
		test.diagnostics = std::move(level.pending->diagnostics);
		level.pending.reset();
	}
	parse_description(text, test);
	size_t expected = level.test.subtests.size() + 1;
	if (*number != expected)
		error(fmt::format("test number {} where {} was expected",
				  *number, expected));
	if (test.status != Status::fail && any_failed(test)) {
		error(fmt::format("'{}' is ok, but a subtest of it is not",
				  test.name));
		test.status = Status::fail;
	}
	/* What was printed between two results explains the second one. */
	auto &loose = level.test.diagnostics;
	test.diagnostics.insert(test.diagnostics.end(), loose.begin(),
				loose.end());
	loose.clear();
	level.test.subtests.push_back(std::move(test));
	return true;
}

void KtapParser::line(std::string_view text)
{
	size_t indent = std::min(text.find_first_not_of(' '), text.size());
	std::string_view content = trim(text);

	line_number_++;
	if (content.empty())
		return;
	if (is_version(content)) {
		Level &top = *levels_.front();
		if (!top.version_seen && indent == 0) {
			top.version_seen = true;
			return;
		}
		while (levels_.size() > 1 && levels_.back()->indent >= indent)
			close_level();
		if (indent == 0)
			error("a second version line");
		else
			open_level(indent);
		return;
	}

	/* The level this line would belong to, if it is KTAP at all. */
	auto level = std::find_if(levels_.begin(), levels_.end(),
				  [&](const auto &candidate) {
					  return candidate->indent == indent;
				  });
	bool is_result =
		content.starts_with("ok ") || content.starts_with("not ok ");
	if (level != levels_.end() && is_result)
		while (levels_.back()->indent > indent)
			close_level();

	Level &current = *levels_.back();
	if (current.indent == indent && current.version_seen &&
	    (plan(current, content) || result(current, content)))
		return;
	if (take(content, "#"))
		content = trim(content);
	current.test.diagnostics.emplace_back(content);
}

void KtapParser::finish()
{
	if (!levels_.front()->version_seen) {
		error("no KTAP at all");
		return;
	}
	while (levels_.size() > 1)
		close_level();
	close_level();
}
