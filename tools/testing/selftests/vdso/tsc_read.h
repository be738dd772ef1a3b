/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How an x86 vDSO reads the TSC, told from its code: ordered behind the loads
 * before it, by LFENCE or as RDTSCP, or plain.
 */
#ifndef VDSO_TEST_TSC_READ_H
#define VDSO_TEST_TSC_READ_H

#include <span>

namespace tsc_read
{

enum class Kind { none, plain, ordered, mixed };

constexpr const char *name(Kind kind)
{
	switch (kind) {
	case Kind::none:
		return "no read of the TSC";
	case Kind::plain:
		return "plain";
	case Kind::ordered:
		return "ordered";
	case Kind::mixed:
		break;
	}
	return "some ordered and some plain";
}

/* In @code, which must not include the replacements of alternatives. */
Kind find(std::span<const unsigned char> code);

/*
 * In the .text of an image in memory with its section headers, which the
 * kernel maps with it; none when they are not there.
 */
Kind in_image(const unsigned char *image, std::size_t size);

} // namespace tsc_read

#endif /* VDSO_TEST_TSC_READ_H */
