#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What a person can do wrong, done wrong: each must end with a failure and one clear line,
# and leave what was there as it was. Prints KTAP. Nothing here is built or booted.

. "$(dirname "$0")/lib.sh"
. "$TOP/scripts/check-lib.sh"

dir=$O/check/errors

rm -rf "$dir"
mkdir -p "$dir"
cd "$TOP"

make_in()
{
	_dir=$1
	shift
	env -u MAKEFLAGS -u MAKELEVEL -u O "${MAKE:-make}" -C "$_dir" "$@"
}

expect "unknown MACHINE" "unknown MACHINE=nosuch, there is: .*ppc64le-power9" make_in . MACHINE=nosuch kernel
expect "unknown ARCH" "unknown ARCH=nosuch, there is: .*powerpc" make_in . ARCH=nosuch kernel
expect "unknown KERNEL" "unknown KERNEL=nosuch, there is: .*5.10" make_in . KERNEL=nosuch source

expect "KERNEL_TREE that is none" "nosuch" make_in . O="$dir/build-tree" KERNEL_TREE="$dir/nosuch" source
git init -q "$dir/tree"
expect "KERNEL_TREE that is no kernel" "is no kernel source" make_in . O="$dir/build-tree" KERNEL_TREE="$dir/tree" source
expect "KERNEL_TARBALL that is none" "nosuch" make_in . O="$dir/build-tar" KERNEL_TARBALL="$dir/nosuch.tar.xz" source
echo rubbish >"$dir/rubbish.tar.xz"
expect "KERNEL_TARBALL that is no archive" "rubbish.tar.xz" make_in . O="$dir/build-tar" KERNEL_TARBALL="$dir/rubbish.tar.xz" source

# No network: a mirror that nobody listens at.
expect "no network" "KERNEL_TARBALL" make_in . O="$dir/build-net" XDG_CACHE_HOME="$dir/cache-net" \
	DEBIAN_MIRROR=http://127.0.0.1:9/debian source
mkdir -p "$dir/build-qemu"
ln -s "$BASE_TREE" "$BASE_TREE.source" "$dir/build-qemu/"
expect "no network: QEMU" "package lists of bookworm (no network?): MACHINE=ppc32-g3 .* do without" \
	env O="$dir/build-qemu" XDG_CACHE_HOME="$dir/cache-net" DEBIAN_MIRROR=http://127.0.0.1:9/debian \
	qemu/qemu-build.sh

# A full disk: a small one. The archive holds more than fits.
head -c 40000000 /dev/zero >"$dir/big"
tar -C "$dir" -cf "$dir/big.tar" big
if mkdir -p "$dir/small" && mount -t tmpfs -o size=20m none "$dir/small" 2>/dev/null; then
	expect "full disk" "disk full, .* MB free" make_in . O="$dir/small/build" KERNEL_TARBALL="$dir/big.tar" source
	umount "$dir/small"
else
	skip "full disk" "mounting a small disk is for root"
fi

# Cut off while it unpacks: nothing half made stays, and nothing is in the way of the next.
if ls "$CACHE"/source/linux-source-5.10_*.deb >/dev/null 2>&1; then
	expect "source cut off" "" timeout -s INT 5 "${MAKE:-make}" O="$dir/build-int" source
	left=$(find "$dir/build-int" -mindepth 1 -maxdepth 1 ! -name log ! -name '.*.lock')
	check "nothing half made is left" test -z "$left"
else
	skip "source cut off" "no package in the cache, so the time it takes is unknown"
fi

# A package that is missing is named; without root and a terminal, the command to type. The
# machine has them all, so this is one where bison is not in the PATH.
mkdir -p "$dir/bin"
ln -s /usr/bin/* "$dir/bin/"
rm "$dir/bin/bison"
if [ "$(id -u)" != 0 ]; then
	expect "missing package" "sudo apt-get install .*bison" env PATH="$dir/bin:/usr/sbin" scripts/deps.sh kernel
elif runuser -u nobody -- test -r "$TOP/scripts/deps.sh"; then
	expect "missing package" "sudo apt-get install .*bison" runuser -u nobody -- \
		env PATH="$dir/bin:/usr/sbin" O="$dir/nobody" "$TOP/scripts/deps.sh" kernel
else
	skip "missing package" "a person who is not root cannot read $TOP"
fi
rm "$dir/bin/apt-get"
expect "missing package, no apt-get" "missing.*: bison" env PATH="$dir/bin:/usr/sbin" scripts/deps.sh kernel

finish_checks
