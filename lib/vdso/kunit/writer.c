// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of kernel/time/vsyscall.c: what the kernel writes for processes to
 * read, and that reader.c gets from it what the timekeeper meant.
 *
 * The functions are included to write to a page, of a timekeeper and under a lock
 * that are not those of the machine. What a process would see while they write is
 * looked at in their barriers.
 */
#include <kunit/test.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/string.h>
#include <linux/timekeeper_internal.h>

static void kunit_barrier(void);

#undef smp_wmb
/* No other CPU is here, but the test in place of one. */
#define smp_wmb()			kunit_barrier()

#include "vdso_kunit.h"

#ifdef CONFIG_X86
/* A header there defines the machine's own page, which is to stay the only one. */
#include <asm/vvar.h>
#undef DEFINE_VVAR
#define DEFINE_VVAR(type, name)
#endif
#include <vdso/vsyscall.h>

/* The page, and around it what has to stay as it is */
static struct {
	struct vdso_data before;
	struct vdso_data page[CS_BASES];
	struct vdso_data after;
} mem;

#define CANARY	0xa5

static struct vdso_data *kunit_page;
static struct timezone kunit_tz;
static unsigned int kunit_resolution;

/* The page as it is at each barrier of a write */
static struct vdso_data seen[4][CS_BASES];
static unsigned int barriers;

static void kunit_barrier(void)
{
	barrier();
	if (barriers < ARRAY_SIZE(seen))
		memcpy(seen[barriers], kunit_page, sizeof(seen[0]));
	barriers++;
}

#undef __arch_get_k_vdso_data
#undef hrtimer_resolution
#define __arch_get_k_vdso_data()	kunit_page
#define hrtimer_resolution		kunit_resolution
#define sys_tz				kunit_tz
#define timekeeper_lock			kunit_timekeeper_lock

#define update_vsyscall			kunit_update_vsyscall
#define update_vsyscall_tz		kunit_update_vsyscall_tz
#define vdso_update_begin		kunit_update_begin
#define vdso_update_end			kunit_update_end

#include "vsyscall.c"

DEFINE_RAW_SPINLOCK(kunit_timekeeper_lock);

void vdso_kunit_write(struct vdso_data *vd, struct timekeeper *tk)
{
	kunit_page = vd;
	kunit_resolution = 1;
	barriers = 0;
	kunit_update_vsyscall(tk);
}

static struct clocksource good_clock = {
	.name = "kunit",
	.vdso_clock_mode = VDSO_KUNIT_CLOCKMODE,
};

static struct clocksource bad_clock = {
	.name = "kunit-none",
	.vdso_clock_mode = VDSO_CLOCKMODE_NONE,
};

/* A timekeeper: times since 1970, in seconds and in ns << shift below a second */
struct writer_row {
	const char *name;
	u64 sec;
	u64 frac;
	u64 raw_sec;
	u64 raw_frac;
	struct timespec64 wall_to_monotonic;
	struct timespec64 monotonic_to_boot;
	s32 tai;
	u32 mult;
	u32 shift;
};

#define FULL_SECOND(shift)	((u64)NSEC_PER_SEC << (shift))

