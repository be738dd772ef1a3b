#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The series of patches/<ARCH>-<KERNEL>/ applied: build/linux-<KERNEL>-<ARCH>, a work
# tree on a branch of its own.
#
# The mails are applied in a scratch repository first, which has the objects of the
# kernel's but no files, so that takes a second and nothing shows until all of it
# worked. The work tree is then moved from the old tip to the new one: only the
# files that differ are written, so a build after it compiles little. The
# record beside the tree says which mails it was made from and which commit that gave;
# anything else in the tree is a person's work and is left alone.

. "$(dirname "$0")/lib.sh"
. "$TOP/scripts/series-lib.sh"
plain_git
read_series

is_applied()
{
	[ -d "$TREE" ] && [ "$(get "$record" mails)" = "$hash" ]
}

! is_applied || exit 0
lock "apply-$KERNEL-$ARCH"
# Whoever held the lock may have done it.
! is_applied || exit 0
new_log "apply-$KERNEL-$ARCH"

scratch=$O/.apply-$KERNEL-$ARCH.tmp
# shellcheck disable=SC2154 # assigned by the trap itself
trap 'rc=$?; rm -rf "$scratch"; exit $rc' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

apply_in_scratch()
{
	make_scratch "$scratch"
	apply_mails "$scratch" "$mails"
}

# Move the work tree to commit $1, made from all of the mails ($2 = mails) or as many as
# applied ($2 = failed). A person's work in it stops that.
move_tree()
{
	git -C "$scratch" push -q "$BASE_TREE" "+$1:refs/cvdso/$branch" >>"$LOG" 2>&1 ||
		die_of "cannot store the commits in $(rel "$BASE_TREE"); see $(rel "$LOG")"
	if [ ! -d "$TREE" ]; then
		forget_worktree "$BASE_TREE" "$TREE.tmp"
		forget_worktree "$BASE_TREE" "$TREE"
		if git -C "$BASE_TREE" rev-parse -q --verify "refs/heads/$branch" >/dev/null; then
			_old=$(git -C "$BASE_TREE" rev-parse "refs/heads/$branch")
			[ "$_old" = "$1" ] || [ "$_old" = "$(get "$record" tip)" ] || [ "$_old" = "$base" ] ||
				die "branch $branch has commits of yours, but its work tree is gone: 'git -C $(rel "$BASE_TREE") branch -m $branch <new name>' keeps them, then again"
			git -C "$BASE_TREE" branch -q -D "$branch" 2>>"$LOG" ||
				die "branch $branch is in use in another work tree; see $(rel "$LOG")"
		fi
		step "work tree $(rel "$TREE")" git -C "$BASE_TREE" worktree add -b "$branch" "$TREE.tmp" "$1" ||
			die_of "cannot make $(rel "$TREE"); see $(rel "$LOG")"
		git -C "$BASE_TREE" worktree move "$TREE.tmp" "$TREE"
		write_record "$2=$hash" "$1"
		return
	fi
	# Killed just when it had been moved there, git looks for it at the old place.
	git -C "$BASE_TREE" worktree repair "$TREE" >>"$LOG" 2>&1 || :
	_head=$(git -C "$TREE" rev-parse HEAD)
	if [ "$_head" = "$1" ] ||
		{ git -C "$TREE" merge-base --is-ancestor "$1" "$_head" && [ "$2" = mails ]; }; then
		# Already there, a person's commits on top of it or not.
		write_record "$2=$hash" "$1"
		return
	fi
	[ "$(git -C "$TREE" symbolic-ref -q HEAD)" = "refs/heads/$branch" ] ||
		die "$(rel "$TREE") is not on its branch: 'git -C $(rel "$TREE") checkout $branch', then again"
	_tip=$(get "$record" tip)
	if [ "$_head" != "$_tip" ]; then
		die "the mails have changed, and $(rel "$TREE") has commits that are in no mail" \
			"to put them on top of the new series: git -C $(rel "$TREE") rebase --onto refs/cvdso/$branch $(echo "$_tip" | cut -c1-12)"
	fi
	[ -z "$(git -C "$TREE" status --porcelain | head -n 1)" ] ||
		die "the mails have changed, and $(rel "$TREE") has edits that are not committed: commit them or put them aside ('git stash'), then again"
	# Short, and half of it would look like a person's edit.
	trap '' INT TERM HUP
	git -C "$TREE" reset -q --keep "$1" >>"$LOG" 2>&1 || die_of "cannot move $(rel "$TREE") to the new series; see $(rel "$LOG")"
	write_record "$2=$hash" "$1"
}

rc=0
step "$(count_mails "$mails") of $(rel "$SERIES")" apply_in_scratch || rc=$?
tip=$(git -C "$scratch" rev-parse HEAD 2>/dev/null) || die_of "cannot make a scratch repository in $(rel "$O"); see $(rel "$LOG")"
if [ $rc -ne 0 ]; then
	! disk_full || die_of "cannot apply $(rel "$SERIES")"
	mail=$(sed -n 's/^cvdso-applying: //p' "$LOG" | tail -n 1)
	file=$(sed -n -e 's/^error: patch failed: //p' \
		-e 's/^error: \(.*\): \(does not exist in index\|already exists in index\|patch does not apply\)$/\1/p' "$LOG" | head -n 1)
	done_n=$(git -C "$scratch" rev-list --count "$base..HEAD")
	echo "$PROG: $(rel "$SERIES/$mail") does not apply: ${file:-it is not a mail that git am takes} (details: $(rel "$LOG"))" >&2
	move_tree "$tip" failed
	die "$(rel "$TREE") holds the $done_n before it; to go on: cd $(rel "$TREE") && git am -3 $SERIES/$mail" \
		"repair, 'git am --continue', the rest of the mails likewise, then 'make refresh' writes them anew"
fi
move_tree "$tip" mails
