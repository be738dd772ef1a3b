// SPDX-License-Identifier: GPL-2.0-only
#include "../datapage.h"
#include "../integers.h"

#include <gtest/gtest.h>

namespace
{

using namespace vdso;

TEST(ordered_int, is_stored_in_its_order)
{
	big::u32 b = 0x01020304;
	little::u32 l = 0x01020304;

	EXPECT_EQ(*reinterpret_cast<unsigned char *>(&b), 1);
	EXPECT_EQ(*reinterpret_cast<unsigned char *>(&l), 4);
	EXPECT_EQ(b, 0x01020304U);
	EXPECT_EQ(l, 0x01020304U);
}

TEST(ordered_int, keeps_the_sign)
{
	big::s64 b = -2;
	little::s32 l = -3;

	EXPECT_EQ(b, -2);
	EXPECT_EQ(l, -3);
}

/* The kernel's layouts, as offsetof() gives them in asm-offsets.h of a 5.10 build. */
TEST(data_page, has_the_kernels_layout)
{
	EXPECT_EQ(offsetof(asm64_data<big>, tb_orig_stamp), 48U);
	EXPECT_EQ(offsetof(asm64_data<big>, tb_update_count), 80U);
	EXPECT_EQ(offsetof(asm64_data<big>, stamp_sec_fraction), 128U);
	EXPECT_EQ(offsetof(asm64_data<big>, wtom_clock_nsec), 132U);
	EXPECT_EQ(offsetof(asm64_data<big>, wtom_clock_sec), 136U);
	EXPECT_EQ(offsetof(asm64_data<big>, hrtimer_res), 160U);
	EXPECT_EQ(offsetof(asm32_data<big>, tb_update_count), 32U);
	EXPECT_EQ(offsetof(asm32_data<big>, stamp_sec_fraction), 60U);
	EXPECT_EQ(sizeof(generic_data<big>), 240U);
	EXPECT_EQ(offsetof(generic_data<big>, basetime), 32U);
}

} // namespace
