// SPDX-License-Identifier: GPL-2.0-only
/*
 * capstone names the instruction; which of them touch memory or multiply is
 * told from the PowerPC mnemonic, whose first letters are systematic. For x86 the
 * text is all that is asked for.
 */
#include "disasm.h"

#include <fmt/format.h>

#include <string_view>

namespace vdso
{

namespace
{

bool one_of(std::string_view name,
	    std::initializer_list<std::string_view> names)
{
	for (auto candidate : names)
		if (name == candidate)
			return true;
	return false;
}

bool is_load(std::string_view name)
{
	return name.starts_with('l') &&
	       !one_of(name, { "li", "lis", "la", "lwsync" });
}

bool is_branch(std::string_view name)
{
	return name.starts_with('b') && !name.starts_with("bpermd") &&
	       !name.starts_with("brd");
}

} // namespace

disassembler::disassembler(const image &image) : img(image)
{
	bool x86 = img.arch == machine::x86_64 || img.arch == machine::i386;
	int mode = img.is64() ? CS_MODE_64 : CS_MODE_32;

	if (img.order == std::endian::big)
		mode |= static_cast<int>(CS_MODE_BIG_ENDIAN);
	if (cs_open(x86 ? CS_ARCH_X86 : CS_ARCH_PPC, static_cast<cs_mode>(mode),
		    &handle) != CS_ERR_OK)
		throw user_error{ "capstone knows no such instructions" };
}

disassembler::~disassembler()
{
	cs_close(&handle);
}

decoded disassembler::at(uint64_t offset) const
{
	cs_insn *insn = nullptr;
	decoded out = {};

	size_t left = offset < img.bytes.size() ? img.bytes.size() - offset : 0;
	if (!cs_disasm(handle, img.bytes.data() + offset, left, offset, 1,
		       &insn)) {
		out.text = "not an instruction";
		return out;
	}
	std::string_view name = insn->mnemonic;
	out.text = fmt::format("{:<8}{}", insn->mnemonic, insn->op_str);
	out.load = is_load(name);
	out.store = name.starts_with("st");
	out.multiply = name.starts_with("mul");
	out.branch = is_branch(name);
	out.syscall = name == "sc";
	cs_free(insn, 1);
	return out;
}

} // namespace vdso
