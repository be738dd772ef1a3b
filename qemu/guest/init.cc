// SPDX-License-Identifier: GPL-2.0-only
/*
 * PID 1 of the test guest.
 *
 * It mounts what programs expect, does the one thing that the kernel command
 * line asks for, and ends the machine. The boot runner on the host watches
 * two consoles: kernel log and chatter go to the first, and on the second,
 * the verdict console, nothing but init writes: the KTAP of all tests, or the
 * output of one command. So a verdict is never searched for in a log.
 *
 *	cvdso.mode=MODE		test, bench or another mode of the test lists
 *				runs those; cmd runs /cmd (one argument a
 *				line); host runs it as the QEMU of a guest,
 *				which gets both consoles; kunit loads the kernel
 *				modules of the person's files; shell prompts;
 *				panic, silent, oops, warn, malformed,
 *				flood, chatter, binary misbehave, for testing
 *				the runner
 *	cvdso.variant=V		base or patched, told to the tests
 *	cvdso.without=PART	what this kernel was built or booted without: vdso64,
 *				vdso32, compat or timens
 *	cvdso.verdict=TTY	the verdict console
 *	cvdso.end=reboot	for a machine that cannot switch itself off
 *	cvdso.guest=A|B|...	the kernel command line of a host's guest
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "../unique_fd.h"
#include "process.h"
#include "subtest.h"
#include "testlist.h"

namespace
{

namespace fs = std::filesystem;

using Options = std::map<std::string, std::string>;

constexpr const char *test_root = "/tests";
constexpr const char *user_files = "/user";

std::string read_file(const char *path)
{
	std::ifstream file(path);
	return { std::istreambuf_iterator<char>(file), {} };
}

std::vector<std::string> read_lines(const char *path)
{
	std::ifstream file(path);
	std::vector<std::string> lines;

	for (std::string line; std::getline(file, line);)
		lines.push_back(line);
	return lines;
}

/* Into the kernel log, so that it stands between the kernel's own lines. */
void say(const std::string &text)
{
	UniqueFd log(open("/dev/kmsg", O_WRONLY | O_CLOEXEC));
	std::string line = "<5>cvdso: " + text + "\n";

	/* One write is one line; and dprintf() seeks, which this refuses. */
	if (write(log.get(), line.data(), line.size()) < 0)
		perror("/dev/kmsg");
}

void mount_all()
{
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/dev", 0755);
	mkdir("/tmp", 01777);
	mount("proc", "/proc", "proc", 0, nullptr);
	mount("sysfs", "/sys", "sysfs", 0, nullptr);
	mount("devtmpfs", "/dev", "devtmpfs", 0, nullptr);
	mount("tmpfs", "/tmp", "tmpfs", 0, "mode=1777");
}

/* Without a console driver the kernel starts init with no open file. */
void ensure_standard_files()
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	close(fd);
}

Options parse_command_line(const std::string &text)
{
	constexpr std::string_view prefix = "cvdso.";
	Options options;
	size_t begin = 0;

	while (begin < text.size()) {
		size_t end =
			std::min(text.find_first_of(" \n", begin), text.size());
		std::string word = text.substr(begin, end - begin);
		size_t equals = word.find('=');

		if (word.starts_with(prefix) && equals != std::string::npos)
			options[word.substr(prefix.size(),
					    equals - prefix.size())] =
				word.substr(equals + 1);
		begin = end + 1;
	}
	return options;
}

/* The second console. Bytes pass as they are unless a person sits there. */
class Verdict {
    public:
	Verdict(const std::string &path, bool person)
		: fd_(open(path.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC))
	{
		termios settings{};
		if (!fd_ || person || tcgetattr(fd_.get(), &settings) < 0)
			return;
		cfmakeraw(&settings);
		tcsetattr(fd_.get(), TCSANOW, &settings);
	}
	explicit operator bool() const
	{
		return static_cast<bool>(fd_);
	}
	int fd() const
	{
		return fd_.get();
	}
	void write(std::string_view text) const
	{
		while (!text.empty()) {
			ssize_t count =
				::write(fd_.get(), text.data(), text.size());
			if (count < 0 && errno != EINTR && errno != EAGAIN)
				return;
			text.remove_prefix(static_cast<size_t>(
				std::max(count, ssize_t{})));
		}
	}
	void flush() const
	{
		tcdrain(fd_.get());
	}

    private:
	UniqueFd fd_;
};

/* Where the libraries of a person's dynamic programs are, if any. */
std::string library_path()
{
	std::string path;
	std::error_code error;

	for (const auto &entry : fs::directory_iterator("/lib", error))
		path += entry.path().string() + ":";
	return path + user_files;
}

std::vector<std::string> environment(const Options &options)
{
	return { "LD_LIBRARY_PATH=" + library_path(),
		 std::string("PATH=") + user_files + ":/bin",
		 "HOME=/tmp",
		 "TERM=vt102",
		 "CVDSO_VARIANT=" + options.at("variant"),
		 "CVDSO_WITHOUT=" + options.at("without") };
}

