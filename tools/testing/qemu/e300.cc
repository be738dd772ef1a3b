// SPDX-License-Identifier: GPL-2.0-only
/*
 * The e300c2 and the MPC8323E-RDB as patches/qemu-7.2/ emulate them, from below: one
 * access at a time, with a TLB that holds what the test has loaded and nothing else.
 */
#include "image.h"

/* In start.S, for the CPUs with segments */
extern "C" u32 probe_segment(u32 address, u32 msr, u32 value);

namespace
{

constexpr u32 immr = 0xe0000000;
constexpr u32 uart1 = immr + 0x4500;
constexpr u32 uart2 = immr + 0x4600;

constexpr u32 DMISS = 976, DCMP = 977, HASH1 = 978, HASH2 = 979, IMISS = 980,
	      ICMP = 981, RPA = 982;
constexpr u32 SRR1 = 27, SDR1 = 25, SPRG4 = 276, SPRG7 = 279;
constexpr u32 IBAT0U = 528, DBAT0U = 536, IBAT4U = 560, DBAT4U = 568,
	      DBAT4L = 569, DBAT7U = 574, DBAT7L = 575;

constexpr u32 vec_dsi = 0x300;
constexpr u32 vec_isi = 0x400;
constexpr u32 vec_float = 0x800;
constexpr u32 vec_imiss = 0x1000;
constexpr u32 vec_lmiss = 0x1100;
constexpr u32 vec_smiss = 0x1200;

/* SRR1 after a miss */
constexpr u32 miss_key = 0x00080000;
constexpr u32 miss_code = 0x00040000;
constexpr u32 miss_way = 0x00020000;
constexpr u32 miss_store = 0x00010000;

constexpr u32 rpa_changed = 0x80;
constexpr u32 rpa_rw = 0x100 | rpa_changed | 2;

constexpr u32 ram = 0x00800000;
constexpr u32 ea = 0x40800000;
constexpr u32 segment = ea >> 28;
constexpr u32 vsid = 0x123;

template <u32 number> void mtsr(u32 value)
{
	asm volatile("mtsr %1, %0; isync"
		     :
		     : "r"(value), "i"(number)
		     : "memory");
}

constexpr u32 compare(u32 page, u32 id = vsid)
{
	return 0x80000000 | id << 7 | (page >> 22 & 0x3f);
}

/*
 * DCMP and ICMP can only be read; a miss sets them. They hold nothing of the lower
 * half of an address, so the miss need not be in the page that is to be loaded.
 */
constexpr u32 never_mapped = 0x00200000;

void load_data(u32 page, u32 rpa, u32 way = 0)
{
	probe_load(page + never_mapped, msr_dr);
	mtspr<RPA>(rpa);
	mtspr<SRR1>(way ? miss_way : 0);
	asm volatile("tlbld %0" : : "r"(page) : "memory");
}

void load_code(u32 page, u32 rpa, u32 way = 0)
{
	probe_jump(page + never_mapped, msr_ir);
	mtspr<RPA>(rpa);
	mtspr<SRR1>(way ? miss_way : 0);
	asm volatile("tlbli %0" : : "r"(page) : "memory");
}

void hit(u32 address, u32 value, u32 msr = msr_dr)
{
	u32 got = probe_load(address, msr);
	EXPECT(last.vector, vec_syscall);
	EXPECT(got, value);
}

void miss(u32 address, u32 msr = msr_dr)
{
	probe_load(address, msr);
	EXPECT(last.vector, vec_lmiss);
}

void test_load_miss()
{
	probe_load(ea + 0x5678, msr_dr);
	EXPECT(last.vector, vec_lmiss);
	EXPECT(mfspr<DMISS>(), ea + 0x5678);
	EXPECT(mfspr<DCMP>(), compare(ea));
	EXPECT(last.srr1 & (miss_code | miss_store | miss_key), 0);
	/* The page table of SDR1, and the hash of the page */
	EXPECT(mfspr<HASH1>(), 0x01000000 | (((vsid ^ 0x805) & 0x3ff) << 6));
	EXPECT(mfspr<HASH2>(), 0x01000000 | ((~(vsid ^ 0x805) & 0x3ff) << 6));
	mtsr<segment>(0x60000000 | vsid);
	miss(ea);
	EXPECT(last.srr1 & miss_key, miss_key);
}

void test_store_miss()
{
	probe_store(ea + 0x1000, msr_dr, 0);
	EXPECT(last.vector, vec_smiss);
	EXPECT(mfspr<DMISS>(), ea + 0x1000);
	EXPECT(last.srr1 & (miss_code | miss_store), miss_store);
}

void test_return()
{
	/* What the miss left in SRR1 is not for the MSR, ILE least of all. */
	probe_syscall(0, msr_dr | miss_key | miss_code | miss_way | miss_store);
	EXPECT(last.vector, vec_syscall);
	EXPECT(last.msr & msr_le, 0);
	EXPECT(mfmsr() & miss_store, 0);
}

void test_hit()
{
	load_data(ea, ram | rpa_rw);
	hit(ea, 0x11111111);
	hit(ea + 0xffc, 0x33333333);
	miss(ea + 0x1000);
	probe_store(ea + 8, msr_dr, 0x4444);
	EXPECT(last.vector, vec_syscall);
	EXPECT(io<u32>(ram + 8), 0x4444);
	hit(ram, 0x11111111, 0);
}

void test_evict()
{
	constexpr u32 other = ea + 0x20000; /* of the same set */

	load_data(ea, ram | rpa_rw, 1);
	hit(ea, 0x11111111);
	load_data(other, (ram + 0x1000) | rpa_rw, 1);
	hit(other, 0x22222222);
	miss(ea);
	/* Two ways hold both. */
	load_data(ea, ram | rpa_rw, 0);
	hit(ea, 0x11111111);
	hit(other, 0x22222222);
}

void test_reload()
{
	load_data(ea, ram | rpa_rw, 0);
	hit(ea, 0x11111111);
	load_data(ea, (ram + 0x1000) | rpa_rw, 1);
	hit(ea, 0x22222222);
}

void test_way()
{
	load_data(ea, ram | rpa_rw, 0);
	miss(ea + 0x1000);
	EXPECT(last.srr1 & miss_way, miss_way);
	load_data(ea, ram | rpa_rw, 1);
	miss(ea + 0x1000);
	EXPECT(last.srr1 & miss_way, 0);
}

void test_tlbie()
{
	load_data(ea, ram | rpa_rw);
	load_data(ea + 0x1000, (ram + 0x1000) | rpa_rw);
	load_data(ea + 0x20000, (ram + 0x1000) | rpa_rw, 1);
	hit(ea, 0x11111111);
	hit(ea + 0x1000, 0x22222222);
	hit(ea + 0x20000, 0x22222222);
	/* It takes the whole set. */
	tlbie(ea);
	miss(ea);
	miss(ea + 0x20000);
	hit(ea + 0x1000, 0x22222222);
}

void test_protection()
{
	constexpr u32 rpa = (ram | rpa_rw) & ~3u;

	/* Ks = 0, Kp = 1: PP 0 is privileged only, PP 1 for others read only */
	mtsr<segment>(0x20000000 | vsid);
	load_data(ea, rpa);
	hit(ea, 0x11111111);
	probe_load(ea, msr_dr | msr_pr);
	EXPECT(last.vector, vec_dsi);
	EXPECT(last.dsisr, 0x08000000);
	EXPECT(last.dar, ea);
	load_data(ea, rpa | 1);
	hit(ea, 0x11111111, msr_dr | msr_pr);
	probe_store(ea + 4, msr_dr | msr_pr, 0);
	EXPECT(last.vector, vec_dsi);
	EXPECT(last.dsisr, 0x0a000000);
	EXPECT(last.dar, ea + 4);
	load_data(ea, rpa | 3);
	probe_store(ea + 4, msr_dr, 0);
	EXPECT(last.vector, vec_dsi);
	EXPECT(last.dsisr, 0x0a000000);
}

void test_changed()
{
	load_data(ea, (ram | rpa_rw) & ~rpa_changed);
	hit(ea, 0x11111111);
	probe_store(ea, msr_dr, 0);
	EXPECT(last.vector, vec_smiss);
	EXPECT(last.srr1 & miss_store, miss_store);
	EXPECT(io<u32>(ram), 0x11111111);
	load_data(ea, ram | rpa_rw, 1);
	probe_store(ea, msr_dr, 0x4444);
	EXPECT(last.vector, vec_syscall);
	EXPECT(io<u32>(ram), 0x4444);
}

void test_segment()
{
	load_data(ea, ram | rpa_rw);
	hit(ea, 0x11111111);
	mtsr<segment>(vsid + 1);
	miss(ea);
	EXPECT(mfspr<DCMP>(), compare(ea, vsid + 1));
	mtsr<segment>(vsid);
	hit(ea, 0x11111111);
}

void test_segment_at_once()
{
	/* As a kernel does it that changes to another task, and goes on. */
	load_data(ea, ram | rpa_rw);
	hit(ea, 0x11111111);
	probe_segment(ea, msr_dr, vsid + 1);
	EXPECT(last.vector, vec_lmiss);
	EXPECT(mfspr<DCMP>(), compare(ea, vsid + 1));
	mtsr<segment>(vsid);
	hit(ea, 0x11111111);
}

void test_fetch()
{
	constexpr u32 code = ram + 0x3000;

	io<u32>(code) = 0x38a00055; /* li 5,0x55 */
	io<u32>(code + 4) = 0x44000002; /* sc */
	probe_jump(ea + 4, msr_ir);
	EXPECT(last.vector, vec_imiss);
	EXPECT(mfspr<IMISS>(), ea + 4);
	EXPECT(mfspr<ICMP>(), compare(ea));
	EXPECT(last.srr1 & miss_code, miss_code);
	load_code(ea, code | rpa_rw);
	EXPECT(probe_jump(ea, msr_ir), 0x55);
	EXPECT(last.vector, vec_syscall);
	mtsr<segment>(0x10000000 | vsid);
	probe_jump(ea, msr_ir);
	EXPECT(last.vector, vec_isi);
	EXPECT(last.srr1 & 0x7fff0000, 0x10000000);
}

void test_apart()
{
	constexpr u32 code = ram + 0x3000;

	io<u32>(code) = 0x38a00055; /* li 5,0x55 */
	io<u32>(code + 4) = 0x44000002; /* sc */
	/* What can be executed cannot be read or written for that ... */
	load_code(ea, code | rpa_rw);
	EXPECT(probe_jump(ea, msr_ir | msr_dr), 0x55);
	EXPECT(last.vector, vec_syscall);
	miss(ea);
	probe_store(ea, msr_dr, 0);
	EXPECT(last.vector, vec_smiss);
	/* ... and the other way round. */
	load_data(ea + 0x1000, code | rpa_rw);
	hit(ea + 0x1000, 0x38a00055);
	probe_jump(ea + 0x1000, msr_ir | msr_dr);
	EXPECT(last.vector, vec_imiss);
}

void test_high_bats()
{
	miss(ea);
	mtspr<DBAT4L>(ram | 2);
	mtspr<DBAT4U>(ea | 3);
	hit(ea, 0x11111111);
	hit(ea + 0x1000, 0x22222222);
	EXPECT(mfspr<DBAT4U>(), ea | 3);
	mtspr<DBAT4U>(0);
	miss(ea);
	mtspr<DBAT7L>(ram | 2);
	mtspr<DBAT7U>(ea | 3);
	hit(ea, 0x11111111);
	mtspr<DBAT7U>(0);
	miss(ea);
	EXPECT(mfspr<IBAT4U>(), 0);
}

void test_sprgs()
{
	mtspr<SPRG4>(0x1234);
	mtspr<SPRG4 + 1>(0x2345);
	mtspr<SPRG4 + 2>(0x3456);
	mtspr<SPRG7>(0x4567);
	EXPECT(mfspr<SPRG4>(), 0x1234);
	EXPECT(mfspr<SPRG4 + 1>(), 0x2345);
	EXPECT(mfspr<SPRG4 + 2>(), 0x3456);
	EXPECT(mfspr<SPRG7>(), 0x4567);
}

void test_program()
{
	probe_float(0, 0);
	EXPECT(last.vector, vec_float);
	probe_mffs(0, 0);
	EXPECT(last.vector, vec_float);
	/* There is no FPU that could be switched on. */
	probe_float(0, msr_fp);
	EXPECT(last.vector, vec_float);
	probe_illegal(0, 0);
	EXPECT(last.vector, vec_program);
	EXPECT(last.srr1 & 0x7fff0000, 0x80000);
	probe_trap(0, 0);
	EXPECT(last.vector, vec_program);
	EXPECT(last.srr1 & 0x7fff0000, 0x20000);
	probe_privileged(0, msr_pr);
	EXPECT(last.vector, vec_program);
	EXPECT(last.srr1 & 0x7fff0000, 0x40000);
}

void test_decrementer()
{
	u32 start = timebase();

	set_decrementer(100);
	probe_wait(0, msr_ee);
	EXPECT(last.vector, vec_decrementer);
	EXPECT(timebase() - start >= 100, true);
	set_decrementer(0x7fffffff);
	probe_wait(0, msr_ee);
	EXPECT(last.vector, vec_syscall);
}

void test_external()
{
	constexpr u32 source = 0x80000000 >> 25; /* UART2, number 10 */

	set_decrementer(0x7fffffff);
	io<u8>(uart2 + 1) = 2; /* IER: transmitter empty */
	EXPECT(io<u32>(immr + 0x708), source);
	EXPECT(io<u32>(immr + 0x704), 0);
	probe_wait(0, msr_ee);
	EXPECT(last.vector, vec_syscall);
	io<u32>(immr + 0x720) = source; /* SIMSR_H */
	probe_wait(0, 0);
	EXPECT(last.vector, vec_syscall);
	probe_wait(0, msr_ee);
	EXPECT(last.vector, vec_external);
	EXPECT(io<u32>(immr + 0x704), 10);
	io<u8>(uart2 + 1) = 0;
	EXPECT(io<u32>(immr + 0x704), 0);
	probe_wait(0, msr_ee);
	EXPECT(last.vector, vec_syscall);
	/* By force: one with a number above 64 */
	io<u32>(immr + 0x724) = 0x80000000 >> 5;
	io<u32>(immr + 0x754) = 0x80000000 >> 5;
	EXPECT(io<u32>(immr + 0x704), 69);
	io<u32>(immr + 0x754) = 0;
	io<u32>(immr + 0x724) = 0;
	io<u32>(immr + 0x720) = 0;
}

void test_reset_lock()
{
	/* Without RSTE nothing happens, else this would be the last line. */
	io<u32>(immr + 0x918) = 0x12345678;
	io<u32>(immr + 0x91c) = 2;
	EXPECT(io<u32>(immr + 0x920) & 1, 0);
}

} /* namespace */

