// SPDX-License-Identifier: GPL-2.0-only
/* One program's output as a subtest; the conventions are in subtest.h. */
#include "subtest.h"

namespace
{

constexpr int kselftest_pass = 0;
constexpr int kselftest_skip = 4;

/* "# SKIP reason" at the end of a result line or of a plan "1..0". */
std::string skip_directive(std::string_view text)
{
	constexpr std::string_view directive = "# SKIP";
	size_t at = text.find(directive);

	if (at == std::string_view::npos)
		return "";
	text.remove_prefix(at + directive.size());
	text.remove_prefix(
		std::min(text.find_first_not_of(": \t"), text.size()));
	return std::string(text);
}

} /* namespace */

void Subtest::line(std::string_view text)
{
	if (!started_ && !text.empty()) {
		started_ = true;
		ktap_ = text.starts_with("KTAP version ") ||
			text.starts_with("TAP version ");
	}
	std::string reason = skip_directive(text);
	if (!reason.empty())
		skip_reason_ = reason;
	if (text.starts_with("skip: "))
		harness_skip_ = true;
	else if (!text.empty())
		last_line_ = text;

	write_(ktap_ ? "  " : "# ");
	write_(text);
	write_("\n");
}

std::string Subtest::verdict(const Outcome &outcome, int limit_seconds) const
{
	bool skipped = outcome.exit_code == kselftest_skip ||
		       (outcome.exit_code == kselftest_pass && harness_skip_);

	if (outcome.error.empty() && !outcome.timed_out && !outcome.signal) {
		if (skipped)
			return " # SKIP " + (skip_reason_.empty() ?
						     last_line_ :
						     skip_reason_);
		if (outcome.exit_code == kselftest_pass)
			return "";
	}
	return " # " + describe(outcome, limit_seconds);
}

void Subtest::finish(unsigned number, const std::string &name,
		     const Outcome &outcome, int limit_seconds)
{
	lines_.end();

	std::string comment = verdict(outcome, limit_seconds);
	bool ok = comment.empty() || comment.starts_with(" # SKIP");
	write_((ok ? "ok " : "not ok ") + std::to_string(number) + " " + name +
	       comment + "\n");
}
