#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# check-options.sh [NAME...]: boots the patched kernels as scripts/options says, with
# other configurations and command lines, and runs the guest's whole list in each. One
# line for each, with its sum; log, KTAP and JSON are in build/options/<name>/.

. "$(dirname "$0")/lib.sh"

lock options
bad=0

# One of the columns of a line, without the blanks around it
column()
{
	echo "$line" | cut -d '|' -f "$1" | sed 's/^ *//; s/ *$//'
}

fragment()
{
	for _symbol; do
		case $_symbol in
		-*) echo "# CONFIG_${_symbol#-} is not set" ;;
		*) echo "$_symbol" ;;
		esac
	done
}

boot()
{
	_dir=$O/options/$name
	_kernel=$O/kernel/$machine-patched
	_file=$TOP/qemu/machines/$machine
	mkdir -p "$_dir"
	"${MAKE:-make}" -C "$TOP" O="$O" MACHINE="$machine" qemu-patched || return 1
	if [ -n "$symbols" ]; then
		_kernel=$_dir/kernel
		# shellcheck disable=SC2086 # a list
		fragment $symbols >"$_dir/config"
		ARCH=$(get "$_file" ARCH) KERNEL_OUT=$_kernel CONFIG_EXTRA=$_dir/config \
			"$TOP/scripts/kernel.sh" "$machine" patched || return 1
	fi
	"$O/host/boot" test --machine "$_file" --variant patched --mode test --kunit --append "$append" \
		--kernel "$_kernel/$(get "$_file" IMAGE)" \
		--initrd "$O/initramfs/$machine.cpio.gz" --results "$_dir" || return 1
}

sum()
{
	python3 -c '
import json, sys
status = [test["status"] for test in json.load(open(sys.argv[1]))["tests"]]
print("%d passed, %d failed, %d skipped" % tuple(map(status.count, ("pass", "fail", "skip"))))' \
		"$O/options/$name/$machine-patched.json"
}

while read -r line <&3; do
	case $line in
	'' | \#*) continue ;;
	esac
	name=$(column 1) machine=$(column 2) symbols=$(column 3) append=$(column 4)
	[ $# -eq 0 ] || case " $* " in
	*" $name "*) ;;
	*) continue ;;
	esac
	rm -f "$O/options/$name/$machine-patched.json"
	if boot; then
		result=ok
	else
		result='not ok'
		bad=$((bad + 1))
	fi
	[ ! -f "$O/options/$name/$machine-patched.json" ] || result="$result, $(sum)"
	printf '%-18s %-16s %s\n' "$name" "$machine" "$result"
done 3<"$TOP/scripts/options"
[ $bad = 0 ]
