/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every call that the powerpc vDSO can take, as data.
 *
 * Problem: registers, stack, CFI and system calls are each to be checked for
 * every function, and a function has several paths: clocks, a null pointer,
 * the fallback to the system call, an error of it.
 *
 * So each path is one row of a table, and a check walks the table. The
 * arguments point into one Buffers, which may be shared with a tracee.
 */
#ifndef VDSO_TEST_CALLS_POWERPC_H
#define VDSO_TEST_CALLS_POWERPC_H

#include <array>
#include <string>
#include <vector>

#include "vdso.h"

struct Buffers {
	vdso::Timespec ts;
	vdso::Timespec64 ts64;
	vdso::Timeval tv;
	vdso::Timezone tz;
	long time;
	unsigned int cpu, node, count;
	alignas(128) std::array<std::uint8_t, 1024> code;
};

struct Call {
	/* How it must end. A result is any value that is no error. */
	enum class End { zero, result, error };

	/* Who must do it without a system call */
	enum class Served { always, patched, no_one };

	std::string name;
	const void *function;
	std::array<unsigned long, 2> args;
	End end;
	Served served;
};

/* The calls whose function is in the image */
std::vector<Call> all_calls(const vdso::Image &image, Buffers &buffers);

#endif /* VDSO_TEST_CALLS_POWERPC_H */
