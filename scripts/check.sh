#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh [NAME...]: everything that can be checked, or the checks named, one line each.
# --full adds what takes long. What a check prints goes to build/log/check-<name>.log and is shown when it fails. The last
# line is the sum: "N passed, N failed, N skipped", where each case that a guest ran counts.

. "$(dirname "$0")/lib.sh"

ALL="shell format tidy spdx hosts needs mails checkpatch unit errors series abuse emulation boots boots_x86 kunit results snapshot watchdog run jiffies images agree"
FULL="abuse_full kunit_uml fire options clients source mainline bisect kuap sanitizers mutants qemumutants qemupatch"
# The series of this kernel.
ARCHS="powerpc x86"
passed=0 failed=0 skipped=0

cd "$TOP"
mkdir -p "$O/log"

files()
{
	git ls-files -- "$@"
}

make_()
{
	"${MAKE:-make}" O="$O" "$@"
}

check_shell()
{
	files '*.sh' .ci/run | xargs shellcheck
}

# The kernel's own style file, from the tree that it belongs to.
check_format()
{
	files '*.cc' 'tools/**/*.h' 'qemu/**/*.h' 'tools/*.h' 'qemu/*.h' |
		xargs clang-format --dry-run -Werror --style="file:$BASE_TREE/.clang-format"
}

# A file that passed is not looked at again as long as it, all headers and the rules are the
# same: build/check/tidy/ has a file for each that did.
tidy()
{
	export TIDY_FLAGS="-std=c++20 $1"
	shift
	# shellcheck disable=SC2016 # the inner shell's
	printf '%s\n' "$@" | xargs -r -P "$(nproc)" -n 1 sh -c '
		seen=$TIDY_DONE/$(echo "$TIDY_RULES $TIDY_FLAGS $1" | cat - "$1" | sha256sum | cut -d " " -f 1)
		[ ! -e "$seen" ] || exit 0
		clang-tidy --quiet "$1" -- $TIDY_FLAGS && : >"$seen"' sh
}

check_tidy()
{
	export TIDY_DONE="$O/check/tidy"
	mkdir -p "$TIDY_DONE"
	# shellcheck disable=SC2046 # file names without spaces, see check_spdx
	TIDY_RULES=$({ clang-tidy --version && cat .clang-tidy $(files '*.h'); } | sha256sum)
	export TIDY_RULES
	# shellcheck disable=SC2046
	tidy "-I." $(files 'qemu/*.cc' 'qemu/guest/*.cc')
	# shellcheck disable=SC2046
	tidy "-Itools/vdso -Itools/testing/selftests/vdso" $(files 'tools/vdso/*.cc')
	# What is for x86 alone, and the rest
	_tests=$(files 'tools/testing/selftests/*/*.cc')
	_x86=$(echo "$_tests" | grep -E '_x86\.cc$|/vdso_tsc\.cc$')
	_cross="--target=powerpc64le-linux-gnu -isystem /usr/powerpc64le-linux-gnu/include"
	# shellcheck disable=SC2046,SC2086
	tidy "$_cross" $(echo "$_tests" | grep -v -x -F "$_x86")
	# shellcheck disable=SC2046,SC2086
	tidy "" $_x86 $(files 'tools/testing/clients/*.cc')
}

# Everything but the license itself, data in JSON, and mails, which are patches to files
# that have a line of their own.
check_spdx()
{
	_bad=$(files | grep -v -E '\.(json|patch)$|/series$|/cover$|^COPYING$|\.(ver|map)$' | while read -r f; do
		head -n 3 "$f" | grep -q 'SPDX-License-Identifier: GPL-2.0' || echo "$f"
	done)
	[ -z "$_bad" ] || { echo "no SPDX line: $_bad"; return 1; }
}

# Where this machine installs from is nobody's business.
check_hosts()
{
	# shellcheck disable=SC2016 # apt's
	_hosts=$(apt-get indextargets --format '$(REPO_URI)' | sed -n 's|^[a-z+]*://\([^/:]*\).*|\1|p' | sort -u)
	for h in $_hosts; do
		! git grep -n -F "$h" || return 1
	done
}

