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

# expect MODE WORDS [OPTION...]: the runner fails, the reason is in the result, and what it
# prints is text for a terminal, of which there is an end.
expect()
{
	status=0
	why=
	mode=$1
	words=$2
	shift 2
	(run --mode "$mode" --silence 10 "$@") || status=$?
	[ "$status" = 1 ] || why="status $status where 1 was expected"
	grep -q "$words" "$json" || why="no word of '$words' in the result"
	[ -z "$(tr -d '\t\n -~' <"$dir/output")" ] || why="a guest's bytes for the terminal to obey"
	[ "$(wc -c <"$dir/output")" -lt 40000 ] || why="$(wc -c <"$dir/output") bytes of output"
	[ "$(du -m "${json%.json}.log" | cut -f 1)" -lt 10 ] || why="a log of $(du -m "${json%.json}.log")"
	report "$mode" "$why"
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
	kill -TERM "$runner" 2>/dev/null || :
	wait "$runner" || status=$?
	[ "$status" = 130 ] || why="status $status where 130 was expected"
	[ -n "$child" ] || why="no QEMU was running"
	[ -z "$child" ] || ! kill -0 "$child" 2>/dev/null || why="QEMU is still there"
	[ ! -e "$json" ] || why="a result of an interrupted run"
	report interrupted "$why"
}

# No QEMU outlives a runner that was killed at any time, and the next run has a whole result.
# Two at once do, too.
expect_repeatable()
{
	why=
	for kill in INT:0.3 TERM:0.9 KILL:0.2 KILL:0.7 KILL:1.3; do
		timeout -s "${kill%:*}" "${kill#*:}" "$boot" test --machine "$machine" --kernel "$kernel" \
			--initrd "$initrd" --results "$dir" --mode silent --silence 60 >"$dir/output" 2>&1 || :
		sleep 0.2
		! pgrep -f -- "-initrd $initrd " >/dev/null || why="QEMU is still there after $kill"
	done
	(run --mode malformed) &
	first=$!
	status=0
	(exec "$boot" test --machine "$machine" --kernel "$kernel" --initrd "$initrd" \
		--results "$dir" --mode malformed >"$dir/second" 2>&1) || status=$?
	[ "$status" = 1 ] || why="status $status where 1 was expected"
	status=0
	wait "$first" || status=$?
	[ "$status" = 1 ] || why="status $status of the first of two where 1 was expected"
	python3 -m json.tool "$json" >/dev/null || why="a result that is not whole"
	[ -z "$(find "$dir" -name '*.new')" ] || why="half a result is left"
	report "killed, and two at once" "$why"
}

rm -rf "$dir"
mkdir -p "$dir"
echo "KTAP version 1"
echo "1..10"
expect_interruptible
expect_repeatable
expect panic "Kernel panic"
expect silent "guest silent for 10 s"
expect oops "Oops"
expect warn "WARNING:"
expect malformed "where 2 was expected"
expect flood "guest printed more than 1 MiB" --output 1
expect chatter "guest still running after 12 s" --limit 12
expect binary "verdict: "
exit $failed
