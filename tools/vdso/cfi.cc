// SPDX-License-Identifier: GPL-2.0-only
/* libdw reads .eh_frame; this only turns its DWARF operations into rules. */
#include "cfi.h"

#include <dwarf.h>
#include <fmt/format.h>

#include <cstdlib>

namespace vdso
{

namespace
{

using frame_ptr = std::unique_ptr<Dwarf_Frame, decltype(&free)>;

cfa_rule read_cfa(Dwarf_Frame *frame)
{
	Dwarf_Op *ops;
	size_t nops;

	if (dwarf_frame_cfa(frame, &ops, &nops) || nops != 1)
		return { false, 0, 0 };
	if (ops->atom >= DW_OP_breg0 && ops->atom <= DW_OP_breg31)
		return { true, ops->atom - DW_OP_breg0,
			 static_cast<int64_t>(ops->number) };
	if (ops->atom == DW_OP_bregx)
		return { true, static_cast<int>(ops->number),
			 static_cast<int64_t>(ops->number2) };
	return { false, 0, 0 };
}

saved_rule read_saved(Dwarf_Frame *frame, int reg)
{
	Dwarf_Op mem[3], *ops;
	size_t nops;

	if (dwarf_frame_register(frame, reg, mem, &ops, &nops))
		return { saved_rule::other, 0 };
	if (!nops)
		return { ops ? saved_rule::undefined : saved_rule::same, 0 };
	if (nops == 1 && ops->atom >= DW_OP_reg0 && ops->atom <= DW_OP_reg31)
		return { saved_rule::in_register, ops->atom - DW_OP_reg0 };
	if (nops == 1 && ops->atom == DW_OP_regx)
		return { saved_rule::in_register,
			 static_cast<int64_t>(ops->number) };
	if (ops[0].atom != DW_OP_call_frame_cfa)
		return { saved_rule::other, 0 };
	if (nops == 1)
		return { saved_rule::at_cfa, 0 };
	if (nops == 2 && ops[1].atom == DW_OP_plus_uconst)
		return { saved_rule::at_cfa,
			 static_cast<int64_t>(ops[1].number) };
	return { saved_rule::other, 0 };
}

} // namespace

cfi_table::cfi_table(const std::string &path)
	: bytes(read_file(path)),
	  elf(elf_memory(reinterpret_cast<char *>(bytes.data()), bytes.size()),
	      elf_end),
	  cfi(dwarf_getcfi_elf(elf.get()), dwarf_cfi_end)
{
}

std::optional<cfi_table::row> cfi_table::at(uint64_t address) const
{
	Dwarf_Frame *raw;

	if (!cfi || dwarf_cfi_addrframe(cfi.get(), address, &raw))
		return std::nullopt;
	frame_ptr frame(raw, free);
	int ra = dwarf_frame_info(raw, nullptr, nullptr, nullptr);
	if (ra < 0)
		return std::nullopt;
	return row{ read_cfa(raw), read_saved(raw, ra) };
}

} // namespace vdso
