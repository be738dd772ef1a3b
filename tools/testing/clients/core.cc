// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ends in the middle of a vDSO call, for a debugger to look at the core.
 *
 *	core CLOCK_GETTIME_STEPS
 *
 * A child reads the clock; it is stepped until it is at the first instruction of the
 * vDSO and that many further, and gets a signal there that makes it dump core. The core
 * goes to standard output, in hexadecimal digits, as a console that is in the way
 * would not leave bytes as they are.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <link.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace
{

constexpr const char *core_file = "/tmp/core";
constexpr std::uintptr_t image_pages = 1 << 14; /* no image is larger */

std::uintptr_t program_counter(pid_t pid)
{
#if defined(__powerpc__)
	constexpr std::uintptr_t index = 32; /* PT_NIP */
#elif defined(__x86_64__)
	constexpr std::uintptr_t index = 16; /* RIP */
#else
	constexpr std::uintptr_t index = 12; /* EIP */
#endif
	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	auto *offset = reinterpret_cast<void *>(index * sizeof(long));

	return static_cast<std::uintptr_t>(
		ptrace(PTRACE_PEEKUSER, pid, offset, nullptr));
}

} // namespace

/* What a backtrace has to show; not to be inlined, nor to be the last call */
extern "C" [[gnu::noinline]] int read_the_clock()
{
	timespec ts{};

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_nsec >= 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	const long wanted = argc > 1 ? std::atol(argv[1]) : 0;
	const std::uintptr_t image = getauxval(AT_SYSINFO_EHDR);
	const rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	int status = 0;
	long steps = -1;

	if (!image) {
		fputs("core: the kernel gives no vDSO\n", stderr);
		return 1;
	}
	std::ofstream("/proc/sys/kernel/core_pattern") << core_file;
	setrlimit(RLIMIT_CORE, &unlimited);

	const pid_t pid = fork();

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
		raise(SIGSTOP);
		_exit(read_the_clock());
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		const std::uintptr_t pc = program_counter(pid);

		if (pc - image < image_pages)
			steps++;
		if (steps == wanted)
			break;
		ptrace(PTRACE_SINGLESTEP, pid, nullptr, nullptr);
	}
	ptrace(PTRACE_CONT, pid, nullptr, SIGQUIT);
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) ||
	    !WCOREDUMP(status)) {
		fprintf(stderr, "core: none was dumped, status %#x\n",
			static_cast<unsigned int>(status));
		return 1;
	}

	std::ifstream file(core_file, std::ios::binary);
	const std::string bytes(std::istreambuf_iterator<char>(file), {});
	constexpr std::size_t line = 64;

	for (std::size_t i = 0; i < bytes.size(); i++)
		printf("%02x%s", static_cast<unsigned char>(bytes[i]),
		       i % line == line - 1 ? "\n" : "");
	printf("\n");
	return 0;
}
