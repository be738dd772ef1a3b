// SPDX-License-Identifier: GPL-2.0-only
/*
 * The vDSO in a time namespace.
 *
 * A process in a namespace has another data page in front of the vDSO, which
 * says "look behind, and add these offsets". Whether it is in place, and
 * whether every function heeds it, shows in two comparisons: inside, a reading
 * lies between two system calls as anywhere (clocks.h); and seen from outside,
 * it lies between two system calls there plus the offset of its clock. The
 * second is needed because a namespace that nobody entered passes the first.
 *
 * unshare() makes a namespace for the children to come, and setns() moves the
 * caller itself, whose page has been in use for long.
 */
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clocks.h"
#include "ktap.h"
#include "relocate.h"
#include "sampling.h"
#include "steer.h"
#include "timens.h"
#include "vdso.h"

namespace
{

using clocks::Source;
using clocks::Stamp;
using timens::Fd;
using timens::make_namespace;
using timens::Offsets;
using timens::Readings;
using timens::set_namespace;
using timens::write_offsets;

constexpr std::int64_t day = 24LL * 60 * 60;
constexpr std::int64_t year = 365 * day;

/* A reading takes less, however slow the machine */
constexpr std::int64_t soon = 100;

constexpr Offsets some_offsets = { { 10 * day, 1 }, { 20 * day, 2 } };

std::vector<Source> all_sources()
{
	const std::optional<vdso::Image> image = vdso::Image::self();

	return image ? clocks::sources(*image) : std::vector<Source>();
}

void check_brackets(ktap::Case &t, const std::vector<Source> &sources)
{
	constexpr int times = 20;

	for (int i = 0; i < times; i++)
		for (const Source &source : sources) {
			const std::string complaint = clocks::complaint(
				source, clocks::bracket(source));

			t.check(complaint.empty(), "%s", complaint.c_str());
		}
}

/* What a namespace leaves alone, although its page has no such fields */
void check_unaffected(ktap::Case &t)
{
	const std::optional<vdso::Image> image = vdso::Image::self();
	const void *getres = image ? image->function("clock_getres") : nullptr;
	const void *gettimeofday =
		image ? image->function("gettimeofday") : nullptr;
	vdso::Timezone ours = { 99, 99 }, kernel = { 98, 98 };

	for (const clocks::Clock &clock : clocks::all_clocks) {
		vdso::Timespec a{ -1, -1 }, b{ -2, -2 };

		if (!getres)
			break;
		vdso::call(getres, vdso::arg(clock.id), vdso::arg(&a));
		vdso::system_call(SYS_clock_getres, vdso::arg(clock.id),
				  vdso::arg(&b));
		t.check(a.sec == b.sec && a.nsec == b.nsec,
			"clock_getres %s: %ld ns, the system call %ld ns",
			clock.name, a.nsec, b.nsec);
	}
	if (!gettimeofday)
		return;
	vdso::call(gettimeofday, 0, vdso::arg(&ours));
	vdso::system_call(SYS_gettimeofday, 0, vdso::arg(&kernel));
	t.check(ours.minuteswest == kernel.minuteswest &&
			ours.dsttime == kernel.dsttime,
		"time zone %d, the system call %d", ours.minuteswest,
		kernel.minuteswest);
}

using Part = std::function<void(ktap::Case &)>;

/* A namespace with a process in it, and the two views on that */
void look_inside(ktap::Case &t, const Offsets &offsets, const Part &part)
{
	Readings readings(all_sources());

	if (!make_namespace(t, offsets))
		return;
	readings.before();
	t.in_child([&](ktap::Case &child) {
		readings.inside();
		part(child);
	});
	readings.after(t, offsets);
}

void check_offsets(ktap::Case &t, const Offsets &offsets)
{
	constexpr std::int64_t time = 50 * clocks::nsec_per_msec;

	look_inside(t, offsets, [](ktap::Case &child) {
		sampling::check_brackets(child, all_sources(), time);
		check_unaffected(child);
	});
}

/* Clocks must not be negative inside, so this is as far back as can be */
void check_far_back(ktap::Case &t)
{
	const Stamp monotonic = clocks::system_clock(CLOCK_MONOTONIC);
	const Stamp boottime = clocks::system_clock(CLOCK_BOOTTIME);

	check_offsets(t, { { -monotonic.sec, 0 }, { -boottime.sec, 0 } });
}

/* The kernel lets a clock get as far as half of what ktime_t can hold */
void check_far_ahead(ktap::Case &t)
{
	constexpr std::int64_t limit = INT64_MAX / clocks::nsec_per_sec / 2;
	const Stamp boottime = clocks::system_clock(CLOCK_BOOTTIME);
	const Stamp offset = { limit - boottime.sec - soon, 0 };

	check_offsets(t, { offset, offset });
}

void check_setns(ktap::Case &t)
{
	constexpr int rounds = 20;
	const std::vector<Source> sources = all_sources();
	Readings readings(sources);

	if (!make_namespace(t, some_offsets))
		return;

	const Fd home("/proc/self/ns/time");
	const Fd other("/proc/self/ns/time_for_children");

	for (int i = 0; i < rounds && !t.failed(); i++) {
		readings.before();
		if (!set_namespace(t, other))
			return;
		readings.inside();
		check_brackets(t, sources);
		if (!set_namespace(t, home))
			return;
		readings.after(t, some_offsets);
		check_brackets(t, sources);
	}
}

/* The second half of check_exec(), in the program that was executed */
int run_inside(std::int64_t monotonic, std::int64_t boottime)
{
	ktap::Case t;
	const std::vector<Source> sources = all_sources();

	for (const Source &source : sources) {
		const Stamp now = source.vdso();
		const std::int64_t least = source.clock().id == CLOCK_BOOTTIME ?
						   boottime :
						   monotonic;
		const std::int64_t later = source.difference(now, { least, 0 });

		if (!source.clock().steps)
			t.check(later >= 0 &&
					later < soon * clocks::nsec_per_sec,
				"%s %s, expected about %lld",
				source.name().c_str(),
				clocks::text(now).c_str(),
				static_cast<long long>(least));
	}
	check_brackets(t, sources);
	return t.failed();
}

void check_exec(ktap::Case &t)
{
	if (!make_namespace(t, some_offsets))
		return;

	const Stamp monotonic = clocks::system_clock(CLOCK_MONOTONIC);
	const Stamp boottime = clocks::system_clock(CLOCK_BOOTTIME);

	t.in_child([&](ktap::Case &child) {
		execl("/proc/self/exe", "vdso_timens", "--inside",
		      std::to_string(monotonic.sec - 1 +
				     some_offsets.monotonic.sec)
			      .c_str(),
		      std::to_string(boottime.sec - 1 +
				     some_offsets.boottime.sec)
			      .c_str(),
		      nullptr);
		child.fail("exec: %s", strerror(errno));
	});
}

void check_many_processes(ktap::Case &t)
{
	constexpr int count = 100;
	const std::vector<Source> sources = all_sources();

	if (!make_namespace(t, some_offsets))
		return;
	for (int i = 0; i < count && !t.failed(); i++)
		t.in_child([&](ktap::Case &child) {
			check_brackets(child, sources);
		});
	check_brackets(t, sources);
}

/* Each made by a child, for a child of its own, and gone with both */
void check_many_namespaces(ktap::Case &t)
{
	constexpr int count = 30;

	if (access("/proc/self/ns/time", F_OK))
		return t.lacking("the kernel has no CONFIG_TIME_NS");
	for (int i = 1; i <= count && !t.failed(); i++)
		t.in_child([&](ktap::Case &child) {
			look_inside(child, { { i * day, i }, { i, 0 } },
				    [](ktap::Case &inner) {
					    check_brackets(inner,
							   all_sources());
				    });
			child.check(!child.skipped(), "%s",
				    child.reason().c_str());
		});
	check_brackets(t, all_sources());
}

void *wait_for_end(void *lock)
{
	pthread_mutex_lock(static_cast<pthread_mutex_t *>(lock));
	return nullptr;
}

/*
 * A thread shares its maker's page, so it must not get another namespace: the
 * kernel refuses to make it, and a newer one leaves it where its maker is.
 */
void check_no_thread_across(ktap::Case &t)
{
	const auto read_inside = [](void *readings) -> void * {
		static_cast<Readings *>(readings)->inside();
		return nullptr;
	};
	Readings readings(all_sources());
	pthread_t thread;

	if (!make_namespace(t, some_offsets))
		return;
	readings.before();

	const int error =
		pthread_create(&thread, nullptr, read_inside, &readings);

	if (!error) {
		pthread_join(thread, nullptr);
		return readings.after(t, { { 0, 0 }, { 0, 0 } });
	}
	t.check(error == EINVAL, "pthread_create: %s, expected EINVAL",
		strerrorname_np(error));
}

void check_no_setns_with_threads(ktap::Case &t)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread;

