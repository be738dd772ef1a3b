#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# snapshot.sh QEMU OPTIONS CONSOLES KERNEL INITRD DIR: savevm in the middle of a test run,
# loadvm in the same QEMU a little later and in a new one, and the run must end well each time.
#
# The initramfs runs a program that prints KTAP on the second console. What is saved is a
# guest with processes that have been running, and that is loaded over one with others: an MMU,
# an interrupt or a console of which something is not saved, or of which something is left,
# does not survive that. QEMU's monitor reads its commands from here, in time with
# what the guest prints.
set -eu

qemu=$1 options=$2 consoles=$3 kernel=$4 initrd=$5 dir=$6
name=$(basename "$dir")
limit=${LIMIT:-180}

mkdir -p "$dir"
rm -f "$dir"/*
qemu-img create -q -f qcow2 "$dir/vm.qcow2" 256M

# wait_for COUNT PATTERN FILE: nothing when it never comes, what follows shows that.
wait_for()
{
	_end=$(($(date +%s) + limit))
	until [ "$(grep -c "$2" "$3" 2>/dev/null)" -ge "$1" ] 2>/dev/null; do
		[ "$(date +%s)" -lt $_end ] || return 0
		! grep -q 'not syncing\|Oops' "$dir"/*.log 2>/dev/null || return 0
		sleep 0.2
	done
}

# shellcheck disable=SC2086 # several options
run()
{
	_run=$1
	shift
	"$qemu" $options -nodefaults -nographic -monitor stdio -no-reboot -icount shift=3,sleep=off \
		-serial "file:$dir/$_run.log" -serial "file:$dir/$_run.tap" -kernel "$kernel" -initrd "$initrd" \
		-append "console=${consoles% *} cvdso.verdict=${consoles#* } cvdso.end=reboot cvdso.mode=cmd" \
		-drive "if=none,format=qcow2,file=$dir/vm.qcow2" "$@" >"$dir/$_run.monitor" 2>&1
}

fail()
{
	tail -n 5 "$dir"/*.log "$dir"/*.tap "$dir"/*.monitor
	echo "qemu-snapshot: $name: $1" >&2
	exit 1
}

{
	wait_for 1 '^ok 2 ' "$dir/first.tap"
	printf 'stop\nsavevm middle\ninfo snapshots\ncont\n'
	wait_for 1 '^ok 3 ' "$dir/first.tap"
	printf 'stop\nloadvm middle\ncont\n'
	wait_for 1 '^# Totals' "$dir/first.tap"
	sleep 1
	echo quit
} | run first || fail "QEMU ended with $?"
grep -q middle "$dir/first.monitor" || fail "nothing was saved"
[ "$(grep -c '^ok 3 ' "$dir/first.tap")" = 2 ] || fail "loadvm has not gone back"

{
	wait_for 1 '^# Totals' "$dir/second.tap"
	sleep 1
	echo quit
} | run second -loadvm middle || fail "QEMU ended with $?"
! grep -q '^ok 2 ' "$dir/second.tap" || fail "the new one has started from the beginning"

for run in first second; do
	grep -q '^# Totals: pass:[1-9][0-9]* fail:0 ' "$dir/$run.tap" || fail "the $run run has failed"
	! grep -q '^not ok' "$dir/$run.tap" || fail "the $run run has failed"
done
echo "ok - $name: saved, loaded over the running guest, and in a new QEMU"
