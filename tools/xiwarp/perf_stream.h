/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One connection of `xiwarp perf`, at either end: its memory, its messages, and what it counts. */
#ifndef XIW_TOOL_PERF_STREAM_H
#define XIW_TOOL_PERF_STREAM_H

#include <xiwarp/rdmap.h>
#include <xiwarp/region.h>

#include "perf_hist.h"
#include "perf_wire.h"

enum xiw_perf_state {
	XIW_PERF_IDLE,	   /* no run */
	XIW_PERF_STARTING, /* client: START has been sent; server: READY */
	XIW_PERF_PREPARED, /* client: READY came */
	XIW_PERF_RUNNING,
	XIW_PERF_DRAINING, /* what is posted completes; then the client sends STOP, the server its report */
	XIW_PERF_STOPPING, /* client: the report is awaited */
	XIW_PERF_REPORTED, /* client */
	XIW_PERF_CLOSING,
	XIW_PERF_CLOSED,
};

/* Memory of which messages take one part after the other. */
struct xiw_perf_area {
	uint8_t *octets;
	size_t len, stride;
	uint32_t parts;
};

struct xiw_perf_stream {
	struct xiw_conn *conn;
	struct xiw_rdma *rdma;
	bool server, connected;
	enum xiw_perf_state state;
	struct xiw_perf_request params;
	/* What is sent or may be read; where Writes and the answers to Reads go; posted buffers. */
	struct xiw_perf_area out, in, buffers;
	size_t filled;			  /* of `out` */
	struct xiw_region *region, *sink; /* the one that the peer names; of our Reads' answers */
	uint32_t peer_stag;

	/* The run. */
	uint32_t size, parts, outstanding;
	uint64_t posted, done; /* messages of ours; `done` is read by other threads */
	uint64_t asked_ns;     /* latency, client */
	struct xiw_hist *hist; /* likewise */
	uint64_t began_ns, began_cpu, began_host, ended_ns;
	struct xiw_conn_info began; /* when it was prepared */
	uint32_t thread, threads;
	bool spins;
	struct xiw_perf_end here, there; /* of the last run */
	uint8_t report[XIW_PERF_REPORT_LEN];

	int code; /* exit code; 0: nothing has failed */
	char why[160];
};

/* Do the octets that are measured come to this end? Words of the protocol come to both. */
bool xiw_perf_gets(const struct xiw_perf_request *p, bool server);
/* Octets of memory that an end needs for these parameters. */
uint64_t xiw_perf_memory(const struct xiw_perf_request *p, bool server);
/* How many messages of a size, at most params.size, the areas have room for, but no more than are posted at a time. */
uint32_t xiw_perf_parts(const struct xiw_perf_request *p, uint32_t size);
/* How many buffers and operations an end may have posted. */
uint32_t xiw_perf_recv_depth(const struct xiw_perf_request *p);
uint32_t xiw_perf_send_depth(const struct xiw_perf_request *p);
/* Makes the RDMAP Stream, memory and regions, and posts the buffers. Negative errno. */
int xiw_perf_stream_open(struct xiw_perf_stream *s, struct xiw_engine *engine);
/*
 * Writes to the next octets, at most so many, of what is sent or may be read. Pages that nobody has written to are one
 * page, which the cache always has. Returns whether there is more to write to. Any thread may call this, as the only
 * one.
 */
bool xiw_perf_fill(struct xiw_perf_stream *s, size_t most);
/* Frees everything but the connection, which is freed already or has ended. */
void xiw_perf_stream_free(struct xiw_perf_stream *s);
/* Takes one completion of the connection. */
void xiw_perf_completion(struct xiw_perf_stream *s, const struct xiw_completion *c);

/* Client: asks for a run with messages of this size; begins it, when the state is PREPARED; and ends it. */
void xiw_perf_start(struct xiw_perf_stream *s, uint32_t size);
void xiw_perf_go(struct xiw_perf_stream *s);
void xiw_perf_stop(struct xiw_perf_stream *s);
/* Closes in an orderly way. */
void xiw_perf_close(struct xiw_perf_stream *s);

/* CPU time of the process, and of the host without what is idle, in nanoseconds. */
uint64_t xiw_perf_cpu_ns(void);
uint64_t xiw_perf_host_ns(void);

#endif
