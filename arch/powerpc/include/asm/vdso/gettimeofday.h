/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What lib/vdso needs to know of powerpc: how to find the data page, read the
 * timebase and call the kernel.
 *
 * The code that results consists of leaf functions without a stack frame:
 *  - A frame costs five memory accesses on a call that takes some twenty
 *    instructions otherwise.
 *  - A caller without a stack frame of its own has its return address in the
 *    place where a callee would save LR. Such callers have always been fine.
 */
#ifndef _ASM_POWERPC_VDSO_GETTIMEOFDAY_H
#define _ASM_POWERPC_VDSO_GETTIMEOFDAY_H

#ifndef __ASSEMBLY__

#include <linux/compiler.h>
#include <linux/types.h>
#include <asm/barrier.h>
#include <asm/page.h>
#include <asm/unistd.h>
#include <asm/vdso/timebase.h>
#include <uapi/linux/time.h>

#define VDSO_HAS_CLOCK_GETRES		1
#define VDSO_HAS_TIME			1

/*
 * System calls return 0 or, with CR0.SO set, a positive errno. vdso_return()
 * sets CR0.SO again, so all that counts here is r3.
 */
static __always_inline int vdso_syscall2(unsigned long nr, unsigned long arg1,
					 unsigned long arg2)
{
	register unsigned long r0 asm("r0") = nr;
	register unsigned long r3 asm("r3") = arg1;
	register unsigned long r4 asm("r4") = arg2;

	asm volatile("sc"
		     : "+r" (r0), "+r" (r3), "+r" (r4)
		     :
		     : "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12",
		       "cr0", "cr1", "cr5", "cr6", "cr7", "ctr", "xer", "memory");
	return r3;
}

#ifdef BUILD_VDSO32
#define __VDSO_NR_clock_gettime	__NR_clock_gettime64
#define __VDSO_NR_clock_getres	__NR_clock_getres_time64
#else
#define __VDSO_NR_clock_gettime	__NR_clock_gettime
#define __VDSO_NR_clock_getres	__NR_clock_getres
#endif

static __always_inline
int gettimeofday_fallback(struct __kernel_old_timeval *tv, struct timezone *tz)
{
	return vdso_syscall2(__NR_gettimeofday, (unsigned long)tv, (unsigned long)tz);
}

static __always_inline
int clock_gettime_fallback(clockid_t clock, struct __kernel_timespec *ts)
{
	return vdso_syscall2(__VDSO_NR_clock_gettime, clock, (unsigned long)ts);
}

static __always_inline
int clock_getres_fallback(clockid_t clock, struct __kernel_timespec *ts)
{
	return vdso_syscall2(__VDSO_NR_clock_getres, clock, (unsigned long)ts);
}

#ifdef BUILD_VDSO32
static __always_inline
int clock_gettime32_fallback(clockid_t clock, struct old_timespec32 *ts)
{
	return vdso_syscall2(__NR_clock_gettime, clock, (unsigned long)ts);
}

static __always_inline
int clock_getres32_fallback(clockid_t clock, struct old_timespec32 *ts)
{
	return vdso_syscall2(__NR_clock_getres, clock, (unsigned long)ts);
}
#endif /* BUILD_VDSO32 */

/*
 * Return from the vDSO: with CR0.SO clear and @ret in r3, or set and @err, a
 * positive errno. To be used in the return statement of an exported function:
 * with all memory accesses done and the value there, the compiler has nothing
 * left that it could compare, and neither a move to r3 nor blr touches CR0.
 */
static __always_inline long vdso_success(long ret)
{
	asm volatile("crclr 4*cr0+so" : "+r" (ret) : : "cr0", "memory");
	return ret;
}

static __always_inline long vdso_failure(long err)
{
	asm volatile("crset 4*cr0+so" : "+r" (err) : : "cr0", "memory");
	return err;
}

/* @ret is 0 or a positive errno */
static __always_inline long vdso_return(int ret)
{
	return likely(!ret) ? vdso_success(0) : vdso_failure(ret);
}

/*
 * Returns @sym, which lies in front of the code at a distance that the linker
 * knows. All it takes is the program counter, and that takes the link register.
 * The compiler does not hear of it, because it would save LR in the frame of
 * the caller and make a frame of its own, but the unwinder does.
 */
#if PAGE_SHIFT == 12
#define VDSO_ADD_OFFSET(sym)						\
	"	addi	%0, %0, (" #sym " - 1b)@l\n"
#else
#define VDSO_ADD_OFFSET(sym)						\
	"	addis	%0, %0, (" #sym " - 1b)@ha\n"			\
	"	addi	%0, %0, (" #sym " - 1b)@l\n"
#endif

