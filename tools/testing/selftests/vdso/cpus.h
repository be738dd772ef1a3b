/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which CPUs there are for this program, and staying on one of them.
 */
#ifndef VDSO_TEST_CPUS_H
#define VDSO_TEST_CPUS_H

#include <vector>

namespace cpus
{

/* Those that this process may use */
std::vector<int> usable();

/* The calling thread, from now on; false if that CPU is not there */
bool pin(int cpu);

} // namespace cpus

#endif /* VDSO_TEST_CPUS_H */
