// SPDX-License-Identifier: GPL-2.0-only
/*
 * The scheduler's masks as numbers: see cpus.h.
 */
#include "cpus.h"

#include <cstddef>

#include <sched.h>

namespace cpus
{

std::vector<int> usable()
{
	std::vector<int> numbers;
	cpu_set_t set;

	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(static_cast<std::size_t>(cpu), &set))
			numbers.push_back(cpu);
	return numbers;
}

bool pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(static_cast<std::size_t>(cpu), &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0;
}

} // namespace cpus
