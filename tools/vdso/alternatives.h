/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The alternatives of an x86 image, applied as the kernel does at boot.
 */
#ifndef VDSO_ALTERNATIVES_H
#define VDSO_ALTERNATIVES_H

#include "image.h"

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vdso
{

using features = std::set<unsigned>;

/* The kernel's numbers of CPU features, which differ from version to version. */
class feature_table {
    public:
	/* @header: the text of asm/cpufeatures.h */
	explicit feature_table(std::string_view header);

	bool has(const std::string &name) const
	{
		return numbers.count(name);
	}
	/* By name without X86_FEATURE_, or a user_error. */
	unsigned number(const std::string &name) const;
	/* The name, or the number when it has none. */
	std::string name(unsigned number) const;

	/*
	 * What that kernel would find on the CPU that @cpuinfo, the text of
	 * /proc/cpuinfo, describes; without what the command line asks for.
	 */
	features of_cpu(std::string_view cpuinfo) const;

    private:
	std::map<std::string, unsigned> numbers; /* by X86_FEATURE_ name */
	std::map<std::string, unsigned> flags; /* by name in /proc/cpuinfo */
};

struct alternative {
	uint64_t at, replacement; /* offsets in the image */
	unsigned feature;
	bool if_absent;
	uint8_t length, new_length;

	bool operator==(const alternative &) const = default;
};

/*
 * The table in @bytes from @start on. An entry's size is the kernel's affair and
 * has changed; the one in which every entry makes sense is taken.
 */
std::vector<alternative>
parse_alternatives(std::span<const unsigned char> bytes, uint64_t start,
		   uint64_t size);
std::vector<alternative> alternatives_of(const image &img);

void apply_alternatives(std::span<unsigned char> bytes,
			const std::vector<alternative> &table,
			const features &present);
/* @img as a kernel makes it for a CPU with the features @present. */
image with_alternatives(image img, const features &present);

/* Every set of the features that the image has alternatives for. */
std::vector<features> feature_sets(const image &img);

} // namespace vdso

#endif
