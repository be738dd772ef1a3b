// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether the TSC is read in order, where it has to be.
 *
 * The base kernel orders the read behind the loads before it. The series takes
 * that away, unless vdso_tsc=ordered is on the command line, and what is lost
 * by it is measured here; see litmus.h. The image that this process has says by
 * its code which of the two it is, and that has to be what was asked for.
 *
 * CLOCK_MONOTONIC_RAW is read: its rate is never changed, so that a step back
 * cannot have another reason.
 */
#include <chrono>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include <time.h>

#include "ktap.h"
#include "litmus.h"
#include "tsc_read.h"
#include "vdso.h"

namespace
{

constexpr std::int64_t milliseconds = 500;

std::string first_line(const char *path)
{
	std::ifstream in(path);
	std::string line;

	std::getline(in, line);
	return line;
}

/* The last one counts, as for the kernel; an unknown one is no answer */
std::optional<tsc_read::Kind> asked_for()
{
	std::istringstream in(first_line("/proc/cmdline"));
	std::optional<tsc_read::Kind> kind;
	std::string word;

	if (ktap::expect() == ktap::Expect::base)
		return tsc_read::Kind::ordered;
	if (ktap::expect() == ktap::Expect::patched)
		kind = tsc_read::Kind::plain;
	while (in >> word) {
		if (word == "vdso_tsc=ordered")
			kind = tsc_read::Kind::ordered;
		if (word == "vdso_tsc=plain")
			kind = tsc_read::Kind::plain;
	}
	return kind;
}

tsc_read::Kind mapped(const vdso::Image &image)
{
	const std::vector<vdso::Mapping> parts = vdso::mappings("[vdso]");

	if (parts.empty())
		return tsc_read::Kind::none;
	return tsc_read::in_image(vdso::at<const unsigned char>(image.base()),
				  parts.back().end - image.base());
}

bool reads_tsc(const std::string &clocksource)
{
	return clocksource.starts_with("tsc") || clocksource == "kvm-clock";
}

/* Soon after the boot it is tsc-early, until the TSC's rate is known better */
std::string settled_clocksource()
{
	constexpr unsigned int patience = 50;
	constexpr auto pause = std::chrono::milliseconds(100);
	std::string name;

	for (unsigned int i = 0; i < patience; i++) {
		name = first_line("/sys/devices/system/clocksource/clocksource0"
				  "/current_clocksource");
		if (name != "tsc-early")
			break;
		std::this_thread::sleep_for(pause);
	}
	return name;
}

litmus::Gettime gettime(const vdso::Image &image)
{
	const void *function = image.function(
		sizeof(long) == sizeof(std::int64_t) ? "clock_gettime" :
						       "clock_gettime64");

	return function ? vdso::pointer<int(int, litmus::Stamp *)>(function) :
			  nullptr;
}

} // namespace

int main(int argc, char **argv)
{
	const std::optional<vdso::Image> image = vdso::Image::self();
	const std::string clocksource = settled_clocksource();
	ktap::Suite suite;

	if (!image || !gettime(*image) || !reads_tsc(clocksource)) {
		suite.add("read", [&](ktap::Case &t) {
			t.skip("the vDSO does not read the TSC: clocksource %s",
			       clocksource.c_str());
		});
		return suite.run(argc, argv);
	}

	const tsc_read::Kind kind = mapped(*image);

	suite.add("read", [&](ktap::Case &t) {
		const std::optional<tsc_read::Kind> want = asked_for();

		t.diag("clocksource %s, read: %s", clocksource.c_str(),
		       tsc_read::name(kind));
		t.check(kind == tsc_read::Kind::plain ||
				kind == tsc_read::Kind::ordered,
			"the image has to have one way to read the TSC");
		t.check(!want || kind == *want, "%s was asked for",
			want ? tsc_read::name(*want) : "");
	});
	litmus::add_cases(suite, "", { gettime(*image), CLOCK_MONOTONIC_RAW },
			  kind == tsc_read::Kind::plain ? litmus::Read::plain :
							  litmus::Read::ordered,
			  milliseconds);
	return suite.run(argc, argv);
}
