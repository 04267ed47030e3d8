// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `xiwarp perf`: what a server takes from a client, memory that runs stay within, and the percentiles. */
#include <criterion/criterion.h>
#include <string.h>

#include "tools/xiwarp/perf_hist.c"
#include "tools/xiwarp/perf_memory.c"
#include "tools/xiwarp/perf_wire.c"

static const struct xiw_perf_request good = {
	.op = XIW_PERF_READ, .both = true, .depth = 64, .size = 65536, .connections = 3, .stag = 9
};

static const char *taken(const struct xiw_perf_request *r, struct xiw_perf_request *got)
{
	uint8_t data[XIW_PERF_REQUEST_LEN];

	xiw_perf_put_request(r, data);
	return xiw_perf_get_request(data, sizeof(data), got);
}

Test(tool_perf, request_comes_as_it_was_sent)
{
	struct xiw_perf_request got;

	cr_assert_null(taken(&good, &got));
	cr_assert_eq(got.op, good.op);
	cr_assert(got.both && !got.latency);
	cr_assert_eq(got.depth, good.depth);
	cr_assert_eq(got.size, good.size);
	cr_assert_eq(got.connections, good.connections);
	cr_assert_eq(got.stag, good.stag);
}

Test(tool_perf, limits_are_kept)
{
	struct xiw_perf_request r, got;

#define REFUSED(member, value)                                                                     \
	r = good;                                                                                  \
	r.member = (value);                                                                        \
	cr_assert_not_null(taken(&r, &got), #member " " #value)
	REFUSED(op, XIW_PERF_OPS);
	REFUSED(op, 255);
	REFUSED(depth, 0);
	REFUSED(depth, XIW_PERF_DEPTH_MAX + 1);
	REFUSED(depth, UINT32_MAX);
	REFUSED(size, 0);
	REFUSED(size, XIW_PERF_SIZE_MAX + 1);
	REFUSED(size, UINT32_MAX);
	REFUSED(connections, 0);
	REFUSED(connections, XIW_PERF_CONNECTIONS_MAX + 1);
	REFUSED(latency, true); /* with `both` */
	r = good;
	r.both = false;
	r.latency = true; /* and a depth */
	cr_assert_not_null(taken(&r, &got));
	r.depth = 1;
	cr_assert_null(taken(&r, &got));
}

Test(tool_perf, other_octets_are_no_request)
{
	struct xiw_perf_request got;
	uint8_t data[XIW_PERF_REQUEST_LEN + 1] = {};
	uint32_t stag;

	xiw_perf_put_request(&good, data);
	for (size_t len = 0; len <= sizeof(data); len++)
		cr_assert_eq(xiw_perf_get_request(data, len, &got) == NULL,
			     len == XIW_PERF_REQUEST_LEN);
	for (size_t i = 0; i < 12; i++) {
		data[i] ^= 0x80;
		cr_assert_not_null(xiw_perf_get_request(data, XIW_PERF_REQUEST_LEN, &got));
		cr_assert(!xiw_perf_get_grant(data, XIW_PERF_GRANT_LEN, &stag) || i >= 8);
		data[i] ^= 0x80;
	}
}

Test(tool_perf, report_comes_as_it_was_sent)
{
	struct xiw_perf_end e = {
		.wall_ns = 1, .went_kernel = 1ull << 63, .thread = 2, .threads = 3, .crc = true
	};
	uint8_t data[XIW_PERF_REPORT_LEN];
	struct xiw_perf_end got;

	memset(e.no_direct, 'x', sizeof(e.no_direct)); /* without an end */
	xiw_perf_put_report(&e, data);
	cr_assert(!xiw_perf_get_report(data, sizeof(data) - 1, &got));
	memset(data + sizeof(data) - XIW_PERF_TEXT, 'y', XIW_PERF_TEXT);
	cr_assert(xiw_perf_get_report(data, sizeof(data), &got));
	cr_assert_eq(strlen(got.no_direct), XIW_PERF_TEXT - 1);
	cr_assert_eq(got.wall_ns, 1);
	cr_assert_eq(got.went_kernel, 1ull << 63);
	cr_assert_eq(got.threads, 3);
	cr_assert(got.crc && !got.zero_copy && !got.spins);
}

/* Whatever the largest size, messages of any smaller one stay within the areas. */
Test(tool_perf, runs_stay_within_their_memory)
{
	static const uint32_t sizes[] = { 1,	   7,	     512,      4096,   65536,
					  1 << 20, 40 << 20, 64 << 20, 1 << 30 };
	const size_t n = sizeof(sizes) / sizeof(sizes[0]);
	struct xiw_perf_area out, in, buffers;
	struct xiw_perf_request p = good;

	for (size_t i = 0; i < n * 3 * 2; i++) {
		p.size = sizes[i % n];
		p.op = (uint8_t)(i / n % 3);
		p.depth = i / n / 3 ? XIW_PERF_DEPTH_MAX : 1;
		plan(&p, true, &out, &in, &buffers);
		cr_assert_leq(out.len, p.size > XIW_PERF_MEMORY ? p.size : XIW_PERF_MEMORY);
		cr_assert_geq(xiw_perf_memory(&p, true), out.len + in.len + buffers.len);
		cr_assert_geq(buffers.len, XIW_PERF_REPORT_LEN);
		for (size_t k = 0; k < n && sizes[k] <= p.size; k++) {
			const uint64_t used = (uint64_t)xiw_perf_parts(&p, sizes[k]) * sizes[k];

			cr_assert(used, "no message has room");
			cr_assert_leq(used, out.len);
			cr_assert(!in.len || used <= in.len);
		}
	}
}

Test(tool_perf, percentiles)
{
	static struct xiw_hist h, other;

	cr_assert_eq(xiw_hist_at(&h, 0.5), 0);
	for (uint64_t ns = 1; ns <= 1000; ns++)
		xiw_hist_add(&h, ns * 1000);
	cr_assert_eq(h.least, 1000);
	cr_assert_eq(h.most, 1000000);
	for (unsigned int p = 1; p <= 999; p++) {
		const uint64_t got = xiw_hist_at(&h, p / 1000.0), want = p * 1000ull;

		cr_assert(got >= want && got <= want + want / 127, "%u: %llu", p,
			  (unsigned long long)got);
	}
	cr_assert_eq(xiw_hist_at(&h, 1), 1000000);
	xiw_hist_add(&other, UINT64_MAX);
	xiw_hist_add(&other, 0);
	xiw_hist_merge(&h, &other);
	cr_assert_eq(h.count, 1002);
	cr_assert_eq(xiw_hist_at(&h, 1), UINT64_MAX);
	cr_assert_eq(xiw_hist_at(&h, 0), 0);
}
