// SPDX-License-Identifier: GPL-2.0-only
/* The decoder of effects against words that were taken from objdump. */
#include "../ppc_insn.h"

#include <gtest/gtest.h>

namespace
{

using namespace vdso;

TEST(ppc_decode, stdu_updates_the_stack_pointer)
{
	ppc_insn i = ppc_decode(0xf821ff91, true); /* stdu r1,-112(r1) */

	EXPECT_EQ(i.op, ppc_op::store);
	EXPECT_TRUE(i.update);
	EXPECT_EQ(i.ra, 1);
	EXPECT_EQ(i.imm, -112);
	EXPECT_EQ(i.size, 8U);
}

TEST(ppc_decode, no_64_bit_memory_access_in_32_bit_code)
{
	EXPECT_NE(ppc_decode(0xf821ff91, false).op, ppc_op::store);
}

TEST(ppc_decode, crclr_so)
{
	ppc_insn i = ppc_decode(0x4c631982, false); /* crclr so */

	EXPECT_EQ(i.op, ppc_op::cr_logic);
	EXPECT_EQ(i.bit, 3U);
	EXPECT_EQ(i.bit_value, ppc_insn::clear);
}

TEST(ppc_decode, crset_is_not_clear)
{
	EXPECT_EQ(ppc_decode(0x4c631a42, false).bit_value, ppc_insn::set);
}

TEST(ppc_decode, branch_always_with_link_is_not_conditional)
{
	ppc_insn i = ppc_decode(0x429f0005, false); /* bcl 20,31,.+4 */

	EXPECT_EQ(i.op, ppc_op::branch);
	EXPECT_TRUE(i.link);
	EXPECT_FALSE(i.conditional);
	EXPECT_EQ(i.imm, 4);
}

TEST(ppc_decode, beqlr)
{
	ppc_insn i = ppc_decode(0x4d820020, false);

	EXPECT_EQ(i.op, ppc_op::branch_lr);
	EXPECT_TRUE(i.conditional);
	EXPECT_TRUE(i.on_equal);
	EXPECT_EQ(i.field, 0U);
}

TEST(ppc_decode, backward_branch)
{
	EXPECT_EQ(ppc_decode(0x4bfffff0, false).imm, -16); /* b .-16 */
}

TEST(ppc_decode, record_form_writes_cr0)
{
	EXPECT_TRUE(ppc_decode(0x7c6a1b79, false).record); /* mr. r10,r3 */
	EXPECT_FALSE(ppc_decode(0x7c6a1b78, false).record);
	EXPECT_TRUE(ppc_decode(0x71000001, false).record); /* andi. r0,r8,1 */
}

TEST(ppc_decode, move_and_zero)
{
	EXPECT_EQ(ppc_decode(0x7c6a1b78, false).op, ppc_op::move);
	EXPECT_EQ(ppc_decode(0x7d084278, false).op,
		  ppc_op::zero); /* xor r8,r8,r8 */
}

TEST(ppc_decode, floating_point_is_seen)
{
	EXPECT_EQ(ppc_decode(0xc8090010, true).op,
		  ppc_op::vector); /* lfd f0,16(r9) */
}

TEST(ppc_decode, maddld_is_no_vector_instruction)
{
	ppc_insn i = ppc_decode(0x10ebff73, true);

	EXPECT_EQ(i.op, ppc_op::plain);
	EXPECT_EQ(i.dest, 7);
}

TEST(ppc_decode, unknown_words_are_unknown)
{
	EXPECT_EQ(ppc_decode(0, true).op, ppc_op::unknown);
	EXPECT_EQ(ppc_decode(0x7c0007ac, true).op,
		  ppc_op::nothing); /* icbi 0,r0 */
	EXPECT_EQ(ppc_decode(0x7fe00008, true).op, ppc_op::unknown); /* trap */
}

} // namespace
