// SPDX-License-Identifier: GPL-2.0-only
/*
 * A vDSO image is one read-only PT_LOAD that begins with its own ELF header,
 * so an offset in the image is an offset in the file. That is checked, and
 * then nothing else in these tools has to think about segments.
 */
#include "image.h"
#include <fmt/format.h>
#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

namespace vdso
{

namespace
{

using elf_ptr = std::unique_ptr<Elf, decltype(&elf_end)>;

machine machine_of(const GElf_Ehdr &ehdr, const std::string &path)
{
	switch (ehdr.e_machine) {
	case EM_PPC:
		return machine::ppc;
	case EM_PPC64:
		return machine::ppc64;
	case EM_386:
		return machine::i386;
	case EM_X86_64:
		return machine::x86_64;
	}
	throw user_error{ fmt::format(
		"{}: not a powerpc or x86 image, e_machine is {}", path,
		ehdr.e_machine) };
}

void read_symbols(Elf *elf, Elf_Scn *scn, const GElf_Shdr &shdr, uint64_t base,
		  std::map<std::string, symbol> &into)
{
	Elf_Data *data = elf_getdata(scn, nullptr);

	for (int i = 1;
	     data && static_cast<uint64_t>(i) < shdr.sh_size / shdr.sh_entsize;
	     i++) {
		GElf_Sym sym;

		if (!gelf_getsym(data, i, &sym) || sym.st_shndx == SHN_UNDEF)
			continue;
		const char *name = elf_strptr(elf, shdr.sh_link, sym.st_name);
		if (name && *name && GELF_ST_TYPE(sym.st_info) < STT_SECTION)
			into[name] = { sym.st_value - base, sym.st_size,
				       GELF_ST_TYPE(sym.st_info) == STT_FUNC };
	}
}

GElf_Phdr only_load(Elf *elf, const std::string &path)
{
	GElf_Phdr load = {}, phdr;
	unsigned loads = 0;
	size_t phnum = 0;

	elf_getphdrnum(elf, &phnum);
	for (size_t i = 0; i < phnum; i++)
		if (gelf_getphdr(elf, static_cast<int>(i), &phdr) &&
		    phdr.p_type == PT_LOAD) {
			load = phdr;
			loads++;
		}
	if (loads != 1)
		throw user_error{ fmt::format(
			"{}: {} loadable segments, a vDSO image has one", path,
			loads) };
	return load;
}

} // namespace

std::vector<unsigned char> read_file(const std::string &path)
{
	std::ifstream in(path, std::ios::binary);
	std::vector<unsigned char> content;

	if (in)
		content.assign(std::istreambuf_iterator<char>(in), {});
	if (!in || content.empty())
		throw user_error{ fmt::format("{}: cannot be read", path) };
	return content;
}

image::image(const std::string &file) : path(file)
{
	elf_version(EV_CURRENT);
	bytes = read_file(path);
	elf_ptr elf(elf_memory(reinterpret_cast<char *>(bytes.data()),
			       bytes.size()),
		    elf_end);
	GElf_Ehdr ehdr;
	if (!elf || elf_kind(elf.get()) != ELF_K_ELF ||
	    !gelf_getehdr(elf.get(), &ehdr))
		throw user_error{ fmt::format(
			"{}: not an ELF file; give a vdso*.so or vdso*.so.dbg",
			path) };
	arch = machine_of(ehdr, path);
	order = ehdr.e_ident[EI_DATA] == ELFDATA2MSB ? std::endian::big :
						       std::endian::little;

	GElf_Phdr load = only_load(elf.get(), path);
	if (load.p_offset || load.p_filesz > bytes.size())
		throw user_error{ fmt::format(
			"{}: the loadable segment does not start with the "
			"ELF header, so this is no vDSO image",
			path) };

	Elf_Scn *scn = nullptr;
	size_t strings = 0;
	elf_getshdrstrndx(elf.get(), &strings);
	load_address = load.p_vaddr;
	while ((scn = elf_nextscn(elf.get(), scn))) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr))
			continue;
		if (shdr.sh_type == SHT_DYNSYM)
			read_symbols(elf.get(), scn, shdr, load.p_vaddr,
				     exported);
		if (shdr.sh_type == SHT_SYMTAB)
			read_symbols(elf.get(), scn, shdr, load.p_vaddr,
				     symbols);
		if (!(shdr.sh_flags & SHF_ALLOC) || !shdr.sh_size)
			continue;
		uint64_t start = shdr.sh_addr - load.p_vaddr;
		bool executable = shdr.sh_flags & SHF_EXECINSTR;
		const char *name = elf_strptr(elf.get(), strings, shdr.sh_name);
		sections[name ? name : ""] = { start, shdr.sh_size,
					       executable };
		if (executable) {
			text_start =
				text_end ? std::min(text_start, start) : start;
			text_end = std::max(text_end, start + shdr.sh_size);
		}
	}
	elf.reset();
	bytes.resize(load.p_filesz);
	if (!text_end || text_end > bytes.size())
		throw user_error{ fmt::format("{}: no code in the image",
					      path) };
}

std::optional<uint64_t> image::find(const std::string &name) const
{
	auto it = exported.find(name);

	if (it == exported.end())
		return std::nullopt;
	return it->second.value;
}

uint32_t image::word(uint64_t offset) const
{
	uint32_t value;

	if (offset + sizeof(value) > bytes.size())
		throw user_error{ fmt::format("{}: nothing at offset {:#x}",
					      path, offset) };
	memcpy(&value, &bytes[offset], sizeof(value));
	return order == std::endian::native ? value : __builtin_bswap32(value);
}

void image::set_word(uint64_t offset, uint32_t value)
{
	if (order != std::endian::native)
		value = __builtin_bswap32(value);
	memcpy(&bytes.at(offset), &value, sizeof(value));
}

std::string image::describe(uint64_t offset) const
{
	std::string best;
	uint64_t at = 0;

	for (const auto *table : { &symbols, &exported })
		for (const auto &[name, sym] : *table)
			if (sym.value <= offset && sym.value >= at &&
			    sym.value >= text_start && name[0] != '.' &&
			    name.find("tramp_end") == std::string::npos) {
				best = name;
				at = sym.value;
			}
	if (best.empty())
		return fmt::format("{:#x}", offset);
	return fmt::format("{}+{:#x}", best, offset - at);
}

} // namespace vdso
