// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The memory of the cases: how messages lie in it, and that every octet is the one that it must be. */
#include "tests/net/conn/work.h"

uint8_t arenas[ARENAS][ARENA];

void lay(struct iovec *iov, unsigned int n, uint8_t *arena, size_t len, uint64_t seed)
{
	uint8_t *end = arena + ARENA;

	memset(arena, 0xee, ARENA);
	for (unsigned int i = 0; i < n; i++) {
		size_t part = lcg(&seed, 5) ? lcg(&seed, 2 * (uint32_t)(len / (n - i)) + 2) : 0;

		if (part > len || i == n - 1)
			part = len;
		len -= part;
		end -= part + 3;
		CHECK(end >= arena);
		iov[i] = (struct iovec){ end, part };
	}
}

void fill(const struct iovec *iov, unsigned int n, uint64_t stream)
{
	uint64_t off = 0;

	for (unsigned int i = 0; i < n; off += iov[i++].iov_len)
		if (iov[i].iov_len)
			stream_octets(stream, off, iov[i].iov_base, iov[i].iov_len);
}

void check_untouched(const uint8_t *octets, size_t len)
{
	for (size_t i = 0; i < len; i++)
		CHECK(octets[i] == 0xee);
}

void check_arena(const struct iovec *iov, unsigned int n, uint8_t *arena, uint64_t stream,
		 size_t len)
{
	uint64_t off = 0;

	for (unsigned int i = 0; i < n && off < len; i++) {
		size_t part = iov[i].iov_len < len - off ? iov[i].iov_len : len - off;

		if (!part)
			continue; /* it may have no memory */
		CHECK(stream_wrong(stream, off, iov[i].iov_base, part) < 0);
		memset(iov[i].iov_base, 0xee, part);
		off += part;
	}
	CHECK(off == len);
	check_untouched(arena, ARENA);
}

struct xiw_region *work_region(uint8_t *arena, unsigned int access)
{
	const struct xiw_region_opts o = { .size = sizeof(o),
					   .conn = work.s->conn,
					   .access = access };
	struct xiw_region *region;

	CHECK(!xiw_region_register(work.engine, arena, ARENA, &o, &region));
	return region;
}
