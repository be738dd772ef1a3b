// SPDX-License-Identifier: GPL-2.0-only
/*
 * vdso-native: the lab's part that needs no emulator, x86 images on the CPU at
 * hand.
 */
#include "native_bench.h"
#include "native_check.h"
#include "image.h"
#include "main.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

namespace
{

void write_json(const std::string &path, const nlohmann::json &json)
{
	std::ofstream out(path + ".new");

	out << json.dump(1, '\t') << "\n";
	out.close();
	if (!out)
		throw vdso::user_error{ fmt::format("{}: cannot be written",
						    path) };
	std::filesystem::rename(path + ".new", path);
}

int native_main(int argc, char **argv)
{
	CLI::App app(
		"x86 vDSO images on this CPU, beside pages of the lab's own");
	vdso::native_bench_options bench;
	vdso::native_check_options check;
	std::string json;

	app.require_subcommand(1);
	auto *bench_cmd = app.add_subcommand(
		"bench", "base and patched: what is gained, what is lost");
	bench_cmd->add_option("base", bench.base, "vdso64.so.dbg")->required();
	bench_cmd->add_option("patched", bench.patched, "vdso64.so.dbg")
		->required();
	bench_cmd->add_option("--calls", bench.calls, "of each image")
		->check(CLI::Range(uint64_t(1000), uint64_t(100000000000)));
	bench_cmd->add_option("--seconds", bench.seconds,
			      "for each litmus loop");
	bench_cmd->add_option("--json", json, "write the figures to this file");

	auto *check_cmd = app.add_subcommand(
		"check", "torture, steps and ordering, as KTAP");
	check_cmd
		->add_option("image", check.images,
			     "vdso64.so.dbg or vdsox32.so.dbg")
		->required();
	check_cmd->add_option("--seconds", check.seconds, "for each case");
	check_cmd
		->add_option("--expect", check.expect,
			     "judge the order as if the read were this")
		->check(CLI::IsMember({ "ordered", "plain" }));
	check_cmd->add_flag(
		"--broken-writer", check.broken_writer,
		"leave the sequence counters alone: this must fail");

	CLI11_PARSE(app, argc, argv);
	if (check_cmd->parsed())
		return vdso::native_check(check);
	nlohmann::json result = vdso::native_bench(bench);
	if (!json.empty())
		write_json(json, result);
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	return vdso::run_main("vdso-native", native_main, argc, argv);
}
