// SPDX-License-Identifier: GPL-2.0-only
/*
 * The same walk for x86, with fewer rules: the stack is balanced and the
 * callee's registers are restored on every return, no branch leaves the image,
 * and the call frame information finds the return address at every
 * instruction. All of that with the image's alternatives applied for any CPU
 * there may be: once for each set of the features that they ask for.
 *
 * Followed are the stack pointer and what was copied from it or spilled; any
 * other result is unknown.
 */
#include "alternatives.h"
#include "cfi.h"
#include "verify.h"

#include <capstone/capstone.h>
#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>
#include <set>

namespace vdso
{

namespace
{

constexpr size_t nr_regs = 16;

/* What differs between the two; registers are in DWARF's numbering, as in CFI. */
struct abi {
	cs_mode mode;
	int word;
	size_t sp, fp;
	std::vector<size_t> preserved;
	std::vector<std::array<unsigned, 4> > names; /* by number */
};

const abi x86_64_abi = {
	CS_MODE_64,
	8,
	7,
	6,
	{ 3, 6, 12, 13, 14, 15 },
	{ { X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL },
	  { X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL },
	  { X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL },
	  { X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL },
	  { X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL },
	  { X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL },
	  { X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL },
	  { X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL },
	  { X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B },
	  { X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B },
	  { X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B },
	  { X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B },
	  { X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B },
	  { X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B },
	  { X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B },
	  { X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B } },
};

const abi i386_abi = {
	CS_MODE_32,
	4,
	4,
	5,
	{ 3, 5, 6, 7 },
	{ { X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH },
	  { X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH },
	  { X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH },
	  { X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH },
	  { X86_REG_ESP, X86_REG_SP, X86_REG_SP, X86_REG_SP },
	  { X86_REG_EBP, X86_REG_BP, X86_REG_BP, X86_REG_BP },
	  { X86_REG_ESI, X86_REG_SI, X86_REG_SI, X86_REG_SI },
	  { X86_REG_EDI, X86_REG_DI, X86_REG_DI, X86_REG_DI } },
};

const abi &abi_of(const image &img)
{
	return img.arch == machine::i386 ? i386_abi : x86_64_abi;
}

struct value {
	enum { unknown, entry, frame, return_to } kind = unknown;
	int64_t n =
		0; /* register, offset from the CFA, or offset in the image */

	bool operator==(const value &) const = default;
};

struct state {
	std::array<value, nr_regs> regs;
	std::map<int64_t, value> frame; /* by offset from the CFA of the entry */
	std::vector<int64_t> cfas; /* of the local calls that are under way */

	bool operator==(const state &) const = default;
};

struct node {
	uint64_t pc;
	state s;
	size_t parent;
};

constexpr unsigned most_states = 64;
constexpr int64_t far_away = 0x100000;

class x86_walker {
    public:
	x86_walker(const image &image, const cfi_table &table, csh capstone,
		   const std::string &name, std::vector<violation> &found)
		: img(image), m(abi_of(image)), cfi(table), handle(capstone),
		  function(name), violations(found)
	{
	}

	void walk(uint64_t start);

    private:
	std::optional<size_t> dwarf_reg(unsigned id) const;
	void report(const std::string &rule, const std::string &what);
	void go(int64_t pc, state s);
	void step(state s);
	void execute(state &s, const cs_insn &insn);
	bool move(state &s, const cs_insn &insn);
	void push(state &s, const value &v);
	value pop(state &s);
	std::optional<int64_t> slot(const state &s, const cs_x86_op &op) const;
	void call(const cs_insn &insn, state s);
	void leave(state s);
	bool in_function_without_cfi() const;
	void check_cfi(const state &s);

