// SPDX-License-Identifier: GPL-2.0-only
/*
 * The vDSO as an interface: what a program that was built ten years ago takes
 * for granted.
 *
 * Problem: nothing between a program and the vDSO can make up for a change.
 * The symbols are looked up by name and version, libc and the runtimes of
 * other languages call them with assembly of their own, and rely on what the
 * old assembly never did: touch the stack, r30, or a floating point register.
 *
 * The cases are in abi_*.cc. What can be compared with the system call is;
 * what concerns the processor's state is checked from outside, with ptrace,
 * on a process that makes nothing but the call (tracee_powerpc.h).
 */
#include <sys/auxv.h>
#include <time.h>

#include "abi.h"
#include "clocks.h"

namespace
{

/* What the command line can take away: vdso=0 or vdso32=0 */
constexpr const char *this_image = sizeof(long) == 8 ? "vdso64" : "vdso32";

clocks::Stamp libc_clock(clockid_t id)
{
	timespec ts{};

	clock_gettime(id, &ts);
	return { ts.tv_sec, ts.tv_nsec };
}

/* libc asks the kernel then, and nobody should notice */
void check_without(ktap::Case &t)
{
	t.check(!getauxval(AT_SYSINFO_EHDR), "there is one");
	for (const clocks::Clock &clock : clocks::all_clocks) {
		const clocks::Stamp before = clocks::system_clock(clock.id);
		const clocks::Stamp now = libc_clock(clock.id);
		const clocks::Stamp after = clocks::system_clock(clock.id);

		t.check(before <= now && now <= after,
			"libc: %s is %s between %s and %s", clock.name,
			clocks::text(now).c_str(), clocks::text(before).c_str(),
			clocks::text(after).c_str());
	}
}

} // namespace

int main(int argc, char **argv)
{
	ktap::Suite suite;
	const auto image = vdso::Image::self();

	if (ktap::without(this_image)) {
		suite.add("no image, and libc does without", check_without);
	} else if (image) {
		abi::add_image(suite, *image);
		abi::add_results(suite, *image);
#ifdef __powerpc__
		abi::add_services(suite, *image);
		abi::add_convention(suite, *image);
#endif
	} else {
		suite.add("image", [](ktap::Case &t) {
			t.lacking("AT_SYSINFO_EHDR: the kernel gives no vDSO");
		});
	}
	return suite.run(argc, argv);
}
