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
 * programs the libraries of the cross compiler's libc.
 */
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "elf_file.h"
#include "guest/testlist.h"
#include "machine.h"
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
		if (!files_.insert(guest).second)
			return;
		fs::last_write_time(copy, std::chrono::file_clock::from_sys(
						  std::chrono::sys_seconds()));
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

void add_tests(Archive &archive, const Arguments &arguments,
	       const Machine &machine)
{
	std::string text;
	TestList list = read_lists(arguments.lists, text);

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
		}
	}
}

void add_basics(Archive &archive, const Arguments &arguments)
{
	archive.add_directory("/dev");
	archive.add_line("nod /dev/console 0600 0 0 c 5 1");
	archive.add_directory("/user");
	archive.add("/init", arguments.init);
}

void write_tests(const Arguments &arguments)
{
	Machine machine(arguments.machine);
	Archive archive(arguments.output);

	add_basics(archive, arguments);
	add_tests(archive, arguments, machine);
	archive.write();
}

/* Where the cross compiler's libc lives, by the ABI of the libc. */
std::map<std::string, ElfAbi> library_directories(const Machine &machine)
{
	std::map<std::string, ElfAbi> result;

	for (const auto &triple : machine.words("TRIPLES")) {
		std::string directory = fmt::format("/usr/{}/lib", triple);
		auto libc = read_elf(fs::path(directory) / "libc.so.6");
		if (libc)
			result[directory] = libc->abi;
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
		if (auto elf = read_elf(file))
			add_libraries(file, *elf);
	}

	void add_libraries(const fs::path &file, const ElfFile &elf)
	{
		if (elf.interpreter.empty() && elf.needed.empty()) {
			check_abi(file, elf);
			return;
		}
		fs::path directory = check_abi(file, elf);
		fs::path guest =
			fs::path("/lib") / directory.parent_path().filename();
		if (!elf.interpreter.empty())
			add_library(file, directory,
				    fs::path(elf.interpreter).filename(),
				    elf.interpreter);
		for (const auto &name : elf.needed)
			add_library(file, directory, name, guest / name);
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

	fs::path check_abi(const fs::path &file, const ElfFile &elf) const
	{
		for (const auto &[directory, abi] : directories_)
			if (abi == elf.abi)
				return directory;
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
	std::map<std::string, ElfAbi> directories_;
	std::vector<fs::path> files_;
};

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

int run(int argc, char **argv)
{
	Arguments arguments;
	CLI::App app("writes the list of files of an initramfs");
	auto *tests = app.add_subcommand("tests", "the guest's tests");
	auto *user = app.add_subcommand("user", "a person's files");

	app.require_subcommand(1);
	for (auto *command : { tests, user }) {
		command->add_option("--machine", arguments.machine)->required();
		command->add_option("--output", arguments.output)->required();
		command->add_option("--init", arguments.init)->required();
	}
	tests->add_option("--list", arguments.lists)->required();
	tests->add_option("--tests", arguments.tests)->required();
	tests->add_option("--kselftest", arguments.kselftest)->required();
	user->add_option("--command", arguments.command);
	user->add_option("files", arguments.files);
	CLI11_PARSE(app, argc, argv);

	*tests ? write_tests(arguments) : write_user(arguments);
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
