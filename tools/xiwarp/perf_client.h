/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The client of `xiwarp perf`: threads with an engine each, and connections, each of which belongs to one of them. The
 * first thread also conducts: it sets the phase, which every thread carries out for its own connections.
 */
#ifndef XIW_TOOL_PERF_CLIENT_H
#define XIW_TOOL_PERF_CLIENT_H

#include <stdatomic.h>

#include "out.h"
#include "perf.h"

enum xiw_perf_phase {
	XIW_PHASE_CONNECT,
	XIW_PHASE_START, /* START is sent, READY awaited */
	XIW_PHASE_RUN,
	XIW_PHASE_STOP, /* reports are awaited */
	XIW_PHASE_CLOSE,
};

struct xiw_perf_link {
	struct xiw_perf_stream stream;
	struct xiw_perf_link *next;
	enum xiw_perf_state counted; /* up to this state it is in the client's counts */
};

struct xiw_perf_thread {
	struct xiw_perf_client *client;
	struct xiw_engine *engine;
	pthread_t id;
	bool runs;
	unsigned int index, seen; /* seen: the last order that was carried out */
	struct xiw_perf_link *links;
	unsigned int closed;
	struct xiw_hist hist;
};

struct xiw_perf_client {
	struct xiw_perf_test test;
	const struct xiw_out *picture; /* of --plot; NULL: none */
	struct xiw_group *group;
	unsigned int nthreads;
	struct xiw_perf_thread *threads;
	/* Written by the first thread before it gives the order to start. */
	uint32_t size;
	/* The phase that all threads are to carry out, and a number above it by which each order is a new one. */
	atomic_uint order;
	/* How many connections are established, prepared, have reported, have ended. */
	atomic_uint connected, prepared, reported, ended;
	atomic_int failed; /* exit code of the first failure */
	atomic_bool
		refused; /* a connection was not established: `failed` if there is no other address */
	uint64_t began_ns;
	bool interrupted;
	struct xiw_perf_sample *samples;
	unsigned int nsamples, samples_max;
	/* Descriptors of the sockets, to ask TCP how it spent its time; perf_tcp.c. */
	pthread_mutex_t lock;
	int *sockets;
	unsigned int nsockets;
	struct xiw_perf_result tcp_before;
};

/* Takes one turn of a thread, which waits up to `wait_ms`, and carries out the phase. False: the engine failed. */
bool xiw_perf_turn(struct xiw_perf_thread *t, int wait_ms);
enum xiw_perf_phase xiw_perf_phase_of(unsigned int order);
/* What the first thread has all threads do from now on. */
void xiw_perf_set_phase(struct xiw_perf_client *c, enum xiw_perf_phase phase);
/* One run, with messages of this size. Fills in the result. False: it failed. */
bool xiw_perf_run(struct xiw_perf_client *c, uint32_t size, struct xiw_perf_result *result);

/* xiw_conn_opts.prepare: keeps a descriptor of each socket of the client. */
int xiw_perf_keep_socket(int fd, void *client);
/* Adds up what TCP says of them. */
void xiw_perf_tcp(const struct xiw_perf_client *c, struct xiw_perf_result *sum);
void xiw_perf_forget_sockets(struct xiw_perf_client *c);

#endif
