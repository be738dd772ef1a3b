#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# check-bisect.sh MACHINE...: build every commit of the series for each machine, in a work
# tree and build directories of its own, so that what people look at stays as it is. A
# commit that does not build is named; the others are built all the same.

. "$(dirname "$0")/lib.sh"
plain_git

base=$(base_commit)
tip=$(get "$TREE.applied" tip)
[ -n "$tip" ] || die "nothing is applied: 'make apply' first"
tree=$O/.bisect-tree
passed=0 failed=0

lock bisect
cleanup()
{
	rm -rf "$tree"
	git -C "$BASE_TREE" worktree prune
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

cleanup
git -C "$BASE_TREE" worktree add -q --detach "$tree" "$base" >/dev/null 2>&1 || die "cannot make a work tree in $(rel "$O") ($(free_mb "$O") MB free)"
for commit in $(git -C "$BASE_TREE" rev-list --reverse "$base..$tip"); do
	git -C "$tree" checkout -q --detach "$commit"
	subject=$(git -C "$tree" log -1 --format=%s)
	for machine; do
		# The symbols of CONFIG_PATCHED come with the last patches.
		if KERNEL_SRC=$tree KERNEL_OUT=$O/bisect/$machine "$TOP/scripts/kernel.sh" "$machine" bisect; then
			passed=$((passed + 1))
		else
			failed=$((failed + 1))
			echo "$PROG: does not build for $machine: $subject" >&2
		fi
	done
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
