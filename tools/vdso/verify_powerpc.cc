// SPDX-License-Identifier: GPL-2.0-only
/*
 * Walks every path of every function of a PowerPC vDSO image with symbolic
 * values and reports the first path that breaks a rule.
 *
 * The convention is easy to break unseen: a test calls a function with a few
 * arguments and looks at what came back, while the path that a signal, a busy
 * sequence counter or an unknown clock takes is the one that leaves CR0.SO as
 * some comparison set it. An image is a few hundred instructions, so all paths
 * can be walked instead.
 *
 * A register holds the value it had on entry, a constant, an address in the
 * image or in the frame, something reached through a pointer argument, or
 * something unknown. States that were seen at an instruction are not walked
 * again; where too many differ they are merged, so loops come to an end.
 */
#include "cfi.h"
#include "ppc_insn.h"
#include "verify.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>

namespace vdso
{

namespace
{

struct value {
	enum kind_t : uint8_t {
		unknown,
		entry, /* what register n held on entry */
		argument, /* made of argument register n */
		constant,
		image, /* the image's address + n */
		frame, /* r1 on entry + n */
		data, /* inside the data pages */
		saved_cr, /* CR2-CR4 of the entry are in there */
	} kind = unknown;
	int64_t n = 0;

	bool operator==(const value &) const = default;
	bool is(kind_t k, int64_t number) const
	{
		return kind == k && n == number;
	}
};

enum class so_bit : uint8_t { undefined, clear, set, syscall };

constexpr int lr = 32;
constexpr int ctr = 33;
constexpr int dwarf_lr = 65;
constexpr unsigned most_states =
	200; /* at one instruction, before they are merged */
constexpr int64_t red_zone = 288;

struct activation {
	int64_t return_to; /* offset in the image */
	value sp;

	bool operator==(const activation &) const = default;
};

struct comparison {
	int reg = -1;
	int64_t with = 0;

	bool operator==(const comparison &) const = default;
};

struct state {
	std::array<value, 34> regs;
	std::map<int64_t, value> frame;
	std::array<bool, 8> cr_kept; /* the field is as on entry */
	std::array<comparison, 8> compared;
	so_bit so = so_bit::undefined;
	std::vector<activation> calls;

	bool operator==(const state &) const = default;
};

struct node {
	uint64_t pc;
	state s;
	size_t parent;
};

/* Registers of the arguments through which a function stores. */
std::set<int64_t> pointer_arguments(const std::string &function)
{
	if (function == "__kernel_gettimeofday" ||
	    function == "__kernel_getcpu")
		return { 3, 4 };
	if (function == "__kernel_time" ||
	    function == "__kernel_get_syscall_map")
		return { 3 };
	if (function.starts_with("__kernel_clock_"))
		return { 4 };
	return {};
}

bool returns_int(const std::string &function)
{
	return function.starts_with("__kernel_clock_") ||
	       function == "__kernel_gettimeofday" ||
	       function == "__kernel_getcpu";
}

class walker {
    public:
	walker(const image &image, const cfi_table &table,
	       const std::string &name, std::vector<violation> &found)
		: img(image), cfi(table), function(name),
		  pointers(pointer_arguments(name)), violations(found)
	{
	}

	void walk(uint64_t start);

    private:
	void report(const std::string &rule, const std::string &what);
	void step(state s);
	void go(uint64_t pc, state s);
	void follow(int64_t target, state s);
	void branch(const ppc_insn &i, state s, const value &target,
		    bool is_return);
	void refine(state &s, const ppc_insn &i, bool taken) const;
	void leave(const state &s, const value &target);
	void check_return(const state &s);
	void check_cfi(const state &s);
	value recover(const state &s, const saved_rule &rule,
		      const value &cfa) const;
	void access(state &s, const ppc_insn &i);
	void load(state &s, const ppc_insn &i, const value &address);
	void store(state &s, const ppc_insn &i, const value &address);
	void arithmetic(state &s, const ppc_insn &i);
	void condition(state &s, const ppc_insn &i);
	void write(state &s, int reg, const value &v);
	value read(const state &s, int reg) const;
	value sum(const value &a, const value &b) const;
	value normal(value v) const;
	void system_call(state &s);

