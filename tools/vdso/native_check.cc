// SPDX-License-Identifier: GPL-2.0-only
/*
 * For each image and each page: torture, a page that changes at every step of
 * a call, and the litmus loops of the guest's vdso_ordering. --expect judges an
 * image as what it is not: an ordered verdict about a plain read has to fail.
 */
#include "native_check.h"
#include "native_torture.h"
#include "native_variant.h"

#include <ktap.h>
#include <litmus.h>

#include <fmt/format.h>

#include <memory>

namespace vdso
{

namespace
{

struct subject {
	variant what;
	source src;
	uint64_t hz;
	std::unique_ptr<native_image> mapped; /* for the litmus loops */
};

void judge(ktap::Case &t, const native_torture_result &r)
{
	t.diag("%s", fmt::format("{} readings, {} updates, {} bad", r.readings,
				 r.updates, r.bad)
			     .c_str());
	t.check(!r.bad, "%s", r.first.c_str());
	t.check(r.readings && r.updates, "nothing was read or updated");
}

/* Cases run in processes of their own, but the code may still throw. */
template <class F> void guarded(ktap::Case &t, const F &run)
{
	try {
		judge(t, run());
	} catch (const user_error &e) {
		t.fail("%s", e.what.c_str());
	}
}

litmus::Read read_of(const variant &v, const std::string &expect)
{
	bool plain = expect.empty() ? v.read == tsc_read::Kind::plain :
				      expect == "plain";

	return plain ? litmus::Read::plain : litmus::Read::ordered;
}

void add_subject(ktap::Suite &suite, const subject &s,
		 const native_check_options &opt)
{
	std::string prefix = fmt::format("{} {} ", s.what.name, name_of(s.src));

	suite.add(prefix + "torture", [&s, &opt](ktap::Case &t) {
		guarded(t, [&] {
			return native_torture(s.what.img, s.src, s.hz,
					      opt.seconds, opt.broken_writer);
		});
	});
	if (opt.broken_writer)
		return;
	suite.add(prefix + "steps", [&s](ktap::Case &t) {
		guarded(t, [&] {
			return native_steps(s.what.img, s.src, s.hz,
					    s.what.read ==
						    tsc_read::Kind::plain);
		});
	});
	litmus::add_cases(
		suite, prefix,
		{ reinterpret_cast<litmus::Gettime>(s.mapped->gettime()),
		  monotonic_raw },
		read_of(s.what, opt.expect),
		static_cast<int64_t>(opt.seconds * 1000));
}

} // namespace

int native_check(const native_check_options &opt)
{
	std::vector<subject> subjects;
	uint64_t hz = measure_tsc_hz();
	ktap::Suite suite;

	for (const auto &path : opt.images)
		for (const variant &v : variants_of(path))
			for (source src : { source::tsc, source::pvclock }) {
				auto mapped =
					std::make_unique<native_image>(v.img);
				time_line line(hz, src);

				page_writer(*mapped).write(line, fenced_tsc());
				subjects.push_back(
					{ v, src, hz, std::move(mapped) });
			}
	for (const subject &s : subjects) {
		suite.add(
			fmt::format("{} {} read", s.what.name, name_of(s.src)),
			[&s](ktap::Case &t) {
				t.check(s.what.read == tsc_read::Kind::plain ||
						s.what.read ==
							tsc_read::Kind::ordered,
					"one way to read the TSC is wanted");
				t.diag("%s", tsc_read::name(s.what.read));
			});
		add_subject(suite, s, opt);
	}
	return suite.run();
}

} // namespace vdso
