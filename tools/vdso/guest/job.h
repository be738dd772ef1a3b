/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the lab and its guest tell each other.
 *
 * The lab writes one job file in the guest's byte order. The guest maps the
 * segments it names, makes the calls it lists and writes the results back into
 * the same file. Everything that needs thought (which page, which address,
 * what is right) is the lab's; the guest only copies, calls and records.
 *
 * @I is a set of integer types: the guest's own, or the lab's ordered ones.
 */
#ifndef VDSO_GUEST_JOB_H
#define VDSO_GUEST_JOB_H

namespace job
{

constexpr unsigned magic = 0x76647334;
constexpr unsigned max_segments = 8;
constexpr unsigned out_words = 4;
constexpr unsigned copies = 2;

/* What happens during a call, see guest.cpp. */
enum event : unsigned {
	none,
	seq_odd_once, /* the first read of seq finds a write under way */
	seq_moved_once, /* a write happens while the counter is read */
};

template <class I> struct segment {
	typename I::u64 addr;
	typename I::u64 size;
	typename I::u64 offset; /* in the job file */
	typename I::u32 prot;
	typename I::u32 shared; /* with the writer of a torture */
};

template <class I> struct copy {
	typename I::u64 addr;
	typename I::u64 offset;
	typename I::u64 size;
};

/* How the reader of a torture knows that a result is consistent. */
enum check : unsigned {
	on_line, /* the time in nanoseconds is the counter */
	on_line_usec,
	linked, /* nsec is a function of sec */
};

constexpr unsigned link_factor = 7919;
constexpr unsigned fewest_readings = 20000;

template <class I> struct call {
	typename I::u64 function;
	typename I::u64 args[3];
	typename I::u64 counter; /* what the counter reads during the call */
	typename I::u64 counter_page; /* 0: the CPU's own counter is used */
	typename I::u64 seq; /* address of the sequence counter's low word */
	typename I::u64 data_page;
	typename I::u64 out; /* address of the words copied to the result */
	typename I::u32 event;
	typename I::u32 check;
	typename I::u32 time_size; /* of tv_sec, in bytes */
	typename I::u32 pad;
	copy<I> copies[job::copies];
};

template <class I> struct result {
	typename I::u64 value; /* r3 or rax */
	typename I::u64 value2; /* r4 */
	typename I::u64 cr;
	typename I::u64 clobbered; /* bit n: non-volatile register n changed */
	typename I::u64 out[out_words];
	typename I::u32 event_seen;
	typename I::u32 pad;
};

/*
 * A writer goes round and round through versions of the page. All of them are
 * the same straight line from counter to time, each given by another point and
 * another scale, so a mixture of two is seen in the result.
 */
template <class I> struct torture {
	typename I::u64 seconds; /* 0: none */
	typename I::u64 nr_versions;
	typename I::u64 versions; /* offset in the job file */
	typename I::u64 version_size;
	typename I::u64 page; /* where a version goes */
	typename I::u64 seq; /* address of the sequence counter's low word */
	typename I::u64 counter;
	typename I::u64 tolerance; /* in nanoseconds */
	typename I::u64 keep_seq; /* a broken writer, to see the reader notice */
	/* what comes back */
	typename I::u64 readings;
	typename I::u64 updates;
	typename I::u64 bad_call; /* number of the call + 1 */
	typename I::u64 bad_sec, bad_nsec, bad_before, bad_after;
};

template <class I> struct header {
	typename I::u32 magic;
	typename I::u32 nr_segments;
	typename I::u64 nr_calls;
	typename I::u64 calls_offset;
	typename I::u64 results_offset;
	typename I::u64 marker; /* code that only returns; 0: none */
	typename I::u64 page_size;
	job::torture<I> torture;
	segment<I> segments[max_segments];
};

/* What out words are filled with before each call. */
constexpr unsigned long long poison = 0x5a5a5a5a5a5a5a5aULL;

} // namespace job

#endif
