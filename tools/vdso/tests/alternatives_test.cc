// SPDX-License-Identifier: GPL-2.0-only
/* Alternatives against bytes that were put together by hand. */
#include "../alternatives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace
{

using namespace vdso;

using bytes = std::vector<unsigned char>;

constexpr const char *header =
	"#define X86_FEATURE_FPU\t\t( 0*32+ 0) /* Onboard FPU */\n"
	"#define X86_FEATURE_XMM2\t\t( 0*32+26) /* \"sse2\" */\n"
	"#define X86_FEATURE_RDTSCP\t\t( 1*32+27) /* RDTSCP */\n"
	"#define X86_FEATURE_LFENCE_RDTSC\t( 3*32+18) /* \"\" LFENCE ... */\n"
	"#define X86_FEATURE_ALWAYS\t\t( 3*32+21) /* \"\" */\n"
	"/* free\t\t\t\t( 3*32+29) */\n"
	"#define X86_BUG_F00F\t\tX86_BUG(0)\n";

constexpr unsigned rdtscp = 59, lfence_rdtsc = 114, always = 117, sse2 = 26;

/* 16 bytes: rdtsc and room behind it; rdtscp at 16, lfence; rdtsc at 20 */
bytes code()
{
	bytes b(64, 0xcc);
	const bytes rdtsc = { 0x0f, 0x31, 0x90, 0x90, 0x90, 0xc3 };
	const bytes replacements = { 0x0f, 0x01, 0xf9, 0xcc, 0x0f,
				     0xae, 0xe8, 0x0f, 0x31 };

	std::ranges::copy(rdtsc, b.begin());
	std::ranges::copy(replacements, b.begin() + 16);
	return b;
}

void put(bytes &b, size_t at, uint64_t value, unsigned size)
{
	memcpy(&b.at(at), &value, size);
}

/* An entry of 5.10's form at @at. */
void put_entry(bytes &b, size_t at, const alternative &a)
{
	put(b, at, a.at - at, 4);
	put(b, at + 4, a.replacement - at - 4, 4);
	put(b, at + 8, a.feature | (a.if_absent ? 0x8000U : 0), 2);
	b.at(at + 10) = a.length;
	b.at(at + 11) = a.new_length;
}

const std::vector<alternative> read_table = {
	{ 0, 20, lfence_rdtsc, false, 5, 5 },
	{ 0, 16, rdtscp, false, 5, 3 },
};

bytes applied(const features &present)
{
	bytes b = code();

	apply_alternatives(b, read_table, present);
	b.resize(6);
	return b;
}

TEST(alternatives, nothing_present_leaves_the_code_and_lengthens_the_padding)
{
	EXPECT_EQ(applied({}), (bytes{ 0x0f, 0x31, 0x0f, 0x1f, 0x00, 0xc3 }));
}

TEST(alternatives, one_present)
{
	EXPECT_EQ(applied({ lfence_rdtsc }),
		  (bytes{ 0x0f, 0xae, 0xe8, 0x0f, 0x31, 0xc3 }));
}

TEST(alternatives, the_later_one_counts)
{
	EXPECT_EQ(applied({ lfence_rdtsc, rdtscp }),
		  (bytes{ 0x0f, 0x01, 0xf9, 0x66, 0x90, 0xc3 }));
}

TEST(alternatives, absent_feature)
{
	bytes b = code();

	apply_alternatives(b, { { 0, 16, rdtscp, true, 5, 3 } }, { rdtscp });
	EXPECT_EQ(b[1], 0x31);
	apply_alternatives(b, { { 0, 16, rdtscp, true, 5, 3 } }, {});
	EXPECT_EQ(b[1], 0x01);
}

TEST(alternatives, a_jump_goes_where_it_went)
{
	bytes b = code();

	b[16] = 0xe9;
	b[17] = 3; /* from 21 to 24 */
	b[18] = b[19] = b[20] = 0;
	apply_alternatives(b, { { 2, 16, rdtscp, false, 5, 5 } }, { rdtscp });
	EXPECT_EQ(b[2], 0xe9);
	EXPECT_EQ(b[3], 24 - 7);
	EXPECT_EQ(b[4] | b[5] | b[6], 0);
}

TEST(alternatives, a_jump_among_other_instructions_is_refused)
{
	bytes b = code();

	b[16] = 0xeb;
	EXPECT_THROW(apply_alternatives(b, { { 0, 16, rdtscp, false, 5, 5 } },
					{ rdtscp }),
		     user_error);
}

TEST(parse_alternatives, form_of_5_10)
{
	bytes b = code();

	put_entry(b, 32, read_table[0]);
	put_entry(b, 44, { 0, 16, rdtscp, true, 5, 3 });
	auto table = parse_alternatives(b, 32, 24);
	ASSERT_EQ(table.size(), 2U);
	EXPECT_EQ(table[0], read_table[0]);
	EXPECT_TRUE(table[1].if_absent);
	EXPECT_EQ(table[1].feature, rdtscp);
}

TEST(parse_alternatives, form_with_flags_of_their_own)
{
	bytes b = code();

	put(b, 32, uint64_t(-32), 4);
	put(b, 36, uint64_t(20 - 36), 4);
	put(b, 40, lfence_rdtsc, 2);
	put(b, 42, 1, 2);
	b[44] = b[45] = 5;
	auto table = parse_alternatives(b, 32, 14);
	ASSERT_EQ(table.size(), 1U);
	EXPECT_EQ(table[0], (alternative{ 0, 20, lfence_rdtsc, true, 5, 5 }));
}

TEST(parse_alternatives, outside_of_the_image_is_refused)
{
	bytes b = code();

	put_entry(b, 32, { 1000, 16, rdtscp, false, 5, 3 });
	EXPECT_THROW(parse_alternatives(b, 32, 12), user_error);
	EXPECT_THROW(parse_alternatives(b, 32, 11), user_error);
	EXPECT_THROW(parse_alternatives(b, 60, 12), user_error);
}

TEST(feature_table, numbers_and_names)
{
	feature_table table(header);

	EXPECT_EQ(table.number("RDTSCP"), rdtscp);
	EXPECT_EQ(table.name(lfence_rdtsc), "LFENCE_RDTSC");
	EXPECT_EQ(table.name(7), "7");
	EXPECT_FALSE(table.has("F00F"));
	EXPECT_THROW(table.number("NO_SUCH"), user_error);
	EXPECT_THROW(feature_table("nothing"), user_error);
}

TEST(feature_table, what_cpuinfo_shows_and_what_it_does_not)
{
	feature_table table(header);
	auto found = table.of_cpu("processor\t: 0\n"
				  "vendor_id\t: GenuineIntel\n"
				  "flags\t\t: fpu sse2 lfence_rdtsc_not\n"
				  "vmx flags\t: rdtscp\n");

	EXPECT_EQ(found, (features{ 0, sse2, lfence_rdtsc, always }));
	EXPECT_EQ(table.of_cpu("vendor_id : Other\nflags : sse2 rdtscp\n"),
		  (features{ sse2, rdtscp, always }));
}

TEST(long_padding, is_filled_with_long_nops)
{
	bytes b(32, 0x90);

	b[0] = 0xc3;
	apply_alternatives(b, { { 0, 20, rdtscp, false, 12, 1 } }, {});
	EXPECT_EQ(b[1], 0x0f); /* of eight */
	EXPECT_EQ(b[9], 0x0f); /* of three */
	EXPECT_EQ(b[11], 0x00);
	EXPECT_EQ(b[12], 0x90);
}

} // namespace
