// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the image is on every architecture: a library with a name, whose symbols
 * a dynamic linker finds.
 */
#include "abi.h"

namespace abi
{

void check_soname(ktap::Case &t, const vdso::Image &image, const char *want)
{
	t.check(image.soname() == want, "%s", image.soname().c_str());
}

/* By both hash tables, of which a libc takes either */
void check_found(ktap::Case &t, const vdso::Image &image,
		 const vdso::Symbol &symbol)
{
	const void *address = vdso::at<const void>(symbol.address);

	t.check(image.find_sysv(symbol.name) == address,
		"DT_HASH finds another %s", symbol.name.c_str());
	t.check(image.find_gnu(symbol.name) == address,
		"DT_GNU_HASH finds another %s", symbol.name.c_str());
}

} // namespace abi
