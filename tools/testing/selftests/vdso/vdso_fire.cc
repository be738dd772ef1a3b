// SPDX-License-Identifier: GPL-2.0-only
/*
 * The vDSO under fire: everything reads the clocks while the kernel writes the page
 * as often as it can be made to, CPUs come and go, the clocksource changes, signals
 * arrive all the time, or a tracer steps through.
 *
 *	vdso_fire [reads=N] [CASE...]
 *
 * N is how many readings the storm goes on for, at least. A storm that did not
 * blow proves nothing, so each case says how much of it there was and fails if that
 * was too little.
 */
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clocks.h"
#include "ktap.h"
#include "sampling.h"
#include "steer.h"
#include "storm.h"
#include "vdso.h"

namespace
{

namespace fs = std::filesystem;

using clocks::Source;
using clocks::Stamp;
using ktap::Case;
using storm::Meanwhile;

/* By which a change of the rate moves a clock, and rounding */
constexpr std::int64_t slack = 4;

constexpr const char *clocksource_directory =
	"/sys/devices/system/clocksource/clocksource0/";

unsigned long wanted_reads = 300000;

std::vector<Source> all_sources()
{
	const std::optional<vdso::Image> image = vdso::Image::self();

	return image ? clocks::sources(*image) : std::vector<Source>{};
}

std::int64_t nanoseconds(const Stamp &stamp)
{
	return stamp.sec * clocks::nsec_per_sec + stamp.nsec;
}

Stamp stamp(std::int64_t nanoseconds)
{
	return { nanoseconds / clocks::nsec_per_sec,
		 nanoseconds % clocks::nsec_per_sec };
}

/*
 * What CLOCK_REALTIME is ahead of CLOCK_MONOTONIC, between two numbers of
 * nanoseconds: no two clocks can be read at once.
 */
struct Distance {
	std::int64_t least = INT64_MIN, most = INT64_MAX;

	static Distance measure()
	{
		constexpr int tries = 200;
		Distance distance;

		for (int i = 0; i < tries; i++) {
			const auto read = [](clockid_t id) {
				return nanoseconds(clocks::system_clock(id));
			};
			const std::int64_t before = read(CLOCK_MONOTONIC);
			const std::int64_t real = read(CLOCK_REALTIME);
			const std::int64_t after = read(CLOCK_MONOTONIC);

			distance.least = std::max(distance.least, real - after);
			distance.most = std::min(distance.most, real - before);
		}
		return distance;
	}
};

/* What happens to CLOCK_REALTIME while it is read */
enum class Realtime { flows, steps, is_set };

/*
 * How far behind a reading may be: of what is cut off. A time that somebody sets is
 * late by as long as it took to set it.
 */
std::int64_t lag(const Source &source, Realtime realtime)
{
	constexpr std::int64_t setting = 10 * clocks::nsec_per_sec;
	const std::int64_t late = realtime == Realtime::is_set ? setting : 0;

	switch (source.api()) {
	case clocks::Api::time:
		return late + clocks::nsec_per_sec;
	case clocks::Api::gettimeofday:
		return late + clocks::nsec_per_usec;
	default:
		return late;
	}
}

/* What the steps add to it: nothing, or one of few amounts */
std::vector<std::int64_t> additions(const Source &source, Realtime realtime)
{
	std::vector<std::int64_t> all = { 0 };

	if (realtime == Realtime::flows)
		return all;
	all.push_back(nanoseconds(storm::step));
	if (source.clock().id != CLOCK_TAI || realtime == Realtime::is_set)
		return all;

	std::vector<std::int64_t> tai;
	for (const int offset : storm::tai_offsets)
		for (const std::int64_t amount : all)
			tai.push_back(amount + offset * clocks::nsec_per_sec);
	return tai;
}

/* The clocks that do not step, which others are held against */
struct Scale {
	const Source *fine, *coarse;

	static const Source *find(const std::vector<Source> &sources,
				  clockid_t id)
	{
		const auto found = std::ranges::find_if(
			sources, [id](const Source &source) {
				return source.clock().id == id;
			});

		return found == sources.end() ? nullptr : &*found;
	}

	explicit Scale(const std::vector<Source> &sources)
		: fine(find(sources, CLOCK_MONOTONIC)),
		  coarse(find(sources, CLOCK_MONOTONIC_COARSE))
	{
	}

