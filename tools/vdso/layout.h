/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where an image expects its data, found by asking the image.
 */
#ifndef VDSO_LAYOUT_H
#define VDSO_LAYOUT_H

#include "image.h"
#include "session.h"
#include "timekeeper.h"

namespace vdso
{

struct layout {
	enum shape { asm32, asm64, generic } kind;
	uint64_t bytes_before; /* data pages before the image */
	uint64_t page_size; /* the kernel's, as far as the distance shows it */
	bool two_pages;
	bool timens; /* the code looks for the page of a time namespace */
	uint64_t data_offset; /* of the data in its page */
	/*
	 * The view is the page that a time namespace has a page of offsets in
	 * place of; the host's data are in the other one then.
	 */
	bool view_is_last;
};

layout probe_layout(const environment &env, const image &img);

/* An image in a session, with pages that can be set before each call. */
class subject {
    public:
	subject(session &in, const image &img, const layout &lay);

	uint64_t address(const std::string &function) const;
	std::vector<patch> pages(const timekeeper &tk) const;
	std::vector<patch> pages(const timekeeper &tk,
				 const timens_offsets &offsets) const;
	uint64_t seq_address(bool raw, bool in_timens) const;
	uint64_t data_address() const
	{
		return view_page + lay.data_offset;
	}
	uint64_t host_data_address() const
	{
		return host_page + lay.data_offset;
	}
	uint64_t view_address() const
	{
		return view_page;
	}
	uint64_t base_address() const
	{
		return base;
	}

	const image &img;
	const layout lay;

    private:
	template <class I>
	std::vector<patch> pages_of(const timekeeper &tk,
				    const timens_offsets *offsets) const;

	uint64_t base, view_page, host_page;
};

} // namespace vdso

#endif
