# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# What apply, refresh, series and the checks share about a series: the list of its
# mails, and a scratch repository to apply them in. Sourced after lib.sh.

# The mails of the series, in order, one a line, as file names in $SERIES.
mail_files()
{
	[ -f "$SERIES/series" ] ||
		die "no series for ARCH=$ARCH KERNEL=$KERNEL ($(rel "$SERIES/series")), there is: $(cd "$TOP/patches" 2>/dev/null && echo *)"
	sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$SERIES/series" | while read -r _m; do
		[ -f "$SERIES/$_m" ] || die "$(rel "$SERIES/series") names $_m, which is not there"
		echo "$_m"
	done
}

count_mails()
{
	_n=$(printf '%s' "${1:+$1
}" | grep -c .) || :
	case $_n in
	1) echo "1 patch" ;;
	*) echo "$_n patches" ;;
	esac
}

# One hash over what the applied tree is made from.
mails_hash()
{
	{
		base_commit
		for _m in $1; do
			echo "$_m"
			cat "$SERIES/$_m"
		done
	} | sha256sum | cut -d ' ' -f 1
}

# make_scratch DIR: a repository at the base commit that borrows the kernel's objects.
# Its index is full and its work tree empty; git am fetches the files it needs.
make_scratch()
{
	rm -rf "$1"
	git init -q -b series "$1"
	git -C "$BASE_TREE" rev-parse --path-format=absolute --git-path objects >"$1/.git/objects/info/alternates"
	_shallow=$(git -C "$BASE_TREE" rev-parse --path-format=absolute --git-path shallow)
	[ ! -f "$_shallow" ] || cp "$_shallow" "$1/.git/shallow"
	git -C "$1" update-ref refs/heads/series "$(base_commit)"
	git -C "$1" read-tree HEAD
}

# apply_mails DIR MAILS: git am each in turn. The committer and dates are the mail's own,
# so the commit ids say what was applied and nothing else.
apply_mails()
{
	for _m in $2; do
		echo "cvdso-applying: $_m"
		git -C "$1" -c apply.whitespace=nowarn am -q --keep-non-patch --committer-date-is-author-date \
			"$SERIES/$_m" || return 1
	done
}
