/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KTAP output for the guest tests.
 *
 * Problem: a vDSO that breaks a register or a return address takes the test
 * down with it, and what happened in one case must not colour the next.
 *
 * Every case therefore runs in a process of its own. The parent only counts
 * and prints verdicts, so a case that is killed is one "not ok" with the
 * signal's name, and everything that a case does to its address space, its
 * namespaces or its signal handlers ends with it.
 *
 *	int main()
 *	{
 *		ktap::Suite suite;
 *
 *		suite.add("getcpu", [](ktap::Case &t) {
 *			if (!have_it)
 *				return t.lacking("no __kernel_getcpu");
 *			t.check(cpu == 0, "cpu %u, expected 0", cpu);
 *		});
 *		return suite.run();
 *	}
 */
#ifndef VDSO_TEST_KTAP_H
#define VDSO_TEST_KTAP_H

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ktap
{

/* Which kernel this runs on: CVDSO_VARIANT of the environment */
enum class Expect { unset, base, patched };

Expect expect();

/* Whether the kernel was built or booted without it: CVDSO_WITHOUT of the environment */
bool without(std::string_view part);

/* What a case says about itself; the verdict follows from it */
class Case {
    public:
	/* A condition that must hold. Returns it, to stop early. */
	[[gnu::format(printf, 3, 4)]] bool check(bool ok, const char *fmt, ...);

	/* The same for what can only be a failure */
	[[gnu::format(printf, 2, 3)]] void fail(const char *fmt, ...);

	/* The case cannot run here, whatever the kernel */
	[[gnu::format(printf, 2, 3)]] void skip(const char *fmt, ...);

	/*
	 * The vDSO does not do this: a failure on the patched kernel, which
	 * must, and a skip on any other.
	 */
	[[gnu::format(printf, 2, 3)]] void lacking(const char *fmt, ...);

	/* A comment line in the output */
	[[gnu::format(printf, 2, 3)]] void diag(const char *fmt, ...);

	/*
	 * Runs a part of the case in another process, which ends with it: for
	 * what only a child sees, or what cannot be undone.
	 */
	void in_child(const std::function<void(Case &)> &part);

	bool failed() const
	{
		return failures_ > 0;
	}

	bool skipped() const
	{
		return !reason_.empty();
	}

	const std::string &reason() const
	{
		return reason_;
	}

    private:
	unsigned int failures_ = 0;
	std::string reason_;
};

class Suite {
    public:
	using Body = std::function<void(Case &)>;

	void add(std::string name, Body body)
	{
		cases_.emplace_back(std::move(name), std::move(body));
	}

	/*
	 * Runs everything, or with arguments only the cases whose name
	 * contains one of them. The exit status: 0 passed, 1 something failed,
	 * 4 everything was skipped.
	 */
	int run(int argc = 0, char **argv = nullptr);

    private:
	std::vector<std::pair<std::string, Body> > cases_;
};

} // namespace ktap

#endif /* VDSO_TEST_KTAP_H */
