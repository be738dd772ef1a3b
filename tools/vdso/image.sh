#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# image.sh TREE FILE OUT: build the vDSO images, and nothing else, of the kernel
# in TREE with the configuration that FILE names (tools/vdso/images/), in OUT.
# Leaves OUT/vdso32.so.dbg and vdso64.so.dbg, as far as FILE asks for them, and for x86
# OUT/cpufeatures.h, which says what the feature numbers in the images' alternatives mean.
#
# Time namespaces are on where the kernel has them: they are part of what is
# measured. TIME_NS=n leaves them out, for what was measured without. A second run
# with the same tree does nothing.

set -eu

tree=$1 file=$2 out=$3 timens=${TIME_NS:-y}
die()
{
	echo "image.sh: $*" >&2
	exit 1
}

[ -f "$file" ] || die "no file $file"
arch=$(sed -n 's/^ARCH *= *//p' "$file")
: "${arch:=powerpc}"
[ -d "$tree/arch/$arch" ] || die "no kernel in $tree: 'make apply ARCH=$arch' first"
cross=$(sed -n 's/^CROSS_COMPILE *= *//p' "$file")
images=$(sed -n 's/^IMAGES *= *//p' "$file")
command -v "${cross}gcc" >/dev/null || die "no compiler ${cross}gcc: 'make deps' installs it"

git() { command git -c safe.directory='*' --no-optional-locks -C "$tree" "$@"; }
key=$({
	git rev-parse HEAD
	git diff HEAD
	"${cross}gcc" --version
	echo "$timens"
	cat "$file" "$0"
} 2>&1 | sha256sum | cut -d ' ' -f 1)
[ "$(cat "$out/.built" 2>/dev/null)" != "$key" ] || exit 0

# A symbol that has another name in later kernels
configuration()
{
	if grep -q 'config X86_X32_ABI' "$tree/arch/$arch/Kconfig"; then
		sed -n 's/^CONFIG_X86_X32=/CONFIG_X86_X32_ABI=/; /^CONFIG_/p' "$file"
	else
		grep '^CONFIG_' "$file"
	fi
}

mkdir -p "$out/o"
log=$out/log
build()
{
	make -s -C "$tree" O="$out/o" ARCH="$arch" CROSS_COMPILE="$cross" "$@" >>"$log" 2>&1 ||
		{
			tail -n 20 "$log" >&2
			die "make $* failed, all of it is in $log"
		}
}

: >"$log"
{
	configuration
	echo CONFIG_MULTIUSER=y
	echo CONFIG_NAMESPACES=y
	[ "$timens" = n ] || echo CONFIG_TIME_NS=y
} >"$out/config"
# MAKEFLAGS: this may be run by a make with variables of its own
unset MAKEFLAGS MAKELEVEL O KBUILD_OUTPUT
build KCONFIG_ALLCONFIG="$out/config" allnoconfig
configuration | while read -r line; do
	grep -qx "$line" "$out/o/.config" || die "$file: this kernel does not take $line"
done
if [ "$timens" = y ] && grep -q GENERIC_VDSO_TIME_NS "$tree/arch/$arch/Kconfig"; then
	grep -qx CONFIG_TIME_NS=y "$out/o/.config" || die "$file: no time namespaces in this kernel"
fi
build -j2 prepare
for image in $images; do
	case $arch in
	x86) dir=arch/x86/entry/vdso ;;
	*) dir=arch/$arch/kernel/vdso ;;
	esac
	[ -d "$tree/$dir" ] || dir=arch/$arch/kernel/$image
	build "$dir/"
	cp "$(find "$out/o/$dir" -name "$image.so.dbg")" "$out/$image.so.dbg.new"
	mv "$out/$image.so.dbg.new" "$out/$image.so.dbg"
done
if [ "$arch" = x86 ]; then
	cp "$tree/arch/x86/include/asm/cpufeatures.h" "$out/cpufeatures.h"
fi
echo "$key" >"$out/.built"