static const struct writer_row rows[] = {
	{ "just booted, clock not set", 0, 0, 0, 0, { 0, 0 }, { 0, 0 },
	  0, 508400485, 22 },
	{ "8xx, set", 1606780800, 123456789ULL << 22, 300, 7ULL << 22,
	  { -1606780500, 500000000 }, { 0, 0 }, 0, 508400486, 22 },
	{ "TAI of 2020", 1606780800, 5ULL << 24, 300, 5ULL << 24,
	  { -1606780000, 0 }, { 0, 0 }, 37, 251658240, 24 },
	{ "TAI set back", 1606780800, 5ULL << 24, 300, 5ULL << 24,
	  { -1606780000, 0 }, { 0, 0 }, -37, 251658240, 24 },
	{ "monotonic carries", 1606780800, FULL_SECOND(24) - 1, 300, 0,
	  { -1606780000, 1 }, { 0, 0 }, 37, 251658241, 24 },
	{ "monotonic just not", 1606780800, FULL_SECOND(24) - 1, 300, 0,
	  { -1606780000, 0 }, { 0, 0 }, 37, 251658239, 24 },
	{ "both carry", 1606780800, FULL_SECOND(24) - 1, 300, FULL_SECOND(24) - 1,
	  { -1606780000, 999999999 }, { 3600, 999999999 }, 37, 32768000, 24 },
	{ "boot time alone carries", 1606780800, 400000000ULL << 24, 300, 0,
	  { -1606780000, 500000000 }, { 3600, 100000000 }, 37, 32768000, 24 },
	{ "asleep for years", 1606780800, 9ULL << 24, 300, 0,
	  { -1606780000, 1 }, { 1000000000, 1 }, 37, 32768000, 24 },
	{ "set before boot", 5, 9ULL << 24, 10000, 0, { 9995, 3 }, { 0, 0 },
	  0, 32768000, 24 },
	{ "beyond 2038", 1ULL << 31, 9ULL << 24, 300, 0,
	  { -(1LL << 31) + 10, 1 }, { 1, 1 }, 37, 32768000, 24 },
	{ "beyond 2106", 1ULL << 32, 9ULL << 24, 300, 0,
	  { -(1LL << 32) + 10, 1 }, { 1, 1 }, 37, 32768000, 24 },
	{ "fast counter", 1606780800, FULL_SECOND(31) - 1, 300, FULL_SECOND(31) - 1,
	  { -1606780000, 999999999 }, { 0, 999999999 }, 37, U32_MAX, 31 },
	{ "coarse counter", 1606780800, FULL_SECOND(1) - 1, 300, FULL_SECOND(1) - 1,
	  { -1606780000, 999999999 }, { 0, 999999999 }, 37, 2000, 1 },
};

static void fill_timekeeper(struct timekeeper *tk, const struct writer_row *row)
{
	memset(tk, 0, sizeof(*tk));
	tk->tkr_mono = (struct tk_read_base) {
		.clock = &good_clock,
		.mask = U64_MAX >> 1,
		.cycle_last = 0x123456789abcULL,
		.mult = row->mult,
		.shift = row->shift,
		.xtime_nsec = row->frac,
	};
	/* Nothing of it is the other's */
	tk->tkr_raw = (struct tk_read_base) {
		.clock = &good_clock,
		.mask = U64_MAX,
		.cycle_last = 0x123456789abdULL,
		.mult = row->mult ^ 0x10,
		.shift = row->shift,
		.xtime_nsec = row->raw_frac,
	};
	tk->xtime_sec = row->sec;
	tk->raw_sec = row->raw_sec;
	tk->wall_to_monotonic = row->wall_to_monotonic;
	tk->monotonic_to_boot = row->monotonic_to_boot;
	tk->tai_offset = row->tai;
}

static void fill_memory(void)
{
	memset(&mem, CANARY, sizeof(mem));
	mem.page[CS_HRES_COARSE].seq = VDSO_KUNIT_SEQ;
	mem.page[CS_RAW].seq = VDSO_KUNIT_SEQ;
}

static struct timekeeper tk;

/* What the timekeeper says that a clock is, at the moment of the page: @sec and @ns << shift */
static void meant(const struct writer_row *row, clockid_t clock, u64 *sec, u64 *frac)
{
	u64 nsec = 0;

	*sec = row->sec;
	*frac = row->frac;
	switch (clock) {
	case CLOCK_MONOTONIC_RAW:
		*sec = row->raw_sec;
		*frac = row->raw_frac;
		return;
	case CLOCK_TAI:
		*sec += (s64)row->tai;
		return;
	case CLOCK_BOOTTIME:
		*sec += row->monotonic_to_boot.tv_sec;
		nsec += row->monotonic_to_boot.tv_nsec;
		fallthrough;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_COARSE:
		*sec += row->wall_to_monotonic.tv_sec;
		nsec += row->wall_to_monotonic.tv_nsec;
		break;
	}
	/* Up to three seconds in a number that has room for more than two */
	*sec += div64_u64_rem(nsec, NSEC_PER_SEC, &nsec);
	*frac += nsec << row->shift;
	*sec += div64_u64_rem(*frac, FULL_SECOND(row->shift), frac);
}

