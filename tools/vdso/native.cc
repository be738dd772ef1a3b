// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an x86 vDSO costs is a question to the CPU at hand, not to an emulator,
 * and whether its reads are ordered even more so. A vDSO image is position
 * independent and finds its data by distance, so it can be mapped a second
 * time, in a process that has one already, behind pages that the lab writes;
 * two images can be compared in one run without a boot between them.
 *
 * The symbol table of the .so.dbg says where the image expects which page.
 */
#include "native.h"
#include "integers.h"

#include <cpus.h>
#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <elf.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

namespace vdso
{

namespace
{

using uint128 = unsigned __int128;
using both_data = generic_data<little>[2];

constexpr uint64_t page_bytes = 4096;
constexpr int32_t tsc_mode = 1, pvclock_mode = 2;
constexpr uint32_t line_shift = 22;
constexpr uint32_t pvclock_fraction = 32;
constexpr int64_t start_sec = 1600000000;
constexpr timespec_pair to_monotonic = { 5000 - start_sec, 500000000 };
constexpr timespec_pair to_boot = { 17, 1000 };
constexpr int32_t tai_offset = 37;

uint64_t page_up(uint64_t n)
{
	return (n + page_bytes - 1) & ~(page_bytes - 1);
}

uint64_t raw_nsec()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return static_cast<uint64_t>(t.tv_sec) * nsec_per_sec +
	       static_cast<uint64_t>(t.tv_nsec);
}

uint64_t scaled(uint64_t n, uint32_t mult, uint32_t shift)
{
	return static_cast<uint64_t>(uint128(n) * mult >> shift);
}

} // namespace

/* An address below the image is a large number in 32 or in 64 bits. */
int64_t native_image::offset_of(const image &img,
				const std::string &symbol) const
{
	auto it = img.symbols.find(symbol);

	if (it == img.symbols.end())
		throw user_error{ fmt::format(
			"{}: no symbol {}; give an unstripped vdso*.so.dbg",
			path, symbol) };
	if (img.bytes[EI_CLASS] == ELFCLASS32)
		return static_cast<int32_t>(it->second.value);
	return static_cast<int64_t>(it->second.value);
}

native_image::native_image(const image &img)
	: path(img.path), exported(img.exported)
{
	if (img.arch != machine::x86_64)
		throw user_error{ fmt::format(
			"{}: this process can only call 64-bit x86 code",
			path) };
	auto before = static_cast<uint64_t>(-offset_of(img, "vvar_start"));
	uint64_t length = page_up(img.bytes.size());

	size = before + length;
	void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		throw user_error{ fmt::format("{}: no memory for it: {}", path,
					      strerror(errno)) };
	start = static_cast<unsigned char *>(memory);
	code = start + before;
	memcpy(code, img.bytes.data(), img.bytes.size());
	if (mprotect(code, length, PROT_READ | PROT_EXEC)) {
		munmap(start, size);
		throw user_error{ fmt::format(
			"{}: cannot be made executable: {}", path,
			strerror(errno)) };
	}
	data_page = code + offset_of(img, "vvar__vdso_data");
	if (img.symbols.count("pvclock_page"))
		pvclock_page = code + offset_of(img, "pvclock_page");
}

native_image::~native_image()
{
	munmap(start, size);
}

const void *native_image::function(const std::string &name) const
{
	auto it = exported.find(name);

	if (it == exported.end())
		throw user_error{ fmt::format("{}: no {}", path, name) };
	return code + it->second.value;
}

gettime_fn native_image::gettime() const
{
	return reinterpret_cast<gettime_fn>(
		const_cast<void *>(function("__vdso_clock_gettime")));
}

bool native_image::contains(uint64_t address) const
{
	auto begin = reinterpret_cast<uint64_t>(code);

	return address >= begin &&
	       address < reinterpret_cast<uint64_t>(start + size);
}

struct pvclock *native_image::pvclock() const
{
	if (!pvclock_page)
		throw user_error{ fmt::format(
			"{}: knows no pvclock page, the kernel was built without "
			"CONFIG_PARAVIRT_CLOCK",
			path) };
	return reinterpret_cast<struct pvclock *>(pvclock_page);
}

uint64_t measure_tsc_hz()
{
	constexpr uint64_t span = 100000000;
	uint64_t begin = raw_nsec(), tsc = fenced_tsc(), end;

	do
		end = raw_nsec();
	while (end - begin < span);
	return static_cast<uint64_t>(uint128(fenced_tsc() - tsc) *
				     nsec_per_sec / (end - begin));
}

time_line::time_line(uint64_t hz, source s)
	: src(s), start(fenced_tsc()), pv_shift(0)
{
	if (src == source::tsc) {
		shift = line_shift;
		mult = static_cast<uint32_t>((nsec_per_sec << shift) / hz);
		return;
	}
	/* The largest fraction that fits, as KVM chooses it */
	while (hz > 2 * nsec_per_sec) {
		hz >>= 1;
		pv_shift--;
	}
	while (hz <= nsec_per_sec) {
		hz <<= 1;
		pv_shift++;
	}
	shift = pvclock_fraction;
	mult = static_cast<uint32_t>((uint128(nsec_per_sec) << shift) / hz);
}

