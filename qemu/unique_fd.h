/* SPDX-License-Identifier: GPL-2.0-only */
/* A file descriptor that closes itself; used in the guest and on the host. */
#pragma once

#include <unistd.h>

#include <utility>

class UniqueFd {
    public:
	UniqueFd() = default;
	explicit UniqueFd(int fd) : fd_(fd)
	{
	}
	UniqueFd(UniqueFd &&other) noexcept : fd_(std::exchange(other.fd_, -1))
	{
	}
	UniqueFd &operator=(UniqueFd &&other) noexcept
	{
		reset(std::exchange(other.fd_, -1));
		return *this;
	}
	UniqueFd(const UniqueFd &) = delete;
	UniqueFd &operator=(const UniqueFd &) = delete;
	~UniqueFd()
	{
		reset();
	}

	void reset(int fd = -1)
	{
		if (fd_ >= 0)
			close(fd_);
		fd_ = fd;
	}
	int get() const
	{
		return fd_;
	}
	explicit operator bool() const
	{
		return fd_ >= 0;
	}

    private:
	int fd_ = -1;
};
