// SPDX-License-Identifier: GPL-2.0-only
/*
 * The vDSO of this process: see vdso.h.
 *
 * The addresses in a vDSO's dynamic section are those it was linked for: no
 * dynamic linker has relocated them, so every one is taken plus the bias.
 */
#include "vdso.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <elf.h>
#include <sys/auxv.h>
#include <unistd.h>

#ifdef __powerpc__
/* What vdso_call_powerpc leaves behind */
struct vdso_call_result {
	unsigned long r3;
	unsigned long r4;
	unsigned long cr;
};

extern "C" void vdso_call_powerpc(vdso_call_result *result,
				  const void *function, unsigned long a,
				  unsigned long b, unsigned long c,
				  unsigned long d);
#endif

namespace vdso
{

namespace
{

std::uint32_t sysv_hash(std::string_view name)
{
	std::uint32_t h = 0;

	for (const char c : name) {
		h = (h << 4) + static_cast<unsigned char>(c);
		h = (h ^ ((h & 0xf0000000U) >> 24)) & 0x0fffffffU;
	}
	return h;
}

std::uint32_t gnu_hash(std::string_view name)
{
	std::uint32_t h = 5381;

	for (const char c : name)
		h = h * 33 + static_cast<unsigned char>(c);
	return h;
}

/* DT_HASH: how many buckets, how many symbols, the buckets, the chains */
class SysvHash {
    public:
	explicit SysvHash(const std::uint32_t *table)
		: buckets_(table[0]), symbols_(table[1]), bucket_(table + 2)
	{
	}

	std::uint32_t symbols() const
	{
		return symbols_;
	}

	std::uint32_t first(std::uint32_t hash) const
	{
		return bucket_[hash % buckets_];
	}

	std::uint32_t next(std::uint32_t index) const
	{
		return bucket_[buckets_ + index];
	}

    private:
	std::uint32_t buckets_, symbols_;
	const std::uint32_t *bucket_;
};

/*
 * DT_GNU_HASH: the symbols of a bucket are neighbours in the symbol table, and
 * the lowest bit of a chain word marks the last of them.
 */
class GnuHash {
    public:
	explicit GnuHash(const std::uint32_t *table)
		: buckets_(table[0]), offset_(table[1]),
		  bloom_(at<const ElfW(Addr)>(
			  reinterpret_cast<std::uintptr_t>(table + 4))),
		  bloom_size_(table[2]), bloom_shift_(table[3]),
		  bucket_(at<const std::uint32_t>(
			  reinterpret_cast<std::uintptr_t>(bloom_ +
							   bloom_size_))),
		  chain_(bucket_ + buckets_)
	{
	}

	std::uint32_t buckets() const
	{
		return buckets_;
	}

	std::uint32_t bucket(std::uint32_t n) const
	{
		return bucket_[n];
	}

	std::uint32_t chain(std::uint32_t index) const
	{
		return chain_[index - offset_];
	}

	bool may_have(std::uint32_t hash) const
	{
		constexpr unsigned int bits = 8 * sizeof(ElfW(Addr));
		const ElfW(Addr) word = bloom_[hash / bits % bloom_size_];

		return (word >> (hash % bits) & 1) &&
		       (word >> ((hash >> bloom_shift_) % bits) & 1);
	}

    private:
	std::uint32_t buckets_, offset_;
	const ElfW(Addr) * bloom_;
	std::uint32_t bloom_size_, bloom_shift_;
	const std::uint32_t *bucket_, *chain_;
};

} // namespace

std::optional<Image> Image::self()
{
	const unsigned long base = getauxval(AT_SYSINFO_EHDR);

	if (!base)
		return std::nullopt;
	return Image(base);
}

Image::Image(std::uintptr_t base) : base_(base)
{
	const auto *ehdr = at<const ElfW(Ehdr)>(base);
	const auto *phdr = at<const ElfW(Phdr)>(base + ehdr->e_phoff);
	const ElfW(Dyn) *dynamic = nullptr;

	for (int i = 0; i < ehdr->e_phnum; i++) {
		if (phdr[i].p_type == PT_LOAD) {
			bias_ = base - phdr[i].p_vaddr + phdr[i].p_offset;
			end_ = bias_ + phdr[i].p_vaddr + phdr[i].p_memsz;
		} else if (phdr[i].p_type == PT_DYNAMIC) {
			dynamic = at<const ElfW(Dyn)>(base + phdr[i].p_offset);
		}
	}
	std::uintptr_t soname = 0;

	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		const std::uintptr_t address = bias_ + dynamic->d_un.d_ptr;

		switch (dynamic->d_tag) {
		case DT_SYMTAB:
			symtab_ = at<const ElfW(Sym)>(address);
			break;
		case DT_STRTAB:
			strtab_ = at<const char>(address);
			break;
		case DT_HASH:
			hash_ = at<const std::uint32_t>(address);
			break;
		case DT_GNU_HASH:
			gnu_hash_ = at<const std::uint32_t>(address);
			break;
		case DT_VERSYM:
			versym_ = at<const std::uint16_t>(address);
			break;
		case DT_VERDEF:
			verdef_ = at<const ElfW(Verdef)>(address);
			break;
		case DT_VERDEFNUM:
			verdefnum_ = dynamic->d_un.d_val;
			break;
		case DT_SONAME:
			soname = dynamic->d_un.d_val;
			break;
		default:
			break;
		}
	}
	if (strtab_ && soname)
		soname_ = strtab_ + soname;
}

