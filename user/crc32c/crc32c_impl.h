/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CRC32C_IMPL_H
#define XIW_CRC32C_IMPL_H

/* The implementations, for the table in crc32c.c only. */

#include "crc32c/crc32c.h"

uint32_t xiw_crc32c_slice8(uint32_t crc, const void *src, size_t len);
uint32_t xiw_crc32c_slice8_copy(uint32_t crc, void *dst, const void *src, size_t len);

#ifdef __x86_64__
bool xiw_crc32c_has_sse42(void);
uint32_t xiw_crc32c_sse42(uint32_t crc, const void *src, size_t len);
uint32_t xiw_crc32c_sse42_copy(uint32_t crc, void *dst, const void *src, size_t len);
uint32_t xiw_crc32c_sse42_place(uint32_t crc, void *dst, const void *src, size_t len);

/* As the former, with wider copies. */
bool xiw_crc32c_has_avx(void);
uint32_t xiw_crc32c_avx_copy(uint32_t crc, void *dst, const void *src, size_t len);
uint32_t xiw_crc32c_avx_place(uint32_t crc, void *dst, const void *src, size_t len);

bool xiw_crc32c_has_avx2(void);
uint32_t xiw_crc32c_avx2(uint32_t crc, const void *src, size_t len);
uint32_t xiw_crc32c_avx2_copy(uint32_t crc, void *dst, const void *src, size_t len);

bool xiw_crc32c_has_avx512(void);
uint32_t xiw_crc32c_avx512(uint32_t crc, const void *src, size_t len);
uint32_t xiw_crc32c_avx512_copy(uint32_t crc, void *dst, const void *src, size_t len);
uint32_t xiw_crc32c_avx512_copy_sum(uint32_t crc, void *dst, const void *src, size_t len,
				    uint32_t *part);
#endif

#endif
