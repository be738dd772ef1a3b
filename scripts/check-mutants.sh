#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# check-mutants.sh [NAME...]: breaks the series on purpose, in each of the ways that
# scripts/mutants lists, and looks which test notices: the lab's verifier, model or
# torture, or KUnit. A fault that none of them sees is a test that is missing.
#
# Images are built of an 8xx and of a POWER9 kernel, and one of the latter to boot, in a
# work tree of their own; what the lab notices is not booted. The table is left in
# build/results/mutants.

. "$(dirname "$0")/lib.sh"
plain_git

tip=$(get "$TREE.applied" tip)
[ -n "$tip" ] || die "nothing is applied: 'make apply'"
lock mutants
dir=$O/mutants
tree=$dir/tree
table=$O/results/mutants
[ $# -eq 0 ] || table=$O/mutants/table
lab=$O/host/vdso-lab
machine=ppc64-power9

cleanup()
{
	forget_worktree "$TREE" "$tree"
}
cleanup
mkdir -p "$dir" "$O/results"
git -C "$TREE" worktree add --quiet --detach "$tree" "$tip"
trap cleanup EXIT
trap 'exit 130' INT TERM

images()
{
	for _f in 8xx power9le; do
		"$TOP/tools/vdso/image.sh" "$tree" "$TOP/tools/vdso/images/$_f" "$dir/$_f" >>"$dir/log" 2>&1 ||
			return 1
	done
}

kernel()
{
	KERNEL_SRC=$tree KERNEL_OUT=$dir/kernel CONFIG_EXTRA="timens.config kunit-powerpc.config" \
		"$TOP/scripts/kernel.sh" $machine bisect >>"$dir/log" 2>&1
}

# The initramfs has no module: it would be made from the fault, too.
kunit()
{
	"$O/host/boot" kunit --machine "$TOP/qemu/machines/$machine" --variant patched --mode test \
		--kernel "$dir/kernel/vmlinux" --initrd "$O/initramfs/mutants.cpio.gz" --results "$dir" >>"$dir/log" 2>&1
}

# Who sees it: nobody, if all are content.
seen_by()
{
	_images="$dir/8xx/vdso32.so.dbg $dir/power9le/vdso64.so.dbg"
	# shellcheck disable=SC2086 # a list
	if ! "$O/host/vdso-verify" $_images >>"$dir/log" 2>&1; then
		echo verifier
	elif ! timeout 120 "$lab" diff --cases 100000 $_images >>"$dir/log" 2>&1; then
		echo model
	elif ! timeout 120 "$lab" torture --seconds 8 $_images >>"$dir/log" 2>&1; then
		echo torture
	elif ! kernel; then
		echo compiler
	elif ! kunit; then
		echo KUnit
	else
		echo nobody
	fi
}

check()
{
	_name=$1 _file=$2 _edit=$3
	: >"$dir/log"
	git -C "$tree" checkout --quiet --force "$tip"
	[ "$_name" = none ] || {
		sed -i "$_edit" "$tree/$_file"
		! git -C "$tree" diff --quiet || die "scripts/mutants: $_name: nothing in $_file matches any more"
	}
	images || { cat "$dir/log" >&2; die "$_name does not build"; }
	seen_by
}

# What the tests say is worth nothing if they are not content with the series as it is.
who=$(check none '' '')
[ "$who" = nobody ] || { tail -n 20 "$dir/log" >&2; die "the $who is not content with the series itself"; }

: >"$table.new"
while IFS='|' read -r name file edit; do
	name=$(echo "$name" | tr -d ' ')
	case $name in
	'' | \#*) continue ;;
	esac
	[ $# -eq 0 ] || case " $* " in
	*" $name "*) ;;
	*) continue ;;
	esac
	printf '%-32s %s\n' "$name" "$(check "$name" "$(echo "$file" | tr -d ' ')" "${edit# }")" | tee -a "$table.new"
done <"$TOP/scripts/mutants"
mv "$table.new" "$table"
survivors=$(grep -c ' nobody$' "$table" || :)
echo "$(wc -l <"$table") mutants, $survivors not noticed; the table is $(rel "$table")"
[ "$survivors" = 0 ]