static void expect_base(struct kunit *test, const struct writer_row *row, clockid_t clock)
{
	const struct vdso_timestamp *ts;
	u64 sec, frac;

	ts = &mem.page[clock == CLOCK_MONOTONIC_RAW ? CS_RAW : CS_HRES_COARSE].basetime[clock];
	meant(row, clock, &sec, &frac);
	if (clock == CLOCK_REALTIME_COARSE || clock == CLOCK_MONOTONIC_COARSE)
		frac >>= row->shift;
	KUNIT_EXPECT_EQ_MSG(test, ts->sec, sec, "%s, clock %d", row->name, clock);
	KUNIT_EXPECT_EQ_MSG(test, ts->nsec, frac, "%s, clock %d", row->name, clock);
}

static const clockid_t clocks[] = {
	CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_TAI, CLOCK_MONOTONIC_RAW,
	CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE,
};

/* What lands where */
static void basetimes(struct kunit *test)
{
	const struct writer_row *row;
	const clockid_t *clock;

	for_each(row, rows) {
		fill_timekeeper(&tk, row);
		fill_memory();
		vdso_kunit_write(mem.page, &tk);
		for_each(clock, clocks)
			expect_base(test, row, *clock);
	}
}

static void expect_counter(struct kunit *test, const struct vdso_data *vd,
			   const struct tk_read_base *tkr, const char *name)
{
	KUNIT_EXPECT_EQ_MSG(test, vd->clock_mode, (s32)VDSO_KUNIT_CLOCKMODE, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, vd->cycle_last, tkr->cycle_last, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, vd->mask, tkr->mask, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, vd->mult, tkr->mult, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, vd->shift, tkr->shift, "%s", name);
}

static void counters(struct kunit *test)
{
	const struct writer_row *row;

	for_each(row, rows) {
		fill_timekeeper(&tk, row);
		fill_memory();
		vdso_kunit_write(mem.page, &tk);
		expect_counter(test, &mem.page[CS_HRES_COARSE], &tk.tkr_mono, row->name);
		expect_counter(test, &mem.page[CS_RAW], &tk.tkr_raw, row->name);
	}

	kunit_resolution = 4321;
	kunit_update_vsyscall(&tk);
	KUNIT_EXPECT_EQ(test, mem.page[CS_HRES_COARSE].hrtimer_res, 4321U);
}

/* Until the first barrier and from the last one on, data and sequence count agree. */
static void sequence(struct kunit *test)
{
	static struct vdso_data old[CS_BASES];
	int base;

	fill_timekeeper(&tk, &rows[1]);
	fill_memory();
	memcpy(old, mem.page, sizeof(old));
	vdso_kunit_write(mem.page, &tk);
	KUNIT_ASSERT_EQ(test, barriers, 2U);

	for (base = 0; base < CS_BASES; base++) {
		/* Odd while it writes, and even after it, but another one */
		KUNIT_EXPECT_EQ(test, seen[0][base].seq, VDSO_KUNIT_SEQ + 1U);
		KUNIT_EXPECT_EQ(test, seen[1][base].seq, VDSO_KUNIT_SEQ + 1U);
		KUNIT_EXPECT_EQ(test, mem.page[base].seq, VDSO_KUNIT_SEQ + 2U);

		/* Nothing else is written before the one, nor after the other */
		seen[0][base].seq = old[base].seq;
		seen[1][base].seq = mem.page[base].seq;
		KUNIT_EXPECT_EQ(test, memcmp(&seen[0][base], &old[base], sizeof(*old)), 0);
		KUNIT_EXPECT_EQ(test, memcmp(&seen[1][base], &mem.page[base], sizeof(*old)), 0);
	}

	/* The count wraps like any number of 32 bits. */
	mem.page[CS_HRES_COARSE].seq = U32_MAX - 1;
	mem.page[CS_RAW].seq = U32_MAX - 1;
	vdso_kunit_write(mem.page, &tk);
	KUNIT_EXPECT_EQ(test, mem.page[CS_HRES_COARSE].seq, 0U);
	KUNIT_EXPECT_EQ(test, mem.page[CS_RAW].seq, 0U);
}

static bool is_canary(const void *p, size_t size)
{
	return !memchr_inv(p, CANARY, size);
}

