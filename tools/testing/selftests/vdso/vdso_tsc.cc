// SPDX-License-Identifier: GPL-2.0-only
/*
 * How the vDSO of an x86 machine reads the time: from which counter, by which
 * instruction, and without the kernel.
 *
 * Problem: a vDSO that quietly asks the kernel, or that has the other form of
 * the read than the command line asks for, gives the right time in every
 * other test. So another process watches here: it counts the system calls of
 * a thousand readings, and steps through one to see what is executed, which
 * is what the image is after the kernel has put its alternatives in.
 */
#include "clocks.h"
#include "ktap.h"
#include "vdso.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>

#include <signal.h>
#include <sys/klog.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

using ktap::Case;
using ktap::Expect;
using vdso::Image;

std::string read_file(const char *path)
{
	std::ifstream file(path);

	return { std::istreambuf_iterator<char>(file), {} };
}

/* The values of a parameter of the kernel command line, in order */
std::vector<std::string> parameter(const std::string &name)
{
	std::istringstream words(read_file("/proc/cmdline"));
	std::vector<std::string> values;

	for (std::string word; words >> word;)
		if (word.starts_with(name + "="))
			values.push_back(word.substr(name.size() + 1));
	return values;
}

bool cpu_has(const std::string &feature)
{
	std::istringstream words(read_file("/proc/cpuinfo"));

	for (std::string word; words >> word;)
		if (word == feature)
			return true;
	return false;
}

/*
 * In Linux 5.10 the first page of [vvar] is the host's; the word behind the
 * sequence count is the clock mode.
 */
constexpr std::uintptr_t vvar_data = 128;

struct Mode {
	const char *clocksource;
	std::int32_t number;
};

constexpr Mode modes[] = { { "tsc", 1 },
			   { "tsc-early", 1 },
			   { "kvm-clock", 2 } };

void check_mode(Case &t)
{
	std::string current = read_file(
		"/sys/devices/system/clocksource/clocksource0/current_clocksource");
	const auto wanted = parameter("clocksource");
	const auto vvar = vdso::mappings("[vvar]");

	while (!current.empty() && current.back() == '\n')
		current.pop_back();
	if (vvar.empty())
		return t.fail("no [vvar] in /proc/self/maps");
	if (!read_file("/proc/sys/kernel/osrelease").starts_with("5.10."))
		return t.skip("where the clock mode is, is known of 5.10 only");
	if (!wanted.empty() && current != wanted.back() &&
	    current != wanted.back() + "-early")
		return t.fail("clocksource %s, but the command line says %s",
			      current.c_str(), wanted.back().c_str());

	const auto mode = vdso::at<const volatile std::int32_t>(
		vvar.front().start + vvar_data)[1];

	t.diag("clocksource %s, vDSO clock mode %d", current.c_str(), mode);
	for (const auto &known : modes)
		if (current == known.clocksource)
			return static_cast<void>(t.check(
				mode == known.number,
				"clock mode %d with clocksource %s, expected %d",
				mode, known.clocksource, known.number));
	t.fail("the vDSO cannot read clocksource %s", current.c_str());
}

/* A process that is watched while it does one thing. */
class Watched {
    public:
	explicit Watched(const std::function<void()> &work) : pid_(fork())
	{
		if (pid_ == 0) {
			ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
			raise(SIGSTOP);
			work();
			_exit(0);
		}
		wait_stop();
		ptrace(PTRACE_SETOPTIONS, pid_, nullptr,
		       PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	}
	~Watched()
	{
		kill(pid_, SIGKILL);
		waitpid(pid_, nullptr, 0);
	}
	Watched(const Watched &) = delete;
	Watched &operator=(const Watched &) = delete;

	/* To the next system call, its entry or its return */
	bool next_system_call()
	{
		ptrace(PTRACE_SYSCALL, pid_, nullptr, nullptr);
		return wait_stop() && WSTOPSIG(status_) == (SIGTRAP | 0x80);
	}
	bool step()
	{
		ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr);
		return wait_stop();
	}
	user_regs_struct registers() const
	{
		user_regs_struct regs{};

		ptrace(PTRACE_GETREGS, pid_, nullptr, &regs);
		return regs;
	}
	std::uintptr_t ip() const
	{
#ifdef __x86_64__
		return registers().rip;
#else
		return static_cast<std::uintptr_t>(registers().eip);
#endif
	}
	long system_call_number() const
	{
#ifdef __x86_64__
		return static_cast<long>(registers().orig_rax);
#else
		return registers().orig_eax;
#endif
	}

    private:
	bool wait_stop()
	{
		return waitpid(pid_, &status_, 0) == pid_ &&
		       WIFSTOPPED(status_);
	}

	pid_t pid_;
	int status_ = 0;
};

/* Between two calls that nothing else makes: how many others there are */
constexpr long marker = SYS_getpgid;

int count_system_calls(const std::function<void()> &work)
{
	Watched child([&] {
		syscall(marker, 0);
		work();
		syscall(marker, 0);
	});
	int count = -1;

	while (child.next_system_call()) {
		if (child.system_call_number() == marker) {
			child.next_system_call();
			if (count >= 0)
				return count;
			count = 0;
		} else if (count >= 0) {
			count++;
			child.next_system_call();
		}
	}
	return -1;
}

