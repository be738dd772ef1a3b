// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The clock functions of the vDSO. They follow the convention of system calls:
 * r3 is 0, or CR0.SO is set and r3 is a positive errno.
 */
#include "../../../../lib/vdso/gettimeofday.c"

long __kernel_gettimeofday(struct __kernel_old_timeval *tv, struct timezone *tz)
{
	return vdso_return(__cvdso_gettimeofday(tv, tz));
}

__kernel_old_time_t __kernel_time(__kernel_old_time_t *time)
{
	return vdso_success(__cvdso_time(time));
}

#ifdef BUILD_VDSO32
long __kernel_clock_gettime(clockid_t clock, struct old_timespec32 *ts)
{
	return vdso_return(__cvdso_clock_gettime32(clock, ts));
}

long __kernel_clock_gettime64(clockid_t clock, struct __kernel_timespec *ts)
{
	return vdso_return(__cvdso_clock_gettime(clock, ts));
}

long __kernel_clock_getres(clockid_t clock, struct old_timespec32 *res)
{
	return vdso_return(__cvdso_clock_getres_time32(clock, res));
}

long __kernel_clock_getres_time64(clockid_t clock, struct __kernel_timespec *res)
{
	return vdso_return(__cvdso_clock_getres(clock, res));
}
#else
long __kernel_clock_gettime(clockid_t clock, struct __kernel_timespec *ts)
{
	return vdso_return(__cvdso_clock_gettime(clock, ts));
}

long __kernel_clock_getres(clockid_t clock, struct __kernel_timespec *res)
{
	return vdso_return(__cvdso_clock_getres(clock, res));
}
#endif
