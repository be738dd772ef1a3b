// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of lib/vdso/gettimeofday.c: what a process makes of a data page.
 *
 * The functions are those that the vDSO is built from, with the architecture's
 * own arithmetic. Replaced is what a page that is made up needs: where the pages
 * are, where the counter stands, the system calls, and the barriers, at each of
 * which a test can do what a writer on another CPU would.
 */
#include <kunit/test.h>
#include <linux/processor.h>
#include <linux/string.h>

static void kunit_barrier(void);
static void kunit_relax(void);

#undef smp_rmb
#undef cpu_relax
/* No other CPU is here, but the test in place of one. */
#define smp_rmb()				kunit_barrier()
#define cpu_relax()				kunit_relax()

#include "vdso_kunit.h"

/* 32-bit kernels have the 32-bit vDSO for their own, with calls of its own */
#ifndef CONFIG_64BIT
#define BUILD_VDSO32
#endif

enum kunit_call {
	CALL_NONE,
	CALL_GETTIME,
	CALL_GETTIME32,
	CALL_GETRES,
	CALL_GETRES32,
	CALL_GETTIMEOFDAY,
};

/* What a system call returns here: none of 0 and the errors that there are */
#define SYSCALL_RETURNED	4711

static struct {
	/* Of the process: in a namespace, @ns is what it finds first */
	const struct vdso_data *host;
	const struct vdso_data *ns;
	u64 cycles;

	/* The last system call, and how many there were */
	enum kunit_call call;
	unsigned int calls;
	s64 clock;
	const void *result;

	/* Barriers so far, and what happens at the one that is number @at */
	unsigned int barriers;
	unsigned int at;
	/* For who waits for a writer to finish */
	unsigned int relaxed;
	void (*write)(void);
} env;

static const struct vdso_data *kunit_vdso_data(void)
{
	return env.ns ?: env.host;
}

static const struct vdso_data __maybe_unused *kunit_host_data(void)
{
	return env.host;
}

static u64 kunit_counter(s32 mode)
{
#ifdef vdso_cycles_ok
	/* There a counter that cannot be read says so itself. */
	if (mode == VDSO_CLOCKMODE_NONE)
		return U64_MAX;
#endif
	return env.cycles;
}

static int kunit_syscall(enum kunit_call call, s64 clock, const void *result)
{
	env.call = call;
	env.calls++;
	env.clock = clock;
	env.result = result;
	return SYSCALL_RETURNED;
}

static void kunit_barrier(void)
{
	barrier();
	if (++env.barriers == env.at)
		env.write();
	barrier();
}

/* Every second time, to see a reader wait more than once */
static void kunit_relax(void)
{
	barrier();
	if (++env.relaxed % 2 == 0)
		env.write();
	barrier();
}

/* The architecture's header is included, its functions are not called. */
#undef __arch_get_vdso_data
#undef __arch_get_timens_vdso_data
#undef __arch_get_hw_counter
#undef gettimeofday_fallback
#undef clock_gettime_fallback
#undef clock_getres_fallback
#undef clock_gettime32_fallback
#undef clock_getres32_fallback
#define __arch_get_vdso_data()			kunit_vdso_data()
#define __arch_get_hw_counter(mode, vd)		kunit_counter(mode)
#define gettimeofday_fallback(tv, tz)		kunit_syscall(CALL_GETTIMEOFDAY, -1, tv)
#define clock_gettime_fallback(clock, ts)	kunit_syscall(CALL_GETTIME, clock, ts)
#define clock_getres_fallback(clock, ts)	kunit_syscall(CALL_GETRES, clock, ts)
#define clock_gettime32_fallback(clock, ts)	kunit_syscall(CALL_GETTIME32, clock, ts)
#define clock_getres32_fallback(clock, ts)	kunit_syscall(CALL_GETRES32, clock, ts)
#ifdef CONFIG_TIME_NS
#define __arch_get_timens_vdso_data()		kunit_host_data()
#endif

#include "gettimeofday.c"

bool vdso_kunit_read(const struct vdso_data *vd, u64 cycles, clockid_t clock,
		     struct timespec64 *ts)
{
	struct __kernel_timespec kts = {};
	int ret;

