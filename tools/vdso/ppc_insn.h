/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a PowerPC instruction does to the state that a caller can see.
 */
#ifndef VDSO_PPC_INSN_H
#define VDSO_PPC_INSN_H

#include <cstdint>

namespace vdso
{

enum class ppc_op {
	unknown, /* not an instruction that this knows */
	plain, /* writes @dest with a value that is not followed */
	nothing,
	li, /* dest = imm */
	add_imm, /* dest = ra + imm */
	or_imm, /* dest = ra | imm */
	add, /* dest = ra + rb */
	move, /* dest = ra */
	extend, /* dest = ra, sign extended from a word */
	zero, /* dest = 0: xor or subf of a register with itself */
	load,
	store,
	compare_imm, /* CR field = ra against imm */
	compare,
	cr_logic, /* one CR bit */
	cr_move, /* one CR field */
	mfcr,
	mtcrf,
	mflr,
	mtlr,
	mtctr,
	branch,
	branch_lr,
	branch_ctr,
	system_call,
	vector, /* anything that touches FP or vector registers */
};

struct ppc_insn {
	ppc_op op = ppc_op::unknown;
	int dest = -1;
	int ra = -1, rb = -1; /* sources; of a memory access, the address */
	int64_t imm = 0; /* operand, displacement or branch distance */
	int value = -1; /* the register that is stored */
	unsigned size = 0; /* of a memory access */
	bool update = false; /* the address goes back to ra */
	bool record = false; /* CR0 is written */
	bool link = false;
	bool conditional = false;
	bool on_equal =
		false; /* branches if CR bit bit is set and that is an EQ bit */
	bool on_not_equal = false;
	bool on_so = false; /* likewise for the SO bit */
	bool on_not_so = false;
	unsigned field = 0; /* CR field, or mtcrf's mask */
	unsigned bit = 0; /* CR bit that is written */
	enum { copy, clear, set } bit_value = copy;
};

ppc_insn ppc_decode(uint32_t insn, bool is64);

} // namespace vdso

#endif
