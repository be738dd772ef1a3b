// SPDX-License-Identifier: GPL-2.0-only
/*
 * The boot runner: boots a machine, judges what it says, keeps the evidence.
 *
 * "boot test" runs the modes that it is told, each in a boot of its own: the
 * functional tests want CPUs that really run side by side, the timing wants
 * -icount, which makes the same build print the same nanoseconds on every
 * host, and QEMU cannot do both at once. Log, KTAP and JSON of all boots end
 * up under their names only when complete.
 *
 * "boot kunit" boots the same modes, without their tests, for the kernel's own: what
 * KUnit says in the log of what is built in and of the modules in the initramfs.
 *
 * "boot run" runs one command of the person's and exits with its status.
 *
 * A machine that is a guest of KVM needs a host. Whether this one is fit for it
 * does not show in /dev/kvm, which may be there and crawl; so a boot is tried.
 * If it is not done in seconds, QEMU's TCG is the host: it emulates AMD's
 * SVM, and the machine runs in a guest of that guest.
 */
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstring>
#include <deque>
#include <fstream>
#include <optional>
#include <system_error>

#include "ktap.h"
#include "kunit.h"
#include "lines.h"
#include "machine.h"
#include "result.h"
#include "trouble.h"
#include "unique_fd.h"
#include "vm.h"

namespace
{

namespace fs = std::filesystem;

constexpr int status_failed = 1;
constexpr int status_usage = 2;
constexpr int status_interrupted = 130;
constexpr size_t tail_lines = 40;
/* More lines of trouble than this are in the log. */
constexpr size_t trouble_shown = 5;

struct Arguments {
	fs::path machine;
	fs::path kernel;
	fs::path initrd;
	/* Of the machine that is the host of KVM when this one is none */
	fs::path host_kernel;
	fs::path host_initrd;
	std::string accel; /* kvm, nested, tcg; empty: what works */
	std::string variant = "base";
	fs::path results;
	std::vector<std::string> modes;
	bool kunit = false; /* the kernel has unit tests */
	bool kunit_only = false;
	bool interactive = false;
	std::string append; /* to the kernel's command line */
	int limit = 3600;
	unsigned output = 64; /* MiB that a guest may print */
	int silence = 0; /* 0: as the machine says */
};

class Interrupted : public std::exception {};

/* The last lines of both consoles, for when something goes wrong. */
class Tail {
    public:
	void add(std::string_view line)
	{
		lines_.emplace_back(line);
		if (lines_.size() > tail_lines)
			lines_.pop_front();
	}
	void print() const
	{
		for (const auto &line : lines_)
			fmt::print(stderr, "    | {}\n", printable(line));
	}
	/* The last one, if possible of QEMU itself */
	std::string complaint() const
	{
		auto qemu = std::find_if(
			lines_.rbegin(), lines_.rend(), [](const auto &line) {
				return line.starts_with("qemu-system-");
			});

		if (qemu != lines_.rend())
			return printable(*qemu);
		return lines_.empty() ? "" : printable(lines_.back());
	}

    private:
	std::deque<std::string> lines_;
};

/* A file that gets its name when it is complete. */
class ResultFile {
    public:
	explicit ResultFile(const fs::path &path)
		: path_(path), temporary_(path.string() + ".new"),
		  stream_(temporary_)
	{
		if (!stream_)
			throw UserError(fmt::format("cannot write {}",
						    temporary_.string()));
	}
	/* Interrupted, or something went wrong: nothing half made stays. */
	~ResultFile()
	{
		std::error_code ignored;
		fs::remove(temporary_, ignored);
	}
	ResultFile(const ResultFile &) = delete;
	ResultFile &operator=(const ResultFile &) = delete;

	void line(std::string_view text)
	{
		stream_ << text << '\n' << std::flush;
	}
	/* A full disk shows here at the latest. */
	void keep()
	{
		stream_.close();
		if (!stream_)
			throw UserError(fmt::format(
				"cannot write {}, {} MiB are free there",
				path_.string(),
				fs::space(path_.parent_path()).available >>
					20));
		fs::rename(temporary_, path_);
	}
	const fs::path &path() const
	{
		return path_;
	}

    private:
	fs::path path_;
	fs::path temporary_;
	std::ofstream stream_;
};

/* Two runs that boot the same would write the same files: the second one waits. */
UniqueFd lock_results(const fs::path &file, const std::string &who)
{
	UniqueFd lock(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));

