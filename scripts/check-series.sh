#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# apply, refresh, series and clean, through what people do with them. The kernel is one of
# four files, given as KERNEL_TREE=, so that each step takes a second. Prints KTAP.

. "$(dirname "$0")/lib.sh"
. "$TOP/scripts/check-lib.sh"

dir=$O/check/series
here=$dir/here kernel=$dir/kernel
mails=$here/patches/powerpc-5.10
tree=$here/build/linux-5.10-powerpc

export GIT_AUTHOR_NAME=Person GIT_AUTHOR_EMAIL=person@localhost
export GIT_COMMITTER_NAME=Person GIT_COMMITTER_EMAIL=person@localhost
unset KERNEL ARCH MACHINE O V FROM REROLL KERNEL_TREE KERNEL_TARBALL MAKEFLAGS MAKELEVEL 2>/dev/null || :

go()
{
	make -C "$here" KERNEL_TREE="$kernel" "$@"
}

in_tree()
{
	git -C "$tree" "$@"
}

synced()
{
	for f in $(cd "$here" && find arch -type f); do
		in_tree show "HEAD:$f" | cmp - "$here/$f" || return 1
	done
	[ -z "$(in_tree status --porcelain)" ]
}

# The state of a person's repository that nothing may change.
state_of_kernel()
{
	git -C "$kernel" --no-optional-locks status --porcelain
	git -C "$kernel" rev-parse HEAD
	git -C "$kernel" symbolic-ref HEAD
	cat "$kernel/arch/powerpc/kernel/vdso.c"
}

rm -rf "$dir"
mkdir -p "$kernel/arch/powerpc/kernel"
printf 'VERSION = 5\nPATCHLEVEL = 10\nSUBLEVEL = 1\n' >"$kernel/Makefile"
seq 1 30 | sed 's/^/line /' >"$kernel/arch/powerpc/kernel/vdso.c"
git init -q -b main "$kernel"
git -C "$kernel" add .
git -C "$kernel" commit -q -m base
before=$(state_of_kernel)

