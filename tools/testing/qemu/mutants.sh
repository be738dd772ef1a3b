#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# mutants.sh TREE IMAGES [TEST]: is there a test for what QEMU does? Break it in the ways that
# "mutants" has, one after the other, and see the test fail that is about it. TREE has QEMU's
# source and its build directory, as "qemu-build.sh tree" leaves them; IMAGES the bare-metal
# images. With TEST, only the mutants of the test of that name.
set -eu

tree=$1 images=$2 only=${3:-}
here=$(dirname "$0")
list=$here/mutants
qemu=$tree/build/qemu-system-ppc
survivors=0 tried=0

# A run that was cut off has left one of these.
restore()
{
	find "$tree/qemu" -name '*.before-mutant' | while read -r f; do
		mv "$f" "${f%.before-mutant}"
		touch "${f%.before-mutant}"
	done
}

# The machine of an image, and where its device tree is found.
run()
{
	case $1 in
	mpc8xx) _machine=mpc885ads ;;
	e300) _machine=mpc832x-rdb ;;
	esac
	timeout 20 "$qemu" -L "$QEMU_DATA" -M "$_machine" -nodefaults -nographic -monitor none -no-reboot \
		-serial stdio -icount shift=3,sleep=off -kernel "$images/$1" </dev/null 2>&1 | tr -d '\r' || :
}

build()
{
	nice -n 5 ninja -C "$tree/build" qemu-system-ppc >"$images/mutants.log" 2>&1 && return 0
	cat "$images/mutants.log"
	echo "mutants: QEMU does not build: $1" >&2
	exit 1
}

restore
trap 'restore' EXIT
trap 'exit 130' INT TERM HUP
build "without a mutant"
for image in mpc8xx e300; do
	run "$image" >"$images/$image.sane"
	! grep '^not ok' "$images/$image.sane" || exit 1
	# Each test has a mutant.
	sed -n 's/^ok [0-9]* //p' "$images/$image.sane" | while read -r name; do
		grep -q -F "$image|$name|" "$list" || { echo "mutants: no mutant for: $image: $name" >&2; exit 1; }
	done
done

grep -v '^#' "$list" >"$images/mutants.list"
while IFS='|' read -r image name file edit; do
	[ -z "$only" ] || [ "$only" = "$name" ] || continue
	cp -p "$tree/qemu/$file" "$tree/qemu/$file.before-mutant"
	sed -i "$edit" "$tree/qemu/$file"
	if cmp -s "$tree/qemu/$file" "$tree/qemu/$file.before-mutant"; then
		echo "mutants: $image: $name: sed changes nothing in $file" >&2
		exit 1
	fi
	build "$image: $name"
	run "$image" >"$images/mutant.out"
	restore
	tried=$((tried + 1))
	if ! grep -q '^KTAP' "$images/mutant.out"; then
		cat "$images/mutant.out"
		echo "mutants: $image: $name: the image does not even start" >&2
		exit 1
	elif grep -q "^ok [0-9]* $name\$" "$images/mutant.out"; then
		survivors=$((survivors + 1))
		echo "not ok - $image: $name: passes with the mutant of $file"
	else
		_said=$(grep -B 1 "^not ok [0-9]* $name\$" "$images/mutant.out" | head -n 1)
		echo "ok - $image: $name: ${_said:-the run ends with: $(tail -n 1 "$images/mutant.out")}"
	fi
done <"$images/mutants.list"
echo "mutants: $tried tried, $survivors survived"
[ "$survivors" = 0 ] && [ "$tried" -gt 0 ]
