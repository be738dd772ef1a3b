/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A command line in words, as a shell would split it: blanks separate, quotes
 * and backslashes protect. There is no shell in the guest, so what only a
 * shell can do is refused in one clear line instead of being handed on as an
 * argument.
 */
#pragma once

#include <string>
#include <string_view>
#include <vector>

std::vector<std::string> split_command(std::string_view text);
