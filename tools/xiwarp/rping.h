/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `xiwarp rping` sends and expects, as the program rping of rdma-core does it, per iteration:
 *
 *	client  Send: where its source is       server  RDMA Read of the source
 *	                                                Send: go ahead
 *	client  Send: where its sink is         server  RDMA Write of what it read
 *	                                                Send: go ahead
 */
#ifndef XIW_TOOL_RPING_H
#define XIW_TOOL_RPING_H

#include "cli.h"

#define XIW_RPING_PORT "7174"
#define XIW_RPING_MIN 16u
#define XIW_RPING_INFO 16 /* octets of every Send: TO 8, STag 4, size 4, big endian */
#define XIW_RPING_RECVS 2

/* Where an end stands: what it waits for. */
enum xiw_rping_state {
	XIW_RPING_STARTING,
	XIW_RPING_SOURCE, /* server: the source; client: to go ahead behind it */
	XIW_RPING_READ,	  /* server: the Read */
	XIW_RPING_SINK,	  /* server: the sink; client: to go ahead behind it */
	XIW_RPING_CLOSING,
	XIW_RPING_CLOSED,
};

struct xiw_rping {
	struct xiw_rping *next;
	const struct xiw_args *args;
	struct xiw_engine *engine;
	struct xiw_conn *conn;
	struct xiw_rdma *rdma;
	bool server;
	bool nudged; /* client */
	enum xiw_rping_state state;
	uint32_t size;	 /* client: of a ping; server: the largest it takes */
	uint8_t *source; /* client */
	uint8_t *sink; /* where the client is written to; the server reads into, and writes from */
	struct xiw_region *source_region, *sink_region;
	uint8_t recv[XIW_RPING_RECVS][XIW_RPING_INFO];
	/* The Sends, the same in each iteration: an answer may overtake the word that the Send before is done with. */
	uint8_t info[2][XIW_RPING_INFO];
	/* Server: that the Write is done with the sink may be overtaken by the client's next Send, which waits. */
	bool writing, waiting;
	uint8_t held[XIW_RPING_INFO];
	uint32_t pinged; /* server: size of this iteration's ping */
	uint64_t iterations, octets, mismatches;
	uint64_t first_ns, last_ns;
	char name[80], why[128];
	int code, status;
};

/* Makes buffers and regions, and posts the receive buffers; the connection is the caller's. Negative errno. */
int xiw_rping_open(struct xiw_rping *p);
/* Everything but the connection. */
void xiw_rping_free(struct xiw_rping *p);
/* One completion of its connection. */
void xiw_rping_completion(struct xiw_rping *p, const struct xiw_completion *c);
/* For a client to call now and then: gets a siw going that overslept its beginning. */
void xiw_rping_nudge(struct xiw_rping *p);
/* Ends it for the reason given, with an exit code, if it has none yet. */
__attribute__((format(printf, 3, 4))) void xiw_rping_fail(struct xiw_rping *p, int code,
							  const char *fmt, ...);
void xiw_rping_report(const struct xiw_rping *p);

#endif
