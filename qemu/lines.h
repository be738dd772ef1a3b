/* SPDX-License-Identifier: GPL-2.0-only */
/* Console output arrives in pieces; this hands it on in lines. */
#pragma once

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
		}
	}
	/* An unfinished last line counts, too. */
	void end()
	{
		if (!partial_.empty())
			flush();
	}

    private:
	void flush()
	{
		sink_(partial_);
		partial_.clear();
	}

	Sink sink_;
	std::string partial_;
};