git clone -q "$TOP" "$here" 2>/dev/null
# What is not committed yet is what is checked.
cp "$TOP/Makefile" "$here/"
cp "$TOP"/scripts/* "$here/scripts/"
(cd "$here" && rm -rf arch lib include Documentation patches && mkdir -p "$mails" && : >"$mails/series" &&
	git add -A && git commit -q -m start)

check "apply an empty series" go apply
check "the person's checkout is untouched" test "$before" = "$(state_of_kernel)"

# Two commits, as a person makes them.
mkdir -p "$tree/arch/powerpc/kernel/vdso"
echo 'int one;' >"$tree/arch/powerpc/kernel/vdso/one.c"
in_tree add -A
in_tree commit -q -s -m "vdso: one" -m "Because."
sed -i 's/line 5$/line five/' "$tree/arch/powerpc/kernel/vdso.c"
echo 'int two;' >"$tree/arch/powerpc/kernel/vdso/two.c"
in_tree add -A
in_tree commit -q -m "vdso: two"
check "clean refuses: commits in no mail" says "no mail" go clean
check "refresh writes them as mails" go refresh
check "two mails, neutral, not signed off" sh -c "[ \$(grep -c patch '$mails/series') = 2 ] &&
	[ \$(grep -h '^From: cvdso <cvdso@localhost>' '$mails'/*.patch | wc -l) = 2 ] && ! grep -r Signed-off-by '$mails'"
check "added files are here, the same bytes" synced
check "a file that the kernel has is not" test ! -e "$here/arch/powerpc/kernel/vdso.c"
git -C "$here" add -A
git -C "$here" commit -q -m mails
first=$(in_tree rev-parse HEAD)
check "refresh again changes nothing" sh -c "make -C '$here' refresh && [ -z \"\$(git -C '$here' status --porcelain)\" ]"
check "apply again does nothing" sh -c "[ -z \"\$(make -s -C '$here' apply)\" ]"

# Edits on both sides.
echo 'int one_more;' >>"$here/arch/powerpc/kernel/vdso/one.c"
sed -i 's/line 20$/line twenty/' "$tree/arch/powerpc/kernel/vdso.c"
check "refresh folds edits into their commits" go refresh
check "into the right ones" sh -c "grep -q '^+int one_more' '$mails'/0001-*.patch && grep -q '^+line twenty' '$mails'/0002-*.patch"
check "still two commits" sh -c "[ \$(git -C '$tree' rev-list --count HEAD) = 3 ]"
check "in sync" synced
echo 'int here;' >>"$here/arch/powerpc/kernel/vdso/one.c"
echo 'int there;' >>"$tree/arch/powerpc/kernel/vdso/one.c"
check "edited on both sides: refused" says "edited both here and" go refresh
git -C "$here" checkout -q -- . && in_tree checkout -q -- .
check "older mails are applied again" go apply
check "and give the same commit" test "$(in_tree rev-parse HEAD)" = "$first"
echo 'int stray;' >"$here/arch/powerpc/kernel/vdso/stray.c"
check "a file in no patch: refused" says "stray.c is in no patch" go refresh
rm "$here/arch/powerpc/kernel/vdso/stray.c"

# Changed mails and a person's commit.
echo 'int mine;' >"$tree/arch/powerpc/kernel/vdso/mine.c"
in_tree add -A
in_tree commit -q -m "vdso: mine"
mine=$(in_tree rev-parse HEAD)
sed -i 's/^Because\.$/Because of that./' "$mails"/0001-*.patch
check "changed mails do not replace a person's commit" says "in no mail" go apply
check "which is still there" test "$(in_tree rev-parse HEAD)" = "$mine"
onto=$(sed -n 's/.*\(rebase --onto .*\)/\1/p' "$dir/said" | head -n 1)
# shellcheck disable=SC2086 # a command line
check "the command that it names works" in_tree $onto
check "apply takes it then" go apply
check "and refresh makes it a mail" sh -c "make -C '$here' refresh && [ \$(grep -c patch '$mails/series') = 3 ]"

# A mail that does not apply.
cp -r "$mails" "$dir/mails"
sed -i 's/^ line 4$/ line four/' "$mails"/0002-*.patch
check "a mail that does not apply: which, where" says "0002-.*does not apply: arch/powerpc/kernel/vdso.c" go apply
check "the tree holds those before it" sh -c "[ \$(git -C '$tree' rev-list --count HEAD) = 2 ] && [ -z \"\$(git -C '$tree' status --porcelain)\" ]"
check "refresh replaces no edit then" says "has an edit that is in no commit" go refresh
git -C "$here" add -A
git -C "$here" commit -q -m "a mail by hand"
check "refresh does not drop the others" says "has 1 commits, but" go refresh
in_tree am -q -3 "$dir"/mails/0002-*.patch "$dir"/mails/0003-*.patch >/dev/null 2>&1
check "applied by hand, refresh writes them" sh -c "make -C '$here' refresh && diff -r '$mails' '$dir/mails'"

# Mails for the list.
check "series" go series
check "under the person's name, signed off, with a cover" sh -c "cd '$here/build/outgoing/powerpc-5.10' && [ \$(ls | wc -l) = 4 ] &&
	grep -l 'Signed-off-by: Person <person@localhost>' 000[1-3]-* | grep -c . | grep -q 3 && grep -q 'PATCH 0/3' 0000-*"
check "nobody's name: refused" says "whose name" env -u GIT_AUTHOR_NAME -u GIT_AUTHOR_EMAIL HOME="$dir" GIT_CONFIG_NOSYSTEM=1 \
	make -C "$here" series

# From a branch elsewhere.
git clone -q "$kernel" "$dir/elsewhere"
git -C "$dir/elsewhere" tag base
git -C "$dir/elsewhere" am -q "$dir"/mails/0001-*.patch
check "refresh FROM= takes a branch" sh -c "make -C '$here' refresh FROM='$dir/elsewhere:main' && [ \$(grep -c patch '$mails/series') = 1 ]"
check "in sync with it" synced
check "FROM= that is none" says "no such branch" go refresh FROM="$dir/elsewhere:nosuch"

check "the person's checkout is still untouched" test "$before" = "$(state_of_kernel)"
echo 'int edit;' >>"$tree/arch/powerpc/kernel/vdso/one.c"
check "clean refuses: edits" says "no mail" go clean
in_tree checkout -q -- .
check "clean" go clean
check "and nothing is left in the person's repository" sh -c "[ \"\$(git -C '$kernel' branch --format='%(refname:short)')\" = main ] &&
	[ \$(git -C '$kernel' worktree list | wc -l) = 1 ] && [ ! -e '$here/build' ]"
echo edit >>"$kernel/Makefile"
check "uncommitted work in KERNEL_TREE: refused" says "not committed" go source

finish_checks