constexpr int readings = 1000;

void check_no_system_call(Case &t, const clocks::Source &source)
{
	const int count = count_system_calls([&] {
		for (int i = 0; i < readings; i++)
			source.vdso();
	});

	t.check(count == 0, "%d system calls in %d readings", count, readings);
}

/* What counts must be able to count */
void check_counting(Case &t, const Image &image)
{
	const void *function = image.function("clock_gettime");
	const int count = count_system_calls([&] {
		vdso::Timespec ts;

		for (int i = 0; i < readings; i++)
			vdso::call(function, CLOCK_PROCESS_CPUTIME_ID,
				   vdso::arg(&ts));
	});

	t.check(count == readings,
		"%d system calls in %d readings of a clock that needs them",
		count, readings);
}

struct Executed {
	int steps = 0;
	int rdtsc = 0;
	int rdtscp = 0;
	int lfence = 0;
	bool lfence_before_each = true;
};

/* The image is the same in this process as in its child */
void look_at(std::uintptr_t ip, bool &after_lfence, Executed &seen)
{
	constexpr unsigned char ds_prefix = 0x3e;
	const auto *code = vdso::at<const unsigned char>(ip);

	while (*code == ds_prefix)
		code++;
	if (!memcmp(code, "\x0f\x31", 2)) {
		seen.rdtsc++;
		seen.lfence_before_each =
			seen.lfence_before_each && after_lfence;
	}
	seen.rdtscp += !memcmp(code, "\x0f\x01\xf9", 3);
	after_lfence = !memcmp(code, "\x0f\xae\xe8", 3);
	seen.lfence += after_lfence;
}

/*
 * Where a step is slower than the clock's tick, the reading starts again and
 * again; by then enough was seen.
 */
constexpr int most_steps = 20000;

Executed step_through(const Image &image, const clocks::Source &source)
{
	Watched child([&] { source.vdso(); });
	Executed seen;
	bool after_lfence = false;

	for (int i = 0; i < most_steps && child.step(); i++) {
		const std::uintptr_t ip = child.ip();

		if (image.contains(ip)) {
			seen.steps++;
			look_at(ip, after_lfence, seen);
		} else if (seen.rdtsc + seen.rdtscp) {
			break;
		}
	}
	return seen;
}

bool want_ordered()
{
	bool ordered = ktap::expect() != Expect::patched;

	if (!ordered)
		for (const auto &value : parameter("vdso_tsc"))
			if (value == "ordered" || value == "plain")
				ordered = value == "ordered";
	return ordered;
}

void check_read(Case &t, const Image &image, const clocks::Source &source)
{
	const Executed seen = step_through(image, source);
	const bool plain = seen.rdtsc && !seen.rdtscp && !seen.lfence;
	const bool rdtscp = seen.rdtscp && !seen.rdtsc && !seen.lfence;
	const bool fenced =
		seen.rdtsc && !seen.rdtscp && seen.lfence_before_each;

	t.diag("%d instructions: %d rdtsc, %d rdtscp, %d lfence", seen.steps,
	       seen.rdtsc, seen.rdtscp, seen.lfence);
	if (!want_ordered())
		t.check(plain, "not plain RDTSC");
	else if (cpu_has("rdtscp"))
		t.check(rdtscp, "not RDTSCP, which this CPU has");
	else
		t.check(fenced, "not LFENCE and RDTSC");
}

void check_report(Case &t)
{
	std::string log(1 << 18, '\0');
	const int size = klogctl(3, log.data(), static_cast<int>(log.size()));

	if (size < 0)
		return t.skip("kernel log: %s", strerror(errno));
	log.resize(static_cast<std::size_t>(size));
	for (const auto &value : parameter("vdso_tsc")) {
		if (value == "ordered" || value == "plain")
			continue;
		if (log.find("vdso_tsc=" + value + " is ignored") ==
		    std::string::npos)
			return t.lacking("vdso_tsc=%s: no word in the log",
					 value.c_str());
		return;
	}
	t.skip("no unknown vdso_tsc= on the command line of this boot");
}

} // namespace

int main(int argc, char **argv)
{
	ktap::Suite suite;
	const auto image = Image::self();

	if (!image) {
		suite.add("image", [](Case &t) {
			t.lacking("AT_SYSINFO_EHDR: the kernel gives no vDSO");
		});
		return suite.run(argc, argv);
	}
	suite.add("clock mode", check_mode);
	suite.add("system calls are counted",
		  [&](Case &t) { check_counting(t, *image); });
	for (const auto &source : clocks::sources(*image)) {
		suite.add(source.name() + " makes no system call",
			  [=](Case &t) { check_no_system_call(t, source); });
		if (!source.clock().coarse && source.api() != clocks::Api::time)
			suite.add(source.name() + " reads the TSC",
				  [=, &image](Case &t) {
					  check_read(t, *image, source);
				  });
	}
	suite.add("an unknown vdso_tsc is reported", check_report);
	return suite.run(argc, argv);
}
