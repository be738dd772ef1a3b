/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Making a time namespace, entering it, and looking into it from outside.
 */
#ifndef VDSO_TEST_TIMENS_H
#define VDSO_TEST_TIMENS_H

#include <vector>

#include <fcntl.h>

#include "clocks.h"
#include "ktap.h"

namespace timens
{

/* Of the kernel's ABI; libc's headers only have it with a newer kernel's */
constexpr int clone_newtime = 0x00000080;

struct Offsets {
	clocks::Stamp monotonic;
	clocks::Stamp boottime;

	clocks::Stamp of(clockid_t clock) const;
};

class Fd {
    public:
	explicit Fd(const char *path, int flags = O_RDONLY);
	~Fd();
	Fd(const Fd &) = delete;
	Fd &operator=(const Fd &) = delete;

	int get() const
	{
		return fd_;
	}

    private:
	int fd_;
};

/* The errno of writing them for the children to come, or 0 */
int write_offsets(const Offsets &offsets);

/* A new namespace for the children; false, and the case has its verdict */
bool make_namespace(ktap::Case &t, const Offsets &offsets);

/* Enters one, named by a file of /proc/self/ns; false after a failure */
bool set_namespace(ktap::Case &t, const Fd &file);

/*
 * Readings of the vDSO in a namespace, in this process or in another, between
 * system calls outside of it.
 */
class Readings {
    public:
	explicit Readings(std::vector<clocks::Source> sources);
	~Readings();
	Readings(const Readings &) = delete;
	Readings &operator=(const Readings &) = delete;

	/* In this order: outside, inside, outside */
	void before();
	void inside();
	void after(ktap::Case &t, const Offsets &offsets);

    private:
	std::vector<clocks::Source> sources_;
	std::vector<clocks::Stamp> before_;
	clocks::Stamp *stamps_;
};

} // namespace timens

#endif /* VDSO_TEST_TIMENS_H */