	memset(&env, 0, sizeof(env));
	env.host = vd;
	env.cycles = cycles;
	ret = __cvdso_clock_gettime(clock, &kts);
	*ts = (struct timespec64) { .tv_sec = kts.tv_sec, .tv_nsec = kts.tv_nsec };

	return !ret && !env.calls;
}

/*
 * The pages that the tests read: of the host, another version of that for a
 * writer to write, and of a time namespace.
 */
static struct vdso_data host[CS_BASES];
static struct vdso_data later[CS_BASES];

static const clockid_t hres_clocks[] = {
	CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_TAI,
	CLOCK_MONOTONIC_RAW,
};

static const clockid_t coarse_clocks[] = {
	CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE,
};

/* None of the vDSO: CPU time, alarms, a descriptor, numbers without a clock */
static const clockid_t kernel_clocks[] = {
	CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, CLOCK_REALTIME_ALARM,
	CLOCK_BOOTTIME_ALARM, CLOCK_SGI_CYCLE, 12, 15, 16, 31, 32, 33, 37, 63, 64,
	INT_MAX, -1, -2, -6, -7, -32, INT_MIN,
};

/*
 * A page that is @sec seconds and @base units of 2^-shift ns old when the counter
 * is @delta ticks further. @mult is that of a counter, as the clocksource code
 * calculates it, but where a limit is tried.
 */
struct reader_row {
	const char *name;
	u64 sec;
	u64 base;
	u64 delta;
	u32 mult;
	u32 shift;
};

#define FULL_SECOND(shift)	((u64)NSEC_PER_SEC << (shift))

static const struct reader_row rows[] = {
	{ "8xx, 8.25 MHz", 1606780800, 123456789ULL << 22, 33000, 508400485, 22 },
	{ "8xx, one tick", 1606780800, 0, 1, 508400485, 22 },
	{ "e300, 66.67 MHz", 1606780801, 999999999ULL << 24, 1, 251658240, 24 },
	{ "e300, the last ns", 7, (999999984ULL << 24) + 0xffffff, 1, 251658240, 24 },
	{ "POWER9, 512 MHz", 1606780802, 5ULL << 24, 2048000, 32768000, 24 },
	{ "TSC, 2.6 GHz", 1606780803, 999000000ULL << 24, 2600000, 6452775, 24 },
	{ "no time at all", 0, 0, 0, 1, 1 },
	{ "page of this moment", 42, FULL_SECOND(24) - 1, 0, 251658240, 24 },
	{ "one unit below the second", 42, FULL_SECOND(24) - 33, 1, 32, 24 },
	{ "one unit more: the second", 42, FULL_SECOND(24) - 32, 1, 32, 24 },
	{ "below 2^16 ns of the second", 42, 999948287ULL << 10, 1, 1023, 10 },
	{ "at 2^16 ns of the second", 42, 999948288ULL << 10, 0, 1024, 10 },
	{ "two seconds", 42, FULL_SECOND(20) - 1, 1000000001, 1 << 20, 20 },
	{ "three seconds, less 1 ns", 42, 0, 2999999999U, 1 << 20, 20 },
	{ "three seconds", 42, 0, 3000000000U, 1 << 20, 20 },
	{ "four seconds", 42, 0, 4000000000U, 1 << 20, 20 },
	{ "2^32 - 2 ns", 42, 0, U32_MAX - 1, 1 << 20, 20 },
	{ "2^32 - 1 ns", 42, 0, U32_MAX, 1 << 20, 20 },
	{ "2^32 ns", 42, 0, 1ULL << 32, 1 << 20, 20 },
	{ "2^32 ns and something", 42, 5, (1ULL << 32) + 7, 1 << 20, 20 },
	{ "1000 seconds", 42, 0, 1000ULL * 66666667, 251658240, 24 },
	{ "all 64 bits", 42, 0xffffffff, U32_MAX, U32_MAX, 31 },
	{ "64 bits, the last", 42, 0x1fffffffeULL, U32_MAX, U32_MAX, 31 },
	{ "largest mult", 42, 3, 1, U32_MAX, 8 },
	{ "shift 1", 42, 1, 999999999, 2, 1 },
	{ "shift 31", 42, FULL_SECOND(31) - 1, 1, 1U << 31, 31 },
#ifdef CONFIG_64BIT
	/* A counter of more than 1 GHz; nothing 32-bit that has the vDSO is that fast */
	{ "shift 32", 42, FULL_SECOND(32) - 1, 3, U32_MAX, 32 },
#endif
	{ "beyond 2038", 1ULL << 31, 0, 66666, 251658240, 24 },
	{ "beyond 2106", 1ULL << 32, FULL_SECOND(24) - 1, 66666, 251658240, 24 },
	{ "year 2486", (1ULL << 34) - 1, FULL_SECOND(24) - 1, 66666, 251658240, 24 },
	/* clock_gettime(CLOCK_MONOTONIC) can be negative in a namespace, REALTIME is not */
	{ "before 1970", -5ULL, 7ULL << 24, 66666, 251658240, 24 },
};

