/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the bare-metal test images share: the probes of start.S, special purpose
 * registers, and KTAP on the console.
 */
#pragma once

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;

constexpr u32 msr_ee = 0x8000;
constexpr u32 msr_pr = 0x4000;
constexpr u32 msr_fp = 0x2000;
constexpr u32 msr_ir = 0x0020;
constexpr u32 msr_dr = 0x0010;
constexpr u32 msr_ri = 0x0002;
constexpr u32 msr_le = 0x0001;

/* The vectors that mean the same on both CPUs. */
constexpr u32 vec_external = 0x500;
constexpr u32 vec_program = 0x700;
constexpr u32 vec_decrementer = 0x900;
constexpr u32 vec_syscall = 0xc00;

/* The exception that ended the last probe; start.S knows the order. */
struct Last {
	u32 vector;
	u32 srr0;
	u32 srr1;
	u32 dar;
	u32 dsisr;
	u32 msr;
};

extern "C" {
extern volatile Last last;
u32 probe_load(u32 address, u32 msr);
void probe_store(u32 address, u32 msr, u32 value);
u32 probe_jump(u32 address, u32 msr);
void probe_illegal(u32 unused, u32 msr);
void probe_float(u32 unused, u32 msr);
void probe_mffs(u32 unused, u32 msr);
void probe_trap(u32 unused, u32 msr);
void probe_privileged(u32 unused, u32 msr);
void probe_syscall(u32 unused, u32 msr);
void probe_wait(u32 unused, u32 msr);
}

template <u32 number> u32 mfspr()
{
	u32 value;
	asm volatile("mfspr %0, %1" : "=r"(value) : "i"(number));
	return value;
}

template <u32 number> void mtspr(u32 value)
{
	asm volatile("mtspr %1, %0" : : "r"(value), "i"(number) : "memory");
}

inline u32 mfmsr()
{
	u32 value;
	asm volatile("mfmsr %0" : "=r"(value));
	return value;
}

inline void tlbie(u32 address)
{
	asm volatile("tlbie %0" : : "r"(address) : "memory");
}

inline void set_decrementer(u32 value)
{
	asm volatile("mtdec %0" : : "r"(value));
}

inline u32 timebase()
{
	u32 value;
	asm volatile("mftb %0" : "=r"(value));
	return value;
}

template <typename T> volatile T &io(u32 address)
{
	return *reinterpret_cast<volatile T *>(address);
}

/* Each image has a board: its console, and its end. */
void put_char(char c);
[[noreturn]] void reset_board();

struct Test {
	const char *name;
	void (*run)();
};

/* Complains on the console, and fails the running test. */
void expect(u32 got, u32 wanted, const char *what, int line);
#define EXPECT(got, wanted) expect(got, wanted, #got, __LINE__)

extern const Test tests[];
extern const u32 num_tests;
/* What every test starts from. */
void setup();