int64_t time_line::nsec(uint64_t tsc) const
{
	uint64_t ticks = tsc - start;

	if (src == source::pvclock)
		ticks = pv_shift < 0 ? ticks >> -pv_shift : ticks << pv_shift;
	return static_cast<int64_t>(scaled(ticks, mult, shift));
}

int64_t time_line::nsec(uint64_t tsc, int clock) const
{
	int64_t t = nsec(tsc) + in_nsec({ start_sec, 0 });

	if (clock == tai)
		return t + in_nsec({ tai_offset, 0 });
	if (clock == monotonic || clock == boottime)
		t += in_nsec({ to_monotonic.sec, to_monotonic.nsec });
	if (clock == boottime)
		t += in_nsec({ to_boot.sec, to_boot.nsec });
	if (clock == monotonic_raw)
		t -= in_nsec({ start_sec, 0 });
	return t;
}

timekeeper time_line::at(uint64_t tsc, uint32_t more_shift) const
{
	timekeeper tk;
	bool pv = src == source::pvclock;
	uint128 shifted;

	tk.clock_mode = pv ? pvclock_mode : tsc_mode;
	tk.shift = tk.raw_shift = line_shift + more_shift;
	if (pv) {
		/* A pvclock counts nanoseconds */
		tk.mult = 1U << tk.shift;
		tk.cycle_last = static_cast<uint64_t>(nsec(tsc));
		shifted = uint128(tk.cycle_last) << tk.shift;
	} else {
		tk.mult = mult << more_shift;
		tk.cycle_last = tsc;
		shifted = uint128(tsc - start) * tk.mult;
	}
	tk.raw_mult = tk.mult;
	uint128 second = uint128(nsec_per_sec) << tk.shift;
	tk.raw_sec = static_cast<int64_t>(shifted / second);
	tk.xtime_sec = start_sec + tk.raw_sec;
	tk.xtime_nsec = tk.raw_nsec = static_cast<uint64_t>(shifted % second);
	tk.wall_to_monotonic = to_monotonic;
	tk.monotonic_to_boot = to_boot;
	tk.tai_offset = tai_offset;
	return tk;
}

struct pvclock time_line::pvclock_at(uint64_t tsc, uint32_t version) const
{
	struct pvclock pv = {};

	pv.version = version;
	pv.tsc_timestamp = tsc;
	pv.system_time = static_cast<uint64_t>(nsec(tsc));
	pv.tsc_to_system_mul = mult;
	pv.tsc_shift = pv_shift;
	pv.flags = pvclock_tsc_stable;
	return pv;
}

void page_writer::set_seq(uint32_t value)
{
	for (size_t i = 0; i < 2; i++) {
		auto *word = reinterpret_cast<uint32_t *>(
			page + i * sizeof(generic_data<little>));

		std::atomic_ref<uint32_t>(*word).store(
			value, std::memory_order_relaxed);
	}
}

void page_writer::begin()
{
	seq++;
	if (!broken)
		set_seq(seq);
	std::atomic_thread_fence(std::memory_order_release);
}

void page_writer::end()
{
	std::atomic_thread_fence(std::memory_order_release);
	seq++;
	if (!broken)
		set_seq(seq);
}

void page_writer::write(const timekeeper &tk)
{
	both_data data = {};

	fill(data, tk);
	begin();
	for (size_t i = 0; i < 2; i++) {
		constexpr size_t behind_seq = sizeof(data[0].seq);

		memcpy(page + i * sizeof(data[0]) + behind_seq,
		       reinterpret_cast<unsigned char *>(&data[i]) + behind_seq,
		       sizeof(data[0]) - behind_seq);
	}
	end();
}

void page_writer::set_version(uint32_t value)
{
	auto *word = reinterpret_cast<uint32_t *>(reinterpret_cast<char *>(pv));

	if (!broken)
		std::atomic_ref<uint32_t>(*word).store(
			value, std::memory_order_release);
	std::atomic_thread_fence(std::memory_order_release);
}

void page_writer::write(const struct pvclock &value)
{
	constexpr size_t behind_version = sizeof(value.version);

	set_version(++version);
	memcpy(reinterpret_cast<char *>(pv) + behind_version,
	       reinterpret_cast<const char *>(&value) + behind_version,
	       sizeof(value) - behind_version);
	set_version(++version);
}

void page_writer::write_quickly(const time_line &line)
{
	uint64_t tsc = plain_tsc();

	set_version(++version);
	pv->tsc_timestamp = tsc;
	pv->system_time = static_cast<uint64_t>(line.nsec(tsc));
	set_version(++version);
}

void page_writer::write(const time_line &line, uint64_t tsc,
			uint32_t more_shift)
{
	if (line.from() == source::pvclock)
		write(line.pvclock_at(tsc, 0));
	write(line.at(tsc, more_shift));
}

pinned::pinned(int cpu)
{
	sched_getaffinity(0, sizeof(before), &before);
	if (!cpus::pin(cpu))
		throw user_error{ fmt::format("cannot run on CPU {}: {}", cpu,
					      strerror(errno)) };
}

pinned::~pinned()
{
	sched_setaffinity(0, sizeof(before), &before);
}

} // namespace vdso