/* Nanoseconds after row->sec */
static u64 row_ns(const struct reader_row *row)
{
	return vdso_kunit_shr(vdso_kunit_mul_add(row->delta, row->mult, row->base),
			      row->shift);
}

/* Each base and each clock gets seconds of its own, which no other has. */
static u64 clock_seconds(const struct reader_row *row, clockid_t clock)
{
	return row->sec + 100000ULL * clock;
}

static void fill_page(struct vdso_data *vd, const struct reader_row *row, u64 last)
{
	struct vdso_timestamp *ts;
	int i;

	memset(vd, 0, CS_BASES * sizeof(*vd));
	for (i = 0; i < CS_BASES; i++) {
		vd[i].seq = VDSO_KUNIT_SEQ;
		vd[i].clock_mode = VDSO_KUNIT_CLOCKMODE;
		vd[i].mask = U64_MAX;
		/* In the base that a clock is not of, what gives it wrong times */
		vd[i].cycle_last = last + 1;
		vd[i].mult = row->mult ^ 1;
		vd[i].shift = row->shift;
	}
	for (i = 0; i < VDSO_BASES; i++) {
		ts = &vd[i == CLOCK_MONOTONIC_RAW ? CS_RAW : CS_HRES_COARSE].basetime[i];
		ts->sec = clock_seconds(row, i);
		ts->nsec = row->base;
	}
	for (i = 0; i < ARRAY_SIZE(coarse_clocks); i++)
		vd[CS_HRES_COARSE].basetime[coarse_clocks[i]].nsec =
			row->base >> row->shift;
}

static void start_base(struct vdso_data *vd, clockid_t clock,
		       const struct reader_row *row, u64 last)
{
	vd += clock == CLOCK_MONOTONIC_RAW ? CS_RAW : CS_HRES_COARSE;
	vd->cycle_last = last;
	vd->mult = row->mult;
}

static void start(const struct vdso_data *vd, const struct vdso_data *ns, u64 cycles)
{
	memset(&env, 0, sizeof(env));
	env.host = vd;
	env.ns = ns;
	env.cycles = cycles;
}

static void expect_time(struct kunit *test, const char *name, clockid_t clock,
			u64 sec, u64 ns)
{
	struct __kernel_timespec ts = { .tv_sec = -77, .tv_nsec = -77 };
	struct timespec64 want = vdso_kunit_timespec(sec, ns);
	int ret = __cvdso_clock_gettime(clock, &ts);

	if (vdso_kunit_ask_kernel(ns)) {
		KUNIT_EXPECT_EQ_MSG(test, ret, SYSCALL_RETURNED, "%s, clock %d", name, clock);
		KUNIT_EXPECT_EQ_MSG(test, env.calls, 1U, "%s, clock %d", name, clock);
		KUNIT_EXPECT_EQ_MSG(test, (int)env.call, (int)CALL_GETTIME,
				    "%s, clock %d", name, clock);
		KUNIT_EXPECT_EQ_MSG(test, env.clock, (s64)clock, "%s", name);
		KUNIT_EXPECT_PTR_EQ_MSG(test, env.result, (const void *)&ts, "%s", name);
		return;
	}
	KUNIT_EXPECT_EQ_MSG(test, ret, 0, "%s, clock %d", name, clock);
	KUNIT_EXPECT_EQ_MSG(test, env.calls, 0U, "%s, clock %d", name, clock);
	KUNIT_EXPECT_EQ_MSG(test, (s64)ts.tv_sec, (s64)want.tv_sec, "%s, clock %d",
			    name, clock);
	KUNIT_EXPECT_EQ_MSG(test, (s64)ts.tv_nsec, (s64)want.tv_nsec, "%s, clock %d",
			    name, clock);
}

