/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the two ends of `xiwarp perf` tell each other, big endian. The client's Request and the server's Grant are MPA
 * Private Data. A run begins and ends with Immediate Data (RFC 7306), whose value is a word of the protocol in its
 * highest octet and a number below:
 *
 *	client  START size          server  READY             buffers are posted
 *	client  GO                                            counting begins, and data are sent
 *	client  STOP                server  Send: its report  counting ends
 *
 * A Send with Solicited Event is the report, and any other one is data. Messages that go there and back are Sends, or
 * RDMA Writes with Immediate Data, which are DATA. There are as many runs as the client asks for.
 */
#ifndef XIW_TOOL_PERF_WIRE_H
#define XIW_TOOL_PERF_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XIW_PERF_SIZE_MAX (1u << 30)
#define XIW_PERF_DEPTH_MAX 1024u
#define XIW_PERF_CONNECTIONS_MAX 4096u
#define XIW_PERF_MEMORY (64u << 20) /* of the messages of one connection, if one is not longer */

#define XIW_PERF_HOLD_MS 10000 /* a Send waits so long for a buffer, if its receiver has no turn */

enum xiw_perf_op { XIW_PERF_WRITE, XIW_PERF_SEND, XIW_PERF_READ, XIW_PERF_OPS };

enum xiw_perf_word {
	XIW_PERF_START = 1,
	XIW_PERF_READY,
	XIW_PERF_GO,
	XIW_PERF_STOP,
	XIW_PERF_DATA,
};

static inline uint64_t xiw_perf_value(enum xiw_perf_word word, uint32_t number)
{
	return (uint64_t)word << 56 | number;
}

/* The client's Request, for one connection. */
struct xiw_perf_request {
	uint8_t op;	    /* enum xiw_perf_op */
	bool latency, both; /* one message at a time, there and back; data in both directions */
	uint32_t depth;
	uint32_t size;	      /* the largest of all runs */
	uint32_t connections; /* how many the client opens */
	uint32_t stag;	      /* memory of the client that the server's Writes or Reads name */
};

#define XIW_PERF_REQUEST_LEN 28
#define XIW_PERF_GRANT_LEN 12

void xiw_perf_put_request(const struct xiw_perf_request *r, uint8_t data[XIW_PERF_REQUEST_LEN]);
/* Takes nothing that is not within the limits above. Returns NULL, or what is wrong. */
const char *xiw_perf_get_request(const void *data, size_t len, struct xiw_perf_request *r);
/* The server's Grant: the STag of its memory. */
void xiw_perf_put_grant(uint32_t stag, uint8_t data[XIW_PERF_GRANT_LEN]);
bool xiw_perf_get_grant(const void *data, size_t len, uint32_t *stag);

#define XIW_PERF_TEXT 96

/* What an end has counted in one run on one connection. */
struct xiw_perf_end {
	uint64_t wall_ns;
	uint64_t cpu_ns;	    /* of the process: all of its connections and threads */
	uint64_t host_ns;	    /* all CPUs of the host together, with the kernel's threads */
	uint64_t messages;	    /* that this end has sent or read */
	uint64_t direct, kernel;    /* octets received, by path */
	uint64_t sent;		    /* octets */
	uint64_t dropped;	    /* frames that the direct path refused */
	uint64_t crc_errors, holds; /* holds: a Send came that found no buffer */
	uint64_t went_kernel;
	uint32_t reason, reason_count; /* the most frequent one of leaving the direct path */
	uint32_t thread, threads;      /* which of how many */
	uint32_t cpus;		       /* of the host */
	bool zero_copy, crc, spins;    /* spins: looks for work instead of sleeping */
	char no_direct[XIW_PERF_TEXT];
};

#define XIW_PERF_REPORT_LEN (11 * 8 + 5 * 4 + 4 + XIW_PERF_TEXT)

void xiw_perf_put_report(const struct xiw_perf_end *e, uint8_t data[XIW_PERF_REPORT_LEN]);
/* False: it is none. The text ends with a NUL, and may have any octets. */
bool xiw_perf_get_report(const uint8_t *data, size_t len, struct xiw_perf_end *e);

#endif
