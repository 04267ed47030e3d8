/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chooses the implementation. */

#include "crc32c/crc32c.h"
#include "crc32c/crc32c_impl.h"

static bool always(void)
{
	return true;
}

const struct xiw_crc32c_ops xiw_crc32c_table[] = {
#ifdef __x86_64__
	{ "avx512-vpclmulqdq", xiw_crc32c_has_avx512, xiw_crc32c_avx512, xiw_crc32c_avx512_copy,
	  xiw_crc32c_avx512_copy, xiw_crc32c_avx512_copy_sum },
	{ "avx2-vpclmulqdq", xiw_crc32c_has_avx2, xiw_crc32c_avx2, xiw_crc32c_avx2_copy,
	  xiw_crc32c_avx2_copy, NULL },
	{ "avx-pclmulqdq", xiw_crc32c_has_avx, xiw_crc32c_sse42, xiw_crc32c_avx_copy,
	  xiw_crc32c_avx_place, NULL },
	{ "sse4.2-pclmulqdq", xiw_crc32c_has_sse42, xiw_crc32c_sse42, xiw_crc32c_sse42_copy,
	  xiw_crc32c_sse42_place, NULL },
#endif
	{ "slicing-by-8", always, xiw_crc32c_slice8, xiw_crc32c_slice8_copy, xiw_crc32c_slice8_copy,
	  NULL },
};

const size_t xiw_crc32c_table_len = sizeof(xiw_crc32c_table) / sizeof(xiw_crc32c_table[0]);

static const struct xiw_crc32c_ops *select_ops(void)
{
	const struct xiw_crc32c_ops *ops = xiw_crc32c_table;

	while (!ops->supported())
		ops++;
	return ops;
}

/*
 * All pointers start at a function that replaces them, so that a call finds a function however early it comes. Racing
 * first calls store the same value, and the code it points to needs no ordering, so relaxed is enough. An ifunc would
 * save the load, but its resolver runs before a sanitizer is set up.
 */
static uint32_t first_crc(uint32_t crc, const void *src, size_t len);
static uint32_t first_copy(uint32_t crc, void *dst, const void *src, size_t len);
static uint32_t first_place(uint32_t crc, void *dst, const void *src, size_t len);
static uint32_t first_copy_sum(uint32_t crc, void *dst, const void *src, size_t len,
			       uint32_t *part);

static uint32_t (*crc_fn)(uint32_t crc, const void *src, size_t len) = first_crc;
static uint32_t (*copy_fn)(uint32_t crc, void *dst, const void *src, size_t len) = first_copy;
static uint32_t (*place_fn)(uint32_t crc, void *dst, const void *src, size_t len) = first_place;
static uint32_t (*copy_sum_fn)(uint32_t crc, void *dst, const void *src, size_t len,
			       uint32_t *part) = first_copy_sum;

static uint32_t two_passes(uint32_t crc, void *dst, const void *src, size_t len, uint32_t *part)
{
	crc = xiw_crc32c_place(crc, dst, src, len);
	*part = xiw_csum_partial(src, len);
	return crc;
}

void xiw_crc32c_use(const struct xiw_crc32c_ops *ops)
{
	__atomic_store_n(&crc_fn, ops->crc, __ATOMIC_RELAXED);
	__atomic_store_n(&copy_fn, ops->copy, __ATOMIC_RELAXED);
	__atomic_store_n(&place_fn, ops->place, __ATOMIC_RELAXED);
	__atomic_store_n(&copy_sum_fn, ops->copy_sum ? ops->copy_sum : two_passes,
			 __ATOMIC_RELAXED);
}

static uint32_t first_crc(uint32_t crc, const void *src, size_t len)
{
	xiw_crc32c_use(select_ops());
	return xiw_crc32c(crc, src, len);
}

static uint32_t first_copy(uint32_t crc, void *dst, const void *src, size_t len)
{
	xiw_crc32c_use(select_ops());
	return xiw_crc32c_copy(crc, dst, src, len);
}

static uint32_t first_place(uint32_t crc, void *dst, const void *src, size_t len)
{
	xiw_crc32c_use(select_ops());
	return xiw_crc32c_place(crc, dst, src, len);
}

static uint32_t first_copy_sum(uint32_t crc, void *dst, const void *src, size_t len, uint32_t *part)
{
	xiw_crc32c_use(select_ops());
	return __atomic_load_n(&copy_sum_fn, __ATOMIC_RELAXED)(crc, dst, src, len, part);
}

uint32_t xiw_crc32c(uint32_t crc, const void *src, size_t len)
{
	return __atomic_load_n(&crc_fn, __ATOMIC_RELAXED)(crc, src, len);
}

uint32_t xiw_crc32c_copy(uint32_t crc, void *dst, const void *src, size_t len)
{
	return __atomic_load_n(&copy_fn, __ATOMIC_RELAXED)(crc, dst, src, len);
}

uint32_t xiw_crc32c_place(uint32_t crc, void *dst, const void *src, size_t len)
{
	return __atomic_load_n(&place_fn, __ATOMIC_RELAXED)(crc, dst, src, len);
}

/* It is known from the first call on. */
bool xiw_crc32c_sums_too(void)
{
	return __atomic_load_n(&copy_sum_fn, __ATOMIC_RELAXED) != two_passes;
}

uint32_t xiw_crc32c_copy_sum(uint32_t crc, void *dst, const void *src, size_t len,
			     struct xiw_csum *sum)
{
	uint32_t part;

	crc = __atomic_load_n(&copy_sum_fn, __ATOMIC_RELAXED)(crc, dst, src, len, &part);
	xiw_csum_join(sum, part, len);
	return crc;
}

const char *xiw_crc32c_impl(void)
{
	return select_ops()->name;
}
