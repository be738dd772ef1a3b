// SPDX-License-Identifier: GPL-2.0-only
/*
 * What only powerpc's vDSO has: the timebase frequency, the map of system
 * calls, and making code that was just written visible to execution.
 */
#include "abi.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <string>

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace
{

using ktap::Case;
using vdso::arg;
using vdso::Image;
using vdso::Result;

/* "timebase	: 512000000" */
std::uint64_t cpuinfo_timebase()
{
	std::ifstream cpuinfo("/proc/cpuinfo");
	std::string line;

	while (std::getline(cpuinfo, line))
		if (line.starts_with("timebase"))
			return std::stoull(line.substr(line.find(':') + 1));
	return 0;
}

void check_tbfreq(Case &t, const void *function)
{
	const Result result = vdso::call(function);
	auto value = static_cast<std::uint64_t>(
		static_cast<unsigned long>(result.value));

	/* unsigned long long on both: a pair of registers on 32 bit */
	if (sizeof(long) == 4)
		value = value << 32 | static_cast<std::uint32_t>(result.high);
	t.check(!result.failed, "error %ld", result.value);
	t.check(value == cpuinfo_timebase(), "%llu, /proc/cpuinfo says %llu",
		static_cast<unsigned long long>(value),
		static_cast<unsigned long long>(cpuinfo_timebase()));
}

/*
 * Calls that do nothing, or do nothing with arguments that are all -1, and
 * numbers that are reserved for calls that Linux never had. Some depend on
 * the configuration, which is the point of the map.
 */
constexpr int sample[] = {
	SYS_getpid,
	SYS_gettid,
	SYS_getppid,
	SYS_clock_gettime,
	SYS_sched_yield,
	SYS_break,
	SYS_stty,
	SYS_gtty,
	SYS_ftime,
	SYS_prof,
	SYS_mpx,
	SYS_lock,
	SYS_bpf,
	SYS_userfaultfd,
	SYS_membarrier,
	SYS_kcmp,
	SYS_fanotify_init,
	SYS_inotify_init1,
	SYS_timerfd_create,
	SYS_perf_event_open,
	SYS_eventfd2,
	SYS_epoll_create1,
	SYS_semget,
	SYS_mq_unlink,
	SYS_io_destroy,
	SYS_swapoff,
	SYS_add_key,
	SYS_get_mempolicy,
	SYS_process_vm_readv,
	SYS_flock,
};

bool exists(int number)
{
	const auto all = ~0UL;
	const Result result = vdso::system_call(number, all, all, all, all);

	return !result.failed || result.value != ENOSYS;
}

/* Not every one of the last few may be configured; none is behind them */
bool is_count(unsigned int count)
{
	constexpr int few = 4;
	const auto end = static_cast<int>(count);
	bool before = false, behind = false;

	for (int i = 0; i < few; i++) {
		before |= exists(end - 1 - i);
		behind |= exists(end + i);
	}
	return before && !behind;
}

/* The first system call is the highest bit of the first word */
bool in_map(std::span<const std::uint32_t> map, int number)
{
	const auto n = static_cast<unsigned int>(number);

	return map[n / 32] & 0x80000000U >> n % 32;
}

void check_syscall_map(Case &t, const void *function)
{
	unsigned int count = 0;
	const Result result = vdso::call(function, arg(&count));
	const Result again = vdso::call(function, 0);
	unsigned int wrong = 0;

	t.check(!result.failed && !again.failed, "error");
	t.check(result.value == again.value, "another map with NULL");
	/* The map has a size: do not read behind it because of a bad count */
	if (!t.check(count < 1024 && is_count(count), "%u system calls", count))
		return;

	const auto *words = vdso::at<const std::uint32_t>(
		static_cast<unsigned long>(result.value));
	const std::span<const std::uint32_t> map(words, (count + 31) / 32);

	for (const int number : sample) {
		if (exists(number) == in_map(map, number))
			continue;
		wrong++;
		t.diag("system call %d: %s, in the map: %s", number,
		       exists(number) ? "exists" : "does not exist",
		       in_map(map, number) ? "yes" : "no");
	}
	if (wrong)
		t.lacking("%u of %zu system calls are wrong in the map: it was "
			  "not filled from the system call table",
			  wrong, std::size(sample));
}

constexpr std::uint32_t instruction_li_r3 = 0x38600000;
constexpr std::uint32_t instruction_blr = 0x4e800020;
constexpr std::size_t function_words = 16; /* one at each 64 bytes */

class Code {
    public:
	explicit Code(std::size_t functions) : functions_(functions)
	{
		void *map = mmap(nullptr, size(),
				 PROT_READ | PROT_WRITE | PROT_EXEC,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		words_ = map == MAP_FAILED ? nullptr :
					     static_cast<std::uint32_t *>(map);
	}

	~Code()
	{
		if (words_)
			munmap(words_, size());
	}

	Code(const Code &) = delete;
	Code &operator=(const Code &) = delete;

	bool valid() const
	{
		return words_ != nullptr;
	}

	std::size_t functions() const
	{
		return functions_;
	}

	std::size_t size() const
	{
		return functions_ * function_words * sizeof(std::uint32_t);
	}

	std::uint32_t *function(std::size_t n) const
	{
		return words_ + n * function_words;
	}

	/* Function n returns n + base */
	void write(unsigned int base) const
	{
		for (std::size_t n = 0; n < functions_; n++) {
			const auto value =
				static_cast<std::uint32_t>(base + n) & 0x7fff;

			function(n)[0] = instruction_li_r3 | value;
			function(n)[1] = instruction_blr;
		}
	}

    private:
	std::size_t functions_;
	std::uint32_t *words_;
};

/*
 * An emulator that notices stores to code cannot fail this; the instructions
 * that the function executes are checked by add_convention().
 */
void check_jit(Case &t, const void *function)
{
	const Code code(256);

	if (!code.valid())
		return t.skip("mmap of executable memory: %s", strerror(errno));
	for (unsigned int round = 0; round < 8; round++) {
		code.write(round * 300U);
		t.check(!vdso::call(function, arg(code.function(0)),
				    arg(code.function(0)) + code.size())
				 .failed,
			"error");
		for (std::size_t n = 0; n < code.functions(); n++) {
			const Result result = vdso::call(code.function(n));
			const auto want = static_cast<long>(round * 300UL + n);

			t.check(result.value == want,
				"round %u: old code at function %zu", round, n);
		}
	}
}

/* Ranges that start and end inside a block, and ranges without a byte */
void check_jit_ranges(Case &t, const void *function)
{
	const Code code(4);

	if (!code.valid())
		return t.skip("mmap of executable memory: %s", strerror(errno));

	const unsigned long start = arg(code.function(0));

	for (unsigned int i = 0; i < 64; i++) {
		const unsigned long at = start + i;

		code.write(i);
		t.check(!vdso::call(function, at, at).failed, "empty at %u", i);
		t.check(!vdso::call(function, at, at + 1).failed,
			"one byte at %u", i);
		t.check(!vdso::call(function, at, start + code.size() - i)
				 .failed,
			"unaligned at %u", i);
		vdso::call(function, start, start + code.size());
		for (std::size_t n = 0; n < code.functions(); n++)
			t.check(vdso::call(code.function(n)).value ==
					static_cast<long>(n) +
						static_cast<long>(i),
				"old code at function %zu", n);
	}
}

} // namespace

namespace abi
{

void add_services(ktap::Suite &suite, const Image &image)
{
	/* A missing function is a missing symbol: add_image() tells */
	if (const void *function = image.function("get_tbfreq"))
		suite.add("get_tbfreq is /proc/cpuinfo's",
			  [=](Case &t) { check_tbfreq(t, function); });
	if (const void *function = image.function("get_syscall_map"))
		suite.add("get_syscall_map agrees with ENOSYS",
			  [=](Case &t) { check_syscall_map(t, function); });
	if (const void *function = image.function("sync_dicache")) {
		suite.add("sync_dicache of new code",
			  [=](Case &t) { check_jit(t, function); });
		suite.add("sync_dicache of any range",
			  [=](Case &t) { check_jit_ranges(t, function); });
	}
}

} // namespace abi
