/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `xiwarp put`: the connection, and the file that is sent over it (put_file.c). */
#ifndef XIW_TOOL_PUT_H
#define XIW_TOOL_PUT_H

#include <stdbool.h>
#include <stdint.h>

#include <openssl/evp.h>
#include <xiwarp/conn.h>

#include "args.h"
#include "xfer.h"

#define XIW_PUT_CHUNK (1u << 20)
#define XIW_PUT_CHUNKS 8
#define XIW_PUT_RECVS 4
#define XIW_PUT_GRANTS 2

/* user_data of what comes back; that of a chunk is its index. */
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

/* The file at hand. */
struct xiw_put_file {
	const char *path;
	char shown[128]; /* its name, for a terminal */
	int fd;
	struct xiw_xfer grants[XIW_PUT_GRANTS]; /* the first is being used up */
	unsigned int ngrants;
	uint64_t used;	  /* octets of the first grant */
	uint64_t granted; /* octets of the file */
	uint64_t size, queued, sent;
	uint64_t start_ns, end_ns, drawn_ns;
	uint8_t sha256[XIW_XFER_SHA256];
};

struct xiw_put {
	const struct xiw_args *args;
	const char *target;
	struct xiw_engine *engine;
	struct xiw_conn *conn;
	enum xiw_put_state state;
	int code;    /* exit code of the first failure */
	bool closed; /* XIW_EV_CLOSED or _REFUSED has come */
	int connect_error;
	struct xiw_conn_info last; /* of the address that was tried last */
	uint8_t *chunks;
	bool busy[XIW_PUT_CHUNKS];
	uint8_t recv[XIW_PUT_RECVS][XIW_XFER_MAX];
	/* OFFER and DONE, each until its XIW_EV_SENT. */
	uint8_t control[2][XIW_XFER_MAX];
	bool control_busy[2];
	EVP_MD_CTX *digest;
	struct xiw_put_file file;
};

/* put.c: nothing more can be sent. */
void xiw_put_fail(struct xiw_put *p, int code);

/* put_file.c */
void xiw_put_offer(struct xiw_put *p);
void xiw_put_send_chunks(struct xiw_put *p);
void xiw_put_draw(struct xiw_put *p, bool last);
/* A GRANT or RESULT; false: it is neither, or out of turn. */
bool xiw_put_received(struct xiw_put *p, const struct xiw_xfer *x);

#endif
