// SPDX-License-Identifier: GPL-2.0-only
/*
 * QEMU as a child process.
 *
 * Each -serial is one end of a socket pair, so both directions work on every
 * machine, nothing has to be named or cleaned up, and the end of QEMU is the
 * end of the file. Its messages go where the kernel log goes.
 *
 * The timing boot gets pipes. A UART sends bytes, of which a socket holds no
 * more than some hundred when this here is slow to read them; the UART then
 * tries again later, and the guest's clock has gone on.
 */
#include "vm.h"

#include <fmt/format.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "unique_fd.h"

namespace
{

using Clock = std::chrono::steady_clock;

/* After the last result: time to switch off. */
constexpr std::chrono::seconds grace{ 15 };

struct Channel {
	UniqueFd ours;
	UniqueFd theirs;
};

[[noreturn]] void system_error(const char *what)
{
	throw std::system_error(errno, std::generic_category(), what);
}

Channel make_channel(bool timing)
{
	int ends[2];

	if (timing) {
		if (pipe2(ends, O_CLOEXEC) < 0)
			system_error("pipe");
		/* More than a guest says; if not, it only takes longer. */
		fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
	} else if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		system_error("socketpair");
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	return { UniqueFd(ends[0]), UniqueFd(ends[1]) };
}

/* Ctrl-C and the like, as events for poll() instead of sudden death. */
class SignalWatch {
    public:
	SignalWatch()
	{
		sigset_t set;

		sigemptyset(&set);
		for (int signal : { SIGINT, SIGTERM, SIGHUP })
			sigaddset(&set, signal);
		sigprocmask(SIG_BLOCK, &set, &before_);
		fd_ = UniqueFd(signalfd(-1, &set, SFD_CLOEXEC));
	}
	~SignalWatch()
	{
		sigprocmask(SIG_SETMASK, &before_, nullptr);
	}
	SignalWatch(const SignalWatch &) = delete;
	SignalWatch &operator=(const SignalWatch &) = delete;

	int fd() const
	{
		return fd_.get();
	}
	/* Else it would strike when it is let through again. */
	void consume()
	{
		signalfd_siginfo info;
		while (read(fd_.get(), &info, sizeof(info)) < 0 &&
		       errno == EINTR)
			;
	}
	const sigset_t &before() const
	{
		return before_;
	}

    private:
	sigset_t before_{};
	UniqueFd fd_;
};

/* The guest edits lines and makes signals, not the terminal here. */
class RawTerminal {
    public:
	explicit RawTerminal(bool wanted)
	{
		termios settings{};

		if (!wanted || tcgetattr(STDIN_FILENO, &settings) < 0)
			return;
		saved_ = settings;
		cfmakeraw(&settings);
		tcsetattr(STDIN_FILENO, TCSANOW, &settings);
	}
	~RawTerminal()
	{
		if (saved_)
			tcsetattr(STDIN_FILENO, TCSANOW, &*saved_);
	}
	RawTerminal(const RawTerminal &) = delete;
	RawTerminal &operator=(const RawTerminal &) = delete;

