/* SPDX-License-Identifier: GPL-2.0-only */
/* vdso-lab agree: does a guest take as long as the counted instructions say? */
#ifndef VDSO_AGREE_H
#define VDSO_AGREE_H

#include "session.h"

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace vdso
{

/* An image of a kernel, and what a guest measured on that kernel. */
struct agree_pair {
	std::string image;
	double step; /* nanoseconds for each instruction in the guest */
	std::string result; /* of the guest, JSON */
};

/* "IMAGE:STEP:RESULT" */
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

/* Instructions by vdsotest's name; several where the last update matters. */
using named_counts = std::map<std::string, std::vector<double> >;

/*
 * The time that @result, a guest's, has for each call of 32- or 64-bit programs, in
 * steps of @step, less its instructions. Calls that one of both does not have say
 * nothing.
 */
overhead overhead_of(named_counts counts, bool is64,
		     const nlohmann::json &result, double step);

/* Prints a line for each pair; returns how many do not agree. */
unsigned agree(const environment &env, const std::vector<agree_pair> &pairs);

} // namespace vdso

#endif
