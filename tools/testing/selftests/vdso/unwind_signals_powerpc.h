/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process that gets the signals of vdso_unwind, and what it has in common
 * with the test that sends them.
 */
#ifndef VDSO_TEST_UNWIND_SIGNALS_POWERPC_H
#define VDSO_TEST_UNWIND_SIGNALS_POWERPC_H

#include <csignal>
#include <cstddef>
#include <cstdint>

#include "unwind_powerpc.h"

namespace unwind
{

constexpr std::size_t max_frames = 64;

/* What the unwinder says about a frame */
struct Frame {
	std::uintptr_t ip;
	std::uintptr_t stack_pointer;
	std::uintptr_t function;
};

/* Shared by the test and the process that gets the signals */
struct Shared {
	unwind_frame call;
	bool throws;
	unsigned int caught;
	unsigned int calls_since_signal;
	std::size_t frames;
	Frame frame[max_frames];
	/* In the frame that called the vDSO: r14 to r31 */
	unsigned long registers[18];
};

/* In memory that both see. A signal handler has no other way to it. */
extern Shared *shared;

constexpr int siginfo_signal = SIGUSR1;
constexpr int plain_signal = SIGUSR2;

/*
 * Makes the call of "shared" until it is killed. When it is made very often
 * without a signal, the process stops itself.
 */
void call_forever();

} // namespace unwind

#endif /* VDSO_TEST_UNWIND_SIGNALS_POWERPC_H */
