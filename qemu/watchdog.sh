#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: watchdog.sh BOOT MACHINE-FILE KERNEL INITRD DIRECTORY
#
# Boots guests that misbehave, each in its own way, and sees to it that the boot
# runner notices and says so. Prints KTAP.

set -eu

boot=$1
machine=$2
kernel=$3
initrd=$4
dir=$5
json=$dir/$(basename "$machine")-base.json
number=0
failed=0

# The shell that becomes the runner, so that its process is the runner's.
run()
{
	exec "$boot" test --machine "$machine" --kernel "$kernel" --initrd "$initrd" \
		--results "$dir" "$@" >"$dir/output" 2>&1
}

report()
{
	number=$((number + 1))
	if [ -z "$2" ]; then
		echo "ok $number $1"
	else
		sed 's/^/# /' "$dir/output"
		echo "not ok $number $1 # $2"
		failed=1
	fi
}

# expect MODE WORDS: the runner fails, and the reason is in the result.
expect()
{
	status=0
	why=
	(run --mode "$1" --silence 10) || status=$?
	[ "$status" = 1 ] || why="status $status where 1 was expected"
	grep -q "$2" "$json" || why="no word of '$2' in the result"
	report "$1" "$why"
}

# No QEMU and no half made result stays behind.
expect_interruptible()
{
	status=0
	why=
	(run --mode silent --silence 60) &
	runner=$!
	sleep 4
	child=$(ps -o pid= --ppid "$runner" | tr -d ' ')
	kill -TERM "$runner"
	wait "$runner" || status=$?
	[ "$status" = 130 ] || why="status $status where 130 was expected"
	[ -n "$child" ] || why="no QEMU was running"
	[ -z "$child" ] || ! kill -0 "$child" 2>/dev/null || why="QEMU is still there"
	[ ! -e "$json" ] || why="a result of an interrupted run"
	report interrupted "$why"
}

rm -rf "$dir"
mkdir -p "$dir"
echo "KTAP version 1"
echo "1..6"
expect_interruptible
expect panic "Kernel panic"
expect silent "guest silent for 10 s"
expect oops "Oops"
expect warn "WARNING:"
expect malformed "where 2 was expected"
exit $failed
