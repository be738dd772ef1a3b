/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the KUnit tests of the vDSO share: which side of the code they play, and
 * the arithmetic that they hold against it.
 */
#ifndef _VDSO_KUNIT_H
#define _VDSO_KUNIT_H

#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/time64.h>
#include <linux/types.h>

/* Without a generic vDSO, include/ here stands for the architecture. */
#ifndef CONFIG_GENERIC_GETTIMEOFDAY
#define ENABLE_COMPAT_VDSO
#endif
/* Its asm/vdso/ is that of the host's architecture, its cpu_relax() is not. */
#ifdef CONFIG_UML
#define __ASM_VDSO_PROCESSOR_H
#endif
#include <vdso/datapage.h>

struct timekeeper;

#define for_each(p, array) \
	for ((p) = (array); (p) < (array) + ARRAY_SIZE(array); (p)++)

/* A clock that the vDSO can read, the first that an architecture has */
#define VDSO_KUNIT_CLOCKMODE	(VDSO_CLOCKMODE_NONE + 1)

/* An even sequence count that is not the one everything starts with */
#define VDSO_KUNIT_SEQ		0x12344

/* A 128-bit number: what neither side calculates with */
struct vdso_kunit_u128 {
	u64 hi;
	u64 lo;
};

/* Returns @a * @b + @c */
static inline struct vdso_kunit_u128 vdso_kunit_mul_add(u64 a, u32 b, u64 c)
{
	struct vdso_kunit_u128 r = {
		.hi = mul_u64_u64_shr(a, b, 64),
		.lo = a * b,
	};

	r.lo += c;
	r.hi += r.lo < c;
	return r;
}

/* Returns @a >> @shift, which has to fit, for @shift from 0 to 63 */
static inline u64 vdso_kunit_shr(struct vdso_kunit_u128 a, u32 shift)
{
	return shift ? a.hi << (64 - shift) | a.lo >> shift : a.lo;
}

/* Returns @ns nanoseconds after @sec seconds */
static inline struct timespec64 vdso_kunit_timespec(u64 sec, u64 ns)
{
	u64 rest, carry = div64_u64_rem(ns, NSEC_PER_SEC, &rest);

	return (struct timespec64) { .tv_sec = sec + carry, .tv_nsec = rest };
}

/*
 * Whether an architecture may leave @ns nanoseconds since the last full second
 * to the system call, and then has to: powerpc has 32 bits for them.
 */
static inline bool vdso_kunit_ask_kernel(u64 ns)
{
	return IS_ENABLED(CONFIG_PPC) && IS_ENABLED(CONFIG_GENERIC_GETTIMEOFDAY) &&
	       ns >= U32_MAX;
}

/* In writer.c: kernel/time/vsyscall.c under other names */
void kunit_update_vsyscall(struct timekeeper *tk);
void kunit_update_vsyscall_tz(void);
unsigned long kunit_update_begin(void);
void kunit_update_end(unsigned long flags);

/* In writer.c: update_vsyscall(@tk), to the page at @vd */
void vdso_kunit_write(struct vdso_data *vd, struct timekeeper *tk);

/*
 * In reader.c: clock_gettime(@clock) of a process that has the page at @vd, when
 * the counter stands at @cycles. Returns false if it went to the system call.
 */
bool vdso_kunit_read(const struct vdso_data *vd, u64 cycles, clockid_t clock,
		     struct timespec64 *ts);

extern struct kunit_suite vdso_reader_suite;
extern struct kunit_suite vdso_writer_suite;

#endif /* _VDSO_KUNIT_H */
