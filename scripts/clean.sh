#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Remove the build directory, unless a person's work is in it: commits or edits that
# no mail has.

. "$(dirname "$0")/lib.sh"
plain_git

[ -d "$O" ] || exit 0
# An O= that is not ours (a typing error, a home directory) is not ours to remove.
[ "$O" = "$TOP/build" ] || [ -n "$(find "$O" -maxdepth 1 -name 'linux-*.source')" ] || [ -d "$O/log" ] ||
	die "$O does not look like a build directory, nothing was removed"

for record in "$O"/linux-*.applied; do
	tree=${record%.applied}
	[ -d "$tree" ] || continue
	if [ "$(git -C "$tree" rev-parse HEAD)" != "$(get "$record" tip)" ] ||
		[ -n "$(git -C "$tree" status --porcelain | head -n 1)" ]; then
		die "$(rel "$tree") has work that is in no mail: 'make refresh' keeps it; nothing was removed"
	fi
done

# In a person's own repository, the branches made there go with the work trees.
for record in "$O"/linux-*.source; do
	[ -f "$record" ] || continue
	repo=$(get "$record" from | sed -n 's/^tree //p')
	[ -d "$repo" ] || continue
	git -C "$repo" worktree list --porcelain | sed -n 's/^worktree //p' | while read -r tree; do
		case $tree in
		"$(realpath "$O")"/*) forget_worktree "$repo" "$tree" ;;
		esac
	done
	prefix=$(get "$record" prefix)
	git -C "$repo" for-each-ref --format='%(refname)' "refs/heads/$prefix*" "refs/cvdso/$prefix*" |
		while read -r ref; do git -C "$repo" update-ref -d "$ref"; done
done
rm -rf "$O"
