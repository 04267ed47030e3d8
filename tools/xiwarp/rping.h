/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `xiwarp rping` sends and expects, as the program rping of rdma-core does. In each iteration:
 *
 *	client  Send: where its source is       server  RDMA Read of the source
 *	                                                Send: go ahead
 *	client  Send: where its sink is         server  RDMA Write of what it read
 *	                                                Send: go ahead
 */
#ifndef XIW_TOOL_RPING_H
#define XIW_TOOL_RPING_H

#include <xiwarp/rdmap.h>
#include <xiwarp/region.h>

#include "receiver.h"

#define XIW_RPING_PORT "7174"
#define XIW_RPING_MIN 16u
#define XIW_RPING_INFO 16 /* octets of every Send: TO 8, STag 4, size 4, big endian */
#define XIW_RPING_RECVS 2

/* What an end waits for. */
enum xiw_rping_state {
	XIW_RPING_STARTING,
	XIW_RPING_SOURCE, /* server: the source; client: the go-ahead that follows it */
	XIW_RPING_READ,	  /* server: the Read */
	XIW_RPING_SINK,	  /* server: the sink; client: the go-ahead that follows it */
	XIW_RPING_CLOSING,
	XIW_RPING_CLOSED,
};

struct xiw_rping {
	struct xiw_peer peer; /* receiver and next: server only */
	const struct xiw_args *args;
	struct xiw_engine *engine;
	struct xiw_rdma *rdma;
	bool server;
	enum xiw_rping_state state;
	uint32_t size;	 /* client: of a ping; server: the largest it accepts */
	uint8_t *source; /* client */
	/* Here the peer writes to the client; the server reads into it and writes from it. */
	uint8_t *sink;
	struct xiw_region *source_region, *sink_region;
	uint8_t recv[XIW_RPING_RECVS][XIW_RPING_INFO];
	/* The Sends are the same in each iteration: an answer may overtake XIW_EV_SENT of the Send before. */
	uint8_t info[2][XIW_RPING_INFO];
	/*
	 * Server: until XIW_EV_SENT of its Write, which the client's next Send may overtake, the sink is in use and the
	 * Send is held.
	 */
	bool writing, waiting;
	uint8_t held[XIW_RPING_INFO];
	uint32_t pinged; /* server: size of this iteration's ping */
	uint64_t iterations, octets, mismatches;
	uint64_t first_ns, last_ns;
	char why[128]; /* what went wrong */
	int code;
};

/* Makes buffers and regions and posts the receive buffers, once there is a connection. Negative errno. */
int xiw_rping_open(struct xiw_rping *p);
/* Frees everything but the connection. */
void xiw_rping_free(struct xiw_rping *p);
/* Takes one completion of its connection. */
void xiw_rping_completion(struct xiw_rping *p, const struct xiw_completion *c);
/* Ends the stream with an exit code and a reason, unless it has one already. */
__attribute__((format(printf, 3, 4))) void xiw_rping_fail(struct xiw_rping *p, int code,
							  const char *fmt, ...);
void xiw_rping_report(const struct xiw_rping *p);

#endif
