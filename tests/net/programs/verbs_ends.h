/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * programs/verbs_ends.h - a program of libibverbs and librdmacm, as others write them: how connections, work and
 * objects end. Two processes run a case together, one in each role, and agree on its steps by a TCP connection beside
 * it.
 */
#ifndef XIW_TESTS_NET_VERBS_ENDS_H
#define XIW_TESTS_NET_VERBS_ENDS_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "tests/net/lib/common.h"

#define WAIT_MS 20000
#define OCTETS 65536u
#define DEPTH 32u
#define INLINE 64u

/* One side of a connection. */
struct side {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_comp_channel *told;
	struct ibv_cq *cq;
	struct ibv_srq *srq; /* NULL, unless the case has set it before add_queues() */
	struct ibv_mr *mr;
	uint8_t *memory;
};

struct verbs_case {
	const char *name;
	void (*active)(void), (*passive)(void);
};

extern const struct verbs_case cases_of_ends[], cases_of_events[], cases_of_work[],
	cases_of_objects[], cases_of_async[], cases_of_refusals[], cases_of_turns[],
	cases_of_memory[], cases_of_threads[], cases_of_signals[], cases_of_limits[],
	cases_of_completions[], cases_of_channels[], cases_of_habits[], cases_of_rights[],
	cases_of_holds[], cases_of_gone[];

/* The other side's, by which rdma_getaddrinfo() finds it. */
extern const char *peer_host, *peer_port;

/* ---- steps --------------------------------------------------------------------------------------- */

/* Tells the other process a number, or gets one from it. UINT64_MAX: it is gone. */
void tell(uint64_t number);
uint64_t told(void);

/* Both have come so far. */
void meet(void);

/* Is the descriptor readable within so many milliseconds? */
bool readable(int fd, int ms);

/* ---- connections --------------------------------------------------------------------------------- */

/* Awaits an event of the channel, which must be this one. */
struct rdma_cm_event *get_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type);
/* The same, and acknowledges it. Returns its status. */
int take_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type);

/* Adds PD, CQ with a channel, memory and a QP to an identifier. */
void add_queues(struct side *s);

/* An identifier that knows its way to an address, without queues. */
void resolve(struct side *s, const char *host, uint16_t port);
void connect_side(struct side *s);
/* The same, with one buffer, whose completion is an event. */
void connect_notified(struct side *s);

/* The passive process's listener; the next request there, and one that is accepted. */
extern struct side listening;
void get_request(struct side *s);
void accept_side(struct side *s, unsigned int buffers);
/* The whole of a passive side that only waits until the other one ends the connection. */
void only_waits(void);

/* Frees all that there is. Nothing of it may be refused. */
void free_side(struct side *s);

/* ---- work ---------------------------------------------------------------------------------------- */

struct ibv_sge sge_of(const struct side *s, size_t from, uint32_t len);
void post_buffers(struct side *s, unsigned int n);
/* Returns what ibv_post_send() does. */
int post(struct side *s, enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t len,
	 unsigned int flags);
int post_remote(struct side *s, enum ibv_wr_opcode opcode, uint64_t wr_id, uint64_t addr,
		uint32_t rkey);
struct ibv_wc completion(struct ibv_cq *cq);
void completed(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status);
bool queue_is_empty(struct ibv_cq *cq);

/* The other side has ended the connection, or this one has: everything that was posted is complete by then. */
void await_end(struct side *s);

#endif
