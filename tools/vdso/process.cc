// SPDX-License-Identifier: GPL-2.0-only
/* The lab's few dealings with the operating system, in one place. */
#include "process.h"
#include "image.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <spawn.h>
#include <sys/wait.h>

namespace vdso
{

temp_dir::temp_dir()
	: name(std::filesystem::temp_directory_path() / "vdso-lab.XXXXXX")
{
	if (!mkdtemp(name.data()))
		throw user_error{ fmt::format("{}: {}", name, strerror(errno)) };
}

temp_dir::~temp_dir()
{
	std::error_code ignored;

	std::filesystem::remove_all(name, ignored);
}

void write_file(const std::string &path, const std::vector<unsigned char> &content)
{
	std::ofstream out(path, std::ios::binary);

	out.write(reinterpret_cast<const char *>(content.data()),
		  static_cast<std::streamsize>(content.size()));
	out.close();
	if (!out)
		throw user_error{ fmt::format("{}: cannot be written", path) };
}

void run_process(const std::vector<std::string> &argv)
{
	std::vector<char *> args;
	pid_t pid;
	int status;

	for (const auto &arg : argv)
		args.push_back(const_cast<char *>(arg.c_str()));
	args.push_back(nullptr);
	int err = posix_spawnp(&pid, args[0], nullptr, nullptr, args.data(), environ);
	if (err)
		throw user_error{ fmt::format("{}: {}; is it installed?", argv[0], strerror(err)) };
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			throw user_error{ fmt::format("{}: {}", argv[0], strerror(errno)) };
	if (WIFSIGNALED(status))
		throw user_error{ fmt::format("{}: killed by signal {}", argv[0],
					      WTERMSIG(status)) };
	if (WEXITSTATUS(status))
		throw user_error{ fmt::format("{}: exit status {}", argv[0], WEXITSTATUS(status)) };
}

} // namespace vdso
