// SPDX-License-Identifier: GPL-2.0-only
/*
 * Address spaces under stress: what was written is there, and nowhere else.
 *
 * Problem: an emulated MMU that keeps a translation for too long still boots and
 * passes most tests. It shows as one wrong byte in another process, when a page is
 * copied on write, when a context number goes to somebody else, or when the kernel
 * copies to a user's page just after it has switched tasks.
 *
 * So each case makes such translations by the thousand and looks at every byte after.
 * Pages hold a pattern of who wrote them, when, and where, so that a byte that is
 * wrong says where it comes from.
 */
#include <array>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../vdso/ktap.h"

namespace
{

using ktap::Case;
using Word = std::uint32_t;

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t page_words = page_bytes / sizeof(Word);

[[noreturn]] void fail(const char *what)
{
	throw std::runtime_error(std::string(what) + ": " + strerror(errno));
}

/* Anonymous pages, private, that go when the object goes. */
class Pages {
    public:
	explicit Pages(std::size_t count,
		       int protection = PROT_READ | PROT_WRITE)
		: count_(count),
		  start_(mmap(nullptr, count * page_bytes, protection,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
	{
		if (start_ == MAP_FAILED)
			fail("mmap");
	}
	~Pages()
	{
		munmap(start_, count_ * page_bytes);
	}
	Pages(const Pages &) = delete;
	Pages &operator=(const Pages &) = delete;

	std::size_t count() const
	{
		return count_;
	}
	volatile Word *page(std::size_t number) const
	{
		return static_cast<volatile Word *>(start_) +
		       number * page_words;
	}
	void *address(std::size_t number) const
	{
		return const_cast<Word *>(page(number));
	}

    private:
	std::size_t count_;
	void *start_;
};

/* Who, when, and at which word of which page: no two are the same. */
Word pattern(unsigned int who, unsigned int when, std::size_t page,
	     std::size_t word)
{
	return (static_cast<Word>(who) << 22) ^
	       (static_cast<Word>(when) << 12) ^
	       (static_cast<Word>(page) << 5) ^
	       static_cast<Word>(word * 0x01000193);
}

/* A few words in each page are enough to know it, and leave time for more pages. */
constexpr std::array<std::size_t, 4> probed{ 0, 1, 511, page_words - 1 };

void write_page(const Pages &pages, std::size_t page, unsigned int who,
		unsigned int when)
{
	for (std::size_t word : probed)
		pages.page(page)[word] = pattern(who, when, page, word);
}

bool check_page(Case &t, const Pages &pages, std::size_t page, unsigned int who,
		unsigned int when)
{
	for (std::size_t word : probed) {
		const Word got = pages.page(page)[word];
		const Word wanted = pattern(who, when, page, word);

		if (!t.check(
			    got == wanted,
			    "process %u, round %u, page %zu, word %zu: %08x, not %08x",
			    who, when, page, word, static_cast<unsigned>(got),
			    static_cast<unsigned>(wanted)))
			return false;
	}
	return true;
}

void write_all(const Pages &pages, unsigned int who, unsigned int when)
{
	for (std::size_t page = 0; page < pages.count(); page++)
		write_page(pages, page, who, when);
}

bool check_all(Case &t, const Pages &pages, unsigned int who, unsigned int when)
{
	for (std::size_t page = 0; page < pages.count(); page++)
		if (!check_page(t, pages, page, who, when))
			return false;
	return true;
}

/* A child that ends with its parent, and what it exits with. */
template <typename Body> pid_t spawn(Body body)
{
	const pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		Case t;

		body(t);
		_exit(t.failed());
	}
	return pid;
}

void reap(Case &t, pid_t pid)
{
	/* What wait() writes here is a kernel's write just after a switch. */
	int status = -1;
	const pid_t got = waitpid(pid, &status, 0);

	t.check(got == pid && status == 0, "wait for %d: %d, status %x", pid,
		got, static_cast<unsigned>(status));
}

struct Pipe {
	Pipe()
	{
		if (pipe(ends))
			fail("pipe");
	}
	~Pipe()
	{
		close(ends[0]);
		close(ends[1]);
	}
	Pipe(const Pipe &) = delete;
	Pipe &operator=(const Pipe &) = delete;

