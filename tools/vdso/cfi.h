/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The call frame information of an image, one row for each instruction, in the
 * few shapes that a vDSO has reason to use.
 */
#ifndef VDSO_CFI_H
#define VDSO_CFI_H

#include "image.h"

#include <elfutils/libdw.h>
#include <libelf.h>

#include <memory>
#include <optional>
#include <string>

namespace vdso
{

struct saved_rule {
	enum where { same, in_register, at_cfa, undefined, other } kind;
	int64_t n; /* register number or offset from the CFA */
};

struct cfa_rule {
	bool simple; /* register + offset */
	int reg;
	int64_t offset;
};

class cfi_table {
    public:
	explicit cfi_table(const std::string &path);

	/* The rules at @offset, or nothing if no FDE covers it. */
	struct row {
		cfa_rule cfa;
		saved_rule return_address;
	};
	std::optional<row> at(uint64_t address) const;

    private:
	std::vector<unsigned char> bytes;
	std::unique_ptr<Elf, decltype(&elf_end)> elf;
	std::unique_ptr<Dwarf_CFI, decltype(&dwarf_cfi_end)> cfi;
};

} // namespace vdso

#endif
