// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process that calls vDSO functions under ptrace: see tracee_powerpc.h.
 */
#include "tracee_powerpc.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include <elf.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

[[noreturn]] void fail(const char *what)
{
	throw std::system_error(errno, std::generic_category(), what);
}

/* The set's size is known to the kernel: what it does not have stays empty */
std::vector<std::uint8_t> get_regset(pid_t pid, unsigned long type)
{
	std::vector<std::uint8_t> set(1024);
	iovec iov{ set.data(), set.size() };

	if (ptrace(PTRACE_GETREGSET, pid, vdso::at<void>(type), &iov)) {
		if (errno == EINVAL || errno == ENODEV || errno == EIO)
			return {};
		fail("PTRACE_GETREGSET");
	}
	set.resize(iov.iov_len);
	return set;
}

void set_regset(pid_t pid, unsigned long type,
		const std::vector<std::uint8_t> &set)
{
	iovec iov{ const_cast<std::uint8_t *>(set.data()), set.size() };

	if (!set.empty() &&
	    ptrace(PTRACE_SETREGSET, pid, vdso::at<void>(type), &iov))
		fail("PTRACE_SETREGSET");
}

[[noreturn]] void run_body(const std::function<void()> &body)
{
	if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)) {
		perror("# PTRACE_TRACEME");
		_exit(1);
	}
	raise(SIGSTOP);
	if (body)
		body();
	fflush(stdout);
	_exit(0);
}

} // namespace

GuardedPages::GuardedPages(std::size_t pages)
{
	const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

	size_ = pages * page;
	void *map = mmap(nullptr, size_ + 2 * page, PROT_NONE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		fail("mmap");
	start_ = reinterpret_cast<std::uintptr_t>(map) + page;
	if (mprotect(vdso::at<void>(start_), size_, PROT_READ | PROT_WRITE))
		fail("mprotect");
}

GuardedPages::~GuardedPages()
{
	const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

	munmap(vdso::at<void>(start_ - page), size_ + 2 * page);
}

std::string Stop::describe() const
{
	char text[80];

	if (why == Why::gone)
		snprintf(text, sizeof(text), "gone: %s", strsignal(signal));
	else
		snprintf(text, sizeof(text), "%s, address %#lx",
			 strsignal(signal), static_cast<long>(address));
	return text;
}

Tracee::Tracee(const std::function<void()> &body)
{
	fflush(stdout);
	pid_ = fork();
	if (pid_ < 0)
		fail("fork");
	if (pid_ == 0)
		run_body(body);

	const Stop stop = wait();

	if (stop.why != Stop::Why::signalled || stop.signal != SIGSTOP)
		throw std::runtime_error("tracee: " + stop.describe());
	if (ptrace(PTRACE_SETOPTIONS, pid_, nullptr,
		   vdso::at<void>(PTRACE_O_EXITKILL)))
		fail("PTRACE_SETOPTIONS");
}

Tracee::~Tracee()
{
	kill(pid_, SIGKILL);
	while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR)
		;
}

pt_regs Tracee::registers() const
{
	pt_regs regs{};
	const auto set = get_regset(pid_, NT_PRSTATUS);

	if (set.size() < sizeof(regs))
		throw std::runtime_error("NT_PRSTATUS is too small");
	memcpy(&regs, set.data(), sizeof(regs));
	return regs;
}

void Tracee::set_registers(const pt_regs &regs)
{
	std::vector<std::uint8_t> set(sizeof(regs));

	memcpy(set.data(), &regs, sizeof(regs));
	set_regset(pid_, NT_PRSTATUS, set);
}

FpState Tracee::fp_state() const
{
	return { get_regset(pid_, NT_PRFPREG), get_regset(pid_, NT_PPC_VMX),
		 get_regset(pid_, NT_PPC_VSX) };
}

void Tracee::set_fp_state(const FpState &state)
{
	set_regset(pid_, NT_PRFPREG, state.fpr);
	set_regset(pid_, NT_PPC_VMX, state.vmx);
	set_regset(pid_, NT_PPC_VSX, state.vsx);
}

Stop Tracee::wait()
{
	int status = 0;
	siginfo_t info{};

	while (waitpid(pid_, &status, 0) < 0)
		if (errno != EINTR)
			fail("waitpid");
	if (WIFEXITED(status))
		return { Stop::Why::gone, 0, 0 };
	if (WIFSIGNALED(status))
		return { Stop::Why::gone, WTERMSIG(status), 0 };

	const int signal = WSTOPSIG(status);

	if (signal == SIGTRAP)
		return { Stop::Why::trapped, signal, 0 };
	ptrace(PTRACE_GETSIGINFO, pid_, nullptr, &info);
	return { Stop::Why::signalled, signal,
		 reinterpret_cast<std::uintptr_t>(info.si_addr) };
}

Stop Tracee::resume(int signal)
{
	const auto number = static_cast<unsigned long>(signal);

	if (ptrace(PTRACE_CONT, pid_, nullptr, vdso::at<void>(number)))
		fail("PTRACE_CONT");
	return wait();
}

Stop Tracee::step()
{
	if (ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr))
		fail("PTRACE_SINGLESTEP");
	return wait();
}

std::uint32_t Tracee::replace(std::uintptr_t pc, std::uint32_t instruction)
{
	const std::uintptr_t word = pc & ~(sizeof(long) - 1);
	std::uint8_t bytes[sizeof(long)];
	std::uint32_t old;

	errno = 0;
	const long was =
		ptrace(PTRACE_PEEKTEXT, pid_, vdso::at<void>(word), nullptr);

	if (errno)
		fail("PTRACE_PEEKTEXT");
	memcpy(bytes, &was, sizeof(bytes));
	memcpy(&old, bytes + (pc - word), sizeof(old));
	memcpy(bytes + (pc - word), &instruction, sizeof(instruction));

	unsigned long now;

	memcpy(&now, bytes, sizeof(now));
	if (ptrace(PTRACE_POKETEXT, pid_, vdso::at<void>(word),
		   vdso::at<void>(now)))
		fail("PTRACE_POKETEXT");
	return old;
}

Stop Tracee::run_to(std::uintptr_t pc, int signal)
{
	constexpr std::uint32_t trap = 0x7fe00008;
	const std::uint32_t instruction = replace(pc, trap);
	const Stop stop = resume(signal);

	if (stop.why != Stop::Why::gone)
		replace(pc, instruction);
	return stop;
}
