// SPDX-License-Identifier: GPL-2.0-only
/*
 * A guest that tries to crash QEMU: every special purpose register, every offset of the
 * internal registers in each size, descriptor rings made of garbage, and accesses
 * through TLB entries of random contents.
 *
 * Nothing is checked here. QEMU must still be there at the end and have nothing to say
 * (an assertion, a sanitizer's report); run.sh looks at that. The image protects only
 * itself: stores through the TLB stay clear of it, and so do the MSR bits that would
 * take its vectors away. FUZZ_SEED makes each run its own.
 */
#include "image.h"

#ifdef HAS_TGPR
#define FUZZ_IMMR 0xe0000000
#define FUZZ_RESET 0x91c
#define FUZZ_RINGS 0
#else
#define FUZZ_IMMR 0xff000000
#define FUZZ_RESET 0x284
#define FUZZ_RINGS 1
#endif

/* The loader of run.sh writes the seed there, below the image's text. */
#define FUZZ_SEED 0x3ff0

namespace
{

constexpr u32 immr = FUZZ_IMMR;
/* The offset that ends the run when the right bit is written */
constexpr u32 reset_register = FUZZ_RESET;
constexpr bool has_rings = FUZZ_RINGS;
constexpr u32 immr_size = 0x28000;
constexpr u32 dpram = immr + 0x2000;
constexpr u32 sprg0 = 272;

/* Memory that random accesses may have */
constexpr u32 ram = 0x00800000;
constexpr u32 code = ram - 0x1000;

u32 state;

u32 random()
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

void execute(u32 instruction, u32 msr)
{
	io<u32>(code) = instruction;
	io<u32>(code + 4) = 0x44000002; /* sc */
	asm volatile("dcbst 0,%0; sync; icbi 0,%0; isync"
		     :
		     : "r"(code)
		     : "memory");
	probe_jump(code, msr);
}

constexpr u32 spr_field(u32 number)
{
	return (number & 31) << 16 | (number >> 5) << 11;
}

/* Each number, read and written, privileged and not, with different values. */
void fuzz_sprs()
{
	for (u32 number = 0; number < 1024; number++) {
		execute(0x7ca002a6 | spr_field(number), 0);
		execute(0x7ca002a6 | spr_field(number), msr_pr);
		if (number == sprg0)
			continue;
		execute(0x7ca003a6 | spr_field(number), msr_pr);
		/* From r5, r3 and r1: zero, the code's address, the stack's */
		execute(0x7ca003a6 | spr_field(number), 0);
		execute(0x7c6003a6 | spr_field(number), 0);
		execute(0x7c2003a6 | spr_field(number), 0);
	}
}

void fuzz_registers()
{
	for (u32 round = 0; round < 4; round++) {
		for (u32 offset = 0; offset < immr_size; offset++) {
			[[maybe_unused]] u32 value = io<u8>(immr + offset);
			if ((offset & ~3u) == reset_register)
				continue;
			io<u8>(immr + offset) = static_cast<u8>(random());
			if (!(offset & 1)) {
				value = io<u16>(immr + offset);
				io<u16>(immr + offset) =
					static_cast<u16>(random());
			}
			if (!(offset & 3)) {
				value = io<u32>(immr + offset);
				io<u32>(immr + offset) = random();
			}
		}
	}
}

/* The receiver and both transmitters on, with whatever is in the RAM. */
void fuzz_rings()
{
	if (!has_rings)
		return;
	for (u32 round = 0; round < 64; round++) {
		for (u32 offset = 0; offset < 0x2000; offset += 4)
			io<u32>(dpram + offset) = random();
		io<u16>(immr + 0xa82) = static_cast<u16>(random() | 3);
		io<u16>(immr + 0xa92) = static_cast<u16>(random() | 3);
		for (u32 i = 0; i < 64; i++) {
			io<u16>(dpram + (random() & 0x1ffe)) =
				static_cast<u16>(random());
			io<u16>(immr + 0x9c0) =
				static_cast<u16>(random() & 0x7fff);
			io<u32>(immr + 0x930 + (random() & 0x1c)) = random();
		}
	}
	io<u16>(immr + 0xa82) = 0;
	io<u16>(immr + 0xa92) = 0;
}

/* A page of the memory that may be written, or anything for what only reads */
u32 random_page()
{
	return ram | (random() & 0x007fffff);
}

#ifdef HAS_TGPR
void load_tlb(u32 address)
{
	if (!(random() & 15))
		asm volatile("mtsr 4,%0; isync" : : "r"(random() & 0x7fffffff));
	/* Only a miss can set what the entry is compared with. */
	probe_load(address, msr_dr);
	probe_jump(address, msr_ir);
	mtspr<982>(random_page()); /* RPA */
	mtspr<27>(random()); /* SRR1: the way */
	if (random() & 1)
		asm volatile("tlbld %0" : : "r"(address) : "memory");
	else
		asm volatile("tlbli %0" : : "r"(address) : "memory");
}
#else
void load_tlb(u32 address)
{
	mtspr<784>(random()); /* MI_CTR */
	mtspr<792>(random()); /* MD_CTR */
	mtspr<786>(random()); /* MI_AP */
	mtspr<793>(random()); /* M_CASID */
	mtspr<794>(random()); /* MD_AP */
	mtspr<787>(address | (random() & 0xfff)); /* MI_EPN */
	mtspr<795>(address | (random() & 0xfff)); /* MD_EPN */
	mtspr<789>(random()); /* MI_TWC */
	mtspr<797>(random()); /* MD_TWC */
	mtspr<790>(random_page()); /* MI_RPN */
	mtspr<798>(random_page()); /* MD_RPN */
	if (!(random() & 15))
		asm volatile("tlbia" : : : "memory");
}
#endif

void fuzz_mmu()
{
	constexpr u32 modes[] = { msr_dr, msr_dr | msr_pr, msr_dr | msr_ir,
				  msr_dr | msr_ir | msr_pr };

	for (u32 i = 0; i < 20000; i++) {
		u32 address = 0x40000000 | (random() & 0x00ffffff);
		u32 msr = modes[random() & 3];

		if (random() & 1)
			load_tlb(address & ~0xfffu);
		probe_load(address, msr & ~msr_ir);
		probe_store(address, msr & ~msr_ir, random());
		probe_jump(address & ~3u, msr);
		if (!(random() & 7))
			tlbie(address);
	}
}

} /* namespace */

void put_char(char)
{
}

void reset_board()
{
	io<u32>(immr + 0x384) = 0x55ccaa33; /* the key, on an 8xx */
	io<u32>(immr + 0x284) = 0x80;
	[[maybe_unused]] u8 nothing = io<u8>(immr + 0x28c);
	io<u32>(immr + 0x918) = 0x52535445;
	io<u32>(immr + 0x91c) = 2;
	for (;;)
		;
}

void setup()
{
	state = io<u32>(FUZZ_SEED) | 1;
}

const Test tests[] = {
	{ "registers", fuzz_registers },
	{ "rings", fuzz_rings },
	{ "translations", fuzz_mmu },
	/* Last, as it leaves nothing as it was. */
	{ "special purpose registers", fuzz_sprs },
};
const u32 num_tests = sizeof(tests) / sizeof(tests[0]);