/* Where the counter stood when the page was written: it may be anywhere */
static const u64 starts[] = { 0, 1, 0x7fffffff, 0xfffffff0, 0x123456789abcdefULL };

static void hres(struct kunit *test)
{
	const struct reader_row *row;
	const clockid_t *clock;
	const u64 *last;

	for_each(row, rows) {
		for_each(clock, hres_clocks) {
			for_each(last, starts) {
				fill_page(host, row, *last);
				start_base(host, *clock, row, *last);
				start(host, NULL, *last + row->delta);
				expect_time(test, row->name, *clock,
					    clock_seconds(row, *clock), row_ns(row));
			}
		}
	}
}

static void coarse(struct kunit *test)
{
	const struct reader_row *row;
	const clockid_t *clock;

	for_each(row, rows) {
		/* The kernel writes what is less than a second */
		if (row->base >= FULL_SECOND(row->shift))
			continue;
		for_each(clock, coarse_clocks) {
			fill_page(host, row, 0);
			start(host, NULL, 0);
			expect_time(test, row->name, *clock, clock_seconds(row, *clock),
				    row->base >> row->shift);
		}
	}
}

/* What the counter is not asked for must not depend on it. */
static void gettimeofday(struct kunit *test)
{
	struct __kernel_old_timeval tv;
	const struct reader_row *row;
	struct timespec64 want;
	struct timezone tz;
	int ret;

	for_each(row, rows) {
		fill_page(host, row, 5);
		start_base(host, CLOCK_REALTIME, row, 5);
		host[CS_HRES_COARSE].tz_minuteswest = -330;
		host[CS_HRES_COARSE].tz_dsttime = 3;
		want = vdso_kunit_timespec(row->sec, row_ns(row));

		start(host, NULL, 5 + row->delta);
		ret = __cvdso_gettimeofday(&tv, &tz);
		if (vdso_kunit_ask_kernel(row_ns(row))) {
			KUNIT_EXPECT_EQ_MSG(test, ret, SYSCALL_RETURNED, "%s", row->name);
			KUNIT_EXPECT_EQ_MSG(test, env.calls, 1U, "%s", row->name);
			KUNIT_EXPECT_EQ_MSG(test, (int)env.call, (int)CALL_GETTIMEOFDAY,
					    "%s", row->name);
			KUNIT_EXPECT_PTR_EQ_MSG(test, env.result, (const void *)&tv,
						"%s", row->name);
		} else {
			KUNIT_EXPECT_EQ_MSG(test, ret, 0, "%s", row->name);
			KUNIT_EXPECT_EQ_MSG(test, env.calls, 0U, "%s", row->name);
			KUNIT_EXPECT_EQ_MSG(test, (long)tv.tv_sec, (long)want.tv_sec,
					    "%s", row->name);
			KUNIT_EXPECT_EQ_MSG(test, (long)tv.tv_usec,
					    (long)want.tv_nsec / 1000, "%s", row->name);
			KUNIT_EXPECT_EQ_MSG(test, tz.tz_minuteswest, -330, "%s", row->name);
			KUNIT_EXPECT_EQ_MSG(test, tz.tz_dsttime, 3, "%s", row->name);
		}

		/* Neither is wanted, or the time zone alone */
		memset(&tz, 0, sizeof(tz));
		start(host, NULL, 0);
		KUNIT_EXPECT_EQ(test, __cvdso_gettimeofday(NULL, NULL), 0);
		KUNIT_EXPECT_EQ(test, __cvdso_gettimeofday(NULL, &tz), 0);
		KUNIT_EXPECT_EQ(test, env.calls, 0U);
		KUNIT_EXPECT_EQ(test, tz.tz_minuteswest, -330);
	}
}

#ifdef VDSO_HAS_TIME
static void time(struct kunit *test)
{
	const struct reader_row *row;
	__kernel_old_time_t t;

	for_each(row, rows) {
		fill_page(host, row, 0);
		start(host, NULL, 0);
		KUNIT_EXPECT_EQ_MSG(test, __cvdso_time(&t), (__kernel_old_time_t)row->sec,
				    "%s", row->name);
		KUNIT_EXPECT_EQ_MSG(test, t, (__kernel_old_time_t)row->sec, "%s", row->name);
		KUNIT_EXPECT_EQ_MSG(test, __cvdso_time(NULL), (__kernel_old_time_t)row->sec,
				    "%s", row->name);
	}
}
#endif

