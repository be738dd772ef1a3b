// SPDX-License-Identifier: GPL-2.0-only
/*
 * vdso-image - check a linked vDSO image, print the offsets the kernel needs
 *
 * usage: vdso-image 32|64 image linker-script > header
 *
 * A vDSO is mapped as it is: no dynamic linker relocates it or binds its
 * symbols, and it is read-only. An image that needs any of this links without
 * a word and fails in every process. So the image is refused here, with one
 * line that says why, if it has
 *
 *  - a dynamic relocation,
 *  - an undefined symbol,
 *  - a writable section (the dynamic section is marked so by the linker, and so
 *    is the header of a GOT without entries: nobody writes to these),
 *  - not every symbol that the VERSION part of its linker script exports.
 *
 * For an image that is fine, the header gives the kernel the distance from the
 * ELF header of
 *
 *  - each signal trampoline: vdso32_offset_sigtramp_rt32 for
 *    __kernel_sigtramp_rt32,
 *  - the start and the end of each table of feature fixups, equal if the image
 *    has no such table: vdso64_offset_ftr_fixup_start for __ftr_fixup.
 *
 * The image is of the target's byte order and width, which need not be the
 * host's: the ELF structures below are made of integers that know theirs.
 */
#include <bit>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>

namespace
{

const char *image_name;

[[noreturn]] void die(const std::string &what)
{
	std::fprintf(stderr, "%s: %s\n", image_name, what.c_str());
	std::exit(1);
}

std::string read_file(const char *name)
{
	std::ifstream file(name, std::ios::binary);

	if (!file) {
		image_name = name;
		die("cannot be read");
	}
	return { std::istreambuf_iterator<char>(file), {} };
}

/* An unsigned integer of byte order @order, at any alignment */
template <std::endian order, typename T> class ordered {
	unsigned char byte[sizeof(T)];

    public:
	operator T() const
	{
		T val = 0;

		for (size_t i = 0; i < sizeof(T); i++) {
			size_t at = order == std::endian::big ?
					    i :
					    sizeof(T) - 1 - i;

			val = static_cast<T>(val << 8 | byte[at]);
		}
		return val;
	}
};

/* The structures of the ELF specification, as far as they are used */
template <std::endian order, bool is_64> struct elf {
	using u16 = ordered<order, uint16_t>;
	using u32 = ordered<order, uint32_t>;
	using word =
		ordered<order, std::conditional_t<is_64, uint64_t, uint32_t> >;

	struct ehdr {
		unsigned char ident[16];
		u16 type, machine;
		u32 version;
		word entry, phoff, shoff;
		u32 flags;
		u16 ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
	};

	struct shdr {
		u32 name, type;
		word flags, addr, offset, size;
		u32 link, info;
		word addralign, entsize;
	};

	struct sym32 {
		u32 name;
		word value, size;
		unsigned char info, other;
		u16 shndx;
	};

	struct sym64 {
		u32 name;
		unsigned char info, other;
		u16 shndx;
		word value, size;
	};

	using sym = std::conditional_t<is_64, sym64, sym32>;

	static constexpr uint16_t machine =
		is_64 ? 21 : 20; /* EM_PPC64, EM_PPC */
	/* _GLOBAL_OFFSET_TABLE_ of the 32-bit ABI, the TOC base of the 64-bit one */
	static constexpr size_t got_header = is_64 ? 8 : 12;
};

constexpr uint16_t et_dyn = 3;
constexpr uint32_t sht_rela = 4, sht_rel = 9, sht_dynsym = 11;
constexpr uint32_t shf_write = 1, shf_alloc = 2;
constexpr uint16_t shn_undef = 0;

/* The names between "global:" and "local:" in the VERSION part of @script */
std::set<std::string> exports(const std::string &script)
{
	std::set<std::string> names;
	std::string word;
	bool in_version = false, in_global = false;

	for (char c : script) {
		if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
			word += c;
			continue;
		}
		if (word == "VERSION")
			in_version = true;
		else if (word == "global" && c == ':')
			in_global = in_version;
		else if (word == "local" && c == ':')
			in_global = false;
		else if (in_global && !word.empty())
			names.insert(word);
		word.clear();
	}
	return names;
}