	/*
	 * How old the last tick is, nobody knows: a CPU of a guest can be without its
	 * host for long. But all that are as old as that are so together.
	 */
	const Source &before(const Source &source) const
	{
		return source.clock().coarse ||
				       source.api() == clocks::Api::time ?
			       *coarse :
			       *fine;
	}
};

/* A source, and what its readings are held against */
class Reader {
    public:
	Reader(const Source &source, const Scale &scale,
	       const Distance &distance, Realtime realtime)
		: source_(source), before_(scale.before(source)),
		  after_(*scale.fine), distance_(distance),
		  lag_(lag(source, realtime)),
		  additions_(additions(source, realtime)), last_(source.vdso())
	{
	}

	void read(sampling::Tally &tally)
	{
		const Stamp before = before_.vdso();
		const Stamp now = source_.vdso();
		const Stamp after = after_.vdso();

		if (now.nsec < 0 || now.nsec >= clocks::nsec_per_sec)
			tally.complain(name(now) +
				       ": nanoseconds out of range");
		else if (!source_.clock().steps)
			follow(now, tally);
		else if (fits(nanoseconds(before), now, nanoseconds(after)))
			tally.good++;
		else
			tally.complain(name(now) +
				       " is at no known distance of " +
				       clocks::text(before) + " to " +
				       clocks::text(after));
	}

    private:
	std::string name(const Stamp &stamp) const
	{
		return source_.name() + " " + clocks::text(stamp);
	}

	void follow(const Stamp &now, sampling::Tally &tally)
	{
		const std::int64_t later = source_.difference(now, last_);

		last_ = now;
		if (later >= -slack)
			tally.good++;
		else
			tally.complain(name(now) + " is " +
				       std::to_string(-later) +
				       " ns before its last reading");
	}

	/* CLOCK_TAI's offset was 0 while the distance was measured */
	bool fits(std::int64_t before, const Stamp &now,
		  std::int64_t after) const
	{
		return std::ranges::any_of(additions_, [&](std::int64_t more) {
			const Stamp first = stamp(before + distance_.least +
						  more - lag_ - slack);
			const Stamp last =
				stamp(after + distance_.most + more + slack);

			return source_.difference(now, first) >= 0 &&
			       source_.difference(now, last) <= 0;
		});
	}

	const Source &source_;
	const Source &before_;
	const Source &after_;
	Distance distance_;
	std::int64_t lag_;
	std::vector<std::int64_t> additions_;
	Stamp last_;
};

/*
 * All CPUs read all sources until there are as many readings as wanted, and as much
 * of what goes on meanwhile
 */
void read_all(Case &t, const std::vector<Source> &sources, Realtime realtime,
	      const Distance &distance, const std::function<bool()> &enough)
{
	constexpr int batch = 50;
	constexpr std::int64_t patience = 240 * clocks::nsec_per_sec;
	const Scale scale(sources);
	std::atomic<unsigned long> reads = 0;
	std::vector<sampling::Tally> tallies(sampling::thread_count());

	sampling::on_all_cpus([&](std::size_t thread) {
		const clocks::Deadline end(patience);
		std::vector<Reader> readers;

		readers.reserve(sources.size());
		for (const Source &source : sources)
			readers.emplace_back(source, scale, distance, realtime);
		while ((reads < wanted_reads || !enough()) && !end.passed()) {
			for (int i = 0; i < batch; i++)
				for (Reader &reader : readers)
					reader.read(tallies[thread]);
			/* Each one with two of a monotonic clock */
			reads += 3UL * batch * readers.size();
		}
	});
	for (const sampling::Tally &tally : tallies)
		t.check(!tally.bad, "%u times like %s", tally.bad,
			tally.first.c_str());
	t.check(reads >= wanted_reads, "only %lu reads", reads.load());
	t.diag("%lu reads", reads.load());
}

/* The usual reasons why nothing of this can be done; true if there is one */
bool stop_here(Case &t, const std::vector<Source> &sources)
{
	const Scale scale(sources);

	if (!scale.fine || !scale.coarse)
		t.skip("the vDSO has no clock_gettime");
	else if (const std::string reason = steer::refusal(); !reason.empty())
		t.skip("%s", reason.c_str());
	return t.skipped();
}

std::size_t cpu_count()
{
	return static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN));
}

void check_storm(Case &t)
{
	constexpr unsigned int enough = 1000, pause = 50;
	const std::vector<Source> sources = all_sources();

	if (stop_here(t, sources))
		return;

	const steer::SavedClock saved;
	const bool alone = cpu_count() == 1;

	/* A date that leaves room for what the kernel refuses */
	steer::set_realtime({ 1600000000, 0 });
	steer::set_tai_offset(0);
	const Distance distance = Distance::measure();

	steer::set_tai_offset(storm::tai_offsets[0]);
	const Meanwhile writer(storm::update, alone ? pause : 0, alone);

	read_all(t, sources, Realtime::steps, distance,
		 [&] { return writer.rounds() >= enough; });
	t.diag("%u updates", writer.rounds());
	t.check(!writer.error(), "the clock was not set: %s",
		strerrorname_np(writer.error()));
	t.check(writer.rounds() >= enough, "%u updates are no storm",
		writer.rounds());
}

