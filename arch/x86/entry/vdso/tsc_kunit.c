// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of how the vDSO reads the TSC: with the instruction that the command
 * line asks for, and what vread_pvclock() makes of the number.
 *
 * The arithmetic is that of the vDSO, compiled here with a TSC and a page that are
 * made up; the instructions are looked at where they are.
 */
#include <linux/math64.h>
#include <linux/types.h>
#include <asm/vdso/tsc.h>

/* The instruction itself, before the name below stands for something else */
static noinline u64 read_tsc(void)
{
	return vdso_rdtsc();
}

static u64 kunit_rdtsc(void);

#define vdso_rdtsc()	kunit_rdtsc()
#define pvclock_page	kunit_pvclock_page

#include <vdso/datapage.h>

#undef vdso_rdtsc

#include <kunit/test.h>
#include <linux/init.h>
#include <linux/string.h>
#include <asm/cpufeature.h>
#include <asm/vdso.h>

static const u8 plain[] = { 0x3e, 0x3e, 0x3e, 0x0f, 0x31 };
static const u8 fenced[] = { 0x0f, 0xae, 0xe8, 0x0f, 0x31 };
static const u8 rdtscp[] = { 0x0f, 0x01, 0xf9 };

/* The last vdso_tsc= that is known counts. */
static bool want_ordered(void)
{
	const char *at = saved_command_line;
	bool ordered = false;

	while ((at = strstr(at, "vdso_tsc="))) {
		at += strlen("vdso_tsc=");
		if (!strncmp(at, "ordered", 7) && (!at[7] || at[7] == ' '))
			ordered = true;
		if (!strncmp(at, "plain", 5) && (!at[5] || at[5] == ' '))
			ordered = false;
	}
	return ordered;
}

/* Whether what starts at @code, until any other reads the TSC, is what it should be */
static bool is_wanted(const u8 *code)
{
	if (!want_ordered())
		return !memcmp(code, plain, sizeof(plain));
	if (boot_cpu_has(X86_FEATURE_RDTSCP))
		return !memcmp(code, rdtscp, sizeof(rdtscp));
	if (boot_cpu_has(X86_FEATURE_LFENCE_RDTSC))
		return !memcmp(code, fenced, sizeof(fenced));
	return !memcmp(code, plain, sizeof(plain));
}

static void command_line(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, (int)!!boot_cpu_has(X86_FEATURE_VDSO_TSC_ORDERED),
			(int)want_ordered());
}

/* In the kernel: somewhere in the first bytes of a function that does nothing else */
static void kernel_code(struct kunit *test)
{
	const u8 *code = (const u8 *)read_tsc;
	unsigned int i, found = 0;
	u64 before, after;

	for (i = 0; i < 24; i++)
		found += is_wanted(code + i);
	KUNIT_EXPECT_EQ(test, found, 1U);

	before = read_tsc();
	after = read_tsc();
	KUNIT_EXPECT_GE(test, after, before);
	KUNIT_EXPECT_NE(test, after, 0ULL);
}

/* In an image: at each place that depends on vdso_tsc= */
static void expect_image(struct kunit *test, const struct vdso_image *image,
			 const char *name)
{
	const struct alt_instr *alt = image->data + image->alt;
	const struct alt_instr *end = (const void *)alt + image->alt_len;
	unsigned int places = 0, wrong = 0;

	for (; alt < end; alt++) {
		if (alt->cpuid != ALT_NOT(X86_FEATURE_VDSO_TSC_ORDERED))
			continue;
		places++;
		wrong += !is_wanted((const u8 *)&alt->instr_offset + alt->instr_offset);
	}
	/* REALTIME, MONOTONIC, ... with and without a time namespace */
	KUNIT_EXPECT_GT_MSG(test, places, 0U, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, wrong, 0U, "%s", name);
}

static void images(struct kunit *test)
{
#ifdef CONFIG_X86_64
	expect_image(test, &vdso_image_64, "64");
#endif
#ifdef CONFIG_X86_X32
	expect_image(test, &vdso_image_x32, "x32");
#endif
#if defined(CONFIG_X86_32) || defined(CONFIG_COMPAT)
	expect_image(test, &vdso_image_32, "32");
#endif
}

/* The TSC, and what happens to the page of pvclock while it is read */
static u64 tsc;
static unsigned int reads;
static void (*update)(void);

static u64 kunit_rdtsc(void)
{
	u64 now = tsc;

	reads++;
	if (update)
		update();
	return now;
}

static void counter(struct kunit *test)
{
	tsc = 0x123456789abcdef0ULL;
	update = NULL;
	reads = 0;
	KUNIT_EXPECT_EQ(test, __arch_get_hw_counter(VDSO_CLOCKMODE_TSC, NULL), tsc);
	KUNIT_EXPECT_EQ(test, reads, 1U);

	/* A clock that is not to be read is not, and that shows in the sign. */
	KUNIT_EXPECT_EQ(test, __arch_get_hw_counter(VDSO_CLOCKMODE_NONE, NULL), U64_MAX);
	KUNIT_EXPECT_EQ(test, __arch_get_hw_counter(VDSO_CLOCKMODE_TIMENS, NULL), U64_MAX);
	KUNIT_EXPECT_EQ(test, reads, 1U);
}

