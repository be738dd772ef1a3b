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
#include "abi.h"

int main(int argc, char **argv)
{
	ktap::Suite suite;
	const auto image = vdso::Image::self();

	if (image) {
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