	if (!lock)
		throw UserError(fmt::format("cannot write {}: {}",
					    file.string(), strerror(errno)));
	if (!flock(lock.get(), LOCK_EX | LOCK_NB))
		return lock;
	fmt::print("  {:<7} {}: waiting for another run of it\n", "BOOT", who);
	fflush(stdout);
	while (flock(lock.get(), LOCK_EX) && errno == EINTR)
		;
	return lock;
}

/* What runs the machine, and why it is not something better. */
struct Accel {
	std::string name = "tcg";
	std::string reason;
};

/* APPEND_ORDERED is for the mode "ordered". */
std::string append_key(std::string mode)
{
	std::transform(mode.begin(), mode.end(), mode.begin(), [](char c) {
		return static_cast<char>(
			std::toupper(static_cast<unsigned char>(c)));
	});
	return "APPEND_" + mode;
}

VmConfig vm_config(const Arguments &arguments, const Machine &machine,
		   const std::string &mode, const Accel &accel)
{
	VmConfig config{ .machine = machine,
			 .kernel = arguments.kernel,
			 .initrd = arguments.initrd,
			 .append = fmt::format("cvdso.variant={} cvdso.mode={}",
					       arguments.variant,
					       arguments.kunit_only ? "kunit" :
								      mode),
			 .accel = accel.name };
	std::string more = machine.get(append_key(mode), "");

	if (!more.empty())
		config.append += " " + more;
	if (!arguments.append.empty())
		config.append += " " + arguments.append;
	config.timing = mode == "bench";
	/* How long a copy to the stack takes depends on where it is. */
	if (config.timing)
		config.append += " norandmaps";
	config.silence = std::chrono::seconds(
		arguments.silence ? arguments.silence :
				    machine.number("TIMEOUT"));
	config.limit = std::chrono::seconds(arguments.limit);
	/* What a person's command prints is theirs to say. */
	if (!arguments.results.empty())
		config.output_limit = size_t(arguments.output) << 20;
	return config;
}

/* The host that the guest of this configuration needs: TCG's. */
VmConfig host_config(const Arguments &arguments, const Machine &host,
		     const VmConfig &guest)
{
	std::string inner = kernel_arguments(guest.machine, guest.append);
	VmConfig config{ .machine = host,
			 .kernel = arguments.host_kernel,
			 .initrd = arguments.host_initrd };

	std::replace(inner.begin(), inner.end(), ' ', '|');
	config.append = "cvdso.mode=host cvdso.guest=" + inner;
	config.more_args = guest.machine.words("HOST_ARGS");
	config.silence = guest.silence;
	config.limit = guest.limit;
	config.output_limit = guest.output_limit;
	return config;
}

/* A mode that no test is for: the plan is all that it prints. */
constexpr std::string_view probe_mode = "probe";
constexpr std::string_view probe_answer = "1..0";
constexpr int probe_seconds = 10;

/* Empty when this host runs a guest of KVM as fast as one should. */
std::string why_not_kvm(const Arguments &arguments, const Machine &machine)
{
	if (access("/dev/kvm", R_OK | W_OK))
		return fmt::format("/dev/kvm: {}", strerror(errno));
	VmConfig config = vm_config(arguments, machine, std::string(probe_mode),
				    { "kvm", "" });
	std::string answer;
	auto answered = [&] {
		return answer.find(probe_answer) != std::string::npos;
	};

	config.silence = config.limit = std::chrono::seconds(probe_seconds);
	VmResult vm = run_vm(config, { [](auto) {},
				       [&](auto piece) { answer += piece; },
				       answered });
	if (vm.end == VmEnd::interrupted)
		throw Interrupted();
	if (answered())
		return "";
	if (vm.end == VmEnd::exited)
		return fmt::format("a guest of this host's KVM ended at once, "
				   "QEMU with status {}",
				   vm.status);
	return fmt::format("a guest of this host's KVM did not boot in {} s",
			   probe_seconds);
}

Accel choose_accel(const Arguments &arguments, const Machine &machine)
{
	if (machine.get("ACCEL", "tcg") != "kvm")
		return {};
	if (!arguments.accel.empty())
		return { arguments.accel, "as ACCEL= says" };
	std::string reason = why_not_kvm(arguments, machine);
	if (reason.empty())
		return { "kvm", "this host's" };
	return { "nested", reason };
}

