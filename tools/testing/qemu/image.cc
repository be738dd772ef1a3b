// SPDX-License-Identifier: GPL-2.0-only
/*
 * The frame of a bare-metal test image: runs the tests one after the other and
 * reports them as KTAP on the console, then resets the board, which ends QEMU.
 */
#include "image.h"

volatile Last last;

namespace
{

bool failed;

void print(const char *text)
{
	while (*text)
		put_char(*text++);
}

void print_hex(u32 value)
{
	print("0x");
	for (int shift = 28; shift >= 0; shift -= 4)
		put_char("0123456789abcdef"[(value >> shift) & 15]);
}

void print_number(u32 value)
{
	if (value >= 10)
		print_number(value / 10);
	put_char(static_cast<char>('0' + value % 10));
}

} /* namespace */

void expect(u32 got, u32 wanted, const char *what, int line)
{
	if (got == wanted)
		return;
	failed = true;
	print("# line ");
	print_number(static_cast<u32>(line));
	print(": ");
	print(what);
	print(" is ");
	print_hex(got);
	print(", not ");
	print_hex(wanted);
	print("\n");
}

/* Comes from the handler, on the stack of whatever went wrong. */
extern "C" void stray_exception()
{
	print("Bail out! exception ");
	print_hex(last.vector);
	print(" at ");
	print_hex(last.srr0);
	print(" outside of a probe\n");
	reset_board();
}

extern "C" void run_tests()
{
	print("KTAP version 1\n1..");
	print_number(num_tests);
	print("\n");
	for (u32 i = 0; i < num_tests; i++) {
		failed = false;
		setup();
		tests[i].run();
		print(failed ? "not ok " : "ok ");
		print_number(i + 1);
		print(" ");
		print(tests[i].name);
		print("\n");
	}
	reset_board();
}
