// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of what powerpc does around the generic vDSO: the page that it
 * writes, the images that it carries, and how processes of both widths get them.
 *
 * A test runs in a kernel thread, which has no vDSO. It is given an mm as if it
 * were about to execute a program, and the image of the kernel's own width is run
 * in a copy that has pages made up by the test in front of it.
 */
#include <kunit/test.h>
#include <linux/elf.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/moduleloader.h>
#include <linux/resource.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/syscalls.h>
#include <linux/time_namespace.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include <asm/cacheflush.h>
#include <asm/syscall.h>
#include <asm/time.h>
#include <asm/vdso.h>
#include <asm/vdso/vsyscall.h>
#include <asm/vdso_datapage.h>

#define VVAR_SIZE	(VVAR_PAGES * PAGE_SIZE)

struct image {
	const char *start;
	const char *end;
	bool is_64;
};

#ifdef CONFIG_VDSO32
static const struct image image_32 = { vdso32_start, vdso32_end, false };
#endif
#ifdef CONFIG_PPC64
static const struct image image_64 = { vdso64_start, vdso64_end, true };
#define native_image image_64
#else
#define native_image image_32
#endif

static size_t image_size(const struct image *image)
{
	return image->end - image->start;
}

/* What the dynamic linker of a process finds: the offset of @name, or 0 */
#define DEFINE_FIND(find, ehdr_t, shdr_t, sym_t)				\
static unsigned long find(const char *start, const char *name)			\
{										\
	const ehdr_t *ehdr = (const void *)start;				\
	const shdr_t *shdr = (const void *)(start + ehdr->e_shoff);		\
	const sym_t *sym;							\
	const char *strings;							\
	int i, n;								\
										\
	for (i = 0; i < ehdr->e_shnum; i++) {					\
		if (shdr[i].sh_type != SHT_DYNSYM)				\
			continue;						\
		strings = start + shdr[shdr[i].sh_link].sh_offset;		\
		sym = (const void *)(start + shdr[i].sh_offset);		\
		for (n = shdr[i].sh_size / sizeof(*sym); n--; sym++)		\
			if (!strcmp(strings + sym->st_name, name))		\
				return sym->st_value;				\
	}									\
	return 0;								\
}

#ifdef CONFIG_VDSO32
DEFINE_FIND(find_32, Elf32_Ehdr, Elf32_Shdr, Elf32_Sym)
#endif
#ifdef CONFIG_PPC64
DEFINE_FIND(find_64, Elf64_Ehdr, Elf64_Shdr, Elf64_Sym)
#define native_find find_64
#else
#define native_find find_32
#endif

/* The kernel jumps to, and looks for, what debuggers find by its name. */
static void trampolines(struct kunit *test)
{
#ifdef CONFIG_VDSO32
	const char *start_32 = image_32.start;

	KUNIT_EXPECT_EQ(test, VDSO32_SYMBOL(0, sigtramp32),
			find_32(start_32, "__kernel_sigtramp32"));
	KUNIT_EXPECT_EQ(test, VDSO32_SYMBOL(0, sigtramp_rt32),
			find_32(start_32, "__kernel_sigtramp_rt32"));
	KUNIT_EXPECT_NE(test, VDSO32_SYMBOL(0, sigtramp32), 0UL);
	KUNIT_EXPECT_NE(test, VDSO32_SYMBOL(0, sigtramp_rt32), 0UL);
#endif
#ifdef CONFIG_PPC64
	KUNIT_EXPECT_EQ(test, VDSO64_SYMBOL(0, start_sigtramp_rt64),
			find_64(image_64.start, "__kernel_start_sigtramp_rt64"));
	KUNIT_EXPECT_EQ(test, VDSO64_SYMBOL(0, sigtramp_rt64),
			find_64(image_64.start, "__kernel_sigtramp_rt64"));
	KUNIT_EXPECT_NE(test, VDSO64_SYMBOL(0, start_sigtramp_rt64), 0UL);
#endif
}

