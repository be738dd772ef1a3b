// SPDX-License-Identifier: GPL-2.0-only
/*
 * vdso-lab: vDSO images in a plain process.
 *
 * To know how fast a vDSO is one usually boots a kernel on a board and times a
 * loop. To change it an instruction at a time one wants the exact path of one
 * call, in a second, for an architecture that is not at hand. The lab maps the
 * image beside data pages that it fills itself and calls it under qemu-user.
 */
#include "agree.h"
#include "bench.h"
#include "count.h"
#include "diff.h"
#include "image.h"
#include "main.h"
#include "torture.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace
{

using namespace vdso;

struct count_options {
	std::vector<std::string> images;
	std::string trace, json;
};

void write_json(const std::string &path, const nlohmann::json &json)
{
	std::ofstream out(path + ".new");

	out << json.dump(1, '\t') << "\n";
	out.close();
	if (!out)
		throw user_error{ fmt::format("{}: cannot be written", path) };
	std::filesystem::rename(path + ".new", path);
}

int run_count(const environment &env, const count_options &opt)
{
	std::vector<std::vector<std::optional<row_count> > > counts;
	nlohmann::json json = nlohmann::json::array();

	for (const auto &path : opt.images) {
		image img(path);

		counts.push_back(count(env, img));
		json.push_back({ { "image", path },
				 { "rows", to_json(counts.back()) } });
		if (opt.trace.empty())
			continue;
		unsigned found = 0;
		for (const auto &c : counts.back())
			if (c && c->row.find(opt.trace) != std::string::npos) {
				print_trace(img, *c);
				found++;
			}
		if (!found)
			throw user_error{ fmt::format(
				"{}: no row with \"{}\" in its name", path,
				opt.trace) };
	}
	if (opt.trace.empty())
		print_table(opt.images, counts);
	if (!opt.json.empty())
		write_json(opt.json, json);
	return 0;
}

struct bench_options {
	std::vector<std::string> pairs;
	std::string upstream, json;
	bool strict = false;
};

int run_bench(const environment &env, const bench_options &opt)
{
	std::vector<pair_of_images> pairs;

	for (const auto &text : opt.pairs)
		pairs.push_back(parse_pair(text));
	std::vector<unsigned char> upstream = read_file(opt.upstream);
	bench_result result =
		bench(env, pairs, nlohmann::json::parse(upstream));
	if (!opt.json.empty())
		write_json(opt.json, result.json);
	return opt.strict && result.missed ? 1 : 0;
}

int run_agree(const environment &env, const std::vector<std::string> &texts)
{
	std::vector<agree_pair> pairs;

	pairs.reserve(texts.size());
	for (const auto &text : texts)
		pairs.push_back(parse_agree(text));
	return agree(env, pairs) ? 1 : 0;
}

std::string own_directory()
{
	return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

int lab_main(int argc, char **argv)
{
	CLI::App app(
		"vDSO images in a plain process: exact counts, differences, torture");
	environment env;
	count_options count_opt;

	env.guest_dir = own_directory();
	app.add_option("--guest-dir", env.guest_dir,
		       "where the guest programs are");
	app.add_option("--cpu", env.cpu, "qemu's -cpu");
	app.require_subcommand(1);

	auto *count_cmd =
		app.add_subcommand("count", "exact instructions per call");
	count_cmd
		->add_option("image", count_opt.images,
			     "vdso*.so or vdso*.so.dbg")
		->required();
	count_cmd->add_option(
		"--trace", count_opt.trace,
		"list the path of the rows whose name contains this");
	count_cmd->add_option("--json", count_opt.json,
			      "write the counts to this file");

	bench_options bench_opt;
	auto *bench_cmd = app.add_subcommand(
		"bench", "assembly against C, with the goals");
	bench_cmd
		->add_option("images", bench_opt.pairs,
			     "NAME:BASE:PATCHED[:SEED[:PEER]]")
		->required();
	bench_cmd->add_option("--upstream", bench_opt.upstream, "upstream.json")
		->required();
	bench_cmd->add_option("--json", bench_opt.json,
			      "write the table to this file");
	bench_cmd->add_flag("--strict", bench_opt.strict,
			    "fail if a goal is not met");

	diff_options diff_opt;
	auto *diff_cmd = app.add_subcommand(
		"diff", "images against a reference, random pages");
	diff_cmd->add_option("image", diff_opt.images,
			     "vdso*.so or vdso*.so.dbg")
		->required();
	diff_cmd->add_option("--cases", diff_opt.cases, "how many");
	diff_cmd->add_option("--seed", diff_opt.seed, "of the random numbers");
	diff_cmd->add_option("--replay", diff_opt.replay,
			     "the one case in this file");

	std::vector<std::string> agree_pairs;
	auto *agree_cmd = app.add_subcommand(
		"agree", "a kernel's image against the times of its guest");
	agree_cmd->add_option("pairs", agree_pairs, "IMAGE:STEP:RESULT")
		->required();

	torture_options torture_opt;
	auto *torture_cmd = app.add_subcommand(
		"torture", "read a page that is being rewritten");
	torture_cmd
		->add_option("image", torture_opt.images,
			     "vdso*.so or vdso*.so.dbg")
		->required();
	torture_cmd->add_option("--seconds", torture_opt.seconds,
				"for all images together");
	torture_cmd->add_flag(
		"--broken-writer", torture_opt.broken_writer,
		"leave the sequence counter alone: this has to fail");

	CLI11_PARSE(app, argc, argv);
	if (torture_cmd->parsed())
		return torture(env, torture_opt) ? 1 : 0;
	if (diff_cmd->parsed())
		return diff(env, diff_opt) ? 1 : 0;
	if (agree_cmd->parsed())
		return run_agree(env, agree_pairs);
	if (bench_cmd->parsed())
		return run_bench(env, bench_opt);
	return run_count(env, count_opt);
}

} // namespace

int main(int argc, char **argv)
{
	return vdso::run_main("vdso-lab", lab_main, argc, argv);
}
