# SPDX-License-Identifier: GPL-2.0-only
#
# cvdso: the generic C vDSO for powerpc and a faster TSC read for x86, as patch
# series, and the bench that proves them. 'make help' says what there is to do.
#
# Every target does first what it depends on. A step that has nothing to do says
# nothing; what it does is decided by scripts/, which look at what is really there (the
# commit a tree is at, the mails' contents), because for a git tree time stamps say little.

KERNEL ?= 5.10
ARCH ?= powerpc
O ?= build
V ?= 0

MAKEFLAGS += --no-print-directory --no-builtin-rules
# Not .DELETE_ON_ERROR: every recipe writes to a temporary name and renames.
.SUFFIXES:

ifneq ($(words $(CURDIR)),1)
$(error the path of this directory has a space in it, which kernel builds do not support)
endif
ifneq ($(words $(O)),1)
$(error O=$(O): one directory without spaces, please)
endif
override O := $(abspath $(O))
Q := $(if $(filter 1,$(V)),,@)

# Every machine is a file of KEY = value lines, and no other file lists them.
machine = $(shell sed -n 's/^$(2) *= *//p' qemu/machines/$(1))
all_machines := $(notdir $(wildcard qemu/machines/*))
all_archs := $(sort $(foreach m,$(all_machines),$(call machine,$(m),ARCH)))
arch_machines := $(foreach m,$(all_machines),$(if $(filter $(ARCH),$(call machine,$(m),ARCH)),$(m)))
all_kernels := $(shell sed -n 's/^\([0-9][^ ]*\) .*/\1/p' scripts/kernels)

ifeq ($(filter $(KERNEL),$(all_kernels)),)
$(error unknown KERNEL=$(KERNEL), there is: $(all_kernels))
endif
ifneq ($(MACHINE),)
ifneq ($(filter-out $(all_machines),$(MACHINE)),)
$(error unknown MACHINE=$(MACHINE), there is: $(all_machines))
endif
# A machine says its ARCH itself.
override ARCH := $(sort $(foreach m,$(MACHINE),$(call machine,$(m),ARCH)))
ifneq ($(words $(ARCH)),1)
$(error MACHINE=$(MACHINE): of different ARCH: $(ARCH))
endif
endif
ifeq ($(filter $(ARCH),$(all_archs)),)
$(error unknown ARCH=$(ARCH), there is: $(all_archs))
endif
machines := $(or $(MACHINE),$(arch_machines))
variants := base patched

export KERNEL ARCH O V CROSS_COMPILE KERNEL_TREE KERNEL_TARBALL DEBIAN_MIRROR LLVM FROM REROLL

PHONY := help
help:
	@sed -n 's/^#: \{0,1\}//p' Makefile | sed -e 's/@machines@/$(all_machines)/' \
		-e 's/@archs@/$(all_archs)/' -e 's/@kernels@/$(all_kernels)/' -e 's/@series@/$(notdir $(wildcard patches/*))/'

#: Targets, each does first what it depends on:
#:   deps         install what is missing on this machine (Debian's packages)
#:   source       build/linux-<KERNEL>: the kernel's source, a git repository, tag base
#:   apply        build/linux-<KERNEL>-<ARCH>: the series on top, a work tree on a branch
#:   kernel       build base and patched kernels for the machines
#:   qemu-test    boot them all, run the tests, print the summary and the table
#:   kunit        boot them for the kernel's own unit tests, built in and as a module
#:   clients      a Go program, C++ exceptions and core dumps, in and out of the vDSO
#:   qemu-run     boot one MACHINE with FILES="a b" in it and run CMD="..." there; BASE=1:
#:                the kernel without the series; APPEND=: more for its command line
#:
#:   bench        count the instructions of every vDSO call, base and patched, no boot;
#:                ARCH=x86: time BENCH_CALLS calls of both on this CPU, and see time go back
#:   qemu         build/qemu-7.2: the QEMU for boards that no released one has; made
#:                by qemu-test and qemu-run when the machine needs it
#:   qemu-check   bare-metal tests of what it emulates; SANITIZE=1: with ASan and UBSan
#:   qemu-fuzz    guests that try to crash it, seeds="1 2 ..."
#:   qemu-snapshot  savevm and loadvm in the middle of a test run
#:   qemu-mutants break it on purpose, and see each bare-metal test fail
#:
#: To work on a series:
#:   refresh      fold edits into the commits that own them and write the mails anew;
#:                FROM=<repository>:<branch> takes the commits of a branch instead
#:   series       render the mails under your name with a cover letter:
#:                build/outgoing/<ARCH>-<KERNEL>/
#:   check        lints, mails against tree, error paths, everything built and booted
#:   check-full   check and what takes longer
#:   check-bisect build and boot every commit of the series for every machine
#:   check-mutants break the series in many ways, and see each noticed
#:   check-options boot with other configurations and command lines: scripts/options;
#:                OPTIONS="a b": those lines alone
#:   clean        remove the build directory, but no work that is in no mail
#:
#: Variables:
#:   ARCH=powerpc          @archs@
#:   MACHINE=              one or more of: @machines@
#:   KERNEL=5.10           @kernels@
#:   KERNEL_TREE=<path>    use this git checkout, on a branch of its own, not a download
#:   KERNEL_TARBALL=<path> use this source archive, not a download
#:   ACCEL=                kvm, nested or tcg for a machine that is a guest of KVM
#:   O=build               where everything made goes
#:   V=1                   show the commands' output
#:   LLVM=1                build the kernels with clang and lld
#:   CROSS_COMPILE=        in place of the one in the machine's file
#:   PEER=                 bench: a later kernel, e.g. 6.1, to count its C vDSO beside
#:
#: Series: @series@
#: Downloads and compiled objects are kept in $XDG_CACHE_HOME/cvdso (~/.cache/cvdso).

PHONY += deps
deps:
	$(Q)scripts/deps.sh

deps_groups := deps-source deps-kernel deps-test deps-bench deps-check deps-qemu deps-clients
PHONY += $(deps_groups)
$(deps_groups): deps-%:
	$(Q)scripts/deps.sh $*

PHONY += source apply
source: deps-source
	$(Q)scripts/source.sh

apply: source
	$(Q)scripts/apply.sh

# Base and patched of each machine, in turn; each by as many jobs as there are CPUs, or
# all of them share the jobs of a 'make -j'.
# A machine may boot the kernel of another one.
kernel_of = $(or $(call machine,$(1),KERNEL_OF),$(1))
kernels := $(foreach m,$(sort $(foreach m,$(machines),$(call kernel_of,$(m)))),\
	$(foreach v,$(variants),kernel-$(m)-$(v)))
PHONY += kernel $(kernels)
kernel: $(kernels)
$(kernels): kernel-%: deps-kernel apply
	+$(Q)scripts/kernel.sh $(patsubst %-$(lastword $(subst -, ,$*)),%,$*) $(lastword $(subst -, ,$*))

include qemu/qemu.mk
include qemu/qemu-build.mk
qemu: deps-qemu
vdso-tools: deps-kernel deps-test deps-bench
include tools/vdso/bench.mk

PHONY += refresh series
refresh: source
	$(Q)scripts/refresh.sh

series: source
	$(Q)scripts/series.sh

PHONY += check check-full check-bisect check-mutants check-options
check: deps source
	$(Q)scripts/check.sh

check-full: deps source
	$(Q)scripts/check.sh --full

check-mutants: deps-kernel apply vdso-tools mutants-boot
	$(Q)scripts/check-mutants.sh

check-options:
	$(Q)scripts/check-options.sh $(OPTIONS)

check-bisect: deps-kernel deps-test apply
	+$(Q)scripts/check-bisect.sh $(machines)

PHONY += clean
clean:
	$(Q)scripts/clean.sh

FORCE:
PHONY += FORCE
.PHONY: $(PHONY)
