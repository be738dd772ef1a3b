// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of "make qemu-test": what passed and failed on each machine, and a
 * table that sets the assembly vDSO against the C vDSO, with the seed's own
 * pair of figures beside it.
 *
 * It only reads: results from build/results/, figures of the seed from
 * qemu/seed/. Its exit status is the verdict of the whole run.
 */
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "machine.h"
#include "result.h"

namespace
{

namespace fs = std::filesystem;

constexpr int status_failed = 1;
constexpr int status_usage = 2;

/* The nanoseconds of one row before and after; either may be missing. */
struct Pair {
	std::optional<double> assembly;
	std::optional<double> c;
};

using Rows = std::map<std::string, Pair>;

struct SeedTable {
	std::string cpu;
	Rows rows;
};

struct Arguments {
	fs::path machines;
	fs::path seeds;
	fs::path results;
	std::vector<std::string> names;
};

std::optional<double> number(const nlohmann::json &value)
{
	if (value.is_null())
		return std::nullopt;
	return value.get<double>();
}

SeedTable load_seed(const fs::path &file)
{
	std::ifstream stream(file);
	SeedTable table;

	try {
		auto json = nlohmann::json::parse(stream);
		table.cpu = json.at("cpu");
		for (const auto &[api, pair] : json.at("rows").items())
			table.rows[api] = { number(pair.at(0)),
					    number(pair.at(1)) };
	} catch (const nlohmann::json::exception &error) {
		throw UserError(
			fmt::format("{}: {}", file.string(), error.what()));
	}
	return table;
}

std::string cells(const Pair &pair)
{
	auto cell = [](const std::optional<double> &value) {
		return value ? fmt::format("{:9.0f}", *value) :
			       fmt::format("{:>9}", "-");
	};
	std::string ratio = "      -";

	if (pair.assembly && pair.c && *pair.assembly > 0)
		ratio = fmt::format("{:7.2f}", *pair.c / *pair.assembly);
	return cell(pair.assembly) + cell(pair.c) + ratio;
}

class Report {
    public:
	explicit Report(const Arguments &arguments) : arguments_(arguments)
	{
		for (const auto &name : arguments_.names)
			for (const char *variant : { "base", "patched" })
				load(name, variant);
	}

	void print_tables() const
	{
		for (const auto &name : arguments_.names) {
			Machine machine(arguments_.machines / name);
			auto triples = machine.words("TRIPLES");
			auto seeds = machine.words("SEED");
			seeds.resize(triples.size(), "-");
			for (size_t i = 0; i < triples.size(); i++)
				print_table(machine, triples[i], seeds[i]);
		}
	}

	bool print_summary() const
	{
		Counts total;
		bool good = !results_.empty();

		fmt::print("\n");
		for (const auto &result : results_) {
			Counts counts = result.counts();
			total.passed += counts.passed;
			total.failed += counts.failed;
			total.skipped += counts.skipped;
			good = good && result.good();
			print_result(result, counts);
		}
		fmt::print("{} passed, {} failed, {} skipped{}\n", total.passed,
			   total.failed, total.skipped,
			   good || total.failed ? "" : ", but see above");
		return good;
	}

    private:
	void load(const std::string &name, const std::string &variant)
	{
		fs::path file = arguments_.results /
				fmt::format("{}-{}.json", name, variant);

		if (fs::exists(file))
			results_.push_back(load_result(file));
	}

	void print_result(const MachineResult &result,
			  const Counts &counts) const
	{
		fmt::print(
			"{:<15} {:<8} {:>4} passed {:>3} failed {:>3} skipped\n",
			result.machine, result.variant, counts.passed,
			counts.failed, counts.skipped);
		for (const auto &problem : result.problems)
			fmt::print("    {}\n", problem);
		for (const auto &test : result.tests)
			if (test.status == Status::fail)
				fmt::print("    failed: {} {}\n", test.name,
					   test.reason);
		if (!result.good())
			fmt::print("    see {}\n",
				   (arguments_.results /
				    fmt::format("{}-{}.log", result.machine,
						result.variant))
					   .string());
	}

	/* In the order in which the benchmark prints its rows. */
	std::vector<std::string> collect(const std::string &name,
					 const std::string &triple,
					 Rows &rows) const
	{
		std::vector<std::string> order;

		for (const auto &result : results_)
			for (const auto &row : result.bench) {
				if (result.machine != name ||
				    row.triple != triple ||
				    row.column != "vdso")
					continue;
				if (!rows.contains(row.api))
					order.push_back(row.api);
				Pair &pair = rows[row.api];
				(result.variant == "base" ? pair.assembly :
							    pair.c) =
					row.nanoseconds;
			}
		return order;
	}

	void print_table(const Machine &machine, const std::string &triple,
			 const std::string &seed_name) const
	{
		Rows rows;
		SeedTable seed;
		auto order = collect(machine.name(), triple, rows);

		if (order.empty())
			return;
		if (seed_name != "-")
			seed = load_seed(arguments_.seeds /
					 (seed_name + ".json"));
		fmt::print("\n{}, {}: nsec/call under -icount {}\n",
			   machine.name(), triple, machine.get("ICOUNT"));
		bool from_assembly = machine.get("ARCH") == "powerpc";
		fmt::print("{:<32}{:>9}{:>9}{:>7}", "",
			   from_assembly ? "assembly" : "base",
			   from_assembly ? "C" : "patched", "ratio");
		if (!seed.cpu.empty())
			fmt::print("  |{:>9}{:>9}{:>7}  {}", "assembly", "C",
				   "ratio", seed.cpu);
		fmt::print("\n");
		for (const auto &api : order) {
			fmt::print("{:<32}{}", api, cells(rows[api]));
			if (auto found = seed.rows.find(api);
			    found != seed.rows.end())
				fmt::print("  |{}", cells(found->second));
			fmt::print("\n");
		}
	}

	const Arguments &arguments_;
	std::vector<MachineResult> results_;
};

int run(int argc, char **argv)
{
	Arguments arguments;
	CLI::App app("prints the summary and the table of qemu-test");

	app.add_option("--machines", arguments.machines, "qemu/machines")
		->required();
	app.add_option("--seeds", arguments.seeds, "qemu/seed")->required();
	app.add_option("--results", arguments.results, "build/results")
		->required();
	app.add_option("machine", arguments.names, "which to report")
		->required();
	CLI11_PARSE(app, argc, argv);

	Report report(arguments);
	report.print_tables();
	return report.print_summary() ? 0 : status_failed;
}

} /* namespace */

int main(int argc, char **argv)
{
	try {
		return run(argc, argv);
	} catch (const std::exception &error) {
		fprintf(stderr, "report: %s\n", error.what());
		return status_usage;
	}
}
