/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `xiwarp perf`: its two sides, and what the client reports. */
#ifndef XIW_TOOL_PERF_H
#define XIW_TOOL_PERF_H

#include <netdb.h>
#include <pthread.h>
#include <stdio.h>

#include <xiwarp/group.h>

#include "args.h"
#include "perf_stream.h"

int xiw_perf_server(const struct xiw_args *args);
int xiw_perf_client(const struct xiw_args *args);

/* What was done up to a moment of a run, for the lines of intervals and the plot. */
struct xiw_perf_sample {
	double seconds; /* since the run began */
	uint64_t messages;
};

/* The result of a run: sums over connections; times are the longest. */
struct xiw_perf_result {
	uint32_t size;
	bool interrupted;
	uint64_t octets; /* payload of all messages, of both ends */
	struct xiw_perf_end here, there;
	/* How many of each end's threads had a connection. */
	unsigned int threads_here, threads_there;
	struct xiw_hist *hist; /* NULL: bandwidth */
	struct xiw_perf_sample *samples;
	unsigned int nsamples;
	/* How TCP spent the time in which it had something to send, in microseconds, and how many segments it sent. */
	uint64_t tcp_busy, tcp_peer_window, tcp_send_buffer;
	uint64_t tcp_segments, tcp_again;
	uint64_t tcp_moved; /* octets: acknowledged by the peer, and received */
};

/* What the client was asked to do, for the reports. */
struct xiw_perf_test {
	const struct xiw_args *args;
	struct xiw_perf_request params;
	char server[80]; /* its address */
};

const char *xiw_perf_op_name(unsigned int op);
double xiw_perf_ns_per_octet(uint64_t ns, const struct xiw_perf_result *r);
/* Has an end received so much that its path matters? Otherwise these were words of the protocol. */
bool xiw_perf_receives(const struct xiw_perf_end *e, const struct xiw_perf_result *r);
void xiw_perf_report(const struct xiw_perf_test *t, const struct xiw_perf_result *r);
/* What held the figure back, as far as the counters tell, in one line. */
const char *xiw_perf_why(const struct xiw_perf_result *r, char buf[512]);
/* Writes one picture of all runs; false: it could not be written. */
bool xiw_perf_plot(FILE *f, const struct xiw_perf_test *t, const struct xiw_perf_result *runs,
		   unsigned int n);

#endif