#define VDSO_ADDRESS_OF(sym) ({						\
	const void *__addr;						\
	unsigned long __lr;						\
									\
	asm("	mflr	%1\n"						\
	    "	.cfi_remember_state\n"					\
	    "	.cfi_register 65, %1\n"					\
	    "	bcl	20, 31, 1f\n"					\
	    "1:	mflr	%0\n"						\
	    "	mtlr	%1\n"						\
	    "	.cfi_restore_state\n"					\
	    VDSO_ADD_OFFSET(sym)					\
	    : "=&b" (__addr), "=&r" (__lr));				\
	__addr; })

static __always_inline const struct vdso_data *__arch_get_vdso_data(void)
{
	return VDSO_ADDRESS_OF(_vdso_data);
}

#ifdef CONFIG_TIME_NS
static __always_inline const struct vdso_data *__arch_get_timens_vdso_data(void)
{
	return VDSO_ADDRESS_OF(_timens_data);
}

/* The page of the host is there for every process: there is nothing to check */
#define vdso_host_data(vd) __arch_get_timens_vdso_data()

/*
 * Keeps what depends on @clk from being calculated for both pages at once and
 * from taking a register for that where there is no time namespace.
 */
static __always_inline clockid_t vdso_timens_clock(clockid_t clk)
{
	if (!__builtin_constant_p(clk))
		OPTIMIZER_HIDE_VAR(clk);
	return clk;
}

#define vdso_timens_clock vdso_timens_clock
#endif

/* Returns the timebase, in ticks of tb_ticks_per_sec */
static __always_inline u64 __arch_get_hw_counter(s32 clock_mode,
						 const struct vdso_data *vd)
{
	return get_tb();
}

/*
 * Returns the time from @last to @cycles in nanoseconds << vd->shift. The
 * timebase has 64 bits and does not wrap: there is nothing to mask.
 */
static __always_inline u64 vdso_calc_delta(u64 cycles, u64 last, u64 mask, u32 mult)
{
	return (cycles - last) * mult;
}

#define vdso_calc_delta vdso_calc_delta

#ifdef BUILD_VDSO32
/*
 * Returns @ns >> @shift, or U32_MAX if that has more than 32 bits. @shift is
 * between 1 and 31, see clocks_calc_mult_shift(): it takes a timebase of more
 * than 1 GHz to be 32.
 */
static __always_inline u64 vdso_shift_ns(u64 ns, u32 shift)
{
	u32 hi = ns >> 32;
	u32 lo = ns;

	lo = lo >> shift | hi << (32 - shift);

	return likely(!(hi >> shift)) ? lo : U32_MAX;
}

#define vdso_shift_ns vdso_shift_ns
#endif /* BUILD_VDSO32 */

/*
 * Moves the seconds in @ns to @sec. Returns false if no tick came for four
 * seconds, or if the timebase is not the clocksource, for which
 * __arch_update_vsyscall() makes it look like that.
 */
static __always_inline bool vdso_carry_seconds(u64 *sec, u64 *ns)
{
	unsigned long limit = NSEC_PER_SEC & ~0xffff;
	u32 nsec = *ns;

	/* All but a few of those below a second, with one instruction to load the limit */
	OPTIMIZER_HIDE_VAR(limit);
	if (likely(*ns < limit))
		return true;
	if (*ns >= U32_MAX)
		return false;
	while (nsec >= NSEC_PER_SEC) {
		/* Keep the compiler from making this a division */
		OPTIMIZER_HIDE_VAR(nsec);
		nsec -= NSEC_PER_SEC;
		(*sec)++;
	}
	*ns = nsec;
	return true;
}

#define vdso_carry_seconds vdso_carry_seconds

/* There is nothing to check: see vdso_carry_seconds() */
static __always_inline bool vdso_clocksource_ok(const struct vdso_data *vd)
{
	return true;
}

#define vdso_clocksource_ok vdso_clocksource_ok

/*
 * The clock functions, see vgettimeofday.c: 0, or a positive errno and CR0.SO
 * set. They have the prototypes of the C library, with 32-bit times in the
 * 32-bit vDSO unless the name says otherwise, but for the result, which fills
 * the register as it is.
 */
long __kernel_gettimeofday(struct __kernel_old_timeval *tv, struct timezone *tz);
__kernel_old_time_t __kernel_time(__kernel_old_time_t *time);

#ifdef BUILD_VDSO32
long __kernel_clock_gettime(clockid_t clock, struct old_timespec32 *ts);
long __kernel_clock_gettime64(clockid_t clock, struct __kernel_timespec *ts);
long __kernel_clock_getres(clockid_t clock, struct old_timespec32 *res);
long __kernel_clock_getres_time64(clockid_t clock, struct __kernel_timespec *res);
#else
long __kernel_clock_gettime(clockid_t clock, struct __kernel_timespec *ts);
long __kernel_clock_getres(clockid_t clock, struct __kernel_timespec *res);
#endif

#endif /* __ASSEMBLY__ */

#endif /* _ASM_POWERPC_VDSO_GETTIMEOFDAY_H */
