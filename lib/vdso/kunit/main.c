// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the generic vDSO: reader.c for what a process runs, writer.c
 * for what the kernel does for it.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "vdso_kunit.h"

kunit_test_suites(&vdso_reader_suite, &vdso_writer_suite);

MODULE_DESCRIPTION("KUnit tests of the generic vDSO");
MODULE_LICENSE("GPL");
