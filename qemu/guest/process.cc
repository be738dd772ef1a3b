// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes in the guest: start, capture, limit, clean up. See process.h.
 *
 * The end of a program is the end of its main process, seen through a pidfd:
 * a pipe that a forgotten grandchild holds open must not keep the test alive.
 */
#include "process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "../unique_fd.h"

namespace
{

constexpr int cannot_exec = 127;

std::vector<char *> pointers(const std::vector<std::string> &strings)
{
	std::vector<char *> result;

	result.reserve(strings.size() + 1);
	for (const auto &string : strings)
		result.push_back(const_cast<char *>(string.c_str()));
	result.push_back(nullptr);
	return result;
}

[[noreturn]] void exec_child(const Command &command)
{
	auto argv = pointers(command.argv);
	auto env = pointers(command.env);

	/* execvpe() would look for the program along init's own PATH. */
	environ = env.data();
	if (chdir(command.directory.c_str()) == 0)
		execvp(argv[0], argv.data());
	dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
	_exit(cannot_exec);
}

UniqueFd start_timer(int seconds)
{
	UniqueFd timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
	itimerspec when{};

	when.it_value.tv_sec = seconds;
	timerfd_settime(timer.get(), 0, &when, nullptr);
	return timer;
}

/* One piece at a time: a flood of output must not hide the time limit. */
bool pass_on(int fd, const OutputSink &sink)
{
	std::array<char, 4096> buffer;
	ssize_t count = read(fd, buffer.data(), buffer.size());

	if (count > 0)
		sink({ buffer.data(), static_cast<size_t>(count) });
	return count > 0;
}

Outcome outcome_of(int status)
{
	Outcome outcome;

	if (WIFSIGNALED(status))
		outcome.signal = WTERMSIG(status);
	else
		outcome.exit_code = WEXITSTATUS(status);
	return outcome;
}

/* All that the program left running; it leads a session of its own. */
void end_session(pid_t leader)
{
	kill(-leader, SIGKILL);
	if (getpid() == 1) {
		/* Whatever fled from its session is init's by now. */
		kill(-1, SIGKILL);
		while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR)
			;
	}
}

Outcome supervise(pid_t child, int output, int limit_seconds,
		  const OutputSink &sink)
{
	UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
	UniqueFd timer = start_timer(limit_seconds);
	std::array<pollfd, 3> fds{ { { pidfd.get(), POLLIN, 0 },
				     { timer.get(), POLLIN, 0 },
				     { output, POLLIN, 0 } } };
	bool timed_out = false;
	int status = 0;

	while (!fds[0].revents) {
		if (poll(fds.data(), fds.size(), -1) < 0)
			continue;
		if (fds[1].revents && !timed_out) {
			timed_out = true;
			kill(-child, SIGKILL);
			kill(child, SIGKILL);
			fds[1].fd = -1;
		}
		if (fds[2].revents && !pass_on(output, sink))
			fds[2].fd = -1;
	}
	waitpid(child, &status, 0);
	end_session(child);
	while (pass_on(output, sink))
		;

	Outcome outcome = outcome_of(status);
	outcome.timed_out = timed_out;
	return outcome;
}

} /* namespace */

Outcome run_captured(const Command &command, const OutputSink &sink)
{
	int ends[2];
	Outcome failed;

	if (pipe2(ends, O_CLOEXEC) < 0) {
		failed.error = strerror(errno);
		return failed;
	}
	UniqueFd reader(ends[0]);
	UniqueFd writer(ends[1]);
	fcntl(reader.get(), F_SETFL, O_NONBLOCK);

	pid_t child = fork();
	if (child < 0) {
		failed.error = strerror(errno);
		return failed;
	}
	if (child == 0) {
		UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
		setsid();
		dup2(null.get(), STDIN_FILENO);
		dup2(writer.get(), STDOUT_FILENO);
		dup2(writer.get(), STDERR_FILENO);
		exec_child(command);
	}
	writer.reset();
	return supervise(child, reader.get(), command.limit_seconds, sink);
}

Outcome run_on_terminal(const Command &command, int terminal)
{
	Outcome outcome;
	int status = 0;
	pid_t child = fork();

	if (child < 0) {
		outcome.error = strerror(errno);
		return outcome;
	}
	if (child == 0) {
		signal(SIGINT, SIG_DFL);
		for (int fd = 0; fd <= STDERR_FILENO; fd++)
			dup2(terminal, fd);
		exec_child(command);
	}
	waitpid(child, &status, 0);
	end_session(child);
	return outcome_of(status);
}

int shell_status(const Outcome &outcome)
{
	if (!outcome.error.empty())
		return cannot_exec;
	return outcome.signal ? 128 + outcome.signal : outcome.exit_code;
}

std::string describe(const Outcome &outcome, int limit_seconds)
{
	if (!outcome.error.empty())
		return "could not be started: " + outcome.error;
	if (outcome.timed_out)
		return "still running after " + std::to_string(limit_seconds) +
		       " s";
	if (outcome.signal)
		return "killed by signal " + std::to_string(outcome.signal) +
		       " (" + strsignal(outcome.signal) + ")";
	return "exit code " + std::to_string(outcome.exit_code);
}