std::string Image::soname() const
{
	return soname_ ? soname_ : "";
}

std::string Image::version_of(std::size_t index) const
{
	constexpr std::uint16_t hidden = 0x8000;

	if (!versym_ || !verdef_)
		return "";

	const std::uint16_t wanted = versym_[index] & ~hidden;
	auto address = reinterpret_cast<std::uintptr_t>(verdef_);

	for (std::size_t i = 0; i < verdefnum_; i++) {
		const auto *def = at<const ElfW(Verdef)>(address);
		const auto *aux =
			at<const ElfW(Verdaux)>(address + def->vd_aux);

		if (!(def->vd_flags & VER_FLG_BASE) && def->vd_ndx == wanted)
			return strtab_ + aux->vda_name;
		address += def->vd_next;
	}
	return "";
}

std::size_t Image::symbol_count() const
{
	if (hash_)
		return SysvHash(hash_).symbols();
	if (!gnu_hash_)
		return 0;

	const GnuHash table(gnu_hash_);
	std::uint32_t last = 0;

	for (std::uint32_t i = 0; i < table.buckets(); i++)
		last = std::max(last, table.bucket(i));
	if (last)
		while (!(table.chain(last) & 1))
			last++;
	return last + 1;
}

const void *Image::address_of(std::size_t index) const
{
	return at<const void>(bias_ + symtab_[index].st_value);
}

bool Image::matches(std::size_t index, std::string_view name) const
{
	return symtab_[index].st_shndx != SHN_UNDEF &&
	       name == strtab_ + symtab_[index].st_name &&
	       version_of(index) == version;
}

const void *Image::find_sysv(std::string_view name) const
{
	if (!hash_)
		return nullptr;

	const SysvHash table(hash_);

	for (std::uint32_t i = table.first(sysv_hash(name)); i != STN_UNDEF;
	     i = table.next(i))
		if (matches(i, name))
			return address_of(i);
	return nullptr;
}

const void *Image::find_gnu(std::string_view name) const
{
	if (!gnu_hash_)
		return nullptr;

	const GnuHash table(gnu_hash_);
	const std::uint32_t hash = gnu_hash(name);

	if (!table.may_have(hash))
		return nullptr;

	std::uint32_t i = table.bucket(hash % table.buckets());

	if (!i)
		return nullptr;
	for (;; i++) {
		if ((table.chain(i) | 1) == (hash | 1) && matches(i, name))
			return address_of(i);
		if (table.chain(i) & 1)
			return nullptr;
	}
}

const void *Image::find(std::string_view name) const
{
	return gnu_hash_ ? find_gnu(name) : find_sysv(name);
}

std::vector<Symbol> Image::symbols() const
{
	std::vector<Symbol> all;
	const std::size_t count = symbol_count();

	for (std::size_t i = 1; i < count; i++) {
		const ElfW(Sym) &sym = symtab_[i];

		/* The version's own name is an absolute symbol, not code */
		if (sym.st_shndx == SHN_UNDEF || sym.st_shndx == SHN_ABS)
			continue;
		all.push_back({ strtab_ + sym.st_name, version_of(i),
				bias_ + sym.st_value, sym.st_size });
	}
	return all;
}

std::vector<Mapping> mappings()
{
	std::ifstream maps("/proc/self/maps");
	std::vector<Mapping> all;
	std::string line;

	while (std::getline(maps, line)) {
		std::istringstream words(line);
		Mapping m{};
		std::string offset, device, inode;
		char dash;

		words >> std::hex >> m.start >> dash >> m.end >> m.perms >>
			offset >> device >> inode >> m.name;
		all.push_back(m);
	}
	return all;
}

std::vector<Mapping> mappings(std::string_view name)
{
	std::vector<Mapping> all = mappings();

	std::erase_if(all, [&](const Mapping &m) { return m.name != name; });
	return all;
}

#ifdef __powerpc__

Result call(const void *function, unsigned long a, unsigned long b,
	    unsigned long c, unsigned long d)
{
	constexpr unsigned long cr0_so = 0x10000000;
	vdso_call_result result{};

	vdso_call_powerpc(&result, function, a, b, c, d);
	return { (result.cr & cr0_so) != 0, static_cast<long>(result.r3),
		 static_cast<long>(result.r4) };
}

#else

Result call(const void *function, unsigned long a, unsigned long b,
	    unsigned long c, unsigned long d)
{
	using Function = long(unsigned long, unsigned long, unsigned long,
			      unsigned long);
	constexpr int max_errno = 4095;
	const long value = pointer<Function>(function)(a, b, c, d);
	/* All but time() return an int; the rest of the register is anything */
	const int error = static_cast<int>(value);

	if (error < 0 && error >= -max_errno)
		return { true, -error, 0 };
	return { false, value, 0 };
}

#endif

Result system_call(long number, unsigned long a, unsigned long b,
		   unsigned long c, unsigned long d)
{
	const long value = syscall(number, a, b, c, d);

	if (value == -1)
		return { true, errno, 0 };
	return { false, value, 0 };
}

void *make_pointer(const void *function)
{
#if defined(__powerpc64__) && (!defined(_CALL_ELF) || _CALL_ELF == 1)
	/* Entry, TOC, environment: the vDSO uses neither of the last two */
	return new std::array<std::uintptr_t, 3>{
		reinterpret_cast<std::uintptr_t>(function), 0, 0
	};
#else
	return const_cast<void *>(function);
#endif
}

} // namespace vdso
