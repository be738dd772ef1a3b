/* SPDX-License-Identifier: GPL-2.0-only */
/* Instructions of an image, decoded by capstone. */
#ifndef VDSO_DISASM_H
#define VDSO_DISASM_H

#include "image.h"

#include <capstone/capstone.h>

#include <string>

namespace vdso
{

struct decoded {
	std::string text;
	bool load, store, multiply, branch, syscall;
};

class disassembler {
    public:
	explicit disassembler(const image &img);
	~disassembler();
	disassembler(const disassembler &) = delete;
	disassembler &operator=(const disassembler &) = delete;

	decoded at(uint64_t offset) const;

    private:
	const image &img;
	csh handle;
};

} // namespace vdso

#endif
