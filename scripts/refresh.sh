#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Write the mails of patches/<ARCH>-<KERNEL>/ and the files that they add anew, from
# a person's work:
#
# - edits of the files in this repository that the series adds,
# - edits in build/linux-<KERNEL>-<ARCH>,
# - commits there, `fixup!` ones included;
#
# or, with FROM=<repository>:<branch>, from the commits of that branch on its tag `base`.
#
# An edit goes into the last commit that touches its file; the rest is git's autosquash.
# All is made in a scratch repository, and the mails are applied again as `apply` would, before
# one file is replaced.

. "$(dirname "$0")/lib.sh"
. "$TOP/scripts/series-lib.sh"
plain_git
read_series

# Mails that changed since they were applied (a pull, another branch) come first.
if [ ! -d "$TREE" ] || { [ "$(get "$record" mails)" != "$hash" ] && [ "$(get "$record" failed)" != "$hash" ]; }; then
	"$TOP/scripts/apply.sh"
fi
tip=$(get "$record" tip)

lock "apply-$KERNEL-$ARCH"
new_log "refresh-$KERNEL-$ARCH"
scratch=$O/.refresh-$KERNEL-$ARCH.tmp
verify=$O/.verify-$KERNEL-$ARCH.tmp
new=$O/.mails-$KERNEL-$ARCH.tmp
# shellcheck disable=SC2154 # assigned by the trap itself
trap 'rc=$?; rm -rf "$scratch" "$verify" "$new"; exit $rc' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

tree_git()
{
	git -C "$TREE" "$@"
}

check_tree_at_rest()
{
	for _s in rebase-apply rebase-merge MERGE_HEAD; do
		[ ! -e "$(tree_git rev-parse --path-format=absolute --git-path "$_s")" ] ||
			die "$(rel "$TREE") is in the middle of an am, rebase or merge: finish it first"
	done
	[ "$(tree_git symbolic-ref -q HEAD)" = "refs/heads/$branch" ] ||
		die "$(rel "$TREE") is not on its branch: 'git -C $(rel "$TREE") checkout $branch' first"
}

# Edits of the files in this repository go to the work tree.
take_edits()
{
	for f in $(added_files "$TREE" "$tip"); do
		[ -f "$TOP/$f" ] ||
			die "$f is gone: bring it back, or 'git rm' it in $(rel "$TREE") and leave it here until refresh"
		if same_file "$TOP/$f" "$TREE" "$tip:$f"; then
			continue
		elif same_file "$TREE/$f" "$TREE" "$tip:$f"; then
			say "$f, edited here"
			cp "$TOP/$f" "$TREE/$f"
		else
			cmp -s "$TOP/$f" "$TREE/$f" ||
				die "$f was edited both here and in $(rel "$TREE"): make the two the same first"
		fi
	done
	for f in $(kernel_path_files); do
		! tree_git cat-file -e "$tip:$f" 2>/dev/null || continue
		cmp -s "$TOP/$f" "$TREE/$f" || [ -n "$(owned_elsewhere "$f")" ] ||
			die "$f is in no patch: commit it in $(rel "$TREE"), to the patch that shall add it"
	done
}

# When not all mails applied, the files here cannot be told from edits: they are what
# the whole series gives. They are about to be replaced, so what git does not have must be safe.
refuse_edits()
{
	for f in $(kernel_path_files); do
		[ -z "$(git -C "$TOP" status --porcelain -- "$f" 2>&1)" ] ||
			die "$f has an edit that is in no commit: commit it here first, for refresh replaces it after a failed apply"
	done
}