    private:
	std::optional<termios> saved_;
};

/* The kernel's path without the name of the image: ends with a '/'. */
std::string build_tree(const VmConfig &config)
{
	std::string path = config.kernel;
	const std::string &image = config.machine.get("IMAGE");

	if (path.ends_with(image))
		path.resize(path.size() - image.size());
	return path;
}

std::vector<std::string> command_line(const VmConfig &config, int log,
				      int verdict)
{
	const Machine &machine = config.machine;
	auto args = machine_arguments(machine, config.accel, config.timing);
	auto add = [&](std::initializer_list<std::string> more) {
		args.insert(args.end(), more);
	};

	args.insert(args.end(), config.more_args.begin(),
		    config.more_args.end());
	for (const auto &[id, fd] :
	     { std::pair("log", log), std::pair("verdict", verdict) })
		add({ "-chardev",
		      config.timing ?
			      fmt::format("file,id={},path=/dev/fd/{}", id,
					  fd) :
			      fmt::format("socket,id={},fd={}", id, fd) });
	if (std::string dtb = machine.get("DTB", ""); !dtb.empty())
		add({ "-dtb", build_tree(config) + dtb });
	add({ "-kernel", config.kernel.string(), "-initrd",
	      config.initrd.string(), "-append",
	      kernel_arguments(machine, config.append) });
	return args;
}

[[noreturn]] void exec_qemu(const std::vector<std::string> &args,
			    const Channel &log, const Channel &verdict,
			    const sigset_t &signals)
{
	std::vector<char *> argv;

	argv.reserve(args.size() + 1);
	for (const auto &arg : args)
		argv.push_back(const_cast<char *>(arg.c_str()));
	argv.push_back(nullptr);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	sigprocmask(SIG_SETMASK, &signals, nullptr);
	for (const Channel *channel : { &log, &verdict })
		fcntl(channel->theirs.get(), F_SETFD, 0);
	UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
	dup2(null.get(), STDIN_FILENO);
	dup2(log.theirs.get(), STDOUT_FILENO);
	dup2(log.theirs.get(), STDERR_FILENO);
	execvp(argv[0], argv.data());
	dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

class Vm {
    public:
	Vm(const VmConfig &config, const VmSinks &sinks)
		: config_(config), sinks_(sinks),
		  log_(make_channel(config.timing)),
		  verdict_(make_channel(config.timing))
	{
	}

	VmResult run()
	{
		start();
		VmResult result;
		result.end = watch();
		result.status = stop();
		while (read_console(log_.ours.get(), sinks_.log))
			;
		while (read_console(verdict_.ours.get(), sinks_.verdict))
			;
		result.seconds =
			std::chrono::duration<double>(Clock::now() - started_)
				.count();
		return result;
	}

    private:
	void start()
	{
		auto args = command_line(config_, log_.theirs.get(),
					 verdict_.theirs.get());
		child_ = fork();
		if (child_ < 0)
			system_error("fork");
		if (child_ == 0)
			exec_qemu(args, log_, verdict_, signals_.before());
		log_.theirs.reset();
		verdict_.theirs.reset();
		exit_ = UniqueFd(
			static_cast<int>(syscall(SYS_pidfd_open, child_, 0)));
		started_ = heard_ = Clock::now();
	}

	bool read_console(int fd, const auto &sink)
	{
		std::array<char, 4096> buffer;
		ssize_t count = read(fd, buffer.data(), buffer.size());

		if (count <= 0)
			return false;
		heard_ = Clock::now();
		printed_ += static_cast<size_t>(count);
		sink(std::string_view(buffer.data(),
				      static_cast<size_t>(count)));
		return true;
	}

	void pass_input()
	{
		std::array<char, 256> buffer;
		ssize_t count =
			read(STDIN_FILENO, buffer.data(), buffer.size());

		if (count > 0)
			send(verdict_.ours.get(), buffer.data(),
			     static_cast<size_t>(count), MSG_NOSIGNAL);
	}

	std::optional<VmEnd> late()
	{
		auto now = Clock::now();

		if (!settled_ && sinks_.settled())
			settled_ = now;
		if (settled_ && now - *settled_ > grace)
			return VmEnd::lingering;
		if (config_.interactive)
			return std::nullopt;
		if (config_.output_limit && printed_ > config_.output_limit)
			return VmEnd::flooding;
		if (now - heard_ > config_.silence)
			return VmEnd::silent;
		if (config_.limit.count() && now - started_ > config_.limit)
			return VmEnd::over_limit;
		return std::nullopt;
	}

	VmEnd watch()
	{
		RawTerminal terminal(config_.interactive);
		std::array<pollfd, 5> fds{
			{ { exit_.get(), POLLIN, 0 },
			  { signals_.fd(), POLLIN, 0 },
			  { log_.ours.get(), POLLIN, 0 },
			  { verdict_.ours.get(), POLLIN, 0 },
			  { config_.interactive ? STDIN_FILENO : -1, POLLIN,
			    0 } }
		};

		for (;;) {
			poll(fds.data(), fds.size(), 1000);
			if (fds[1].revents) {
				signals_.consume();
				return VmEnd::interrupted;
			}
			if (fds[2].revents &&
			    !read_console(fds[2].fd, sinks_.log))
				fds[2].fd = -1;
			if (fds[3].revents &&
			    !read_console(fds[3].fd, sinks_.verdict))
				fds[3].fd = -1;
			if (fds[4].revents)
				pass_input();
			if (fds[0].revents)
				return VmEnd::exited;
			if (auto end = late())
				return *end;
		}
	}

	int stop()
	{
		int status = 0;

		kill(child_, SIGKILL);
		waitpid(child_, &status, 0);
		return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
					     WEXITSTATUS(status);
	}

	const VmConfig &config_;
	const VmSinks &sinks_;
	SignalWatch signals_;
	Channel log_;
	Channel verdict_;
	pid_t child_ = -1;
	UniqueFd exit_;
	Clock::time_point started_;
	Clock::time_point heard_;
	std::optional<Clock::time_point> settled_;
	size_t printed_ = 0;
};

} /* namespace */

std::string kernel_arguments(const Machine &machine, const std::string &append)
{
	return fmt::format("console={} cvdso.verdict={} cvdso.end={} {} {}",
			   machine.get("CONSOLE"), machine.get("VERDICT"),
			   machine.get("END", "poweroff"),
			   machine.get("APPEND", ""), append);
}

std::vector<std::string>
machine_arguments(const Machine &machine, const std::string &accel, bool timing)
{
	std::vector<std::string> args{ machine.get("QEMU") };
	auto add = [&](std::initializer_list<std::string> more) {
		args.insert(args.end(), more);
	};

	for (const auto &word : machine.words("QEMU_ARGS"))
		args.push_back(word);
	if (timing)
		/* The date must come from nowhere else but here, too. */
		add({ "-icount", machine.get("ICOUNT"), "-smp", "1", "-rtc",
		      "base=2026-01-01,clock=vm" });
	else
		/* One CPU gains nothing from a thread of its own. */
		add({ "-accel",
		      accel == "tcg" && machine.number("SMP") > 1 ?
			      "tcg,thread=multi" :
			      accel,
		      "-smp", machine.get("SMP") });
	/* -nographic also tells the firmware to use the serial line. */
	add({ "-nodefaults", "-nographic", "-monitor", "none", "-no-reboot",
	      "-serial", "chardev:log" });
	if (std::string device = machine.get("VERDICT_DEVICE", "");
	    !device.empty())
		add({ "-device", device + ",chardev=verdict" });
	else
		add({ "-serial", "chardev:verdict" });
	return args;
}

VmResult run_vm(const VmConfig &config, const VmSinks &sinks)
{
	return Vm(config, sinks).run();
}
