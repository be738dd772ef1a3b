// SPDX-License-Identifier: GPL-2.0-only
/* Splitting CMD="..." of qemu-run; see words.h. */
#include "words.h"

#include <fmt/format.h>

#include "machine.h"

namespace
{

constexpr std::string_view blanks = " \t\n";
constexpr std::string_view shell_only = "|&;<>()$`*?[";

/* The quoted part that starts at the quote; moves behind the closing one. */
std::string take_quoted(std::string_view text, size_t &at)
{
	char quote = text[at];
	size_t end = text.find(quote, at + 1);

	if (end == std::string_view::npos)
		throw UserError(
			fmt::format("CMD: the {} is never closed", quote));
	std::string part(text.substr(at + 1, end - at - 1));
	at = end + 1;
	return part;
}

std::string take_word(std::string_view text, size_t &at)
{
	std::string word;

	while (at < text.size() && blanks.find(text[at]) == blanks.npos) {
		char c = text[at];
		if (c == '\'' || c == '"') {
			word += take_quoted(text, at);
			continue;
		}
		if (shell_only.find(c) != shell_only.npos)
			throw UserError(fmt::format(
				"CMD: there is no shell in the guest to understand {}; quote it if you mean the character",
				c));
		if (c == '\\' && at + 1 < text.size())
			c = text[++at];
		word += c;
		at++;
	}
	return word;
}

} /* namespace */

std::vector<std::string> split_command(std::string_view text)
{
	std::vector<std::string> words;
	size_t at = 0;

	while ((at = text.find_first_not_of(blanks, at)) != text.npos) {
		words.push_back(take_word(text, at));
		if (words.back().find('\n') != std::string::npos)
			throw UserError("CMD: an argument with a line break");
	}
	return words;
}
