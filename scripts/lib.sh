# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh disable=SC2034 # what is set here is used by those that source it
#
# What every script of the front door shares: where things are, one line a step,
# one line an error, one run at a time.
#
# The Makefile hands the variables down in the environment; a script that is
# started by hand gets the same defaults.

set -eu

TOP=$(cd "$(dirname "$0")/.." && pwd)
: "${O:=$TOP/build}" "${KERNEL:=5.10}" "${ARCH:=powerpc}" "${V:=0}"
case $O in
/*) ;;
*) O=$PWD/$O ;;
esac
PROG=$(basename "$0" .sh)
CACHE=${XDG_CACHE_HOME:-${HOME:-$O}/.cache}/cvdso
SERIES=$TOP/patches/$ARCH-$KERNEL
BASE_TREE=$O/linux-$KERNEL
TREE=$O/linux-$KERNEL-$ARCH

die()
{
	for line; do
		echo "$PROG: $line" >&2
	done
	exit 1
}

# A path as the person would type it.
rel()
{
	case $1 in
	"$PWD"/*) echo "${1#"$PWD"/}" ;;
	*) echo "$1" ;;
	esac
}

say()
{
	printf '  %-7s %s\n' "$(echo "$PROG" | tr '[:lower:]' '[:upper:]')" "$*"
}

# step WHAT COMMAND...: one line when it is done, with its time; what the
# command prints goes to $LOG. The caller decides what a failure means.
step()
{
	_step=$1
	shift
	_start=$(date +%s)
	if [ "$V" = 1 ]; then
		say "$_step"
		"$@" || return $?
		return 0
	fi
	[ ! -t 1 ] || printf '  ...     %s\r' "$_step"
	_rc=0
	"$@" >>"$LOG" 2>&1 || _rc=$?
	_took=$(($(date +%s) - _start))
	[ ! -t 1 ] || printf '\033[K'
	[ $_rc -ne 0 ] || say "$_step (${_took} s)"
	return $_rc
}

new_log()
{
	LOG=$O/log/$1.log
	mkdir -p "$O/log" 2>/dev/null || die "cannot write to $O: $(no_write "$O")"
	: 2>/dev/null >"$LOG" || die "cannot write $LOG: $(no_write "$O")"
}

no_write()
{
	_dir=$1
	while [ ! -d "$_dir" ]; do _dir=$(dirname "$_dir"); done
	if [ ! -w "$_dir" ]; then
		echo "no permission in $_dir"
	else
		echo "$(free_mb "$_dir") MB free there"
	fi
}

free_mb()
{
	df -Pm "$1" | awk 'NR == 2 { print $4 }'
}

# disk_full: a failure whose cause is that. On a full disk the log may be cut short as well.
disk_full()
{
	grep -q -i 'no space left on device\|disk quota exceeded' "$LOG" || [ "$(free_mb "$O")" -lt 20 ]
}

# die, but when the disk is full that is what the person has to know.
die_of()
{
	! disk_full || die "$1: disk full, $O has $(free_mb "$O") MB free: make room there, or use O=<directory elsewhere>"
	die "$@"
}

# fail WHAT: a command has said why in the log; a person wants the reason, not the log.
fail()
{
	! grep -q 'File size limit exceeded\|File too large' "$LOG" ||
		die "$1: the file size limit (ulimit -f) is too small; see $(rel "$LOG")"
	disk_full || log_tail 8
	die_of "$1; see $(rel "$LOG")"
}

# fail_cache: nothing more can be written there.
fail_cache()
{
	die "cannot write to $CACHE: $(no_write "$CACHE"); XDG_CACHE_HOME=<directory elsewhere> is another"
}

log_tail()
{
	[ ! -s "$LOG" ] || tail -n "${1:-15}" "$LOG" | sed 's/^/    /' >&2
}

# lock NAME: one run at a time in this build directory; a second one waits.
lock()
{
	mkdir -p "$O" 2>/dev/null || die "cannot make $O: $(no_write "$O")"
	exec 9>"$O/.$1.lock" || die "cannot write to $O: $(no_write "$O")"
	flock -n 9 || {
		say "waiting for another run in $(rel "$O")"
		flock 9
	}
}

# The person's git settings (line ends, signing, hooks) must not change what is
# made here, so that the same mails give the same commits everywhere.
plain_git()
{
	unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_COMMON_DIR 2>/dev/null || :
	export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
	export GIT_CONFIG_COUNT=4
	export GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
	export GIT_CONFIG_KEY_1=core.hooksPath GIT_CONFIG_VALUE_1=/dev/null
	export GIT_CONFIG_KEY_2=gc.auto GIT_CONFIG_VALUE_2=0
	export GIT_CONFIG_KEY_3=commit.gpgSign GIT_CONFIG_VALUE_3=false
	export GIT_AUTHOR_NAME=cvdso GIT_AUTHOR_EMAIL=cvdso@localhost
	export GIT_COMMITTER_NAME=cvdso GIT_COMMITTER_EMAIL=cvdso@localhost
}

# forget_worktree REPO DIR: remove a work tree of ours, even one whose making was killed, which
# git keeps locked. Not "prune": in a person's repository that forgets theirs, too.
forget_worktree()
{
	git -C "$1" worktree unlock "$2" >/dev/null 2>&1 || :
	rm -rf "$2"
	git -C "$1" worktree remove -f "$2" >/dev/null 2>&1 || :
}

# get FILE KEY: a value of one of the small "KEY=value" files in the build directory, or of a
# machine's "KEY = value".
get()
{
	[ -f "$1" ] || return 0
	sed -n "s/^$2 *= *//p" "$1"
}

# What source.sh wrote down about the tree: its base commit and the branch name of
# a series, which in a person's own repository must not collide with theirs.
base_commit()
{
	get "$O/linux-$KERNEL.source" base
}

branch_name()
{
	echo "$(get "$O/linux-$KERNEL.source" prefix)$ARCH"
}

# One field of the table of kernels, empty when there is no such row.
kernel_field()
{
	awk -v k="$KERNEL" -v f="$1" '$1 == k { print $f }' "$TOP/scripts/kernels"
}