#ifdef VDSO_HAS_CLOCK_GETRES
static void expect_resolution(struct kunit *test, clockid_t clock, long want)
{
	struct __kernel_timespec res = { .tv_sec = -77, .tv_nsec = -77 };

	KUNIT_EXPECT_EQ_MSG(test, __cvdso_clock_getres(clock, &res), 0, "clock %d", clock);
	KUNIT_EXPECT_EQ_MSG(test, (long)res.tv_sec, 0L, "clock %d", clock);
	KUNIT_EXPECT_EQ_MSG(test, (long)res.tv_nsec, want, "clock %d", clock);
	KUNIT_EXPECT_EQ_MSG(test, __cvdso_clock_getres(clock, NULL), 0, "clock %d", clock);
	KUNIT_EXPECT_EQ_MSG(test, env.calls, 0U, "clock %d", clock);
}

static void getres(struct kunit *test)
{
	static const u32 resolutions[] = { 1, 4000000, LOW_RES_NSEC };
	const clockid_t *clock;
	const u32 *res;

	for_each(res, resolutions) {
		fill_page(host, rows, 0);
		host[CS_HRES_COARSE].hrtimer_res = *res;
		host[CS_RAW].hrtimer_res = *res + 1;
		start(host, NULL, 0);
		for_each(clock, hres_clocks)
			expect_resolution(test, *clock, *res);
		for_each(clock, coarse_clocks)
			expect_resolution(test, *clock, LOW_RES_NSEC);
	}
}
#endif

/* Clocks that are not in the page: one system call, with what it was called with */
static void to_kernel(struct kunit *test)
{
	struct __kernel_timespec ts;
	const clockid_t *clock;

	fill_page(host, rows, 0);
	for_each(clock, kernel_clocks) {
		start(host, NULL, 0);
		KUNIT_EXPECT_EQ_MSG(test, __cvdso_clock_gettime(*clock, &ts),
				    SYSCALL_RETURNED, "clock %d", *clock);
		KUNIT_EXPECT_EQ_MSG(test, env.calls, 1U, "clock %d", *clock);
		KUNIT_EXPECT_EQ_MSG(test, (int)env.call, (int)CALL_GETTIME,
				    "clock %d", *clock);
		KUNIT_EXPECT_EQ(test, env.clock, (s64)*clock);
		KUNIT_EXPECT_PTR_EQ(test, env.result, (const void *)&ts);
#ifdef VDSO_HAS_CLOCK_GETRES
		start(host, NULL, 0);
		KUNIT_EXPECT_EQ_MSG(test, __cvdso_clock_getres(*clock, &ts),
				    SYSCALL_RETURNED, "clock %d", *clock);
		KUNIT_EXPECT_EQ_MSG(test, env.calls, 1U, "clock %d", *clock);
		KUNIT_EXPECT_EQ_MSG(test, (int)env.call, (int)CALL_GETRES,
				    "clock %d", *clock);
		KUNIT_EXPECT_EQ(test, env.clock, (s64)*clock);
		KUNIT_EXPECT_PTR_EQ(test, env.result, (const void *)&ts);
#endif
	}

#ifdef vdso_cycles_ok
	/* A counter that says that it cannot be read */
	if (vdso_cycles_ok(U64_MAX))
		return;
	for_each(clock, hres_clocks) {
		start(host, NULL, U64_MAX);
		KUNIT_EXPECT_EQ_MSG(test, __cvdso_clock_gettime(*clock, &ts),
				    SYSCALL_RETURNED, "clock %d", *clock);
		KUNIT_EXPECT_EQ_MSG(test, env.calls, 1U, "clock %d", *clock);
	}
#endif
}

