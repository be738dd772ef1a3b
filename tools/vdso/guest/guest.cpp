// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest: makes vDSO calls in a plain process, under qemu-user.
 *
 * It has no libc, so that it runs on a CPU without an FPU and so that every
 * byte of its address space but its own few pages is the lab's to lay out. The
 * job file (job.h) says what to map and what to call.
 *
 * A call may have an event: the page that the vDSO is about to read is closed,
 * the fault handler carries out the load in the vDSO's place, and what it
 * delivers or writes on the way is what a concurrent writer would have done.
 * That makes a busy sequence counter as repeatable as a quiet one.
 */
#include "job.h"
#include "arch.h"

namespace
{

struct native {
	using u32 = unsigned int;
	using u64 = unsigned long long;
};

using word = unsigned long;

constexpr int prot_none = 0, prot_read = 1, prot_write = 2;
constexpr int map_shared = 1, map_fixed = 0x10, map_private = 2;

const job::call<native> *current;
volatile unsigned event_seen;
unsigned long long page_size;

template <class T> T *at(unsigned long long addr)
{
	return reinterpret_cast<T *>(static_cast<word>(addr));
}

[[noreturn]] void die(const char *why)
{
	word len = 0;

	while (why[len])
		len++;
	arch::syscall(arch::sys_write, 2, reinterpret_cast<word>(why), len);
	arch::syscall(arch::sys_exit, 2);
	__builtin_unreachable();
}

word check(word ret, const char *why)
{
	if (ret > static_cast<word>(-4096L))
		die(why);
	return ret;
}

void copy_bytes(void *to, const void *from, unsigned long long size)
{
	auto *d = static_cast<volatile unsigned char *>(to);
	auto *s = static_cast<const unsigned char *>(from);

	if (((word)to | (word)from | size) % sizeof(word) == 0) {
		auto *dw = static_cast<volatile word *>(to);
		auto *sw = static_cast<const word *>(from);

		for (; size; size -= sizeof(word))
			*dw++ = *sw++;
		return;
	}
	while (size--)
		*d++ = *s++;
}

void protect(unsigned long long page, int prot)
{
	check(arch::syscall(arch::sys_mprotect, static_cast<word>(page),
			    static_cast<word>(page_size),
			    static_cast<word>(prot)),
	      "guest: mprotect failed\n");
}

/* Runs on the fault of an armed page; @pc and @gpr are the interrupted ones. */
void on_fault(int signal, arch::siginfo *info, void *context)
{
	arch::frame frame(context);
	word addr = arch::fault_address(info);
	bool seq_load;

	if (signal == arch::illegal_instruction) {
		if (!frame.emulate_instruction())
			die("guest: the vDSO has an instruction that this CPU lacks, try --cpu\n");
		return;
	}

	if (!current || current->event == job::none || event_seen)
		die("guest: the vDSO touched an address that is not its own\n");

	if (current->event == job::seq_odd_once) {
		protect(current->data_page, prot_read | prot_write);
		seq_load = addr <= current->seq && current->seq < addr + 8;
		event_seen = seq_load;
		if (!frame.emulate_load(addr, seq_load))
			die("guest: cannot carry out the load that was interrupted\n");
		if (!seq_load)
			protect(current->data_page, prot_none);
		return;
	}

	protect(current->counter_page, prot_read | prot_write);
	event_seen = 1;
	auto *seq = at<volatile unsigned int>(current->seq);
	*seq = *seq + 2;
	if (!frame.emulate_load(addr, false))
		die("guest: cannot carry out the load that was interrupted\n");
}

void run(const job::header<native> *job, const job::call<native> &call,
	 job::result<native> *result)
{
	auto *file = reinterpret_cast<const unsigned char *>(job);

	for (const auto &c : call.copies)
		if (c.size)
			copy_bytes(at<void>(c.addr), file + c.offset, c.size);
	if (call.counter_page)
		*at<volatile unsigned long long>(call.counter_page) =
			call.counter;
	for (unsigned i = 0; i < job::out_words; i++)
		at<volatile unsigned long long>(call.out)[i] = job::poison;

	event_seen = 0;
	current = &call;
	if (job->marker)
		arch::call_marker(job->marker);
	if (call.event == job::seq_odd_once)
		protect(call.data_page, prot_none);
	if (call.event == job::seq_moved_once)
		protect(call.counter_page, prot_none);
	arch::call(call.function, call.args, *result);
	if (call.event != job::none && !event_seen) {
		protect(call.data_page, prot_read | prot_write);
		if (call.counter_page)
			protect(call.counter_page, prot_read | prot_write);
	}
	result->event_seen = event_seen;
	for (unsigned i = 0; i < job::out_words; i++)
		result->out[i] = at<volatile unsigned long long>(call.out)[i];
}

word seconds_now()
{
	word tv[2] = {};

	arch::syscall(arch::sys_gettimeofday, reinterpret_cast<word>(tv), 0);
	return tv[0];
}

/* The other process of a torture; runs until it is killed. */
[[noreturn]] void write_forever(job::header<native> *job)
{
	auto &t = job->torture;
	auto *versions =
		reinterpret_cast<const unsigned char *>(job) + t.versions;
	auto *seq = at<volatile unsigned int>(t.seq);
	auto *counter = at<volatile unsigned long long>(t.counter);
	unsigned long long seq_at = t.seq - t.page, rest = seq_at + 4;

	for (unsigned long long n = 0;; n = n + 1 < t.nr_versions ? n + 1 : 0) {
		const unsigned char *version = versions + n * t.version_size;

		if (!t.keep_seq)
			*seq = *seq + 1;
		arch::write_barrier();
		copy_bytes(at<void>(t.page), version, seq_at);
		copy_bytes(at<void>(t.page + rest), version + rest,
			   t.version_size - rest);
		arch::write_barrier();
		if (!t.keep_seq)
			*seq = *seq + 1;
		*counter = *counter + 7;
		*static_cast<volatile unsigned long long *>(&t.updates) =
			t.updates + 1;
		/* readers that never see an even sequence counter read nothing */
		for (unsigned pause = 0; pause < 200; pause++)
			asm volatile("");
	}
}

bool consistent(const job::torture<native> &t, const job::call<native> &call,
		unsigned long long sec, unsigned long long nsec,
		unsigned long long before, unsigned long long after)
{
	unsigned long long time = sec * 1000000000 + nsec;

	switch (call.check) {
	case job::linked:
		return nsec == sec * job::link_factor;
	case job::on_line_usec:
		time = sec * 1000000000 + nsec * 1000;
		before -= 1000;
		break;
	default:
		break;
	}
	return before <= time + t.tolerance && time <= after + t.tolerance;
}

void read_for_a_while(job::header<native> *job, const job::call<native> *calls)
{
	auto &t = job->torture;
	auto *counter = at<volatile unsigned long long>(t.counter);
	job::result<native> result;

	/* before the first update there is nothing to read */
	while (!*static_cast<volatile unsigned long long *>(&t.updates))
		;

	word start = seconds_now();
	for (unsigned long long n = 0;; n++) {
		const auto &call = calls[n % job->nr_calls];
		auto *out32 = at<volatile unsigned int>(call.out);
		auto *out64 = at<volatile unsigned long long>(call.out);
		unsigned long long before = *counter;

		arch::call(call.function, call.args, result);
		unsigned long long after = *counter;
		unsigned long long sec =
			call.time_size == 8 ? out64[0] : out32[0];
		unsigned long long nsec =
			call.time_size == 8 ? out64[1] : out32[1];
		if (!consistent(t, call, sec, nsec, before, after)) {
			t.bad_call = n % job->nr_calls + 1;
			t.bad_sec = sec;
			t.bad_nsec = nsec;
			t.bad_before = before;
			t.bad_after = after;
			break;
		}
		t.readings = n + 1;
		/* on a busy host the time alone would be up before anything was read */
		if (n % 1024 == 0 && n >= job::fewest_readings &&
		    seconds_now() - start >= t.seconds)
			break;
	}
}

void torture(job::header<native> *job, const job::call<native> *calls)
{
	constexpr word kill_signal = 9;
	word pid = check(arch::syscall(arch::sys_fork), "guest: cannot fork\n");

	if (!pid)
		write_forever(job);
	read_for_a_while(job, calls);
	arch::syscall(arch::sys_kill, pid, kill_signal);
	arch::syscall(arch::sys_waitpid, pid, 0, 0);
}

} // namespace

