// SPDX-License-Identifier: GPL-2.0-only
/*
 * Collects what goes into an initramfs and writes the list that the kernel's
 * own gen_init_cpio makes the archive from.
 *
 * gen_init_cpio stores each file's time; the files are therefore copied to a
 * directory beside the list and get the same time, so that the same programs
 * give the same archive, byte by byte.
 *
 * "initramfs tests" takes the test lists and sees to it that nothing they
 * name is missing. "initramfs user" takes the person's files, and for dynamic
 * programs the libraries of the cross compiler's libc. "initramfs host" is the
 * same for a host of KVM: the files are QEMU and what it is to boot.
 */
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "elf_file.h"
#include "guest/testlist.h"
#include "machine.h"
#include "vm.h"
#include "words.h"

namespace
{

namespace fs = std::filesystem;

constexpr int status_usage = 2;

/* Directories first, as the kernel makes nothing that a path implies. */
class Archive {
    public:
	explicit Archive(const fs::path &list)
		: list_(list), stage_(list.string() + ".files")
	{
		fs::remove_all(stage_);
		fs::create_directories(stage_);
	}

	void add(const fs::path &guest, const fs::path &file,
		 unsigned mode = 0755)
	{
		fs::path copy = prepare(guest);
		fs::copy_file(file, copy, fs::copy_options::overwrite_existing);
		record(guest, copy, mode);
	}
	void add_text(const fs::path &guest, const std::string &text)
	{
		fs::path copy = prepare(guest);
		std::ofstream(copy) << text;
		record(guest, copy, 0644);
	}
	void add_directory(const fs::path &guest)
	{
		if (guest == "/" || !directories_.insert(guest).second)
			return;
		add_directory(guest.parent_path());
		lines_ += fmt::format("dir {} 0755 0 0\n", guest.string());
	}
	void add_line(const std::string &line)
	{
		lines_ += line + "\n";
	}
	bool has(const fs::path &guest) const
	{
		return files_.contains(guest);
	}
	void write() const
	{
		std::ofstream stream(list_);
		stream << lines_;
		if (!stream.flush())
			throw UserError(
				fmt::format("cannot write {}", list_.string()));
	}

    private:
	fs::path prepare(const fs::path &guest)
	{
		fs::path copy = stage_ / guest.relative_path();
		fs::create_directories(copy.parent_path());
		return copy;
	}
	void record(const fs::path &guest, const fs::path &copy, unsigned mode)
	{
		/* Copied anew, even if it is listed twice */
		fs::last_write_time(copy, std::chrono::file_clock::from_sys(
						  std::chrono::sys_seconds()));
		if (!files_.insert(guest).second)
			return;
		add_directory(guest.parent_path());
		lines_ += fmt::format("file {} {} {:04o} 0 0\n", guest.string(),
				      copy.string(), mode);
	}

	fs::path list_;
	fs::path stage_;
	std::string lines_;
	std::set<fs::path> directories_;
	std::set<fs::path> files_;
};

struct Arguments {
	fs::path machine;
	fs::path output;
	fs::path init;
	std::vector<fs::path> lists;
	fs::path tests;
	fs::path kselftest;
	std::vector<fs::path> files;
	std::string command;
	fs::path kernel;
	fs::path initrd;
};

std::string read_text(const fs::path &path)
{
	std::ifstream stream(path);
	return { std::istreambuf_iterator<char>(stream), {} };
}

TestList read_lists(const std::vector<fs::path> &paths, std::string &text)
{
	for (const auto &path : paths) {
		std::string one = read_text(path);
		TestList list = parse_test_list(one);
		if (!list.errors.empty())
			throw UserError(fmt::format("{}: {}", path.string(),
						    list.errors.front()));
		text += one;
	}
	return parse_test_list(text);
}

fs::path host_path(const Arguments &arguments, const std::string &triple,
		   const std::string &program)
{
	const std::string prefix = "kselftest/";

	if (program.starts_with(prefix))
		return arguments.kselftest / triple /
		       program.substr(prefix.size());
	return arguments.tests / triple / program;
}

void add_basics(Archive &archive, const Arguments &arguments)
{
	archive.add_directory("/dev");
	archive.add_line("nod /dev/console 0600 0 0 c 5 1");
	archive.add_directory("/user");
	archive.add("/init", arguments.init);
}

struct Libraries {
	fs::path host;
	fs::path guest;
	ElfAbi abi;
};

/* Where the libc of each triple lives: a cross compiler's, or this machine's. */
std::vector<Libraries> library_directories(const Machine &machine)
{
	std::vector<Libraries> result;

	for (const auto &triple : machine.words("TRIPLES"))
		for (const char *form : { "/usr/{}/lib", "/usr/lib/{}" }) {
			fs::path directory =
				fmt::format(fmt::runtime(form), triple);
			auto libc = read_elf(directory / "libc.so.6");
			if (!libc)
				continue;
			result.push_back({ directory, fs::path("/lib") / triple,
					   libc->abi });
			break;
		}
	return result;
}

class UserFiles {
    public:
	UserFiles(Archive &archive, const Arguments &arguments,
		  const Machine &machine)
		: archive_(archive), machine_(machine),
		  directories_(library_directories(machine)),
		  files_(arguments.files)
	{
	}