# Whoever boots an 8xx first makes the QEMU for it first. What make would do, where nothing
# is there but a kernel and its module.
check_needs()
{
	_o=$O/check/needs
	set -- -n O="$_o" MACHINE=ppc32-8xx
	for _made in deps-source deps-test deps-qemu source apply kernel-ppc32-8xx-base kernel-ppc32-8xx-patched \
		"$_o/kernel/ppc32-8xx-base/vmlinux" "$_o/kernel/ppc32-8xx-patched/vmlinux" \
		"$_o/kunit/ppc32-8xx/vdso_kunit.ko"; do
		set -- "$@" -o "$_made"
	done
	for t in qemu-boot qemu-run-needs qemu-patched qemu-watchdog kunit-boot; do
		"${MAKE:-make}" "$@" $t | grep qemu/qemu-build.sh || {
			echo "'make $t' makes no QEMU"
			return 1
		}
	done
}

# What 'git am' makes of the mails, against the files here.
check_mails()
{
	: >"$O/.added"
	for _arch in $ARCHS; do
		make_ apply ARCH="$_arch"
		_tree=$BASE_TREE-$_arch
		_tip=$(get "$_tree.applied" tip)
		[ -n "$_tip" ] || { echo "nothing is applied"; return 1; }
		git -C "$_tree" diff --find-renames --diff-filter=A --name-only "$(base_commit)" "$_tip" >"$O/.added-one"
		while read -r f; do
			git -C "$_tree" show "$_tip:$f" | cmp - "$f" || return 1
		done <"$O/.added-one"
		cat "$O/.added-one" >>"$O/.added"
	done
	for f in $(files arch lib include Documentation); do
		grep -q -x "$f" "$O/.added" || { echo "$f is in no mail"; return 1; }
	done
}

# Left alone: what checkpatch asks to be looked at and is as it should be.
#  FILE_PATH_CHANGES  MAINTAINERS has all of arch/powerpc in one entry
#  ARCH_DEFINES       the two widths of one architecture is what these files are about
# And for x86:
#  SPACING            "( 3*32+29)" is how all of cpufeatures.h is written
#  LINE_SPACING       early_param() stands right behind its function everywhere
#  VOLATILE, FUNCTION_ARGUMENTS  it does not know asm_inline
# And in the KUnit tests, where a macro is a loop or a function for two types:
#  MACRO_ARG_REUSE, MACRO_ARG_PRECEDENCE, MACRO_WITH_FLOW_CONTROL
#  CAMELCASE          ELF's types are called Elf64_Ehdr
check_checkpatch()
{
	_left=FILE_PATH_CHANGES,ARCH_DEFINES
	# powerpc first
	for _arch in $ARCHS; do
		GIT_AUTHOR_NAME=Submitter GIT_AUTHOR_EMAIL=submitter@localhost \
			GIT_COMMITTER_NAME=Submitter GIT_COMMITTER_EMAIL=submitter@localhost make_ series ARCH="$_arch"
		for f in "$O/outgoing/$_arch-$KERNEL"/*.patch; do
			_more=
			case $f in
			*/0000-*) continue ;;
			*KUnit*) _more=,MACRO_ARG_REUSE,MACRO_ARG_PRECEDENCE,MACRO_WITH_FLOW_CONTROL,CAMELCASE ;;
			esac
			(cd "$BASE_TREE" && perl scripts/checkpatch.pl --strict --quiet --show-types --no-tree \
				--ignore "$_left$_more" "$f")
		done
		_left=$_left,SPACING,LINE_SPACING,VOLATILE,FUNCTION_ARGUMENTS
	done
}

check_unit()
{
	make_ -j"$(nproc)" qemu-unit
	make_ -j"$(nproc)" -C tools/vdso O="$O/host" check
}

check_errors()
{
	scripts/check-errors.sh
}

check_abuse()
{
	make_ "$O/host/boot"
	scripts/check-abuse.sh
}

# With a kernel, what is made before a boot, and the network.
check_abuse_full()
{
	make_ "$O/host/boot"
	make_ kernel MACHINE=ppc32-g3
	scripts/check-abuse.sh full
}

check_series()
{
	scripts/check-series.sh
}

# The step that takes longest, cut off and done again; the same commit comes out. The other
# track's package is still there.
check_source()
{
	rm -rf "$O/check/source"
	timeout -s INT 20 "${MAKE:-make}" O="$O/check/source" source && return 1
	[ ! -e "$O/check/source/linux-$KERNEL" ] || return 1
	make_ O="$O/check/source" source
	[ "$(get "$O/check/source/linux-$KERNEL.source" base)" = "$(base_commit)" ]
	make_ O="$O/check/source" KERNEL=7.3 source
	rm -rf "$O/check/source"
}

# The other track: its mails apply, its images build and hold to the convention.
check_mainline()
{
	make_ verify-vdso ARCH=x86 KERNEL=7.3
}

