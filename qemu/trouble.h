/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is this line of a kernel log trouble? The kernel goes on after a WARNING
 * and tests may well pass after it, so only the log tells.
 */
#pragma once

#include <string_view>

bool is_trouble(std::string_view line);
/* The kernel will not go on after this line. */
bool is_fatal(std::string_view line);