	void add_all()
	{
		for (const auto &file : files_)
			add_file(file);
	}
	/* The libraries of a file that is there under any name */
	void add_needed(const fs::path &file)
	{
		if (auto elf = read_elf(file))
			add_libraries(file, *elf);
	}

    private:
	void add_file(const fs::path &file)
	{
		if (fs::is_directory(file))
			throw UserError(fmt::format(
				"{} is a directory; name the files in it",
				file.string()));
		if (!fs::exists(file))
			throw UserError(
				fmt::format("no file {}", file.string()));
		fs::path guest = fs::path("/user") / file.filename();
		if (archive_.has(guest))
			throw UserError(fmt::format(
				"two of the files are called {}; in the guest they are all in /user",
				file.filename().string()));
		unsigned mode =
			static_cast<unsigned>(fs::status(file).permissions()) &
			0777;
		archive_.add(guest, file, mode);
		add_needed(file);
	}

	void add_libraries(const fs::path &file, const ElfFile &elf)
	{
		if (elf.interpreter.empty() && elf.needed.empty()) {
			check_abi(file, elf);
			return;
		}
		const Libraries &from = check_abi(file, elf);
		if (!elf.interpreter.empty())
			add_library(file, from.host,
				    fs::path(elf.interpreter).filename(),
				    elf.interpreter);
		for (const auto &name : elf.needed)
			add_library(file, from.host, name, from.guest / name);
	}

	void add_library(const fs::path &wanted_by, const fs::path &directory,
			 const std::string &name, const fs::path &guest)
	{
		fs::path library = directory / name;

		if (is_own_file(name) || archive_.has(guest))
			return;
		if (!fs::exists(library))
			throw UserError(fmt::format(
				"{} needs {}, which is not in {}; add it to FILES",
				wanted_by.string(), name, directory.string()));
		archive_.add(guest, fs::canonical(library));
		if (auto elf = read_elf(library))
			add_libraries(library, *elf);
	}

	const Libraries &check_abi(const fs::path &file,
				   const ElfFile &elf) const
	{
		for (const auto &libraries : directories_)
			if (libraries.abi == elf.abi)
				return libraries;
		throw UserError(fmt::format(
			"{} ({}) does not run on {}; compile it with {}gcc",
			file.string(), describe(elf.abi), machine_.name(),
			machine_.get("CROSS_COMPILE")));
	}

	bool is_own_file(const std::string &name) const
	{
		return std::any_of(files_.begin(), files_.end(),
				   [&](const fs::path &file) {
					   return file.filename() == name;
				   });
	}