/*
 * By the calls that say what time it is, of which the kernel tells every CPU: fewer,
 * and so far apart that no clock but CLOCK_REALTIME may know of them.
 */
void check_setting(Case &t)
{
	constexpr unsigned int enough = 2000, pause = 50;
	const std::vector<Source> sources = all_sources();

	if (stop_here(t, sources))
		return;

	const steer::SavedClock saved;
	const bool alone = cpu_count() == 1;

	steer::set_realtime({ 1600000000, 0 });
	steer::set_tai_offset(0);
	const Distance distance = Distance::measure();
	const auto set = [&](unsigned int round) {
		const std::int64_t now =
			nanoseconds(clocks::system_clock(CLOCK_MONOTONIC)) +
			distance.most;
		const Stamp time = stamp(
			now + (round % 4 < 2 ? nanoseconds(storm::step) : 0));

		return round % 2 ? steer::set_realtime(time) :
				   steer::set_timeofday(time, nullptr);
	};
	const Meanwhile setter(set, alone ? pause : 0, alone);

	read_all(t, sources, Realtime::is_set, distance,
		 [&] { return setter.rounds() >= enough; });
	t.diag("the time was set %u times", setter.rounds());
	t.check(!setter.error(), "the clock was not set: %s",
		strerrorname_np(setter.error()));
	t.check(setter.rounds() >= enough, "%u times are no storm",
		setter.rounds());
}

bool write_file(const std::string &path, const std::string &text)
{
	std::ofstream file(path);

	file << text << std::flush;
	return file.good();
}

/* Readers sit where the CPU goes, and are moved, too */
void check_hotplug(Case &t)
{
	constexpr unsigned int enough = 4, pause = 20000;
	const std::string online = "/sys/devices/system/cpu/cpu1/online";
	const std::vector<Source> sources = all_sources();

	if (stop_here(t, sources))
		return;
	if (!fs::exists(online))
		return t.skip(
			"there is no second CPU that could be taken away");
	if (!write_file(online, "0") || !write_file(online, "1"))
		return t.skip("the kernel does not take CPU 1 away here");

	const Meanwhile plug(
		[&](unsigned int round) {
			return write_file(online, round % 2 ? "1" : "0") ? 0 :
									   EIO;
		},
		pause);

	read_all(t, sources, Realtime::flows, Distance::measure(),
		 [&] { return plug.rounds() >= enough; });
	t.check(plug.rounds() >= enough, "too seldom");
	t.diag("CPU 1 went or came %u times", plug.rounds());
	t.check(!plug.error(), "it did not always: %s",
		strerrorname_np(plug.error()));
}

std::vector<std::string> clocksources()
{
	std::ifstream file(std::string(clocksource_directory) +
			   "available_clocksource");

	return { std::istream_iterator<std::string>(file), {} };
}

/* From one that the vDSO can read to one that it cannot, and back */
void check_clocksource(Case &t)
{
	constexpr unsigned int enough = 4, pause = 30000;
	const std::string current =
		std::string(clocksource_directory) + "current_clocksource";
	const std::vector<std::string> names = clocksources();
	const std::vector<Source> sources = all_sources();
	std::string old;

	if (stop_here(t, sources))
		return;
	if (names.size() < 2)
		return t.skip("there is one clocksource only");
	std::ifstream(current) >> old;
	{
		const Meanwhile switcher(
			[&](unsigned int round) {
				return write_file(current,
						  names[round % names.size()]) ?
					       0 :
					       EIO;
			},
			pause);

		read_all(t, sources, Realtime::flows, Distance::measure(),
			 [&] { return switcher.rounds() >= enough; });
		t.check(switcher.rounds() >= enough, "too seldom");
		t.diag("%u changes, between %zu clocksources",
		       switcher.rounds(), names.size());
		t.check(!switcher.error(), "not all worked: %s",
			strerrorname_np(switcher.error()));
	}
	write_file(current, old);
}

/* What the handler does is what it interrupts */
struct Handler {
	const std::vector<Source> *sources;
	std::atomic<unsigned int> signals;
	sampling::Tally tally;
} handler;

void sample_once(const Source &source, sampling::Tally &tally)
{
	const std::string wrong =
		clocks::complaint(source, clocks::bracket(source));

	if (wrong.empty())
		tally.good++;
	else
		tally.complain(wrong);
}

