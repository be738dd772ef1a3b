/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The vDSO of this process: its image, its symbols, and how to call them.
 *
 * Problem: the tests must talk to the vDSO itself. libc hides it: it falls
 * back to the system call, turns errors into errno, and looks symbols up only
 * once. So the image is read here, from AT_SYSINFO_EHDR on, with nothing but
 * what the ELF file itself says: dynamic section, hash tables, versions.
 *
 * Only the words of the architecture differ (names, version, where a call puts
 * its error); they are kept in this file, vdso.cc and call_powerpc.S.
 */
#ifndef VDSO_TEST_VDSO_H
#define VDSO_TEST_VDSO_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <link.h>

namespace vdso
{

#ifdef __powerpc__
constexpr std::string_view prefix = "__kernel_";
constexpr std::string_view version = "LINUX_2.6.15";
#else
constexpr std::string_view prefix = "__vdso_";
constexpr std::string_view version = "LINUX_2.6";
#endif

/*
 * What the calls exchange. These are the kernel's types and not libc's, whose
 * time_t may be wider than a long.
 */
struct Timespec {
	long sec;
	long nsec;
};

struct Timespec64 {
	std::int64_t sec;
	std::int64_t nsec;
};

struct Timeval {
	long sec;
	long usec;
};

struct Timezone {
	int minuteswest;
	int dsttime;
};

/* The image and the maps speak of addresses as numbers */
template <typename T> T *at(std::uintptr_t address)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	return reinterpret_cast<T *>(address);
}

struct Symbol {
	std::string name;
	std::string version;
	std::uintptr_t address; /* in this process */
	std::size_t size;
};

/*
 * An image that is mapped at an address of this process. It holds no state of
 * its own: a mapping that was moved is a new Image at the new address.
 */
class Image {
    public:
	/* At AT_SYSINFO_EHDR; nothing when the kernel gives none */
	static std::optional<Image> self();

	explicit Image(std::uintptr_t base);

	std::uintptr_t base() const
	{
		return base_;
	}

	/* The first address behind the last loaded byte */
	std::uintptr_t end() const
	{
		return end_;
	}

	bool contains(std::uintptr_t address) const
	{
		return address >= base_ && address < end_;
	}

	/* Everything that is defined in the dynamic symbol table */
	std::vector<Symbol> symbols() const;

	/* By name and version, as a dynamic linker finds it */
	const void *find(std::string_view name) const;

	/* The same with the architecture's prefix: call("getcpu") */
	const void *function(std::string_view name) const
	{
		return find(std::string(prefix).append(name));
	}

	/* The two tables by themselves; an image may have one or both */
	bool has_sysv_hash() const
	{
		return hash_ != nullptr;
	}

	bool has_gnu_hash() const
	{
		return gnu_hash_ != nullptr;
	}

	const void *find_sysv(std::string_view name) const;
	const void *find_gnu(std::string_view name) const;

	std::string soname() const;

    private:
	bool matches(std::size_t index, std::string_view name) const;
	std::string version_of(std::size_t index) const;
	std::size_t symbol_count() const;
	const void *address_of(std::size_t index) const;

	std::uintptr_t base_;
	std::uintptr_t end_ = 0;
	std::uintptr_t bias_ = 0;
	const ElfW(Sym) *symtab_ = nullptr;
	const char *strtab_ = nullptr;
	const std::uint32_t *hash_ = nullptr;
	const std::uint32_t *gnu_hash_ = nullptr;
	const std::uint16_t *versym_ = nullptr;
	const ElfW(Verdef) *verdef_ = nullptr;
	std::size_t verdefnum_ = 0;
	const char *soname_ = nullptr;
};

/* A line of /proc/self/maps */
struct Mapping {
	std::uintptr_t start;
	std::uintptr_t end;
	std::string perms;
	std::string name;
};

std::vector<Mapping> mappings();

/* The mappings of that name, in order of address: [vdso], [vvar] */
std::vector<Mapping> mappings(std::string_view name);

/*
 * How a call ended, the same for the vDSO and for the system call: the error
 * is the positive errno. "high" is the second result register, which holds
 * the low half of a 64 bit result on a 32 bit big endian machine.
 */
struct Result {
	bool failed;
	long value;
	long high;

	bool operator==(const Result &) const = default;
};

/* Calls a vDSO function by its calling convention */
Result call(const void *function, unsigned long a = 0, unsigned long b = 0,
	    unsigned long c = 0, unsigned long d = 0);

/* Asks the kernel, without libc's emulations between */
Result system_call(long number, unsigned long a = 0, unsigned long b = 0,
		   unsigned long c = 0, unsigned long d = 0);

template <typename T> unsigned long arg(T *pointer)
{
	return reinterpret_cast<unsigned long>(pointer);
}

inline unsigned long arg(int number)
{
	return static_cast<unsigned long>(number);
}

/*
 * A plain function pointer, for a benchmark: no helper between. The errors of
 * powerpc are in the condition register and cannot be seen through it.
 *
 * In ELFv1 (ppc64 big endian) a function pointer is the address of a
 * descriptor. The vDSO has none: its symbols are the instructions, and the
 * descriptor is made here. It is never freed.
 */
void *make_pointer(const void *function);

template <typename Function> Function *pointer(const void *function)
{
	return reinterpret_cast<Function *>(make_pointer(function));
}

} // namespace vdso

#endif /* VDSO_TEST_VDSO_H */