std::optional<Machine> find_host(const Arguments &arguments,
				 const Machine &machine, const Accel &accel)
{
	if (accel.name != "nested")
		return std::nullopt;
	if (arguments.host_kernel.empty() || arguments.host_initrd.empty())
		throw UserError(fmt::format(
			"{} runs in a guest: --host-kernel and --host-initrd are wanted",
			machine.name()));
	return Machine(arguments.machine.parent_path() / machine.get("HOST"));
}

/* In words, or empty if the guest switched itself off as it should. */
std::string describe_end(const VmResult &vm, const VmConfig &config,
			 const Tail &tail)
{
	constexpr int not_started = 127;

	switch (vm.end) {
	case VmEnd::silent:
		return fmt::format("guest silent for {} s",
				   config.silence.count());
	case VmEnd::over_limit:
		return fmt::format("guest still running after {} s",
				   config.limit.count());
	case VmEnd::flooding:
		return fmt::format("guest printed more than {} MiB",
				   config.output_limit >> 20);
	case VmEnd::lingering:
		return "guest did not switch itself off";
	case VmEnd::interrupted:
		throw Interrupted();
	case VmEnd::exited:
		break;
	}
	if (vm.status == not_started)
		return fmt::format("cannot start {}: is it installed? "
				   "'make deps' does that",
				   tail.complaint());
	if (vm.status)
		return fmt::format("{} ended with status {}: {}",
				   config.machine.get("QEMU"), vm.status,
				   tail.complaint());
	return "";
}

/* One boot of "boot test", judged line by line. */
class TestBoot {
    public:
	TestBoot(const VmConfig &config, const Arguments &arguments,
		 std::string mode, ResultFile &log, ResultFile &tap)
		: config_(config), arguments_(arguments),
		  mode_(std::move(mode)), log_(log), tap_(tap)
	{
	}

	/* Adds to the result; returns this boot's own problems. */
	std::vector<std::string> run(MachineResult &result)
	{
		log_.line(fmt::format("# boot: {}", mode_));
		VmResult vm = run_vm(
			config_,
			{ [this](auto piece) { log_lines_.feed(piece); },
			  [this](auto piece) { tap_lines_.feed(piece); },
			  [this] { return fatal_ || ktap_.complete(); } });
		log_lines_.end();
		tap_lines_.end();
		judge(vm);
		judge_kunit();
		result.add(mode_, ktap_.root());
		KtapTest kunit;
		kunit.subtests = kunit_.runs();
		result.add(mode_, kunit);
		result.seconds += vm.seconds;
		if (result.kernel.empty())
			result.kernel = kernel_;
		return problems_;
	}

	const Tail &tail() const
	{
		return tail_;
	}

    private:
	/* On a terminal: which test it is that takes so long. */
	void show_progress(std::string_view line) const
	{
		constexpr std::string_view words = "cvdso: start ";
		size_t at = line.find(words);

		if (at == std::string_view::npos || !isatty(STDOUT_FILENO))
			return;
		fmt::print("  ...     {}: {}\033[K\r", config_.machine.name(),
			   line.substr(at + words.size()));
		fflush(stdout);
	}

	void log_line(std::string_view line)
	{
		constexpr std::string_view banner = "Linux version ";

		show_progress(line);
		log_.line(line);
		tail_.add(line);
		kunit_.line(line);
		fatal_ = fatal_ || is_fatal(line);
		if (is_trouble(line) && trouble_count_++ < trouble_shown)
			problems_.push_back(
				fmt::format("kernel log: {}", printable(line)));
		size_t at = line.find(banner);
		if (at != std::string_view::npos && kernel_.empty())
			kernel_ = line.substr(at + banner.size());
	}

	void tap_line(std::string_view line)
	{
		tap_.line(fmt::format("  {}", line));
		tail_.add(line);
		ktap_.line(line);
	}

	void judge(const VmResult &vm)
	{
		std::string end = describe_end(vm, config_, tail_);

		if (trouble_count_ > trouble_shown)
			problems_.push_back(
				fmt::format("kernel log: {} more such lines",
					    trouble_count_ - trouble_shown));
		if (!end.empty())
			problems_.push_back(end);
		ktap_.finish();
		if (ktap_.complete() && ktap_.root().subtests.empty() &&
		    !arguments_.kunit_only)
			problems_.push_back(fmt::format(
				"no test in the list is for mode {}", mode_));
		for (const auto &error : ktap_.errors())
			problems_.push_back("verdict: " + error);
	}

