# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh disable=SC2034 # what is set here is used by those that source it
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

# What there is: the kernel's base, the mails, and the record of what was applied.
read_series()
{
	record=$TREE.applied
	base=$(base_commit)
	[ -n "$base" ] || die "no kernel source in $(rel "$O"): 'make source' first"
	branch=$(branch_name)
	mails=$(mail_files)
	hash=$(mails_hash "$mails")
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

# write_record KEY=HASH TIP: what the work tree was made from (mails=), or which mails did
# not all apply (failed=), and the commit that gave.
write_record()
{
	printf '%s\ntip=%s\n' "$1" "$2" >"$TREE.applied.tmp"
	mv "$TREE.applied.tmp" "$TREE.applied"
}

# added_files REPO COMMIT: the files that the series up to COMMIT adds to the kernel. One
# that it moves is the kernel's own, and stays in the mails.
added_files()
{
	git -C "$1" diff --find-renames --diff-filter=A --name-only "$(base_commit)" "$2"
}

# The files here show the first of the kernels; where another one needs a file
# to differ, only its mails have that.
files_are_here()
{
	[ "$KERNEL" = "$(awk '!/^#/ { print $1; exit }' "$TOP/scripts/kernels")" ]
}

# The files in this repository that stand at a kernel path: those of every top directory
# that is not the project's own.
kernel_path_files()
{
	for _d in "$TOP"/*/; do
		_d=$(basename "$_d")
		case $_d in
		build | patches | qemu | scripts | tools) continue ;;
		esac
		[ "$TOP/$_d" != "$O" ] || continue
		(cd "$TOP" && find "$_d" -type f ! -name '*~' ! -name '*.o')
	done
}

# same_file FILE REPO COMMIT:PATH: the same bytes?
same_file()
{
	[ -f "$1" ] && git -C "$2" cat-file blob "$3" 2>/dev/null | cmp -s - "$1"
}

# write_mails DIR RANGE OUT: the commits as mails that do not depend on who writes them, when,
# or with which git: no commit id, a fixed length of blob ids, a neutral author (see
# series.sh), no version of git.
write_mails()
{
	rm -rf "$3"
	git -C "$1" -c diff.renames=true -c core.abbrev=12 format-patch -q --zero-commit --no-signature --no-numbered \
		--abbrev=12 --no-encode-email-headers -M -o "$3" "$2"
	for _f in "$3"/*.patch; do
		[ -f "$_f" ] || continue
		awk '
			# Header: one From, which may be folded.
			!body && /^From: / { print "From: cvdso <cvdso@localhost>"; fold = 1; next }
			!body && fold && /^[ \t]/ { next }
			!body { fold = 0; print; if ($0 == "") body = 1; next }
			# Log: sign-offs are added when the mail is rendered; no blank lines at the end.
			!diff && /^Signed-off-by: / { next }
			!diff && $0 == "" { blank++; next }
			!diff && $0 == "---" { diff = 1; print; next }
			!diff { while (blank) { print ""; blank-- } }
			{ print }
		' "$_f" >"$_f.tmp"
		mv "$_f.tmp" "$_f"
	done
}
