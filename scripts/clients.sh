#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# clients.sh MACHINE...: programs that use the vDSO and know nothing of it, in the guest of
# each machine and for each of its triples:
#
#	goclock	a static Go program under its profiler's signal
#	throw	C++ exceptions out of the vDSO, from a signal handler
#	core	a core that was dumped in the vDSO, and what a debugger says of it
#
# Prints KTAP. SECONDS_EACH is how long the Go program runs.

. "$(dirname "$0")/lib.sh"

: "${SECONDS_EACH:=30}"
dir=$O/clients
number=0 bad=0
# Of core.cc: how many instructions of the vDSO before the core is dumped. Within the first
# few the return address is in another register than usual.
depths='0 1 2 3 4 5 9 14'
flags='-std=c++20 -O2 -Wall -Wextra -Wconversion -Werror -fasynchronous-unwind-tables -fnon-call-exceptions -static'

mkdir -p "$dir"
cd "$TOP/tools/testing/clients"

result()
{
	number=$((number + 1))
	echo "$1 $number $machine $triple $2"
	[ "$1" = ok ] || bad=$((bad + 1))
}

# In the guest: the program's output in $dir/output, everything else in $dir/log
guest()
{
	"${MAKE:-make}" -C "$TOP" O="$O" qemu-run MACHINE="$machine" FILES="$1" CMD="$2" \
		>"$dir/output" 2>"$dir/log" </dev/null
}

explain()
{
	{
		grep -v -E "^[0-9a-f]*$" "$dir/output" | head -c 2000
		tail -n 20 "$dir/log"
	} | sed 's/^/# /'
}

compile()
{
	# shellcheck disable=SC2086 # a list
	"$triple-g++" $flags -o "$dir/$1-$triple" "$1.cc"
}

test_go()
{
	case $triple in
	powerpc64le-*) arch=ppc64le ;;
	powerpc64-*) arch=ppc64 ;;
	x86_64-*) arch=amd64 ;;
	i686-*) arch=386 ;;
	*)
		result ok "goclock # SKIP Go does not compile for it"
		return
		;;
	esac
	GOARCH=$arch CGO_ENABLED=0 GO111MODULE=off GOCACHE=$dir/go go build -o "$dir/goclock-$triple" goclock.go
	if guest "$dir/goclock-$triple" "goclock-$triple -seconds $SECONDS_EACH"; then
		sed 's/^/# /' "$dir/output"
		result ok goclock
	else
		explain
		result 'not ok' goclock
	fi
}

# Its kernel's own C functions have no unwind tables, base or patched.
no_tables()
{
	case $triple in
	i686-*) result ok "$1 # SKIP the 32-bit image of x86 has no unwind tables for C functions" ;;
	*) return 1 ;;
	esac
}

test_throw()
{
	! no_tables throw || return 0
	compile throw
	if guest "$dir/throw-$triple" "throw-$triple"; then
		sed 's/^/# /' "$dir/output"
		result ok throw
	else
		explain
		result 'not ok' throw
	fi
}

# The backtrace begins in the image that AT_SYSINFO_EHDR is the address of, ends with who
# read the clock and main(), and knows everybody between.
whole()
{
	python3 -c '
import re, sys
text = open(sys.argv[1]).read()
image = int(re.search(r"AT_SYSINFO_EHDR .*(0x[0-9a-f]+)", text).group(1), 16)
frames = dict(re.findall(r"^#(\d+) +(0x[0-9a-f]+) in ", text, re.M))
names = dict(re.findall(r"^#(\d+) .* in \.?(\S+) \(", text, re.M))
names = [names[number] for number in sorted(names, key=int)]
good = 0 <= int(frames["0"], 16) - image < 1 << 16 and names[-2:] == ["read_the_clock", "main"] \
    and "??" not in names and len(names) == len(frames)
sys.exit(not good)' "$dir/backtrace"
}

test_core()
{
	! no_tables core || return 0
	compile core
	for depth in $depths; do
		if guest "$dir/core-$triple" "core-$triple $depth" &&
			python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(sys.stdin.read()))' \
				<"$dir/output" >"$dir/core" &&
			gdb-multiarch -nx -batch -ex backtrace -ex 'info auxv' "$dir/core-$triple" "$dir/core" \
				>"$dir/backtrace" 2>&1 &&
			whole; then
			result ok "core, $depth instructions into the vDSO"
		else
			grep '^#' "$dir/backtrace" | sed 's/^/# /'
			explain
			result 'not ok' "core, $depth instructions into the vDSO"
		fi
	done
}

echo 'KTAP version 1'
for machine; do
	for triple in $(get "$TOP/qemu/machines/$machine" TRIPLES); do
		test_go
		test_throw
		test_core
	done
done
echo "1..$number"
[ $bad = 0 ]
