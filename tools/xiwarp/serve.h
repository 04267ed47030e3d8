/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `xiwarp serve`: one connection, and the file that comes over it (serve_file.c). */
#ifndef XIW_TOOL_SERVE_H
#define XIW_TOOL_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include <xiwarp/region.h>

#include "receiver.h"
#include "quota.h"
#include "store.h"
#include "worker.h"
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
	XIW_SERVE_WRITING,
	XIW_SERVE_ENDED, /* aborted or closing: nothing more is taken from it */
};

/* A message and its answer. A new message is received into it when the answer has been sent. */
struct xiw_serve_slot {
	uint8_t recv[XIW_XFER_MAX], answer[XIW_XFER_MAX];
};

struct xiw_serve {
	struct xiw_receiver receiver;
	struct xiw_quota *memory; /* for all files; the threads share it */
	int dir;
	uint64_t looked_ns; /* when idle connections were last looked for */
	struct xiw_worker worker;
};

/* What the worker is to do for a file. The engine's thread raises the two numbers of octets. */
struct xiw_serve_work {
	struct xiw_job job;
	uint64_t keep_free;
	_Atomic uint64_t wanted;  /* to be allocated */
	_Atomic uint64_t settled; /* may be written: the peer can no longer change them */
	_Atomic unsigned int
		status;	      /* an enum xiw_xfer_status; once it is not 0, nothing more is done */
	_Atomic bool dropped; /* the step that is under way ends soon */
};

struct xiw_serve_peer {
	struct xiw_peer peer;
	enum xiw_serve_state state;
	struct xiw_serve_slot slots[XIW_SERVE_SLOTS];
	struct xiw_activity activity; /* for --idle */

	/* The file. */
	struct xiw_store store;
	bool storing;
	struct xiw_serve_work work;
	struct {
		struct xiw_region *region, *older; /* of the last window and of the one before it */
		uint64_t size, granted, received;
		uint8_t message[XIW_XFER_MAX]; /* the GRANT of a further window */
		bool sending;		       /* that message */
	} window;
	struct xiw_conn_info before, after; /* when the file began and when it was complete */
	uint64_t handoffs;		    /* reported with earlier files */
	uint64_t first_ns, last_ns;
	size_t done_slot; /* of DONE, which is answered when the file has been written */
	uint8_t expected[XIW_DIGEST_SIZE];
	enum xiw_digest_kind kind;
};

/* serve.c */
uint64_t xiw_serve_octets(const struct xiw_conn_info *info);
void xiw_serve_reply(struct xiw_serve_peer *p, size_t slot, const struct xiw_xfer *x);
/* Aborts the connection and says why, once. */
void xiw_serve_end(struct xiw_serve_peer *p, const char *why);

/* serve_file.c */
void xiw_serve_offer(struct xiw_serve_peer *p, size_t slot, const struct xiw_xfer *offer);
void xiw_serve_done(struct xiw_serve_peer *p, size_t slot, const struct xiw_xfer *done);
/*
 * Looks at what has come and at what the worker has done. Grants the next window when half of the last one has come,
 * so that the peer need not wait; once all is written the file gets its name, and the peer its answer.
 */
void xiw_serve_go_on(struct xiw_serve_peer *p);
/* Removes a file that is not complete. */
void xiw_serve_drop(struct xiw_serve_peer *p);

/* serve_work.c */
void xiw_serve_work_begin(struct xiw_serve_peer *p, uint64_t keep_free);
/* Does what there is to do in the engine's thread; the worker has no work of this file. */
void xiw_serve_work_now(struct xiw_serve_peer *p);
/* There is more to do. */
void xiw_serve_work_add(struct xiw_serve_peer *p);
/* From now on the worker does not use the file. */
void xiw_serve_work_drop(struct xiw_serve_peer *p);

#endif