	const image &img;
	const abi &m;
	const cfi_table &cfi;
	csh handle;
	std::string function;
	std::vector<violation> &violations;
	std::set<std::string> reported;
	std::vector<node> nodes;
	std::vector<size_t> work;
	std::map<uint64_t, std::vector<size_t> > seen;
	size_t at = 0;
};

std::optional<size_t> x86_walker::dwarf_reg(unsigned id) const
{
	for (size_t r = 0; r < m.names.size(); r++)
		for (unsigned name : m.names[r])
			if (name == id)
				return r;
	return std::nullopt;
}

void x86_walker::report(const std::string &rule, const std::string &what)
{
	if (reported.insert(rule).second)
		violations.push_back(
			{ rule, function, what, path_to(nodes, at) });
}

void x86_walker::go(int64_t target, state s)
{
	auto pc = static_cast<uint64_t>(target);

	if (pc < img.text_start || pc >= img.text_end)
		return report("branch", "branch out of the image");
	auto &here = seen[pc];
	for (size_t n : here)
		if (nodes[n].s == s)
			return;
	if (here.size() >= most_states) {
		const state &other = nodes[here.back()].s;

		std::erase_if(s.frame, [&](const auto &saved) {
			auto it = other.frame.find(saved.first);
			return it == other.frame.end() ||
			       it->second != saved.second;
		});
		for (size_t r = 0; r < s.regs.size(); r++)
			if (s.regs[r] != other.regs[r])
				s.regs[r] = {};
		if (nodes[here.back()].s == s)
			return;
	}
	nodes.push_back({ pc, std::move(s), at });
	here.push_back(nodes.size() - 1);
	work.push_back(nodes.size() - 1);
}

void x86_walker::push(state &s, const value &v)
{
	s.regs[m.sp].n -= m.word;
	if (s.regs[m.sp].kind == value::frame)
		s.frame[s.regs[m.sp].n] = v;
}

value x86_walker::pop(state &s)
{
	value v;
	auto it = s.frame.find(s.regs[m.sp].n);

	if (s.regs[m.sp].kind == value::frame && it != s.frame.end())
		v = it->second;
	s.regs[m.sp].n += m.word;
	return v;
}

std::optional<int64_t> x86_walker::slot(const state &s,
					const cs_x86_op &op) const
{
	auto base = dwarf_reg(op.mem.base);

	if (op.type != X86_OP_MEM || !base || op.mem.index != X86_REG_INVALID ||
	    s.regs[*base].kind != value::frame)
		return std::nullopt;
	return s.regs[*base].n + op.mem.disp;
}

/* Copies between registers and the frame; true if @insn was one. */
bool x86_walker::move(state &s, const cs_insn &insn)
{
	const cs_x86 &x = insn.detail->x86;

	if ((insn.id != X86_INS_MOV && insn.id != X86_INS_LEA) ||
	    x.op_count != 2)
		return false;
	const cs_x86_op &to = x.operands[0], &from = x.operands[1];
	value v;
	auto from_reg =
		from.type == X86_OP_REG ? dwarf_reg(from.reg) : std::nullopt;
	auto from_slot = slot(s, from);
	if (from_reg && from.size == m.word)
		v = s.regs[*from_reg];
	else if (from_slot && insn.id == X86_INS_LEA)
		v = { value::frame, *from_slot };
	else if (from_slot && from.size == m.word && s.frame.count(*from_slot))
		v = s.frame[*from_slot];
	if (auto to_slot = slot(s, to)) {
		s.frame[*to_slot] = v;
		return true;
	}
	if (to.type == X86_OP_REG && dwarf_reg(to.reg)) {
		s.regs[*dwarf_reg(to.reg)] = v;
		return true;
	}
	return to.type == X86_OP_MEM;
}

void x86_walker::execute(state &s, const cs_insn &insn)
{
	const cs_x86 &x = insn.detail->x86;
	bool on_sp = x.op_count == 2 && x.operands[0].type == X86_OP_REG &&
		     dwarf_reg(x.operands[0].reg) == m.sp &&
		     x.operands[1].type == X86_OP_IMM;

	if (insn.id == X86_INS_PUSH) {
		auto r = x.operands[0].type == X86_OP_REG ?
				 dwarf_reg(x.operands[0].reg) :
				 std::nullopt;
		return push(s, r ? s.regs[*r] : value{});
	}
	if (insn.id == X86_INS_POP) {
		value v = pop(s);
		if (auto r = dwarf_reg(x.operands[0].reg))
			s.regs[*r] = v;
		return;
	}
	if (insn.id == X86_INS_LEAVE) {
		s.regs[m.sp] = s.regs[m.fp];
		s.regs[m.fp] = pop(s);
		return;
	}
	if (on_sp && (insn.id == X86_INS_SUB || insn.id == X86_INS_ADD)) {
		s.regs[m.sp].n += insn.id == X86_INS_ADD ? x.operands[1].imm :
							   -x.operands[1].imm;
		return;
	}
	/*
	 * How far this is cannot be told, only that no code can count on it: so
	 * it is far, and back comes only what goes by the frame pointer.
	 */
	if (on_sp && insn.id == X86_INS_AND) {
		s.regs[m.sp].n =
			(s.regs[m.sp].n - far_away) & x.operands[1].imm;
		return;
	}
	if (move(s, insn))
		return;
	cs_regs read, written;
	uint8_t nr_read, nr_written;
	if (cs_regs_access(handle, &insn, read, &nr_read, written,
			   &nr_written) == CS_ERR_OK)
		for (uint8_t i = 0; i < nr_written; i++)
			if (auto r = dwarf_reg(written[i]))
				s.regs[*r] = {};
}

bool x86_walker::in_function_without_cfi() const
{
	auto it = img.symbols.find(function_without_cfi);

	return it != img.symbols.end() && nodes[at].pc >= it->second.value &&
	       nodes[at].pc < it->second.value + it->second.size;
}

void x86_walker::check_cfi(const state &s)
{
	auto row = cfi.at(img.load_address + nodes[at].pc);
	int64_t want = s.cfas.empty() ? 0 : s.cfas.back();

	/* 32-bit C code has frame pointers, and in these kernels no CFI */
	if (!row && img.arch == machine::i386)
		return;
	if (!row && in_function_without_cfi())
		return;
	if (!row)
		return report("cfi", "no call frame information here");
	if (!row->cfa.simple || row->cfa.reg >= static_cast<int>(nr_regs))
		return report("cfi", "the CFA is not a register and an offset");
	const value &base = s.regs[static_cast<size_t>(row->cfa.reg)];
	if (base.kind != value::frame || base.n + row->cfa.offset != want)
		report("cfi", "the CFA is wrong here");
	else if (row->return_address.kind != saved_rule::at_cfa ||
		 row->return_address.n != -m.word)
		report("cfi", "the return address is wrong here");
}

void x86_walker::call(const cs_insn &insn, state s)
{
	const cs_x86_op &op = insn.detail->x86.operands[0];
	int64_t next = static_cast<int64_t>(insn.address) + insn.size;

	if (op.type != X86_OP_IMM)
		return report("branch", "call to where cannot be told");
	if (s.cfas.size() > 8)
		return report("branch", "calls nest without end");
	s.cfas.push_back(s.regs[m.sp].n);
	push(s, { value::return_to, next });
	go(op.imm, std::move(s));
}

void x86_walker::leave(state s)
{
	int64_t cfa = s.cfas.empty() ? 0 : s.cfas.back();

	if (s.regs[m.sp].kind != value::frame || s.regs[m.sp].n != cfa - m.word)
		return report(
			"balance",
			"the stack pointer does not point to the return address");
	if (!s.cfas.empty()) {
		value to = pop(s);

		s.cfas.pop_back();
		if (to.kind != value::return_to)
			return report("balance",
				      "the return address was overwritten");
		return go(to.n, std::move(s));
	}
	for (size_t r : m.preserved)
		if (s.regs[r] != value{ value::entry, static_cast<int64_t>(r) })
			report("preserved",
			       fmt::format(
				       "DWARF register {} is not as on entry",
				       r));
}

void x86_walker::step(state s)
{
	uint64_t pc = nodes[at].pc;
	cs_insn *raw = nullptr;

	check_cfi(s);
	if (!cs_disasm(handle, &img.bytes[pc], img.text_end - pc, pc, 1, &raw))
		return report("unknown",
			      "an instruction that capstone does not know");
	auto release = [](cs_insn *i) { cs_free(i, 1); };
	std::unique_ptr<cs_insn, decltype(release)> insn(raw, release);
	auto next = static_cast<int64_t>(pc) + insn->size;

	if (cs_insn_group(handle, insn.get(), CS_GRP_RET))
		return leave(std::move(s));
	if (cs_insn_group(handle, insn.get(), CS_GRP_CALL))
		return call(*insn, std::move(s));
	if (cs_insn_group(handle, insn.get(), CS_GRP_JUMP)) {
		const cs_x86_op &op = insn->detail->x86.operands[0];

		if (op.type != X86_OP_IMM)
			return report("branch", "jump to where cannot be told");
		if (insn->id != X86_INS_JMP)
			go(next, s);
		return go(op.imm, std::move(s));
	}
	if (insn->id == X86_INS_UD2 || insn->id == X86_INS_INT3)
		return;
	execute(s, *insn);
	go(next, std::move(s));
}

void x86_walker::walk(uint64_t start)
{
	state s;

	for (size_t r = 0; r < nr_regs; r++)
		s.regs[r] = { value::entry, static_cast<int64_t>(r) };
	s.regs[m.sp] = { value::frame, -m.word };
	go(static_cast<int64_t>(start), std::move(s));
	while (!work.empty()) {
		at = work.back();
		work.pop_back();
		step(nodes[at].s);
	}
}

class capstone {
    public:
	explicit capstone(const abi &m)
	{
		if (cs_open(CS_ARCH_X86, m.mode, &handle) != CS_ERR_OK)
			throw user_error{ "capstone cannot decode x86" };
		cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
	}
	~capstone()
	{
		cs_close(&handle);
	}
	capstone(const capstone &) = delete;
	capstone &operator=(const capstone &) = delete;

