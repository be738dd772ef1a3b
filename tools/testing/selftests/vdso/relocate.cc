// SPDX-License-Identifier: GPL-2.0-only
/*
 * Moving the vDSO of this process: see relocate.h.
 */
#include "relocate.h"

#include <algorithm>

#include <sys/mman.h>

namespace relocate
{

namespace
{

constexpr std::string_view code_name = "[vdso]";
constexpr std::string_view data_prefix = "[vvar";

/* A free range; mremap() then takes the place of what reserves it */
std::uintptr_t reserve(std::size_t size)
{
	void *area = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	return area == MAP_FAILED ? 0 : reinterpret_cast<std::uintptr_t>(area);
}

#ifdef __i386__
/*
 * libc enters the kernel through the vDSO where it was at the start, the address
 * of which is in the thread's control block: not here.
 */
extern "C" const char relocate_enter[];
asm(".pushsection .text\n"
    "relocate_enter: int $0x80\n"
    "	ret\n"
    ".popsection\n");

[[gnu::constructor]] void enter_without_vdso()
{
	asm volatile("movl %0, %%gs:0x10" : : "r"(relocate_enter));
}
#endif

} // namespace

std::vector<vdso::Mapping> parts()
{
	std::vector<vdso::Mapping> all = vdso::mappings();

	std::erase_if(all, [](const vdso::Mapping &m) {
		return m.name != code_name && !m.name.starts_with(data_prefix);
	});
	return all;
}

std::optional<vdso::Image> move(Order order)
{
	std::vector<vdso::Mapping> all = parts();

	if (all.empty())
		return std::nullopt;

	const std::uintptr_t start = all.front().start;
	const std::uintptr_t area = reserve(all.back().end - start);
	std::uintptr_t image = 0;

	if (!area)
		return std::nullopt;
	if (order == Order::code_first)
		std::ranges::reverse(all);
	for (const vdso::Mapping &part : all) {
		const std::size_t size = part.end - part.start;
		const std::uintptr_t target = area + (part.start - start);

		if (mremap(vdso::at<void>(part.start), size, size,
			   MREMAP_MAYMOVE | MREMAP_FIXED,
			   vdso::at<void>(target)) == MAP_FAILED)
			return std::nullopt;
		if (part.name == code_name)
			image = target;
	}
	return vdso::Image(image);
}

bool unmap()
{
	for (const vdso::Mapping &part : parts())
		if (munmap(vdso::at<void>(part.start), part.end - part.start))
			return false;
	return true;
}

} // namespace relocate
