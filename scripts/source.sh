#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# From nothing to build/linux-<KERNEL>: a git repository with the kernel's source as
# its one commit, tag `base`. Or, with KERNEL_TREE=, a work tree of the repository
# that the person already has.
#
# The source is a Debian package: apt-lib.sh.

. "$(dirname "$0")/lib.sh"
. "$TOP/scripts/apt-lib.sh"
plain_git

package=$(kernel_field 2) version=$(kernel_field 3) suite=$(kernel_field 4)
[ -n "$package" ] || die "unknown KERNEL=$KERNEL, there is: $(awk '!/^#/ { printf "%s ", $1 }' "$TOP/scripts/kernels")"

record=$O/linux-$KERNEL.source
tmp=$O/.linux-$KERNEL.tmp

# What this call asks for, to be compared with what is there.
wanted()
{
	if [ -n "${KERNEL_TREE:-}" ]; then
		echo "tree $(cd "$KERNEL_TREE" 2>/dev/null && pwd -P || echo "$KERNEL_TREE")"
	elif [ -n "${KERNEL_TARBALL:-}" ]; then
		echo "tarball $(readlink -f "$KERNEL_TARBALL") $(stat -L -c '%s %Y' "$KERNEL_TARBALL" 2>/dev/null || :)"
	fi
}

# fetch_deb: leave the package in $deb, in the cache, beside the checksum it had when
# apt had verified it.
fetch_deb()
{
	if [ "$version" = any ]; then
		# shellcheck disable=SC2012 # the names are apt's own
		deb=$(ls -t "$CACHE/source/$package"_*_all.deb 2>/dev/null | head -n 1)
	else
		deb=$CACHE/source/${package}_${version}_all.deb
	fi
	[ ! -f "$deb" ] || {
		(cd "$CACHE/source" && sha256sum --quiet -c "$deb.sha256") >>"$LOG" 2>&1 && return 0
		say "$(basename "$deb") in the cache is damaged, fetching it again"
	}

	apt_lists "$O/apt" deb "$suite" "KERNEL_TARBALL=<file> or KERNEL_TREE=<git checkout> does without"
	spec=$package
	[ "$version" = any ] || spec=$package=$version
	apt_fetch "$spec" "$O/apt/dl" download "$spec"
	# apt writes a colon or plus of the version percent-encoded; ours has none that matter.
	_got=$(basename "$(echo "$O/apt/dl/$package"_*.deb)")
	(cd "$O/apt/dl" && sha256sum "$_got" >"$_got.sha256")
	# A rename within the cache is atomic; the build directory may be another disk.
	{ mkdir -p "$CACHE/source" && cp "$O/apt/dl/$_got" "$CACHE/source/.$_got.$$" &&
		cp "$O/apt/dl/$_got.sha256" "$CACHE/source/.$_got.sha256.$$"; } 2>>"$LOG" || {
		rm -f "$CACHE/source/.$_got"*".$$"
		fail_cache
	}
	mv "$CACHE/source/.$_got.sha256.$$" "$CACHE/source/$_got.sha256"
	mv "$CACHE/source/.$_got.$$" "$CACHE/source/$_got"
	rm -rf "$O/apt"
	deb=$CACHE/source/$_got
}

