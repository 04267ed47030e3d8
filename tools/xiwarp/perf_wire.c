// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "perf_wire.h"

#include <string.h>

#include "base/be.h"

static const uint8_t magic[8] = { 'x', 'i', 'w', 'p', 'e', 'r', 'f', 1 };

enum { FLAG_LATENCY = 1, FLAG_BOTH = 2 };

void xiw_perf_put_request(const struct xiw_perf_request *r, uint8_t data[XIW_PERF_REQUEST_LEN])
{
	memcpy(data, magic, sizeof(magic));
	data[8] = r->op;
	data[9] = (uint8_t)((r->latency ? FLAG_LATENCY : 0) | (r->both ? FLAG_BOTH : 0));
	xiw_put_be16(data + 10, 0);
	xiw_put_be32(data + 12, r->depth);
	xiw_put_be32(data + 16, r->size);
	xiw_put_be32(data + 20, r->connections);
	xiw_put_be32(data + 24, r->stag);
}

static const char *check(const struct xiw_perf_request *r)
{
	if (r->op >= XIW_PERF_OPS)
		return "unknown operation";
	if (r->latency && r->both)
		return "latency has one direction";
	if (!r->depth || r->depth > XIW_PERF_DEPTH_MAX || (r->latency && r->depth != 1))
		return "depth out of range";
	if (!r->size || r->size > XIW_PERF_SIZE_MAX)
		return "size out of range";
	if (!r->connections || r->connections > XIW_PERF_CONNECTIONS_MAX)
		return "number of connections out of range";
	return NULL;
}

const char *xiw_perf_get_request(const void *data, size_t len, struct xiw_perf_request *r)
{
	const uint8_t *d = data;

	if (len != XIW_PERF_REQUEST_LEN || memcmp(d, magic, sizeof(magic)))
		return "not a client of 'xiwarp perf', or of another version";
	if (d[9] & ~(FLAG_LATENCY | FLAG_BOTH) || d[10] || d[11])
		return "unknown flags";
	r->op = d[8];
	r->latency = d[9] & FLAG_LATENCY;
	r->both = d[9] & FLAG_BOTH;
	r->depth = xiw_get_be32(d + 12);
	r->size = xiw_get_be32(d + 16);
	r->connections = xiw_get_be32(d + 20);
	r->stag = xiw_get_be32(d + 24);
	return check(r);
}

void xiw_perf_put_grant(uint32_t stag, uint8_t data[XIW_PERF_GRANT_LEN])
{
	memcpy(data, magic, sizeof(magic));
	xiw_put_be32(data + 8, stag);
}

bool xiw_perf_get_grant(const void *data, size_t len, uint32_t *stag)
{
	if (len != XIW_PERF_GRANT_LEN || memcmp(data, magic, sizeof(magic)))
		return false;
	*stag = xiw_get_be32((const uint8_t *)data + 8);
	return true;
}

void xiw_perf_put_report(const struct xiw_perf_end *e, uint8_t data[XIW_PERF_REPORT_LEN])
{
	const uint64_t counts[] = { e->wall_ns,	   e->cpu_ns, e->host_ns,    e->messages,
				    e->direct,	   e->kernel, e->sent,	     e->dropped,
				    e->crc_errors, e->holds,  e->went_kernel };
	const uint32_t numbers[] = { e->reason, e->reason_count, e->thread, e->threads, e->cpus };
	uint8_t *d = data;

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++, d += 8)
		xiw_put_be64(d, counts[i]);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++, d += 4)
		xiw_put_be32(d, numbers[i]);
	d[0] = e->zero_copy;
	d[1] = e->crc;
	d[2] = e->spins;
	d[3] = 0;
	memset(d + 4, 0, XIW_PERF_TEXT);
	memcpy(d + 4, e->no_direct, strnlen(e->no_direct, XIW_PERF_TEXT - 1));
}

bool xiw_perf_get_report(const uint8_t *data, size_t len, struct xiw_perf_end *e)
{
	uint64_t *const counts[] = { &e->wall_ns,    &e->cpu_ns, &e->host_ns,	 &e->messages,
				     &e->direct,     &e->kernel, &e->sent,	 &e->dropped,
				     &e->crc_errors, &e->holds,	 &e->went_kernel };
	uint32_t *const numbers[] = { &e->reason, &e->reason_count, &e->thread, &e->threads,
				      &e->cpus };
	const uint8_t *d = data;

	if (len != XIW_PERF_REPORT_LEN)
		return false;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++, d += 8)
		*counts[i] = xiw_get_be64(d);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++, d += 4)
		*numbers[i] = xiw_get_be32(d);
	e->zero_copy = d[0];
	e->crc = d[1];
	e->spins = d[2];
	memcpy(e->no_direct, d + 4, XIW_PERF_TEXT);
	e->no_direct[XIW_PERF_TEXT - 1] = '\0';
	return true;
}
