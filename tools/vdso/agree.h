/* SPDX-License-Identifier: GPL-2.0-only */
/* vdso-lab agree: does a guest take as long as the counted instructions say? */
#ifndef VDSO_AGREE_H
#define VDSO_AGREE_H

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace vdso
{

/* An image of the bench, and a machine whose kernel has it. */
struct agree_pair {
	std::string image; /* its name in the bench's table */
	double step; /* nanoseconds for each instruction in the guest */
	std::string base, patched; /* results of the guest, JSON */
};

/* "IMAGE:STEP:BASE:PATCHED" */
agree_pair parse_agree(const std::string &text);

/* What a loop adds to one call, in instructions. */
struct overhead {
	unsigned rows = 0;
	double least = 0, most = 0;

	void add(double instructions);
	/* The loop is the same for each call but for an argument more or less. */
	bool steady() const
	{
		return rows > 2 && most - least <= 3;
	}
};

/*
 * The time that @result, a guest's, has for each row of @rows, in steps of @step,
 * less the row's instructions of @column. Rows that one of both does not have, or
 * that are a system call, say nothing.
 */
overhead overhead_of(const nlohmann::json &rows, const std::string &column,
		     bool is64, const nlohmann::json &result, double step);

/* Prints a line for each pair and kernel; returns how many do not agree. */
unsigned agree(const nlohmann::json &counts,
	       const std::vector<agree_pair> &pairs);

} // namespace vdso

#endif
