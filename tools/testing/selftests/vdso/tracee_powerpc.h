/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A process that calls vDSO functions under ptrace.
 *
 * Problem: what a vDSO call does to the registers and to the stack cannot be
 * seen from the process that makes the call. That process needs its stack
 * pointer, its TOC and its thread pointer, and it loses them if the call
 * breaks them.
 *
 * So the call is made by a process that does nothing else. Its parent writes
 * every register, stack pointer and thread pointer included, lets it run from
 * the function's first instruction, and reads every register when it is back.
 * The return address is one where no instruction can be: the fault there is
 * the end of the call, and the stack it runs on lies between two pages that
 * cannot be accessed.
 *
 * The mappings that calls use are shared, so the parent reads the results
 * where the call has written them.
 */
#ifndef VDSO_TEST_TRACEE_POWERPC_H
#define VDSO_TEST_TRACEE_POWERPC_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <asm/ptrace.h>
#include <sys/types.h>

#include "vdso.h"

/* Memory between two pages that fault */
class GuardedPages {
    public:
	explicit GuardedPages(std::size_t pages);
	~GuardedPages();
	GuardedPages(const GuardedPages &) = delete;
	GuardedPages &operator=(const GuardedPages &) = delete;

	std::uintptr_t start() const
	{
		return start_;
	}

	std::uintptr_t end() const
	{
		return start_ + size_;
	}

	std::span<std::uint8_t> bytes() const
	{
		return { vdso::at<std::uint8_t>(start_), size_ };
	}

    private:
	std::uintptr_t start_ = 0;
	std::size_t size_ = 0;
};

/* The register sets that exist on this CPU beside the general one */
struct FpState {
	std::vector<std::uint8_t> fpr, vmx, vsx;

	bool operator==(const FpState &) const = default;
};

/* Why a process has stopped */
struct Stop {
	enum class Why { trapped, signalled, gone };

	Why why;
	int signal; /* that it got, or that killed it */
	std::uintptr_t address; /* of a fault */

	std::string describe() const;
};

class Tracee {
    public:
	/* Runs the body, or with none only waits to be given registers */
	explicit Tracee(const std::function<void()> &body = {});
	~Tracee();
	Tracee(const Tracee &) = delete;
	Tracee &operator=(const Tracee &) = delete;

	pt_regs registers() const;
	void set_registers(const pt_regs &regs);

	FpState fp_state() const;
	void set_fp_state(const FpState &state);

	/* Runs on, and gives the signal, if not 0, to the process */
	Stop resume(int signal = 0);

	/* Executes one instruction */
	Stop step();

	/* The instruction that was there */
	std::uint32_t replace(std::uintptr_t pc, std::uint32_t instruction);

	/* Runs on until it is about to execute that instruction */
	Stop run_to(std::uintptr_t pc, int signal = 0);

    private:
	Stop wait();

	pid_t pid_;
};

#endif /* VDSO_TEST_TRACEE_POWERPC_H */
