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
log=$output/build.log

mkdir -p "$output"
: >"$log"

# build DIRECTORY CFLAGS: the flags come from the environment, so that a makefile's
# own additions count. vDSO/Makefile builds nothing if it sees CROSS_COMPILE.
build()
{
	mkdir -p "$output/$1"
	env -u MAKEFLAGS -u CROSS_COMPILE CFLAGS="$2" make -k -C "$selftests/$1" \
		ARCH=powerpc CC="${cross}gcc" OUTPUT="$output/$1" LDFLAGS="-static -s" \
		>>"$log" 2>&1 || :
}

build vDSO "-O2"
build timens "-O2"
case $cross in
powerpc*)
	build powerpc/signal "-O2 -std=gnu99 -DGIT_VERSION='\"base\"' -I$selftests/powerpc/include"
	;;
esac
touch "$output/built"