/* What is not the timekeeper's is not written. */
static void bystanders(struct kunit *test)
{
	const struct vdso_data *vd = &mem.page[CS_HRES_COARSE];
	const struct writer_row *row;
	clockid_t clock;

	for_each(row, rows) {
		fill_timekeeper(&tk, row);
		fill_memory();
		vdso_kunit_write(mem.page, &tk);
		KUNIT_EXPECT_TRUE(test, is_canary(&mem.before, sizeof(mem.before)));
		KUNIT_EXPECT_TRUE(test, is_canary(&mem.after, sizeof(mem.after)));
		KUNIT_EXPECT_TRUE(test, is_canary(&vd->tz_minuteswest, sizeof(s32)));
		KUNIT_EXPECT_TRUE(test, is_canary(&vd->tz_dsttime, sizeof(s32)));
		for (clock = 0; clock < VDSO_BASES; clock++) {
			/* The other base has this one alone, and this base all others */
			if (clock != CLOCK_MONOTONIC_RAW)
				vd = &mem.page[CS_RAW];
			else
				vd = &mem.page[CS_HRES_COARSE];
			KUNIT_EXPECT_TRUE_MSG(test, is_canary(&vd->basetime[clock],
							      sizeof(vd->basetime[0])),
					      "%s, clock %d", row->name, clock);
		}
		vd = &mem.page[CS_HRES_COARSE];
		for (clock = CLOCK_PROCESS_CPUTIME_ID; clock <= CLOCK_THREAD_CPUTIME_ID; clock++)
			KUNIT_EXPECT_TRUE_MSG(test, is_canary(&vd->basetime[clock],
							      sizeof(vd->basetime[0])),
					      "%s, clock %d", row->name, clock);
	}
}

/* The time zone: nothing else changes, and no reader has to look again. */
static void timezone(struct kunit *test)
{
	static struct vdso_data want[CS_BASES];

	fill_memory();
	memcpy(want, mem.page, sizeof(want));
	want[CS_HRES_COARSE].tz_minuteswest = -345;
	want[CS_HRES_COARSE].tz_dsttime = 2;

	kunit_page = mem.page;
	kunit_tz = (struct timezone) { .tz_minuteswest = -345, .tz_dsttime = 2 };
	kunit_update_vsyscall_tz();
	KUNIT_EXPECT_EQ(test, memcmp(mem.page, want, sizeof(want)), 0);
	KUNIT_EXPECT_TRUE(test, is_canary(&mem.before, sizeof(mem.before)));
	KUNIT_EXPECT_TRUE(test, is_canary(&mem.after, sizeof(mem.after)));
}

/* Somebody else's data in the page: locked, and readers wait. */
static void update_section(struct kunit *test)
{
	unsigned long flags, was;
	bool locked, disabled;
	u32 seq[CS_BASES];

	fill_memory();
	kunit_page = mem.page;
	barriers = 0;

	local_save_flags(was);
	flags = kunit_update_begin();
	locked = raw_spin_is_locked(&kunit_timekeeper_lock);
	disabled = irqs_disabled();
	seq[0] = mem.page[0].seq;
	seq[1] = mem.page[1].seq;
	kunit_update_end(flags);

	if (IS_ENABLED(CONFIG_SMP)) {
		KUNIT_EXPECT_TRUE(test, locked);
		KUNIT_EXPECT_FALSE(test, raw_spin_is_locked(&kunit_timekeeper_lock));
	}
	KUNIT_EXPECT_TRUE(test, disabled);
	KUNIT_EXPECT_EQ(test, (int)irqs_disabled(), (int)irqs_disabled_flags(was));
	KUNIT_EXPECT_EQ(test, seq[0], VDSO_KUNIT_SEQ + 1U);
	KUNIT_EXPECT_EQ(test, seq[1], VDSO_KUNIT_SEQ + 1U);
	KUNIT_EXPECT_EQ(test, mem.page[0].seq, VDSO_KUNIT_SEQ + 2U);
	KUNIT_EXPECT_EQ(test, mem.page[1].seq, VDSO_KUNIT_SEQ + 2U);
	KUNIT_EXPECT_EQ(test, barriers, 2U);
}

