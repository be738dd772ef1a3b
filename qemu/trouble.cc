// SPDX-License-Identifier: GPL-2.0-only
/* The words that a kernel uses for its own trouble. */
#include "trouble.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace
{

constexpr std::array<std::string_view, 12> words{
	"Kernel panic",
	"Oops:",
	"BUG:",
	"WARNING:",
	"Call Trace",
	"kernel BUG at",
	"detected stall",
	"self-detected",
	"soft lockup",
	"blocked for more",
	"Unable to handle",
	"Bad page state",
};

/* Not within a longer word: "DEBUG:" is no "BUG:". */
bool contains_word(std::string_view line, std::string_view word)
{
	size_t at = line.find(word);

	while (at != std::string_view::npos) {
		if (at == 0 ||
		    !std::isalnum(static_cast<unsigned char>(line[at - 1])))
			return true;
		at = line.find(word, at + 1);
	}
	return false;
}

} /* namespace */

bool is_trouble(std::string_view line)
{
	return std::any_of(words.begin(), words.end(), [&](auto word) {
		return contains_word(line, word);
	});
}

bool is_fatal(std::string_view line)
{
	return contains_word(line, "Kernel panic");
}