#ifdef BUILD_VDSO32
/* The calls with 32-bit times: the same, cut off */
static void time32(struct kunit *test)
{
	const struct reader_row *row;
	struct old_timespec32 ts;
	struct timespec64 want;
	const clockid_t *clock;

	for_each(row, rows) {
		for_each(clock, hres_clocks) {
			fill_page(host, row, 9);
			start_base(host, *clock, row, 9);
			start(host, NULL, 9 + row->delta);
			want = vdso_kunit_timespec(clock_seconds(row, *clock), row_ns(row));
			if (vdso_kunit_ask_kernel(row_ns(row))) {
				KUNIT_EXPECT_EQ_MSG(test, __cvdso_clock_gettime32(*clock, &ts),
						    SYSCALL_RETURNED, "%s", row->name);
				KUNIT_EXPECT_EQ(test, (int)env.call, (int)CALL_GETTIME32);
				continue;
			}
			KUNIT_EXPECT_EQ_MSG(test, __cvdso_clock_gettime32(*clock, &ts), 0,
					    "%s", row->name);
			KUNIT_EXPECT_EQ_MSG(test, ts.tv_sec, (s32)want.tv_sec, "%s", row->name);
			KUNIT_EXPECT_EQ_MSG(test, ts.tv_nsec, (s32)want.tv_nsec,
					    "%s", row->name);
		}
	}

	for_each(clock, kernel_clocks) {
		start(host, NULL, 0);
		KUNIT_EXPECT_EQ(test, __cvdso_clock_gettime32(*clock, &ts), SYSCALL_RETURNED);
		KUNIT_EXPECT_EQ(test, (int)env.call, (int)CALL_GETTIME32);
		KUNIT_EXPECT_EQ(test, env.clock, (s64)*clock);
		KUNIT_EXPECT_PTR_EQ(test, env.result, (const void *)&ts);
#ifdef VDSO_HAS_CLOCK_GETRES
		KUNIT_EXPECT_EQ(test, __cvdso_clock_getres_time32(*clock, &ts),
				SYSCALL_RETURNED);
		KUNIT_EXPECT_EQ(test, (int)env.call, (int)CALL_GETRES32);
		KUNIT_EXPECT_EQ(test, env.clock, (s64)*clock);
#endif
	}

#ifdef VDSO_HAS_CLOCK_GETRES
	host[CS_HRES_COARSE].hrtimer_res = 12345;
	start(host, NULL, 0);
	for_each(clock, hres_clocks) {
		KUNIT_EXPECT_EQ(test, __cvdso_clock_getres_time32(*clock, &ts), 0);
		KUNIT_EXPECT_EQ(test, ts.tv_sec, 0);
		KUNIT_EXPECT_EQ(test, ts.tv_nsec, 12345);
		KUNIT_EXPECT_EQ(test, __cvdso_clock_getres_time32(*clock, NULL), 0);
	}
#endif
}
#endif /* BUILD_VDSO32 */

/*
 * A writer. It can come at each barrier of a reader, there to finish a page or to
 * leave it half written, which the reader then waits for.
 */
static void write_seq(u32 seq)
{
	host[CS_HRES_COARSE].seq = seq;
	host[CS_RAW].seq = seq;
}

static void write_later(void)
{
	memcpy(host, later, sizeof(host));
	write_seq(VDSO_KUNIT_SEQ + 2);
	env.write = NULL;
}

/* Nothing there is a time of anything. */
static void write_half(void)
{
	int i;

	memset(host, 0x5a, sizeof(host));
	for (i = 0; i < CS_BASES; i++) {
		host[i].shift = 1;
		host[i].clock_mode = VDSO_KUNIT_CLOCKMODE;
	}
	write_seq(VDSO_KUNIT_SEQ + 1);
	env.write = write_later;
}

static const struct reader_row before_write = {
	"before the write", 1000, 900000000ULL << 24, 1000000, 251658240, 24
};

static const struct reader_row after_write = {
	"after the write", 2000, 800000000ULL << 22, 2000000, 508400485, 22
};

static void fill_race(clockid_t clock)
{
	fill_page(host, &before_write, 77);
	start_base(host, clock, &before_write, 77);
	fill_page(later, &after_write, 77);
	start_base(later, clock, &after_write, 77);
}

static u64 race_ns(clockid_t clock, const struct reader_row *row)
{
	const clockid_t *c;

	for_each(c, coarse_clocks)
		if (clock == *c)
			return row->base >> row->shift;

	return vdso_kunit_shr(vdso_kunit_mul_add(after_write.delta, row->mult, row->base),
			      row->shift);
}