std::vector<std::string> triples()
{
	std::vector<std::string> names;

	for (const auto &entry : fs::directory_iterator(test_root))
		if (entry.is_directory())
			names.push_back(entry.path().filename());
	std::sort(names.begin(), names.end());
	return names;
}

struct Run {
	const TestEntry *entry;
	std::string triple;
};

void run_one(const Run &run, unsigned number, const TestList &list,
	     const Options &options, const Verdict &verdict)
{
	const std::string &program = run.entry->program;
	std::string name = run.triple + "/" + program;
	const std::string *reason =
		list.skip_reason(program, options.at("variant"), run.triple);

	if (!reason && !options.at("without").empty())
		reason = list.skip_reason(program,
					  "without-" + options.at("without"),
					  run.triple);
	if (reason) {
		verdict.write("ok " + std::to_string(number) + " " + name +
			      " # SKIP " + *reason + "\n");
		return;
	}

	say("start " + name);
	auto write = [&](std::string_view text) { verdict.write(text); };
	Subtest subtest(write);
	Command command{ { std::string(test_root) + "/" + name },
			 environment(options),
			 "/tmp",
			 run.entry->limit_seconds };
	Outcome outcome =
		run_captured(command, [&](auto text) { subtest.feed(text); });
	subtest.finish(number, name, outcome, command.limit_seconds);
}

void run_tests(const std::string &mode, const Options &options,
	       const Verdict &verdict)
{
	TestList list = parse_test_list(read_file("/tests/list"));
	std::vector<Run> runs;
	unsigned number = 0;

	for (const auto &triple : triples())
		for (const auto &entry : list.entries)
			if (entry.mode == mode)
				runs.push_back({ &entry, triple });

	verdict.write("KTAP version 1\n1.." +
		      std::to_string(runs.size() + list.errors.size()) + "\n");
	for (const auto &error : list.errors)
		verdict.write("not ok " + std::to_string(++number) +
			      " test list # " + error + "\n");
	for (const auto &run : runs)
		run_one(run, ++number, list, options, verdict);
}

void report_status(int status)
{
	say("exit status " + std::to_string(status));
}

void run_command(const Options &options, const Verdict &verdict)
{
	Command command{ read_lines("/cmd"), environment(options), user_files,
			 0 };
	report_status(shell_status(run_captured(command, [&](auto text) {
		verdict.write(text);
	})));
}

/* QEMU is told of the consoles by /cmd; here is but what it has to say. */
void run_host(const Options &options)
{
	Command command{ read_lines("/cmd"), environment(options), user_files,
			 0 };
	std::string append = options.at("guest");

	std::replace(append.begin(), append.end(), '|', ' ');
	command.argv.insert(command.argv.end(), { "-append", append });
	say("start of the guest");
	/*
	 * The guest's log goes to this machine's console, so that what the host's kernel
	 * says between would stand in the middle of a line: alerts and worse only.
	 */
	constexpr int set_level = 8, alerts = 2, usual = 7;
	std::string words;

	klogctl(set_level, nullptr, alerts);
	Outcome outcome =
		run_captured(command, [&](auto text) { words.append(text); });
	klogctl(set_level, nullptr, usual);
	if (!words.empty())
		say("qemu: " + words);
	say("end of the guest: " + describe(outcome, 0));
}

/* Unit tests run while their module is loaded; the kernel log has the results. */
void load_modules(const Verdict &verdict)
{
	std::set<fs::path> modules;
	unsigned number = 0;

	for (const auto &entry : fs::directory_iterator(user_files))
		if (entry.path().extension() == ".ko")
			modules.insert(entry.path());
	verdict.write("KTAP version 1\n1.." + std::to_string(modules.size()) +
		      "\n");
	for (const auto &module : modules) {
		std::string name = module.filename();
		UniqueFd file(open(module.c_str(), O_RDONLY | O_CLOEXEC));

		say("load " + name);
		std::string line = "ok " + std::to_string(++number);

		if (syscall(SYS_finit_module, file.get(), "", 0)) {
			line.insert(0, "not ");
			name.append(" # ").append(strerror(errno));
		}
		verdict.write(line.append(" ").append(name).append("\n"));
	}
}

std::vector<std::string> split_words(const std::string &line)
{
	std::vector<std::string> words(1);

	for (char c : line)
		if (c != ' ' && c != '\t')
			words.back() += c;
		else if (!words.back().empty())
			words.emplace_back();
	if (words.back().empty())
		words.pop_back();
	return words;
}

void change_directory(std::string &directory, const std::string &where,
		      const Verdict &verdict)
{
	std::error_code error;
	fs::path target = fs::canonical(directory / fs::path(where), error);

	if (error || !fs::is_directory(target))
		verdict.write("cd: no directory " + where + "\n");
	else
		directory = target;
}