static void expect_image(struct kunit *test, const struct image *image)
{
	const unsigned char *ident = (const void *)image->start;

	KUNIT_EXPECT_TRUE(test, PAGE_ALIGNED(image->start));
	KUNIT_EXPECT_TRUE(test, PAGE_ALIGNED(image->end));
	KUNIT_EXPECT_GT(test, image_size(image), (size_t)0);
	KUNIT_EXPECT_EQ(test, memcmp(ident, ELFMAG, SELFMAG), 0);
	KUNIT_EXPECT_EQ(test, (int)ident[EI_CLASS], image->is_64 ? ELFCLASS64 : ELFCLASS32);
	KUNIT_EXPECT_EQ(test, (int)ident[EI_DATA],
			IS_ENABLED(CONFIG_CPU_BIG_ENDIAN) ? ELFDATA2MSB : ELFDATA2LSB);
}

static void images(struct kunit *test)
{
#ifdef CONFIG_VDSO32
	expect_image(test, &image_32);
#endif
#ifdef CONFIG_PPC64
	expect_image(test, &image_64);
#endif
}

static void expect_map(struct kunit *test, const __u32 *map, const char *name,
		       const unsigned long *table)
{
	unsigned int i, missing = 0, wrong = 0;

	for (i = 0; i < NR_syscalls; i++) {
		bool there = map[i / 32] & 0x80000000 >> i % 32;
		bool want = table[i] != (unsigned long)sys_ni_syscall;

		missing += want && !there;
		wrong += there && !want;
	}
	KUNIT_EXPECT_EQ_MSG(test, missing, 0U, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, wrong, 0U, "%s", name);
}

/* What is there before any process looks. */
static void data_page(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, PAGE_ALIGNED(vdso_data));
	KUNIT_EXPECT_LE(test, sizeof(*vdso_data), (size_t)PAGE_SIZE);
	KUNIT_EXPECT_PTR_EQ(test, __arch_get_k_vdso_data(), &vdso_data->data[0]);
	KUNIT_EXPECT_EQ(test, vdso_data->tb_ticks_per_sec, (__u64)tb_ticks_per_sec);
	KUNIT_EXPECT_GT(test, vdso_data->tb_ticks_per_sec, (__u64)0);
#ifdef CONFIG_PPC64
	KUNIT_EXPECT_EQ(test, memcmp(vdso_data->eye_catcher, "SYSTEMCFG:PPC64", 16), 0);
	expect_map(test, vdso_data->syscall_map_64, "64 bit", sys_call_table);
#ifdef CONFIG_COMPAT
	expect_map(test, vdso_data->syscall_map_32, "32 bit", compat_sys_call_table);
#endif
#else
	expect_map(test, vdso_data->syscall_map_32, "32 bit", sys_call_table);
#endif
#ifdef CONFIG_TIME_NS
	KUNIT_EXPECT_PTR_EQ(test, arch_get_vdso_data(vdso_data), &vdso_data->data[0]);
#endif
}

/* A function at @address, to be called through what @at points to */
#ifdef PPC64_ELF_ABI_v1
#define DEFINE_CALL(at, address)	func_descr_t at = { .entry = (address) }
/* That a call reads @at is nothing that the compiler knows. */
#define CALL(at)			({ barrier_data(&(at)); (void *)&(at); })
#else
#define DEFINE_CALL(at, address)	unsigned long at = (address)
#define CALL(at)			((void *)(at))
#endif

static long call_gettime(unsigned long address, clockid_t clock,
			 struct __kernel_old_timespec *ts)
{
	DEFINE_CALL(at, address);
	long (*function)(clockid_t clock, struct __kernel_old_timespec *ts) = CALL(at);

	return function(clock, ts);
}

static long call_time(unsigned long address)
{
	DEFINE_CALL(at, address);
	long (*function)(void *time) = CALL(at);

	return function(NULL);
}

static u64 call_tbfreq(unsigned long address)
{
	DEFINE_CALL(at, address);
	u64 (*function)(long unused) = CALL(at);

	return function(0);
}

static unsigned long call_map(unsigned long address, unsigned int *count)
{
	DEFINE_CALL(at, address);
	unsigned long (*function)(unsigned int *count) = CALL(at);

	return function(count);
}