	pthread_mutex_lock(&lock);
	if (!t.check(!pthread_create(&thread, nullptr, wait_for_end, &lock),
		     "pthread_create"))
		return;
	if (make_namespace(t, some_offsets)) {
		const Fd other("/proc/self/ns/time_for_children");
		const vdso::Result entered =
			vdso::system_call(SYS_setns, vdso::arg(other.get()),
					  timens::clone_newtime);

		t.check(entered.failed && entered.value == EUSERS,
			"setns: %s, expected EUSERS",
			entered.failed ? strerrorname_np(static_cast<int>(
						 entered.value)) :
					 "no error");
		check_brackets(t, all_sources());
	}
	pthread_mutex_unlock(&lock);
	pthread_join(thread, nullptr);
}

/* The page is filled in once: for the first process that enters */
void check_frozen(ktap::Case &t)
{
	if (!make_namespace(t, some_offsets))
		return;
	t.in_child([](ktap::Case &child) {
		check_brackets(child, all_sources());
	});

	const int error = write_offsets({ { day, 0 }, { day, 0 } });

	t.check(error == EACCES, "timens_offsets: %s, expected EACCES",
		error ? strerrorname_np(error) : "no error");
	check_offsets(t, some_offsets);
}

/* A process from before and one from inside, reading at the same time */
void check_side_by_side(ktap::Case &t)
{
	constexpr std::int64_t time = 100 * clocks::nsec_per_msec;
	const std::vector<Source> sources = all_sources();
	Readings unmoved(sources);
	int status = 0;

	if (!make_namespace(t, some_offsets))
		return;

	const pid_t pid = fork();

	if (pid == 0) {
		ktap::Case child;
		const clocks::Deadline deadline(time);

		while (!deadline.passed())
			check_brackets(child, sources);
		_exit(child.failed());
	}
	const clocks::Deadline deadline(time);

	while (!deadline.passed()) {
		unmoved.before();
		unmoved.inside();
		unmoved.after(t, { { 0, 0 }, { 0, 0 } });
		check_brackets(t, sources);
	}
	t.check(waitpid(pid, &status, 0) == pid && status == 0,
		"failed in the child");
}

