// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client of the vDSO that nobody wrote for it: a program whose signal handler
 * throws. A timer's signal comes wherever a loop of clock reading happens to be; when
 * that is in the vDSO, the exception has to find its way through the signal's frame,
 * the vDSO and libc to where the loop is.
 *
 *	throw [COUNT]
 *
 * until COUNT exceptions have come out of the vDSO. It says from how many different
 * instructions; the selftest vdso_unwind takes all of them, on powerpc, by breakpoints.
 */
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include <link.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

namespace
{

struct Interrupted {
	std::uintptr_t where;
};

std::uintptr_t image_start, image_end;

std::uintptr_t program_counter(const ucontext_t *context)
{
#if defined(__powerpc64__)
	return context->uc_mcontext.gp_regs[32];
#elif defined(__powerpc__)
	return context->uc_mcontext.uc_regs->gregs[32];
#elif defined(__x86_64__)
	return static_cast<std::uintptr_t>(context->uc_mcontext.gregs[REG_RIP]);
#else
	return static_cast<std::uintptr_t>(context->uc_mcontext.gregs[REG_EIP]);
#endif
}

void on_signal(int, siginfo_t *, void *context)
{
	const std::uintptr_t where =
		program_counter(static_cast<ucontext_t *>(context));

	if (where >= image_start && where < image_end)
		throw Interrupted{ where };
}

/* Where the code ends: what is loaded, as the image itself says */
bool find_image()
{
	image_start = getauxval(AT_SYSINFO_EHDR);
	if (!image_start)
		return false;

	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	const auto *ehdr = reinterpret_cast<const ElfW(Ehdr) *>(image_start);
	const auto *phdr = reinterpret_cast<const ElfW(Phdr) *>(
		/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
		reinterpret_cast<const char *>(ehdr) + ehdr->e_phoff);

	for (unsigned int i = 0; i < ehdr->e_phnum; i++)
		if (phdr[i].p_type == PT_LOAD)
			image_end = image_start + phdr[i].p_memsz;
	return image_end > image_start;
}

/* Through pointers, as libc's headers promise that these do not throw */
int (*volatile get_time)(clockid_t, timespec *) = clock_gettime;
int (*volatile get_time_of_day)(timeval *, void *) = gettimeofday;

[[gnu::noinline]] void read_clocks()
{
	for (;;) {
		timespec ts{};
		timeval tv{};

		get_time(CLOCK_MONOTONIC, &ts);
		get_time(CLOCK_REALTIME_COARSE, &ts);
		get_time(CLOCK_TAI, &ts);
		get_time_of_day(&tv, nullptr);
	}
}

} // namespace

int main(int argc, char **argv)
{
	constexpr long interval_usec = 700;
	const unsigned long wanted = argc > 1 ? std::stoul(argv[1]) : 1000;
	const itimerval interval = { { 0, interval_usec },
				     { 0, interval_usec } };
	std::set<std::uintptr_t> places;
	struct sigaction action {};
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	if (!find_image()) {
		fputs("throw: the kernel gives no vDSO\n", stderr);
		return 1;
	}
	/*
	 * Without SA_NODEFER: a second signal could come before the handler's first
	 * instruction, in the vDSO's trampoline, and the exception would go to wherever
	 * the first one came.
	 */
	action.sa_flags = SA_SIGINFO;
	action.sa_sigaction = on_signal;
	sigaction(SIGALRM, &action, nullptr);
	setitimer(ITIMER_REAL, &interval, nullptr);
	for (unsigned long count = 0; count < wanted; count++) {
		try {
			read_clocks();
		} catch (const Interrupted &interrupted) {
			places.insert(interrupted.where);
			/* What a handler does that returns */
			sigprocmask(SIG_UNBLOCK, &alarm, nullptr);
		}
	}

	const itimerval never{};

	setitimer(ITIMER_REAL, &never, nullptr);
	printf("%lu exceptions out of the vDSO, from %zu instructions\n",
	       wanted, places.size());
	return places.size() > 1 ? 0 : 1;
}
