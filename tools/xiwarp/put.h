/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `xiwarp put`: the connection, and the file that is read (put_read.c) and sent over it (put_file.c). */
#ifndef XIW_TOOL_PUT_H
#define XIW_TOOL_PUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <xiwarp/conn.h>

#include "args.h"
#include "digest.h"
#include "worker.h"
#include "xfer.h"

/* Octets of one message, and those that are in memory at a time. */
#define XIW_PUT_CHUNK (1u << 20)
#define XIW_PUT_CHUNKS 8u
#define XIW_PUT_RING (XIW_PUT_CHUNKS * XIW_PUT_CHUNK)
#define XIW_PUT_CONNECTIONS_MAX 16
#define XIW_PUT_RECVS 4
#define XIW_PUT_GRANTS 2

/* user_data of what comes back. */
#define XIW_PUT_CHUNK_SENT 999
#define XIW_PUT_CONN 1000
#define XIW_PUT_CONTROL 1001 /* + enum xiw_put_control */
#define XIW_PUT_RECV 2000    /* + index */

/* Messages besides the octets of the file. */
enum xiw_put_control { XIW_PUT_OFFER, XIW_PUT_DONE };

enum xiw_put_state {
	XIW_PUT_CONNECTING,
	XIW_PUT_READY,
	XIW_PUT_OFFERED,
	XIW_PUT_SENDING,
	XIW_PUT_DIGESTING, /* DONE is queued, RESULT has not come yet */
	XIW_PUT_FAILED,	   /* `code` says how */
	XIW_PUT_CLOSED,
};

/*
 * Reads the file and digests what it has read, so that the digest covers exactly what is sent, even of a file that
 * changes meanwhile. Octet n of the file is at n modulo XIW_PUT_RING of `ring`.
 */
struct xiw_put_reader {
	struct xiw_job job;
	uint8_t *ring;
	int fd;
	uint64_t size;
	_Atomic uint64_t read; /* octets, by the worker */
	_Atomic uint64_t
		sent;	 /* octets whose place in the ring is free again, by the engine's thread */
	_Atomic int err; /* errno; XIW_PUT_SHORTER: the file ended early */
	struct xiw_digest digest;
};

#define XIW_PUT_SHORTER (-1)

/* The file at hand. */
struct xiw_put_file {
	const char *path;
	char shown[128];			/* its name, for a terminal */
	struct xiw_xfer grants[XIW_PUT_GRANTS]; /* the first is being used up */
	unsigned int ngrants;
	uint64_t used;	  /* octets of the first grant */
	uint64_t granted; /* octets of the file */
	uint64_t size, queued;
	uint64_t start_ns, drawn_ns;
	uint8_t digest[XIW_DIGEST_SIZE];
};

struct xiw_put {
	const struct xiw_args *args;
	const char *target;
	struct xiw_puts *all;
	struct xiw_engine *engine;
	struct xiw_conn *conn;
	enum xiw_put_state state;
	int code;    /* exit code of the first failure */
	bool closed; /* XIW_EV_CLOSED or _REFUSED has come */
	int connect_error;
	struct xiw_conn_info last; /* of the address that was tried last */
	struct xiw_worker worker;
	struct xiw_put_reader reader;
	unsigned int chunks; /* messages that are not known to be sent yet */
	uint8_t recv[XIW_PUT_RECVS][XIW_XFER_MAX];
	/* OFFER and DONE, each until its XIW_EV_SENT. */
	uint8_t control[2][XIW_XFER_MAX];
	bool control_busy[2];
	struct xiw_put_file file;
};

/* Connections that send at once, the first in the main thread. */
struct xiw_puts {
	struct addrinfo *addresses; /* of the server */
	atomic_int next; /* the file that is to be sent next, by whichever connection is ready */
	struct xiw_put put[XIW_PUT_CONNECTIONS_MAX];
	pthread_t thread[XIW_PUT_CONNECTIONS_MAX - 1];
	int threads;
};

/* put.c: nothing more can be sent. */
void xiw_put_fail(struct xiw_put *p, int code);

/* put_read.c: begins with the file that reader.fd has opened. False: the digest failed. */
bool xiw_put_read_begin(struct xiw_put *p, uint64_t size, const struct xiw_xfer *offer);
/* So many octets more are sent. */
void xiw_put_read_on(struct xiw_put *p, uint64_t sent);
/* No file, or no more of it, is read. */
void xiw_put_read_end(struct xiw_put *p);

/* put_file.c */
void xiw_put_offer(struct xiw_put *p);
void xiw_put_send_chunks(struct xiw_put *p);
void xiw_put_draw(struct xiw_put *p, bool last);
/* A GRANT or RESULT; false: it is neither, or out of turn. */
bool xiw_put_received(struct xiw_put *p, const struct xiw_xfer *x);

#endif
