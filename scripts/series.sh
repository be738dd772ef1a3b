#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The series as mails that can be sent: build/outgoing/<ARCH>-<KERNEL>/, under the person's
# name, signed off, numbered, with a cover letter. REROLL=2 makes them v2.
#
# The mails in patches/ name nobody, because who submits them is not known there. The
# cover's text is patches/<ARCH>-<KERNEL>/cover, subject first; the list of
# patches, the diffstat and the table of the last qemu-test are put under it.

. "$(dirname "$0")/lib.sh"
. "$TOP/scripts/series-lib.sh"

# Before plain_git hides the person's configuration.
name=${GIT_AUTHOR_NAME:-$(git -C "$TOP" config user.name || :)}
email=${GIT_AUTHOR_EMAIL:-$(git -C "$TOP" config user.email || :)}
if [ -z "$name" ] || [ -z "$email" ]; then
	die "whose name shall the mails carry? git config --global user.name \"...\"; git config --global user.email ..."
fi
plain_git

[ -n "$(base_commit)" ] || die "no kernel source in $(rel "$O"): 'make source' first"
mails=$(mail_files)
[ -n "$mails" ] || die "$(rel "$SERIES/series") lists no mail"

lock "series-$KERNEL-$ARCH"
new_log "series-$KERNEL-$ARCH"
scratch=$O/.series-$KERNEL-$ARCH.tmp
new=$O/.series-$KERNEL-$ARCH.out
out=$O/outgoing/$(basename "$SERIES")
# shellcheck disable=SC2154 # assigned by the trap itself
trap 'rc=$?; rm -rf "$scratch" "$new"; exit $rc' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# As apply_mails does, but by this person. The mail's own author would win over the
# environment, so it is taken out on the way.
apply_as_person()
{
	make_scratch "$scratch"
	for m in $mails; do
		echo "cvdso-applying: $m"
		{
			printf 'From: %s <%s>\n' "$name" "$email"
			sed -e '1{/^From /d;}' -e '/^$/,$!{/^From: /d;}' "$SERIES/$m"
		} >"$scratch/.git/mail"
		git -C "$scratch" -c apply.whitespace=nowarn am -q --signoff --keep-non-patch \
			--committer-date-is-author-date "$scratch/.git/mail" || return 1
	done
}

render()
{
	rm -rf "$new"
	git -C "$scratch" -c core.abbrev=12 format-patch -q -M -n --cover-letter ${REROLL:+-v "$REROLL"} \
		-o "$new" "$(base_commit)..HEAD"
}

# The tables of the last qemu-test, if there was one.
tables()
{
	if [ ! -x "$O/host/report" ] || ! ls "$O"/results/*-patched.json >/dev/null 2>&1; then
		return 0
	fi
	_machines=$(for f in "$O"/results/*-patched.json; do basename "$f" -patched.json; done)
	# shellcheck disable=SC2086 # a list
	"$O/host/report" --machines "$TOP/qemu/machines" --seeds "$TOP/qemu/seed" \
		--results "$O/results" $_machines 2>>"$LOG" | awk '/nsec\/call/ { on = 1 } on' || :
}

# git's cover letter, with the person's text where git says that it belongs.
fill_cover()
{
	_cover=$1
	tables >"$new/tables"
	if [ ! -f "$SERIES/cover" ]; then
		say "no $(rel "$SERIES/cover"): subject and text of the cover letter are yours to write"
		: >"$new/text"
	else
		cp "$SERIES/cover" "$new/text"
	fi
	awk -v text="$new/text" -v tables="$new/tables" '
		function show(file, skip,    line, n) {
			while ((getline line < file) > 0)
				if (line !~ /^# SPDX/ && n++ >= skip)
					print line
			close(file)
		}
		/\*\*\* SUBJECT HERE \*\*\*/ {
			while ((getline subject < text) > 0 && subject ~ /^# SPDX/) ;
			close(text)
			if (subject != "") { sub(/\*\*\* SUBJECT HERE \*\*\*/, ""); $0 = $0 subject; sub(/  +/, " ") }
		}
		/\*\*\* BLURB HERE \*\*\*/ && subject != "" {
			show(text, 2)
			if ((getline line < tables) > 0) { close(tables); print ""; show(tables, 0) }
			next
		}
		{ print }
	' "$_cover" >"$_cover.tmp"
	mv "$_cover.tmp" "$_cover"
	rm -f "$new/text" "$new/tables"
}

export GIT_AUTHOR_NAME="$name" GIT_AUTHOR_EMAIL="$email" GIT_COMMITTER_NAME="$name" GIT_COMMITTER_EMAIL="$email"
step "$(count_mails "$mails") by $name <$email>" apply_as_person ||
	die "$(sed -n 's/^cvdso-applying: //p' "$LOG" | tail -n 1) does not apply: 'make apply' says more"
render >>"$LOG" 2>&1 || die "git format-patch failed; see $(rel "$LOG")"
fill_cover "$(echo "$new"/*0000-cover-letter.patch)"

mkdir -p "$O/outgoing"
rm -rf "$out"
mv "$new" "$out"
say "$(rel "$out"): look at the cover letter, then git send-email $(rel "$out")/*.patch"
