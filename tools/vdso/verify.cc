// SPDX-License-Identifier: GPL-2.0-only
/*
 * vdso-verify: proves the calling convention of a vDSO image as it was built.
 */
#include "disasm.h"
#include "main.h"
#include "verify.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>

namespace
{

using namespace vdso;

void print_violation(const image &img, const violation &v, bool with_path)
{
	fmt::print("{}: {}: {}: {}\n", img.path, v.rule, v.function, v.what);
	if (!with_path)
		return;
	disassembler dis(img);
	for (uint64_t offset : v.path)
		fmt::print("  {:<40} {:5x}  {}\n", img.describe(offset), offset,
			   dis.at(offset).text);
}

std::vector<violation> verify(const image &img)
{
	std::vector<violation> found = verify_elf(img);
	std::vector<violation> more =
		img.arch == machine::x86_64 || img.arch == machine::i386 ?
			verify_x86(img) :
			verify_powerpc(img);

	found.insert(found.end(), more.begin(), more.end());
	return found;
}

int verify_main(int argc, char **argv)
{
	CLI::App app(
		"Proves the calling convention of vDSO images on every path");
	std::vector<std::string> paths;
	bool brief = false;
	size_t bad = 0;

	app.add_option("image", paths, "vdso*.so or vdso*.so.dbg")->required();
	app.add_flag("--brief", brief, "do not list the paths");
	CLI11_PARSE(app, argc, argv);

	for (const auto &path : paths) {
		image img(path);
		auto found = verify(img);

		for (const auto &v : found)
			print_violation(img, v, !brief);
		if (found.empty())
			fmt::print("{}: {} functions verified{}\n", path,
				   callable_functions(img).size(),
				   img.symbols.count(function_without_cfi) ?
					   fmt::format(", no CFI asked of {}",
						       function_without_cfi) :
					   "");
		bad += found.size();
	}
	return bad ? 1 : 0;
}

} // namespace

int main(int argc, char **argv)
{
	return vdso::run_main("vdso-verify", verify_main, argc, argv);
}
