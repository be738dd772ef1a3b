// SPDX-License-Identifier: GPL-2.0-only
/* Reading the dynamic section of an ELF file of any byte order, by libelf. */
#include "elf_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>

#include <memory>

#include "unique_fd.h"

namespace
{

struct ElfEnd {
	void operator()(Elf *elf) const
	{
		elf_end(elf);
	}
};

std::string read_interpreter(Elf *elf)
{
	size_t count = 0;
	size_t file_size = 0;
	const char *file = elf_rawfile(elf, &file_size);

	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;
		if (!gelf_getphdr(elf, static_cast<int>(i), &header) ||
		    header.p_type != PT_INTERP || !header.p_filesz ||
		    header.p_offset + header.p_filesz > file_size)
			continue;
		return { file + header.p_offset, header.p_filesz - 1 };
	}
	return "";
}

std::vector<std::string> read_needed(Elf *elf)
{
	std::vector<std::string> needed;

	for (Elf_Scn *section = elf_nextscn(elf, nullptr); section;
	     section = elf_nextscn(elf, section)) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) ||
		    header.sh_type != SHT_DYNAMIC || !header.sh_entsize)
			continue;
		Elf_Data *data = elf_getdata(section, nullptr);
		size_t count = header.sh_size / header.sh_entsize;
		for (size_t i = 0; data && i < count; i++) {
			GElf_Dyn entry;
			if (!gelf_getdyn(data, static_cast<int>(i), &entry) ||
			    entry.d_tag != DT_NEEDED)
				continue;
			const char *name = elf_strptr(elf, header.sh_link,
						      entry.d_un.d_val);
			if (name)
				needed.emplace_back(name);
		}
	}
	return needed;
}

} /* namespace */

std::optional<ElfFile> read_elf(const std::filesystem::path &path)
{
	elf_version(EV_CURRENT);
	UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
	std::unique_ptr<Elf, ElfEnd> elf(
		elf_begin(fd.get(), ELF_C_READ, nullptr));
	GElf_Ehdr header;

	if (!elf || !gelf_getehdr(elf.get(), &header))
		return std::nullopt;
	return ElfFile{ { header.e_machine, header.e_ident[EI_CLASS],
			  header.e_ident[EI_DATA] },
			read_interpreter(elf.get()),
			read_needed(elf.get()) };
}

std::string describe(const ElfAbi &abi)
{
	return fmt::format("{}-bit {} endian, ELF machine {}",
			   abi.file_class == ELFCLASS64 ? 64 : 32,
			   abi.data == ELFDATA2LSB ? "little" : "big",
			   abi.machine);
}
