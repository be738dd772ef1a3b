// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every rule of the verifier against an image that breaks it and no other.
 * The images are made from broken-*.S; the first part of a file's name is the
 * rule that must be reported.
 */
#include "../verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace
{

using namespace vdso;

std::vector<std::filesystem::path> images()
{
	std::vector<std::filesystem::path> found;

	const char *dir = std::getenv("BROKEN_IMAGES");
	for (const auto &entry :
	     std::filesystem::directory_iterator(dir ? dir : "."))
		if (entry.path().extension() == ".so")
			found.push_back(entry.path());
	std::sort(found.begin(), found.end());
	return found;
}

bool is_x86(const image &img)
{
	return img.arch == machine::x86_64 || img.arch == machine::i386;
}

class broken : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(broken, is_reported_for_its_rule)
{
	std::string name = GetParam().stem(); /* <arch>-<rule>_<how> */
	std::string rule = name.substr(name.find('-') + 1);
	rule = rule.substr(0, rule.find('_'));
	image img(GetParam());
	auto found = verify_elf(img);
	auto more = is_x86(img) ? verify_x86(img) : verify_powerpc(img);
	found.insert(found.end(), more.begin(), more.end());

	if (rule == "good") {
		for (const auto &v : found)
			ADD_FAILURE() << v.rule << ": " << v.what;
		return;
	}
	bool reported = false;
	for (const auto &v : found)
		reported |= v.rule == rule;
	EXPECT_TRUE(reported);
	for (const auto &v : found)
		/* an undefined symbol cannot be without a relocation */
		EXPECT_TRUE(v.rule == rule ||
			    (rule == "undefined" && v.rule == "relocation"))
			<< v.rule << ": " << v.what;
}

TEST_P(broken, has_a_path)
{
	image img(GetParam());

	if (is_x86(img))
		return;
	for (const auto &v : verify_powerpc(img)) {
		ASSERT_FALSE(v.path.empty());
		EXPECT_EQ(v.path.front(), *img.find(v.function));
	}
}

INSTANTIATE_TEST_SUITE_P(images, broken, testing::ValuesIn(images()),
			 [](const auto &info) {
				 std::string name = info.param.stem();

				 std::replace(name.begin(), name.end(), '-',
					      '_');
				 return name;
			 });

} // namespace
