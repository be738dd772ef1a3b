#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# fuzz.sh QEMU MACHINE IMAGE SEED...: run a fuzzed guest once for each seed. It may do to
# itself what it likes, a hang included; QEMU must end as told, and silently.
set -eu

qemu=$1 machine=$2 image=$3
shift 3
name=$(basename "$image")

for seed; do
	rc=0
	timeout -k 5 60 "$qemu" -M "$machine" -nodefaults -nographic -monitor none -no-reboot \
		-serial null -serial null -kernel "$image" \
		-device loader,addr=0x3ff0,data="$seed",data-len=4,data-be=on \
		</dev/null >"$image.log" 2>&1 || rc=$?
	how=
	[ $rc -ne 124 ] || how=", the guest hung"
	if { [ $rc -ne 0 ] && [ $rc -ne 124 ]; } ||
		grep -v -e 'terminating on signal 15' -e "ASan doesn't fully support makecontext" "$image.log" | grep -q .; then
		cat "$image.log"
		echo "qemu-fuzz: $name: seed $seed: QEMU ended with $rc" >&2
		exit 1
	fi
	echo "ok - $name: seed $seed$how"
done
