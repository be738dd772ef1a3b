// SPDX-License-Identifier: GPL-2.0-only
/* Reading a machine file; its keys are explained in machine.h. */
#include "machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>

namespace
{

constexpr std::string_view known_keys[] = {
	"ARCH",	  "CROSS_COMPILE", "CONFIG",	 "CONFIG_PATCHED",
	"IMAGE",  "TARGET",	   "KERNEL_OF",	 "TRIPLES",
	"TESTS",  "SEED",	   "QEMU",	 "QEMU_ARGS",
	"SMP",	  "CONSOLE",	   "VERDICT",	 "VERDICT_DEVICE",
	"ICOUNT", "MODES",	   "APPEND",	 "MODES_PATCHED",
	"DTB",	  "END",	   "TIMEOUT",	 "ACCEL",
	"HOST",	  "HOST_ARGS",	   "HOST_FILES",
};

bool is_known(std::string_view key)
{
	return key.starts_with("APPEND_") ||
	       std::ranges::find(known_keys, key) != std::end(known_keys);
}

std::string trim(std::string_view text)
{
	constexpr std::string_view blank = " \t\r";
	size_t begin = text.find_first_not_of(blank);

	if (begin == std::string_view::npos)
		return "";
	return std::string(
		text.substr(begin, text.find_last_not_of(blank) - begin + 1));
}

} /* namespace */

Machine::Machine(const std::filesystem::path &file)
	: file_(file), name_(file.filename())
{
	std::ifstream stream(file);
	int number = 0;

	if (!stream)
		throw UserError(fmt::format(
			"{}: no such machine; a machine is a file in {}", name_,
			file.parent_path().string()));
	for (std::string line; std::getline(stream, line);) {
		number++;
		std::string text = trim(line);
		if (text.empty() || text[0] == '#')
			continue;
		size_t equals = text.find('=');
		std::string key = trim(text.substr(0, equals));
		if (equals == std::string::npos || !is_known(key))
			throw UserError(fmt::format(
				"{}:{}: '{}' is not a key of qemu/machine.h",
				file.string(), number, key));
		values_[key] = trim(text.substr(equals + 1));
	}
}

const std::string &Machine::get(const std::string &key) const
{
	auto found = values_.find(key);

	if (found == values_.end() || found->second.empty())
		throw UserError(fmt::format("{}: the key {} is missing",
					    file_.string(), key));
	return found->second;
}

std::string Machine::get(const std::string &key,
			 const std::string &otherwise) const
{
	auto found = values_.find(key);

	return found == values_.end() ? otherwise : found->second;
}

std::vector<std::string> Machine::words(const std::string &key) const
{
	std::istringstream stream(get(key, ""));
	std::vector<std::string> result;

	for (std::string word; stream >> word;)
		result.push_back(word);
	return result;
}

int Machine::number(const std::string &key) const
{
	const std::string &text = get(key);
	int value = 0;
	auto [end, error] =
		std::from_chars(text.data(), text.data() + text.size(), value);

	if (error != std::errc() || *end || value <= 0)
		throw UserError(
			fmt::format("{}: {} = {} is not a positive number",
				    file_.string(), key, text));
	return value;
}
