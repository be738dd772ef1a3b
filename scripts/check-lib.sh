# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh disable=SC2154 # dir is of those that source it
#
# What the checks that print KTAP share. Sourced after lib.sh, by a script that says in $dir
# where it works.

number=0 failures=0

# check NAME COMMAND...: it succeeds.
check()
{
	_name=$1
	shift
	number=$((number + 1))
	if "$@" >"$dir/output" 2>&1 </dev/null; then
		echo "ok $number $_name"
	else
		sed 's/^/# /' "$dir/output"
		echo "not ok $number $_name"
		failures=$((failures + 1))
	fi
}

# says WORDS COMMAND...: it fails, and says WORDS in one line.
says()
{
	_words=$1
	shift
	if "$@" >"$dir/said" 2>&1; then
		cat "$dir/said"
		echo "did not fail"
		return 1
	fi
	cat "$dir/said"
	grep -q -e "$_words" "$dir/said" || {
		echo "no line with: $_words"
		return 1
	}
}

# expect NAME WORDS COMMAND...
expect()
{
	_expected=$1
	shift
	check "$_expected" says "$@"
}

skip()
{
	number=$((number + 1))
	echo "ok $number $1 # SKIP $2"
}

finish_checks()
{
	echo "1..$number"
	[ $failures -eq 0 ]
}
