// SPDX-License-Identifier: GPL-2.0-only
/*
 * A vDSO that is not where the kernel has put it.
 *
 * A process may move its vDSO; restoring a checkpoint does. The code must then
 * find its data at the same distance as before, and the kernel must find the
 * code: a signal handler returns to an instruction of the vDSO, whose address
 * the kernel writes into the signal frame. Where that is no longer there, it
 * must take the few instructions that it has put on the stack instead.
 *
 * x86-64 has no such instructions in its vDSO. There the signal cases only
 * show that delivery goes on.
 */
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clocks.h"
#include "ktap.h"
#include "relocate.h"
#include "vdso.h"

namespace
{

using relocate::Order;

#ifdef __powerpc__
constexpr bool returns_through_vdso = true;
#else
constexpr bool returns_through_vdso = false;
#endif

/* Written by the handlers; what they return to is their first news */
volatile std::uintptr_t handler_returns_to;
volatile sig_atomic_t handler_runs;
volatile std::uintptr_t handler_stack;

void note(void *returns_to, void *frame)
{
	handler_returns_to = reinterpret_cast<std::uintptr_t>(returns_to);
	handler_stack = reinterpret_cast<std::uintptr_t>(frame);
	handler_runs = handler_runs + 1;
}

void plain_handler(int)
{
	note(__builtin_return_address(0), __builtin_frame_address(0));
}

void info_handler(int, siginfo_t *, void *)
{
	note(__builtin_return_address(0), __builtin_frame_address(0));
}

/*
 * The kernel makes another frame, with another trampoline, for a handler that
 * asks for a siginfo than for one that does not, where a process is 32 bits
 * wide; on 64 bit they are the same.
 */
struct Kind {
	const char *name;
	int flags;
};

constexpr Kind kinds[] = { { "without siginfo", 0 },
			   { "with siginfo", SA_SIGINFO } };

bool deliver(const Kind &kind, int more_flags)
{
	struct sigaction action {};
	const sig_atomic_t runs = handler_runs;

	action.sa_flags = kind.flags | more_flags;
	if (kind.flags & SA_SIGINFO)
		action.sa_sigaction = info_handler;
	else
		action.sa_handler = plain_handler;
	sigaction(SIGUSR1, &action, nullptr);
	vdso::system_call(SYS_kill, vdso::arg(getpid()), SIGUSR1);
	return handler_runs == runs + 1;
}

void check_signals(ktap::Case &t, const vdso::Image &image)
{
	for (const Kind &kind : kinds) {
		t.check(deliver(kind, 0), "%s: the handler did not run",
			kind.name);
		if (!returns_through_vdso)
			continue;
		t.check(image.contains(handler_returns_to),
			"%s: the handler returns to %#zx, the vDSO is at %#zx",
			kind.name, static_cast<std::size_t>(handler_returns_to),
			static_cast<std::size_t>(image.base()));
	}
}

void check_getcpu(ktap::Case &t, const vdso::Image &image)
{
	const void *function = image.function("getcpu");
	unsigned int cpu = ~0U, node = ~0U;

	if (!function)
		return;
	vdso::call(function, vdso::arg(&cpu), vdso::arg(&node));
	t.check(cpu < 4096 && node < 4096, "getcpu says CPU %u, node %u", cpu,
		node);
}

void check_getres(ktap::Case &t, const vdso::Image &image)
{
	const void *function = image.function("clock_getres");

	for (const clocks::Clock &clock : clocks::all_clocks) {
		vdso::Timespec ours{}, kernel{};

		if (!function)
			return;
		vdso::call(function, vdso::arg(clock.id), vdso::arg(&ours));
		vdso::system_call(SYS_clock_getres, vdso::arg(clock.id),
				  vdso::arg(&kernel));
		t.check(ours.sec == kernel.sec && ours.nsec == kernel.nsec,
			"clock_getres %s: %ld ns, the system call says %ld ns",
			clock.name, ours.nsec, kernel.nsec);
	}
}

void check_calls(ktap::Case &t, const vdso::Image &image)
{
	constexpr int times = 200;
	const std::vector<clocks::Source> sources = clocks::sources(image);

	t.check(!sources.empty(), "no function found at the new place");
	for (int i = 0; i < times; i++)
		for (const clocks::Source &source : sources) {
			const std::string complaint = clocks::complaint(
				source, clocks::bracket(source));

			t.check(complaint.empty(), "%s", complaint.c_str());
		}
	check_getcpu(t, image);
	check_getres(t, image);
}

std::optional<vdso::Image> moved(ktap::Case &t, Order order)
{
	const std::vector<vdso::Mapping> before = vdso::mappings("[vdso]");

	if (before.empty()) {
		t.lacking("this process has no vDSO");
		return std::nullopt;
	}

	const std::optional<vdso::Image> image = relocate::move(order);

	if (!image) {
		t.fail("mremap of the vDSO: %s", strerror(errno));
		return std::nullopt;
	}
	t.check(image->base() != before[0].start, "it has not moved");
	t.check(vdso::mappings("[vdso]").size() == 1,
		"not one [vdso] after the move");
	return image;
}

/* What the rest of the program rests on: all of it holds before a move */
void check_in_place(ktap::Case &t)
{
	const std::optional<vdso::Image> image = vdso::Image::self();

	if (!image)
		return t.lacking("this process has no vDSO");
	check_calls(t, *image);
	check_signals(t, *image);
}

void check_separate_data(ktap::Case &t)
{
	const std::vector<vdso::Mapping> parts = relocate::parts();

	if (parts.size() < 2)
		return t.lacking("no [vvar]: the data page is in the middle "
				 "of [vdso]");
	for (std::size_t i = 1; i < parts.size(); i++)
		t.check(parts[i].start == parts[i - 1].end,
			"a gap between %s and %s", parts[i - 1].name.c_str(),
			parts[i].name.c_str());
	t.check(parts.back().name == "[vdso]", "[vdso] is not the last");
	for (const vdso::Mapping &part : parts)
		t.check(part.name == "[vdso]" || part.perms[2] != 'x',
			"%s is executable", part.name.c_str());
}

void check_moved(ktap::Case &t, Order order)
{
	if (const auto image = moved(t, order)) {
		check_calls(t, *image);
		check_signals(t, *image);
	}
}

void check_moved_often(ktap::Case &t)
{
	for (int i = 0; i < 20 && !t.failed() && !t.skipped(); i++)
		check_moved(t, i & 1 ? Order::code_first : Order::data_first);
}

void check_moved_then_forked(ktap::Case &t)
{
	const auto image = moved(t, Order::data_first);

	if (!image)
		return;
	t.in_child([&](ktap::Case &child) {
		check_calls(child, *image);
		check_signals(child, *image);
	});
	check_moved(t, Order::data_first);
}

/* Without its data it cannot tell the time, but it still is the trampoline */
void check_code_moved_alone(ktap::Case &t)
{
	const std::vector<vdso::Mapping> code = vdso::mappings("[vdso]");

	if (relocate::parts().size() < 2)
		return t.lacking("no [vvar] that could stay behind");

	const std::size_t size = code[0].end - code[0].start;
	void *area = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	void *const target = mremap(vdso::at<void>(code[0].start), size, size,
				    MREMAP_MAYMOVE | MREMAP_FIXED, area);

	if (!t.check(target != MAP_FAILED, "mremap: %s", strerror(errno)))
		return;
	check_signals(t, vdso::Image(reinterpret_cast<std::uintptr_t>(target)));
}

/* It would leave the process with a trampoline that the kernel cannot find */
void check_part_refused(ktap::Case &t)
{
	const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
	const std::vector<vdso::Mapping> code = vdso::mappings("[vdso]");

	if (code.empty() || code[0].end - code[0].start <= page)
		return t.skip("[vdso] is not more than a page");

	void *area = mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	const void *target = mremap(vdso::at<void>(code[0].start), page, page,
				    MREMAP_MAYMOVE | MREMAP_FIXED, area);

	if (target != MAP_FAILED)
		return t.lacking("the kernel moves a part of [vdso]");
	t.check(errno == EINVAL, "mremap: %s", strerror(errno));
}

/*
 * The kernel then writes the trampoline on the stack, which only helps if that
 * can be executed: so the handler gets a stack that can.
 */
void check_unmapped(ktap::Case &t)
{
	constexpr std::size_t size = 1UL << 16;
	stack_t stack{};

#ifdef __i386__
	return t.skip("the kernel returns from signals through the vDSO, "
		      "whether it is there or not");
#endif
	stack.ss_size = size;
	stack.ss_sp = mmap(nullptr, size, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, nullptr))
		return t.skip("no executable stack: %s", strerror(errno));
	if (!t.check(relocate::unmap(), "munmap: %s", strerror(errno)))
		return;

