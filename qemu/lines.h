/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Console output arrives in pieces; this hands it on in lines. A guest that went
 * wrong may print anything, and no end of a line for ever.
 */
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

class LineSplitter {
    public:
	using Sink = std::function<void(std::string_view)>;

	explicit LineSplitter(Sink sink) : sink_(std::move(sink))
	{
	}
	void feed(std::string_view piece)
	{
		for (char c : piece) {
			if (c == '\n')
				flush();
			else if (c != '\r')
				partial_ += c;
			if (partial_.size() == longest)
				flush();
		}
	}
	/* An unfinished last line counts, too. */
	void end()
	{
		if (!partial_.empty())
			flush();
	}

    private:
	static constexpr std::size_t longest = 1 << 16;

	void flush()
	{
		sink_(partial_);
		partial_.clear();
	}

	Sink sink_;
	std::string partial_;
};

/* For a terminal, which a guest's bytes shall not command. */
inline std::string printable(std::string_view line)
{
	constexpr std::size_t enough = 400;
	std::string text(line.substr(0, enough));

	std::replace_if(
		text.begin(), text.end(),
		[](char c) { return c != '\t' && (c < ' ' || c > '~'); }, '?');
	return line.size() > enough ? text + "..." : text;
}