check_bisect()
{
	for _arch in $ARCHS; do
		make_ check-bisect ARCH="$_arch"
	done
}

# The boards of patches/qemu-7.2, from below, and guests that try to crash QEMU.
check_emulation()
{
	make_ qemu-check
	make_ qemu-fuzz
}

# The same, and more of it, in a QEMU that notices what it should not do.
check_sanitizers()
{
	make_ SANITIZE=1 qemu-check
	make_ SANITIZE=1 seeds='1 2 3 4 5 6 7 8 9 10 11 12' qemu-fuzz
}

# Faults put into the series on purpose, and into QEMU.
check_mutants()
{
	make_ check-mutants
}

check_qemumutants()
{
	make_ qemu-mutants
}

# The rules of QEMU's own checkpatch; who signs off is known when a series is sent.
check_qemupatch()
{
	qemu/qemu-build.sh tree
	perl "$O/qemu-7.2-tree/qemu/scripts/checkpatch.pl" --no-signoff --quiet patches/qemu-7.2/*.patch
}

# mm_stress where the kernel's access protection is the other way round than in the kernels
# that check_boots has booted. It writes a register at each access to user space, which flushes
# translations, so an emulation can be right with it and wrong without.
check_kuap()
{
	grep -l '^TESTS = .*mm\.list' qemu/machines/* >"$O/.kuap"
	while read -r _file <&3; do
		_m=$(basename "$_file")
		_triple=$(get "$_file" TRIPLES)
		make_ MACHINE="$_m" "qemu-tests-$_triple"
		make_ qemu-run MACHINE="$_m" BASE=1 FILES="$O/tests/$_triple/mm_stress" CMD=mm_stress
		_fragment=kuap.config
		! grep -q '^CONFIG_PPC_KUAP=y' "$O/kernel/$_m-base/.config" || _fragment=nokuap.config
		CONFIG_EXTRA=$_fragment KERNEL_OUT="$O/kernel/$_m-kuap" scripts/kernel.sh "$_m" base
		PATH="$O/qemu-7.2/bin:$PATH" "$O/host/boot" run --machine "$_file" --variant base \
			--kernel "$O/kernel/$_m-kuap/vmlinux" --initrd "$O/initramfs/run-$_m.cpio.gz"
	done 3<"$O/.kuap"
}

check_snapshot()
{
	make_ qemu-snapshot
}

# The kernel's unit tests, built in and as a module; and in UML, by the kernel's own tool,
# which needs no machine.
check_kunit()
{
	make_ -j"$(nproc)" kunit
	make_ kunit ARCH=x86
	# As a person would, and nothing of it is in git's way
	_k=$O/kernel/ppc32-g3-patched
	_before=$(git status --porcelain)
	make -C "$_k" M="$TOP" ARCH=powerpc CROSS_COMPILE=powerpc-linux-gnu- modules
	[ -f vdso_kunit.ko ] && [ "$(git status --porcelain)" = "$_before" ] || return 1
	set -- -C "$_k" M="$TOP" ARCH=powerpc CROSS_COMPILE=powerpc-linux-gnu-
	# It would take the kernels' objects along.
	! make "$@" clean || return 1
	make "$@" RCS_FIND_IGNORE='-name build -prune -o' clean
	[ ! -e vdso_kunit.ko ] && [ -f "$_k/kernel/fork.o" ]
}

check_kunit_uml()
{
	mkdir -p "$O/kunit/uml"
	printf 'CONFIG_KUNIT=y\nCONFIG_VDSO_KUNIT_TEST=y\n' >"$O/kunit/uml/.kunitconfig"
	make_ apply
	(cd "$TREE" && python3 tools/testing/kunit/kunit.py run --build_dir "$O/kunit/uml" --jobs "$(nproc)") >"$O/check/kunit-uml"
	cat "$O/check/kunit-uml"
	! grep -q -e FAILED -e CRASHED "$O/check/kunit-uml" || return 1
	grep -q 'Testing complete. [1-9]' "$O/check/kunit-uml"
}

# The storm of vdso_fire, longer: ten million readings of each image of each machine.
check_fire()
{
	for _file in qemu/machines/*; do
		_m=$(basename "$_file")
		for _triple in $(get "$_file" TRIPLES); do
			make_ MACHINE="$_m" "qemu-tests-$_triple"
			make_ qemu-run MACHINE="$_m" FILES="$O/tests/$_triple/vdso_fire" \
				CMD="vdso_fire reads=10000000 'while the page'"
		done
	done
}

# Other configurations and command lines than those of check_boots
check_options()
{
	make_ check-options
}

# A guest of KVM that is emulated takes too long to boot so often.
check_clients()
{
	make_ clients
	make_ clients MACHINE=x86_64-tsc
}

# Clocks that the vDSO cannot read: it has to ask the kernel.
check_jiffies()
{
	_t=powerpc-linux-gnu
	make_ -C tools/testing/selftests/vdso CROSS_COMPILE=$_t- OUTPUT="$O/tests/$_t"
	make_ qemu-run MACHINE=ppc32-g3 FILES="$O/tests/$_t/vdso_correctness" CMD=vdso_correctness \
		APPEND=clocksource=jiffies
}

# The counts of the images against the times of the guests, after both are there.
check_agree()
{
	make_ agree-vdso
	make_ verify-kernels
}

# One boot takes one CPU, most of the time.
check_boots()
{
	make_ -j"$(nproc)" qemu-test
	same_archives powerpc
}

check_boots_x86()
{
	make_ qemu-test ARCH=x86
	same_archives x86
}

# A second run boots nothing: what is booted is the same when it is made again.
same_archives()
{
	mkdir -p "$O/check"
	: >"$O/check/booted"
	make_ qemu-boot-needs ARCH="$1"
	_new=$(find "$O/initramfs" -name '*.cpio.gz' -newer "$O/check/booted")
	[ -z "$_new" ] || { echo "made anew, and not the same: $_new"; return 1; }
}

# Not a check of its own: the cases of all boots, each in its place.
count_results()
{
	for f in "$O"/results/*-base.json "$O"/results/*-patched.json "$O"/results/kunit/*-patched.json; do
		[ -f "$f" ] || continue
		_counts=$(python3 -c '
import json, sys
status = [test["status"] for test in json.load(open(sys.argv[1]))["tests"]]
for number in map(status.count, ("pass", "fail", "skip")): print(number)' "$f")
		passed=$((passed + $(echo "$_counts" | sed -n 1p)))
		failed=$((failed + $(echo "$_counts" | sed -n 2p)))
		skipped=$((skipped + $(echo "$_counts" | sed -n 3p)))
	done
}

check_watchdog()
{
	make_ qemu-watchdog
}

# A foreign dynamic and a foreign static program, and the status of the command.
check_run()
{
	_m=ppc64le-power9
	mkdir -p "$O/check"
	echo 'int puts(const char *); int main(void) { puts("hello"); return 7; }' >"$O/check/hello.c"
	powerpc64le-linux-gnu-gcc -o "$O/check/dynamic" "$O/check/hello.c"
	powerpc64le-linux-gnu-gcc -static -o "$O/check/static" "$O/check/hello.c"
	for p in dynamic static; do
		_status=0
		make_ qemu-run MACHINE=$_m FILES="$O/check/$p" CMD="$p" >"$O/check/$p.out" || _status=$?
		cat "$O/check/$p.out"
		# make's own status is 2 whatever failed; the command's is in what it says
		[ "$_status" != 0 ] && grep -q -x hello "$O/check/$p.out" || return 1
	done
}

# x86 in fewer calls than for a table that one would show.
check_images()
{
	make_ bench
	make_ check-vdso
	make_ bench ARCH=x86 BENCH_CALLS=2000000
	make_ check-vdso ARCH=x86 NATIVE_SECONDS=0.5
}

# One check, in a process of its own: the first command that fails ends it.
if [ "${1:-}" = --run ]; then
	"check_$2"
	exit 0
fi

# shellcheck disable=SC2086 # lists
case ${1:-} in
--full) set -- $ALL $FULL ;;
'') set -- $ALL ;;
esac
for name; do
	[ "$name" != results ] || { count_results; continue; }
	log=$O/log/check-$name.log
	start=$(date +%s)
	status=0
	MAKEFLAGS='' MAKELEVEL='' "$0" --run "$name" >"$log" 2>&1 </dev/null || status=$?
	took=$(($(date +%s) - start))
	if [ $status -eq 0 ]; then
		passed=$((passed + 1))
		echo "ok $name ($took s)"
	else
		failed=$((failed + 1))
		tail -n 60 "$log" | sed 's/^/    /'
		echo "not ok $name ($took s), all of it is in $(rel "$log")"
	fi
done

echo "$passed passed, $failed failed, $skipped skipped" | tee "$O/log/check.sum"
[ $failed -eq 0 ]
