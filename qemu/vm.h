/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One run of QEMU: start it, pass on what its two consoles print, and end it
 * when it is silent, late, or no longer wanted. It never outlives the runner.
 */
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "machine.h"

struct VmConfig {
	const Machine &machine;
	std::filesystem::path kernel;
	std::filesystem::path initrd;
	std::string append{}; /* beyond the consoles */
	/* Deterministic instead of concurrent: -icount and one CPU. */
	bool timing = false;
	std::string accel = "tcg";
	std::vector<std::string> more_args{}; /* of QEMU, after the machine's */
	/* The person's terminal is the guest's verdict console. */
	bool interactive = false;
	std::chrono::seconds silence{};
	std::chrono::seconds limit{};
	std::size_t output_limit = 0; /* bytes of both consoles, 0: any */
};

enum class VmEnd {
	exited, /* by itself */
	silent,
	over_limit,
	flooding, /* printed more than it may */
	lingering, /* settled long ago, but still there */
	interrupted,
};

struct VmResult {
	VmEnd end = VmEnd::exited;
	int status = 0; /* QEMU's own, as a shell reports it */
	double seconds = 0;
};

struct VmSinks {
	std::function<void(std::string_view)> log;
	std::function<void(std::string_view)> verdict;
	/* All is known; the guest has only a moment left to end by itself. */
	std::function<bool()> settled;
};

/* Of a kernel on the machine: consoles, how to end, and what is added. */
std::string kernel_arguments(const Machine &machine, const std::string &append);

/*
 * QEMU and its arguments for the machine, with the two consoles on the chardevs
 * "log" and "verdict", which are for the caller to add.
 */
std::vector<std::string> machine_arguments(const Machine &machine,
					   const std::string &accel,
					   bool timing);

VmResult run_vm(const VmConfig &config, const VmSinks &sinks);
