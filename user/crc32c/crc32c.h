/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CRC32C_H
#define XIW_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/csum.h"

/*
 * CRC32c, the CRC of MPA (RFC 5044 section 4.4, which takes it from RFC 3720).
 *
 * @crc is 0 for the first piece and the previous result for each further piece;
 * every result is final (inverted). On the wire the value goes out least
 * significant octet first.
 *
 * All may be called from any thread at any time, constructors included.
 */
uint32_t xiw_crc32c(uint32_t crc, const void *src, size_t len);

/*
 * The same, and @src is copied to @dst in the same pass. They must not overlap. If another thread changes @src
 * meanwhile, the result is the CRC of what @dst then holds: an FPDU of memory that is written to while it is sent is
 * still good.
 */
uint32_t xiw_crc32c_copy(uint32_t crc, void *dst, const void *src, size_t len);

/* The same for octets that nothing changes meanwhile, such as those of a frame: some CPUs take less time. */
uint32_t xiw_crc32c_place(uint32_t crc, void *dst, const void *src, size_t len);

/* As xiw_crc32c_place(); and they are added to @sum, in the same pass where that is faster; at most 64 KiB. */
uint32_t xiw_crc32c_copy_sum(uint32_t crc, void *dst, const void *src, size_t len,
			     struct xiw_csum *sum);

/* False if that is known to take two passes here. */
bool xiw_crc32c_sums_too(void);

/* The name of the implementation that this CPU runs. */
const char *xiw_crc32c_impl(void);

/*
 * All implementations, best first, for tests and benchmarks. The last one runs on any CPU. Calling one that the CPU
 * does not support executes an illegal instruction.
 */
struct xiw_crc32c_ops {
	const char *name;
	bool (*supported)(void);
	uint32_t (*crc)(uint32_t crc, const void *src, size_t len);
	uint32_t (*copy)(uint32_t crc, void *dst, const void *src, size_t len);
	uint32_t (*place)(uint32_t crc, void *dst, const void *src, size_t len);
	/* *@part becomes what xiw_csum_partial() returns. NULL: two passes are as fast. */
	uint32_t (*copy_sum)(uint32_t crc, void *dst, const void *src, size_t len, uint32_t *part);
};

/* Takes one that the CPU supports instead of the best one, for tests. */
void xiw_crc32c_use(const struct xiw_crc32c_ops *ops);

extern const struct xiw_crc32c_ops xiw_crc32c_table[];
extern const size_t xiw_crc32c_table_len;

#endif
