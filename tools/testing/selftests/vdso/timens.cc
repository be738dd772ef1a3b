// SPDX-License-Identifier: GPL-2.0-only
/*
 * Time namespaces: see timens.h.
 */
#include "timens.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vdso.h"

namespace timens
{

using clocks::Source;
using clocks::Stamp;

Stamp Offsets::of(clockid_t clock) const
{
	switch (clock) {
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_MONOTONIC_RAW:
		return monotonic;
	case CLOCK_BOOTTIME:
		return boottime;
	default:
		return { 0, 0 };
	}
}

Fd::Fd(const char *path, int flags) : fd_(open(path, flags | O_CLOEXEC))
{
}

Fd::~Fd()
{
	if (fd_ >= 0)
		close(fd_);
}

int write_offsets(const Offsets &offsets)
{
	const auto line = [](const char *clock, const Stamp &offset) {
		return clock + (" " + std::to_string(offset.sec)) + " " +
		       std::to_string(offset.nsec) + "\n";
	};
	const std::string text = line("monotonic", offsets.monotonic) +
				 line("boottime", offsets.boottime);
	const Fd file("/proc/self/timens_offsets", O_WRONLY);

	return write(file.get(), text.data(), text.size()) < 0 ? errno : 0;
}

bool make_namespace(ktap::Case &t, const Offsets &offsets)
{
	const vdso::Result made = vdso::system_call(SYS_unshare, clone_newtime);

	if (made.failed && made.value == EINVAL)
		t.lacking("the kernel has no CONFIG_TIME_NS");
	else if (made.failed && made.value == EPERM)
		t.skip("no right to make a time namespace: run as root");
	else if (t.check(!made.failed, "unshare: %s",
			 strerrorname_np(static_cast<int>(made.value)))) {
		const int error = write_offsets(offsets);

		return t.check(!error, "timens_offsets: %s",
			       strerrorname_np(error));
	}
	return false;
}

bool set_namespace(ktap::Case &t, const Fd &file)
{
	const vdso::Result entered = vdso::system_call(
		SYS_setns, vdso::arg(file.get()), clone_newtime);

	return t.check(!entered.failed, "setns: %s",
		       strerrorname_np(static_cast<int>(entered.value)));
}

Readings::Readings(std::vector<Source> sources)
	: sources_(std::move(sources)),
	  stamps_(static_cast<Stamp *>(mmap(
		  nullptr, sources_.size() * sizeof(Stamp),
		  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)))
{
	if (stamps_ == MAP_FAILED)
		abort();
}

Readings::~Readings()
{
	munmap(stamps_, sources_.size() * sizeof(Stamp));
}

void Readings::before()
{
	for (const Source &source : sources_)
		before_.push_back(source.system());
}

void Readings::inside()
{
	for (std::size_t i = 0; i < sources_.size(); i++)
		stamps_[i] = sources_[i].vdso();
}

void Readings::after(ktap::Case &t, const Offsets &offsets)
{
	for (std::size_t i = 0; i < sources_.size(); i++) {
		const Source &source = sources_[i];
		const Stamp offset = offsets.of(source.clock().id);
		const std::string complaint = clocks::complaint(
			source, { clocks::add(before_[i], offset), stamps_[i],
				  clocks::add(source.system(), offset) });

		t.check(complaint.empty(), "seen from outside, plus %s: %s",
			clocks::text(offset).c_str(), complaint.c_str());
	}
	before_.clear();
}

} // namespace timens
