// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The memory of a connection of `xiwarp perf`, and its clocks. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "perf_stream.h"

#define BUFFER 512u /* a report has room in every posted buffer */
_Static_assert(XIW_PERF_REPORT_LEN <= BUFFER, "a report does not fit");

#define FEW 16u /* buffers, where only words and reports come as Sends */

/* How many parts of this length an area has. */
static uint32_t parts_of(const struct xiw_perf_request *p, uint32_t stride)
{
	uint32_t most = XIW_PERF_MEMORY / stride;

	return !most ? 1 : p->depth < most ? p->depth : most;
}

uint32_t xiw_perf_parts(const struct xiw_perf_request *p, uint32_t size)
{
	const uint64_t len = (uint64_t)parts_of(p, p->size) * p->size;

	return p->depth < len / size ? p->depth : (uint32_t)(len / size);
}

/* Does this end send, and do messages come to it? Messages that go there and back do both at both ends. */
static bool sends(const struct xiw_perf_request *p, bool server)
{
	return !server || p->both || (p->latency && p->op != XIW_PERF_READ);
}

static bool takes(const struct xiw_perf_request *p, bool server)
{
	return sends(p, !server);
}

bool xiw_perf_gets(const struct xiw_perf_request *p, bool server)
{
	return p->op == XIW_PERF_READ ? sends(p, server) : takes(p, server);
}

/* What the areas of an end are to be; `octets` stays NULL. */
static void plan(const struct xiw_perf_request *p, bool server, struct xiw_perf_area *out,
		 struct xiw_perf_area *in, struct xiw_perf_area *buffers)
{
	const bool reads = p->op == XIW_PERF_READ;
	const uint32_t parts = parts_of(p, p->size);
	const bool has_out = reads ? takes(p, server) : sends(p, server);
	const bool has_in = xiw_perf_gets(p, server) && p->op != XIW_PERF_SEND;
	const bool data = xiw_perf_gets(p, server) && p->op == XIW_PERF_SEND;
	const uint32_t stride = data && p->size > BUFFER ? p->size : BUFFER;

	*out = *in = *buffers = (struct xiw_perf_area){};
	if (has_out)
		*out = (struct xiw_perf_area){ .stride = p->size, .parts = parts };
	if (has_in)
		*in = (struct xiw_perf_area){ .stride = p->size, .parts = parts };
	buffers->stride = stride;
	buffers->parts = data ? parts_of(p, stride) : FEW;
	out->len = out->stride * out->parts;
	in->len = in->stride * in->parts;
	buffers->len = buffers->stride * buffers->parts;
}

uint64_t xiw_perf_memory(const struct xiw_perf_request *p, bool server)
{
	struct xiw_perf_area out, in, buffers;

	plan(p, server, &out, &in, &buffers);
	/* A posted buffer takes some octets in the library, too. */
	return out.len + in.len + buffers.len + (uint64_t)xiw_perf_recv_depth(p) * 64;
}

/*
 * Several messages may come before the application has posted buffers again, small ones by the thousand. The buffers
 * share their memory, so only the queue takes room.
 */
uint32_t xiw_perf_recv_depth(const struct xiw_perf_request *p)
{
	uint32_t most = p->connections > 16 ? 2048 : 16384;
	uint32_t depth = (8u << 20) / p->size;

	/* So many RDMA Reads may be outstanding, too. */
	if (p->op != XIW_PERF_SEND)
		return p->depth + FEW;
	depth = depth < 2 * FEW ? 2 * FEW : depth;
	return depth < most ? depth : most;
}

uint32_t xiw_perf_send_depth(const struct xiw_perf_request *p)
{
	return p->depth +
	       FEW; /* with room for words; a Write with Immediate Data takes two places */
}

static int map(struct xiw_perf_area *a)
{
	void *p = NULL;
	int err = a->len ? xiw_memory_alloc(a->len, 0, &p) : 0;

	a->octets = p;
	return err;
}

static void unmap(struct xiw_perf_area *a)
{
	xiw_memory_free(a->octets, a->len);
	a->octets = NULL;
}

static int open_region(struct xiw_perf_stream *s, struct xiw_engine *engine,
		       const struct xiw_perf_area *a, unsigned int access,
		       struct xiw_region **region)
{
	const struct xiw_region_opts opts = { .size = sizeof(opts),
					      .conn = s->conn,
					      .access = access };

	return a->octets ? xiw_region_register(engine, a->octets, a->len, &opts, region) : 0;
}

static int open_memory(struct xiw_perf_stream *s, struct xiw_engine *engine)
{
	const bool reads = s->params.op == XIW_PERF_READ;
	int err;

	plan(&s->params, s->server, &s->out, &s->in, &s->buffers);
	err = map(&s->out);
	if (!err)
		err = map(&s->in);
	if (!err)
		err = map(&s->buffers);
	if (err)
		return err;
	if (reads)
		err = open_region(s, engine, &s->out, XIW_ACCESS_READ, &s->region);
	else if (s->params.op == XIW_PERF_WRITE)
		err = open_region(s, engine, &s->in, XIW_ACCESS_WRITE, &s->region);
	if (!err && reads)
		err = open_region(s, engine, &s->in, XIW_ACCESS_SINK, &s->sink);
	return err;
}

bool xiw_perf_fill(struct xiw_perf_stream *s, size_t most)
{
	const size_t left = s->out.len - s->filled;
	const size_t len = left < most ? left : most;

	if (len)
		memset(s->out.octets + s->filled, 0xa5, len);
	s->filled += len;
	return s->filled < s->out.len;
}

int xiw_perf_stream_open(struct xiw_perf_stream *s, struct xiw_engine *engine)
{
	const struct xiw_rdma_opts opts = {
		.size = sizeof(opts),
		.send_depth = xiw_perf_send_depth(&s->params),
		.ird = (uint16_t)s->params.depth,
		.ord = (uint16_t)s->params.depth,
		.extended = true,
	};
	int err = xiw_rdma_attach(s->conn, &opts, &s->rdma);

	if (!err)
		err = open_memory(s, engine);
	for (uint32_t i = 0; i < xiw_perf_recv_depth(&s->params) && !err; i++) {
		const uint32_t part = i % s->buffers.parts;

		err = xiw_rdma_post_recv(s->rdma, s->buffers.octets + part * s->buffers.stride,
					 (uint32_t)s->buffers.stride, part);
	}
	return err;
}

void xiw_perf_stream_free(struct xiw_perf_stream *s)
{
	xiw_region_free(s->region);
	xiw_region_free(s->sink);
	s->region = s->sink = NULL;
	unmap(&s->out);
	unmap(&s->in);
	unmap(&s->buffers);
}

uint64_t xiw_perf_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal, in ticks. */
uint64_t xiw_perf_host_ns(void)
{
	unsigned long long t[7] = {};
	FILE *f = fopen("/proc/stat", "re");
	long hz = sysconf(_SC_CLK_TCK);
	int n;

	if (!f)
		return 0;
	n = fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3], &t[4],
		   &t[5], &t[6]);
	fclose(f);
	if (n != 7 || hz <= 0)
		return 0;
	return (t[0] + t[1] + t[2] + t[5] + t[6]) * (1000000000u / (unsigned long)hz);
}
