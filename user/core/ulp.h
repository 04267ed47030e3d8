/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A ULP in the library, between a connection and the application. */
#ifndef XIW_CORE_ULP_H
#define XIW_CORE_ULP_H

#include <stdbool.h>
#include <stdint.h>

#include <xiwarp/xiwarp.h>

#include "ddp/recv.h"

/* The header of a DDP segment. `segment_len` counts header and payload. */
struct xiw_header {
	const uint8_t *octets;
	uint32_t len, segment_len;
};

/* None of these is called after XIW_EV_CLOSED. */
struct xiw_ulp {
	/* TCP has taken all of a message, or it will not be sent. `user_data` is that of the message. */
	void (*sent)(struct xiw_conn *c, uint64_t user_data, bool sent);
	/*
	 * The connection has ended, and everything that was queued is returned. Called even if the application has
	 * freed the connection and hears nothing any more.
	 */
	void (*ended)(struct xiw_conn *c);
	/* A posted buffer is returned, as no message came for it. */
	void (*returned)(struct xiw_conn *c, uint32_t qn, uint64_t user_data);
	/*
	 * An event of the connection (CONNECTED, EOF, ERROR, CLOSED ...). The ULP decides what the application hears of
	 * it, and calls xiw_conn_tell().
	 */
	void (*event)(struct xiw_conn *c, enum xiw_event event, int status);
	/*
	 * Decides if a segment that DDP has accepted may be placed. Returns 0, the ULP's number for a cause, or -EAGAIN
	 * if only its turn can tell. refuse() gets that number once the CRC has been found right and it is the
	 * segment's turn.
	 */
	int (*check)(struct xiw_conn *c, const struct xiw_ddp_hdr *h, uint32_t len,
		     const struct xiw_ddp_place *p, bool in_turn);
	void (*refuse)(struct xiw_conn *c, int why, const struct xiw_header *h);
	/*
	 * Asked about untagged payloads of aside_len bytes. Returns another place than the buffer, or NULL. Only for a
	 * whole message, which takes the buffer all the same, and is delivered with `aside` (struct xiw_ddp_msg).
	 */
	uint8_t *(*aside)(struct xiw_conn *c, const struct xiw_ddp_hdr *h, bool fits);
	uint32_t aside_len;
	/* DDP has delivered a message; `last` is the header of its last segment. */
	void (*message)(struct xiw_conn *c, const struct xiw_ddp_msg *m,
			const struct xiw_header *last);
	/*
	 * Decides, after the regions have changed, if a message that was queued with xiw_send_from_region() may still
	 * be read from `off` on. If it returns false, it has put the stream in error.
	 */
	bool (*readable)(struct xiw_conn *c, uint64_t user_data, uint32_t off);
	/* xiw_conn_set_depths() was called after the ULP was attached. Returns 0 or -ENOMEM. */
	int (*set_depths)(struct xiw_conn *c, uint16_t ird);
	/* The time that the ULP has set (timer.ulp_ms) has come. */
	void (*due)(struct xiw_conn *c);
	void (*free)(struct xiw_conn *c);
};

#endif