#ifdef CONFIG_PARAVIRT_CLOCK
struct pvclock_vsyscall_time_info kunit_pvclock_page;

struct pvclock_row {
	const char *name;
	u64 timestamp;
	u64 system_time;
	u64 tsc;
	u32 mul;
	s8 shift;
};

static const struct pvclock_row rows[] = {
	{ "moment of the page", 1000000, 5000, 1000000, 0x80000000, 0 },
	{ "one tick later", 1000000, 5000, 1000001, 0x80000000, 1 },
	{ "half a tick to the ns", 1000000, 5000, 1000003, 0x80000000, 0 },
	{ "2.6 GHz, 1 s", 1000000, 5000, 2600000000ULL + 1000000, 0xc4ec4ec4, -1 },
	{ "800 MHz, 1 s", 1000000, 5000, 800000000ULL + 1000000, 0xa0000000, 1 },
	{ "2.6 GHz, a day", 1000000, 5000, 224640000000000ULL, 0xc4ec4ec4, -1 },
	{ "years after boot", 1ULL << 60, 1ULL << 58, (1ULL << 60) + 77, 0xc4ec4ec4, -1 },
	/* Read too early: the page is of a later moment, which is what counts. */
	{ "one tick before", 1000000, 5000, 999999, 0x80000000, 1 },
	{ "long before", 1ULL << 60, 5000, 1, 0x80000000, 1 },
};

/* What the hypervisor's formula gives for a TSC that is not before the page's */
static u64 pvclock_time(const struct pvclock_row *row)
{
	u64 delta = row->tsc > row->timestamp ? row->tsc - row->timestamp : 0;

	delta = row->shift < 0 ? delta >> -row->shift : delta << row->shift;
	return row->system_time + mul_u64_u32_shr(delta, row->mul, 32);
}

static void fill_pvclock(const struct pvclock_row *row)
{
	kunit_pvclock_page.pvti = (struct pvclock_vcpu_time_info) {
		.version = 4,
		.tsc_timestamp = row->timestamp,
		.system_time = row->system_time,
		.tsc_to_system_mul = row->mul,
		.tsc_shift = row->shift,
		.flags = PVCLOCK_TSC_STABLE_BIT,
	};
	tsc = row->tsc;
	update = NULL;
	reads = 0;
}

static void pvclock(struct kunit *test)
{
	const struct pvclock_row *row;

	for (row = rows; row < rows + ARRAY_SIZE(rows); row++) {
		fill_pvclock(row);
		KUNIT_EXPECT_EQ_MSG(test, __arch_get_hw_counter(VDSO_CLOCKMODE_PVCLOCK, NULL),
				    pvclock_time(row), "%s", row->name);
		KUNIT_EXPECT_EQ_MSG(test, reads, 1U, "%s", row->name);
	}
}

static void pvclock_unstable(struct kunit *test)
{
	fill_pvclock(rows);
	kunit_pvclock_page.pvti.flags = 0;
	KUNIT_EXPECT_EQ(test, __arch_get_hw_counter(VDSO_CLOCKMODE_PVCLOCK, NULL), U64_MAX);
	KUNIT_EXPECT_EQ(test, reads, 0U);
}

/* Between the CPU's read of the TSC and the loads, as far as the result can tell */
static void next_page(void)
{
	fill_pvclock(&rows[4]);
	kunit_pvclock_page.pvti.version = 6;
	reads = 1;
}

static void half_page(void)
{
	kunit_pvclock_page.pvti.tsc_timestamp = 1ULL << 62;
	kunit_pvclock_page.pvti.system_time = 0;
	kunit_pvclock_page.pvti.version = 5;
	update = next_page;
	reads = 0;
}

static void pvclock_race(struct kunit *test)
{
	fill_pvclock(&rows[3]);
	update = next_page;
	KUNIT_EXPECT_EQ(test, __arch_get_hw_counter(VDSO_CLOCKMODE_PVCLOCK, NULL),
			pvclock_time(&rows[4]));
	KUNIT_EXPECT_EQ(test, reads, 2U);

	fill_pvclock(&rows[3]);
	update = half_page;
	KUNIT_EXPECT_EQ(test, __arch_get_hw_counter(VDSO_CLOCKMODE_PVCLOCK, NULL),
			pvclock_time(&rows[4]));
}
#endif /* CONFIG_PARAVIRT_CLOCK */

static struct kunit_case tsc_cases[] = {
	KUNIT_CASE(command_line),
	KUNIT_CASE(kernel_code),
	KUNIT_CASE(images),
	KUNIT_CASE(counter),
#ifdef CONFIG_PARAVIRT_CLOCK
	KUNIT_CASE(pvclock),
	KUNIT_CASE(pvclock_unstable),
	KUNIT_CASE(pvclock_race),
#endif
	{}
};

static struct kunit_suite tsc_suite = {
	.name = "x86_vdso_tsc",
	.test_cases = tsc_cases,
};

kunit_test_suites(&tsc_suite);
