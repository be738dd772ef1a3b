// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The clock functions of the vDSO. They follow the convention of system calls:
 * r3 is 0, or CR0.SO is set and r3 is a positive errno.
 */
#include "../../../../lib/vdso/gettimeofday.c"

/* What the C library has as a struct timespec, 32-bit times in 32-bit programs */
#ifdef BUILD_VDSO32
#define vdso_timespec old_timespec32
#else
#define vdso_timespec __kernel_timespec
#endif

long __kernel_gettimeofday(struct __kernel_old_timeval *tv, struct timezone *tz)
{
	const struct vdso_data *vd = __arch_get_vdso_data();

	/*
	 * Nearly all callers want the time and no time zone, which takes one
	 * branch to find out: tz + (tv != NULL) - 1 is 0.
	 */
	asm_volatile_goto("addic	0, %0, -1\n"
			  "	addme.	0, %1\n"
			  "	bne-	%l[time_zone]\n"
			  : : "r" (tv), "r" (tz) : "r0", "cr0", "xer" : time_zone);
time:
	if (!tv)
		__builtin_unreachable();
	return vdso_return(__cvdso_gettimeofday_data(vd, tv, NULL));

time_zone:
	if (tz) {
		const struct vdso_data *host = vd;

		/* Its page is there in every time namespace, in front of the other */
		if (IS_ENABLED(CONFIG_TIME_NS))
			host = (const void *)vd - PAGE_SIZE;

		tz->tz_minuteswest = host[CS_HRES_COARSE].tz_minuteswest;
		tz->tz_dsttime = host[CS_HRES_COARSE].tz_dsttime;
	}
	if (tv)
		goto time;
	return vdso_success(0);
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

long __kernel_clock_getres_time64(clockid_t clock, struct __kernel_timespec *res)
{
	return vdso_return(__cvdso_clock_getres(clock, res));
}
#else
long __kernel_clock_gettime(clockid_t clock, struct __kernel_timespec *ts)
{
	return vdso_return(__cvdso_clock_gettime(clock, ts));
}
#endif

long __kernel_clock_getres(clockid_t clock, struct vdso_timespec *res)
{
	struct __kernel_timespec ts;
	long zero = 0;
	int ret;

	ret = __cvdso_clock_getres_common(__arch_get_vdso_data(), clock, &ts);
	if (unlikely(ret))
		return vdso_return(vdso_syscall2(__NR_clock_getres, clock, (unsigned long)res));

	/* The seconds are what is returned: one register is enough for both */
	OPTIMIZER_HIDE_VAR(zero);
	if (likely(res)) {
		res->tv_sec = zero;
		res->tv_nsec = ts.tv_nsec;
	}
	return vdso_success(zero);
}