# The top directory of a kernel source among what an archive unpacked to.
find_top()
{
	for _d in "$1" "$1"/*; do
		if [ -f "$_d/Kbuild" ] && [ -f "$_d/Kconfig" ] && [ -d "$_d/arch" ]; then
			echo "$_d"
			return
		fi
	done
	return 1
}

check_version()
{
	[ -f "$1/Makefile" ] || die "$2 is no kernel source"
	_v=$(awk '$1 == "VERSION" { v = $3 } $1 == "PATCHLEVEL" { p = $3 } END { print v "." p }' "$1/Makefile")
	[ "$_v" = "$KERNEL" ] || die "$2 is Linux $_v, but KERNEL=$KERNEL"
}

# One commit whose id depends on the files alone.
commit_base()
{
	cd "$1" || return 1
	export GIT_AUTHOR_DATE='2000-01-01T00:00:00 +0000' GIT_COMMITTER_DATE='2000-01-01T00:00:00 +0000'
	git init -q -b master .
	# Debian's packaging tells git to ignore the whole kernel; a new file in it must show.
	sed -i '/^# Debian packaging: ignore everything/,$d' .gitignore
	# Straight into one pack: 70 thousand loose objects are slow to write and to read.
	git -c core.bigFileThreshold=1 -c core.compression=1 -c core.autocrlf=false add -A -f .
	git commit -q -m "Linux $KERNEL, as unpacked"
	git tag base
	git checkout -q --detach
	git branch -q -D master
	git config gc.auto 0
}

unpack()
{
	rm -rf "$tmp"
	mkdir -p "$tmp/x" || return 1
	case $1 in
	*.deb)
		dpkg-deb -x "$1" "$tmp/deb" || return 1
		tar -C "$tmp/x" -xf "$tmp/deb/usr/src/$package.tar.xz" || return 1
		rm -rf "$tmp/deb"
		;;
	*) tar -C "$tmp/x" -xf "$1" || return 1 ;;
	esac
}

from_archive()
{
	step "unpack $(basename "$1")" unpack "$1" || fail "cannot unpack $1"
	top=$(find_top "$tmp/x") || die "$1 holds no kernel source"
	check_version "$top" "$1"
	(step "import into git" commit_base "$top") || fail "cannot make the git repository"
	base=$(git -C "$top" rev-parse base)
	finish "$2" "" "$base"
	mv "$top" "$BASE_TREE"
	rm -rf "$tmp"
}

from_tree()
{
	_t=$1
	[ -d "$_t" ] || die "KERNEL_TREE=$_t: no such directory"
	git -C "$_t" rev-parse --git-dir >/dev/null 2>&1 || die "KERNEL_TREE=$_t is not a git checkout"
	check_version "$_t" "KERNEL_TREE=$_t"
	for _state in rebase-merge rebase-apply MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD BISECT_LOG; do
		[ ! -e "$(git -C "$_t" rev-parse --path-format=absolute --git-path $_state)" ] ||
			die "KERNEL_TREE=$_t is in the middle of something ('git status' there says what): finish or abort it, nothing was touched"
	done
	_dirty=$(git --no-optional-locks -C "$_t" status --porcelain --untracked-files=no | head -n 1)
	[ -z "$_dirty" ] ||
		die "KERNEL_TREE=$_t has changes that are not committed (${_dirty#???}, ...): commit or stash them, nothing was touched"
	base=$(git -C "$_t" rev-parse HEAD)
	forget_worktree "$_t" "$tmp"
	step "work tree of $_t" git -C "$_t" worktree add --detach "$tmp" "$base" || fail "cannot make a work tree of $_t"
	finish "$2" "cvdso/$KERNEL-" "$base"
	git -C "$_t" worktree move "$tmp" "$BASE_TREE"
}

# The record is written first and the tree renamed last: a tree that is there is whole.
finish()
{
	printf 'from=%s\nprefix=%s\nbase=%s\n' "$1" "$2" "$3" >"$record.tmp" || fail "cannot write $record"
	mv "$record.tmp" "$record"
}

want=$(wanted)
if [ -d "$BASE_TREE" ] && [ -f "$record" ]; then
	[ -z "$want" ] || [ "$want" = "$(get "$record" from)" ] ||
		die "$(rel "$BASE_TREE") was made from $(get "$record" from): 'make clean' first, or use another O="
	exit 0
fi

lock "source-$KERNEL"
if [ -d "$BASE_TREE" ]; then
	# Whoever held the lock may have made it.
	[ ! -f "$record" ] || exit 0
	die "$(rel "$BASE_TREE") is there, but $(rel "$record"), which says where it is from, is not: move the first one away"
fi
new_log "source-$KERNEL"
# shellcheck disable=SC2154 # assigned by the trap itself
trap 'rc=$?; [ $rc -eq 0 ] || rm -rf "$tmp"; exit $rc' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

if [ -n "${KERNEL_TREE:-}" ]; then
	from_tree "$KERNEL_TREE" "$want"
elif [ -n "${KERNEL_TARBALL:-}" ]; then
	[ -f "$KERNEL_TARBALL" ] || die "KERNEL_TARBALL=$KERNEL_TARBALL: no such file"
	from_archive "$KERNEL_TARBALL" "$want"
else
	fetch_deb
	from_archive "$deb" "deb $(basename "$deb")"
fi
say "$(rel "$BASE_TREE") is Linux $(sed -n 's/^SUBLEVEL = //p' "$BASE_TREE/Makefile" | sed "s/^/$KERNEL./"), base $(echo "$base" | cut -c1-12)"
