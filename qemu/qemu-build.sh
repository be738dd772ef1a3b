#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# build/qemu-7.2: QEMU with patches/qemu-7.2/, for the machines that no released QEMU
# can boot, and the device trees of their boards where it looks for them.
#
# The source is Debian's package of QEMU 7.2, see scripts/apt-lib.sh. Debian's own patches,
# which bring it to the last 7.2 stable release, are applied; ours come on top. Only
# qemu-system-ppc is built, four minutes on two cores; it goes to the cache, under the
# package's version and a hash of what it was made from here.
#
# SANITIZE=1 builds it with ASan and UBSan, build/qemu-7.2-asan. "qemu-build.sh tree" leaves the
# source and its build directory in build/qemu-7.2-tree, for who wants to change something there.

. "$(dirname "$0")/../scripts/lib.sh"
. "$TOP/scripts/apt-lib.sh"

PROG=qemu
QEMU_SUITE=bookworm
QEMU_SERIES=$TOP/patches/qemu-7.2
PROGRAM=qemu-system-ppc-mpc
DTBS="mpc832x_rdb.dtb mpc885ads.dtb"
OPTIONS="--target-list=ppc-softmmu --without-default-features --enable-system --enable-tcg --enable-fdt=system
	--disable-install-blobs --with-pkgversion=cvdso"

out=$O/qemu-7.2
if [ "${1:-}" = tree ]; then
	out=$O/qemu-7.2-tree
elif [ "${SANITIZE:-0}" = 1 ]; then
	out=$O/qemu-7.2-asan
	OPTIONS="$OPTIONS --enable-sanitizers"
