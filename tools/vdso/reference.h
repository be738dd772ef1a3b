/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a vDSO call must do, told without any of its code: in 128-bit
 * arithmetic, from the timekeeper's state and not from the page.
 */
#ifndef VDSO_REFERENCE_H
#define VDSO_REFERENCE_H

#include "image.h"
#include "session.h"
#include "timekeeper.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace vdso
{

struct test_case {
	timekeeper tk;
	std::optional<timens_offsets> ns;
	uint64_t counter = 0;
	std::string function;
	int clock = 0;
	bool null_pointer = false; /* no place for the result, or no timeval */
	bool timezone = false;
	job::event event = job::none;
};

nlohmann::json to_json(const test_case &c);
test_case from_json(const nlohmann::json &json);

/* Arguments as @c wants them, with results going to the scratch page. */
std::array<uint64_t, 3> arguments(const test_case &c);

struct expectation {
	bool error = false;
	int64_t value = 0; /* r3 */
	/* The time, for images that are not exact to the last digit. */
	bool is_time = false;
	timespec_pair time = {};
	uint64_t delta_ns = 0; /* of the counter since the last update */
	bool wraps = false; /* beyond the 64 bits that the C code computes in */
	bool coarse_resolution =
		false; /* a tick of whatever HZ the kernel has */
	/* The running kernel's time is right as well, or is what is expected. */
	enum { never, possibly, always } system_call = never;
	std::array<uint64_t, job::out_words> out = {};
};

/* The nanoseconds that a clock is away from its base second. */
uint64_t ns_to_carry(const test_case &c);

/* Nothing if the answer is the running kernel's. */
std::optional<expectation> expect(const test_case &c, const image &img);

/* Where the time that the vDSO stores is in the result, for the same call. */
timespec_pair decode_time(const test_case &c, const image &img,
			  const std::array<uint64_t, job::out_words> &out);

} // namespace vdso

#endif
