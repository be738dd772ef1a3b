// SPDX-License-Identifier: GPL-2.0-only
/* The lab's few dealings with the operating system, in one place. */
#include "process.h"
#include "image.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

namespace vdso
{

temp_dir::temp_dir()
	: name(std::filesystem::temp_directory_path() / "vdso-lab.XXXXXX")
{
	if (!mkdtemp(name.data()))
		throw user_error{ fmt::format("{}: {}", name,
					      strerror(errno)) };
}

temp_dir::~temp_dir()
{
	std::error_code ignored;

	std::filesystem::remove_all(name, ignored);
}

void write_file(const std::string &path,
		const std::vector<unsigned char> &content)
{
	std::ofstream out(path, std::ios::binary);

	out.write(reinterpret_cast<const char *>(content.data()),
		  static_cast<std::streamsize>(content.size()));
	out.close();
	if (!out)
		throw user_error{ fmt::format("{}: cannot be written", path) };
}

namespace
{

/* A child that is killed and waited for if nobody else did. */
class child {
    public:
	explicit child(const std::vector<std::string> &argv) : name(argv[0])
	{
		std::vector<char *> args;

		args.reserve(argv.size() + 1);
		for (const auto &arg : argv)
			args.push_back(const_cast<char *>(arg.c_str()));
		args.push_back(nullptr);
		int err = posix_spawnp(&pid, args[0], nullptr, nullptr,
				       args.data(), environ);
		if (err)
			throw user_error{ fmt::format("{}: {}; is it installed?",
						      name, strerror(err)) };
	}
	~child()
	{
		if (pid > 0) {
			kill(pid, SIGKILL);
			waitpid(pid, nullptr, 0);
		}
	}
	child(const child &) = delete;
	child &operator=(const child &) = delete;

	int wait(unsigned seconds)
	{
		int status = 0,
		    fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
		pollfd ended = { fd, POLLIN, 0 };
		int ready = poll(&ended, 1, static_cast<int>(seconds * 1000));

		close(fd);
		if (ready <= 0)
			throw user_error{ fmt::format(
				"{}: no end after {} s, the image may wait "
				"for a page that it does not know",
				name, seconds) };
		waitpid(std::exchange(pid, -1), &status, 0);
		return status;
	}

    private:
	std::string name;
	pid_t pid = -1;
};

} // namespace

void run_process(const std::vector<std::string> &argv, unsigned seconds)
{
	child process(argv);
	int status = process.wait(seconds);

	if (WIFSIGNALED(status))
		throw user_error{ fmt::format("{}: killed by signal {}",
					      argv[0], WTERMSIG(status)) };
	if (WEXITSTATUS(status))
		throw user_error{ fmt::format("{}: exit status {}", argv[0],
					      WEXITSTATUS(status)) };
}

} // namespace vdso
