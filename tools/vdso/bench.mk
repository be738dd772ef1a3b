# SPDX-License-Identifier: GPL-2.0-only
#
# The lab's part of the front door, included by the top Makefile:
#
#   bench       count base and patched vDSO images against their goals; ARCH=x86: time
#               them on this CPU, BENCH_CALLS calls each, and see what goes back
#   vdso-tools  vdso-lab, vdso-verify, their guests and vdso-native, in build/host
#   verify-vdso prove the calling convention of every patched image, for x86 of all
#   verify-kernels the same for the images in the kernels that are built
#   agree-vdso  the counts of the kernels' images against the times of the guests, after
#               qemu-test
#   check-vdso  that, differences from the model, and torture; ARCH=x86: torture,
#               pages that change at every step, and ordering, on this CPU
#
# Only the images are built, not kernels: build/bench/<image file>-<base|patched>/.

vdso_dir := tools/vdso
vdso_arch = $(or $(shell sed -n 's/^ARCH *= *//p' $(vdso_dir)/images/$(1)),powerpc)
vdso_files := $(foreach f,$(notdir $(wildcard $(vdso_dir)/images/*)), \
	$(if $(filter $(ARCH),$(call vdso_arch,$(f))),$(f)))
vdso_images = $(shell sed -n 's/^IMAGES *= *//p' $(vdso_dir)/images/$(1))
vdso_out := $(O)/bench$(if $(filter 5.10,$(KERNEL)),,-$(KERNEL))
vdso_image = $(vdso_out)/$(1)-$(2)/$(3).so.dbg
vdso_tree = $(if $(filter base,$(1)),$(O)/linux-$(KERNEL),$(O)/linux-$(KERNEL)-$(ARCH))
# NAME:BASE:PATCHED:SEED:PEER, as vdso-lab bench wants it
vdso_seed = $(addsuffix .json,$(addprefix qemu/seed/,$(shell sed -n 's/^SEED *= *//p' $(vdso_dir)/images/$(1))))
vdso_pairs = $(foreach f,$(vdso_files),$(foreach i,$(call vdso_images,$(f)), \
	$(f)-$(i):$(call vdso_image,$(f),base,$(i)):$(call vdso_image,$(f),patched,$(i)):$(call \
	vdso_seed,$(f)):$(if $(PEER),$(call vdso_image,$(f),$(PEER),$(i)))))

PHONY += vdso-tools
vdso-tools:
	$(Q)$(MAKE) -s -C $(vdso_dir) O=$(O)/host

vdso_builds := $(foreach v,base patched,$(foreach f,$(vdso_files),vdso-image-$(f)-$(v)))
PHONY += $(vdso_builds)
$(vdso_builds): vdso-image-%: apply
	$(Q)$(vdso_dir)/image.sh $(call vdso_tree,$(lastword $(subst -, ,$*))) \
		$(vdso_dir)/images/$(firstword $(subst -, ,$*)) $(vdso_out)/$*

# A later kernel's C vDSO, counted beside: without time namespaces, as in upstream.json
vdso_peers := $(if $(PEER),$(vdso_files:%=vdso-peer-%))
PHONY += $(vdso_peers) vdso-peer-source
vdso-peer-source:
	$(Q)$(MAKE) KERNEL=$(PEER) source
$(vdso_peers): vdso-peer-%: vdso-peer-source
	$(Q)TIME_NS=n $(vdso_dir)/image.sh $(O)/linux-$(PEER) $(vdso_dir)/images/$* $(vdso_out)/$*-$(PEER)

# The x32 image is the same code, and no 64-bit process can call the 32-bit one.
vdso_native = $(foreach v,base patched,$(call vdso_image,x86_64,$(v),vdso64))
BENCH_CALLS ?= 100000000

PHONY += bench
bench: vdso-tools $(vdso_peers) $(vdso_builds)
	@mkdir -p $(O)/results
ifeq ($(ARCH),x86)
	@[ -x $(O)/host/vdso-native ] || { echo "bench: ARCH=x86 needs an x86_64 CPU"; exit 1; }
	$(Q)$(O)/host/vdso-native bench --calls $(BENCH_CALLS) --json $(O)/results/bench-x86.json \
		$(foreach v,base patched,$(call vdso_image,x86_64,$(v),vdso64))
else
	$(Q)$(O)/host/vdso-lab bench --upstream $(vdso_dir)/upstream.json \
		--json $(O)/results/bench-powerpc.json $(vdso_pairs)
endif

# The base images are the assembly as it is, with the faults that the series
# mends, so only the others are to be proven.
vdso_all = $(foreach v,base patched,$(call vdso_variant,$(v)))
vdso_variant = $(foreach f,$(vdso_files),$(foreach i,$(call vdso_images,$(f)), \
	$(call vdso_image,$(f),$(1),$(i))))

# Cases for each image; torture in seconds for all of them.
DIFF_CASES ?= 1000000
TORTURE_SECONDS ?= 10

# In seconds, for each case of an x86 image.
NATIVE_SECONDS ?= 1

# The images that the kernels have which were built.
vdso_in_kernels = $(wildcard $(O)/kernel/*-patched/arch/powerpc/kernel/vdso/vdso??.so.dbg \
	$(O)/kernel/*/arch/x86/entry/vdso/vdso*.so.dbg)

PHONY += agree-vdso verify-kernels
verify-kernels: vdso-tools
	$(Q)$(O)/host/vdso-verify $(vdso_in_kernels)

# IMAGE:STEP:RESULT of each machine; a step is how many nanoseconds an instruction takes
comma := ,
vdso_step = $(shell echo $$((1 << $(patsubst shift=%,%,$(firstword $(subst $(comma), ,$(call machine,$(1),ICOUNT)))))))
vdso_of_kernel = $(wildcard $(O)/kernel/$(1)-base/arch/powerpc/kernel/vdso??/vdso??.so.dbg \
	$(O)/kernel/$(1)-patched/arch/powerpc/kernel/vdso/vdso??.so.dbg)
vdso_guests = $(foreach m,$(machines),$(foreach i,$(call vdso_of_kernel,$(m)),$(i):$(call \
	vdso_step,$(m)):$(O)/results/$(m)-$(if $(findstring /$(m)-base/,$(i)),base,patched).json))

agree-vdso: vdso-tools
	$(Q)$(O)/host/vdso-lab agree $(vdso_guests)

PHONY += verify-vdso check-vdso
ifeq ($(ARCH),x86)
verify-vdso: vdso-tools $(vdso_builds)
	$(Q)$(O)/host/vdso-verify $(vdso_all)

check-vdso: verify-vdso
	@[ -x $(O)/host/vdso-native ] || { echo "check-vdso: ARCH=x86 needs an x86_64 CPU"; exit 1; }
	$(Q)$(O)/host/vdso-native check --seconds $(NATIVE_SECONDS) $(vdso_native)
	@echo "With a writer that breaks the rules, the same has to fail:"
	$(Q)! $(O)/host/vdso-native check --broken-writer --seconds $(NATIVE_SECONDS) \
		$(call vdso_image,x86_64,base,vdso64)
else
verify-vdso: vdso-tools $(vdso_builds)
	$(Q)$(O)/host/vdso-verify $(call vdso_variant,patched)

check-vdso: verify-vdso
	$(Q)$(O)/host/vdso-lab diff --cases $(DIFF_CASES) $(vdso_all)
	$(Q)$(O)/host/vdso-lab torture --seconds $(TORTURE_SECONDS) $(vdso_all)
	@echo "With a writer that breaks the rules, the same has to fail:"
	$(Q)! $(O)/host/vdso-lab torture --broken-writer --seconds $(TORTURE_SECONDS) \
		$(firstword $(call vdso_variant,patched))
endif
