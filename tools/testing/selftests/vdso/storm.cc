// SPDX-License-Identifier: GPL-2.0-only
/*
 * Updates of the vDSO's page at the highest rate: see storm.h.
 */
#include "storm.h"

#include <cerrno>
#include <cstdio>
#include <iterator>
#include <system_error>

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

#include "steer.h"

namespace storm
{

namespace
{

/* In 2^-16 ppm: one more or one less */
int change_rate(unsigned int round)
{
	timex request{};

	request.modes = ADJ_FREQUENCY;
	request.freq = static_cast<long>(round % 2);
	return adjtimex(&request) < 0 ? errno : 0;
}

} // namespace

int update(unsigned int round)
{
	constexpr unsigned int kinds = 8;
	constexpr clocks::Stamp back = { -step.sec - 1,
					 clocks::nsec_per_sec - step.nsec };

	switch (round % kinds) {
	case 1:
		return steer::step_realtime(round / kinds % 2 ? back : step);
	case 5:
		return steer::set_tai_offset(
			tai_offsets[round / kinds % std::size(tai_offsets)]);
	default:
		return change_rate(round);
	}
}

Meanwhile::Meanwhile(const What &what, unsigned int pause, bool urgent)
{
	void *page = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		throw std::system_error(errno, std::generic_category(), "mmap");
	shared_ = new (page) Shared();
	fflush(stdout);
	pid_ = fork();
	if (pid_ == 0)
		run(what, pause, urgent);
	if (pid_ < 0) {
		munmap(shared_, sizeof(Shared));
		throw std::system_error(errno, std::generic_category(), "fork");
	}
}

Meanwhile::~Meanwhile()
{
	kill(pid_, SIGKILL);
	waitpid(pid_, nullptr, 0);
	munmap(shared_, sizeof(Shared));
}

void Meanwhile::run(const What &what, unsigned int pause, bool urgent)
{
	const sched_param first = { .sched_priority = 1 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (urgent && sched_setscheduler(0, SCHED_FIFO, &first))
		shared_->error = errno;
	for (unsigned int round = 0;; round++) {
		if (const int error = what(round))
			shared_->error = error;
		shared_->rounds++;
		if (pause)
			usleep(pause);
	}
}

} // namespace storm