	int ends[2];
};

/* Parent and child write the same pages, each its own copy, at the same time. */
void copy_on_write(Case &t)
{
	constexpr unsigned int forks = 1000;
	const Pages pages(24);
	unsigned int when = 0;

	write_all(pages, 0, when);
	for (unsigned int i = 1; i <= forks && !t.failed(); i++) {
		const pid_t pid = spawn([&](Case &child) {
			if (!check_all(child, pages, 0, when))
				return;
			for (std::size_t p = i % 3; p < pages.count(); p += 2)
				write_page(pages, p, i % 1000 + 1, when);
			for (std::size_t p = 0; p < pages.count(); p++)
				check_page(child, pages, p,
					   p >= i % 3 && (p - i % 3) % 2 == 0 ?
						   i % 1000 + 1 :
						   0,
					   when);
		});

		/* The child may not have run yet, and must not see this. */
		when = i;
		write_all(pages, 0, when);
		check_all(t, pages, 0, when);
		reap(t, pid);
		check_all(t, pages, 0, when);
	}
}

/* A message to each process in turn; read() puts it in the page that all have there. */
struct Message {
	Word from;
	Word round;
	Word filler[62];
};

void ring_member(Case &t, const Pages &pages, unsigned int who, int in, int out,
		 unsigned int rounds)
{
	auto *message = static_cast<Message *>(pages.address(0));

	for (unsigned int round = 0; round < rounds; round++) {
		if (read(in, message, sizeof(*message)) !=
			    ssize_t{ sizeof(*message) } ||
		    message->from != who - 1 || message->round != round) {
			t.fail("process %u, round %u: message of %u, round %u",
			       who, round, static_cast<unsigned>(message->from),
			       static_cast<unsigned>(message->round));
			return;
		}
		for (Word filler : message->filler)
			t.check(filler == pattern(who - 1, round, 0, 0),
				"process %u, round %u: filler %08x", who, round,
				static_cast<unsigned>(filler));
		for (std::size_t page = 1; page < pages.count(); page++) {
			if (round)
				check_page(t, pages, page, who, round - 1);
			write_page(pages, page, who, round);
		}
		message->from = who;
		for (Word &filler : message->filler)
			filler = pattern(who, round, 0, 0);
		if (write(out, message, sizeof(*message)) < 0)
			t.fail("process %u: write: %s", who, strerror(errno));
	}
}

/* More than an 8xx has contexts, so that each has lost its own when its turn comes. */
void address_spaces(Case &t)
{
	constexpr unsigned int processes = 40;
	constexpr unsigned int rounds = 25;
	const Pages pages(6);
	std::vector<std::unique_ptr<Pipe> > pipes;
	std::vector<pid_t> pids;

	for (unsigned int i = 0; i <= processes; i++)
		pipes.push_back(std::make_unique<Pipe>());
	for (unsigned int who = 1; who <= processes; who++)
		pids.push_back(spawn([&](Case &child) {
			ring_member(child, pages, who, pipes[who - 1]->ends[0],
				    pipes[who]->ends[1], rounds);
		}));
	for (unsigned int round = 0; round < rounds; round++) {
		Message message{ 0, round, {} };
		Message got{};

		for (Word &filler : message.filler)
			filler = pattern(0, round, 0, 0);
		if (write(pipes[0]->ends[1], &message, sizeof(message)) < 0)
			fail("write");
		/* A member that has failed would never answer. */
		alarm(60);
		if (read(pipes[processes]->ends[0], &got, sizeof(got)) < 0)
			fail("read");
		alarm(0);
		t.check(got.from == processes && got.round == round,
			"round %u: message of %u, round %u", round,
			static_cast<unsigned>(got.from),
			static_cast<unsigned>(got.round));
	}
	for (pid_t pid : pids)
		reap(t, pid);
}

sigjmp_buf fault_return;
volatile std::sig_atomic_t faults;

void on_fault(int)
{
	faults = faults + 1;
	siglongjmp(fault_return, 1);
}

void catch_faults()
{
	struct sigaction action {};

	action.sa_handler = on_fault;
	sigaction(SIGSEGV, &action, nullptr);
}

/* Whether the access was let through. */
template <typename Access> bool try_access(Access access)
{
	if (sigsetjmp(fault_return, 1))
		return false;
	access();
	return true;
}

class Random {
    public:
	std::size_t below(std::size_t limit)
	{
		state_ ^= state_ << 13;
		state_ ^= state_ >> 17;
		state_ ^= state_ << 5;
		return state_ % limit;
	}

