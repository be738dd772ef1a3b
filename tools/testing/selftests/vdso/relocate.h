/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Moving the vDSO of this process, code and data pages together, as a
 * checkpoint and restore tool does.
 *
 * libc does not notice: its pointers still lead to the old place. So a process
 * that has moved its vDSO must not ask libc for the time any more, nor throw
 * an exception, for which libc would read the vDSO's unwind tables. Everything
 * in clocks.h is fit for it.
 */
#ifndef VDSO_TEST_RELOCATE_H
#define VDSO_TEST_RELOCATE_H

#include <optional>
#include <vector>

#include "vdso.h"

namespace relocate
{

/* [vvar] and its like, and [vdso], in order of address */
std::vector<vdso::Mapping> parts();

/* Which part is moved first: nothing may depend on it */
enum class Order { data_first, code_first };

/*
 * To another address, in the same layout. Returns the image there, or nothing
 * with errno when the kernel refused.
 */
std::optional<vdso::Image> move(Order order = Order::data_first);

/* False with errno when the kernel refused */
bool unmap();

} // namespace relocate

#endif /* VDSO_TEST_RELOCATE_H */