	Archive &archive_;
	const Machine &machine_;
	std::vector<Libraries> directories_;
	std::vector<fs::path> files_;
};

void add_tests(Archive &archive, const Arguments &arguments,
	       const Machine &machine)
{
	std::string text;
	TestList list = read_lists(arguments.lists, text);

	UserFiles libraries(archive, arguments, machine);

	archive.add_directory("/tests");
	archive.add_text("/tests/list", text);
	for (const auto &triple : machine.words("TRIPLES")) {
		archive.add_directory(fs::path("/tests") / triple);
		for (const auto &entry : list.entries) {
			/* "*" as a variant: only a rule for all of them. */
			if (list.skip_reason(entry.program, "*", triple))
				continue;
			fs::path file =
				host_path(arguments, triple, entry.program);
			if (!fs::exists(file))
				throw UserError(fmt::format(
					"{} was not built; the test lists want it for {}",
					file.string(), machine.name()));
			archive.add(fs::path("/tests") / triple / entry.program,
				    file);
			libraries.add_needed(file);
		}
	}
}

void write_tests(const Arguments &arguments)
{
	Machine machine(arguments.machine);
	Archive archive(arguments.output);

	add_basics(archive, arguments);
	add_tests(archive, arguments, machine);
	archive.write();
}

void write_user(const Arguments &arguments)
{
	Machine machine(arguments.machine);
	Archive archive(arguments.output);
	std::string command;

	add_basics(archive, arguments);
	UserFiles(archive, arguments, machine).add_all();
	for (const auto &word : split_command(arguments.command))
		command += word + "\n";
	archive.add_text("/cmd", command);
	archive.write();
}

fs::path find_program(const std::string &name)
{
	const char *variable = getenv("PATH");
	std::istringstream path(variable ? variable : "");

	for (std::string directory; std::getline(path, directory, ':');)
		if (fs::exists(fs::path(directory) / name))
			return fs::path(directory) / name;
	throw UserError(fmt::format("no program {}: 'make deps'", name));
}

/* The guest's consoles are those of the host. */
std::string host_command(const Arguments &arguments, const Machine &machine,
			 const Machine &host)
{
	auto words = machine_arguments(machine, "kvm", false);
	auto in_guest = [](const fs::path &file) {
		return (fs::path("/user") / file.filename()).string();
	};
	std::string text;

	words.front() = in_guest(words.front());
	for (const auto &word :
	     { std::string("-chardev"),
	       "serial,id=log,path=/dev/" + host.get("CONSOLE"),
	       std::string("-chardev"),
	       "serial,id=verdict,path=/dev/" + host.get("VERDICT"),
	       std::string("-L"), std::string("/user"), std::string("-kernel"),
	       in_guest(arguments.kernel), std::string("-initrd"),
	       in_guest(arguments.initrd) })
		words.push_back(word);
	for (const auto &word : words)
		text += word + "\n";
	return text;
}

void write_host(Arguments arguments)
{
	Machine machine(arguments.machine);
	Machine host(arguments.machine.parent_path() / machine.get("HOST"));
	Archive archive(arguments.output);

	arguments.files = { find_program(machine.get("QEMU")), arguments.kernel,
			    arguments.initrd };
	for (const auto &file : machine.words("HOST_FILES"))
		arguments.files.emplace_back(file);
	add_basics(archive, arguments);
	UserFiles(archive, arguments, machine).add_all();
	archive.add_text("/cmd", host_command(arguments, machine, host));
	archive.write();
}

int run(int argc, char **argv)
{
	Arguments arguments;
	CLI::App app("writes the list of files of an initramfs");
	auto *tests = app.add_subcommand("tests", "the guest's tests");
	auto *user = app.add_subcommand("user", "a person's files");
	auto *host = app.add_subcommand("host", "a host of KVM");

	app.require_subcommand(1);
	for (auto *command : { tests, user, host }) {
		command->add_option("--machine", arguments.machine)->required();
		command->add_option("--output", arguments.output)->required();
		command->add_option("--init", arguments.init)->required();
	}
	tests->add_option("--list", arguments.lists)->required();
	tests->add_option("--tests", arguments.tests)->required();
	tests->add_option("--kselftest", arguments.kselftest)->required();
	user->add_option("--command", arguments.command);
	user->add_option("files", arguments.files);
	host->add_option("--kernel", arguments.kernel)->required();
	host->add_option("--initrd", arguments.initrd)->required();
	CLI11_PARSE(app, argc, argv);

	if (*tests)
		write_tests(arguments);
	else if (*user)
		write_user(arguments);
	else
		write_host(arguments);
	return 0;
}

} /* namespace */

int main(int argc, char **argv)
{
	try {
		return run(argc, argv);
	} catch (const std::exception &error) {
		fprintf(stderr, "initramfs: %s\n", error.what());
		return status_usage;
	}
}
