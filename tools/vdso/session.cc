// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs calls in a guest process and brings back what they did.
 *
 * Under qemu-user the timebase is the host's clock, which no test could
 * predict. So in the copy of the image that is run, each read of the timebase
 * is replaced by a load, one instruction for one instruction, from a fixed
 * word at an address that a load can name without a base register. Nothing
 * else of the image is touched.
 *
 * Exact paths come from qemu's execution log in single step mode. A marker, a
 * lone return instruction that is executed before each call, tells the calls
 * of one run apart.
 */
#include "session.h"
#include "integers.h"
#include "process.h"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <sys/mman.h>

namespace vdso
{

namespace
{

constexpr uint64_t page = 4096;
constexpr uint64_t counter_addr = 0x1000;
constexpr uint64_t marker_addr = 0x13000000;
constexpr uint64_t image_stride = 0x1000000;
constexpr uint32_t blr = 0x4e800020;

uint64_t round_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

/* The load that stands in for a read of the timebase, or 0 if @insn is none. */
uint32_t counter_load(uint32_t insn, machine arch, std::endian order)
{
	uint32_t opcode = insn >> 26, extended = insn >> 1 & 0x3ff;
	uint32_t spr = (insn >> 16 & 0x1f) | (insn >> 6 & 0x3e0);
	uint32_t target = insn & 0x03e00000;

	if (opcode != 31 || (extended != 371 && extended != 339) ||
	    (spr != 268 && spr != 269))
		return 0;
	if (arch == machine::ppc64 && spr == 268)
		return 58U << 26 | target | counter_addr;
	bool second = (spr == 268) == (order == std::endian::big);
	return 32U << 26 | target |
	       static_cast<uint32_t>(counter_addr + (second ? 4 : 0));
}

void put_word(std::vector<unsigned char> &bytes, uint64_t offset,
	      uint32_t value, std::endian order)
{
	if (order != std::endian::native)
		value = __builtin_bswap32(value);
	memcpy(&bytes.at(offset), &value, sizeof(value));
}

struct guest_kind {
	const char *qemu, *guest, *cpu;
};

guest_kind kind_of(machine arch, std::endian order)
{
	if (arch == machine::ppc)
		return { "qemu-ppc", "guest-ppc32", "e500mc" };
	if (order == std::endian::big)
		return { "qemu-ppc64", "guest-ppc64", "power9" };
	return { "qemu-ppc64le", "guest-ppc64le", "power9" };
}

/* "Trace 0: 0x7f.. [cs_base/pc/flags/cflags] symbol": the second field is the pc. */
std::vector<std::vector<uint64_t> > read_trace(const std::string &path)
{
	std::vector<std::vector<uint64_t> > calls;
	std::ifstream in(path);
	std::string line;

	while (std::getline(in, line)) {
		size_t open = line.find('['), slash = line.find('/', open);

		if (!line.starts_with("Trace") || slash == std::string::npos)
			continue;
		uint64_t pc = std::stoull(line.substr(slash + 1), nullptr, 16);
		if (pc == marker_addr)
			calls.emplace_back();
		else if (!calls.empty())
			calls.back().push_back(pc);
	}
	return calls;
}

} // namespace

session::session(environment environment, machine machine, std::endian endian)
	: env(std::move(environment)), arch(machine), order(endian)
{
	std::vector<unsigned char> marker(page);

	put_word(marker, 0, blr, order);
	areas.push_back({ counter_addr, std::vector<unsigned char>(page),
			  PROT_READ | PROT_WRITE });
	areas.push_back({ scratch_addr, std::vector<unsigned char>(page),
			  PROT_READ | PROT_WRITE });
	areas.push_back({ marker_addr, marker, PROT_READ | PROT_EXEC });
}

uint64_t session::add_image(const image &img, uint64_t bytes_before,
			    std::vector<unsigned char> before,
			    std::vector<unsigned char> behind)
{
	uint64_t base = next_base + bytes_before;
	std::vector<unsigned char> code = img.bytes;
	image copy = img;

	for (uint64_t at = img.text_start; at + 4 <= img.text_end; at += 4)
		if (uint32_t insn = counter_load(img.word(at), arch, order))
			copy.set_word(at, insn);
	code = copy.bytes;
	code.resize(round_up(code.size(), page));
	before.resize(bytes_before);
	behind.resize(round_up(behind.size(), page));
	if (bytes_before)
		areas.push_back({ next_base, std::move(before),
				  PROT_READ | PROT_WRITE });
	text.emplace_back(base, code.size());
	uint64_t end = base + code.size();
	areas.push_back({ base, std::move(code), PROT_READ | PROT_EXEC });
	if (!behind.empty())
		areas.push_back(
			{ end, std::move(behind), PROT_READ | PROT_WRITE });
	next_base += image_stride;
	return base;
}

void session::preset(const patch &where)
{
	for (auto &a : areas)
		if (where.addr >= a.addr && where.addr + where.bytes.size() <=
						    a.addr + a.content.size()) {
			memcpy(&a.content[where.addr - a.addr],
			       where.bytes.data(), where.bytes.size());
			return;
		}
	throw user_error{ fmt::format("nothing is mapped at {:#x}",
				      where.addr) };
}

template <class I>
std::vector<unsigned char> session::write_job(const std::vector<call> &calls,
					      const torture_plan *plan)
{
	job::header<I> header = {};
	uint64_t at = round_up(sizeof(header), page);

	header.magic = job::magic;
	header.page_size = page;
	header.marker = marker_addr;
	header.nr_segments = static_cast<uint32_t>(areas.size());
	for (size_t i = 0; i < areas.size(); i++) {
		auto &seg = header.segments[i];

		seg.addr = areas[i].addr;
		seg.size = areas[i].content.size();
		seg.prot = areas[i].prot;
		seg.shared = plan && (areas[i].prot & PROT_WRITE) &&
			     areas[i].addr != scratch_addr;
		seg.offset = at;
		at += areas[i].content.size();
	}
	header.nr_calls = calls.size();
	header.calls_offset = at;
	at += calls.size() * sizeof(job::call<I>);
	header.results_offset = results_offset = at;
	at += calls.size() * sizeof(job::result<I>);

	std::vector<unsigned char> file(at);
	if (plan) {
		auto &t = header.torture;

		t.seconds = plan->seconds;
		t.nr_versions = plan->versions.size();
		t.version_size = plan->versions[0].size();
		t.page = plan->page;
		t.seq = plan->seq;
		t.counter = counter_addr;
		t.tolerance = plan->tolerance;
		t.keep_seq = plan->keep_seq;
		t.versions = file.size();
		for (const auto &version : plan->versions)
			file.insert(file.end(), version.begin(), version.end());
		file.resize(round_up(file.size(), 8));
	}
	memcpy(file.data(), &header, sizeof(header));
	for (size_t i = 0; i < areas.size(); i++)
		memcpy(&file[header.segments[i].offset],
		       areas[i].content.data(), areas[i].content.size());
	for (size_t i = 0; i < calls.size(); i++) {
		job::call<I> out = {};
		const call &in = calls[i];

		out.function = in.function;
		for (size_t n = 0; n < in.args.size(); n++)
			out.args[n] = in.args[n];
		out.counter = in.counter;
		out.counter_page = counter_addr;
		out.event = in.event;
		out.seq = in.seq;
		out.data_page = in.data_page;
		out.check = in.check;
		out.time_size = in.time_size;
		out.out = scratch_addr;
		for (size_t n = 0; n < in.patches.size() && n < job::copies;
		     n++) {
			out.copies[n].addr = in.patches[n].addr;
			out.copies[n].offset = file.size();
			out.copies[n].size = in.patches[n].bytes.size();
			file.insert(file.end(), in.patches[n].bytes.begin(),
				    in.patches[n].bytes.end());
			file.resize(round_up(file.size(), 8));
		}
		memcpy(&file[header.calls_offset + i * sizeof(out)], &out,
		       sizeof(out));
	}
	return file;
}

template <class I>
std::vector<outcome>
session::read_results(const std::vector<unsigned char> &file, size_t count)
{
	std::vector<outcome> outcomes(count);

	for (size_t i = 0; i < count; i++) {
		job::result<I> in;
		outcome &out = outcomes[i];

		memcpy(&in, &file.at(results_offset + i * sizeof(in)),
		       sizeof(in));
		out.value = in.value;
		out.value2 = in.value2;
		out.cr = in.cr;
		out.clobbered = in.clobbered;
		for (size_t n = 0; n < job::out_words; n++)
			out.out[n] = in.out[n];
		out.event_seen = in.event_seen;
	}
	return outcomes;
}

template <class I>
torture_result session::read_torture(const std::vector<unsigned char> &file)
{
	job::header<I> header;

	memcpy(&header, file.data(), sizeof(header));
	const auto &t = header.torture;
	return { t.readings, t.updates,	   t.bad_call, t.bad_sec,
		 t.bad_nsec, t.bad_before, t.bad_after };
}

/* Runs the guest on @job, and returns the job as the guest left it. */
std::vector<unsigned char>
session::execute(const std::vector<unsigned char> &job,
		 const std::vector<std::string> &extra, unsigned seconds)
{
	guest_kind kind = kind_of(arch, order);
	temp_dir dir;
	std::string path = dir.path() + "/job";
	std::vector<std::string> argv = { kind.qemu, "-B", "0x100000000",
					  "-cpu",
					  env.cpu.empty() ? kind.cpu :
							    env.cpu };

	write_file(path, job);
	argv.insert(argv.end(), extra.begin(), extra.end());
	argv.insert(argv.end(), { env.guest_dir + "/" + kind.guest, path,
				  std::to_string(job.size()) });
	run_process(argv, seconds);
	return read_file(path);
}

std::vector<outcome> session::run(const std::vector<call> &calls, bool trace,
				  unsigned seconds)
{
	bool big = order == std::endian::big;
	temp_dir dir;
	std::string trace_path = dir.path() + "/trace";
	std::vector<std::string> extra;

	if (trace) {
		std::string filter = fmt::format("{:#x}+4", marker_addr);

		for (auto [start, size] : text)
			filter += fmt::format(",{:#x}+{:#x}", start, size);
		extra = { "-singlestep", "-d", "exec,nochain", "-dfilter",
			  filter,	 "-D", trace_path };
	}
	auto file = execute(big ? write_job<vdso::big>(calls, nullptr) :
				  write_job<vdso::little>(calls, nullptr),
			    extra, seconds);
	std::vector<outcome> outcomes =
		big ? read_results<vdso::big>(file, calls.size()) :
		      read_results<vdso::little>(file, calls.size());
	if (!trace)
		return outcomes;
	auto traces = read_trace(trace_path);
	if (traces.size() != calls.size())
		throw user_error{ fmt::format(
			"{} calls in qemu's execution log, not {}",
			traces.size(), calls.size()) };
	for (size_t i = 0; i < calls.size(); i++)
		outcomes[i].trace = std::move(traces[i]);
	return outcomes;
}

torture_result session::torture(const std::vector<call> &calls,
				const torture_plan &plan)
{
	auto seconds = static_cast<unsigned>(plan.seconds) + 60;

	for (auto &a : areas)
		if (a.addr == counter_addr)
			for (unsigned i = 0; i < 8; i++)
				a.content[order == std::endian::big ? 7 - i : i] =
					static_cast<unsigned char>(
						plan.counter >> (8 * i));
	if (order == std::endian::big)
		return read_torture<vdso::big>(execute(
			write_job<vdso::big>(calls, &plan), {}, seconds));
	return read_torture<vdso::little>(
		execute(write_job<vdso::little>(calls, &plan), {}, seconds));
}

} // namespace vdso
