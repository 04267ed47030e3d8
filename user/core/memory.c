// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory for regions and messages, on huge pages. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xiwarp/region.h>

#define HUGE_SIZE "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"
#define HUGE_USUAL (2ul << 20)
#define HUGE_MAX (32ul << 20) /* with 64 KiB pages ARM64 has 512 MiB, which hardly anything fills */

#ifndef MADV_POPULATE_WRITE /* older headers lack it */
#define MADV_POPULATE_WRITE 23
#endif

static size_t read_huge_size(void)
{
	int fd = open(HUGE_SIZE, O_RDONLY | O_CLOEXEC);
	char text[32];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	size_t size;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return HUGE_USUAL;
	text[n] = '\0';
	size = strtoul(text, NULL, 10);
	return size && !(size & (size - 1)) && size <= HUGE_MAX ? size : HUGE_USUAL;
}

/* Racing first calls read the same number. */
static size_t huge_size(void)
{
	static size_t size;
	size_t is = __atomic_load_n(&size, __ATOMIC_RELAXED);

	if (!is) {
		is = read_huge_size();
		__atomic_store_n(&size, is, __ATOMIC_RELAXED);
	}
	return is;
}

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/*
 * To what the address is aligned: a huge page, if one is filled. The length is not: a peer for whom somebody counts the
 * octets could have twice as many.
 */
static size_t alignment(size_t len)
{
	const size_t huge = huge_size();

	return len >= huge ? huge : page_size();
}

static size_t rounded(size_t len, size_t to)
{
	return (len + to - 1) & ~(to - 1);
}

/* Maps @len octets at a multiple of @align; the rest of what that takes is given back. */
static uint8_t *map_aligned(size_t len, size_t align)
{
	uint8_t *all = mmap(NULL, len + align, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint8_t *p;
	size_t front;

	if (all == MAP_FAILED)
		return NULL;
	p = (uint8_t *)rounded((uintptr_t)all, align);
	front = (size_t)(p - all);
	if (front)
		munmap(all, front);
	munmap(p + len, align - front);
	return p;
}

int xiw_memory_alloc(size_t len, unsigned int flags, void **memory)
{
	const size_t align = alignment(len);
	uint8_t *p;

	if (!len || flags & ~(unsigned int)XIW_MEMORY_PRESENT)
		return -EINVAL;
	if (len > SIZE_MAX - 2 * align)
		return -ENOMEM;
	len = rounded(len, page_size());
	p = map_aligned(len, align);
	if (!p)
		return -ENOMEM;
	/* Without huge pages it is ordinary memory. */
	madvise(p, len, MADV_HUGEPAGE);
	if (flags & XIW_MEMORY_PRESENT && madvise(p, len, MADV_POPULATE_WRITE) && errno != EINVAL) {
		munmap(p, len);
		return -ENOMEM;
	}
	*memory = p;
	return 0;
}

void xiw_memory_free(void *memory, size_t len)
{
	if (memory)
		munmap(memory, rounded(len, page_size()));
}