template <typename E> class image {
	const std::string &bytes;
	const char *bits;

	template <typename T> const T *at(size_t offset, size_t count = 1) const
	{
		if (offset > bytes.size() ||
		    count > (bytes.size() - offset) / sizeof(T))
			die("truncated");
		return reinterpret_cast<const T *>(bytes.data() + offset);
	}

	const typename E::ehdr &ehdr() const
	{
		return *at<typename E::ehdr>(0);
	}

	const typename E::shdr *sections() const
	{
		return at<typename E::shdr>(ehdr().shoff, ehdr().shnum);
	}

	std::string text(uint32_t strtab, uint32_t offset) const
	{
		if (strtab >= ehdr().shnum)
			die("no string table");

		const auto &table = sections()[strtab];
		const char *start = at<char>(table.offset, table.size);

		if (offset >= table.size)
			die("truncated string table");
		return { start + offset,
			 strnlen(start + offset, table.size - offset) };
	}

	static size_t strnlen(const char *s, size_t max)
	{
		size_t len = std::string_view(s, max).find('\0');

		return len == std::string_view::npos ? max : len;
	}

	std::string name(const typename E::shdr &section) const
	{
		return text(ehdr().shstrndx, section.name);
	}

	void check_header() const
	{
		if (ehdr().type != et_dyn)
			die("not a shared object");
		if (ehdr().machine != E::machine)
			die("not of the machine that it is built for");
	}

	void check_section(const typename E::shdr &section) const
	{
		std::string what = name(section);

		if (!(section.flags & shf_alloc) || !section.size)
			return;
		if (section.type == sht_rela || section.type == sht_rel)
			die("dynamic relocations are not supported, see " +
			    what);
		if (!(section.flags & shf_write) || what == ".dynamic")
			return;
		if (what == ".got" && section.size <= E::got_header)
			return;
		if (what == ".got")
			die("the GOT has entries, is a symbol not hidden?");
		die("writable section " + what);
	}

	/* Prints the trampolines and takes all that is there from @missing */
	void check_symbols(const typename E::shdr &dynsym,
			   std::set<std::string> &missing) const
	{
		size_t count = dynsym.size / sizeof(typename E::sym);
		const auto *sym = at<typename E::sym>(dynsym.offset, count);

		for (size_t i = 1; i < count; i++) {
			std::string what = text(dynsym.link, sym[i].name);

			if (sym[i].shndx == shn_undef)
				die("undefined symbol " + what);
			missing.erase(what);
			if (what.find("sigtramp") != what.npos)
				print(what.substr(sizeof("__kernel_") - 1),
				      sym[i].value);
		}
	}

	void print_fixups(const std::string &what) const
	{
		uint64_t start = 0, end = 0;

		for (size_t i = 1; i < ehdr().shnum; i++) {
			const auto &section = sections()[i];

			if (name(section) == "__" + what) {
				start = section.addr;
				end = start + section.size;
			}
		}
		print(what + "_start", start);
		print(what + "_end", end);
	}

	void print(const std::string &what, uint64_t offset) const
	{
		std::printf("#define vdso%s_offset_%s\t0x%llx\n", bits,
			    what.c_str(),
			    static_cast<unsigned long long>(offset));
	}

    public:
	image(const std::string &file, const char *width)
		: bytes(file), bits(width)
	{
	}

	void check_and_print(std::set<std::string> missing) const
	{
		check_header();

		std::printf("/* Made by vdso-image from %s */\n", image_name);
		for (size_t i = 1; i < ehdr().shnum; i++) {
			check_section(sections()[i]);
			if (sections()[i].type == sht_dynsym)
				check_symbols(sections()[i], missing);
		}
		if (!missing.empty())
			die("exported symbol " + *missing.begin() +
			    " is missing");

		for (const char *what : { "ftr_fixup", "mmu_ftr_fixup",
					  "fw_ftr_fixup", "lwsync_fixup" })
			print_fixups(what);
	}
};

} /* namespace */

int main(int argc, char **argv)
{
	std::string_view bits = argc == 4 ? argv[1] : "";

	if (bits != "32" && bits != "64") {
		std::fprintf(
			stderr,
			"usage: vdso-image 32|64 image linker-script > header\n");
		return 1;
	}
	image_name = argv[2];

	const std::string script = read_file(argv[3]);
	const std::string file = read_file(argv[2]);
	const std::set<std::string> names = exports(script);

	image_name = argv[2];
	if (names.empty())
		die("the linker script exports nothing");
	if (!file.starts_with("\177ELF") || file.size() < 6)
		die("not an ELF file");

	bool is_64 = file[4] == 2, is_big = file[5] == 2;

	if (is_64 != (bits == "64"))
		die("not of the width that it is built for");

	if (is_64 && is_big)
		image<elf<std::endian::big, true> >(file, argv[1])
			.check_and_print(names);
	else if (is_64)
		image<elf<std::endian::little, true> >(file, argv[1])
			.check_and_print(names);
	else if (is_big)
		image<elf<std::endian::big, false> >(file, argv[1])
			.check_and_print(names);
	else
		image<elf<std::endian::little, false> >(file, argv[1])
			.check_and_print(names);

	if (std::fflush(stdout) || std::ferror(stdout))
		die("cannot write the header");
	return 0;
}
