#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What a person can do wrong, done wrong: each must end with a failure and one clear line,
# and leave what was there as it was. Prints KTAP. Nothing here is built or booted.

. "$(dirname "$0")/lib.sh"

dir=$O/check/errors
number=0 failures=0

rm -rf "$dir"
mkdir -p "$dir"
cd "$TOP"

# expect NAME WORDS COMMAND...: it fails, and says WORDS.
expect()
{
	_name=$1 _words=$2
	shift 2
	number=$((number + 1))
	_status=0
	"$@" >"$dir/output" 2>&1 </dev/null || _status=$?
	if [ $_status -ne 0 ] && grep -q -e "$_words" "$dir/output"; then
		echo "ok $number $_name"
	else
		sed 's/^/# /' "$dir/output"
		echo "not ok $number $_name # status $_status, no line with: $_words"
		failures=$((failures + 1))
	fi
}

# A copy of the repository with a build directory that borrows this one's kernel source.
clone()
{
	rm -rf "${dir:?}/$1"
	git clone -q "$TOP" "$dir/$1"
	# What is not committed yet is what is checked.
	git -C "$TOP" ls-files -m -o --exclude-standard | while read -r f; do
		[ ! -f "$TOP/$f" ] || { mkdir -p "$dir/$1/$(dirname "$f")" && cp -p "$TOP/$f" "$dir/$1/$f"; }
	done
}

make_in()
{
	_dir=$1
	shift
	env -u MAKEFLAGS -u MAKELEVEL -u O "${MAKE:-make}" -C "$_dir" "$@"
}

expect "unknown MACHINE" "unknown MACHINE=nosuch, there is: .*ppc64le-power9" make_in . MACHINE=nosuch kernel
expect "unknown ARCH" "unknown ARCH=nosuch, there is: .*powerpc" make_in . ARCH=nosuch kernel
expect "unknown KERNEL" "unknown KERNEL=nosuch, there is: .*5.10" make_in . KERNEL=nosuch source

# A person's tree with work in it is refused and stays as it is.
git init -q "$dir/tree"
git -C "$dir/tree" -c user.name=x -c user.email=x@localhost commit -q --allow-empty -m base
echo work >"$dir/tree/work"
git -C "$dir/tree" add work
before=$(git -C "$dir/tree" status --porcelain; git -C "$dir/tree" rev-parse HEAD; git -C "$dir/tree" branch)
expect "dirty KERNEL_TREE" "$dir/tree" make_in . O="$dir/build-tree" KERNEL_TREE="$dir/tree" apply
after=$(git -C "$dir/tree" status --porcelain; git -C "$dir/tree" rev-parse HEAD; git -C "$dir/tree" branch)
number=$((number + 1))
if [ "$before" = "$after" ]; then
	echo "ok $number KERNEL_TREE is left alone"
else
	echo "not ok $number KERNEL_TREE is left alone"
	failures=$((failures + 1))
fi

expect "KERNEL_TREE that is none" "nosuch" make_in . O="$dir/build-tree" KERNEL_TREE="$dir/nosuch" source
expect "KERNEL_TARBALL that is none" "nosuch" make_in . O="$dir/build-tar" KERNEL_TARBALL="$dir/nosuch.tar.xz" source
echo rubbish >"$dir/rubbish.tar.xz"
expect "KERNEL_TARBALL that is no archive" "rubbish.tar.xz" make_in . O="$dir/build-tar" KERNEL_TARBALL="$dir/rubbish.tar.xz" source

# No network: a mirror that nobody listens at.
expect "no network" "KERNEL_TARBALL" make_in . O="$dir/build-net" XDG_CACHE_HOME="$dir/cache-net" \
	DEBIAN_MIRROR=http://127.0.0.1:9/debian source

# A full disk: a small one.
if mkdir -p "$dir/small" && mount -t tmpfs -o size=20m none "$dir/small" 2>/dev/null; then
	expect "full disk" "MB free" make_in . O="$dir/small/build" source
	umount "$dir/small"
fi

# A mail that does not apply: which one, which file, how to go on.
clone am
rm -rf "$dir/am/build"
mail=$(sed -n '/^[0-9]/{p;q;}' patches/powerpc-5.10/series)
sed -i 's/^ \(static\|#include\|obj\|#\)/ \1 nosuchcontext/' "$dir/am/patches/powerpc-5.10/$mail"
expect "a mail that does not apply" "$mail" make_in "$dir/am" apply KERNEL_TREE="$BASE_TREE"

# A package that is missing is named; without a terminal and root, the command to type.
mkdir -p "$dir/bin"
expect "missing package" "bison" env PATH="$dir/bin:/usr/sbin:/sbin" /bin/sh -c 'exec /usr/bin/env /bin/sh scripts/deps.sh kernel'

echo "1..$number"
[ $failures -eq 0 ]
