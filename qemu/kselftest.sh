#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: kselftest.sh TREE CROSS_COMPILE OUTPUT
#
# Builds the kernel tree's own tests that have to do with the vDSO, static. What a
# compiler rejects is left out here: the initramfs wants every program that the lists
# in qemu/tests/ do not skip with a reason, so nothing is lost in silence.

set -eu

tree=$1
cross=$2
output=$3
selftests=$tree/tools/testing/selftests
case $cross in
powerpc*) arch=powerpc ;;
*) arch=x86 ;;
esac
log=$output/build.log

mkdir -p "$output"
: >"$log"

# build DIRECTORY CFLAGS: the flags come from the environment, so that a makefile's
# own additions count. vDSO/Makefile builds nothing if it sees CROSS_COMPILE.
build()
{
	mkdir -p "$output/$1"
	env -u MAKEFLAGS -u CROSS_COMPILE CFLAGS="$2" make -k -C "$selftests/$1" \
		ARCH="$arch" CC="${cross}gcc" OUTPUT="$output/$1" LDFLAGS="-static -s" \
		>>"$log" 2>&1 || :
}

build vDSO "-O2"
build timens "-O2 -D_FILE_OFFSET_BITS=64"
case $cross in
powerpc*)
	build powerpc/signal "-O2 -std=gnu99 -DGIT_VERSION='\"base\"' -I$selftests/powerpc/include"
	;;
*)
	# Dynamic: they look the vDSO up by dlopen(). Their makefile wants -m32 and -m64.
	mkdir -p "$output/x86"
	for test in test_vdso test_mremap_vdso vdso_restorer unwind_vdso; do
		"${cross}gcc" -O2 -D_GNU_SOURCE -s -o "$output/x86/$test" "$selftests/x86/$test.c" \
			-pthread -ldl >>"$log" 2>&1 || :
	done
	;;
esac
touch "$output/built"
