/* SPDX-License-Identifier: GPL-2.0-only */
/* What the dynamic linker would want to know of an ELF file. */
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/* Files of one ABI can be linked together. */
struct ElfAbi {
	int machine = 0;
	int file_class = 0;
	int data = 0;

	bool operator==(const ElfAbi &) const = default;
};

struct ElfFile {
	ElfAbi abi;
	std::string interpreter; /* empty: static, or a library */
	std::vector<std::string> needed;
};

/* Nothing if the file is something else than ELF, say a script. */
std::optional<ElfFile> read_elf(const std::filesystem::path &path);

/* "64-bit little endian, machine 21" */
std::string describe(const ElfAbi &abi);
