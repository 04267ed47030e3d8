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
	/* Changes the options of the connection; NULL: none. */
	void (*options)(struct xiw_conn_opts *co, struct xiw_rdma_opts *ro);
	/* The witness is ready before the other acts, for example with posted buffers; NULL: with nothing. */
	void (*prepare)(void);
	void (*act)(void);
	void (*witness)(void); /* runs at the same time */
	bool fails; /* the stream ends with an error: act() and witness() wait for that */
};

/* Tables of cases, each up to a nameless one. work.c runs them all. */
extern const struct work_case work_memory[];
extern const struct work_case work_queue[];

/* This end of the case's connection. */
struct work {
	const struct work_case *the_case;
	bool initiator;
	struct xiw_engine *engine;
	struct xiw_conn *conn;
	struct xiw_rdma *rdma;
	bool connected, failed, terminated, closed;
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

/* To the other end, and from it. */
void tell(uint64_t value);
uint64_t hear(void);

/* One turn of the engine, and the completions that it has. */
void take_turn(void);
/* Waits until there are so many completions, which must not be more. Returns the first. */
const struct xiw_completion *await(unsigned int n);
/* Waits until the flag is set. */
void await_flag(const bool *flag);

/* Completion i is of this kind, successful, and of the operation with this user_data. */
const struct xiw_completion *done(unsigned int i, enum xiw_event event, uint64_t user_data);

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