void list_directory(const std::string &directory, const Verdict &verdict)
{
	for (const auto &entry : fs::directory_iterator(directory))
		verdict.write(entry.path().filename().string() +
			      (entry.is_directory() ? "/\n" : "\n"));
}

/* Not a shell: no quotes, no pipes; enough to start programs and look. */
void obey(Command &command, const Verdict &verdict)
{
	const auto &words = command.argv;

	if (words[0] == "cd" && words.size() == 2)
		change_directory(command.directory, words[1], verdict);
	else if (words[0] == "ls")
		list_directory(command.directory, verdict);
	else
		run_on_terminal(command, verdict.fd());
}

void prompt(const Options &options, const Verdict &verdict)
{
	Command command{ {}, environment(options), user_files, 0 };
	FILE *input = fdopen(dup(verdict.fd()), "r");
	char line[4096];

	/* Once and here: a terminal hangs up when its session's leader ends. */
	setsid();
	ioctl(verdict.fd(), TIOCSCTTY, 1);
	signal(SIGINT, SIG_IGN);
	verdict.write("A plain prompt: PROGRAM ARGUMENTS..., cd, ls, exit. "
		      "Your files are in /user.\n");
	for (;;) {
		verdict.write(command.directory + " $ ");
		if (!fgets(line, sizeof(line), input))
			break;
		line[strcspn(line, "\n")] = 0;
		command.argv = split_words(line);
		if (command.argv.empty())
			continue;
		if (command.argv[0] == "exit")
			break;
		obey(command, verdict);
	}
	report_status(0);
}

/* A file in debugfs that makes the kernel do what the word says. */
void provoke(const char *word)
{
	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, nullptr);
	UniqueFd file(open("/sys/kernel/debug/provoke-crash/DIRECT",
			   O_WRONLY | O_CLOEXEC));
	if (write(file.get(), word, strlen(word)) < 0)
		say(std::string("cannot provoke ") + word + ": " +
		    strerror(errno));
}

/* Every byte that there is, and no end of a line but the one among them. */
std::string all_bytes()
{
	constexpr int values = 256;
	std::string bytes;

	for (int i = 0; i < values; i++)
		bytes += static_cast<char>(i);
	return bytes;
}

/* As fast as it goes to both consoles, or now and then a line. */
[[noreturn]] void print_for_ever(const std::string &mode,
				 const Verdict &verdict)
{
	constexpr size_t much = 4000;
	const std::string line(mode == "flood" ? much : 4, '#');

	for (;;) {
		verdict.write(line + "\n");
		if (mode == "flood")
			say(line);
		else
			sleep(1);
	}
}

/* True if the mode is one of these. Some do not come back. */
bool misbehave(const std::string &mode, const Verdict &verdict)
{
	if (mode == "panic")
		exit(1); /* the kernel panics without its init */
	if (mode == "silent")
		for (;;)
			pause();
	if (mode == "malformed") {
		verdict.write("KTAP version 1\n1..3\nok 1 first\nok 3 third\n");
		return true;
	}
	if (mode == "flood" || mode == "chatter")
		print_for_ever(mode, verdict);
	if (mode == "binary") {
		for (int i = 0; i < 10; i++) {
			verdict.write(all_bytes());
			say(all_bytes());
		}
		return true;
	}
	if (mode != "oops" && mode != "warn")
		return false;
	verdict.write("KTAP version 1\n1..1\n");
	provoke(mode == "warn" ? "WARNING" : "EXCEPTION");
	verdict.write("ok 1 all is well\n");
	return true;
}

void serve(const Options &options, const Verdict &verdict)
{
	const std::string &mode = options.at("mode");

	if (misbehave(mode, verdict))
		return;
	if (mode == "cmd")
		run_command(options, verdict);
	else if (mode == "host")
		run_host(options);
	else if (mode == "kunit")
		load_modules(verdict);
	else if (mode == "shell")
		prompt(options, verdict);
	else
		run_tests(mode, options, verdict);
}

[[noreturn]] void end_machine(const Options &options)
{
	sync();
	if (options.at("end") != "reboot")
		reboot(RB_POWER_OFF);
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

} /* namespace */

int main()
{
	if (getpid() != 1) {
		fputs("this is the init of a test guest, not a program\n",
		      stderr);
		return 1;
	}
	mount_all();
	ensure_standard_files();

	Options options{ { "mode", "test" },	   { "variant", "" },
			 { "guest", "" },	   { "without", "" },
			 { "verdict", "console" }, { "end", "poweroff" } };
	for (const auto &[key, value] :
	     parse_command_line(read_file("/proc/cmdline")))
		options[key] = value;

	Verdict verdict("/dev/" + options["verdict"],
			options["mode"] == "shell");
	if (verdict)
		serve(options, verdict);
	else
		say("cannot open the verdict console /dev/" +
		    options["verdict"] + ": " + strerror(errno));
	verdict.flush();
	end_machine(options);
}