/* @sec and @nsec are what @ns adds, if the process is in a namespace. */
static void expect_race(struct kunit *test, clockid_t clock, const struct vdso_data *ns,
			s64 sec, u32 nsec)
{
	unsigned int at, quiet;

	/* No writer: the reader does not go back. */
	fill_race(clock);
	start(host, ns, 77 + after_write.delta);
	expect_time(test, before_write.name, clock, clock_seconds(&before_write, clock) + sec,
		    race_ns(clock, &before_write) + nsec);
	quiet = env.barriers;
	KUNIT_EXPECT_EQ_MSG(test, quiet, 2U, "clock %d", clock);
	KUNIT_EXPECT_EQ_MSG(test, env.relaxed, 0U, "clock %d", clock);

	/* A writer finds the reader at each of its barriers, and is done at once or is not. */
	for (at = 1; at <= quiet; at++) {
		fill_race(clock);
		start(host, ns, 77 + after_write.delta);
		env.at = at;
		env.write = write_later;
		expect_time(test, after_write.name, clock,
			    clock_seconds(&after_write, clock) + sec,
			    race_ns(clock, &after_write) + nsec);
		KUNIT_EXPECT_EQ_MSG(test, env.barriers, 2 * quiet, "clock %d", clock);

		fill_race(clock);
		start(host, ns, 77 + after_write.delta);
		env.at = at;
		env.write = write_half;
		expect_time(test, "half written", clock,
			    clock_seconds(&after_write, clock) + sec,
			    race_ns(clock, &after_write) + nsec);
		KUNIT_EXPECT_EQ_MSG(test, env.relaxed, 2U, "clock %d", clock);
	}

	/* It was there first. */
	fill_race(clock);
	start(host, ns, 77 + after_write.delta);
	write_half();
	expect_time(test, "half written before", clock,
		    clock_seconds(&after_write, clock) + sec,
		    race_ns(clock, &after_write) + nsec);
	KUNIT_EXPECT_EQ_MSG(test, env.relaxed, 2U, "clock %d", clock);
}

static void race(struct kunit *test)
{
	const clockid_t *clock;

	for_each(clock, hres_clocks)
		expect_race(test, *clock, NULL, 0, 0);
	for_each(clock, coarse_clocks)
		expect_race(test, *clock, NULL, 0, 0);
}

#ifdef CONFIG_TIME_NS
static struct vdso_data ns_page[CS_BASES];

static const struct timens_offset offsets[] = {
	{ 0, 0 }, { 0, 1 }, { 1, 0 }, { 3600, 500000000 }, { 0, 999999999 },
	{ -1, 999999999 }, { -86400, 1 }, { 1LL << 33, 0 }, { -(1LL << 33), 123 },
};

/* As the kernel makes it, see timens_set_vvar_page(). An offset for each clock. */
static void fill_namespace(const struct timens_offset *offset)
{
	int i, clock;

	memset(ns_page, 0, sizeof(ns_page));
	for (i = 0; i < CS_BASES; i++) {
		ns_page[i].seq = 1;
		ns_page[i].clock_mode = VDSO_CLOCKMODE_TIMENS;
		for (clock = 0; clock < VDSO_BASES; clock++) {
			ns_page[i].offset[clock] = *offset;
			ns_page[i].offset[clock].sec += 1000 * clock;
		}
	}
}

static void timens(struct kunit *test)
{
	const struct timens_offset *offset;
	const struct reader_row *row;
	const clockid_t *clock;

	for_each(offset, offsets) {
		fill_namespace(offset);
		for_each(row, rows) {
			for_each(clock, hres_clocks) {
				fill_page(host, row, 5);
				start_base(host, *clock, row, 5);
				start(host, ns_page, 5 + row->delta);
				expect_time(test, row->name, *clock,
					    clock_seconds(row, *clock) + offset->sec +
					    1000 * *clock,
					    row_ns(row) + offset->nsec);
			}
			if (row->base >= FULL_SECOND(row->shift))
				continue;
			for_each(clock, coarse_clocks) {
				start(host, ns_page, 0);
				expect_time(test, row->name, *clock,
					    clock_seconds(row, *clock) + offset->sec +
					    1000 * *clock,
					    (row->base >> row->shift) + offset->nsec);
			}
		}
	}
}