	void judge_kunit()
	{
		kunit_.finish();
		for (const auto &error : kunit_.errors())
			problems_.push_back(error);
		if ((arguments_.kunit || arguments_.kunit_only) &&
		    kunit_.runs().empty())
			problems_.push_back(
				"kunit: no result of a unit test in the log");
		else if (arguments_.kunit_only &&
			 !ktap_.root().subtests.empty())
			for (const auto &line : compare_module(kunit_))
				problems_.push_back("kunit-module: " + line);
	}

	const VmConfig &config_;
	const Arguments &arguments_;
	std::string mode_;
	ResultFile &log_;
	ResultFile &tap_;
	KtapParser ktap_;
	KunitLog kunit_;
	Tail tail_;
	std::vector<std::string> problems_;
	std::string kernel_;
	size_t trouble_count_ = 0;
	bool fatal_ = false;
	LineSplitter log_lines_{ [this](auto line) { log_line(line); } };
	LineSplitter tap_lines_{ [this](auto line) { tap_line(line); } };
};

void show_problems(const std::string &who,
		   const std::vector<std::string> &problems, const Tail &tail,
		   const fs::path &log)
{
	for (const auto &problem : problems)
		fmt::print(stderr, "qemu-test: {}: {}\n", who,
			   printable(problem));
	fmt::print(stderr, "qemu-test: {}: the last lines, all are in {}:\n",
		   who, log.string());
	tail.print();
}

void show_step(const MachineResult &result, const std::string &who,
	       const fs::path &tap)
{
	fmt::print("  {:<7} {} ({:.0f} s){}{}\n", "BOOT", who, result.seconds,
		   result.good() ? "" : ", see " + tap.string(),
		   isatty(STDOUT_FILENO) ? "\033[K" : "");
	fflush(stdout);
}

/* An outcome of its own in the KTAP: the boot as such. */
void close_boot(ResultFile &tap, size_t number, const std::string &mode,
		const std::vector<std::string> &problems, bool failed)
{
	std::string reason;

	if (!problems.empty())
		reason = " # " + problems.front();
	tap.line(fmt::format("{} {} {}{}",
			     problems.empty() && !failed ? "ok" : "not ok",
			     number, mode, reason));
}

int test_machine(const Arguments &arguments)
{
	Machine machine(arguments.machine);
	std::string stem =
		fmt::format("{}-{}", machine.name(), arguments.variant);
	std::string who =
		fmt::format("{} {}", machine.name(), arguments.variant);

	fs::create_directories(arguments.results);
	UniqueFd lock =
		lock_results(arguments.results / ("." + stem + ".lock"), who);
	ResultFile log(arguments.results / (stem + ".log"));
	ResultFile tap(arguments.results / (stem + ".tap"));
	fs::path json = arguments.results / (stem + ".json");
	MachineResult result;
	result.machine = machine.name();
	result.variant = arguments.variant;

	tap.line("KTAP version 1");
	tap.line(fmt::format("1..{}", arguments.modes.size()));
	Accel accel = choose_accel(arguments, machine);
	std::optional<Machine> host = find_host(arguments, machine, accel);
	if (!accel.reason.empty()) {
		who += fmt::format(", {}", accel.name);
		log.line(fmt::format("# accel: {}: {}", accel.name,
				     accel.reason));
	}
	for (size_t i = 0; i < arguments.modes.size(); i++) {
		const std::string &mode = arguments.modes[i];
		VmConfig guest = vm_config(arguments, machine, mode, accel);
		VmConfig config =
			host ? host_config(arguments, *host, guest) : guest;
		TestBoot boot(config, arguments, mode, log, tap);
		size_t failed = result.counts().failed;
		auto problems = boot.run(result);

		close_boot(tap, i + 1, mode, problems,
			   result.counts().failed > failed);
		if (!problems.empty())
			show_problems(who, problems, boot.tail(), log.path());
		result.problems.insert(result.problems.end(), problems.begin(),
				       problems.end());
	}
	log.keep();
	tap.keep();
	save_result(result, json);
	show_step(result, who, tap.path());
	return result.good() ? 0 : status_failed;
}

/* init's last word about a command, in the kernel log. */
std::optional<int> exit_status_line(std::string_view line)
{
	constexpr std::string_view words = "cvdso: exit status ";
	size_t at = line.find(words);

	if (at == std::string_view::npos)
		return std::nullopt;
	return std::atoi(std::string(line.substr(at + words.size())).c_str());
}

