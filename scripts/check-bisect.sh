#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# check-bisect.sh MACHINE...: every commit of the series, built for each machine, in a work
# tree and build directories of its own, so that what people look at stays as it is, and
# booted: vdso_correctness of each width must pass in it as it does in the base kernel. A
# commit that fails is named; the others are tried all the same.

. "$(dirname "$0")/lib.sh"
plain_git

base=$(base_commit)
tip=$(get "$TREE.applied" tip)
[ -n "$tip" ] || die "nothing is applied: 'make apply' first"
dir=$O/bisect
tree=$O/.bisect-tree
passed=0 failed=0

lock bisect
cleanup()
{
	forget_worktree "$BASE_TREE" "$tree"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

key()
{
	get "$TOP/qemu/machines/$machine" "$1"
}

make_()
{
	"${MAKE:-make}" -C "$TOP" O="$O" MACHINE="$machine" "$@"
}

# What each kernel is booted with; the base kernel is the first.
prepare()
{
	for _triple in $(key TRIPLES); do
		make_ "qemu-tests-$_triple" &&
			make_ qemu-run BASE=1 FILES="$O/tests/$_triple/vdso_correctness" CMD=vdso_correctness &&
			cp "$O/initramfs/run-$machine.cpio.gz" "$dir/$machine-$_triple.cpio.gz" || return 1
	done
}

boot()
{
	for _triple in $(key TRIPLES); do
		"$O/host/boot" run --machine "$TOP/qemu/machines/$machine" --variant base \
			--kernel "$dir/$machine/$(key IMAGE)" --initrd "$dir/$machine-$_triple.cpio.gz" || return 1
	done
}

# The symbols of CONFIG_PATCHED come with the last patches.
try()
{
	if ! KERNEL_SRC=$tree KERNEL_OUT=$dir/$machine "$TOP/scripts/kernel.sh" "$machine" bisect; then
		echo "$PROG: does not build for $machine: $subject" >&2
	elif ! step "$machine: boot" boot; then
		log_tail 20
		echo "$PROG: fails on $machine: $subject; see $(rel "$LOG")" >&2
	else
		return 0
	fi
	return 1
}

cleanup
mkdir -p "$dir"
new_log bisect
git -C "$BASE_TREE" worktree add -q --detach "$tree" "$base" >/dev/null 2>&1 || die "cannot make a work tree in $(rel "$O") ($(free_mb "$O") MB free)"
machines=
for machine; do
	# A machine that boots the kernel of another one has none of its own.
	[ -z "$(key KERNEL_OF)" ] || continue
	machines="$machines $machine"
	step "$machine: base kernel" prepare || {
		log_tail 20
		die "the base kernel does not pass on $machine; see $(rel "$LOG")"
	}
done
for commit in $(git -C "$BASE_TREE" rev-list --reverse "$base..$tip"); do
	git -C "$tree" checkout -q --detach "$commit"
	subject=$(git -C "$tree" log -1 --format=%s)
	say "$subject"
	for machine in $machines; do
		if try; then
			passed=$((passed + 1))
		else
			failed=$((failed + 1))
		fi
	done
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