/* The offsets are added to a page that changes all the time */
void check_disturbed(ktap::Case &t)
{
	if (const std::string reason = steer::refusal(); !reason.empty())
		return t.skip("%s", reason.c_str());

	const steer::SavedClock saved;
	const steer::Disturber disturber;

	if (!make_namespace(t, some_offsets))
		return;
	t.in_child([&](ktap::Case &child) {
		sampling::check_brackets(child, all_sources(),
					 sampling::disturbed_time, &disturber);
	});
}

void check_moved_inside(ktap::Case &t)
{
	const std::vector<Source> sources = all_sources();

	if (!make_namespace(t, some_offsets))
		return;
	t.in_child([](ktap::Case &child) {
		const std::optional<vdso::Image> image = relocate::move();

		if (child.check(image.has_value(), "mremap: %s",
				strerror(errno)))
			check_brackets(child, clocks::sources(*image));
	});
}

/* The kernel must find the page to replace where it is now */
void check_moved_then_entered(ktap::Case &t)
{
	if (!make_namespace(t, some_offsets))
		return;

	const Fd home("/proc/self/ns/time");
	const Fd other("/proc/self/ns/time_for_children");
	const std::optional<vdso::Image> image = relocate::move();

	if (!t.check(image.has_value(), "mremap: %s", strerror(errno)))
		return;

	const std::vector<Source> sources = clocks::sources(*image);
	Readings readings(sources);

	check_brackets(t, sources);
	readings.before();
	if (!set_namespace(t, other))
		return;
	readings.inside();
	check_brackets(t, sources);
	if (!set_namespace(t, home))
		return;
	readings.after(t, some_offsets);
	check_brackets(t, sources);
}

void add_offsets(ktap::Suite &suite, const char *name, const Offsets &offsets)
{
	suite.add(name,
		  [offsets](ktap::Case &t) { check_offsets(t, offsets); });
}

void add_cases(ktap::Suite &suite)
{
	add_offsets(suite, "no offset", { { 0, 0 }, { 0, 0 } });
	add_offsets(suite, "some days ahead", some_offsets);
	add_offsets(suite, "nanoseconds that carry",
		    { { 1, 999999999 }, { 2, 999999999 } });
	add_offsets(suite, "half a second back",
		    { { -1, 500000000 }, { -1, 500000000 } });
	suite.add("back to the start of the clocks", check_far_back);
	add_offsets(suite, "a hundred years ahead",
		    { { 100 * year, 0 }, { 101 * year, 123456789 } });
	suite.add("ahead as far as the kernel allows", check_far_ahead);
	suite.add("setns into it and back", check_setns);
	suite.add("exec inside", check_exec);
	suite.add("many processes", check_many_processes);
	suite.add("many namespaces", check_many_namespaces);
	suite.add("no thread in another namespace than its maker",
		  check_no_thread_across);
	suite.add("no setns with threads", check_no_setns_with_threads);
	suite.add("offsets are final once entered", check_frozen);
	suite.add("a process from before beside one inside",
		  check_side_by_side);
	suite.add("inside, clock stepped and slewed", check_disturbed);
	suite.add("vDSO moved inside", check_moved_inside);
	suite.add("vDSO moved, then setns", check_moved_then_entered);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc == 4 && std::string_view(argv[1]) == "--inside")
		return run_inside(atoll(argv[2]), atoll(argv[3]));

	ktap::Suite suite;

	add_cases(suite);
	return suite.run(argc, argv);
}
