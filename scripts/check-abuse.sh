#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# check-abuse.sh [full]: what happens to people, their machines and their networks, and none of
# it their mistake: runs that are killed, two at once, a full disk, a cache that cannot be
# written, a QEMU that lacks a board, a download that somebody changed. Each ends with one
# clear line or not at all, leaves nothing half made, and the next run ends as if nothing had
# been. Prints KTAP.
#
# What needs a kernel build or the network is in "full", and the rest is not. Guests that misbehave are
# qemu-watchdog's.

. "$(dirname "$0")/lib.sh"
. "$TOP/scripts/check-lib.sh"
. "$TOP/scripts/apt-lib.sh"

# Fixed, so that a failure can be seen again.
seed=${SEED:-20201213}
dir=$O/check/abuse
here=$dir/here kernel=$dir/kernel
mails=$here/patches/powerpc-5.10
tree=$here/build/linux-5.10-powerpc
boot=$O/host/boot
out_dir=$O

export GIT_AUTHOR_NAME=Person GIT_AUTHOR_EMAIL=person@localhost
export GIT_COMMITTER_NAME=Person GIT_COMMITTER_EMAIL=person@localhost
unset KERNEL ARCH MACHINE O V FROM KERNEL_TREE KERNEL_TARBALL MAKEFLAGS MAKELEVEL 2>/dev/null || :

go()
{
	make -C "$here" KERNEL_TREE="$kernel" "$@"
}

# random N: seconds from 0 to N, in $when
random()
{
	seed=$((seed * 16807 % 2147483647))
	when=$(awk -v s="$seed" -v n="$1" 'BEGIN { printf "%.2f", 0.02 + n * s / 2147483647 }')
}

# killed_at SIGNAL SECONDS COMMAND...: all of its processes
killed_at()
{
	echo "# $1 after $2 s"
	_signal=$1 _when=$2
	shift 2
	timeout -s "$_signal" "$_when" "$@" >>"$dir/killed" 2>&1 </dev/null || :
}

# small_disk DIRECTORY SIZE, or false
small_disk()
{
	mkdir -p "$1"
	mount -t tmpfs -o "size=$2" none "$1" 2>/dev/null || return 1
	disks="$disks $1"
}

fill()
{
	dd if=/dev/zero of="$1/filler" bs=4k >/dev/null 2>&1 || :
}

disks=
remove_disks()
{
	for _d in $disks; do
		umount -l "$_d" 2>/dev/null || :
	done
	disks=
}
trap remove_disks EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

state_of()
{
	git -C "$1" --no-optional-locks status --porcelain
	git -C "$1" rev-parse HEAD
	git -C "$1" symbolic-ref -q HEAD || echo detached
	git -C "$1" worktree list
	cat "$1/Makefile" "$1/untracked" 2>/dev/null || :
}

# refused NAME WORDS: KERNEL_TREE as it is now is not taken, and not touched.
refused()
{
	_before=$(state_of "$kernel")
	expect "KERNEL_TREE $1: refused" "$2" make -C "$here" O="$dir/build-tree" KERNEL_TREE="$kernel" source
	check "KERNEL_TREE $1: not touched" test "$_before" = "$(state_of "$kernel")"
}