	csh handle = 0;
};

std::string list(const features &set)
{
	std::string all;

	for (unsigned feature : set)
		all += fmt::format(" {}*32+{}", feature / 32, feature % 32);
	return all.empty() ? " none" : all;
}

/* The functions of an image that is as some CPU has it. */
std::vector<violation> verify_booted(const image &img, const cfi_table &cfi)
{
	std::vector<violation> found;
	capstone decoder(abi_of(img));
	std::set<uint64_t> done;

	for (const auto &name : callable_functions(img)) {
		uint64_t start = *img.find(name);

		/* clock_gettime is __vdso_clock_gettime */
		if (done.insert(start).second)
			x86_walker(img, cfi, decoder.handle, name, found)
				.walk(start);
	}
	return found;
}

} // namespace

std::vector<violation> verify_x86(const image &img)
{
	std::vector<violation> found;
	std::set<std::pair<std::string, std::string> > known;
	cfi_table cfi(img.path);

	for (const features &set : feature_sets(img))
		for (auto &v :
		     verify_booted(with_alternatives(img, set), cfi)) {
			if (!known.insert({ v.rule, v.function }).second)
				continue;
			v.what += fmt::format(", with the CPU features{}",
					      list(set));
			found.push_back(std::move(v));
		}
	return found;
}

} // namespace vdso