	const image &img;
	const cfi_table &cfi;
	std::string function;
	std::set<int64_t> pointers;
	std::vector<violation> &violations;
	std::set<std::string> reported;
	std::vector<node> nodes;
	std::vector<size_t> work;
	std::map<uint64_t, std::vector<size_t> > seen;
	size_t at = 0; /* the node being worked on */
};

void walker::report(const std::string &rule, const std::string &what)
{
	if (reported.insert(rule).second)
		violations.push_back(
			{ rule, function, what, path_to(nodes, at) });
}

value walker::normal(value v) const
{
	if (!img.is64() && v.kind != value::entry && v.kind != value::argument)
		v.n = static_cast<int32_t>(v.n);
	/* before the image are the data pages; behind it the assembly vDSO's */
	if (v.kind == value::image &&
	    (v.n < 0 || static_cast<uint64_t>(v.n) >= img.bytes.size()))
		return { value::data, 0 };
	if (v.kind == value::data)
		v.n = 0;
	return v;
}

value walker::read(const state &s, int reg) const
{
	return reg < 0 ? value{ value::constant, 0 } :
			 s.regs[static_cast<size_t>(reg)];
}

void walker::write(state &s, int reg, const value &v)
{
	if (reg < 0)
		return;
	if (reg == 30 && img.is64())
		report("r30", "r30 is written");
	s.regs[static_cast<size_t>(reg)] = normal(v);
	for (auto &c : s.compared)
		if (c.reg == reg)
			c = {};
}

value walker::sum(const value &a, const value &b) const
{
	if (a.kind == value::constant &&
	    (b.kind == value::constant || b.kind == value::image ||
	     b.kind == value::frame))
		return { b.kind, b.n + a.n };
	if (b.kind == value::constant &&
	    (a.kind == value::image || a.kind == value::frame))
		return { a.kind, a.n + b.n };
	for (const value *v : { &a, &b })
		if (v->kind == value::image || v->kind == value::data)
			return { value::data, 0 };
	for (const value *v : { &a, &b })
		if (v->kind == value::argument ||
		    (v->kind == value::entry && v->n >= 3 && v->n <= 10))
			return { value::argument, v->n };
	return {};
}

void walker::load(state &s, const ppc_insn &i, const value &address)
{
	value loaded;

	if (address.kind == value::image) {
		for (const auto &[name, sec] : img.sections)
			if (name.starts_with(".got") &&
			    static_cast<uint64_t>(address.n) >= sec.start &&
			    static_cast<uint64_t>(address.n) <
				    sec.start + sec.size)
				report("got",
				       fmt::format("load from {}", name));
	}
	if (address.kind == value::entry && (address.n == 2 || address.n == 13))
		report("got",
		       fmt::format("load through the caller's r{}", address.n));
	if (address.kind == value::frame) {
		auto it = s.frame.find(address.n);

		if (it != s.frame.end() && (i.size == 8 || !img.is64()))
			loaded = it->second;
	}
	write(s, i.dest, loaded);
}

void walker::store(state &s, const ppc_insn &i, const value &address)
{
	bool through_argument = (address.kind == value::argument ||
				 address.kind == value::entry) &&
				pointers.count(address.n);
	const value &sp = s.regs[1];
	int64_t lowest = img.is64() ? sp.n - red_zone : sp.n;

	if (address.kind == value::frame) {
		if (address.n >= 0)
			report("store",
			       fmt::format(
				       "store to the caller's frame, at r1+{}",
				       address.n));
		if (sp.kind == value::frame && !(i.update && i.ra == 1) &&
		    address.n < lowest)
			report("store", "store below the stack pointer");
		int64_t word = img.is64() ? 8 : 4;
		for (int64_t n = address.n - word + 1;
		     n < address.n + static_cast<int64_t>(i.size); n++)
			s.frame.erase(n);
		s.frame[address.n] = read(s, i.value);
		return;
	}
	if (!through_argument)
		report("store",
		       "store to what is neither a pointer argument nor the frame");
}

void walker::access(state &s, const ppc_insn &i)
{
	value ra = read(s, i.ra);
	value address = i.rb >= 0 ? sum(ra, read(s, i.rb)) :
			i.imm	  ? sum(ra, { value::constant, i.imm }) :
				    ra;

	/* r2 and r13 with a displacement are still the caller's TOC and TLS */
	if (ra.kind == value::entry && (ra.n == 2 || ra.n == 13))
		address = ra;
	address = normal(address);
	if (i.op == ppc_op::load)
		load(s, i, address);
	else
		store(s, i, address);
	if (i.update)
		write(s, i.ra, address);
}

void walker::arithmetic(state &s, const ppc_insn &i)
{
	value result;

	switch (i.op) {
	case ppc_op::li:
		result = { value::constant, i.imm };
		break;
	case ppc_op::add_imm:
		result = sum(read(s, i.ra), { value::constant, i.imm });
		break;
	case ppc_op::or_imm:
		if (read(s, i.ra).kind == value::constant)
			result = { value::constant, read(s, i.ra).n | i.imm };
		break;
	case ppc_op::add:
		result = sum(read(s, i.ra), read(s, i.rb));
		break;
	case ppc_op::move:
		result = read(s, i.ra);
		break;
	case ppc_op::extend:
		if (read(s, i.ra).kind == value::constant)
			result = { value::constant,
				   static_cast<int32_t>(read(s, i.ra).n) };
		break;
	case ppc_op::zero:
		result = { value::constant, 0 };
		break;
	case ppc_op::mflr:
		result = s.regs[lr];
		break;
	default:
		break;
	}
	write(s, i.dest, result);
	if (i.record) {
		s.cr_kept[0] = false;
		s.so = so_bit::undefined;
		s.compared[0] = { i.dest, 0 };
	}
}

void walker::condition(state &s, const ppc_insn &i)
{
	unsigned field = i.op == ppc_op::cr_logic ? i.bit / 4 : i.field;

	if (i.op == ppc_op::mtcrf) {
		bool saved = read(s, i.ra).kind == value::saved_cr;

		for (unsigned f = 0; f < 8; f++) {
			if (!(i.field & (0x80U >> f)))
				continue;
			s.cr_kept[f] = saved && f >= 2 && f <= 4;
			s.compared[f] = {};
			if (!f)
				s.so = so_bit::undefined;
		}
		return;
	}
	s.cr_kept[field] = false;
	if (i.op != ppc_op::cr_logic ||
	    i.bit % 4 == 2) /* what compared equal still does */
		s.compared[field] = {};
	if (i.op == ppc_op::compare_imm)
		s.compared[field] = { i.ra, i.imm };
	if (field)
		return;
	if (i.op != ppc_op::cr_logic)
		s.so = so_bit::undefined;
	else if (i.bit == 3)
		s.so = i.bit_value == ppc_insn::clear ? so_bit::clear :
		       i.bit_value == ppc_insn::set   ? so_bit::set :
							so_bit::undefined;
}

void walker::system_call(state &s)
{
	write(s, 0, {});
	for (int r = 3; r <= 12; r++)
		write(s, r, {});
	s.regs[ctr] = {};
	for (unsigned f : { 0U, 1U, 5U, 6U, 7U }) {
		s.cr_kept[f] = false;
		s.compared[f] = {};
	}
	s.so = so_bit::syscall;
}

value walker::recover(const state &s, const saved_rule &rule,
		      const value &cfa) const
{
	switch (rule.kind) {
	case saved_rule::same:
		return s.regs[lr];
	case saved_rule::in_register:
		return rule.n == dwarf_lr ? s.regs[lr] :
		       rule.n < 32 ? s.regs[static_cast<size_t>(rule.n)] :
				     value{};
	case saved_rule::at_cfa: {
		auto it = s.frame.find(cfa.n + rule.n);

		if (cfa.kind == value::frame && it != s.frame.end())
			return it->second;
		return {};
	}
	default:
		return {};
	}
}

void walker::check_cfi(const state &s)
{
	auto row = cfi.at(img.load_address + nodes[at].pc);
	value want_cfa = { value::frame, 0 }, want_ra = { value::entry, lr };

	if (!row)
		return report("cfi", "no call frame information here");
	if (!s.calls.empty()) {
		want_cfa = s.calls.back().sp;
		want_ra = { value::image, s.calls.back().return_to };
	}
	value cfa;
	if (row->cfa.simple && row->cfa.reg < 32)
		cfa = sum(s.regs[static_cast<size_t>(row->cfa.reg)],
			  { value::constant, row->cfa.offset });
	if (cfa != want_cfa)
		report("cfi", "the CFA is wrong here");
	else if (recover(s, row->return_address, cfa) != want_ra)
		report("cfi", "the return address is wrong here");
}

void walker::check_return(const state &s)
{
	if (!s.regs[1].is(value::frame, 0))
		report("preserved", "r1 is not as on entry");
	for (int r : { 2,  13, 14, 15, 16, 17, 18, 19, 20, 21,
		       22, 23, 24, 25, 26, 27, 28, 29, 30, 31 })
		if (!s.regs[static_cast<size_t>(r)].is(value::entry, r))
			report("preserved",
			       fmt::format("r{} is not as on entry", r));
	for (unsigned f = 2; f <= 4; f++)
		if (!s.cr_kept[f])
			report("preserved",
			       fmt::format("CR{} is not as on entry", f));

	const value &r3 = s.regs[3];
	switch (s.so) {
	case so_bit::undefined:
		report("so",
		       "CR0.SO is left as a comparison or the caller set it");
		break;
	case so_bit::clear:
		if (returns_int(function) && !r3.is(value::constant, 0))
			report("so", "CR0.SO says success and r3 is not 0");
		break;
	case so_bit::set:
		if (r3.kind == value::constant && r3.n <= 0)
			report("so",
			       "CR0.SO says error and r3 is not a positive errno");
		break;
	case so_bit::syscall:
		break;
	}
}

void walker::leave(const state &s, const value &target)
{
	if (target.is(value::entry, lr) && s.calls.empty())
		return check_return(s);
	if (target.kind == value::image && !s.calls.empty() &&
	    target.n == s.calls.back().return_to) {
		state after = s;

		after.calls.pop_back();
		return follow(target.n, std::move(after));
	}
	report("branch", "return to what is not the return address");
}

void walker::follow(int64_t target, state s)
{
	if (target < static_cast<int64_t>(img.text_start) ||
	    target >= static_cast<int64_t>(img.text_end) || target % 4)
		return report("branch", "branch out of the image");
	go(static_cast<uint64_t>(target), std::move(s));
}

/* What is known about a register once it compared equal or a system call succeeded. */
void walker::refine(state &s, const ppc_insn &i, bool taken) const
{
	if ((i.on_so || i.on_not_so) && !i.field && s.so == so_bit::syscall) {
		s.so = taken == i.on_so ? so_bit::set : so_bit::clear;
		if (s.so == so_bit::clear && returns_int(function))
			s.regs[3] = { value::constant, 0 };
		return;
	}
	const comparison &c = s.compared[i.field];

	if (c.reg < 0 || !(taken ? i.on_equal : i.on_not_equal))
		return;
	value &v = s.regs[static_cast<size_t>(c.reg)];
	bool is_argument = v.kind == value::entry && v.n >= 3 && v.n <= 10;
	if (v.kind == value::unknown || is_argument)
		v = { value::constant, c.with };
}

void walker::branch(const ppc_insn &i, state s, const value &target,
		    bool is_return)
{
	uint64_t pc = nodes[at].pc;
	bool next_only =
		i.link && target.is(value::image, static_cast<int64_t>(pc + 4));

	if (i.conditional && !next_only) {
		state fall = s;

		refine(fall, i, false);
		if (i.link)
			write(fall, lr,
			      { value::image, static_cast<int64_t>(pc + 4) });
		go(pc + 4, std::move(fall));
		refine(s, i, true);
	}
	if (i.link)
		s.regs[lr] = { value::image, static_cast<int64_t>(pc + 4) };
	if (next_only) /* reads the program counter, is no call */
		return go(pc + 4, std::move(s));
	if (is_return && !i.link)
		return leave(s, target);
	if (target.kind != value::image)
		return report("branch", "branch to where cannot be told");
	if (i.link) {
		if (s.calls.size() > 8)
			return report("branch", "calls nest without end");
		s.calls.push_back({ static_cast<int64_t>(pc + 4), s.regs[1] });
	}
	follow(target.n, std::move(s));
}

void walker::go(uint64_t pc, state s)
{
	auto &here = seen[pc];

	for (size_t n : here)
		if (nodes[n].s == s)
			return;
	if (here.size() >= most_states) {
		/* keep what all of them agree on */
		const state &other = nodes[here.back()].s;

		for (size_t r = 0; r < s.regs.size(); r++)
			if (s.regs[r] != other.regs[r])
				s.regs[r] = {};
		std::erase_if(s.frame, [&](const auto &slot) {
			auto it = other.frame.find(slot.first);
			return it == other.frame.end() ||
			       it->second != slot.second;
		});
		for (size_t f = 0; f < s.compared.size(); f++)
			if (s.compared[f] != other.compared[f])
				s.compared[f] = {};
		for (size_t n : here)
			if (nodes[n].s == s)
				return;
	}
	nodes.push_back({ pc, std::move(s), at });
	here.push_back(nodes.size() - 1);
	work.push_back(nodes.size() - 1);
}

void walker::step(state s)
{
	uint64_t pc = nodes[at].pc;
	ppc_insn i = ppc_decode(img.word(pc), img.is64());

	check_cfi(s);
	switch (i.op) {
	case ppc_op::unknown:
		return report("unknown",
			      "an instruction that the verifier does not know");
	case ppc_op::vector:
		return report("vector",
			      "floating point or vector registers are used");
	case ppc_op::branch:
		return branch(i, std::move(s),
			      { value::image,
				static_cast<int64_t>(pc) + i.imm },
			      false);
	case ppc_op::branch_lr: {
		value target = s.regs[lr];
		return branch(i, std::move(s), target, true);
	}
	case ppc_op::branch_ctr: {
		value target = s.regs[ctr];
		return branch(i, std::move(s), target, false);
	}
	case ppc_op::system_call:
		system_call(s);
		break;
	case ppc_op::load:
	case ppc_op::store:
		access(s, i);
		break;
	case ppc_op::compare:
	case ppc_op::compare_imm:
	case ppc_op::cr_logic:
	case ppc_op::cr_move:
	case ppc_op::mtcrf:
		condition(s, i);
		break;
	case ppc_op::mfcr: {
		bool kept = s.cr_kept[2] && s.cr_kept[3] && s.cr_kept[4];
		write(s, i.dest,
		      { kept ? value::saved_cr : value::unknown, 0 });
		break;
	}
	case ppc_op::mtlr:
		s.regs[lr] = read(s, i.ra);
		break;
	case ppc_op::mtctr:
		s.regs[ctr] = read(s, i.ra);
		break;
	case ppc_op::nothing:
		break;
	default:
		arithmetic(s, i);
	}
	follow(static_cast<int64_t>(pc) + 4, std::move(s));
}

void walker::walk(uint64_t start)
{
	state s;

	for (int r = 0; r < 32; r++)
		s.regs[static_cast<size_t>(r)] = { value::entry, r };
	s.regs[0] = s.regs[11] = s.regs[12] = {};
	s.regs[1] = { value::frame, 0 };
	s.regs[lr] = { value::entry, lr };
	s.cr_kept.fill(true);
	go(start, std::move(s));
	while (!work.empty()) {
		at = work.back();
		work.pop_back();
		step(nodes[at].s);
	}
}

} // namespace

std::vector<violation> verify_powerpc(const image &img)
{
	std::vector<violation> found;
	cfi_table cfi(img.path);

	for (const auto &name : callable_functions(img)) {
		walker w(img, cfi, name, found);

		w.walk(*img.find(name));
	}
	return found;
}

} // namespace vdso
