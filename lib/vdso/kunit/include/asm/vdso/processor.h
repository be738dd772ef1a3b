/* SPDX-License-Identifier: GPL-2.0 */
/* cpu_relax() is where it is for everybody else. */
