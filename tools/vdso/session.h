/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A process of the image's own kind, laid out by the lab: images, data pages,
 * counter, and the calls to make in it.
 */
#ifndef VDSO_SESSION_H
#define VDSO_SESSION_H

#include "guest/job.h"
#include "image.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace vdso
{

struct patch {
	uint64_t addr;
	std::vector<unsigned char> bytes;
};

struct call {
	uint64_t function;
	std::array<uint64_t, 3> args = {};
	uint64_t counter = 0;
	job::event event = job::none;
	uint64_t seq = 0;
	uint64_t data_page = 0;
	std::vector<patch> patches = {};
	job::check check = job::on_line; /* in a torture */
	uint32_t time_size = 0;
};

struct torture_plan {
	uint64_t seconds;
	uint64_t page, seq;
	uint64_t counter; /* where it starts */
	uint64_t tolerance;
	bool keep_seq;
	std::vector<std::vector<unsigned char> > versions;
};

struct torture_result {
	uint64_t readings, updates;
	uint64_t bad_call; /* number + 1; 0: none */
	uint64_t bad_sec, bad_nsec, bad_before, bad_after;
};

struct outcome {
	uint64_t value, value2, cr, clobbered;
	std::array<uint64_t, job::out_words> out;
	bool event_seen;
	std::vector<uint64_t> trace; /* program counters inside the images */

	bool error() const
	{
		return cr & 0x10000000; /* CR0.SO */
	}
};

/* Where qemu and the guest programs are. */
struct environment {
	std::string guest_dir;
	std::string cpu; /* empty: the machine's default */
};

/* Where a call's results go: out_words words that come back in outcome::out. */
constexpr uint64_t scratch_addr = 0x12000000;

class session {
    public:
	session(environment env, machine arch, std::endian order);

	/* Maps @img with @pages_before bytes of data pages before and one page behind it. */
	uint64_t add_image(const image &img, uint64_t bytes_before,
			   std::vector<unsigned char> before,
			   std::vector<unsigned char> behind);
	/* What is at @where's address in one of the areas when a run begins. */
	void preset(const patch &where);
	/* @seconds: an image that is still running then has lost its way. */
	std::vector<outcome> run(const std::vector<call> &calls, bool trace,
				 unsigned seconds = 120);

	/* Makes @calls over and over while another process changes the page. */
	torture_result torture(const std::vector<call> &calls,
			       const torture_plan &plan);

    private:
	struct area {
		uint64_t addr;
		std::vector<unsigned char> content;
		uint32_t prot;
	};

	template <class I>
	std::vector<unsigned char> write_job(const std::vector<call> &calls,
					     const torture_plan *plan);
	template <class I>
	torture_result read_torture(const std::vector<unsigned char> &file);
	std::vector<unsigned char>
	execute(const std::vector<unsigned char> &job,
		const std::vector<std::string> &extra, unsigned seconds);
	template <class I>
	std::vector<outcome> read_results(const std::vector<unsigned char> &job,
					  size_t count);

	environment env;
	machine arch;
	std::endian order;
	std::vector<area> areas;
	std::vector<std::pair<uint64_t, uint64_t> >
		text; /* of the images: start, size */
	uint64_t next_base = 0x10000000;
	uint64_t results_offset = 0;
};

} // namespace vdso

#endif