/* A process that reads what was written gets the timekeeper's time, at any tick. */
static void round_trip(struct kunit *test)
{
	static const u32 deltas[] = { 0, 1, 33000, 666667, 10000000 };
	const struct tk_read_base *tkr;
	const struct writer_row *row;
	struct timespec64 ts, want;
	const clockid_t *clock;
	const u32 *delta;
	u64 sec, frac, ns;
	bool coarse, read;

	for_each(row, rows) {
		fill_timekeeper(&tk, row);
		fill_memory();
		vdso_kunit_write(mem.page, &tk);
		for_each(clock, clocks) {
			coarse = *clock == CLOCK_REALTIME_COARSE ||
				 *clock == CLOCK_MONOTONIC_COARSE;
			tkr = *clock == CLOCK_MONOTONIC_RAW ? &tk.tkr_raw : &tk.tkr_mono;
			for_each(delta, deltas) {
				meant(row, *clock, &sec, &frac);
				ns = vdso_kunit_shr(vdso_kunit_mul_add(coarse ? 0 : *delta,
								       tkr->mult, frac),
						    tkr->shift);
				want = vdso_kunit_timespec(sec, ns);
				read = vdso_kunit_read(mem.page, tkr->cycle_last + *delta,
						       *clock, &ts);
				KUNIT_EXPECT_EQ_MSG(test, (int)read,
						    (int)!vdso_kunit_ask_kernel(ns),
						    "%s, clock %d, tick %u",
						    row->name, *clock, *delta);
				if (!read)
					continue;
				KUNIT_EXPECT_EQ_MSG(test, ts.tv_sec, want.tv_sec,
						    "%s, clock %d, tick %u",
						    row->name, *clock, *delta);
				KUNIT_EXPECT_EQ_MSG(test, ts.tv_nsec, want.tv_nsec,
						    "%s, clock %d, tick %u",
						    row->name, *clock, *delta);
			}
		}
	}
}

/*
 * A clock that a process cannot read: the coarse clocks are there nevertheless, the
 * others are left to the kernel, at any tick, until the clock is a better one again.
 */
static void no_clock(struct kunit *test)
{
	static const u64 deltas[] = { 0, 1, U32_MAX, 1ULL << 40 };
	const struct writer_row *row;
	const clockid_t *clock;
	struct timespec64 ts;
	const u64 *delta;
	bool coarse;

	for_each(row, rows) {
		fill_timekeeper(&tk, row);
		fill_memory();
		vdso_kunit_write(mem.page, &tk);
		tk.tkr_mono.clock = &bad_clock;
		tk.tkr_raw.clock = &bad_clock;
		vdso_kunit_write(mem.page, &tk);
		KUNIT_EXPECT_EQ(test, mem.page[CS_HRES_COARSE].clock_mode,
				(s32)VDSO_CLOCKMODE_NONE);
		KUNIT_EXPECT_EQ(test, mem.page[CS_RAW].clock_mode, (s32)VDSO_CLOCKMODE_NONE);
		/* time() */
		KUNIT_EXPECT_EQ(test, mem.page[CS_HRES_COARSE].basetime[CLOCK_REALTIME].sec,
				row->sec);

		for_each(clock, clocks) {
			coarse = *clock == CLOCK_REALTIME_COARSE ||
				 *clock == CLOCK_MONOTONIC_COARSE;
			if (coarse)
				expect_base(test, row, *clock);
			for_each(delta, deltas)
				KUNIT_EXPECT_EQ_MSG(test,
						    (int)vdso_kunit_read(mem.page,
									 0x123456789abcULL + *delta,
									 *clock, &ts),
						    (int)coarse, "%s, clock %d, tick %llu",
						    row->name, *clock, *delta);
		}

		tk.tkr_mono.clock = &good_clock;
		tk.tkr_raw.clock = &good_clock;
		vdso_kunit_write(mem.page, &tk);
		for_each(clock, clocks)
			expect_base(test, row, *clock);
		expect_counter(test, &mem.page[CS_HRES_COARSE], &tk.tkr_mono, row->name);
		expect_counter(test, &mem.page[CS_RAW], &tk.tkr_raw, row->name);
	}
}

static struct kunit_case writer_cases[] = {
	KUNIT_CASE(basetimes),
	KUNIT_CASE(counters),
	KUNIT_CASE(sequence),
	KUNIT_CASE(bystanders),
	KUNIT_CASE(timezone),
	KUNIT_CASE(update_section),
	KUNIT_CASE(round_trip),
	KUNIT_CASE(no_clock),
	{}
};

struct kunit_suite vdso_writer_suite = {
	.name = "vdso_writer",
	.test_cases = writer_cases,
};
