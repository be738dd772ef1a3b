// SPDX-License-Identifier: GPL-2.0-only
/*
 * The same walk for x86_64, with fewer rules: the stack is balanced and the
 * callee's registers are restored on every return, no branch leaves the image,
 * and the call frame information finds the return address at every
 * instruction.
 *
 * Followed are the stack pointer and what was copied from it or spilled; any
 * other result is unknown.
 */
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

/* In DWARF's numbering, which is the one that CFI speaks. */
enum reg : int {
	rax,
	rdx,
	rcx,
	rbx,
	rsi,
	rdi,
	rbp,
	rsp,
	r8,
	r9,
	r10,
	r11,
	r12,
	r13,
	r14,
	r15
};
constexpr int nr_regs = 16;

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

std::optional<int> dwarf_reg(unsigned id)
{
	static const std::array<std::array<unsigned, 4>, nr_regs> names = { {
		{ X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL },
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
		{ X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B },
	} };

	for (int r = 0; r < nr_regs; r++)
		for (unsigned name : names[static_cast<size_t>(r)])
			if (name == id)
				return r;
	return std::nullopt;
}

class x86_walker {
    public:
	x86_walker(const image &image, const cfi_table &table, csh capstone,
		   const std::string &name, std::vector<violation> &found)
		: img(image), cfi(table), handle(capstone), function(name),
		  violations(found)
	{
	}

	void walk(uint64_t start);

    private:
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
	void check_cfi(const state &s);

	const image &img;
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

void x86_walker::report(const std::string &rule, const std::string &what)
{
	if (!reported.insert(rule).second)
		return;
	std::vector<uint64_t> path;
	for (size_t n = at;; n = nodes[n].parent) {
		path.insert(path.begin(), nodes[n].pc);
		if (n == nodes[n].parent)
			break;
	}
	violations.push_back({ rule, function, what, std::move(path) });
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
	s.regs[rsp].n -= 8;
	if (s.regs[rsp].kind == value::frame)
		s.frame[s.regs[rsp].n] = v;
}

value x86_walker::pop(state &s)
{
	value v;
	auto it = s.frame.find(s.regs[rsp].n);

	if (s.regs[rsp].kind == value::frame && it != s.frame.end())
		v = it->second;
	s.regs[rsp].n += 8;
	return v;
}

std::optional<int64_t> x86_walker::slot(const state &s,
					const cs_x86_op &op) const
{
	auto base = dwarf_reg(op.mem.base);

	if (op.type != X86_OP_MEM || !base || op.mem.index != X86_REG_INVALID ||
	    s.regs[static_cast<size_t>(*base)].kind != value::frame)
		return std::nullopt;
	return s.regs[static_cast<size_t>(*base)].n + op.mem.disp;
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
	if (from_reg && from.size == 8)
		v = s.regs[static_cast<size_t>(*from_reg)];
	else if (from_slot && insn.id == X86_INS_LEA)
		v = { value::frame, *from_slot };
	else if (from_slot && from.size == 8 && s.frame.count(*from_slot))
		v = s.frame[*from_slot];
	if (auto to_slot = slot(s, to)) {
		s.frame[*to_slot] = v;
		return true;
	}
	if (to.type == X86_OP_REG && dwarf_reg(to.reg)) {
		s.regs[static_cast<size_t>(*dwarf_reg(to.reg))] = v;
		return true;
	}
	return to.type == X86_OP_MEM;
}

void x86_walker::execute(state &s, const cs_insn &insn)
{
	const cs_x86 &x = insn.detail->x86;
	bool on_sp = x.op_count == 2 && x.operands[0].type == X86_OP_REG &&
		     x.operands[0].reg == X86_REG_RSP &&
		     x.operands[1].type == X86_OP_IMM;

	if (insn.id == X86_INS_PUSH) {
		auto r = x.operands[0].type == X86_OP_REG ?
				 dwarf_reg(x.operands[0].reg) :
				 std::nullopt;
		return push(s, r ? s.regs[static_cast<size_t>(*r)] : value{});
	}
	if (insn.id == X86_INS_POP) {
		value v = pop(s);
		if (auto r = dwarf_reg(x.operands[0].reg))
			s.regs[static_cast<size_t>(*r)] = v;
		return;
	}
	if (insn.id == X86_INS_LEAVE) {
		s.regs[rsp] = s.regs[rbp];
		s.regs[rbp] = pop(s);
		return;
	}
	if (on_sp && (insn.id == X86_INS_SUB || insn.id == X86_INS_ADD)) {
		s.regs[rsp].n += insn.id == X86_INS_ADD ? x.operands[1].imm :
							  -x.operands[1].imm;
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
				s.regs[static_cast<size_t>(*r)] = {};
}

void x86_walker::check_cfi(const state &s)
{
	auto row = cfi.at(img.load_address + nodes[at].pc);
	int64_t want = s.cfas.empty() ? 0 : s.cfas.back();

	if (!row)
		return report("cfi", "no call frame information here");
	if (!row->cfa.simple || row->cfa.reg >= nr_regs)
		return report("cfi", "the CFA is not a register and an offset");
	const value &base = s.regs[static_cast<size_t>(row->cfa.reg)];
	if (base.kind != value::frame || base.n + row->cfa.offset != want)
		report("cfi", "the CFA is wrong here");
	else if (row->return_address.kind != saved_rule::at_cfa ||
		 row->return_address.n != -8)
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
	s.cfas.push_back(s.regs[rsp].n);
	push(s, { value::return_to, next });
	go(op.imm, std::move(s));
}

void x86_walker::leave(state s)
{
	int64_t cfa = s.cfas.empty() ? 0 : s.cfas.back();

	if (s.regs[rsp].kind != value::frame || s.regs[rsp].n != cfa - 8)
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
	for (int r : { rbx, rbp, r12, r13, r14, r15 })
		if (s.regs[static_cast<size_t>(r)] != value{ value::entry, r })
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

	for (int r = 0; r < nr_regs; r++)
		s.regs[static_cast<size_t>(r)] = { value::entry, r };
	s.regs[rsp] = { value::frame, -8 };
	go(static_cast<int64_t>(start), std::move(s));
	while (!work.empty()) {
		at = work.back();
		work.pop_back();
		step(nodes[at].s);
	}
}

} // namespace

std::vector<violation> verify_x86(const image &img)
{
	std::vector<violation> found;
	cfi_table cfi(img.path);
	csh handle;

	if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle) != CS_ERR_OK)
		throw user_error{ "capstone cannot decode x86_64" };
	cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
	std::set<uint64_t> done;
	for (const auto &name : callable_functions(img)) {
		uint64_t start = *img.find(name);

		if (!done.insert(start)
			     .second) /* clock_gettime is __vdso_clock_gettime */
			continue;
		x86_walker(img, cfi, handle, name, found).walk(start);
	}
	cs_close(&handle);
	return found;
}

} // namespace vdso
