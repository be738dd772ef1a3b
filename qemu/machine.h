/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A machine file, qemu/machines/<name>: lines "KEY = value" and "#" comments,
 * so that make can include it and this can read it. A key, and who uses it:
 *
 *	ARCH CROSS_COMPILE	make: as in the kernel's Makefile
 *	CONFIG			make: fragments in qemu/config/ for allnoconfig
 *	CONFIG_PATCHED		make: more of them, for the patched kernel only
 *	IMAGE			make: what to boot, in the kernel's build tree
 *	TARGET			make: the kernel's target for it, if not its name
 *	KERNEL_OF		make: the machine whose kernel it boots, if not
 *				one of its own
 *	TRIPLES			make: programs are built and run for each
 *	TESTS			make: lists in qemu/tests/ beyond common.list
 *				and <ARCH>.list
 *	SEED			report: for each triple the name of the seed's
 *				table in qemu/seed/, or -
 *	QEMU QEMU_ARGS		runner: program and machine
 *	SMP			runner: CPUs; the timing boot has one
 *	CONSOLE VERDICT		runner: the guest's names of the first and the
 *				second -serial
 *	ICOUNT			runner: -icount of the timing boot; without it
 *				there is none
 *	VERDICT_DEVICE		runner: -device for the second console, where
 *				the board has only one -serial
 *	MODES MODES_PATCHED	make: boots beside test and the timing boot; the
 *				latter for the patched kernel only
 *	APPEND APPEND_<MODE>	runner: more of a kernel command line, of all
 *				boots or those of a mode
 *	ACCEL			runner: kvm for a guest of KVM: this host's, or
 *				one that runs in HOST
 *	HOST HOST_ARGS		runner: the machine that is KVM's host when this
 *				host is none, and more arguments for its QEMU
 *	HOST_FILES		make: firmware that QEMU needs there
 *	DTB			runner: a device tree, if the board needs one; in
 *				the kernel's build tree, as IMAGE is
 *	END			runner: poweroff (default) or reboot
 *	TIMEOUT			runner: seconds of silence that mean a hang
 */
#pragma once

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

/* A mistake in a file or on a command line; what() is the one line to show. */
class UserError : public std::runtime_error {
	using std::runtime_error::runtime_error;
};

class Machine {
    public:
	explicit Machine(const std::filesystem::path &file);

	const std::string &name() const
	{
		return name_;
	}
	/* The value of a key that must be there. */
	const std::string &get(const std::string &key) const;
	std::string get(const std::string &key,
			const std::string &otherwise) const;
	std::vector<std::string> words(const std::string &key) const;
	int number(const std::string &key) const;

    private:
	std::filesystem::path file_;
	std::string name_;
	std::map<std::string, std::string> values_;
};
