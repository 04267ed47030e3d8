// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What memory can be registered: mappings of all kinds, with holes and without rights. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xiwarp/region.h>

#include "core/mapped.h"

#define PAGES 8u

static size_t page;

static void begin(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
}

static uint8_t *map(size_t len, int prot, int flags, int fd)
{
	void *p = mmap(NULL, len, prot, flags, fd, 0);

	cr_assert_neq(p, MAP_FAILED);
	return p;
}

static uint8_t *map_anonymous(size_t len)
{
	return map(len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

/* An empty file that goes with its descriptor. */
static int open_file(size_t len)
{
	char name[] = "/tmp/xiw-mapped.XXXXXX";
	int fd = mkstemp(name);

	cr_assert(fd >= 0 && !unlink(name) && !ftruncate(fd, (off_t)len));
	return fd;
}

static size_t present(void *at, size_t pages)
{
	uint8_t *each = calloc(pages, 1);
	size_t n = 0;

	cr_assert(each && !mincore(at, pages * page, each));
	for (size_t i = 0; i < pages; i++)
		n += each[i] & 1;
	free(each);
	return n;
}

static void is(const void *addr, size_t len, bool write, int whole, int glance)
{
	errno = 12345;
	cr_expect_eq(xiw_mapped_check(addr, len, write), whole, "%zu at %p", len, addr);
	cr_expect_eq(xiw_mapped_glance(addr, len, write), glance, "%zu at %p", len, addr);
	cr_expect_eq(errno, 12345);
}

Test(mapped, all_of_it_comes, .init = begin)
{
	uint8_t *p = map_anonymous(PAGES * page);

	cr_assert(!madvise(p, PAGES * page, MADV_NOHUGEPAGE));
	cr_expect_eq(xiw_mapped_glance(p + 1, PAGES * page - 2, true), 0);
	cr_expect_eq(present(p, PAGES), 2);
	cr_expect_eq(xiw_mapped_check(p + page, 2 * page, true), 0);
	cr_expect_eq(present(p, PAGES), 4);
	cr_expect_eq(xiw_mapped_check(p + 1, PAGES * page - 2, true), 0);
	cr_expect_eq(present(p, PAGES), PAGES);
}

Test(mapped, with_holes_it_is_refused, .init = begin)
{
	uint8_t *p = map_anonymous(PAGES * page);

	cr_assert(!munmap(p + 3 * page, page));
	is(p, 3 * page, true, 0, 0);
	is(p, 3 * page + 1, true, -EFAULT, -EFAULT);
	is(p, PAGES * page, true, -EFAULT, -EFAULT);
	is(p, PAGES * page, false, -EFAULT, -EFAULT);
	is(p + 4 * page - 1, 2, false, -EFAULT, -EFAULT);
	is(p + 4 * page, 4 * page, true, 0, 0);
	is((void *)16, 16, false, -EFAULT, -EFAULT);
	is((void *)(UINTPTR_MAX - 16), 8, true, -EFAULT, -EFAULT);
	is((void *)(UINTPTR_MAX / 2), 8, true, -EFAULT, -EFAULT);
	is(p, SIZE_MAX, true, -EFAULT, -EFAULT);
	is(p, SIZE_MAX / 2, true, -EFAULT, -EFAULT);
}

Test(mapped, rights_count, .init = begin)
{
	uint8_t *p = map_anonymous(PAGES * page);

	cr_assert(!mprotect(p + 4 * page, page, PROT_READ));
	cr_assert(!mprotect(p + 6 * page, page, PROT_NONE));
	is(p, 6 * page, false, 0, 0);
	is(p, 5 * page, true, -EFAULT, -EFAULT);
	/* What lies in the middle is not glanced at. */
	is(p, 6 * page, true, -EFAULT, 0);
	is(p, 7 * page, false, -EFAULT, -EFAULT);
	is(p, 8 * page, false, -EFAULT, 0);
	is(p + 6 * page, 1, false, -EFAULT, -EFAULT);
}

Test(mapped, files_have_an_end, .init = begin)
{
	int fd = open_file(3 * page);
	uint8_t *shared = map(PAGES * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	uint8_t *own = map(PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
	uint8_t *constant = map(PAGES * page, PROT_READ, MAP_SHARED, fd);

	is(shared, 3 * page, true, 0, 0);
	is(own, 3 * page, true, 0, 0);
	is(constant, 3 * page, false, 0, 0);
	is(constant, 3 * page, true, -EFAULT, -EFAULT);
	is(shared, 4 * page, true, -EFAULT, -EFAULT);
	is(own, 4 * page, false, -EFAULT, -EFAULT);
	close(fd);
}

/* Only its mappings are looked at, whatever kinds they are. */
Test(mapped, a_terabyte_is_not_touched, .init = begin)
{
	const size_t len = (size_t)1 << 40;
	int fd = open_file(len);
	uint8_t *p = map_anonymous(len), *sparse;

	cr_expect_eq(xiw_mapped_check(p, len, true), 0);
	cr_expect_eq(present(p, 4 * XIW_POPULATE_MOST / page), 0);
	cr_assert(!mprotect(p + len / 2, page, PROT_READ));
	is(p, len, true, -EFAULT, 0);
	is(p, len, false, 0, 0);
	cr_assert(!munmap(p + len / 2, page));
	is(p, len, false, -EFAULT, -EFAULT);
	cr_assert(!munmap(p, len));

	sparse = map(len, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	is(sparse, len, true, 0, 0);
	cr_assert(!munmap(sparse, len));
	close(fd);
}

/* Huge pages that there are not would be a SIGBUS. */
Test(mapped, huge_pages_have_to_be_there, .init = begin)
{
	const size_t len = (size_t)2 << 20;
	FILE *f = fopen("/proc/sys/vm/nr_hugepages", "r");
	unsigned long n = 1;
	uint8_t *p;

	if (f && fscanf(f, "%lu", &n) != 1)
		n = 1;
	if (f)
		fclose(f);
	p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED || n)
		return;
	is(p, len, true, -EFAULT, -EFAULT);
}

/* A stack is there as far as its limit, and comes when it is touched. */
Test(mapped, of_a_stack_what_may_come, .init = begin)
{
	const uintptr_t top = (uintptr_t)__builtin_frame_address(0);

	is((void *)(top - (2 << 20)), 2 << 20, true, 0, 0);
	is((void *)(top - ((uintptr_t)1 << 40)), page, true, -EFAULT, -EFAULT);
}

/* A right that is given later is looked at then. */
Test(mapped, regions_are_of_memory, .init = begin)
{
	struct xiw_engine_opts eo = { .size = sizeof(eo), .path = XIW_USE_KERNEL };
	struct xiw_region_opts read = { .size = sizeof(read), .access = XIW_ACCESS_READ };
	uint8_t *p = map(2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	struct xiw_region *r;
	struct xiw_engine *e;

	cr_assert_eq(xiw_engine_create(&eo, &e), 0);
	cr_assert(!munmap(p + page, page));
	cr_expect_eq(xiw_region_register(e, p, page, NULL, &r), -EFAULT);
	cr_expect_eq(xiw_region_register(e, p, page + 1, &read, &r), -EFAULT);
	cr_assert_eq(xiw_region_register(e, p, page, &read, &r), 0);
	cr_expect_eq(xiw_region_set_access(r, XIW_ACCESS_SINK), -EFAULT);
	cr_expect_eq(xiw_region_set_access(r, XIW_ACCESS_READ), 0);
	cr_assert(!mprotect(p, page, PROT_READ | PROT_WRITE));
	cr_expect_eq(xiw_region_set_access(r, XIW_ACCESS_SINK), 0);
	xiw_region_free(r);
	xiw_engine_destroy(e);
}