static void fill_page(struct vdso_arch_data *page, u64 mark)
{
	struct vdso_data *vd = page->data;

	page->tb_ticks_per_sec = mark;
	vd[CS_HRES_COARSE].seq = 2;
	vd[CS_RAW].seq = 2;
	vd[CS_HRES_COARSE].basetime[CLOCK_REALTIME].sec = mark + 1;
	vd[CS_HRES_COARSE].basetime[CLOCK_REALTIME_COARSE].sec = mark + 2;
}

/*
 * The code finds its pages in front of it, wherever that is: what is the same in
 * every time namespace in the first one, and the clocks in the last one.
 */
static void lookup(struct kunit *test)
{
	size_t size = VVAR_SIZE + image_size(&native_image);
	struct vdso_arch_data *first, *last;
	struct __kernel_old_timespec ts = {};
	unsigned long base, map;
	unsigned int count = 0;
	void *copy;

	copy = module_alloc(size);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, copy);
	memset(copy, 0, VVAR_SIZE);
	first = copy;
	last = copy + VVAR_SIZE - PAGE_SIZE;
	base = (unsigned long)copy + VVAR_SIZE;
	memcpy((void *)base, native_image.start, image_size(&native_image));
	flush_icache_range(base, base + image_size(&native_image));
	fill_page(first, 1000);
	if (last != first)
		fill_page(last, 2000);

#define AT(name)	(base + native_find(native_image.start, "__kernel_" #name))
	KUNIT_EXPECT_EQ(test, call_tbfreq(AT(get_tbfreq)), first->tb_ticks_per_sec);
	KUNIT_EXPECT_EQ(test, call_time(AT(time)), 1001L);
	KUNIT_EXPECT_EQ(test, call_gettime(AT(clock_gettime), CLOCK_REALTIME_COARSE, &ts), 0L);
	KUNIT_EXPECT_EQ(test, (u64)ts.tv_sec, last->tb_ticks_per_sec + 2);

	map = call_map(AT(get_syscall_map), &count);
#ifdef CONFIG_PPC64
	KUNIT_EXPECT_EQ(test, map, (unsigned long)first->syscall_map_64);
#else
	KUNIT_EXPECT_EQ(test, map, (unsigned long)first->syscall_map_32);
#endif
	KUNIT_EXPECT_EQ(test, count, (unsigned int)NR_syscalls);

	module_memfree(copy);
}

/* The mm of a program, of this kernel's width or the other one, being executed */
static struct mm_struct *start_exec(struct kunit *test, const struct image *image)
{
	struct mm_struct *mm;

	if (IS_ENABLED(CONFIG_COMPAT) && !image->is_64)
		set_thread_flag(TIF_32BIT);
	mm = mm_alloc();
	if (!mm)
		return NULL;
	kthread_use_mm(mm);
	arch_pick_mmap_layout(mm, &current->signal->rlim[RLIMIT_STACK]);
	mm->task_size = TASK_SIZE;
	return mm;
}

static void end_exec(struct mm_struct *mm)
{
	if (mm) {
		kthread_unuse_mm(mm);
		mmput(mm);
	}
	if (IS_ENABLED(CONFIG_COMPAT))
		clear_thread_flag(TIF_32BIT);
}

/* What one area of the process looks like */
struct area {
	unsigned long start;
	unsigned long size;
	unsigned long flags;
	const char *name;
};

static void expect_area(struct kunit *test, struct mm_struct *mm, const struct area *want)
{
	unsigned long start = 0, size = 0, flags = 0;
	struct vm_area_struct *vma;
	const char *name = "";

	mmap_read_lock(mm);
	vma = find_vma(mm, want->start);
	if (vma) {
		start = vma->vm_start;
		size = vma->vm_end - vma->vm_start;
		flags = vma->vm_flags & (VM_READ | VM_WRITE | VM_EXEC | VM_MAYWRITE | VM_PFNMAP);
		if (vma->vm_ops && vma->vm_ops->name)
			name = vma->vm_ops->name(vma);
	}
	mmap_read_unlock(mm);

	KUNIT_EXPECT_EQ_MSG(test, start, want->start, "%s", want->name);
	KUNIT_EXPECT_EQ_MSG(test, size, want->size, "%s", want->name);
	KUNIT_EXPECT_EQ_MSG(test, flags, want->flags, "%s", want->name);
	KUNIT_EXPECT_STREQ(test, name, want->name);
}

