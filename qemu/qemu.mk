# SPDX-License-Identifier: GPL-2.0-only
#
# From kernels and programs to the table: host tools, guest programs, initramfs,
# boots. Included by the top Makefile, which says what O, Q, KERNEL, machines and
# $(call machine,NAME,KEY) are; kernels are made by its target "kernel".

qemu_results := $(O)/results
# Cross compilers are named after the triple.
qemu_triples := $(sort $(foreach m,$(machines),$(call machine,$(m),TRIPLES)))
qemu_image = $(O)/kernel/$(call kernel_of,$(1))-$(2)/$(call machine,$(1),IMAGE)

# A QEMU that is built for a machine is found here before the system's.
export PATH := $(O)/host:$(PATH)

qemu_say = printf '  %-7s %s\n'

#
# Host tools. The sources are few and small; a change to a header builds them all.
#
HOSTCC ?= gcc
HOSTCXX ?= g++
qemu_cxxflags := -std=c++20 -O2 -Wall -Wextra -Wconversion -Werror
qemu_headers := $(wildcard qemu/*.h qemu/guest/*.h)
qemu_objects = $(patsubst %,$(O)/host/qemu/%.o,$(1))

$(O)/host/boot: $(call qemu_objects,boot ktap kunit machine result trouble vm)
$(O)/host/report: $(call qemu_objects,report ktap machine result)
$(O)/host/initramfs: $(call qemu_objects,initramfs elf_file machine vm words guest/testlist)
$(O)/host/qemu-tests: $(call qemu_objects,unit/ktap_test unit/kunit_test unit/guest_test \
	unit/host_test ktap kunit machine result trouble words elf_file guest/testlist guest/subtest guest/process)
$(O)/host/initramfs $(O)/host/qemu-tests: qemu_libs += -lelf
$(O)/host/qemu-tests: qemu_libs += -lgtest_main -lgtest

$(O)/host/boot $(O)/host/report $(O)/host/initramfs $(O)/host/qemu-tests:
	@$(qemu_say) HOSTLD $(notdir $@)
	$(Q)$(HOSTCXX) -o $@ $^ $(qemu_libs) -lfmt

$(O)/host/qemu/%.o: qemu/%.cc $(qemu_headers)
	@mkdir -p $(@D)
	@$(qemu_say) HOSTCXX qemu/$*
	$(Q)$(HOSTCXX) $(qemu_cxxflags) -c -o $@ $<

$(O)/host/gen_init_cpio: | source
	@mkdir -p $(@D)
	$(Q)$(HOSTCC) -O2 -o $@ $(O)/linux-$(KERNEL)/usr/gen_init_cpio.c

#
# Guest programs, static, one directory for each triple.
#
$(O)/init/%/init: $(wildcard qemu/guest/*.cc) $(qemu_headers)
	@mkdir -p $(@D)
	@$(qemu_say) CXX "init for $*"
	$(Q)$*-g++ $(qemu_cxxflags) -static -s -o $@.new $(filter %.cc,$^)
	$(Q)mv $@.new $@

qemu_test_dirs := $(foreach t,$(qemu_triples),qemu-tests-$(t))
PHONY += $(qemu_test_dirs)
$(qemu_test_dirs): qemu-tests-%:
	$(Q)$(MAKE) -C tools/testing/selftests/vdso CROSS_COMPILE=$*- OUTPUT=$(O)/tests/$*
	$(Q)$(MAKE) -C tools/testing/selftests/mm CROSS_COMPILE=$*- OUTPUT=$(O)/tests/$*

# The base tree does not change, so its tests are built once.
$(O)/kselftest/%/built: qemu/kselftest.sh | source
	@$(qemu_say) KSELFT "the kernel's tests for $*"
	$(Q)qemu/kselftest.sh $(O)/linux-$(KERNEL) $*- $(@D)

#
# Initramfs: the same for base and patched. The archive is made each time, which takes
# a second, and replaced when it differs; so no list of what it depends on can be wrong.
#
qemu_initramfs := $(foreach m,$(machines),$(O)/initramfs/$(m).cpio.gz)
qemu_lists = qemu/tests/common.list $(wildcard qemu/tests/$(call machine,$(1),ARCH).list) \
	$(addprefix qemu/tests/,$(call machine,$(1),TESTS))
# $(1): file of the list, $(2): archive
machine_init = $(O)/init/$(firstword $(call machine,$(1),TRIPLES))/init
make_archive = $(O)/host/gen_init_cpio -t 0 $(1) | gzip -n >$(2).new && \
	{ cmp -s $(2).new $(2) && rm $(2).new || mv $(2).new $(2); }

define machine_initramfs
$(O)/initramfs/$(1).cpio.gz: $(O)/host/initramfs $(O)/host/gen_init_cpio \
		$(call machine_init,$(1)) $(foreach t,$(call machine,$(1),TRIPLES),\
		qemu-tests-$(t) $(O)/kselftest/$(t)/built) FORCE
	@mkdir -p $$(@D)
	$(Q)scripts/locked.sh initramfs-$(1) sh -c '$(O)/host/initramfs tests --machine qemu/machines/$(1) \
		--output $(O)/initramfs/$(1).list --init $(call machine_init,$(1)) \
		$(addprefix --list ,$(call qemu_lists,$(1))) \
		--tests $(O)/tests --kselftest $(O)/kselftest && \
		{ $(call make_archive,$(O)/initramfs/$(1).list,$$@); }'
endef
$(foreach m,$(machines),$(eval $(call machine_initramfs,$(m))))

#
# A guest of KVM, where this host's is not fit for that: QEMU's TCG emulates a machine
# that is, whose initramfs has QEMU and all that the guest boots.
#
# $(1): machine, $(2): base or patched, $(3): initramfs of the guest, $(4): archive
host_list = $(4:.cpio.gz=.list)
make_host = $(O)/host/initramfs host --machine qemu/machines/$(1) --output $(host_list) \
	--init $(call machine_init,$(1)) --kernel $(call qemu_image,$(1),$(2)) --initrd $(3) && \
	$(O)/host/gen_init_cpio -t 0 $(host_list) | gzip -n1 >$(4).new && mv $(4).new $(4)
# The kernel of the host is not what is tested.
host_kernel = $(call qemu_image,$(call machine,$(1),HOST),base)
host_options = --host-kernel $(call host_kernel,$(1)) --host-initrd $(2) \
	$(if $(ACCEL),--accel $(ACCEL))

#
# Boots. A second make looks at the kernels that the first one has left, and boots
# those machines whose result is older than what it was made from.
#
PHONY += qemu-test qemu-boot qemu-boot-needs
qemu-test: deps-test kernel
	+$(Q)scripts/locked.sh tools $(MAKE) -f $(firstword $(MAKEFILE_LIST)) qemu-boot-needs
	$(Q)$(MAKE) -f $(firstword $(MAKEFILE_LIST)) qemu-boot
	$(Q)$(O)/host/report --machines qemu/machines --seeds qemu/seed --results $(qemu_results) \
		$(machines)

qemu_unpatched := $(strip $(foreach m,$(machines),$(if $(wildcard $(call qemu_image,$(m),patched)),,$(m))))
qemu_booted := $(foreach m,$(machines),$(qemu_results)/$(m)-base.json) \
	$(foreach m,$(filter-out $(qemu_unpatched),$(machines)),$(qemu_results)/$(m)-patched.json)

# All that two runs in this directory would make at the same time.
qemu-boot-needs: $(qemu_initramfs) $(O)/host/boot $(O)/host/report
	@:

qemu-boot: $(qemu_booted) $(O)/host/report
	$(if $(qemu_unpatched),@echo "qemu-test: only base is booted: no patched kernel for $(qemu_unpatched)")

# A failed boot must not end the run, and must be tried again next time: its result
# is kept for the report, but is older than everything.
modes = test $(call machine,$(1),MODES) $(if $(filter patched,$(2)),$(call machine,$(1),MODES_PATCHED)) \
	$(if $(call machine,$(1),ICOUNT),bench)
host_archive = $(if $(call machine,$(1),HOST),$(O)/initramfs/$(1)-$(2)-host.cpio.gz)

# What the series adds to a kernel's configuration names its unit tests.
has_kunit = $(and $(filter patched,$(2)),$(filter kunit-%,$(call machine,$(call kernel_of,$(1)),CONFIG_PATCHED)))

define machine_boot
$(qemu_results)/$(1)-$(2).json: $(call qemu_image,$(1),$(2)) $(O)/initramfs/$(1).cpio.gz \
		qemu/machines/$(1) $(O)/host/boot $(call host_archive,$(1),$(2))
	$(Q)$(O)/host/boot test --machine qemu/machines/$(1) --variant $(2) \
		--kernel $(call qemu_image,$(1),$(2)) --initrd $(O)/initramfs/$(1).cpio.gz \
		$(if $(call machine,$(1),HOST),$(call host_options,$(1),$(call host_archive,$(1),$(2)))) \
		--results $(qemu_results) $(addprefix --mode ,$(call modes,$(1),$(2))) \
		$(if $(call has_kunit,$(1),$(2)),--kunit) || \
		{ [ $$$$? = 1 ] && touch -d @0 $$@; }
endef
define machine_host
$(call host_archive,$(1),$(2)): $(call qemu_image,$(1),$(2)) $(O)/initramfs/$(1).cpio.gz \
		qemu/machines/$(1) $(O)/host/initramfs $(call machine_init,$(1))
	$(Q)$(call make_host,$(1),$(2),$(O)/initramfs/$(1).cpio.gz,$$@)
endef
$(foreach m,$(machines),$(if $(call machine,$(m),HOST),\
	$(foreach v,base patched,$(eval $(call machine_host,$(m),$(v))))))
$(foreach m,$(machines),$(foreach v,base patched,$(eval $(call machine_boot,$(m),$(v)))))

#
# The kernel's unit tests alone: built in, and once more as a module that is made out
# of the kernel's tree, from here. The timing boot is left out, it has the same kernel.
#
kunit_machines := $(strip $(foreach m,$(machines),$(if $(call has_kunit,$(m),patched),$(m))))
kunit_sources := Kbuild $(shell find lib/vdso/kunit -name '*.[ch]' -o -name Makefile)
kunit_host = $(if $(call machine,$(1),HOST),$(O)/kunit/$(1)/host.cpio.gz)
kunit_results := $(foreach m,$(kunit_machines),$(qemu_results)/kunit/$(m)-patched.json)

PHONY += kunit kunit-boot $(kunit_results)
kunit: deps-test $(sort $(foreach m,$(kunit_machines),kernel-$(call kernel_of,$(m))-patched \
	$(if $(call machine,$(m),HOST),kernel-$(call machine,$(m),HOST)-base)))
	$(Q)$(MAKE) -f $(firstword $(MAKEFILE_LIST)) kunit-boot

kunit-boot: $(kunit_results) $(O)/host/report
	$(Q)$(O)/host/report --machines qemu/machines --seeds qemu/seed \
		--results $(qemu_results)/kunit $(kunit_machines)

define machine_kunit
$(O)/kunit/$(1)/vdso_kunit.ko: $(kunit_sources) $(call qemu_image,$(1),patched)
	$(Q)for f in $(kunit_sources); do \
		mkdir -p $$(@D)/$$$$(dirname $$$$f) && cp $$$$f $$(@D)/$$$$f || exit 1; done
	+$(Q)scripts/kernel.sh $(call kernel_of,$(1)) patched $$(@D)

$(qemu_results)/kunit/$(1)-patched.json: $(O)/kunit/$(1)/vdso_kunit.ko $(call machine_init,$(1)) \
		$(addprefix $(O)/host/,boot initramfs gen_init_cpio)
	$(Q)$(O)/host/initramfs user --machine qemu/machines/$(1) --output $(O)/kunit/$(1)/initramfs.list \
		--init $(call machine_init,$(1)) $(O)/kunit/$(1)/vdso_kunit.ko
	$(Q)$(call make_archive,$(O)/kunit/$(1)/initramfs.list,$(O)/kunit/$(1)/initramfs.cpio.gz)
	$(if $(call kunit_host,$(1)),$(Q)$(call make_host,$(1),patched,$(O)/kunit/$(1)/initramfs.cpio.gz,$(call kunit_host,$(1))))
	$(Q)$(O)/host/boot kunit --machine qemu/machines/$(1) --variant patched \
		--kernel $(call qemu_image,$(1),patched) --initrd $(O)/kunit/$(1)/initramfs.cpio.gz \
		$(if $(call kunit_host,$(1)),$(call host_options,$(1),$(call kunit_host,$(1)))) \
		--results $(qemu_results)/kunit $(addprefix --mode ,$(filter-out bench,$(call modes,$(1),patched))) || \
		[ $$$$? = 1 ]
endef
$(foreach m,$(kunit_machines),$(eval $(call machine_kunit,$(m))))

# What check-mutants boots the faulty kernels with: an initramfs of init alone.
PHONY += mutants-boot
mutants-boot: deps-test $(addprefix $(O)/host/,boot initramfs gen_init_cpio) $(call machine_init,ppc64-power9)
	@mkdir -p $(O)/initramfs
	$(Q)$(O)/host/initramfs user --machine qemu/machines/ppc64-power9 --output $(O)/initramfs/mutants.list \
		--init $(call machine_init,ppc64-power9)
	$(Q)$(call make_archive,$(O)/initramfs/mutants.list,$(O)/initramfs/mutants.cpio.gz)

# What is booted in other ways, by scripts/check-options.sh
PHONY += qemu-patched
qemu-patched: deps-test $(foreach m,$(machines),kernel-$(call kernel_of,$(m))-patched $(O)/initramfs/$(m).cpio.gz) \
		$(O)/host/boot

#
# A person's own files in the guest: an archive of nothing but those and init.
#
run_variant := $(if $(filter 1,$(BASE)),base,patched)
run_list := $(O)/initramfs/run-$(MACHINE).list
run_archive := $(run_list:.list=.cpio.gz)
run_host := $(if $(filter 1,$(words $(MACHINE))),$(if $(call machine,$(MACHINE),HOST),\
	$(run_list:.list=-host.cpio.gz)))
qemu-run-needs: $(if $(MACHINE),kernel-$(call kernel_of,$(firstword $(MACHINE)))-$(run_variant) \
	$(if $(run_host),kernel-$(call machine,$(firstword $(MACHINE)),HOST)-base)) $(addprefix $(O)/host/,initramfs boot gen_init_cpio) \
	$(if $(MACHINE),$(call machine_init,$(firstword $(MACHINE))))
	@:

# What make says on the way goes to standard error: the output is the command's alone.
export CMD
PHONY += qemu-run qemu-run-needs
qemu-run: deps-test
	$(if $(filter 1,$(words $(MACHINE))),,@echo "qemu-run: say on which machine: \
		MACHINE=<one of $(all_machines)>" >&2; exit 2)
	+$(Q)scripts/locked.sh tools $(MAKE) -f $(firstword $(MAKEFILE_LIST)) qemu-run-needs >&2
	@mkdir -p $(dir $(run_list))
	$(Q)$(O)/host/initramfs user --machine qemu/machines/$(MACHINE) --output $(run_list) \
		--init $(call machine_init,$(MACHINE)) --command "$$CMD" $(FILES)
	$(Q)$(call make_archive,$(run_list),$(run_archive))
	$(if $(run_host),$(Q)$(call make_host,$(MACHINE),$(run_variant),$(run_archive),$(run_host)))
	$(Q)$(O)/host/boot run --machine qemu/machines/$(MACHINE) --variant $(run_variant) \
		--kernel $(call qemu_image,$(MACHINE),$(run_variant)) --initrd $(run_archive) \
		$(if $(run_host),$(call host_options,$(MACHINE),$(run_host))) \
		$(if $(APPEND),--append "$(APPEND)") $(if $(CMD),,--interactive)

#
# Programs of others, which use the vDSO without knowing it.
#
PHONY += clients
clients: deps-test deps-clients
	$(Q)scripts/clients.sh $(machines)

#
# For "make check": the tools by themselves, and guests that misbehave.
#
PHONY += qemu-unit qemu-watchdog
qemu-unit: $(O)/host/qemu-tests
	$(Q)$< --gtest_brief=1

watchdog_machine := $(firstword $(machines))
watchdog_archive := $(O)/initramfs/watchdog-$(watchdog_machine)
qemu-watchdog: deps-test kernel-$(watchdog_machine)-base $(call machine_init,$(watchdog_machine)) \
		$(addprefix $(O)/host/,boot initramfs gen_init_cpio)
	@mkdir -p $(O)/initramfs
	$(Q)$(O)/host/initramfs user --machine qemu/machines/$(watchdog_machine) \
		--output $(watchdog_archive).list --init $(call machine_init,$(watchdog_machine))
	$(Q)$(call make_archive,$(watchdog_archive).list,$(watchdog_archive).cpio.gz)
	$(Q)qemu/watchdog.sh $(O)/host/boot qemu/machines/$(watchdog_machine) \
		$(call qemu_image,$(watchdog_machine),base) $(watchdog_archive).cpio.gz $(O)/watchdog
