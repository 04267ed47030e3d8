// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/net/matrix/matrix.h"

uint64_t matrix_stream(uint64_t seed, uint64_t msg)
{
	return seed + (msg << 24) + 1;
}

uint64_t matrix_wrong(uint64_t seed, uint64_t msg, const uint8_t *got, uint64_t off, size_t len)
{
	uint64_t wrong = 0;
	int64_t at;

	for (; (at = stream_wrong(matrix_stream(seed, msg), off, got, len)) >= 0; wrong++) {
		off += (uint64_t)at + 1;
		got += at + 1;
		len -= (size_t)at + 1;
	}
	return wrong;
}

uint32_t matrix_len(uint64_t seed, uint64_t msg)
{
	uint64_t z = mix(~seed * MIX_STEP + msg);

	/* Every eighth one is short. */
	return 1 + (uint32_t)(z >> 16) % (z & 7 ? MATRIX_MSG_MAX : 600);
}

bool matrix_untagged(uint64_t msg)
{
	return msg % 4 == 3;
}

uint32_t matrix_msn(uint64_t msg)
{
	return (uint32_t)(msg / 4) + 1;
}

uint64_t matrix_count(uint64_t seed, uint64_t octets)
{
	uint64_t n = 0, sum = 0;

	while (sum < octets)
		sum += matrix_len(seed, n++);
	return n;
}
