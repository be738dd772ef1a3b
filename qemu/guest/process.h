/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Run one program under a time limit and hand over what it prints.
 *
 * The judge must not depend on what it judges: a clock_gettime() that goes
 * wrong must not end the wait, nor make it endless. So the limit is a
 * timerfd, and nothing here reads a clock.
 */
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

struct Outcome {
	int exit_code = -1; /* valid if nothing below is set */
	int signal = 0;
	bool timed_out = false;
	std::string error; /* it could not be started, and why */
};

struct Command {
	std::vector<std::string> argv;
	std::vector<std::string> env;
	std::string directory = "/";
	int limit_seconds = 0; /* 0: none */
};

using OutputSink = std::function<void(std::string_view)>;

/* Standard output and error arrive at the sink, standard input is empty. */
Outcome run_captured(const Command &command, const OutputSink &sink);

/*
 * Input and output are the terminal, and Ctrl-C ends the program: it shares the
 * session of the caller, who is deaf to it.
 */
Outcome run_on_terminal(const Command &command, int terminal);

/* The status a shell would report. */
int shell_status(const Outcome &outcome);
/* "exit code 3", "killed by signal 11 (Segmentation fault)", ... */
std::string describe(const Outcome &outcome, int limit_seconds);