/* What is the same in every namespace is in the page of the host alone. */
static void timens_host(struct kunit *test)
{
	struct timezone tz = {};
	struct __kernel_timespec res;

	fill_namespace(&offsets[3]);
	fill_page(host, &before_write, 5);
	host[CS_HRES_COARSE].tz_minuteswest = 720;
	host[CS_HRES_COARSE].tz_dsttime = 4;
	host[CS_HRES_COARSE].hrtimer_res = 54321;
	start(host, ns_page, 5);

	KUNIT_EXPECT_EQ(test, __cvdso_gettimeofday(NULL, &tz), 0);
	KUNIT_EXPECT_EQ(test, tz.tz_minuteswest, 720);
	KUNIT_EXPECT_EQ(test, tz.tz_dsttime, 4);
#ifdef VDSO_HAS_TIME
	KUNIT_EXPECT_EQ(test, __cvdso_time(NULL), (__kernel_old_time_t)before_write.sec);
#endif
#ifdef VDSO_HAS_CLOCK_GETRES
	KUNIT_EXPECT_EQ(test, __cvdso_clock_getres(CLOCK_MONOTONIC, &res), 0);
	KUNIT_EXPECT_EQ(test, (long)res.tv_nsec, 54321L);
	KUNIT_EXPECT_EQ(test, __cvdso_clock_getres(CLOCK_MONOTONIC_COARSE, &res), 0);
	KUNIT_EXPECT_EQ(test, (long)res.tv_nsec, (long)LOW_RES_NSEC);
#endif
	KUNIT_EXPECT_EQ(test, env.calls, 0U);
}

static void timens_race(struct kunit *test)
{
	const struct timens_offset *offset = &offsets[3];
	const clockid_t *clock;

	fill_namespace(offset);
	for_each(clock, hres_clocks)
		expect_race(test, *clock, ns_page, offset->sec + 1000 * *clock, offset->nsec);
	for_each(clock, coarse_clocks)
		expect_race(test, *clock, ns_page, offset->sec + 1000 * *clock, offset->nsec);
}
#endif /* CONFIG_TIME_NS */

#ifdef CONFIG_X86
/* The TSC of another CPU can be a little behind the one that the page is from. */
static void counter_behind(struct kunit *test)
{
	const clockid_t *clock;

	for_each(clock, hres_clocks) {
		fill_page(host, &before_write, 1000);
		start_base(host, *clock, &before_write, 1000);
		start(host, NULL, 999);
		expect_time(test, "one tick behind", *clock,
			    clock_seconds(&before_write, *clock),
			    before_write.base >> before_write.shift);
	}
}
#endif

#ifndef vdso_calc_delta
/* A counter with less than 64 bits goes on from 0. */
static void counter_wraps(struct kunit *test)
{
	const clockid_t *clock;
	u64 ns;

	for_each(clock, hres_clocks) {
		fill_page(host, &before_write, 0);
		start_base(host, *clock, &before_write, 0xfffffff0);
		host[CS_HRES_COARSE].mask = U32_MAX;
		host[CS_RAW].mask = U32_MAX;
		start(host, NULL, 0x10);
		ns = vdso_kunit_shr(vdso_kunit_mul_add(0x20, before_write.mult,
						       before_write.base),
				    before_write.shift);
		expect_time(test, "32-bit counter", *clock,
			    clock_seconds(&before_write, *clock), ns);
	}
}
#endif

static struct kunit_case reader_cases[] = {
	KUNIT_CASE(hres),
	KUNIT_CASE(coarse),
	KUNIT_CASE(gettimeofday),
#ifdef VDSO_HAS_TIME
	KUNIT_CASE(time),
#endif
#ifdef VDSO_HAS_CLOCK_GETRES
	KUNIT_CASE(getres),
#endif
	KUNIT_CASE(to_kernel),
#ifdef BUILD_VDSO32
	KUNIT_CASE(time32),
#endif
	KUNIT_CASE(race),
#ifdef CONFIG_TIME_NS
	KUNIT_CASE(timens),
	KUNIT_CASE(timens_host),
	KUNIT_CASE(timens_race),
#endif
#ifdef CONFIG_X86
	KUNIT_CASE(counter_behind),
#endif
#ifndef vdso_calc_delta
	KUNIT_CASE(counter_wraps),
#endif
	{}
};

struct kunit_suite vdso_reader_suite = {
	.name = "vdso_reader",
	.test_cases = reader_cases,
};
