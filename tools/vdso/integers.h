/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Integers that know their byte order.
 *
 * The lab runs on the developer's little-endian host and prepares memory for
 * processes of either byte order. With plain integers each access would need a
 * swap that is easy to forget; with these types a structure is written down
 * once, as a template over a set of types, and read and written by naming its
 * fields. They have no alignment, so a structure made of them has to spell out
 * its padding, as a file format should.
 */
#ifndef VDSO_INTEGERS_H
#define VDSO_INTEGERS_H

#include <bit>
#include <cstdint>
#include <cstring>

namespace vdso
{

template <class T, std::endian order> class ordered_int {
    public:
	ordered_int() = default;
	ordered_int(T value)
	{
		*this = value;
	}
	ordered_int &operator=(T value)
	{
		value = swap(value);
		std::memcpy(bytes, &value, sizeof(value));
		return *this;
	}
	operator T() const
	{
		T value;
		std::memcpy(&value, bytes, sizeof(value));
		return swap(value);
	}

    private:
	static T swap(T value)
	{
		if constexpr (order == std::endian::native)
			return value;
		else if constexpr (sizeof(T) == 8)
			return static_cast<T>(__builtin_bswap64(
				static_cast<uint64_t>(value)));
		else
			return static_cast<T>(__builtin_bswap32(
				static_cast<uint32_t>(value)));
	}

	unsigned char bytes[sizeof(T)] = {};
};

template <std::endian order> struct ordered_ints {
	using u32 = ordered_int<uint32_t, order>;
	using s32 = ordered_int<int32_t, order>;
	using u64 = ordered_int<uint64_t, order>;
	using s64 = ordered_int<int64_t, order>;
};

using big = ordered_ints<std::endian::big>;
using little = ordered_ints<std::endian::little>;

} // namespace vdso

#endif
