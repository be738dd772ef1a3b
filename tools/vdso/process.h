/* SPDX-License-Identifier: GPL-2.0-only */
/* Temporary directories, whole files and child processes. */
#ifndef VDSO_PROCESS_H
#define VDSO_PROCESS_H

#include <string>
#include <vector>

namespace vdso
{

/* A directory that goes away with its contents. */
class temp_dir {
    public:
	temp_dir();
	~temp_dir();
	temp_dir(const temp_dir &) = delete;
	temp_dir &operator=(const temp_dir &) = delete;
	const std::string &path() const
	{
		return name;
	}

    private:
	std::string name;
};

void write_file(const std::string &path,
		const std::vector<unsigned char> &content);

/* Runs @argv to its end; anything but success within @seconds is a user_error. */
void run_process(const std::vector<std::string> &argv, unsigned seconds);

} // namespace vdso

#endif
