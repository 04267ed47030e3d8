// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The RDMAP messages that RFC 6581 makes part of MPA's startup: the ready-to-receive (RTR) message of a
 * peer-to-peer Initiator (section 9.2), and the Terminate message of a side that cannot go on (section 8). All
 * other RDMAP headers belong to the ULP.
 */
#include "conn/rtr.h"

#include <errno.h>

#include "conn/conn.h"
#include "conn/frames.h"
#include "core/agenda.h"
#include "core/cq.h"
#include "core/timer.h"

/*
 * RFC 5040: version 1 and the opcode (section 4.1), without the reserved bits between them; the queue numbers
 * (section 4.2).
 */
#define RDMAP_CONTROL 0xcf
#define RDMAP_WRITE 0x40
#define RDMAP_READ 0x41
#define RDMAP_SEND 0x43
#define RDMAP_SEND_SE 0x45
#define RDMAP_TERMINATE 0x47
#define RDMAP_QN_SEND 0
#define RDMAP_QN_READ 1
#define RDMAP_QN_TERMINATE 2
/* Section 4.8: layer LLP, error type MPA, and the error code. None of the headers is quoted. */
#define TERMINATE_LEN 4
#define TERMINATE_LLP_MPA 0x20

void xiw_rtr_offer(struct xiw_conn *c)
{
	struct xiw_conn_opts *o = &c->opts;

	if (o->rtr || o->revision == 1 ||
	    o->private_data_len > XIW_PRIVATE_DATA_MAX - XIW_MPA_ENHANCED_SIZE)
		return;
	if (!o->enhanced && !o->revision)
		o->fall_back = true;
	o->enhanced = true;
	c->startup.terms.peer_to_peer = true;
	c->startup.terms.rtr = XIW_RTR_SEND | XIW_RTR_WRITE | XIW_RTR_READ;
}

void xiw_rtr_send(struct xiw_conn *c)
{
	static const uint8_t rsvdulp[XIW_DDP_UNTAGGED_RSVDULP_LEN] = { RDMAP_SEND };
	struct xiw_ddp_tx_msg m = {};
	struct xiw_ddp_seg seg;

	if (!c->startup.terms.peer_to_peer && (!c->ulp || c->opts.rtr == XIW_RTR_NONE))
		return;
	if (c->startup.terms.rtr == XIW_RTR_READ)
		return; /* the ULP's first message says it */
	if (c->startup.terms.rtr == XIW_RTR_SEND)
		xiw_ddp_tx_untagged(&c->send.ddp, &m, RDMAP_QN_SEND, 0, rsvdulp);
	else
		xiw_ddp_tx_tagged(&m, 0, 0, 0, RDMAP_WRITE);
	xiw_ddp_tx_next(&m, XIW_MPA_MULPDU_MIN, &seg);
	xiw_startup_fpdu(c, &seg.hdr, NULL, 0);
}

/* Drops the FPDU of a peer whose connection was stopped before it was made. */
static int take_nothing(struct xiw_conn *c, const struct xiw_ddp_hdr *h, uint32_t payload)
{
	(void)c, (void)h, (void)payload;
	return 1;
}

/* The Initiator is ready: the connection is made. */
static void ready(struct xiw_conn *c)
{
	c->startup.rtr_wait = false;
	c->startup.gate = c->startup.deaf ? take_nothing : NULL;
	xiw_conn_deadline(c, XIW_LIMIT_NONE, 0);
	xiw_conn_event(c, XIW_EV_CONNECTED, 0);
	xiw_dirty(c); /* queued messages may be sent now */
	xiw_startup_forget(c);
}

/*
 * A Send consumes its MSN, but no buffer of the ULP (RFC 6581 section 4.4.2). An Initiator MUST NOT send
 * anything else before the ready-to-receive message (section 5).
 */
int xiw_rtr_take(struct xiw_conn *c, const struct xiw_ddp_hdr *h, uint32_t payload)
{
	const uint8_t control = h->rsvdulp[0] & RDMAP_CONTROL;
	bool empty = !payload && h->last;

	if (c->startup.local_error) {
		xiw_terminate(c, XIW_MPA_ERR_LOCAL, c->startup.local_error);
		return -EPROTO;
	}
	if (h->dv != XIW_DDP_VERSION)
		return 0;
	if (h->tagged && control == RDMAP_WRITE && empty && c->startup.terms.rtr & XIW_RTR_WRITE) {
		ready(c);
		return 1;
	}
	if (!h->tagged && h->qn == RDMAP_QN_SEND &&
	    (control == RDMAP_SEND || control == RDMAP_SEND_SE) && h->msn == xiw_conn_first_msn &&
	    !h->mo && empty && c->startup.terms.rtr & XIW_RTR_SEND) {
		xiw_ddp_rx_pass(c->ddp, RDMAP_QN_SEND);
		ready(c);
		return 1;
	}
	if (!h->tagged && h->qn == RDMAP_QN_READ && control == RDMAP_READ &&
	    c->startup.terms.rtr & XIW_RTR_READ) {
		ready(c);
		return c->startup.deaf;
	}
	/* The Initiator says why it ends the connection; the ULP reads that. */
	if (!h->tagged && h->qn == RDMAP_QN_TERMINATE && control == RDMAP_TERMINATE)
		return 0;
	c->startup.rtr_wait = false;
	c->startup.gate = NULL;
	xiw_conn_deadline(c, XIW_LIMIT_NONE, 0);
	xiw_conn_stream_error(c, XIW_MPA_ERR_RTR, 0);
	return -EPROTO;
}

/*
 * The Reply is not acceptable, or something is wrong at this end. The startup deadline starts anew, because the
 * application may have taken long to decide.
 */
void xiw_terminate(struct xiw_conn *c, enum xiw_mpa_error code, int error)
{
	const struct xiw_ddp_hdr h = {
		.last = true,
		.dv = XIW_DDP_VERSION,
		.rsvdulp = { RDMAP_TERMINATE },
		.qn = RDMAP_QN_TERMINATE,
		.msn = xiw_conn_first_msn,
	};
	const uint8_t payload[TERMINATE_LEN] = { TERMINATE_LLP_MPA, (uint8_t)code };

	c->end.mpa_error = code;
	c->startup.refusing = error;
	xiw_conn_deadline(c, XIW_LIMIT_STARTUP, c->opts.startup_timeout_ms);
	c->send.mpa = (struct xiw_mpa_tx){
		.markers = c->startup.peer.markers,
		.crc = c->startup.peer.crc || !c->opts.no_crc,
	};
	xiw_startup_fpdu(c, &h, payload, sizeof(payload));
}
