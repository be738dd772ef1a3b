/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is known of one machine and variant after its boots; the JSON in
 * build/results/ is this, and the report reads it back.
 */
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ktap.h"

struct TestResult {
	std::string mode;
	std::string name; /* levels separated by '/' */
	Status status = Status::fail;
	std::string reason;
};

/* "clock-gettime-monotonic: vdso: 37 nsec/call" */
struct BenchRow {
	std::string triple;
	std::string api;
	std::string column;
	double nanoseconds = 0;
};

struct Counts {
	size_t passed = 0;
	size_t failed = 0;
	size_t skipped = 0;
};

struct MachineResult {
	std::string machine;
	std::string variant;
	std::string kernel; /* what it says of itself */
	double seconds = 0;
	/* What went wrong besides the tests. */
	std::vector<std::string> problems;
	std::vector<TestResult> tests;
	std::vector<BenchRow> bench;

	Counts counts() const;
	bool good() const;
	/* Takes over the tests and the timings of one boot. */
	void add(const std::string &mode, const KtapTest &root);
};

void save_result(const MachineResult &result,
		 const std::filesystem::path &file);
MachineResult load_result(const std::filesystem::path &file);