int run_command(const Arguments &arguments)
{
	Machine machine(arguments.machine);
	if (arguments.interactive && !isatty(STDIN_FILENO))
		throw UserError(
			"without a terminal, say what to run: CMD=\"...\"");
	Accel accel = choose_accel(arguments, machine);
	std::optional<Machine> host = find_host(arguments, machine, accel);
	VmConfig guest =
		vm_config(arguments, machine,
			  arguments.interactive ? "shell" : "cmd", accel);
	VmConfig config = host ? host_config(arguments, *host, guest) : guest;
	Tail tail;
	std::optional<int> status;
	bool fatal = false;
	LineSplitter log([&](std::string_view line) {
		tail.add(line);
		if (auto found = exit_status_line(line))
			status = found;
		fatal = fatal || is_fatal(line);
	});
	auto pass_on = [](std::string_view piece) {
		fwrite(piece.data(), 1, piece.size(), stdout);
		fflush(stdout);
	};

	config.interactive = arguments.interactive;
	VmResult vm =
		run_vm(config, { [&](auto piece) { log.feed(piece); }, pass_on,
				 [&] { return fatal || status; } });
	log.end();
	std::string end = describe_end(vm, config, tail);
	if (status && end.empty()) {
		/* make, which started this, turns any status into a 2. */
		if (*status)
			fmt::print(stderr, "qemu-run: {}: exit status {}\n",
				   machine.name(), *status);
		return *status;
	}
	fmt::print(
		stderr, "qemu-run: {}: {}, the last lines:\n", machine.name(),
		end.empty() ? "the guest ended before the command did" : end);
	tail.print();
	return status_failed;
}

void require_file(const fs::path &file)
{
	if (!fs::is_regular_file(file))
		throw UserError(fmt::format("no file {}", file.string()));
}

void common_options(CLI::App &command, Arguments &arguments)
{
	command.add_option("--machine", arguments.machine, "a machine file")
		->required();
	command.add_option("--kernel", arguments.kernel, "what to boot")
		->required();
	command.add_option("--initrd", arguments.initrd, "the initramfs")
		->required();
	command.add_option("--variant", arguments.variant, "base or patched");
	command.add_option("--host-kernel", arguments.host_kernel,
			   "of the host that TCG emulates, for a guest of KVM");
	command.add_option(
		"--host-initrd", arguments.host_initrd,
		"with QEMU and the guest's own kernel and initramfs");
	command.add_option("--accel", arguments.accel,
			   "of a guest of KVM: kvm, nested or tcg")
		->check(CLI::IsMember({ "kvm", "nested", "tcg", "" }));
	command.add_option("--limit", arguments.limit,
			   "seconds that a boot may take");
	command.add_option("--output", arguments.output,
			   "MiB that a guest under test may print");
	command.add_option("--silence", arguments.silence,
			   "seconds of silence that mean a hang");
}

int run(int argc, char **argv)
{
	Arguments arguments;
	CLI::App app("boots a machine in QEMU and judges what it says");
	auto *test = app.add_subcommand("test", "run the guest's tests");
	auto *kunit =
		app.add_subcommand("kunit", "run the kernel's unit tests");
	auto *command = app.add_subcommand("run", "run one command in it");

	app.require_subcommand(1);
	for (auto *booting : { test, kunit }) {
		common_options(*booting, arguments);
		booting->add_option("--results", arguments.results,
				    "where results go")
			->required();
		booting->add_option("--mode", arguments.modes,
				    "one boot for each")
			->required();
		booting->add_option("--append", arguments.append,
				    "more for the kernel's command line");
	}
	test->add_flag("--kunit", arguments.kunit,
		       "the kernel has unit tests: want their results");
	common_options(*command, arguments);
	command->add_option("--append", arguments.append,
			    "more for the kernel's command line");
	command->add_flag("--interactive", arguments.interactive,
			  "connect the terminal");
	CLI11_PARSE(app, argc, argv);

	require_file(arguments.kernel);
	require_file(arguments.initrd);
	arguments.kunit_only = kunit->parsed();
	return *command ? run_command(arguments) : test_machine(arguments);
}

} /* namespace */

int main(int argc, char **argv)
{
	try {
		return run(argc, argv);
	} catch (const Interrupted &) {
		return status_interrupted;
	} catch (const std::exception &error) {
		fprintf(stderr, "boot: %s\n", error.what());
		return status_usage;
	}
}
