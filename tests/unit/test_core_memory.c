// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory on huge pages: what is mapped, where, and that all of it is given back. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xiwarp/region.h>

static size_t huge(void)
{
	FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "r");
	size_t size = 2 << 20;

	if (f) {
		cr_assert_eq(fscanf(f, "%zu", &size), 1);
		fclose(f);
	}
	return size;
}

/* The number of octets that the process has mapped, a line of /proc/self/smaps added up. */
static size_t smaps(const char *what)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	char line[256], key[64];
	size_t kib, sum = 0;

	cr_assert(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %zu kB", key, &kib) == 2 && !strcmp(key, what))
			sum += kib << 10;
	fclose(f);
	return sum;
}

static bool is_zero(const uint8_t *p, size_t len)
{
	return !p[0] && !memcmp(p, p + 1, len - 1);
}

Test(memory, is_aligned_and_zero_and_given_back)
{
	const size_t lens[] = {
		1, 4096, 100000, huge() / 2, huge() - 1, huge(), 3 * huge() + 1
	};
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		const size_t align = lens[i] >= huge() ? huge() : page;

		for (unsigned int flags = 0; flags <= XIW_MEMORY_PRESENT; flags++) {
			const size_t before = smaps("Size:");
			void *p;

			cr_assert_eq(xiw_memory_alloc(lens[i], flags, &p), 0);
			cr_assert_eq((uintptr_t)p % align, 0);
			cr_assert_eq(smaps("Size:") - before,
				     (lens[i] + page - 1) / page * page);
			cr_assert(is_zero(p, lens[i]));
			memset(p, 0xa5, lens[i]);
			xiw_memory_free(p, lens[i]);
			cr_assert_eq(smaps("Size:"), before);
		}
	}
	xiw_memory_free(NULL, 5);
}

Test(memory, is_present_if_asked)
{
	const size_t len = 4 * huge(), before = smaps("Rss:");
	void *p;

	cr_assert_eq(xiw_memory_alloc(len, 0, &p), 0);
	cr_assert_lt(smaps("Rss:") - before, len / 2);
	xiw_memory_free(p, len);
	cr_assert_eq(xiw_memory_alloc(len, XIW_MEMORY_PRESENT, &p), 0);
	cr_assert_geq(smaps("Rss:") - before, len);
	xiw_memory_free(p, len);
}

Test(memory, refuses)
{
	void *p = &p;

	cr_assert_eq(xiw_memory_alloc(0, 0, &p), -EINVAL);
	cr_assert_eq(xiw_memory_alloc(4096, 2, &p), -EINVAL);
	cr_assert_eq(xiw_memory_alloc(SIZE_MAX, 0, &p), -ENOMEM);
	cr_assert_eq(xiw_memory_alloc(SIZE_MAX - 4096, 0, &p), -ENOMEM);
	cr_assert_eq(xiw_memory_alloc((size_t)1 << 60, 0, &p), -ENOMEM);
	cr_assert_eq(p, &p);
}
