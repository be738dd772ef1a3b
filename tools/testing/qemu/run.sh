#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh QEMU MACHINE IMAGE: run a bare-metal image, show its KTAP, and fail unless each test
# of its plan is ok. A minute is a hang: the images run for a second.
set -eu

qemu=$1 machine=$2 image=$3
name=$(basename "$image")
out=$image.tap

if ! timeout 60 "$qemu" -M "$machine" -nodefaults -nographic -monitor none -no-reboot -serial stdio \
	-icount shift=3,sleep=off -kernel "$image" </dev/null >"$out" 2>&1; then
	cat "$out"
	echo "qemu-check: $name: QEMU hung or failed" >&2
	exit 1
fi
cat "$out"
planned=$(sed -n 's/^1\.\.\([0-9]*\)\r\{0,1\}$/\1/p' "$out")
passed=$(grep -c '^ok ' "$out") || :
if [ -z "$planned" ] || [ "$planned" != "$passed" ]; then
	echo "qemu-check: $name: $passed of ${planned:-no} tests passed" >&2
	exit 1
fi
