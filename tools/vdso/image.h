/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A vDSO image as a file: its bytes, its symbols, what it was built for.
 */
#ifndef VDSO_IMAGE_H
#define VDSO_IMAGE_H

#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vdso
{

/* What is wrong with an input, in one line that says what to do. */
struct user_error {
	std::string what;
};

/* The whole of @path, or a user_error. */
std::vector<unsigned char> read_file(const std::string &path);

enum class machine { ppc, ppc64, i386, x86_64 };

struct symbol {
	uint64_t value;
	uint64_t size;
	bool is_function;
};

struct section {
	uint64_t start, size; /* in the image */
	bool executable;
};

class image {
    public:
	explicit image(const std::string &path);

	/* Offset of @name in the image. */
	std::optional<uint64_t> find(const std::string &name) const;
	bool has(const std::string &name) const
	{
		return find(name).has_value();
	}
	/* The 32-bit word at @offset, in the image's byte order. */
	uint32_t word(uint64_t offset) const;
	void set_word(uint64_t offset, uint32_t value);
	/* The function or local label that @offset lies behind. */
	std::string describe(uint64_t offset) const;
	bool is64() const
	{
		return arch == machine::ppc64 || arch == machine::x86_64;
	}

	std::string path;
	machine arch;
	std::endian order;
	std::vector<unsigned char> bytes;
	std::map<std::string, symbol> exported; /* .dynsym */
	std::map<std::string, symbol> symbols; /* .symtab, when there is one */
	std::map<std::string, section> sections; /* those that are loaded */
	uint64_t text_start = 0, text_end = 0; /* of the executable sections */
	uint64_t load_address; /* the linker's, usually 0 */
};

} // namespace vdso

#endif
