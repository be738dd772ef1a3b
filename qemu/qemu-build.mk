# SPDX-License-Identifier: GPL-2.0-only
#
# QEMU for the machines that need patches/qemu-7.2/, which are those that name it as their
# QEMU. Included by the top Makefile, after machines and O are known.

qemu_built := qemu-system-ppc-mpc
# It is found before anything else of that name, and so are, relative to it, the
# boards' device trees.
export PATH := $(O)/qemu-7.2/bin:$(PATH)

# build/qemu-7.2: QEMU with patches/qemu-7.2, for the machines that need it.
PHONY += qemu
qemu: source
	$(Q)qemu/qemu-build.sh

need_qemu = $(if $(filter $(qemu_built),$(call machine,$(1),QEMU)),qemu)
$(foreach m,$(machines),$(foreach v,base patched,\
	$(eval $(O)/results/$(m)-$(v).json: | $(call need_qemu,$(m)))))
ifeq ($(words $(MACHINE)),1)
qemu-run-boot: | $(call need_qemu,$(MACHINE))
endif

# What it emulates, tested from below by bare-metal images, and guests that try to
# crash it.
PHONY += qemu-check qemu-fuzz
qemu-check qemu-fuzz: qemu-%: qemu
	$(Q)$(MAKE) $(if $(filter 1,$(V)),,-s) -C tools/testing/qemu OUTPUT=$(O)/qemu-7.2.tests \
		QEMU=$(qemu_built) $*
