/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `xiwarp serve`: one connection, and the file that comes over it (serve_file.c). */
#ifndef XIW_TOOL_SERVE_H
#define XIW_TOOL_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include <xiwarp/region.h>

#include "receiver.h"
#include "store.h"
#include "xfer.h"

/*
 * Messages of a peer whose answers are not sent, or not known to be sent, yet: the peer's next message may overtake
 * XIW_EV_SENT. A peer that does not wait for answers finds no buffer, which ends its connection.
 */
#define XIW_SERVE_SLOTS 4

/* user_data of messages and buffers. */
#define XIW_SERVE_ANSWER 16 /* + slot */
#define XIW_SERVE_RECV 32   /* + slot */
#define XIW_SERVE_GRANT 48

enum xiw_serve_state {
	XIW_SERVE_IDLE,
	XIW_SERVE_RECEIVING,
	XIW_SERVE_REFUSED, /* in the middle of the file: octets that were granted may still come */
	XIW_SERVE_DIGESTING,
	XIW_SERVE_ENDED, /* aborted or closing: nothing more is taken from it */
};

/* A message and its answer. A new message is received into it when the answer has been sent. */
struct xiw_serve_slot {
	uint8_t recv[XIW_XFER_MAX], answer[XIW_XFER_MAX];
};

struct xiw_serve {
	struct xiw_receiver receiver;
	int dir;
	uint64_t looked_ns; /* when idle connections were last looked for */
	unsigned int digesting;
};

struct xiw_serve_peer {
	struct xiw_peer peer;
	enum xiw_serve_state state;
	struct xiw_serve_slot slots[XIW_SERVE_SLOTS];
	/* For --idle: octets of the connection, and when that number last changed. */
	uint64_t octets, active_ns;

	/* The file. */
	struct xiw_store store;
	bool storing;
	struct {
		struct xiw_region *region, *older; /* of the last window and of the one before it */
		uint64_t size, granted, received;
		uint8_t message[XIW_XFER_MAX]; /* the GRANT of a further window */
		bool sending;		       /* that message */
	} window;
	struct xiw_conn_info before, after; /* when the file began and when it was complete */
	uint64_t handoffs;		    /* reported with earlier files */
	uint64_t first_ns, last_ns, digest_ns;
	size_t done_slot; /* of DONE, which is answered when the file has been digested */
	uint8_t expected[XIW_XFER_SHA256];
};

/* serve.c */
uint64_t xiw_serve_octets(const struct xiw_conn_info *info);
void xiw_serve_reply(struct xiw_serve_peer *p, size_t slot, const struct xiw_xfer *x);
/* Aborts the connection and says why, once. */
void xiw_serve_end(struct xiw_serve_peer *p, const char *why);

/* serve_file.c */
void xiw_serve_offer(struct xiw_serve_peer *p, size_t slot, const struct xiw_xfer *offer);
/* Grants the next window if half of the last one has come, so that the peer need not wait. */
void xiw_serve_grant_more(struct xiw_serve_peer *p);
void xiw_serve_done(struct xiw_serve_peer *p, size_t slot, const struct xiw_xfer *done);
/* Digests a slice of a file that has come; behind the last one the file gets its name, and the peer its answer. */
void xiw_serve_digest(struct xiw_serve_peer *p);
/* Removes a file that is not complete. */
void xiw_serve_drop(struct xiw_serve_peer *p);

#endif