# Is FILE added by a mail of another series of this kernel?
owned_elsewhere()
{
	grep -l -x "+++ b/$1" "$TOP"/patches/*-"$KERNEL"/*.patch 2>/dev/null | grep -v "^$SERIES/" || :
}

# Each edited file is one fixup commit for the last commit that touches it.
commit_edits()
{
	_u=$(tree_git ls-files -o --exclude-standard | head -n 1)
	[ -z "$_u" ] || die "$(rel "$TREE/$_u") is in no commit: 'git add' and commit it there, or remove it"
	tree_git diff --name-only --no-renames HEAD >"$new.list"
	while read -r f; do
		_owner=$(tree_git log -1 --format=%H "$base..HEAD" -- "$f")
		[ -n "$_owner" ] ||
			die "no patch touches $f: commit the edit in $(rel "$TREE") ('git commit --fixup=<commit>' folds it into one)"
		say "$f -> $(tree_git log -1 --format=%s "$_owner")"
		tree_git commit -q --fixup="$_owner" -- "$f"
	done <"$new.list"
	rm -f "$new.list"
}

# The rebase has only those files to write that the series touches.
autosquash()
{
	git -C "$scratch" diff --no-renames --name-only "$base" "$1" |
		sed 's|^|/|' | git -C "$scratch" sparse-checkout set --no-cone --stdin || return 1
	git -C "$scratch" reset -q --hard "$1" || return 1
	GIT_SEQUENCE_EDITOR=: GIT_EDITOR=: git -C "$scratch" rebase -q -i --autosquash "$base"
}

from_work_tree()
{
	check_tree_at_rest
	if [ -n "$(get "$record" failed)" ]; then
		refuse_edits
	elif files_are_here; then
		take_edits
	fi
	commit_edits
	[ -z "$(tree_git rev-list --merges "$base..HEAD")" ] || die "$(rel "$TREE") has a merge: a series is a line of commits"
	make_scratch "$scratch"
	_head=$(tree_git rev-parse HEAD)
	git -C "$scratch" update-ref refs/heads/series "$_head"
	if tree_git log --format=%s "$base..HEAD" | grep -q -E '^(fixup|squash|amend)! '; then
		step "autosquash" autosquash "$_head" ||
			die "the edits do not fold by themselves; by hand: cd $(rel "$TREE") && git rebase -i --autosquash $(echo "$base" | cut -c1-12)"
	fi
	range=$base..HEAD
}

from_branch()
{
	_dir=${FROM%:*} _ref=${FROM##*:}
	if [ "$_dir" = "$FROM" ] || ! git -C "$_dir" rev-parse -q --verify "$_ref^{commit}" >/dev/null 2>&1; then
		die "FROM=$FROM: no such branch, FROM=<repository>:<branch> is wanted"
	fi
	_from=$(git -C "$_dir" rev-parse -q --verify 'base^{commit}') ||
		die "FROM=$FROM: that repository has no tag 'base' for the commit that the series starts from"
	check_tree_at_rest
	if [ "$(tree_git rev-parse HEAD)" != "$tip" ] || [ -n "$(tree_git status --porcelain)" ]; then
		die "$(rel "$TREE") has work of its own: 'make refresh' without FROM= keeps it, then again"
	fi
	! files_are_here || for f in $(added_files "$TREE" "$tip"); do
		same_file "$TOP/$f" "$TREE" "$tip:$f" ||
			die "$f was edited here: 'make refresh' without FROM= keeps it, then again"
	done
	make_scratch "$scratch"
	step "commits of $FROM" git -C "$scratch" fetch -q --no-tags "$(git -C "$_dir" rev-parse --path-format=absolute --git-common-dir)" \
		"$(git -C "$_dir" rev-parse "$_ref")" "$_from" || die "cannot read $FROM; see $(rel "$LOG")"
	same_tree "$scratch" "$_from" "$base" ||
		die "FROM=$FROM: its tag 'base' is another source than $(rel "$BASE_TREE")"
	git -C "$scratch" update-ref refs/heads/series "$(git -C "$_dir" rev-parse "$_ref")"
	range=$_from..HEAD
}

# The same source, packaging apart (see commit_base in source.sh).
same_tree()
{
	git -C "$1" diff --quiet "$2" "$3" -- . ':!/.gitignore'
}

# The mails must give the tree that they were made from.
verify_mails()
{
	make_scratch "$verify"
	echo "$scratch/.git/objects" >>"$verify/.git/objects/info/alternates"
	for f in "$new"/*.patch; do
		[ -f "$f" ] || continue
		echo "cvdso-applying: $f"
		git -C "$verify" -c apply.whitespace=nowarn am -q --keep-non-patch --committer-date-is-author-date "$f" || return 1
	done
	same_tree "$verify" HEAD "$(git -C "$scratch" rev-parse HEAD)"
}

# put FILE TARGET: replace it, if it differs, in one step.
put()
{
	! cmp -s "$1" "$2" || return 0
	mkdir -p "$(dirname "$2")"
	cp "$1" "$2.tmp"
	mv "$2.tmp" "$2"
	echo "  REFRESH $(rel "$2")"
}

install_mails()
{
	mkdir -p "$new"
	{
		# What the person wrote there stays.
		grep '^#' "$SERIES/series" || :
		for f in "$new"/*.patch; do [ ! -f "$f" ] || basename "$f"; done
	} >"$new/series"
	for f in "$new"/*; do put "$f" "$SERIES/$(basename "$f")"; done
	for f in "$SERIES"/*.patch; do
		[ ! -f "$f" ] || [ -f "$new/$(basename "$f")" ] || rm "$f"
	done
}

install_files()
{
	for f in $(added_files "$TREE" "$tip"); do
		git -C "$verify" cat-file -e "HEAD:$f" 2>/dev/null || rm -f "$TOP/$f"
	done
	for f in $(added_files "$verify" HEAD); do
		git -C "$verify" cat-file blob "HEAD:$f" >"$new.file"
		case $(git -C "$verify" ls-tree HEAD "$f") in
		100755*) chmod +x "$new.file" ;;
		esac
		put "$new.file" "$TOP/$f"
		rm -f "$new.file"
	done
}

if [ -n "${FROM:-}" ]; then
	from_branch
else
	from_work_tree
fi

have=$(git -C "$scratch" rev-list --count "$range")
want=$(printf '%s\n' "$mails" | grep -c .) || :
[ "$have" -ge "$want" ] || [ -n "${FROM:-}" ] ||
	die "$(rel "$TREE") has $have commits, but $(rel "$SERIES/series") lists $want mails:" \
		"apply the missing ones there ('git am'), or take the lines of those that shall go out of that file"

write_mails "$scratch" "$range" "$new" >>"$LOG" 2>&1 || die "git format-patch failed; see $(rel "$LOG")"
step "$have patches, written and applied again" verify_mails ||
	die "the mails written do not give the tree they were made from, nothing was changed; see $(rel "$LOG")"

# Half of this would be hard to tell from a person's edits.
trap '' INT TERM HUP
install_mails
! files_are_here || install_files
newtip=$(git -C "$verify" rev-parse HEAD)
git -C "$verify" push -q "$BASE_TREE" "+HEAD:refs/cvdso/$branch" >>"$LOG" 2>&1
tree_git reset -q --keep "$newtip" >>"$LOG" 2>&1
mails=$(mail_files)
write_record "mails=$(mails_hash "$mails")" "$newtip"
