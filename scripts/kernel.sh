#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel.sh MACHINE base|patched [DIRECTORY]: configure and build one kernel in
# build/kernel/<machine>-<variant>/, then the module in DIRECTORY, if one is named.
#
# The configuration is allnoconfig and the fragments that the machine's file names. A symbol
# of a fragment that Kconfig dropped is an error: a kernel that lacks it would boot, and fail
# in a way that says nothing.
#
# `.built` there holds the key of what was built: the commit, the fragments, the
# compiler. With the same key and a clean tree, nothing is done, not even make started.

. "$(dirname "$0")/lib.sh"

machine=$1 variant=$2 module=${3:-}
file=$TOP/qemu/machines/$machine

case $variant in
base) src=$BASE_TREE ;;
patched) src=$TREE ;;
bisect) src=$KERNEL_SRC ;;
*) die "variant $variant: base or patched is wanted" ;;
esac
[ -f "$file" ] || die "no file qemu/machines/$machine"
[ -d "$src" ] || die "no $(rel "$src"): 'make apply' first"

out=${KERNEL_OUT:-$O/kernel/$machine-$variant}
cross=${CROSS_COMPILE:-$(get "$file" CROSS_COMPILE)}
image=$(get "$file" IMAGE)
target=$(get "$file" TARGET)
target=${target:-$image}
arch=$(get "$file" ARCH)
fragments=$(get "$file" CONFIG)
[ "$variant" != patched ] || fragments="$fragments $(get "$file" CONFIG_PATCHED)"
# Fragments of the caller's, who says KERNEL_OUT, too.
fragments="$fragments ${CONFIG_EXTRA:-}"

cd "$TOP/qemu/config"
for f in $fragments; do
	[ -f "$f" ] || die "qemu/machines/$machine names $f, but there is no qemu/config/$f"
done

if [ -n "${LLVM:-}" ]; then
	compiler=clang
	set -- LLVM="$LLVM" CC="ccache clang" CROSS_COMPILE="$cross"
else
	compiler=${cross}gcc
	set -- CC="ccache ${cross}gcc" CROSS_COMPILE="$cross"
fi
command -v "$compiler" >/dev/null ||
	die "$machine: no compiler $compiler: 'make deps', or CROSS_COMPILE=<prefix>"

git() { command git -c safe.directory='*' --no-optional-locks -C "$src" "$@"; }
commit=$(git rev-parse HEAD)
dirty=$(git status --porcelain | head -n 1)
# shellcheck disable=SC2086 # one word a fragment
key=$({
	echo "$commit $target $compiler"
	"$compiler" --version
	cat $fragments
} | sha256sum | cut -d ' ' -f 1)

is_built()
{
	[ -z "$dirty" ] && [ "$(cat "$out/.built" 2>/dev/null)" = "$key" ] && [ -f "$out/$image" ]
}

! is_built || [ -n "$module" ] || exit 0
lock "kernel-$machine-$variant"
built=
! is_built || built=yes
# Whoever held the lock may have built it.
[ -z "$built" ] || [ -n "$module" ] || exit 0
new_log "kernel-$machine-$variant"
mkdir -p "$out"

# A make that was killed, without a moment to clean up, may have left files that look new and
# are half: all that it made is made again.
if [ -e "$out/.building" ]; then
	find "$out" -type f -newer "$out/.building" -exec rm -f {} +
fi
: >"$out/.building"
trap 'rm -f "$out/.building"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Base and patched differ in few files, two checkouts of this repository in none: all shall
# share what ccache has. So the source is src/ in each build, a link that kbuild must not
# resolve (abs_srctree= below), and nothing of a build says where or when it was.
ln -sfn "$src" "$out/src"
[ ! -d "$CACHE/ccache" ] || [ -w "$CACHE/ccache" ] || export CCACHE_READONLY=1 CCACHE_TEMPDIR="$out"
export CCACHE_DIR="$CACHE/ccache" CCACHE_BASEDIR="$out" CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE="${CCACHE_MAXSIZE:-2G}"
export KBUILD_BUILD_TIMESTAMP='2000-01-01' KBUILD_BUILD_USER=cvdso KBUILD_BUILD_HOST=cvdso KBUILD_BUILD_VERSION=1

# Variables of the make that called (O=, MACHINE=) are not the kernel's; its jobs are.
MAKEFLAGS=${MAKEFLAGS:-}
case $MAKEFLAGS in
'-- '*) MAKEFLAGS= ;;
*' -- '*) MAKEFLAGS=${MAKEFLAGS%% -- *} ;;
esac
case $MAKEFLAGS in
*-j*) jobs= ;;
*) jobs=-j$(nproc) ;;
esac
export MAKEFLAGS

kmake()
{
	# shellcheck disable=SC2086 # jobs may be nothing
	env -u O -u KERNEL -u MACHINE -u LLVM make $jobs -C "$out" -f "$out/src/Makefile" \
		abs_srctree="$out/src" ARCH="$arch" LOCALVERSION= V="$V" "$@"
}

configure()
{
	# shellcheck disable=SC2086 # one word a fragment
	cat $fragments >"$out/.fragments.tmp"
	kmake "$@" KCONFIG_ALLCONFIG="$out/.fragments.tmp" allnoconfig || return 1
	rm -f "$out/.fragments.tmp"
}

# The last word of a symbol in the fragments counts.
check_config()
{
	# shellcheck disable=SC2086 # one word a fragment
	awk '
		/^CONFIG_[A-Za-z0-9_]+=/ { s = $0; sub(/=.*/, "", s); v = $0; sub(/^[^=]*=/, "", v) }
		/^# CONFIG_[A-Za-z0-9_]+ is not set/ { s = $2; v = "n" }
		!/^(# )?CONFIG_/ { next }
		FNR == NR && FILENAME == config { have[s] = v; next }
		{ want[s] = v; from[s] = FILENAME }
		END {
			for (s in want)
				if ((s in have ? have[s] : "n") != want[s])
					printf "%s=%s (%s)\n", s, want[s], from[s]
		}
	' config="$out/.config" "$out/.config" $fragments | sort
}

# The lines of a compiler, assembler, linker or make that say what is wrong.
errors()
{
	grep -E '(error|Error|undefined reference|No rule to make|No space left)' "$LOG" | grep -v 'make.*\*\*\*' | head -n 8 | sed 's/^/    /' >&2
}

build()
{
	step "$machine $variant: configuration" configure "$@" || fail "$machine $variant: kconfig failed"
	lost=$(check_config)
	[ -z "$lost" ] ||
		die "$machine $variant: these did not make it into the configuration (a dependency is missing, or there is no such symbol):" "$lost"

	# "modules": there is none, but those made elsewhere need the list of symbols.
	step "$machine $variant" kmake "$@" "$target" modules || {
		! disk_full || die_of "$machine $variant does not build"
		errors
		die "$machine $variant does not build; see $(rel "$LOG")"
	}
	[ -f "$out/$image" ] || die "$machine $variant: make $target made no $image; see $(rel "$LOG")"
	if [ -z "$dirty" ]; then
		echo "$key" >"$out/.built.tmp"
		mv "$out/.built.tmp" "$out/.built"
	else
		# Edits that are in no commit: made again each time, by the kernel's own make.
		rm -f "$out/.built"
	fi
}

[ -n "$built" ] || build "$@"
[ -z "$module" ] || step "$machine $variant: modules in $(rel "$module")" kmake "$@" M="$module" modules || {
	errors
	die "$(rel "$module") does not build; see $(rel "$LOG")"
}