	const auto low = reinterpret_cast<std::uintptr_t>(stack.ss_sp);

	for (const Kind &kind : kinds) {
		t.check(deliver(kind, SA_ONSTACK),
			"%s: the handler did not run", kind.name);
		t.check(handler_stack - low < size,
			"%s: the handler ran on another stack", kind.name);
		t.check(!returns_through_vdso ||
				handler_returns_to - low < size,
			"%s: the handler returns to %#zx, not to its stack",
			kind.name,
			static_cast<std::size_t>(handler_returns_to));
	}
}

} // namespace

int main(int argc, char **argv)
{
	ktap::Suite suite;

	suite.add("where the kernel has put it", check_in_place);
	suite.add("data before code, and not executable", check_separate_data);
	suite.add("moved, data first",
		  [](ktap::Case &t) { check_moved(t, Order::data_first); });
	suite.add("moved, code first",
		  [](ktap::Case &t) { check_moved(t, Order::code_first); });
	suite.add("moved again and again", check_moved_often);
	suite.add("moved, then forked", check_moved_then_forked);
	suite.add("only the code moved: signals", check_code_moved_alone);
	suite.add("a part alone does not move", check_part_refused);
	suite.add("unmapped: signals", check_unmapped);
	return suite.run(argc, argv);
}
