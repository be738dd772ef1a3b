// SPDX-License-Identifier: GPL-2.0-only
/*
 * The MPC8xx and the MPC885ADS as patches/qemu-7.2/ emulate them, from below: one
 * access at a time, with a TLB that holds what the test has loaded and nothing else.
 */
#include "image.h"

namespace
{

constexpr u32 immr = 0xff000000;
constexpr u32 dpram = immr + 0x2000;

constexpr u32 EIE = 80, EID = 81, NRI = 82;
constexpr u32 MI_CTR = 784, MI_AP = 786, MI_EPN = 787, MI_TWC = 789,
	      MI_RPN = 790;
constexpr u32 MD_CTR = 792, M_CASID = 793, MD_AP = 794, MD_EPN = 795,
	      M_TWB = 796, MD_TWC = 797, MD_RPN = 798, M_TW = 799;

constexpr u32 ctr_rsv4i = 0x08000000;
constexpr u32 ctr_twam = 0x04000000;
constexpr u32 epn_valid = 0x200;
constexpr u32 twc_guarded = 0x10;
constexpr u32 twc_512k = 0x4;
constexpr u32 twc_8m = 0xc;
constexpr u32 twc_valid = 0x1;
constexpr u32 rpn_ext = 0x200;
constexpr u32 rpn_changed = 0x100;
constexpr u32 rpn_16k = 0x8;
constexpr u32 rpn_shared = 0x4;
constexpr u32 rpn_valid = 0x1;
/* All that a page needs to be readable and writable for everybody. */
constexpr u32 rpn_rw = 0x800 | rpn_changed | 0xf0 | rpn_valid;
constexpr u32 pp_none = 0xfffff3ff;

constexpr u32 vec_emulation = 0x1000;
constexpr u32 vec_imiss = 0x1100;
constexpr u32 vec_dmiss = 0x1200;
constexpr u32 vec_ierror = 0x1300;
constexpr u32 vec_derror = 0x1400;

constexpr u32 no_entry = 0x40000000;
constexpr u32 guarded = 0x10000000;
constexpr u32 protection = 0x08000000;
constexpr u32 store = 0x02000000;

/* 8 MiB of RAM behind the image, and where they are mapped to. */
constexpr u32 ram = 0x00800000;
constexpr u32 ea = 0x40800000;

void load_data(u32 page, u32 twc, u32 rpn, u32 asid = 0)
{
	mtspr<MD_EPN>(page | epn_valid | asid);
	mtspr<MD_TWC>(twc | twc_valid);
	mtspr<MD_RPN>(rpn);
}

void load_code(u32 page, u32 twc, u32 rpn, u32 asid = 0)
{
	mtspr<MI_EPN>(page | epn_valid | asid);
	mtspr<MI_TWC>(twc | twc_valid);
	mtspr<MI_RPN>(rpn);
}

void tlbia()
{
	asm volatile("tlbia" : : : "memory");
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
	EXPECT(last.vector, vec_dmiss);
}

void error(u32 address, u32 msr, u32 status)
{
	if (status & store)
		probe_store(address, msr, 0);
	else
		probe_load(address, msr);
	EXPECT(last.vector, vec_derror);
	EXPECT(last.dsisr, status);
	EXPECT(last.dar, address);
}

void test_miss()
{
	mtspr<M_CASID>(5);
	mtspr<19>(0x1234); /* DAR: a miss leaves it alone */
	probe_load(ea + 0x123c, msr_dr);
	EXPECT(last.vector, vec_dmiss);
	EXPECT(last.dar, 0x1234);
	EXPECT(last.msr & (msr_dr | msr_ir | msr_pr), 0);
	EXPECT(last.srr1 & msr_dr, msr_dr);
	EXPECT(mfspr<MD_EPN>(), (ea + 0x1000) | epn_valid | 5);
	probe_store(ea + 0x2000, msr_dr, 0);
	EXPECT(last.vector, vec_dmiss);
}

void test_real_mode()
{
	hit(ram, 0x11111111, 0);
	load_data(ram, 0, (ram + 0x1000) | rpn_rw);
	hit(ram, 0x11111111, 0);
	hit(ram, 0x22222222, msr_dr);
}

void page_size(u32 size, u32 twc, u32 rpn)
{
	load_data(ea, twc, ram | rpn_rw | rpn);
	io<u32>(ram + size - 4) = size;
	hit(ea, 0x11111111);
	hit(ea + size - 4, size);
	miss(ea + size);
	miss(ea - 4);
	probe_store(ea + 8, msr_dr, size);
	EXPECT(last.vector, vec_syscall);
	EXPECT(io<u32>(ram + 8), size);
}

void test_page_4k()
{
	page_size(0x1000, 0, 0);
}

void test_page_16k()
{
	page_size(0x4000, 0, rpn_16k);
}

void test_page_512k()
{
	page_size(0x80000, twc_512k, rpn_16k);
}

void test_page_8m()
{
	page_size(0x800000, twc_8m, rpn_16k);
}

void test_invalid()
{
	load_data(ea, 0, (ram | rpn_rw) & ~rpn_valid);
	error(ea, msr_dr, no_entry);
	error(ea, msr_dr, no_entry | store);
	mtspr<MD_EPN>(ea | epn_valid);
	mtspr<MD_TWC>(0);
	mtspr<MD_RPN>(ram | rpn_rw);
	error(ea, msr_dr, no_entry);
	tlbie(ea);
	miss(ea);
}

void test_protection()
{
	constexpr u32 user = msr_dr | msr_pr;

	/* Privileged read and write, nobody else */
	load_data(ea, 0, (ram | rpn_rw) & pp_none);
	hit(ea, 0x11111111);
	error(ea, user, protection);
	error(ea, user, protection | store);
	/* Others read */
	load_data(ea + 0x1000, 0, ((ram | rpn_rw) & pp_none) | 0x400);
	hit(ea + 0x1000, 0x11111111, user);
	error(ea + 0x1000, user, protection | store);
	probe_store(ea + 0x1000, msr_dr, 0x11111111);
	EXPECT(last.vector, vec_syscall);
	/* All read */
	load_data(ea + 0x2000, 0, ram | rpn_rw | 0x400);
	hit(ea + 0x2000, 0x11111111, user);
	error(ea + 0x2000, msr_dr, protection | store);
	/* Extended: nobody, privileged read */
	load_data(ea + 0x3000, 0, ((ram | rpn_rw) & pp_none) | rpn_ext);
	error(ea + 0x3000, msr_dr, protection);
	load_data(ea + 0x4000, 0, ((ram | rpn_rw) & pp_none) | rpn_ext | 0x400);
	hit(ea + 0x4000, 0x11111111);
	error(ea + 0x4000, user, protection);
	error(ea + 0x4000, msr_dr, protection | store);
}

void test_changed()
{
	load_data(ea, 0, (ram | rpn_rw) & ~rpn_changed);
	hit(ea, 0x11111111);
	error(ea, msr_dr, protection | store);
	EXPECT(io<u32>(ram), 0x11111111);
}

void test_groups()
{
	constexpr u32 user = msr_dr | msr_pr;
	constexpr u32 group3 = 3 << 5;

	/* Privileged pages in a group: as they say, all as privileged ... */
	load_data(ea, group3, (ram | rpn_rw) & pp_none);
	mtspr<MD_AP>(0x01000000);
	hit(ea, 0x11111111);
	error(ea, user, protection);
	mtspr<MD_AP>(0x00000000);
	hit(ea, 0x11111111, user);
	/* ... all as user, and the two swapped */
	mtspr<MD_AP>(0x03000000);
	error(ea, msr_dr, protection);
	error(ea, user, protection);
	mtspr<MD_AP>(0x02000000);
	error(ea, msr_dr, protection);
	hit(ea, 0x11111111, user);
}

void test_asid()
{
	load_data(ea, 0, ram | rpn_rw, 1);
	load_data(ea + 0x1000, 0, ram | rpn_rw | rpn_shared, 1);
	miss(ea);
	hit(ea + 0x1000, 0x11111111);
	mtspr<M_CASID>(1);
	hit(ea, 0x11111111);
	hit(ea + 0x1000, 0x11111111);
	mtspr<M_CASID>(2);
	miss(ea);
	hit(ea + 0x1000, 0x11111111);
}

void test_replace()
{
	/* The page whose entry is overwritten is gone at once. */
	mtspr<MD_CTR>(0x300);
	load_data(ea, 0, ram | rpn_rw);
	hit(ea, 0x11111111);
	mtspr<MD_CTR>(0x300);
	load_data(ea + 0x1000, 0, (ram + 0x1000) | rpn_rw);
	hit(ea + 0x1000, 0x22222222);
	miss(ea);
	/* The same page, with another frame. */
	mtspr<MD_CTR>(0x300);
	load_data(ea + 0x1000, 0, ram | rpn_rw);
	hit(ea + 0x1000, 0x11111111);
}

void test_index()
{
	mtspr<MD_CTR>(0x100 | ctr_twam);
	load_data(ea, 0, ram | rpn_rw);
	EXPECT(mfspr<MD_CTR>(), ctr_twam);
	load_data(ea + 0x1000, 0, ram | rpn_rw);
	EXPECT(mfspr<MD_CTR>(), 0x1f00 | ctr_twam);
	mtspr<MD_CTR>(ctr_rsv4i);
	load_data(ea + 0x2000, 0, ram | rpn_rw);
	EXPECT(mfspr<MD_CTR>(), 0x1b00 | ctr_rsv4i);
	mtspr<MI_CTR>(0);
	load_code(ea, 0, ram | rpn_rw);
	EXPECT(mfspr<MI_CTR>(), 0x1f00);
}

void test_tlbie()
{
	load_data(ea, 0, ram | rpn_rw);
	load_data(ea + 0x1000, 0, ram | rpn_rw);
	load_data(ea + 0x800000, twc_8m, ram | rpn_rw);
	hit(ea, 0x11111111);
	hit(ea + 0x800000, 0x11111111);
	hit(ea + 0x801000, 0x22222222);
	tlbie(ea);
	miss(ea);
	hit(ea + 0x1000, 0x11111111);
	tlbie(ea + 0xabc000);
	miss(ea + 0x800000);
	miss(ea + 0x801000);
}

void test_tlbia()
{
	mtspr<MD_CTR>(0x1c00 | ctr_rsv4i);
	load_data(ea, 0, ram | rpn_rw);
	mtspr<MD_CTR>(0x1b00 | ctr_rsv4i);
	load_data(ea + 0x1000, 0, ram | rpn_rw);
	hit(ea, 0x11111111);
	hit(ea + 0x1000, 0x11111111);
	tlbia();
	hit(ea, 0x11111111);
	miss(ea + 0x1000);
	mtspr<MD_CTR>(0);
	tlbia();
	miss(ea);
}

void test_tablewalk()
{
	mtspr<MD_EPN>(0x12345000);
	mtspr<M_TWB>(0x00abc123);
	EXPECT(mfspr<M_TWB>(), 0x00abc000 | (0x12345000 >> 22 << 2));
	mtspr<MD_TWC>(0x00def001);
	EXPECT(mfspr<MD_TWC>(), 0x00def000 | (0x345 << 2));
	mtspr<MD_TWC>(0x00def00d);
	EXPECT(mfspr<MD_TWC>(), 0x00def000);
	mtspr<M_TW>(0xcafe1234);
	EXPECT(mfspr<M_TW>(), 0xcafe1234);
}

void test_fetch()
{
	constexpr u32 user = msr_ir | msr_pr;
	constexpr u32 code = ram + 0x3000;
	constexpr u32 no_user = (code | rpn_rw) & pp_none;

	io<u32>(code) = 0x38a00055; /* li 5,0x55 */
	io<u32>(code + 4) = 0x44000002; /* sc */
	probe_jump(ea + 4, msr_ir);
	EXPECT(last.vector, vec_imiss);
	EXPECT(last.srr0, ea + 4);
	EXPECT(mfspr<MI_EPN>(), ea | epn_valid);
	/* An entry for data is none for code. */
	load_data(ea, 0, code | rpn_rw);
	probe_jump(ea, msr_ir | msr_dr);
	EXPECT(last.vector, vec_imiss);
	load_code(ea, 0, no_user);
	EXPECT(probe_jump(ea, msr_ir), 0x55);
	EXPECT(last.vector, vec_syscall);
	EXPECT(last.srr0, ea + 8);
	probe_jump(ea, user);
	EXPECT(last.vector, vec_ierror);
	EXPECT(last.srr1 & 0x7fff0000, protection);
	tlbie(ea);
	load_code(ea, twc_guarded, no_user);
	probe_jump(ea, msr_ir);
	EXPECT(last.vector, vec_ierror);
	EXPECT(last.srr1 & 0x7fff0000, guarded);
	tlbie(ea);
	load_code(ea, 0, no_user & ~rpn_valid);
	probe_jump(ea, msr_ir);
	EXPECT(last.vector, vec_ierror);
	EXPECT(last.srr1 & 0x7fff0000, no_entry);
	EXPECT(last.srr0, ea);
}

void test_emulation()
{
	probe_illegal(0, 0);
	EXPECT(last.vector, vec_emulation);
	probe_float(0, 0);
	EXPECT(last.vector, vec_emulation);
	probe_mffs(0, 0);
	EXPECT(last.vector, vec_emulation);
	/* MSR[FP] cannot be set. */
	probe_float(0, msr_fp);
	EXPECT(last.vector, vec_emulation);
	EXPECT(last.srr1 & msr_fp, 0);
	probe_trap(0, 0);
	EXPECT(last.vector, vec_program);
	EXPECT(last.srr1 & 0x7fff0000, 0x20000);
	probe_privileged(0, msr_pr);
	EXPECT(last.vector, vec_program);
	EXPECT(last.srr1 & 0x7fff0000, 0x40000);
	probe_privileged(0, 0);
	EXPECT(last.vector, vec_syscall);
}

void test_eie()
{
	constexpr u32 mask = msr_ee | msr_ri;
	u32 got[3];

	set_decrementer(0x7fffffff);
	mtspr<EIE>(0);
	got[0] = mfmsr() & mask;
	mtspr<EID>(0xffffffff);
	got[1] = mfmsr() & mask;
	mtspr<NRI>(0);
	got[2] = mfmsr() & mask;
	EXPECT(got[0], msr_ee | msr_ri);
	EXPECT(got[1], msr_ri);
	EXPECT(got[2], 0);
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

/* A buffer of SMC2, which no test needs for its console. */
void send_smc2(u16 flags)
{
	io<u16>(dpram + 0x1f80) = 0x100; /* RBASE */
	io<u16>(dpram + 0x1f82) = 0x140; /* TBASE */
	io<u16>(immr + 0x9c0) = 0x00d1; /* CPCR: SMC2, init both */
	io<u16>(immr + 0xa92) = 0x4822; /* SMCMR: UART, TEN */
	io<u8>(dpram + 0x200) = 'x';
	io<u16>(dpram + 0x142) = 1;
	io<u32>(dpram + 0x144) = dpram + 0x200;
	io<u16>(dpram + 0x140) = static_cast<u16>(0xa000 | flags);
}

void test_external()
{
	set_decrementer(0x7fffffff);
	io<u8>(immr + 0xa96) = 0xff; /* SMCE */
	io<u8>(immr + 0xa9a) = 0x02; /* SMCM: TX */
	io<u32>(immr + 0x948) = 1 << 3; /* CIMR */
	io<u32>(immr + 0x940) = (4 << 13) | 0x1f80; /* CICR: level 4, enabled */
	io<u32>(immr + 0x014) = 0x80000000 >> 9; /* SIMASK: LVL4 */

	/* One that does not ask for an interrupt */
	send_smc2(0);
	EXPECT(io<u16>(dpram + 0x140), 0x2000);
	probe_wait(0, msr_ee);
	EXPECT(last.vector, vec_syscall);
	EXPECT(io<u32>(immr + 0x01c) >> 26, 15);

	send_smc2(0x1000);
	EXPECT(io<u8>(immr + 0xa96), 0x02);
	probe_wait(0, 0);
	EXPECT(last.vector, vec_syscall);
	probe_wait(0, msr_ee);
	EXPECT(last.vector, vec_external);
	EXPECT(io<u32>(immr + 0x01c) >> 26, 9);
	EXPECT(io<u32>(immr + 0x944), 1 << 3);
	io<u16>(immr + 0x930) = 1;
	EXPECT(io<u16>(immr + 0x930) >> 11, 3);
	/* In service: quiet, until that has ended; and with the event gone. */
	probe_wait(0, msr_ee);
	EXPECT(last.vector, vec_syscall);
	io<u32>(immr + 0x94c) = 1 << 3;
	probe_wait(0, msr_ee);
	EXPECT(last.vector, vec_external);
	io<u8>(immr + 0xa96) = 0x02;
	probe_wait(0, msr_ee);
	EXPECT(last.vector, vec_syscall);
	io<u32>(immr + 0x014) = 0;
}

void test_keys()
{
	io<u32>(immr + 0x384) = 0; /* anything locks PLPRCR */
	io<u32>(immr + 0x284) = 0x12340000;
	EXPECT(io<u32>(immr + 0x284), 0);
	io<u32>(immr + 0x384) = 0x55ccaa33;
	io<u32>(immr + 0x284) = 0x12340000;
	EXPECT(io<u32>(immr + 0x284), 0x12340000);
	io<u32>(immr + 0x284) = 0;
}

} /* namespace */

void put_char(char c)
{
	static bool ready;

	if (!ready) {
		ready = true;
		io<u16>(dpram + 0x1e82) = 0x20; /* SMC1: TBASE */
		io<u16>(immr + 0x9c0) = 0x0291; /* CPCR: init transmitter */
		io<u16>(immr + 0xa82) = 0x4822; /* SMCMR: UART, TEN */
	}
	io<char>(dpram + 0x80) = c;
	io<u16>(dpram + 0x22) = 1;
	io<u32>(dpram + 0x24) = dpram + 0x80;
	io<u16>(dpram + 0x20) = 0xa000; /* ready, last one of the ring */
}

void reset_board()
{
	io<u32>(immr + 0x284) = 0x80;
	[[maybe_unused]] u8 nothing = io<u8>(immr + 0x28c);
	for (;;)
		;
}

void setup()
{
	mtspr<MI_CTR>(0);
	mtspr<MD_CTR>(0);
	tlbia();
	mtspr<MD_CTR>(ctr_twam | 0x1f00);
	mtspr<MI_CTR>(0x1f00);
	mtspr<M_CASID>(0);
	/* All groups: Ks = 0, Kp = 1 */
	mtspr<MD_AP>(0x55555555);
	mtspr<MI_AP>(0x55555555);
	io<u32>(ram) = 0x11111111;
	io<u32>(ram + 0x1000) = 0x22222222;
}

const Test tests[] = {
	{ "a miss", test_miss },
	{ "real mode", test_real_mode },
	{ "page of 4 KiB", test_page_4k },
	{ "page of 16 KiB", test_page_16k },
	{ "page of 512 KiB", test_page_512k },
	{ "page of 8 MiB", test_page_8m },
	{ "invalid entry", test_invalid },
	{ "protection", test_protection },
	{ "changed bit", test_changed },
	{ "access protection groups", test_groups },
	{ "address space ID", test_asid },
	{ "replaced entry", test_replace },
	{ "index of the next entry", test_index },
	{ "tlbie", test_tlbie },
	{ "tlbia and reserved entries", test_tlbia },
	{ "table walk registers", test_tablewalk },
	{ "instruction fetch", test_fetch },
	{ "software emulation", test_emulation },
	{ "EIE, EID, NRI", test_eie },
	{ "decrementer", test_decrementer },
	{ "external interrupt", test_external },
	{ "key registers", test_keys },
};
const u32 num_tests = sizeof(tests) / sizeof(tests[0]);