void on_signal(int)
{
	const std::vector<Source> &sources = *handler.sources;
	const Source &source = sources[handler.signals++ % sources.size()];
	const Stamp a = source.system(), now = source.vdso();
	const Stamp b = source.system();

	if (clocks::complaint(source, { a, now, b }).empty())
		handler.tally.good++;
	else
		handler.tally.bad++;
}

timer_t start_timer(std::int64_t interval)
{
	sigevent event{};
	itimerspec spec{};
	timer_t timer{};

	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = SIGALRM;
	spec.it_interval.tv_nsec = static_cast<long>(interval);
	spec.it_value = spec.it_interval;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &spec, nullptr))
		throw std::system_error(errno, std::generic_category(),
					"timer");
	return timer;
}

void check_signals(Case &t, int flags)
{
	constexpr std::int64_t interval = 300 * clocks::nsec_per_usec;
	constexpr unsigned int enough = 300;
	constexpr std::int64_t patience = 30 * clocks::nsec_per_sec;
	const std::vector<Source> sources = all_sources();
	sampling::Tally tally;
	struct sigaction action {};

	if (!Scale(sources).fine)
		return t.skip("the vDSO has no clock_gettime");
	/* Nothing of this for the first time in the handler */
	for (const Source &source : sources)
		sample_once(source, tally);
	handler.sources = &sources;
	action.sa_handler = on_signal;
	action.sa_flags = flags;
	sigaction(SIGALRM, &action, nullptr);

	const timer_t timer = start_timer(interval);
	const clocks::Deadline end(patience);

	while (handler.signals < enough && !end.passed())
		for (const Source &source : sources)
			sample_once(source, tally);
	timer_delete(timer);
	t.diag("%u signals, %u readings", handler.signals.load(),
	       tally.good + tally.bad);
	t.check(handler.signals >= enough, "%u signals are no storm",
		handler.signals.load());
	t.check(!tally.bad, "%u times like %s", tally.bad, tally.first.c_str());
	t.check(!handler.tally.bad, "%u wrong readings in the handler",
		handler.tally.bad);
}

/* A process that a tracer steps through, and what both know */
struct Traced {
	std::atomic<unsigned int> source; /* that is next, or is being read */
	std::atomic<unsigned int> done; /* readings that ended */
	std::atomic<unsigned int> bad;
};

[[noreturn]] void be_traced(Traced &shared, const std::vector<Source> &sources)
{
	ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
	for (;;) {
		raise(SIGSTOP);
		const Source &source = sources[shared.source % sources.size()];
		if (!clocks::complaint(source, clocks::bracket(source)).empty())
			shared.bad++;
		shared.done++;
	}
}

std::uintptr_t program_counter(pid_t pid)
{
#if defined(__powerpc__)
	constexpr std::size_t index = 32; /* PT_NIP */
#elif defined(__x86_64__)
	constexpr std::size_t index = 16; /* RIP */
#else
	constexpr std::size_t index = 12; /* EIP */
#endif
	return static_cast<std::uintptr_t>(
		ptrace(PTRACE_PEEKUSER, pid,
		       vdso::at<void>(index * sizeof(long)), nullptr));
}

/* Steps until the process stops by itself; the instructions of the image it was at */
std::set<std::uintptr_t> step_through(pid_t pid, const vdso::Image &image,
				      unsigned int limit)
{
	std::set<std::uintptr_t> places;
	int status = 0;

	for (unsigned int steps = 0; steps < limit; steps++) {
		ptrace(PTRACE_SINGLESTEP, pid, nullptr, nullptr);
		if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
		    WSTOPSIG(status) == SIGSTOP)
			return places;
		const std::uintptr_t pc = program_counter(pid);
		if (image.contains(pc))
			places.insert(pc);
	}
	/* The clock ticks too often for a reader so slow, which starts anew each time */
	ptrace(PTRACE_CONT, pid, nullptr, nullptr);
	waitpid(pid, &status, 0);
	return places;
}

