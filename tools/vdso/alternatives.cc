// SPDX-License-Identifier: GPL-2.0-only
/*
 * An x86 image in a file is not what a program sees: the kernel writes other
 * instructions over some of it at boot, as the CPU and the command line want.
 * Without that, rdtsc_ordered() of the file is a plain rdtsc, and to measure
 * or to verify it would be to look at code that hardly anybody runs.
 *
 * Here is the kernel's procedure: entries in order, a later one over an
 * earlier one, the rest of the place filled with NOPs, which are then made long.
 */
#include "alternatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <optional>
#include <sstream>

namespace vdso
{

namespace
{

constexpr unsigned char nop = 0x90;
constexpr unsigned rel32_length = 5;
constexpr unsigned char call_rel32 = 0xe8, jmp_rel32 = 0xe9, jmp_rel8 = 0xeb;
constexpr unsigned max_feature = 64 * 32;

/* The NOPs that the kernel takes on every CPU of the last fifteen years. */
constexpr std::array<std::array<unsigned char, 8>, 8> long_nops = { {
	{ 0x90 },
	{ 0x66, 0x90 },
	{ 0x0f, 0x1f, 0x00 },
	{ 0x0f, 0x1f, 0x40, 0x00 },
	{ 0x0f, 0x1f, 0x44, 0x00, 0x00 },
	{ 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00 },
	{ 0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00 },
	{ 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00 },
} };

std::string lower(std::string text)
{
	for (char &c : text)
		c = static_cast<char>(tolower(static_cast<unsigned char>(c)));
	return text;
}

/* The value of @key of the first CPU in /proc/cpuinfo. */
std::string cpuinfo_value(std::string_view cpuinfo, std::string_view key)
{
	std::istringstream in{ std::string(cpuinfo) };
	std::string line;

	while (std::getline(in, line)) {
		size_t colon = line.find(':');

		if (colon != std::string::npos && line.starts_with(key) &&
		    line.find_first_not_of(" \t", key.size()) == colon)
			return line.substr(std::min(line.size(), colon + 2));
	}
	return {};
}

/*
 * What the kernel sets by its knowledge of the CPU and never shows in
 * /proc/cpuinfo: on all of these LFENCE waits for what is before it.
 */
struct derived {
	const char *vendor; /* empty: any */
	const char *flag; /* in /proc/cpuinfo, empty: none is needed */
	const char *feature;
};

constexpr std::array<derived, 8> derived_features = { {
	{ "", "", "ALWAYS" },
	{ "GenuineIntel", "sse2", "LFENCE_RDTSC" },
	{ "AuthenticAMD", "sse2", "LFENCE_RDTSC" },
	{ "HygonGenuine", "sse2", "LFENCE_RDTSC" },
	{ "CentaurHauls", "sse2", "LFENCE_RDTSC" },
	{ "  Shanghai  ", "sse2", "LFENCE_RDTSC" },
	{ "GenuineIntel", "sep", "SYSENTER32" },
	{ "AuthenticAMD", "syscall", "SYSCALL32" },
} };

struct feature_define {
	std::string name, flag;
	unsigned number;
};

/*
 * #define X86_FEATURE_NAME ( 3*32+18) and a comment: "flag" what it is
 * The flag is the name where the comment does not begin with another; "" hides it.
 */
std::optional<feature_define> parse_define(const std::string &line)
{
	constexpr std::string_view prefix = "#define X86_FEATURE_";
	size_t open = line.find('('), comment = line.find("/*");
	unsigned word, bit;

	if (!line.starts_with(prefix) || open == std::string::npos ||
	    sscanf(line.c_str() + open, "(%u*32 +%u)", &word, &bit) != 2)
		return std::nullopt;
	std::string name = line.substr(
		prefix.size(),
		line.find_first_of(" \t", prefix.size()) - prefix.size());
	std::string flag = lower(name);
	size_t quote = comment == std::string::npos ?
			       comment :
			       line.find_first_not_of(" \t", comment + 2);

	if (quote != std::string::npos && line[quote] == '"')
		flag = line.substr(quote + 1,
				   line.find('"', quote + 1) - quote - 1);
	return feature_define{ name, flag, word * 32 + bit };
}

struct entry_format {
	unsigned size, feature, flags, lengths;
};

/* Offsets in struct alt_instr: of 5.10, and since the flags have a field of their own. */
constexpr std::array<entry_format, 2> formats = { { { 12, 8, 8, 10 },
						    { 14, 8, 10, 12 } } };

template <class T> T get(std::span<const unsigned char> bytes, uint64_t at)
{
	T value;

	memcpy(&value, bytes.subspan(at, sizeof(value)).data(), sizeof(value));
	return value;
}

alternative parse_entry(std::span<const unsigned char> bytes, uint64_t at,
			const entry_format &format)
{
	alternative a;
	auto feature = get<uint16_t>(bytes, at + format.feature);
	auto flags = get<uint16_t>(bytes, at + format.flags);
	bool shared = format.feature == format.flags;

	a.at = at + static_cast<uint64_t>(int64_t(get<int32_t>(bytes, at)));
	a.replacement =
		at + 4 +
		static_cast<uint64_t>(int64_t(get<int32_t>(bytes, at + 4)));
	a.feature = shared ? feature & 0x7fffU : feature;
	a.if_absent = shared ? flags >> 15 : flags & 1;
	a.length = bytes[at + format.lengths];
	a.new_length = bytes[at + format.lengths + 1];
	return a;
}

bool makes_sense(const alternative &a, uint64_t image_size)
{
	return a.at < image_size && a.at + a.length <= image_size &&
	       a.replacement < image_size &&
	       a.replacement + a.new_length <= image_size && a.length &&
	       a.new_length <= a.length && a.feature < max_feature;
}

std::optional<std::vector<alternative> >
parse_as(std::span<const unsigned char> bytes, uint64_t start, uint64_t size,
	 const entry_format &format)
{
	std::vector<alternative> table;

	if (size % format.size || start + size > bytes.size())
		return std::nullopt;
	for (uint64_t at = start; at < start + size; at += format.size) {
		table.push_back(parse_entry(bytes, at, format));
		if (!makes_sense(table.back(), bytes.size()))
			return std::nullopt;
	}
	return table;
}

/* A call or jump whose distance is counted from where it stands now. */
void move_target(std::span<unsigned char> place, std::span<unsigned char> with,
		 const alternative &a)
{
	auto moved = static_cast<int32_t>(static_cast<int64_t>(a.replacement) -
					  static_cast<int64_t>(a.at));
	int32_t distance;

	memcpy(&distance, &with[1], sizeof(distance));
	distance += moved;
	memcpy(&place[1], &distance, sizeof(distance));
}

void replace(std::span<unsigned char> bytes, const alternative &a)
{
	auto place = bytes.subspan(a.at, a.length);
	auto with = bytes.subspan(a.replacement, a.new_length);

	std::ranges::copy(with, place.begin());
	std::ranges::fill(place.subspan(a.new_length), nop);
	if (a.new_length == rel32_length &&
	    (with[0] == call_rel32 || with[0] == jmp_rel32))
		return move_target(place, with, a);
	if (a.new_length && (with[0] == call_rel32 || with[0] == jmp_rel32 ||
			     with[0] == jmp_rel8))
		throw user_error{
			"an alternative that jumps and does more: the lab cannot move it"
		};
}

/* The padding is at the end; a single NOP is left as it is. */
void lengthen_nops(std::span<unsigned char> place)
{
	size_t end = place.size(), start = end;

	while (start && place[start - 1] == nop)
		start--;
	while (end - start > 1) {
		size_t n = std::min(end - start, long_nops.size());

		std::copy_n(long_nops[n - 1].begin(), n,
			    place.begin() + static_cast<std::ptrdiff_t>(start));
		start += n;
	}
}

} // namespace

feature_table::feature_table(std::string_view header)
{
	std::istringstream in{ std::string(header) };
	std::string line;

	while (std::getline(in, line)) {
		auto define = parse_define(line);

		if (!define)
			continue;
		numbers[define->name] = define->number;
		if (!define->flag.empty())
			flags[define->flag] = define->number;
	}
	if (numbers.empty())
		throw user_error{ "no X86_FEATURE_ in cpufeatures.h" };
}

unsigned feature_table::number(const std::string &name) const
{
	auto it = numbers.find(name);

	if (it == numbers.end())
		throw user_error{ fmt::format(
			"this kernel has no X86_FEATURE_{}", name) };
	return it->second;
}

std::string feature_table::name(unsigned number) const
{
	for (const auto &[name, n] : numbers)
		if (n == number)
			return name;
	return std::to_string(number);
}

features feature_table::of_cpu(std::string_view cpuinfo) const
{
	std::istringstream in(cpuinfo_value(cpuinfo, "flags"));
	std::string vendor = cpuinfo_value(cpuinfo, "vendor_id"), flag;
	std::set<std::string> shown = { "" };
	features found;

	while (in >> flag) {
		shown.insert(flag);
		if (auto it = flags.find(flag); it != flags.end())
			found.insert(it->second);
	}
	for (const auto &d : derived_features)
		if ((!*d.vendor || vendor == d.vendor) && shown.count(d.flag) &&
		    numbers.count(d.feature))
			found.insert(numbers.at(d.feature));
	return found;
}

std::vector<alternative>
parse_alternatives(std::span<const unsigned char> bytes, uint64_t start,
		   uint64_t size)
{
	for (const auto &format : formats)
		if (auto table = parse_as(bytes, start, size, format))
			return *table;
	throw user_error{ ".altinstructions is in no form that the lab knows" };
}

std::vector<alternative> alternatives_of(const image &img)
{
	auto it = img.sections.find(".altinstructions");

	if (it == img.sections.end())
		return {};
	return parse_alternatives(img.bytes, it->second.start, it->second.size);
}

void apply_alternatives(std::span<unsigned char> bytes,
			const std::vector<alternative> &table,
			const features &present)
{
	for (const auto &a : table) {
		if (bool(present.count(a.feature)) != a.if_absent)
			replace(bytes, a);
		lengthen_nops(bytes.subspan(a.at, a.length));
	}
}

image with_alternatives(image img, const features &present)
{
	apply_alternatives(img.bytes, alternatives_of(img), present);
	return img;
}

std::vector<features> feature_sets(const image &img)
{
	features all;
	std::vector<features> sets = { {} };

	for (const auto &a : alternatives_of(img))
		all.insert(a.feature);
	for (unsigned feature : all)
		for (size_t i = sets.size(); i-- > 0;) {
			features with = sets[i];

			with.insert(feature);
			sets.push_back(std::move(with));
		}
	return sets;
}

} // namespace vdso