    private:
	Word state_ = 2463534242;
};

constexpr int protections[] = { PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE };

/* By the kernel on the user's behalf: refused with EFAULT, where a load would fault. */
void check_kernel_access(Case &t, const Pipe &pipe, void *address,
			 int protection)
{
	Word word = 0;
	const bool sent = write(pipe.ends[1], address, sizeof(word)) > 0;

	t.check(sent == (protection != PROT_NONE),
		"protection %d: write() from there: %d", protection, sent);
	if (!sent && write(pipe.ends[1], &word, sizeof(word)) < 0)
		fail("write");

	const bool got = read(pipe.ends[0], address, sizeof(word)) > 0;

	t.check(got == ((protection & PROT_WRITE) != 0),
		"protection %d: read() to there: %d", protection, got);
	if (!got && read(pipe.ends[0], &word, sizeof(word)) < 0)
		fail("read");
}

void protection_storm(Case &t)
{
	constexpr unsigned int steps = 6000;
	constexpr std::size_t count = 40; /* more than a TLB has entries */
	const Pages pages(count);
	const Pipe pipe;
	std::vector<int> now(count, PROT_READ | PROT_WRITE);
	std::vector<unsigned int> written(count, 0);
	Random random;

	catch_faults();
	write_all(pages, 0, 0);
	for (unsigned int step = 1; step <= steps && !t.failed(); step++) {
		const std::size_t page = random.below(count);
		const std::size_t other = random.below(count);

		now[page] = protections[random.below(std::size(protections))];
		if (mprotect(pages.address(page), page_bytes, now[page]))
			fail("mprotect");
		for (std::size_t p : { page, other }) {
			const bool read = try_access([&] {
				check_page(t, pages, p, 0, written[p]);
			});
			const bool store = try_access(
				[&] { write_page(pages, p, 0, step % 1024); });

			t.check(read == (now[p] != PROT_NONE),
				"step %u, protection %d: read: %d", step,
				now[p], read);
			t.check(store == ((now[p] & PROT_WRITE) != 0),
				"step %u, protection %d: store: %d", step,
				now[p], store);
			if (store)
				written[p] = step % 1024;
		}
		if (step % 4 == 0)
			check_kernel_access(t, pipe, pages.address(page),
					    now[page]);
	}
	t.check(faults > 1000, "only %d faults", static_cast<int>(faults));
}

/* What was moved arrives, what was unmapped is gone, and a new page is empty. */
void moved_pages(Case &t)
{
	constexpr unsigned int steps = 1500;
	const Pages pages(16);
	const Pages spare(1);
	std::vector<unsigned int> owner(pages.count());
	Random random;

	for (std::size_t p = 0; p < pages.count(); p++) {
		owner[p] = static_cast<unsigned int>(p);
		pages.page(p)[0] = static_cast<Word>(p);
	}

	const auto move = [](void *from, void *to) {
		if (mremap(from, page_bytes, page_bytes,
			   MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
			fail("mremap");
	};

	for (unsigned int step = 0; step < steps && !t.failed(); step++) {
		const std::size_t a = random.below(pages.count());
		const std::size_t b =
			(a + 1 + random.below(15)) % pages.count();

		move(pages.address(a), spare.address(0));
		move(pages.address(b), pages.address(a));
		move(spare.address(0), pages.address(b));
		std::swap(owner[a], owner[b]);
		for (std::size_t p : { a, b })
			t.check(pages.page(p)[0] == owner[p],
				"step %u: page %u, not %u", step,
				static_cast<unsigned>(pages.page(p)[0]),
				owner[p]);
		if (mmap(spare.address(0), page_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			 0) != spare.address(0))
			fail("mmap");
		t.check(spare.page(0)[0] == 0, "step %u: a new page has %08x",
			step, static_cast<unsigned>(spare.page(0)[0]));
		spare.page(0)[0] = step + 1;
	}
}

#ifdef __powerpc__
using Function = unsigned int (*)();

/* li 3,value; blr */
void write_code(const Pages &pages, unsigned int value)
{
	volatile Word *code = pages.page(0);
	auto *start = static_cast<char *>(pages.address(0));

	code[0] = 0x38600000 | value;
	code[1] = 0x4e800020;
	__builtin___clear_cache(start, start + 2 * sizeof(Word));
}

unsigned int run_code(const Pages &pages)
{
#if defined(__powerpc64__) && _CALL_ELF != 2
	void *descriptor[3] = { pages.address(0), nullptr, nullptr };
	Function function;
	void *pointer = descriptor;
#else
	Function function;
	void *pointer = pages.address(0);
#endif
	memcpy(&function, &pointer, sizeof(function));
	return function();
}

/* A page is executed, written, and executed, here and in a child at the same time. */
void written_code(Case &t)
{
	const Pages pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);

	for (unsigned int i = 1; i <= 200 && !t.failed(); i++) {
		write_code(pages, i);
		t.check(run_code(pages) == i, "before the fork of %u", i);

		const pid_t pid = spawn([&](Case &child) {
			child.check(run_code(pages) == i, "child %u", i);
			write_code(pages, i + 1000);
			child.check(run_code(pages) == i + 1000,
				    "child %u, its own", i);
		});

		t.check(run_code(pages) == i, "parent %u", i);
		write_code(pages, i + 2000);
		t.check(run_code(pages) == i + 2000, "parent %u, its own", i);
		reap(t, pid);
		t.check(run_code(pages) == i + 2000, "parent %u, after", i);
	}
}

/* The same page, writable or executable in turn. */
void code_or_data(Case &t)
{
	const Pages pages(1);

	catch_faults();
	for (unsigned int i = 1; i <= 500 && !t.failed(); i++) {
		write_code(pages, i);
		if (mprotect(pages.address(0), page_bytes,
			     PROT_READ | PROT_EXEC))
			fail("mprotect");
		t.check(run_code(pages) == i, "round %u", i);
		t.check(!try_access([&] { pages.page(0)[0] = 0; }),
			"round %u: stored to code", i);
		t.check(run_code(pages) == i, "round %u, again", i);
		if (mprotect(pages.address(0), page_bytes,
			     PROT_READ | PROT_WRITE))
			fail("mprotect");
	}
}
#endif

std::int64_t now_ns()
{
	timespec now{};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return std::int64_t{ now.tv_sec } * 1000000000 + now.tv_nsec;
}

/* For a machine that was saved and loaded in the middle of this: timers go on. */
void sleep_a_little(Case &t)
{
	constexpr timespec pause{ .tv_sec = 0, .tv_nsec = 10000000 };

	for (unsigned int i = 0; i < 20; i++) {
		const std::int64_t before = now_ns();

		nanosleep(&pause, nullptr);
		t.check(now_ns() - before >= pause.tv_nsec,
			"sleep %u is over too early", i);
	}
}

} /* namespace */

int main(int argc, char **argv)
{
	ktap::Suite suite;

	suite.add("copy on write, a thousand forks", copy_on_write);
	suite.add("more address spaces than contexts", address_spaces);
	suite.add("storm of mprotect", protection_storm);
	suite.add("pages moved and replaced", moved_pages);
#ifdef __powerpc__
	suite.add("code written again and again", written_code);
	suite.add("code or data in turn", code_or_data);
#endif
	suite.add("sleep", sleep_a_little);
	return suite.run(argc, argv);
}
