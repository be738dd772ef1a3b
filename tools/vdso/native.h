/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An x86 image beside data pages of the lab's own in this very process, and the
 * kernel's part of the work: the CPU's TSC turned into time by those pages.
 */
#ifndef VDSO_NATIVE_H
#define VDSO_NATIVE_H

#include "alternatives.h"
#include "image.h"
#include "timekeeper.h"

#include <cstdint>
#include <sched.h>
#include <string>
#include <vector>

namespace vdso
{

/* What the 64-bit and the x32 image store. */
struct stamp {
	int64_t sec, nsec;
};

constexpr int64_t in_nsec(const stamp &t)
{
	return t.sec * static_cast<int64_t>(nsec_per_sec) + t.nsec;
}

using gettime_fn = int (*)(int clock, stamp *t);

/* The TSC, read when all before is done and before anything after is begun. */
inline uint64_t fenced_tsc()
{
	uint32_t low, high;

	asm volatile("mfence; lfence; rdtsc; lfence"
		     : "=a"(low), "=d"(high)
		     :
		     : "memory");
	return uint64_t(high) << 32 | low;
}

/* The same at once, whatever the CPU is at. */
inline uint64_t plain_tsc()
{
	uint32_t low, high;

	asm volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return uint64_t(high) << 32 | low;
}

/* struct pvclock_vcpu_time_info, which KVM writes and its guests read */
struct [[gnu::packed]] pvclock {
	uint32_t version, pad0;
	uint64_t tsc_timestamp, system_time;
	uint32_t tsc_to_system_mul;
	int8_t tsc_shift;
	uint8_t flags;
	uint8_t pad[2];
};
constexpr uint8_t pvclock_tsc_stable = 1;

enum class source { tsc, pvclock };

class native_image {
    public:
	/* @img: with its alternatives applied */
	explicit native_image(const image &img);
	~native_image();
	native_image(const native_image &) = delete;
	native_image &operator=(const native_image &) = delete;

	gettime_fn gettime() const;
	/* Address of an exported function. */
	const void *function(const std::string &name) const;
	bool contains(uint64_t address) const;

	/* Where the image looks for its data. */
	unsigned char *data() const
	{
		return data_page;
	}
	struct pvclock *pvclock() const;

    private:
	int64_t offset_of(const image &img, const std::string &symbol) const;

	std::string path;
	std::map<std::string, symbol> exported;
	unsigned char *start = nullptr, *code = nullptr;
	size_t size = 0;
	unsigned char *data_page, *pvclock_page = nullptr;
};

/* How fast the TSC is, against CLOCK_MONOTONIC_RAW. */
uint64_t measure_tsc_hz();

/*
 * A straight line from the TSC to the time, and pages that are exactly on it,
 * whichever moment they are of and whichever shift they use.
 */
class time_line {
    public:
	time_line(uint64_t hz, source src);

	/* Nanoseconds since the line's start; @tsc must not be before it. */
	int64_t nsec(uint64_t tsc) const;
	/* What a clock of timekeeper() says then. */
	int64_t nsec(uint64_t tsc, int clock) const;
	/* @more_shift: the same line, written with a larger shift. */
	timekeeper at(uint64_t tsc, uint32_t more_shift = 0) const;
	struct pvclock pvclock_at(uint64_t tsc, uint32_t version) const;
	source from() const
	{
		return src;
	}
	uint64_t begin() const
	{
		return start;
	}

    private:
	source src;
	uint64_t start;
	/* of the TSC, or of the pvclock's fraction; ns = ticks * mult >> shift */
	uint32_t mult, shift;
	int8_t pv_shift;
};

/* As the kernel does it: sequence odd, the fields, sequence even. */
class page_writer {
    public:
	explicit page_writer(const native_image &img)
		: page(img.data()), pv(img.pvclock())
	{
	}
	/* Does not touch the sequence counters: readers must notice. */
	void break_rules()
	{
		broken = true;
	}
	void write(const timekeeper &tk);
	void write(const struct pvclock &value);
	/* The pvclock's base alone, as fast as can be after the TSC is read. */
	void write_quickly(const time_line &line);
	/* Both pages as of @tsc. */
	void write(const time_line &line, uint64_t tsc,
		   uint32_t more_shift = 0);
	/* The sequence counters by themselves. */
	void begin();
	void end();

    private:
	void set_seq(uint32_t value);
	void set_version(uint32_t value);

	unsigned char *page;
	struct pvclock *pv;
	uint32_t seq = 0, version = 0;
	bool broken = false;
};

/* Keeps this thread on one CPU while it lives. */
class pinned {
    public:
	explicit pinned(int cpu);
	~pinned();
	pinned(const pinned &) = delete;
	pinned &operator=(const pinned &) = delete;

    private:
	cpu_set_t before;
};

} // namespace vdso

#endif
