// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Compares each CRC32c that this CPU can run, in any pieces and at any alignment, with one that goes bit by bit. */
#include "crc32c/crc32c.h"
#include "tests/fuzz/fuzz.h"
#include "tests/net/lib/octets.h"

#define MAX 2048u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	const struct xiw_crc32c_ops *ops = xiw_crc32c_table;
	uint32_t shift = fuzz_below(&in, 64), to = fuzz_below(&in, 64), repeat = fuzz_u8(&in);
	uint32_t cuts[4], len, whole;
	uint8_t *src, *dst, *raw;

	for (int i = 0; i < 4; i++)
		cuts[i] = fuzz_u16(&in);
	/* Repeats the rest of the input, so that short inputs give long runs. */
	len = in.left ? (uint32_t)(in.left * (1 + repeat)) : repeat;
	if (len > MAX)
		len = MAX;
	raw = malloc(shift + len + 1);
	dst = malloc(to + len + 1);
	CHECK(raw && dst);
	src = raw + shift;
	for (uint32_t i = 0; i < len; i++)
		src[i] = in.left ? in.p[i % in.left] : (uint8_t)i;
	src[len] = 0xa5;
	whole = crc32c(src, len);

	for (size_t n = 0; n < xiw_crc32c_table_len; n++, ops++) {
		uint32_t crc = 0, at = 0;

		if (!ops->supported())
			continue;
		CHECK(ops->crc(0, src, len) == whole, "%s, %u octets", ops->name, len);
		memset(dst, 0x5a, to + len + 1);
		for (int i = 0; i < 5; i++) {
			uint32_t run = i < 4 ? cuts[i] % (len - at + 1) : len - at;

			crc = i % 2   ? ops->crc(crc, src + at, run)
			      : i % 4 ? ops->place(crc, dst + to + at, src + at, run)
				      : ops->copy(crc, dst + to + at, src + at, run);
			if (i % 2)
				memcpy(dst + to + at, src + at, run);
			at += run;
		}
		CHECK(crc == whole, "%s in pieces, %u octets", ops->name, len);
		CHECK(!memcmp(dst + to, src, len), "%s", ops->name);
		CHECK(dst[to + len] == 0x5a && src[len] == 0xa5, "%s", ops->name);
		CHECK(!to || dst[to - 1] == 0x5a, "%s", ops->name);
	}
	CHECK(xiw_crc32c(0, src, len) == whole);
	free(raw);
	free(dst);
	return 0;
}