void check_stepping(Case &t)
{
	constexpr unsigned int limit = 800, least = 4;
	const std::optional<vdso::Image> image = vdso::Image::self();
	const std::vector<Source> sources = all_sources();

	if (!image || !Scale(sources).fine)
		return t.skip("the vDSO has no clock_gettime");

	void *page = mmap(nullptr, sizeof(Traced), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	auto &shared = *new (page) Traced();
	int status = 0;

	fflush(stdout);
	const pid_t pid = fork();
	if (pid == 0)
		be_traced(shared, sources);
	waitpid(pid, &status, 0);
	for (std::size_t i = 0; i < sources.size(); i++) {
		shared.source = static_cast<unsigned int>(i);
		const auto places = step_through(pid, *image, limit);

		t.check(places.size() >= least, "%s: only %zu instructions",
			sources[i].name().c_str(), places.size());
		t.check(shared.done == i + 1, "%s: %u readings ended",
			sources[i].name().c_str(), shared.done.load());
	}
	kill(pid, SIGKILL);
	waitpid(pid, nullptr, 0);
	t.check(!shared.bad, "%u wrong readings", shared.bad.load());
	t.diag("%zu calls", sources.size());
}

/* What a new image of the program does: read everything that there is once */
int read_once()
{
	sampling::Tally tally;

	for (const Source &source : all_sources())
		sample_once(source, tally);
	return tally.bad ? 1 : 0;
}

constexpr const char *once = "--read-once";

/* The status of a program of this name that reads once, in a process of its own */
int spawn(const std::string &program, bool share_memory)
{
	char name[] = "vdso_fire", option[] = "--read-once";
	char *const arguments[] = { name, option, nullptr };
	int status = 0;
	/* NOLINTBEGIN(clang-analyzer-*Vfork,clang-analyzer-*vfork): it is what is tested */
	const pid_t pid = share_memory ? vfork() : fork();

	if (pid == 0) {
		execv(program.c_str(), arguments);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	/* NOLINTEND(clang-analyzer-*Vfork,clang-analyzer-*vfork) */
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The same program of another width, where the machine has one */
std::vector<std::string> programs()
{
	const fs::path self = fs::read_symlink("/proc/self/exe");
	std::vector<std::string> all = { self };
	std::error_code error;

	if (ktap::without("compat"))
		return all;
	for (const auto &entry :
	     fs::directory_iterator(self.parent_path().parent_path(), error)) {
		const fs::path other = entry.path() / self.filename();

		if (other != self && access(other.c_str(), X_OK) == 0)
			all.push_back(other);
	}
	return all;
}

/*
 * Processes of each width come and go and look, while this one reads and the clock
 * is set: new mappings of the image and of the page, beside old ones.
 */
void check_processes(Case &t)
{
	constexpr unsigned int rounds = 10, pause = 300;
	const std::vector<std::string> all = programs();
	const std::vector<Source> sources = all_sources();
	sampling::Tally tally;
	std::string names;

	if (!Scale(sources).fine)
		return t.skip("the vDSO has no clock_gettime");

	const Meanwhile writer(
		[](unsigned int) { return steer::set_tai_offset(0); }, pause);

	for (unsigned int round = 0; round < rounds; round++)
		for (const std::string &program : all) {
			const int status = spawn(program, round % 2);

			t.check(status == 0, "%s: status %d", program.c_str(),
				status);
			for (const Source &source : sources)
				if (!source.clock().steps)
					sample_once(source, tally);
		}
	t.check(!tally.bad, "%u times like %s", tally.bad, tally.first.c_str());
	for (const std::string &program : all)
		names += " " + program;
	t.diag("%u processes each of%s", rounds, names.c_str());
}

/* The N of reads=N, which is no name of a case */
std::optional<unsigned long> number_of_reads(std::string_view text)
{
	const char *end = text.data() + text.size();
	unsigned long number = 0;
	const auto [stopped, error] = std::from_chars(text.data(), end, number);

	if (error != std::errc() || stopped != end || !number)
		return std::nullopt;
	return number;
}

} // namespace

int main(int argc, char **argv)
{
	ktap::Suite suite;

	if (argc == 2 && !strcmp(argv[1], once))
		return read_once();

	constexpr std::string_view option = "reads=";
	const bool taken =
		argc > 1 && std::string_view(argv[1]).starts_with(option);

	if (taken) {
		const auto number = number_of_reads(argv[1] + option.size());

		if (!number) {
			fprintf(stderr,
				"vdso_fire: %s: a number is wanted, such as reads=10000000\n",
				argv[1]);
			return 1;
		}
		wanted_reads = *number;
	}
	suite.add("all clocks while the page is written all the time",
		  check_storm);
	suite.add("all clocks while the time is set all the time",
		  check_setting);
	suite.add("while a CPU goes and comes", check_hotplug);
	suite.add("while the clocksource changes", check_clocksource);
	suite.add("signals all the time", [](Case &t) { check_signals(t, 0); });
	suite.add("signals all the time, SA_RESTART | SA_SIGINFO",
		  [](Case &t) { check_signals(t, SA_RESTART | SA_SIGINFO); });
	suite.add("a tracer steps through every call", check_stepping);
	suite.add("processes of all widths come and go", check_processes);
	return suite.run(argc - taken, argv + taken);
}
