// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the file itself must not have: nobody relocates a vDSO, so a dynamic
 * relocation or an undefined symbol would be a wrong address at run time.
 */
#include "verify.h"

#include <fmt/format.h>
#include <gelf.h>

#include <memory>

namespace vdso
{

namespace
{

using elf_ptr = std::unique_ptr<Elf, decltype(&elf_end)>;

void check_section(Elf *elf, Elf_Scn *scn, const GElf_Shdr &shdr,
		   const char *name, std::vector<violation> &found)
{
	Elf_Data *data = elf_getdata(scn, nullptr);

	if (!(shdr.sh_flags & SHF_ALLOC))
		return;
	if ((shdr.sh_type == SHT_RELA || shdr.sh_type == SHT_REL) &&
	    shdr.sh_size)
		found.push_back({ "relocation",
				  name,
				  fmt::format("{} dynamic relocations",
					      shdr.sh_size / shdr.sh_entsize),
				  {} });
	if ((shdr.sh_flags & SHF_WRITE) && (shdr.sh_flags & SHF_EXECINSTR))
		found.push_back({ "writable", name, "code is writable", {} });
	if (shdr.sh_type != SHT_DYNSYM)
		return;
	for (int i = 1;
	     data && static_cast<uint64_t>(i) < shdr.sh_size / shdr.sh_entsize;
	     i++) {
		GElf_Sym sym;

		if (gelf_getsym(data, i, &sym) && sym.st_shndx == SHN_UNDEF)
			found.push_back(
				{ "undefined",
				  elf_strptr(elf, shdr.sh_link, sym.st_name),
				  "undefined symbol",
				  {} });
	}
}

} // namespace

std::vector<violation> verify_elf(const image &img)
{
	std::vector<unsigned char> bytes = read_file(img.path);
	elf_ptr elf(elf_memory(reinterpret_cast<char *>(bytes.data()),
			       bytes.size()),
		    elf_end);
	std::vector<violation> found;
	Elf_Scn *scn = nullptr;
	size_t strings = 0;

	elf_getshdrstrndx(elf.get(), &strings);
	while ((scn = elf_nextscn(elf.get(), scn))) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr))
			check_section(elf.get(), scn, shdr,
				      elf_strptr(elf.get(), strings,
						 shdr.sh_name),
				      found);
	}
	return found;
}

std::vector<std::string> callable_functions(const image &img)
{
	std::vector<std::string> names;

	for (const auto &[name, sym] : img.exported)
		if (sym.value >= img.text_start && sym.value < img.text_end &&
		    name.find("sigtramp") == std::string::npos &&
		    name.find("sigreturn") == std::string::npos &&
		    name != "__kernel_datapage_offset")
			names.push_back(name);
	return names;
}

} // namespace vdso