# A kernel of three files and a series of twelve mails: each step takes a second.
set_up()
{
	rm -rf "$dir"
	mkdir -p "$kernel/arch/powerpc/kernel"
	printf 'VERSION = 5\nPATCHLEVEL = 10\nSUBLEVEL = 1\n' >"$kernel/Makefile"
	seq 1 30 | sed 's/^/line /' >"$kernel/arch/powerpc/kernel/vdso.c"
	git init -q -b main "$kernel"
	git -C "$kernel" add .
	git -C "$kernel" commit -q -m base
	git clone -q "$TOP" "$here" 2>/dev/null
	# What is not committed yet is what is checked.
	cp "$TOP/Makefile" "$here/"
	cp "$TOP"/scripts/* "$here/scripts/"
	cp "$TOP"/qemu/*.mk "$TOP"/qemu/*.sh "$here/qemu/"
	(cd "$here" && rm -rf arch lib include patches && mkdir -p "$mails")
	git clone -q "$kernel" "$dir/author"
	for _n in 01 02 03 04 05 06 07 08 09 10 11 12; do
		echo "int n$_n;" >>"$dir/author/arch/powerpc/kernel/new.c"
		git -C "$dir/author" add -A
		git -C "$dir/author" commit -q -m "vdso: $_n"
	done
	git -C "$dir/author" format-patch -q -o "$mails" HEAD~12
	(cd "$mails" && ls -- *.patch >series)
}

check_kernel_tree()
{
	echo edit >>"$kernel/Makefile"
	refused "with uncommitted work" "not committed"
	git -C "$kernel" checkout -q -- Makefile

	git -C "$kernel" checkout -q -b other
	sed -i 's/line 5$/line five/' "$kernel/arch/powerpc/kernel/vdso.c"
	git -C "$kernel" commit -q -a -m other
	git -C "$kernel" checkout -q main
	sed -i 's/line 5$/line V/' "$kernel/arch/powerpc/kernel/vdso.c"
	git -C "$kernel" commit -q -a -m main
	git -C "$kernel" format-patch -q -o "$dir" -1 other
	git -C "$kernel" rebase other >/dev/null 2>&1 || :
	refused "in the middle of a rebase" "in the middle of something"
	git -C "$kernel" rebase --abort
	git -C "$kernel" am "$dir"/0001-other.patch >/dev/null 2>&1 || :
	refused "in the middle of an am" "in the middle of something"
	git -C "$kernel" am --abort
	git -C "$kernel" reset -q --hard HEAD~1

	git -C "$kernel" checkout -q --detach
	echo mine >"$kernel/untracked"
	check "KERNEL_TREE detached, with an untracked file" go apply
	check "the file is still there" grep -q -x mine "$kernel/untracked"
	check "and in no work tree of ours" test ! -e "$tree/untracked"
	# As on a disk that is not mounted now
	git -C "$kernel" worktree add -q --detach "$dir/theirs"
	mv "$dir/theirs" "$dir/away"
	check "clean" go clean
	mv "$dir/away" "$dir/theirs"
	check "clean: a work tree of theirs that was not there is theirs still" git -C "$dir/theirs" status
	check "clean: none of ours is left" test "$(git -C "$kernel" worktree list | wc -l)" = 2
	git -C "$kernel" worktree remove "$dir/theirs"
	rm "$kernel/untracked"
	git -C "$kernel" checkout -q main
}

is_whole()
{
	[ "$(git -C "$tree" rev-parse HEAD)" = "$tip" ] && [ -z "$(git -C "$tree" status --porcelain)" ] &&
		[ "$(get "$tree.applied" tip)" = "$tip" ] &&
		[ ! -e "$tree.tmp" ] && [ "$(git -C "$kernel" worktree list | wc -l)" = 3 ] &&
		[ "$(git -C "$tree" rev-list --count HEAD)" = 13 ]
}

check_apply()
{
	_start=$(date +%s%N)
	check "apply" go apply
	_took=$(awk -v ns="$(($(date +%s%N) - _start))" 'BEGIN { print ns / 1e9 }')
	tip=$(git -C "$tree" rev-parse HEAD)
	check "all of it" is_whole
	echo "# $_took s when nobody kills it"
	for _round in 1 2 3 4; do
		for _s in INT TERM KILL; do
			go clean >/dev/null 2>&1
			random "$_took"
			killed_at "$_s" "$when" make -C "$here" KERNEL_TREE="$kernel" apply
			check "source and apply after $_s" go apply
			check "the same commit, nothing left over" is_whole
		done
	done

	go clean >/dev/null 2>&1
	go apply >"$dir/first" 2>&1 &
	_first=$!
	check "two applies at once: one" go apply
	check "two applies at once: the other" wait $_first
	check "two applies at once: the same commit" is_whole
	go clean >/dev/null 2>&1

	if small_disk "$dir/small" 8m; then
		check "source on a small disk" make -C "$here" O="$dir/small/build" KERNEL_TREE="$kernel" source
		fill "$dir/small"
		expect "full disk: apply" "[Dd]isk full\|0 MB free" make -C "$here" O="$dir/small/build" KERNEL_TREE="$kernel" apply
		rm "$dir/small/filler"
		check "with room again: apply" make -C "$here" O="$dir/small/build" KERNEL_TREE="$kernel" apply
		check "with room again: the same commit" test "$(git -C "$dir/small/build/linux-5.10-powerpc" rev-parse HEAD)" = "$tip"
		make -C "$here" O="$dir/small/build" clean >/dev/null 2>&1
	else
		skip "full disk: apply" "mounting a small disk is for root"
	fi
}

# What git leaves when it is killed while it makes a work tree.
check_locked_tree()
{
	go clean >/dev/null 2>&1
	go source >/dev/null 2>&1
	git -C "$kernel" worktree add -q --lock -b cvdso/5.10-powerpc "$tree.tmp"
	check "apply where a killed one left a locked work tree" go apply
	check "apply where a killed one left a locked work tree: whole" is_whole
}

check_cache()
{
	mkdir -p "$dir/cache/cvdso/source"
	_deb=linux-source-5.10_5.10.223-1_all.deb
	(cd "$dir/cache/cvdso/source" && echo package >$_deb && sha256sum $_deb >$_deb.sha256 && echo packagf >$_deb)
	expect "a package in the cache with another byte is not used" "is damaged, fetching it again" \
		make -C "$here" O="$dir/build-deb" XDG_CACHE_HOME="$dir/cache" DEBIAN_MIRROR=http://127.0.0.1:9/debian source
}

boot_as()
{
	_machine=$1
	shift
	"$boot" test --machine "$here/qemu/machines/$_machine" --kernel "$here/Makefile" --initrd "$here/Makefile" \
		--host-kernel "$here/Makefile" --host-initrd "$here/Makefile" --results "$dir/results" --mode test "$@"
}

no_kvm()
{
	# shellcheck disable=SC2016 # the inner shell's
	unshare -m sh -c '
		d=$1; shift
		mkdir -p "$d"
		for n in null zero full random urandom tty; do
			: >"$d/$n"
			mount --bind "/dev/$n" "$d/$n"
		done
		mount --rbind "$d" /dev
		exec "$@"' sh "$dir/dev" "$boot" test --machine "$here/qemu/machines/x86_64-kvm" --kernel "$here/Makefile" \
		--initrd "$here/Makefile" --host-kernel "$here/Makefile" --host-initrd "$here/Makefile" \
		--results "$dir/results" --mode test
}

check_qemu()
{
	mkdir -p "$dir/none" "$dir/old"
	expect "QEMU is not installed" "cannot start qemu-system-ppc: No such file.*make deps" \
		env PATH="$dir/none" "$boot" test --machine "$here/qemu/machines/ppc32-g3" --kernel "$here/Makefile" \
		--initrd "$here/Makefile" --results "$dir/results" --mode test

	# The system's has no 8xx board.
	if command -v qemu-system-ppc >/dev/null; then
		printf '#!/bin/sh\nexec qemu-system-ppc "$@"\n' >"$dir/old/qemu-system-ppc-mpc"
		chmod +x "$dir/old/qemu-system-ppc-mpc"
		expect "a QEMU without the board" "qemu-system-ppc-mpc ended with status 1: .*unsupported machine" \
			env PATH="$dir/old:$PATH" "$boot" test --machine "$here/qemu/machines/ppc32-8xx" \
			--kernel "$here/Makefile" --initrd "$here/Makefile" --results "$dir/results" --mode test
	else
		skip "a QEMU without the board" "no qemu-system-ppc is installed"
	fi

	if command -v qemu-system-x86_64 >/dev/null && unshare -m true 2>/dev/null; then
		expect "no /dev/kvm: a host that TCG emulates, and why" "x86_64-kvm base, nested" no_kvm
		check "why is in the log" grep -q "accel: nested: /dev/kvm: No such file" "$dir/results/x86_64-kvm-base.log"
	else
		skip "no /dev/kvm" "hiding it is for root with QEMU"
	fi

	rm -rf "$dir/results"
	if small_disk "$dir/results" 64k; then
		fill "$dir/results"
		expect "full disk: boot" "cannot write .*, 0 MiB are free there" boot_as ppc32-8xx
		check "full disk: boot leaves nothing half made" test "$(ls "$dir/results")" = filler
		rm "$dir/results/filler"
		expect "with room again: boot" "qemu-test: ppc32-8xx base: " boot_as ppc32-8xx
		check "with room again: a result" test -s "$dir/results/ppc32-8xx-base.json"
	else
		skip "full disk: boot" "mounting a small disk is for root"
	fi
}

build_kernel()
{
	env O="$out_dir" KERNEL_OUT="$dir/build-kernel" CCACHE_MAXSIZE=0 "$TOP/scripts/kernel.sh" ppc32-g3 base
}

build_read_only()
{
	# shellcheck disable=SC2016 # the inner shell's
	unshare -m sh -c 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && ! touch "$1/x" 2>/dev/null || exit 9
		shift; exec "$@"' sh "$CACHE" env O="$out_dir" KERNEL_OUT="$dir/build-kernel" "$TOP/scripts/kernel.sh" ppc32-g3 base
}

same_kernel()
{
	cmp "$dir/build-kernel/vmlinux" "$out_dir/kernel/ppc32-g3-base/vmlinux" &&
		cmp "$dir/build-kernel/.built" "$out_dir/kernel/ppc32-g3-base/.built" &&
		[ ! -e "$dir/build-kernel/.building" ]
}

# A fast machine may have ended before it was killed.
built_or_not()
{
	[ ! -e "$dir/build-kernel/.built" ] || same_kernel
}

# One kernel, which has a hard time, and is the same as the one that had none.
check_kernel()
{
	if ! small_disk "$dir/build-kernel" 20m; then
		skip "kernel under abuse" "mounting a small disk is for root"
		return
	fi
	expect "full disk: kernel" "disk full" build_kernel
	mount -o remount,size=1500m "$dir/build-kernel"
	for _s in INT KILL TERM KILL; do
		random 6
		killed_at "$_s" "$when" env O="$out_dir" KERNEL_OUT="$dir/build-kernel" "$TOP/scripts/kernel.sh" ppc32-g3 base
		check "kernel: not taken for built after $_s" built_or_not
	done
	build_read_only >"$dir/first" 2>&1 &
	_first=$!
	check "two kernel builds at once, with a cache that is read-only: one" build_read_only
	check "two kernel builds at once: the other" wait $_first
	check "the same kernel as without all that" same_kernel
}

make_tools()
{
	env O="$dir/build-tools" "$TOP/scripts/locked.sh" tools make -C "$TOP" O="$dir/build-tools" MACHINE=ppc32-g3 qemu-boot-needs
}

# What qemu-test makes before it boots, by two at once in one directory.
check_tools()
{
	rm -rf "$dir/build-tools"
	mkdir -p "$dir/build-tools"
	ln -s "$out_dir/linux-5.10" "$out_dir/linux-5.10.source" "$dir/build-tools/"
	make_tools >"$dir/first" 2>&1 &
	_first=$!
	check "two at once make tools, tests and initramfs: one" make_tools
	check "two at once make tools, tests and initramfs: the other" wait $_first
	_archive=$dir/build-tools/initramfs/ppc32-g3.cpio.gz
	cp "$_archive" "$dir/archive"
	check "nothing is to be done again" make_tools
	check "two at once: the archive is whole" cmp "$_archive" "$dir/archive"
}

# The archive's own signed list, and then one byte of something is another.
check_download()
{
	_mirror=$(mirror)
	_mirror=${_mirror%/}
	_suite=$dir/mirror/dists/bullseye
	_helper=/usr/lib/apt/apt-helper
	mkdir -p "$_suite/main/binary-amd64"
	if ! { "$_helper" download-file "$_mirror/dists/bullseye/InRelease" "$_suite/InRelease" &&
		"$_helper" download-file "$_mirror/dists/bullseye/main/binary-amd64/Packages.xz" \
			"$_suite/main/binary-amd64/Packages.xz"; } >"$dir/output" 2>&1; then
		sed 's/^/# /' "$dir/output" | grep -v -F "$_mirror"
		skip "a download that somebody changed" "the mirror's lists cannot be fetched"
		return
	fi
	_deb=linux-source-5.10_5.10.223-1_all.deb
	_path=$(xz -dc "$_suite/main/binary-amd64/Packages.xz" | sed -n "s|^Filename: \(.*/$_deb\)|\1|p")
	check "the mirror has the package" test -n "$_path"
	mkdir -p "$dir/mirror/$(dirname "$_path")"
	if [ -f "$CACHE/source/$_deb" ]; then
		cp "$CACHE/source/$_deb" "$dir/mirror/$_path"
		if small_disk "$dir/cache-small" 1m; then
			expect "full disk: cache" "cannot write to .*: [01] MB free there; XDG_CACHE_HOME" \
				make -C "$here" O="$dir/build-download" XDG_CACHE_HOME="$dir/cache-small" \
				DEBIAN_MIRROR="file:$dir/mirror" source
			check "full disk: cache: nothing half made" \
				sh -c "[ -z \"\$(find '$dir/cache-small' -type f)\" ] && [ ! -e '$dir/build-download/linux-5.10' ]"
		else
			skip "full disk: cache" "mounting a small disk is for root"
		fi
		printf x | dd of="$dir/mirror/$_path" bs=1 seek=1000000 conv=notrunc 2>/dev/null
	else
		head -c 1000000 /dev/zero >"$dir/mirror/$_path"
	fi
	tampered "a package with another byte" "cannot fetch .* is not what Debian has signed"

	xz -dc "$_suite/main/binary-amd64/Packages.xz" | sed 's/^Size: 1/Size: 2/' >"$dir/Packages"
	xz -c "$dir/Packages" >"$_suite/main/binary-amd64/Packages.xz"
	tampered "another list of packages" "package lists of bullseye: .* is not what Debian has signed"

	sed -i 's/^Date: .*/Date: Thu, 01 Jan 2026 00:00:00 UTC/' "$_suite/InRelease"
	tampered "another signed file" "is not what Debian has signed"
	sed -n '/^-----BEGIN PGP SIGNATURE/q;/^Origin/,$p' "$_suite/InRelease" >"$_suite/Release"
	rm "$_suite/InRelease"
	tampered "no signature" "is not what Debian has signed"
}

tampered()
{
	rm -rf "$dir/build-download" "$dir/cache-download"
	expect "$1" "$2" make -C "$here" O="$dir/build-download" XDG_CACHE_HOME="$dir/cache-download" \
		DEBIAN_MIRROR="file:$dir/mirror" source
	check "$1: nothing of it stays" sh -c "[ -z \"\$(find '$dir/cache-download' -type f)\" ] && [ ! -e '$dir/build-download/linux-5.10' ]"
}

[ -x "$boot" ] || { echo "no $boot: 'make qemu-test' first"; exit 1; }
echo "# seed $seed"
set_up
if [ "${1:-}" = full ]; then
	check_kernel
	check_tools
	check_download
else
	check_kernel_tree
	check_apply
	check_locked_tree
	check_cache
	check_qemu
fi
finish_checks
