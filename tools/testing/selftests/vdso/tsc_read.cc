// SPDX-License-Identifier: GPL-2.0-only
/*
 * How an x86 vDSO reads the TSC: see tsc_read.h.
 *
 * The bytes of the three ways are looked for, without decoding what is between
 * them: the image is small, and a wrong hit would make it "mixed", which no
 * image may be.
 */
#include "tsc_read.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include <elf.h>
#include <link.h>

namespace tsc_read
{

namespace
{

constexpr std::array<unsigned char, 2> rdtsc = { 0x0f, 0x31 };
constexpr std::array<unsigned char, 3> rdtscp = { 0x0f, 0x01, 0xf9 };
constexpr std::array<unsigned char, 3> lfence = { 0x0f, 0xae, 0xe8 };

using Code = std::span<const unsigned char>;

bool starts_with(Code code, Code what)
{
	return code.size() >= what.size() &&
	       std::ranges::equal(code.first(what.size()), what);
}

bool ends_with(Code code, Code what)
{
	return code.size() >= what.size() &&
	       std::ranges::equal(code.last(what.size()), what);
}

Kind combine(Kind a, Kind b)
{
	if (a == Kind::none || a == b)
		return b;
	return Kind::mixed;
}

} // namespace

Kind find(std::span<const unsigned char> code)
{
	Kind kind = Kind::none;

	for (std::size_t i = 0; i < code.size(); i++) {
		const Code here = code.subspan(i);

		if (starts_with(here, rdtscp))
			kind = combine(kind, Kind::ordered);
		else if (starts_with(here, rdtsc))
			kind = combine(kind, ends_with(code.first(i), lfence) ?
						     Kind::ordered :
						     Kind::plain);
	}
	return kind;
}

Kind in_image(const unsigned char *image, std::size_t size)
{
	ElfW(Ehdr) header;

	if (size < sizeof(header))
		return Kind::none;
	std::memcpy(&header, image, sizeof(header));
	const auto section = [&](std::size_t number) {
		ElfW(Shdr) s = {};
		const std::size_t at =
			header.e_shoff + number * header.e_shentsize;

		if (number < header.e_shnum && at + sizeof(s) <= size)
			std::memcpy(&s, image + at, sizeof(s));
		return s;
	};
	const ElfW(Shdr) names = section(header.e_shstrndx);

	for (std::size_t i = 0; i < header.e_shnum; i++) {
		constexpr char text[] = ".text";
		const ElfW(Shdr) s = section(i);
		const std::size_t name = names.sh_offset + s.sh_name;

		if (name + sizeof(text) <= size &&
		    !std::memcmp(image + name, text, sizeof(text)) &&
		    s.sh_offset + s.sh_size <= size)
			return find({ image + s.sh_offset, s.sh_size });
	}
	return Kind::none;
}

} // namespace tsc_read
