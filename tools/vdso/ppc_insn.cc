// SPDX-License-Identifier: GPL-2.0-only
/*
 * A decoder of effects, not of text. A proof is worth what its decoder is
 * worth, and one that hides operands behind simplified mnemonics is of no use,
 * so this works on the fields of the instruction. What is not in these tables
 * is "unknown", which the verifier reports: nothing is passed over in silence.
 */
#include "ppc_insn.h"

#include <initializer_list>

namespace vdso
{

namespace
{

bool one_of(uint32_t value, std::initializer_list<uint32_t> list)
{
	for (uint32_t candidate : list)
		if (candidate == value)
			return true;
	return false;
}

struct fields {
	uint32_t raw;

	uint32_t opcode() const
	{
		return raw >> 26;
	}
	int rt() const
	{
		return static_cast<int>(raw >> 21 & 31);
	}
	int ra() const
	{
		return static_cast<int>(raw >> 16 & 31);
	}
	int rb() const
	{
		return static_cast<int>(raw >> 11 & 31);
	}
	int64_t simm() const
	{
		return static_cast<int16_t>(raw);
	}
	int64_t uimm() const
	{
		return raw & 0xffff;
	}
	uint32_t xo() const
	{
		return raw >> 1 & 0x3ff;
	}
	bool rc() const
	{
		return raw & 1;
	}
	uint32_t spr() const
	{
		return (raw >> 16 & 0x1f) | (raw >> 6 & 0x3e0);
	}
	unsigned cr_field() const
	{
		return raw >> 23 & 7;
	}
};

ppc_insn plain(int dest, bool record = false)
{
	ppc_insn i;

	i.op = ppc_op::plain;
	i.dest = dest;
	i.record = record;
	return i;
}

ppc_insn of(ppc_op op)
{
	ppc_insn i;

	i.op = op;
	return i;
}

/* ra == 0 stands for the value 0 in an address and in addi. */
int base(int ra)
{
	return ra ? ra : -1;
}

ppc_insn memory(const fields &f, ppc_op op, unsigned size, bool update,
		int64_t displacement)
{
	ppc_insn i = of(op);

	i.dest = op == ppc_op::load ? f.rt() : -1;
	i.value = op == ppc_op::store ? f.rt() : -1;
	i.ra = base(f.ra());
	i.imm = displacement;
	i.size = size;
	i.update = update;
	return i;
}

ppc_insn indexed(const fields &f, ppc_op op, unsigned size, bool update)
{
	ppc_insn i = memory(f, op, size, update, 0);

	i.rb = f.rb();
	return i;
}

/* lwz lwzu lbz lbzu stw stwu stb stbu lhz lhzu lha lhau sth sthu */
ppc_insn decode_d_memory(const fields &f)
{
	static const unsigned sizes[] = { 4, 4, 1, 1, 4, 4, 1,
					  1, 2, 2, 2, 2, 2, 2 };
	uint32_t n = f.opcode() - 32;
	bool store = one_of(f.opcode(), { 36, 37, 38, 39, 44, 45 });

	return memory(f, store ? ppc_op::store : ppc_op::load, sizes[n], n & 1,
		      f.simm());
}

ppc_insn decode_ds_memory(const fields &f)
{
	uint32_t kind = f.raw & 3;
	int64_t displacement = f.simm() & ~3;

	if (f.opcode() == 58 && kind <= 2)
		return memory(f, ppc_op::load, kind == 2 ? 4 : 8, kind == 1,
			      displacement);
	if (f.opcode() == 62 && kind <= 1)
		return memory(f, ppc_op::store, 8, kind == 1, displacement);
	return of(ppc_op::unknown);
}

ppc_insn decode_branch(const fields &f)
{
	ppc_insn i = of(ppc_op::branch);

	i.link = f.raw & 1;
	if (f.opcode() == 18)
		i.imm = static_cast<int32_t>(f.raw << 6) >> 6 & ~3;
	else
		i.imm = f.simm() & ~3;
	if (f.raw & 2) /* absolute */
		return of(ppc_op::unknown);
	return i;
}

void set_condition(const fields &f, ppc_insn &i)
{
	uint32_t bo = static_cast<uint32_t>(f.rt()),
		 bi = static_cast<uint32_t>(f.ra());

	i.conditional = (bo & 0x14) != 0x14;
	i.field = bi / 4;
	bool if_set = (bo & 0x1c) == 0x0c, if_clear = (bo & 0x1c) == 0x04;
	i.on_equal = if_set && bi % 4 == 2;
	i.on_not_equal = if_clear && bi % 4 == 2;
	i.on_so = if_set && bi % 4 == 3;
	i.on_not_so = if_clear && bi % 4 == 3;
}

ppc_insn decode_19(const fields &f)
{
	ppc_insn i;

	switch (f.xo()) {
	case 16:
		i = of(ppc_op::branch_lr);
		break;
	case 528:
		i = of(ppc_op::branch_ctr);
		break;
	case 0:
		i = of(ppc_op::cr_move);
		i.field = f.cr_field();
		return i;
	case 150:
		return of(ppc_op::nothing);
	case 33:
	case 129:
	case 193:
	case 225:
	case 257:
	case 289:
	case 417:
	case 449:
		i = of(ppc_op::cr_logic);
		i.bit = static_cast<unsigned>(f.rt());
		if (f.ra() == f.rb() && f.xo() == 193)
			i.bit_value = ppc_insn::clear;
		if (f.ra() == f.rb() && f.xo() == 289)
			i.bit_value = ppc_insn::set;
		return i;
	default:
		return of(ppc_op::unknown);
	}
	i.link = f.raw & 1;
	set_condition(f, i);
	return i;
}

ppc_insn decode_spr(const fields &f, bool write)
{
	ppc_insn i;
	uint32_t spr = f.spr();

	if (!write) {
		if (spr == 8)
			i = of(ppc_op::mflr);
		else if (one_of(spr, { 1, 9, 259, 268, 269 }))
			i = of(ppc_op::plain);
		i.dest = f.rt();
		return i;
	}
	if (spr == 8)
		i = of(ppc_op::mtlr);
	else if (spr == 9)
		i = of(ppc_op::mtctr);
	i.ra = f.rt();
	return i;
}

ppc_insn decode_31_memory(const fields &f)
{
	switch (f.xo()) {
	case 20:
	case 23:
	case 341:
	case 534:
		return indexed(f, ppc_op::load, 4, false);
	case 55:
	case 373:
		return indexed(f, ppc_op::load, 4, true);
	case 87:
		return indexed(f, ppc_op::load, 1, false);
	case 119:
		return indexed(f, ppc_op::load, 1, true);
	case 279:
	case 343:
	case 790:
		return indexed(f, ppc_op::load, 2, false);
	case 311:
	case 375:
		return indexed(f, ppc_op::load, 2, true);
	case 21:
	case 84:
	case 532:
		return indexed(f, ppc_op::load, 8, false);
	case 53:
		return indexed(f, ppc_op::load, 8, true);
	case 151:
	case 662:
		return indexed(f, ppc_op::store, 4, false);
	case 183:
		return indexed(f, ppc_op::store, 4, true);
	case 215:
		return indexed(f, ppc_op::store, 1, false);
	case 407:
	case 918:
		return indexed(f, ppc_op::store, 2, false);
	case 149:
	case 660:
		return indexed(f, ppc_op::store, 8, false);
	case 181:
		return indexed(f, ppc_op::store, 8, true);
	default:
		return of(ppc_op::unknown);
	}
}

/* The instructions of opcode 31 whose result is in rt. */
bool writes_rt(uint32_t xo)
{
	/* mulhw and its kind have no OE bit, the others do */
	return one_of(xo & 0x1ff, { 8,	 10,  11,  40,	75,  104, 136, 138, 200,
				    202, 232, 234, 235, 266, 457, 459, 489, 491,
				    233, 73,  9,   393, 395, 425, 427 }) ||
	       one_of(xo, { 777, 779, 265, 267 });
}

bool writes_ra(uint32_t xo)
{
	return one_of(xo, { 24,	 26,  27,  28,	58,  60,  122, 124, 284, 316,
			    378, 412, 444, 476, 506, 536, 538, 539, 570, 792,
			    794, 824, 826, 827, 890, 891, 922, 954 });
}

ppc_insn decode_31_arithmetic(const fields &f)
{
	ppc_insn i;

	if ((f.xo() & 0x1f) == 15) /* isel */
		return plain(f.rt());
	if (f.xo() == 266) {
		i = of(ppc_op::add);
		i.dest = f.rt();
		i.ra = f.ra();
		i.rb = f.rb();
		i.record = f.rc();
		return i;
	}
	if ((f.xo() == 444 && f.rt() == f.rb()) ||
	    (f.xo() == 316 && f.rt() == f.rb())) {
		i = of(f.xo() == 444 ? ppc_op::move : ppc_op::zero);
		i.dest = f.ra();
		i.ra = f.rt();
		i.record = f.rc();
		return i;
	}
	if (f.xo() == 986) { /* extsw */
		i = of(ppc_op::extend);
		i.dest = f.ra();
		i.ra = f.rt();
		i.record = f.rc();
		return i;
	}
	if (writes_rt(f.xo()))
		return plain(f.rt(), f.rc());
	if (writes_ra(f.xo()))
		return plain(f.ra(), f.rc());
	return of(ppc_op::unknown);
}

ppc_insn decode_31(const fields &f)
{
	ppc_insn i;

	switch (f.xo()) {
	case 0:
	case 32:
		i = of(ppc_op::compare);
		i.field = f.cr_field();
		return i;
	case 19: /* mfcr, mfocrf */
		i = of(ppc_op::mfcr);
		i.dest = f.rt();
		return i;
	case 144:
		i = of(ppc_op::mtcrf);
		i.ra = f.rt();
		i.field = f.raw >> 12 & 0xff;
		return i;
	case 339:
	case 371:
		return decode_spr(f, false);
	case 467:
		return decode_spr(f, true);
	case 54: /* dcbst */
	case 86: /* dcbf */
	case 246: /* dcbtst */
	case 278: /* dcbt */
	case 598: /* sync */
	case 854: /* eieio */
	case 982: /* icbi */
		return of(ppc_op::nothing);
	}
	i = decode_31_memory(f);
	return i.op == ppc_op::unknown ? decode_31_arithmetic(f) : i;
}

ppc_insn decode_immediate(const fields &f)
{
	ppc_insn i;

	switch (f.opcode()) {
	case 14:
	case 15:
		i = of(f.ra() ? ppc_op::add_imm : ppc_op::li);
		i.dest = f.rt();
		i.ra = f.ra();
		i.imm = f.opcode() == 15 ? f.simm() * 65536 : f.simm();
		return i;
	case 24:
	case 25:
		/* ori rx,rx,0 is a nop, with a meaning for the pipeline if x is not 0 */
		i = of(f.opcode() == 24 && f.ra() == f.rt() && !f.uimm() ?
			       ppc_op::nothing :
			       ppc_op::or_imm);
		i.dest = f.ra();
		i.ra = f.rt();
		i.imm = f.opcode() == 25 ? f.uimm() * 65536 : f.uimm();
		return i;
	case 10:
	case 11:
		i = of(ppc_op::compare_imm);
		i.field = f.cr_field();
		i.ra = f.ra();
		i.imm = f.opcode() == 11 ? f.simm() : f.uimm();
		return i;
	case 7:
	case 8:
	case 12:
	case 13:
		return plain(f.rt(), f.opcode() == 13);
	case 26:
	case 27:
		return plain(f.ra());
	case 28:
	case 29:
		return plain(f.ra(), true);
	case 20:
	case 21:
	case 23:
	case 30:
		return plain(f.ra(), f.rc());
	default:
		return of(ppc_op::unknown);
	}
}

ppc_insn decode_control(const fields &f)
{
	ppc_insn i;

	switch (f.opcode()) {
	case 16:
		i = decode_branch(f);
		set_condition(f, i);
		return i;
	case 17:
		return of(f.raw == 0x44000002 ? ppc_op::system_call :
						ppc_op::unknown);
	case 18:
		return decode_branch(f);
	default:
		return decode_19(f);
	}
}

} // namespace

ppc_insn ppc_decode(uint32_t insn, bool is64)
{
	fields f{ insn };
	uint32_t op = f.opcode();

	if (op == 30 && !is64)
		return of(ppc_op::unknown);
	if (op >= 16 && op <= 19)
		return decode_control(f);
	if (op == 31)
		return decode_31(f);
	if (op >= 32 && op <= 45)
		return decode_d_memory(f);
	if (is64 && (op == 58 || op == 62))
		return decode_ds_memory(f);
	if (op == 4) /* maddhd, maddhdu, maddld; the rest is vector */
		return one_of(insn & 0x3f, { 48, 49, 51 }) ? plain(f.rt()) :
							     of(ppc_op::vector);
	if (op >= 48)
		return of(ppc_op::vector);
	return decode_immediate(f);
}

} // namespace vdso
