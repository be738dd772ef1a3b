// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the command line decides is a CPU feature to the kernel's alternatives,
 * a synthetic one. So "the image with vdso_tsc=ordered" is the image for a CPU
 * with one feature more.
 */
#include "native_variant.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cpuid.h>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace vdso
{

namespace
{

constexpr const char *ordered_feature = "VDSO_TSC_ORDERED";

std::string cpuinfo()
{
	/* Its size is 0, so it has to be read to the end */
	std::ifstream in("/proc/cpuinfo");

	return { std::istreambuf_iterator<char>(in), {} };
}

feature_table features_beside(const std::filesystem::path &image_path)
{
	auto header = read_file(image_path.parent_path() / "cpufeatures.h");

	return feature_table({ reinterpret_cast<const char *>(header.data()),
			       header.size() });
}

variant make_variant(const std::string &name, const image &img,
		     const features &present)
{
	image booted = with_alternatives(img, present);
	section text = booted.sections.at(".text");

	return {
		name, booted,
		tsc_read::find(
			std::span(booted.bytes).subspan(text.start, text.size))
	};
}

std::string brand_string()
{
	std::array<unsigned, 12> words = {};

	for (unsigned i = 0; i < 3; i++) {
		unsigned *w = words.data() + size_t(4) * i;

		if (!__get_cpuid(0x80000002 + i, w, w + 1, w + 2, w + 3))
			return "unknown CPU";
	}
	std::string brand(reinterpret_cast<const char *>(words.data()),
			  sizeof(words));
	brand.resize(strlen(brand.c_str()));
	brand.erase(0, brand.find_first_not_of(' '));
	brand.erase(brand.find_last_not_of(' ') + 1);
	return brand;
}

/* Empty on bare metal. */
std::string hypervisor()
{
	unsigned eax, ebx, ecx, edx;

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx >> 31))
		return {};
	__cpuid(0x40000000, eax, ebx, ecx, edx);
	std::array<unsigned, 3> words = { ebx, ecx, edx };
	std::string name(reinterpret_cast<const char *>(words.data()),
			 sizeof(words));
	name.resize(strlen(name.c_str()));
	return name;
}

} // namespace

std::vector<variant> variants_of(const std::string &path)
{
	feature_table table = features_beside(path);
	image img(path);
	features cpu = table.of_cpu(cpuinfo());
	std::filesystem::path file(path);
	std::string name =
		fmt::format("{} {}", file.parent_path().filename().string(),
			    file.stem().stem().string());
	std::vector<variant> all;

	all.push_back(make_variant(name, img, cpu));
	if (!table.has(ordered_feature))
		return all;
	unsigned ordered = table.number(ordered_feature);
	auto about = alternatives_of(img);
	if (std::ranges::any_of(about, [&](const alternative &a) {
		    return a.feature == ordered;
	    })) {
		cpu.insert(ordered);
		all.push_back(
			make_variant(name + " vdso_tsc=ordered", img, cpu));
	}
	return all;
}

std::string describe_cpu()
{
	unsigned eax = 0, ebx, ecx, edx;
	std::string host = hypervisor();

	__get_cpuid(1, &eax, &ebx, &ecx, &edx);
	unsigned family = eax >> 8 & 15, model = eax >> 4 & 15;
	if (family == 15)
		family += eax >> 20 & 255;
	if (family >= 6)
		model |= eax >> 12 & 0xf0;
	return fmt::format("{} (family {:#x}, model {:#x}), {}", brand_string(),
			   family, model,
			   host.empty() ? "not in a guest" :
					  "in a guest of " + host);
}

} // namespace vdso