/* Each page in front of the code is the kernel's own: this process is in no namespace */
static void expect_pages(struct kunit *test, struct mm_struct *mm, unsigned long base)
{
	struct vm_area_struct *vma;
	unsigned long pfn, address;
	u64 frequency;
	int ret, page;

	for (page = 1; page <= VVAR_PAGES; page++) {
		address = base - page * PAGE_SIZE;
		/* Fault it in, then look which it is */
		ret = copy_from_user(&frequency, (void __user *)address +
				     offsetof(struct vdso_arch_data, tb_ticks_per_sec),
				     sizeof(frequency));
		KUNIT_EXPECT_EQ_MSG(test, ret, 0, "page -%d", page);
		KUNIT_EXPECT_EQ_MSG(test, frequency, (u64)tb_ticks_per_sec, "page -%d", page);

		mmap_read_lock(mm);
		vma = find_vma(mm, address);
		ret = vma ? follow_pfn(vma, address, &pfn) : -ENOENT;
		mmap_read_unlock(mm);
		KUNIT_EXPECT_EQ_MSG(test, ret, 0, "page -%d", page);
		KUNIT_EXPECT_EQ_MSG(test, pfn, (unsigned long)virt_to_pfn(vdso_data),
				    "page -%d", page);

		/* ... and not the process's to write */
		ret = copy_to_user((void __user *)address, &frequency, sizeof(frequency));
		KUNIT_EXPECT_NE_MSG(test, ret, 0, "page -%d", page);
	}
}

static void expect_mapped(struct kunit *test, const struct image *image)
{
	size_t size = image_size(image);
	struct mm_struct *mm;
	unsigned long base;
	void *bytes;
	int ret;

	bytes = kunit_kzalloc(test, size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, bytes);
	mm = start_exec(test, image);
	if (!mm) {
		end_exec(mm);
		KUNIT_FAIL(test, "no mm");
		return;
	}

	ret = arch_setup_additional_pages(NULL, 0);
	KUNIT_EXPECT_EQ(test, ret, 0);
	base = mm->context.vdso_base;
	KUNIT_EXPECT_NE(test, base, 0UL);
	KUNIT_EXPECT_TRUE(test, IS_ALIGNED(base, 1UL << 16));
	KUNIT_EXPECT_LE(test, base + size, (unsigned long)TASK_SIZE);

	expect_area(test, mm, &(struct area) {
		base - VVAR_SIZE, VVAR_SIZE, VM_READ | VM_PFNMAP, "[vvar]" });
	expect_area(test, mm, &(struct area) {
		base, size, VM_READ | VM_EXEC | VM_MAYWRITE, "[vdso]" });
	expect_pages(test, mm, base);

	KUNIT_EXPECT_EQ(test, copy_from_user(bytes, (void __user *)base, size), 0UL);
	KUNIT_EXPECT_EQ(test, memcmp(bytes, image->start, size), 0);
	KUNIT_EXPECT_NE(test, copy_to_user((void __user *)base, bytes, 1), 0UL);

	end_exec(mm);
}

#ifdef CONFIG_VDSO32
static void map_32(struct kunit *test)
{
	expect_mapped(test, &image_32);
}
#endif

#ifdef CONFIG_PPC64
static void map_64(struct kunit *test)
{
	expect_mapped(test, &image_64);
}
#endif

static struct kunit_case vdso_cases[] = {
	KUNIT_CASE(data_page),
	KUNIT_CASE(images),
	KUNIT_CASE(trampolines),
	KUNIT_CASE(lookup),
#ifdef CONFIG_VDSO32
	KUNIT_CASE(map_32),
#endif
#ifdef CONFIG_PPC64
	KUNIT_CASE(map_64),
#endif
	{}
};

static struct kunit_suite vdso_suite = {
	.name = "powerpc_vdso",
	.test_cases = vdso_cases,
};

kunit_test_suites(&vdso_suite);