extern "C" [[noreturn]] void guest_main(word *stack)
{
	auto **argv = reinterpret_cast<const char **>(stack + 1);
	word size, fd;

	if (stack[0] != 3)
		die("guest: usage: guest JOB SIZE\n");
	size = 0;
	for (const char *p = argv[2]; *p; p++)
		size = size * 10 + static_cast<word>(*p - '0');

	fd = check(arch::syscall(arch::sys_open,
				 reinterpret_cast<word>(argv[1]), 2, 0),
		   "guest: cannot open the job\n");
	auto *job = reinterpret_cast<job::header<native> *>(check(
		arch::mmap(0, size, prot_read | prot_write, map_shared, fd, 0),
		"guest: cannot map the job\n"));
	if (job->magic != job::magic)
		die("guest: not a job of this byte order\n");
	page_size = job->page_size;

	for (unsigned i = 0; i < job->nr_segments; i++) {
		const auto &seg = job->segments[i];

		check(arch::mmap(static_cast<word>(seg.addr),
				 static_cast<word>(seg.size),
				 static_cast<int>(seg.prot),
				 (seg.shared ? map_shared : map_private) |
					 map_fixed,
				 fd, static_cast<word>(seg.offset)),
		      "guest: cannot map a segment\n");
	}
	arch::catch_faults(on_fault);

	auto *base = reinterpret_cast<unsigned char *>(job);
	auto *calls = reinterpret_cast<const job::call<native> *>(
		base + job->calls_offset);
	auto *results = reinterpret_cast<job::result<native> *>(
		base + job->results_offset);

	if (job->torture.seconds)
		torture(job, calls);
	for (unsigned long long i = 0;
	     !job->torture.seconds && i < job->nr_calls; i++)
		run(job, calls[i], &results[i]);

	arch::syscall(arch::sys_exit, 0);
	__builtin_unreachable();
}