void put_char(char c)
{
	while (!(io<u8>(uart1 + 5) & 0x20))
		;
	io<char>(uart1) = c;
}

void reset_board()
{
	while (!(io<u8>(uart1 + 5) & 0x40))
		;
	io<u32>(immr + 0x918) = 0x52535445;
	io<u32>(immr + 0x91c) = 2;
	for (;;)
		;
}

void setup()
{
	for (u32 set = 0; set < 32; set++)
		tlbie(set << 12);
	mtspr<SDR1>(0x01000000);
	mtsr<segment>(vsid);
	mtspr<DBAT0U>(0);
	mtspr<IBAT0U>(0);
	io<u32>(ram) = 0x11111111;
	io<u32>(ram + 0xffc) = 0x33333333;
	io<u32>(ram + 0x1000) = 0x22222222;
}

const Test tests[] = {
	{ "load miss", test_load_miss },
	{ "store miss", test_store_miss },
	{ "return from a store miss", test_return },
	{ "hit", test_hit },
	{ "evicted entry", test_evict },
	{ "entry loaded again, in the other way", test_reload },
	{ "way to replace next", test_way },
	{ "tlbie", test_tlbie },
	{ "protection", test_protection },
	{ "changed bit", test_changed },
	{ "segment of another address space", test_segment },
	{ "segment written between two loads", test_segment_at_once },
	{ "instruction fetch", test_fetch },
	{ "instructions and data apart", test_apart },
	{ "BATs 4 to 7", test_high_bats },
	{ "SPRG4 to SPRG7", test_sprgs },
	{ "program exception, no FPU", test_program },
	{ "decrementer", test_decrementer },
	{ "external interrupt", test_external },
	{ "reset is locked", test_reset_lock },
};
const u32 num_tests = sizeof(tests) / sizeof(tests[0]);