fi
tmp=$O/.${out##*/}.tmp

mails()
{
	sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$QEMU_SERIES/series"
}

# What ours adds to Debian's source: the mails, but not what their logs say, and configuration.
recipe_hash()
{
	{
		echo "$OPTIONS"
		mails | while read -r _m; do
			sed '1,/^---$/d' "$QEMU_SERIES/$_m"
		done
	} | sha256sum | cut -c 1-16
}

# Packages whose absence would only show as a page of somebody else's error messages.
need()
{
	_missing=
	while read -r _what _package; do
		case $_what in
		/*) [ -e "$_what" ] ;;
		*.pc) pkg-config --exists "${_what%.pc}" 2>/dev/null ;;
		*) command -v "$_what" >/dev/null ;;
		esac || _missing="$_missing $_package"
	done <<-EOF
		pkg-config pkg-config
		dpkg-source dpkg-dev
		patch patch
		ninja ninja-build
		meson meson
		python3 python3
		flex flex
		bison bison
		gcc gcc
		glib-2.0.pc libglib2.0-dev
		pixman-1.pc libpixman-1-dev
		/usr/include/libfdt.h libfdt-dev
	EOF
	[ -z "$_missing" ] || die "missing packages, install them first: apt-get install$_missing"
}

# fetch: leave the source package in a directory of the cache and its .dsc in $dsc. A
# directory is there whole, with the checksums that it had when apt had verified it.
fetch()
{
	for dsc in "$CACHE"/source/qemu-7.2/qemu_7.2*.dsc; do
		[ -f "$dsc" ] || break
		(cd "${dsc%/*}" && sha256sum --quiet -c sha256) >>"$LOG" 2>&1 && return 0
		say "QEMU's source in the cache is damaged, fetching it again"
		rm -rf "${dsc%/*}"
	done
	_others=$(cd "$TOP/qemu/machines" && grep -L "^QEMU *= *$PROGRAM\$" -- * | tr '\n' ' ')
	apt_lists "$tmp/apt" deb-src "$QEMU_SUITE" "MACHINE=${_others}do without"
	apt_fetch "qemu's source" "$tmp/dl" source --download-only qemu
	(cd "$tmp/dl" && sha256sum -- * >"$tmp/sha256" && mv "$tmp/sha256" sha256)
	# The cache may be on another disk.
	_new=$CACHE/source/.qemu-7.2.$$
	rm -rf "$_new"
	{ mkdir -p "$CACHE/source" && cp -r "$tmp/dl" "$_new"; } 2>>"$LOG" || fail_cache
	# Another build directory's run may have been faster.
	mv -T "$_new" "$CACHE/source/qemu-7.2" 2>/dev/null || rm -rf "$_new"
	dsc=$(echo "$CACHE"/source/qemu-7.2/qemu_7.2*.dsc)
	[ -f "$dsc" ] || die "the qemu of $QEMU_SUITE is not 7.2"
}

unpack()
{
	dpkg-source --no-check -x "$dsc" "$tmp/qemu"
}

apply()
{
	cd "$tmp/qemu" || return 1
	for _m in $(mails); do
		echo "$_m"
		patch -p1 -s -F 0 --no-backup-if-mismatch <"$QEMU_SERIES/$_m" || {
			echo "$_m does not apply"
			return 1
		}
	done
}

build()
{
	mkdir "$tmp/build" && cd "$tmp/build" || return 1
	_cc=gcc
	! command -v ccache >/dev/null || _cc="ccache gcc"
	# Where it is built makes no difference to ccache.
	export CCACHE_DIR="$CACHE/ccache" CCACHE_BASEDIR="$tmp" CCACHE_NOHASHDIR=1
	# shellcheck disable=SC2086 # several options
	../qemu/configure --cc="$_cc" $OPTIONS && ninja qemu-system-ppc &&
		strip -g -o "$tmp/$PROGRAM" qemu-system-ppc
}

# build_tree: source and build directory, in $tmp.
build_tree()
{
	need
	fetch
	_version=$(sed -n 's/^Version: *\([0-9]*:\)\{0,1\}//p' "$dsc" | head -n 1)
	step "unpack QEMU $_version" unpack || fail "cannot unpack $(basename "$dsc")"
	(step "apply $(mails | wc -l) patches" apply) || fail "patches/qemu-7.2 does not apply to QEMU $_version"
	(step "build qemu-system-ppc" build) || fail "cannot build QEMU"
}

# make_program: leave the directory with the program, in the cache, in $built.
make_program()
{
	for built in "$CACHE"/qemu/*-"$hash"; do
		[ ! -d "$built" ] || return 0
	done
	build_tree
	built=$CACHE/qemu/$_version-$hash
	{ mkdir -p "$CACHE/qemu/.$$" && cp "$tmp/$PROGRAM" "$CACHE/qemu/.$$/"; } 2>>"$LOG" || fail_cache
	mv -T "$CACHE/qemu/.$$" "$built" 2>/dev/null || rm -rf "$CACHE/qemu/.$$"
}

# The boards' device trees are the kernel's, and its own dtc makes them.
make_dtbs()
{
	# shellcheck disable=SC2086 # several names
	env -u KERNEL -u MACHINE -u LLVM -u MAKEFLAGS make -C "$BASE_TREE" O="$tmp/kernel" \
		ARCH=powerpc CROSS_COMPILE=powerpc-linux-gnu- V=0 allnoconfig $DTBS
}

[ -f "$QEMU_SERIES/series" ] || die "no $(rel "$QEMU_SERIES/series")"
hash=$(recipe_hash)
[ "$(get "$out/made-from" hash)" != "$hash" ] || exit 0

lock "${out##*/}"
[ "$(get "$out/made-from" hash)" != "$hash" ] || exit 0
new_log "${out##*/}"
[ -d "$BASE_TREE" ] || die "no kernel source in $(rel "$O"): 'make source' first"
# A build directory cannot be moved: the tree is made in its place.
[ "${1:-}" != tree ] || tmp=$out
rm -rf "$tmp"
mkdir -p "$tmp"
if [ "${1:-}" = tree ]; then
	build_tree
	echo "hash=$hash" >"$out/made-from"
	exit 0
fi
# shellcheck disable=SC2154 # assigned by the trap itself
trap 'rc=$?; rm -rf "$tmp" "$CACHE/qemu/.$$" "$CACHE/source/.qemu-7.2.$$"; exit $rc' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

make_program
(step "device trees" make_dtbs) || fail "cannot make the device trees"
mkdir -p "$tmp/out/bin" "$tmp/out/share/qemu"
cp "$built/$PROGRAM" "$tmp/out/bin/"
for d in $DTBS; do
	cp "$tmp/kernel/arch/powerpc/boot/dts/$d" "$tmp/out/share/qemu/"
done
echo "hash=$hash" >"$tmp/out/made-from"
rm -rf "$out"
mv "$tmp/out" "$out"
say "$(rel "$out/bin/$PROGRAM"), QEMU $(basename "$built" "-$hash")"
