# SPDX-License-Identifier: GPL-2.0-only
#
# QEMU for the machines that need patches/qemu-7.2/, which are those that name it as their
# QEMU. Included by the top Makefile, after machines and O are known.

qemu_built := qemu-system-ppc-mpc
# It is found before anything else of that name, and so are, relative to it, the
# boards' device trees.
export PATH := $(O)/qemu-7.2$(if $(filter 1,$(SANITIZE)),-asan)/bin:$(PATH)
export SANITIZE

# build/qemu-7.2: QEMU with patches/qemu-7.2, for the machines that need it.
PHONY += qemu
qemu: source
	$(Q)qemu/qemu-build.sh

need_qemu = $(if $(filter $(qemu_built),$(call machine,$(1),QEMU)),qemu)
$(foreach m,$(machines),$(foreach r,$(m)-base $(m)-patched kunit/$(m)-patched,\
	$(eval $(qemu_results)/$(r).json: | $(call need_qemu,$(m)))))
ifeq ($(words $(MACHINE)),1)
qemu-run-needs: | $(call need_qemu,$(MACHINE))
endif
qemu-patched: | $(sort $(foreach m,$(machines),$(call need_qemu,$(m))))
qemu-watchdog: | $(call need_qemu,$(watchdog_machine))

# What it emulates, tested from below by bare-metal images; guests that try to crash it; and
# whether each of the images' tests sees what it is for.
qemu_images := $(MAKE) $(if $(filter 1,$(V)),,-s) -C tools/testing/qemu OUTPUT=$(O)/qemu-7.2.tests \
	QEMU=$(qemu_built)
PHONY += qemu-check qemu-fuzz qemu-mutants
qemu-check qemu-fuzz: qemu-%: qemu
	$(Q)$(qemu_images) $*
qemu-mutants: qemu
	$(Q)qemu/qemu-build.sh tree
	$(Q)$(qemu_images) TREE=$(O)/qemu-7.2-tree QEMU_DATA=$(O)/qemu-7.2/share/qemu mutants

# savevm and loadvm in the middle of a test run.
qemu_snapshots := $(foreach m,$(machines),$(if $(call need_qemu,$(m)),qemu-snapshot-$(m)))
snapshot_list = $(O)/initramfs/snapshot-$(1).list
PHONY += qemu-snapshot $(qemu_snapshots)
qemu-snapshot: $(qemu_snapshots)

define machine_snapshot
qemu-snapshot-$(1): qemu kernel-$(1)-patched $(call machine_init,$(1)) \
		$(addprefix qemu-tests-,$(firstword $(call machine,$(1),TRIPLES))) \
		$(addprefix $(O)/host/,initramfs gen_init_cpio)
	@mkdir -p $(O)/initramfs
	$(Q)$(O)/host/initramfs user --machine qemu/machines/$(1) --output $(call snapshot_list,$(1)) \
		--init $(call machine_init,$(1)) --command mm_stress \
		$(O)/tests/$(firstword $(call machine,$(1),TRIPLES))/mm_stress
	$(Q)$(call make_archive,$(call snapshot_list,$(1)),$(O)/initramfs/snapshot-$(1).cpio.gz)
	$(Q)tools/testing/qemu/snapshot.sh $(qemu_built) "$(call machine,$(1),QEMU_ARGS)" \
		"$(call machine,$(1),CONSOLE) $(call machine,$(1),VERDICT)" $(call qemu_image,$(1),patched) \
		$(O)/initramfs/snapshot-$(1).cpio.gz $(O)/snapshot/$(1)
endef
$(foreach m,$(machines),$(if $(call need_qemu,$(m)),$(eval $(call machine_snapshot,$(m)))))
