// SPDX-License-Identifier: GPL-2.0-only
/* The lists of tests; the format is explained in testlist.h. */
#include "testlist.h"

#include <fnmatch.h>

#include <charconv>

namespace
{

/* Takes the next word off the front of the line. */
std::string take_word(std::string_view &line)
{
	const char *blank = " \t";
	size_t begin = std::min(line.find_first_not_of(blank), line.size());
	size_t end = std::min(line.find_first_of(blank, begin), line.size());
	std::string word(line.substr(begin, end - begin));

	line.remove_prefix(
		std::min(line.find_first_not_of(blank, end), line.size()));
	return word;
}

bool parse_run(std::string_view line, TestList &list)
{
	TestEntry entry{ take_word(line), take_word(line), 0 };
	std::string limit = take_word(line);
	auto [end, error] = std::from_chars(
		limit.data(), limit.data() + limit.size(), entry.limit_seconds);

	if (error != std::errc() || *end || entry.limit_seconds <= 0 ||
	    !line.empty())
		return false;
	list.entries.push_back(entry);
	return true;
}

bool parse_skip(std::string_view line, TestList &list)
{
	SkipRule rule{ take_word(line), take_word(line), take_word(line), "" };

	rule.reason = line;
	if (rule.reason.empty())
		return false;
	list.skips.push_back(rule);
	return true;
}

bool parse_line(std::string_view line, TestList &list)
{
	std::string kind = take_word(line);

	if (kind.empty() || kind[0] == '#')
		return true;
	if (kind == "run")
		return parse_run(line, list);
	return kind == "skip" && parse_skip(line, list);
}

bool matches(const std::string &pattern, const std::string &text)
{
	return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

} /* namespace */

TestList parse_test_list(std::string_view text)
{
	TestList list;

	for (int number = 1; !text.empty(); number++) {
		size_t end = std::min(text.find('\n'), text.size());
		if (!parse_line(text.substr(0, end), list))
			list.errors.push_back("line " + std::to_string(number) +
					      " is neither 'run MODE PROGRAM "
					      "SECONDS' nor 'skip PROGRAM "
					      "VARIANT TRIPLE REASON'");
		text.remove_prefix(std::min(end + 1, text.size()));
	}
	return list;
}

const std::string *TestList::skip_reason(const std::string &program,
					 const std::string &variant,
					 const std::string &triple) const
{
	for (const auto &rule : skips)
		if (matches(rule.program, program) &&
		    matches(rule.variant, variant) &&
		    matches(rule.triple, triple))
			return &rule.reason;
	return nullptr;
}
