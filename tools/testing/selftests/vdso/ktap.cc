// SPDX-License-Identifier: GPL-2.0-only
/*
 * KTAP output for the guest tests: see ktap.h.
 *
 * A case runs in a child, which sends its verdict through a pipe: one letter,
 * and for a skip the reason. A child that sends none has died.
 */
#include "ktap.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ktap
{

namespace
{

/* A failure repeated ten thousand times on a slow console says no more */
constexpr unsigned int max_failure_lines = 20;

/* Seconds of guest time; the longest case stays well under it */
constexpr unsigned int case_timeout = 120;

constexpr char verdict_pass = 'p';
constexpr char verdict_fail = 'f';
constexpr char verdict_skip = 's';

std::string format(const char *fmt, va_list args)
{
	char text[512];

	vsnprintf(text, sizeof(text), fmt, args);
	return text;
}

void comment(const std::string &text)
{
	printf("# %s\n", text.c_str());
	fflush(stdout);
}

[[noreturn]] void run_child(const Suite::Body &body, int fd)
{
	Case t;
	std::string verdict;

	alarm(case_timeout);
	try {
		body(t);
	} catch (const std::exception &e) {
		t.fail("exception: %s", e.what());
	}
	if (t.failed())
		verdict = verdict_fail;
	else if (t.skipped())
		verdict = verdict_skip + t.reason();
	else
		verdict = verdict_pass;
	if (write(fd, verdict.data(), verdict.size()) < 0)
		perror("# verdict");
	fflush(stdout);
	_exit(0);
}

std::string read_all(int fd)
{
	std::string all;
	char part[256];

	for (;;) {
		const ssize_t n = read(fd, part, sizeof(part));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return all;
		all.append(part, static_cast<size_t>(n));
	}
}

std::string run_case(const Suite::Body &body)
{
	int fds[2];
	int status = 0;

	fflush(stdout);
	if (pipe(fds)) {
		comment(std::string("pipe: ") + strerror(errno));
		return { verdict_fail };
	}

	const pid_t pid = fork();

	if (pid == 0) {
		close(fds[0]);
		run_child(body, fds[1]);
	}
	close(fds[1]);
	if (pid < 0) {
		comment(std::string("fork: ") + strerror(errno));
		close(fds[0]);
		return { verdict_fail };
	}
	/* What the case has left running must not keep the verdict waiting */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	std::string verdict;

	if (WIFEXITED(status))
		verdict = read_all(fds[0]);
	else if (WTERMSIG(status) == SIGALRM)
		comment("no end after " + std::to_string(case_timeout) + " s");
	else
		comment(std::string("killed: ") + strsignal(WTERMSIG(status)));
	close(fds[0]);
	if (verdict.empty())
		verdict = verdict_fail;
	return verdict;
}

bool wanted(const std::string &name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (name.find(argv[i]) != std::string::npos)
			return true;
	return argc < 2;
}

} // namespace

Expect expect()
{
	const char *text = getenv("CVDSO_VARIANT");
	const std::string_view variant(text ? text : "");

	if (variant == "base")
		return Expect::base;
	if (variant == "patched")
		return Expect::patched;
	if (!variant.empty()) {
		fprintf(stderr, "CVDSO_VARIANT=%s: say base or patched\n",
			text);
		exit(1);
	}
	return Expect::unset;
}

bool without(std::string_view part)
{
	const char *text = getenv("CVDSO_WITHOUT");

	return text && part == text;
}

bool Case::check(bool ok, const char *fmt, ...)
{
	if (ok)
		return true;
	if (failures_++ < max_failure_lines) {
		va_list args;

		va_start(args, fmt);
		comment(format(fmt, args));
		va_end(args);
	}
	return false;
}

void Case::fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	check(false, "%s", format(fmt, args).c_str());
	va_end(args);
}

void Case::skip(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	reason_ = format(fmt, args);
	va_end(args);
}

void Case::lacking(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	const std::string text = format(fmt, args);
	va_end(args);
	if (expect() == Expect::patched)
		fail("%s", text.c_str());
	else
		skip("%s", text.c_str());
}

void Case::diag(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	comment(format(fmt, args));
	va_end(args);
}

void Case::in_child(const std::function<void(Case &)> &part)
{
	int status = 0;

	fflush(stdout);

	const pid_t pid = fork();

	if (pid == 0) {
		Case child;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		part(child);
		fflush(stdout);
		_exit(child.failed());
	}
	if (pid < 0)
		return fail("fork: %s", strerror(errno));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		fail("child killed: %s", strsignal(WTERMSIG(status)));
	else
		check(status == 0, "failed in the child");
}

int Suite::run(int argc, char **argv)
{
	unsigned int pass = 0, fail = 0, skip = 0, number = 0;

	expect();
	std::erase_if(cases_, [&](const auto &c) {
		return !wanted(c.first, argc, argv);
	});
	printf("KTAP version 1\n1..%zu\n", cases_.size());
	for (const auto &[name, body] : cases_) {
		const std::string verdict = run_case(body);
		const char *result = "ok";
		std::string note;

		if (verdict[0] == verdict_pass) {
			pass++;
		} else if (verdict[0] == verdict_skip) {
			skip++;
			note = " # SKIP " + verdict.substr(1);
		} else {
			fail++;
			result = "not ok";
		}
		printf("%s %u %s%s\n", result, ++number, name.c_str(),
		       note.c_str());
	}
	printf("# Totals: pass:%u fail:%u xfail:0 xpass:0 skip:%u error:0\n",
	       pass, fail, skip);
	fflush(stdout);
	if (fail || number == 0)
		return 1;
	return pass ? 0 : 4;
}

} // namespace ktap
