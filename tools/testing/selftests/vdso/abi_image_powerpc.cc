// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the image exports, and where it is mapped.
 *
 * The set of symbols is compared exactly: a name that is lost breaks who looks
 * it up, and one that is added by accident becomes ABI the day it is released.
 */
#include "abi.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <set>
#include <string>

#include <elf.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

using ktap::Case;
using ktap::Expect;
using vdso::Image;

constexpr bool wide = sizeof(long) == 8;

/*
 * A 32 bit kernel can tell the CPU only if there is one: the special purpose
 * register that holds its number is for 64 bit processors.
 */
bool has_getcpu()
{
	utsname name{};

	uname(&name);
	return wide || !strncmp(name.machine, "ppc64", 5) ||
	       !strstr(name.version, "SMP");
}

std::set<std::string> common_symbols()
{
	std::set<std::string> names = {
		"__kernel_clock_getres",    "__kernel_clock_gettime",
		"__kernel_get_syscall_map", "__kernel_get_tbfreq",
		"__kernel_gettimeofday",    "__kernel_sync_dicache",
		"__kernel_sync_dicache_p5", "__kernel_time",
	};

	if (wide)
		names.insert({ "__kernel_start_sigtramp_rt64",
			       "__kernel_sigtramp_rt64" });
	else
		names.insert(
			{ "__kernel_sigtramp32", "__kernel_sigtramp_rt32" });
	if (has_getcpu())
		names.insert("__kernel_getcpu");
	return names;
}

std::set<std::string> base_symbols()
{
	/* For the kernel alone, which wrote the offset there at boot */
	return { "__kernel_datapage_offset" };
}

std::set<std::string> patched_symbols()
{
	if (wide)
		return {};
	return { "__kernel_clock_gettime64", "__kernel_clock_getres_time64" };
}

bool is_patched(const Image &image)
{
	if (ktap::expect() != Expect::unset)
		return ktap::expect() == Expect::patched;
	return !image.find("__kernel_datapage_offset");
}

void check_symbols(Case &t, const Image &image)
{
	std::set<std::string> want = common_symbols(), have;

	want.merge(is_patched(image) ? patched_symbols() : base_symbols());
	for (const auto &symbol : image.symbols()) {
		have.insert(symbol.name);
		t.check(want.count(symbol.name), "unexpected: %s",
			symbol.name.c_str());
		t.check(symbol.version == vdso::version, "%s has version '%s'",
			symbol.name.c_str(), symbol.version.c_str());
	}
	for (const auto &name : want)
		t.check(have.count(name), "missing: %s", name.c_str());
}

void check_lookup(Case &t, const Image &image)
{
	t.check(image.has_sysv_hash(), "no DT_HASH");
	t.check(image.has_gnu_hash(), "no DT_GNU_HASH");
	if (t.failed())
		return;
	for (const auto &symbol : image.symbols())
		abi::check_found(t, image, symbol);
	for (const char *name : { "__kernel_no_such", "", "clock_gettime" })
		t.check(!image.find_sysv(name) && !image.find_gnu(name),
			"finds '%s'", name);
}

/* A symbol that is data or not an instruction's address cannot be called */
void check_text(Case &t, const Image &image)
{
	for (const auto &symbol : image.symbols()) {
		t.check(image.contains(symbol.address) &&
				symbol.address % 4 == 0,
			"%s is at %#lx", symbol.name.c_str(),
			static_cast<long>(symbol.address));
		/* Programs that copy or profile functions want the size */
		t.check(symbol.size ||
				symbol.name == "__kernel_datapage_offset",
			"%s has no size", symbol.name.c_str());
	}
}

void check_vdso_mapping(Case &t, const Image &image)
{
	const auto maps = vdso::mappings("[vdso]");

	if (!t.check(maps.size() == 1, "%zu mappings named [vdso]",
		     maps.size()))
		return;
	t.check(maps[0].start == image.base(),
		"AT_SYSINFO_EHDR is %#lx, [vdso] is at %#lx",
		static_cast<long>(image.base()),
		static_cast<long>(maps[0].start));
	t.check(image.end() <= maps[0].end,
		"the image ends at %#lx, [vdso] %#lx",
		static_cast<long>(image.end()), static_cast<long>(maps[0].end));
	t.check(maps[0].perms == "r-xp", "permissions %s",
		maps[0].perms.c_str());
}

void check_vvar_mapping(Case &t, const Image &image)
{
	const auto maps = vdso::mappings("[vvar]");

	if (maps.empty())
		return t.lacking("no [vvar]: the data page is in [vdso]");
	t.check(maps.size() == 1, "%zu mappings named [vvar]", maps.size());
	t.check(maps[0].end == image.base(),
		"[vvar] ends at %#lx and [vdso] starts at %#lx",
		static_cast<long>(maps[0].end),
		static_cast<long>(image.base()));
	t.check(maps[0].perms == "r--p", "permissions %s",
		maps[0].perms.c_str());
}

/* Where the kernel puts the vDSO of a program that it has just started */
std::uintptr_t base_after_exec(Case &t)
{
	std::uintptr_t base = 0;
	const pid_t pid = fork();

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
		execl("/proc/self/exe", "vdso_abi", nullptr);
		_exit(1);
	}
	if (pid < 0 || waitpid(pid, nullptr, 0) < 0) {
		t.fail("fork: %s", strerror(errno));
		return 0;
	}

	std::ifstream auxv("/proc/" + std::to_string(pid) + "/auxv",
			   std::ios::binary);
	ElfW(auxv_t) entry;

	while (auxv.read(reinterpret_cast<char *>(&entry), sizeof(entry)))
		if (entry.a_type == AT_SYSINFO_EHDR)
			base = entry.a_un.a_val;
	kill(pid, SIGKILL);
	waitpid(pid, nullptr, 0);
	t.check(base != 0, "no AT_SYSINFO_EHDR in a new program");
	return base;
}

bool randomises()
{
	std::ifstream sysctl("/proc/sys/kernel/randomize_va_space");
	int value = 0;

	sysctl >> value;
	return value > 0 && !(personality(0xffffffff) & ADDR_NO_RANDOMIZE);
}

void check_randomised(Case &t)
{
	constexpr int runs = 8;
	std::set<std::uintptr_t> bases;

	if (!randomises())
		return t.skip("address space randomisation is off");
	for (int i = 0; i < runs; i++)
		bases.insert(base_after_exec(t));
	if (bases.size() == 1)
		t.lacking("at %#lx in each of %d programs",
			  static_cast<long>(*bases.begin()), runs);
}

} // namespace

namespace abi
{

void add_image(ktap::Suite &suite, const Image &image)
{
	suite.add("symbols", [=](Case &t) { check_symbols(t, image); });
	suite.add("both hash tables find each symbol",
		  [=](Case &t) { check_lookup(t, image); });
	suite.add("symbols are functions",
		  [=](Case &t) { check_text(t, image); });
	suite.add("soname", [=](Case &t) {
		const char *want =
			wide ? "linux-vdso64.so.1" : "linux-vdso32.so.1";

		check_soname(t, image, want);
	});
	suite.add("[vdso] mapping",
		  [=](Case &t) { check_vdso_mapping(t, image); });
	suite.add("randomised address", check_randomised);
	suite.add("[vvar] mapping",
		  [=](Case &t) { check_vvar_mapping(t, image); });
}

} // namespace abi
