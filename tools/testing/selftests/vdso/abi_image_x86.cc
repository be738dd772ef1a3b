// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the images of x86 export, and where they are mapped. How the vDSO reads
 * its counter is no reason to export more, or less: the sets are exact.
 */
#include "abi.h"

#include <map>
#include <string>

namespace
{

using ktap::Case;
using vdso::Image;

using Symbols = std::map<std::string, std::string>;

Symbols expected()
{
	const std::string version(vdso::version);
	Symbols all;

	for (const char *name :
	     { "clock_gettime", "clock_getres", "gettimeofday", "time",
#ifdef __x86_64__
	       "getcpu"
#else
	       "clock_gettime64"
#endif
	     }) {
		all[std::string(vdso::prefix) + name] = version;
#ifdef __x86_64__
		all[name] = version;
#endif
	}
#ifdef __i386__
	for (const char *name : { "__kernel_vsyscall", "__kernel_sigreturn",
				  "__kernel_rt_sigreturn" })
		all[name] = "LINUX_2.5";
#endif
	return all;
}

void check_symbols(Case &t, const Image &image)
{
	const Symbols want = expected();
	Symbols have;

	for (const auto &symbol : image.symbols()) {
		have[symbol.name] = symbol.version;
		t.check(image.contains(symbol.address) && symbol.size,
			"%s is %zu bytes at %#zx", symbol.name.c_str(),
			symbol.size, static_cast<std::size_t>(symbol.address));
		if (!want.count(symbol.name))
			t.fail("unexpected: %s", symbol.name.c_str());
		else
			t.check(want.at(symbol.name) == symbol.version,
				"%s has version '%s'", symbol.name.c_str(),
				symbol.version.c_str());
	}
	for (const auto &[name, version] : want)
		t.check(have.count(name), "missing: %s", name.c_str());
}

void check_lookup(Case &t, const Image &image)
{
	for (const auto &symbol : image.symbols())
		if (symbol.version == vdso::version)
			abi::check_found(t, image, symbol);
	t.check(!image.find_sysv("__vdso_no_such") &&
			!image.find_gnu("__vdso_no_such"),
		"finds what is not there");
}

void check_mappings(Case &t, const Image &image)
{
	const auto code = vdso::mappings("[vdso]");
	const auto data = vdso::mappings("[vvar]");

	if (!t.check(code.size() == 1 && data.size() == 1,
		     "%zu mappings named [vdso], %zu named [vvar]", code.size(),
		     data.size()))
		return;
	t.check(code[0].start == image.base() && image.end() <= code[0].end,
		"AT_SYSINFO_EHDR is not where [vdso] is");
	t.check(data[0].end == code[0].start,
		"[vvar] does not end where [vdso] starts");
	t.check(code[0].perms == "r-xp" && data[0].perms == "r--p",
		"permissions %s and %s", code[0].perms.c_str(),
		data[0].perms.c_str());
}

} // namespace

namespace abi
{

void add_image(ktap::Suite &suite, const Image &image)
{
	suite.add("symbols", [=](Case &t) { check_symbols(t, image); });
	suite.add("both hash tables find each symbol",
		  [=](Case &t) { check_lookup(t, image); });
	suite.add("soname", [=](Case &t) {
#ifdef __x86_64__
		const char *want = "linux-vdso.so.1";
#else
		const char *want = "linux-gate.so.1";
#endif
		check_soname(t, image, want);
	});
	suite.add("mappings", [=](Case &t) { check_mappings(t, image); });
}

} // namespace abi
