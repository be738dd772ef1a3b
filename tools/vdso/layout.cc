// SPDX-License-Identifier: GPL-2.0-only
/*
 * The offset of the data in its page, the kernel's page size and whether there
 * is a page for time namespaces all depend on the kernel's configuration, and
 * an image does not say. But clock_getres() returns a word of the page as it
 * is. So all the room where data can be is filled with words that tell their
 * own place, and the answer tells where the image looked.
 */
#include "layout.h"
#include "integers.h"

#include <bit>
#include <fmt/format.h>

namespace vdso
{

namespace
{

constexpr uint64_t most_before = 0x80000; /* two pages of 256 KB */
constexpr uint32_t tag = 0x20000000;

template <class I> std::vector<unsigned char> self_naming(uint64_t size)
{
	std::vector<unsigned char> words(size);

	for (uint64_t at = 0; at < size; at += 4) {
		typename I::u32 word = tag + static_cast<uint32_t>(at);

		memcpy(&words[at], &word, sizeof(word));
	}
	return words;
}

constexpr const char *old_marker = "__kernel_datapage_offset";

/* As the kernel does at boot: the word holds its own distance to the data page. */
image with_datapage_offset(const image &img)
{
	image patched = img;
	uint64_t page_end = (img.bytes.size() + 4095) / 4096 * 4096;

	if (auto at = img.find(old_marker))
		patched.set_word(*at, static_cast<uint32_t>(page_end - *at));
	return patched;
}

template <class D> std::vector<unsigned char> bytes_of(const D &data)
{
	std::vector<unsigned char> bytes(sizeof(data));

	memcpy(bytes.data(), &data, sizeof(data));
	return bytes;
}

/*
 * The two members of a timespec. Those of a 32-bit one are in one of the
 * result's 64-bit words.
 */
uint64_t timespec_nsec(const outcome &out, const image &img)
{
	if (img.is64())
		return out.out[1];
	return img.order == std::endian::big ? out.out[0] & 0xffffffff :
					       out.out[0] >> 32;
}

uint64_t timespec_sec(const outcome &out, const image &img)
{
	if (img.is64())
		return out.out[0];
	return img.order == std::endian::big ? out.out[0] >> 32 :
					       out.out[0] & 0xffffffff;
}

/* Which of the two pages clock_gettime() reads. */
bool reads_last_page(const environment &env, const image &img, layout lay)
{
	session s(env, img.arch, img.order);
	timekeeper first = timekeeper::sample(100000000), last = first;
	call c = { 0, { realtime_coarse, scratch_addr } };

	last.xtime_sec = first.xtime_sec + 1;
	lay.view_is_last = false;
	subject sub(s, img, lay);
	c.function = sub.address("__kernel_clock_gettime");
	c.patches = { sub.pages(first)[0], sub.pages(last)[1] };
	uint64_t sec = timespec_sec(s.run({ c }, false, 5)[0], img);
	return sec == static_cast<uint64_t>(last.xtime_sec);
}

/*
 * A kernel without time namespaces may have the room for the second page as
 * well, but its vDSO takes a namespace's page for an update that never ends.
 */
bool knows_timens(const environment &env, const image &img, const layout &lay)
{
	session s(env, img.arch, img.order);
	subject sub(s, img, lay);
	timekeeper tk = timekeeper::sample(100000000);
	call c = { sub.address("__kernel_clock_gettime"),
		   { realtime_coarse, scratch_addr } };

	c.patches = sub.pages(tk, timens_offsets{});
	try {
		s.run({ c }, false, 1);
	} catch (const user_error &) {
		return false;
	}
	return true;
}

/*
 * The code finds its data by a distance. If it is not that of the data's symbol,
 * then it reads beside them, which nothing else here can tell.
 */
void check_symbols(const image &img, int64_t data)
{
	bool any = false;

	for (const char *name : { "_timens_data", "_vdso_data" }) {
		auto it = img.symbols.find(name);

		if (it == img.symbols.end())
			continue;
		auto value = static_cast<int64_t>(it->second.value);
		if (!img.is64())
			value = static_cast<int32_t>(value);
		if (value == data)
			return;
		any = true;
	}
	if (any)
		throw user_error{ fmt::format(
			"{}: clock_getres() reads the data at {:#x}, where none of them is",
			img.path, data) };
}

} // namespace

layout probe_layout(const environment &env, const image &img)
{
	bool old = img.has(old_marker);
	session s(env, img.arch, img.order);
	auto words = img.order == std::endian::big ?
			     self_naming<big>(most_before) :
			     self_naming<little>(most_before);
	auto getres = img.find("__kernel_clock_getres");

	if (!getres)
		throw user_error{ fmt::format("{}: no __kernel_clock_getres",
					      img.path) };
	image patched = with_datapage_offset(img);
	uint64_t base = old ? s.add_image(patched, 0, {}, words) :
			      s.add_image(patched, most_before, words, {});
	call c = { base + *getres, { realtime, scratch_addr, 0 } };
	uint64_t found = timespec_nsec(s.run({ c }, false)[0], img) - tag;
	if (found >= most_before)
		throw user_error{ fmt::format(
			"{}: clock_getres does not return a word of the data page",
			img.path) };

	if (old) {
		if (found == offsetof(asm32_data<big>, hrtimer_res))
			return {
				layout::asm32, 0, 4096, false, false, 0, false
			};
		if (found == offsetof(asm64_data<big>, hrtimer_res))
			return {
				layout::asm64, 0, 4096, false, false, 0, false
			};
		throw user_error{ fmt::format(
			"{}: unknown data page, resolution at {:#x}", img.path,
			found) };
	}
	uint64_t start = found - offsetof(generic_data<big>, hrtimer_res);
	check_symbols(img, static_cast<int64_t>(start - most_before));
	uint64_t distance = most_before - start / 4096 * 4096;
	/* one page or two: page sizes are even powers of two */
	bool two = std::bit_width(distance) % 2 == 0;
	layout lay = { layout::generic,
		       distance,
		       two ? distance / 2 : distance,
		       two,
		       false,
		       start % 4096,
		       false };
	if (two) {
		lay.view_is_last = reads_last_page(env, img, lay);
		lay.timens = knows_timens(env, img, lay);
	}
	return lay;
}

subject::subject(session &in, const image &image, const layout &where)
	: img(image), lay(where)
{
	bool old = lay.kind != layout::generic;

	base = in.add_image(with_datapage_offset(img), lay.bytes_before, {},
			    std::vector<unsigned char>(old ? lay.page_size :
							     0));
	uint64_t first = old ? base + (img.bytes.size() + 4095) / 4096 * 4096 :
			       base - lay.bytes_before;
	uint64_t last = lay.two_pages ? first + lay.page_size : first;
	view_page = lay.view_is_last ? last : first;
	host_page = lay.view_is_last ? first : last;
}

uint64_t subject::address(const std::string &function) const
{
	auto offset = img.find(function);

	return offset ? base + *offset : 0;
}

uint64_t subject::seq_address(bool raw, bool in_timens) const
{
	switch (lay.kind) {
	case layout::asm32:
		return view_page + offsetof(asm32_data<big>, tb_update_count);
	case layout::asm64:
		return view_page + offsetof(asm64_data<big>, tb_update_count) +
		       (img.order == std::endian::big ? 4 : 0);
	case layout::generic:
		break;
	}
	return (in_timens ? host_page : view_page) + lay.data_offset +
	       (raw ? sizeof(generic_data<big>) : 0);
}

template <class I>
std::vector<patch> subject::pages_of(const timekeeper &tk,
				     const timens_offsets *offsets) const
{
	if (lay.kind == layout::generic) {
		generic_data<I> real[2] = {}, ns[2] = {};
		patch host = { host_page + lay.data_offset, {} };
		patch view = { view_page + lay.data_offset, {} };

		fill(real, tk);
		host.bytes = view.bytes = bytes_of(real);
		if (offsets) {
			fill(ns, *offsets);
			view.bytes = bytes_of(ns);
		}
		return { view, host };
	}
	if constexpr (std::is_same_v<I, big>)
		if (lay.kind == layout::asm32) {
			asm32_data<I> data = {};

			fill(data, tk);
			return { { view_page, bytes_of(data) } };
		}
	asm64_data<I> data = {};
	fill(data, tk);
	return { { view_page, bytes_of(data) } };
}

std::vector<patch> subject::pages(const timekeeper &tk) const
{
	return img.order == std::endian::big ? pages_of<big>(tk, nullptr) :
					       pages_of<little>(tk, nullptr);
}

std::vector<patch> subject::pages(const timekeeper &tk,
				  const timens_offsets &offsets) const
{
	return img.order == std::endian::big ? pages_of<big>(tk, &offsets) :
					       pages_of<little>(tk, &offsets);
}

} // namespace vdso
