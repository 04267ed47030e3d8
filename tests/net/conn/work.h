/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the cases of `work` use. Two processes go through the same cases, each case on a connection of its own and
 * twice: once the Initiator acts and the Responder is its witness, and once the other way round. Beside it they have a
 * plain TCP connection, on which one tells the other what it has done.
 */
#ifndef XIW_TESTS_NET_WORK_H
#define XIW_TESTS_NET_WORK_H

#include <xiwarp/xiwarp.h>

#include "tests/net/lib/common.h"

#define ARENA (272u << 10) /* for the pieces of one message */
#define ARENAS 16
#define COMPLETIONS 16384

struct work_case {
	const char *name;
	/* Changes the options of the connections; NULL: none. Sets work.nstreams, and the queues that they use. */
	void (*options)(struct xiw_conn_opts *co, struct xiw_rdma_opts *ro);
	/* Runs while MPA starts, and accepts; NULL: each Request is accepted. */
	void (*opening)(void);
	/* The witness is ready before the other acts, for example with posted buffers; NULL: with nothing. */
	void (*prepare)(void);
	void (*act)(void);
	void (*witness)(void); /* runs at the same time */
	/* The connections are freed; frees what options() has made. */
	void (*cleanup)(void);
	bool fails; /* the stream ends with an error: act() and witness() wait for that */
};

/* Tables of cases, each up to a nameless one. work.c runs them all. */
extern const struct work_case work_first[];
extern const struct work_case work_memory[];
extern const struct work_case work_queue[];
extern const struct work_case work_depths[];
extern const struct work_case work_extended[];
extern const struct work_case work_ready[];
extern const struct work_case work_gone[];
extern const struct work_case work_careless[];

/* One RDMAP Stream. */
struct stream {
	struct xiw_conn *conn;
	struct xiw_rdma *rdma;
	uint32_t msn;  /* of the last Send or Immediate Data that came */
	uint8_t cause; /* of XIW_EV_TERMINATED */
	bool requested, connected, failed, terminated, closed;
};

#define STREAMS 3

/* This end of the case's connections. */
struct work {
	const struct work_case *the_case;
	bool initiator, actor;
	struct xiw_engine *engine;
	struct stream s[STREAMS]; /* most cases have one */
	unsigned int nstreams;
	/* Where completions come from, if not from the engine's queue. */
	struct xiw_cq *send_cq, *recv_cq;
	unsigned int lows; /* XIW_EV_SRQ_LOW */
	/* Completions of operations and of posted buffers, in order. */
	struct xiw_completion got[COMPLETIONS];
	unsigned int ngot;
};

extern struct work work;
extern uint8_t arenas[ARENAS][ARENA];

/* Ends the process: the case has failed here. */
#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			work_failed(__FILE__, __LINE__, #cond);                                    \
	} while (0)
void __attribute__((noreturn)) work_failed(const char *file, int line, const char *what);

/* Operations and buffers to be posted. */
#define OPS 5000
extern struct xiw_rdma_work ops[OPS];
extern struct xiw_rdma_recv recvs[OPS];

/* Makes ops[i] an operation of this kind, whose user_data is i. */
struct xiw_rdma_work *op(unsigned int i, enum xiw_rdma_kind kind);
/* Post the first n, all of which must be accepted. */
void post(unsigned int n);
void post_recvs(unsigned int n);

/* To the other end, and from it; hear_still(): without a turn of the engine meanwhile. */
void tell(uint64_t value);
uint64_t hear(void);
uint64_t hear_still(void);

/* One turn of the engine, and the completions that it has. */
void take_turn(void);
/* Waits until there are so many completions, which must not be more. Returns the first. */
const struct xiw_completion *await(unsigned int n);
/* Waits until the flag is set. */
void await_flag(const bool *flag);
/* All octets are as lay() leaves them. */
void check_untouched(const uint8_t *octets, size_t len);
/* What the stream, and its connection, say of themselves. */
struct xiw_rdma_info rdma_info(void);
struct xiw_conn_info conn_info(void);

/* Completion i is of this operation, and successful, with this user_data and length. */
const struct xiw_completion *done(unsigned int i, enum xiw_operation op, uint64_t user_data,
				  uint64_t length);
/* Completion i is of this operation, which did not succeed, and of this cause. */
void ended(unsigned int i, enum xiw_operation op, uint64_t user_data, enum xiw_cause cause);

/*
 * Lays `n` pieces of `len` octets in all into an arena, from its end to its start and with octets between them; some
 * are empty. `seed`: another layout.
 */
void lay(struct iovec *iov, unsigned int n, uint8_t *arena, size_t len, uint64_t seed);
void fill(const struct iovec *iov, unsigned int n, uint64_t stream);
/* The first `len` octets of the pieces are those of the stream, and all others of the arena are as lay() left them. */
void check_arena(const struct iovec *iov, unsigned int n, uint8_t *arena, uint64_t stream,
		 size_t len);

/* A region of an arena, for the case's connection alone. */
struct xiw_region *work_region(uint8_t *arena, unsigned int access);

#endif
