// SPDX-License-Identifier: GPL-2.0-only
/* From KTAP to rows and counts, and to JSON and back. */
#include "result.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "machine.h"

NLOHMANN_JSON_SERIALIZE_ENUM(Status, { { Status::fail, "fail" },
				       { Status::pass, "pass" },
				       { Status::skip, "skip" } })
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TestResult, mode, name, status, reason)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BenchRow, triple, api, column, nanoseconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MachineResult, machine, variant, kernel,
				   seconds, problems, tests, bench)

namespace
{

std::optional<BenchRow> parse_row(std::string_view line)
{
	constexpr std::string_view unit = " nsec/call";
	size_t first = line.find(": ");
	size_t second = line.find(": ", first + 1);
	BenchRow row;

	if (second == std::string_view::npos || !line.ends_with(unit))
		return std::nullopt;
	row.api = line.substr(0, first);
	row.column = line.substr(first + 2, second - first - 2);
	std::string_view value = line.substr(second + 2);
	value.remove_suffix(unit.size());
	value.remove_prefix(
		std::min(value.find_first_not_of(' '), value.size()));
	auto [end, error] = std::from_chars(
		value.data(), value.data() + value.size(), row.nanoseconds);
	if (error != std::errc() || end != value.data() + value.size())
		return std::nullopt;
	return row;
}

void collect_rows(const KtapTest &test, const std::string &triple,
		  std::vector<BenchRow> &rows)
{
	for (const auto &line : test.diagnostics)
		if (auto row = parse_row(line)) {
			row->triple = triple;
			rows.push_back(*row);
		}
	for (const auto &subtest : test.subtests)
		collect_rows(subtest, triple, rows);
}

/* Innermost results only, but no failure is lost on the way there. */
void collect_tests(const KtapTest &test, const std::string &mode,
		   const std::string &prefix, std::vector<TestResult> &tests)
{
	std::string name = prefix + test.name;
	size_t before = tests.size();

	for (const auto &subtest : test.subtests)
		collect_tests(subtest, mode, name + "/", tests);
	bool told = std::any_of(tests.begin() + static_cast<long>(before),
				tests.end(), [&](const TestResult &inner) {
					return inner.status == test.status;
				});
	if (!told)
		tests.push_back({ mode, name, test.status, test.reason });
}

} /* namespace */

Counts MachineResult::counts() const
{
	Counts counts;

	for (const auto &test : tests)
		(test.status == Status::pass ? counts.passed :
		 test.status == Status::skip ? counts.skipped :
					       counts.failed)++;
	return counts;
}

bool MachineResult::good() const
{
	return problems.empty() && !counts().failed;
}

void MachineResult::add(const std::string &mode, const KtapTest &root)
{
	for (const auto &test : root.subtests) {
		collect_tests(test, mode, "", tests);
		collect_rows(test, test.name.substr(0, test.name.find('/')),
			     bench);
	}
}

void save_result(const MachineResult &result, const std::filesystem::path &file)
{
	/* A guest may have said what is no UTF-8. */
	constexpr auto any_bytes = nlohmann::json::error_handler_t::replace;
	const std::string temporary = file.string() + ".new";
	std::ofstream stream(temporary);

	stream << nlohmann::json(result).dump(2, ' ', false, any_bytes) << '\n';
	stream.close();
	if (!stream) {
		std::error_code ignored;
		std::filesystem::remove(temporary, ignored);
		throw UserError(fmt::format("cannot write {}", file.string()));
	}
	std::filesystem::rename(temporary, file);
}

MachineResult load_result(const std::filesystem::path &file)
{
	std::ifstream stream(file);

	try {
		return nlohmann::json::parse(stream).get<MachineResult>();
	} catch (const nlohmann::json::exception &) {
		throw UserError(fmt::format(
			"{} is not a result of this bench; remove it and try again",
			file.string()));
	}
}
