// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Accepts an FPDU of either path: its DDP header is decoded, its payload is placed, its CRC is verified, and
 * its message is delivered once it is complete.
 */
#include "path/fpdu.h"

#include <errno.h>
#include <string.h>

#include "core/agenda.h"
#include "core/cq.h"
#include "path/hold.h"

void xiw_conn_quote(struct xiw_conn *c, const struct xiw_header *h)
{
	c->end.segment_len = h->segment_len;
	memcpy(c->end.header, h->octets, h->len);
	c->end.header_len = h->len;
}

/* Ends the stream with a DDP error, and quotes the header that caused it. */
static int refuse(struct xiw_conn *c, const struct xiw_fpdu *f, const uint8_t *header, uint32_t len,
		  enum xiw_ddp_error err)
{
	const struct xiw_header h = { header, len, f->ulpdu_len };

	xiw_conn_quote(c, &h);
	xiw_conn_stream_error(c, 0, err);
	return -EPROTO;
}

/* Returns the first `len` octets of the ULPDU, in place or copied into `copy`; NULL if the ULPDU is shorter. */
static const uint8_t *header(const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n,
			     uint32_t len, uint8_t copy[XIW_DDP_HDR_MAX])
{
	const uint8_t *raw = xiw_mpa_ulpdu_flat(f, len);

	if (raw)
		return raw;
	return xiw_mpa_peek(f, v, n, copy, 0, len) ? copy : NULL;
}

static uint32_t header_max(const struct xiw_fpdu *f)
{
	return f->ulpdu_len < XIW_DDP_HDR_MAX ? f->ulpdu_len : XIW_DDP_HDR_MAX;
}

/* Copies a payload that goes into several pieces, whose CRC was verified. */
static bool scatter(const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n, uint32_t off,
		    const struct xiw_ddp_place *p)
{
	const struct xiw_ddp_piece *piece = p->pieces;
	size_t skip = p->piece_off, room;

	for (uint32_t left = f->ulpdu_len - off, len; left; left -= len, off += len, skip = 0) {
		room = piece->len - skip;
		len = left < room ? left : (uint32_t)room;
		if (!xiw_mpa_place_part(f, v, n, piece++->base + skip, off, len))
			return false;
	}
	return true;
}

/* Copies the payload, if there is any. */
static bool copy_payload(const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n,
			 uint32_t off, const struct xiw_ddp_place *p)
{
	if (!p->dst)
		return true;
	return p->npieces ? scatter(f, v, n, off, p) : xiw_mpa_place(f, v, n, off, p->dst);
}

/*
 * Places the payload and checks the CRC, in the order that xiw_ddp_rx_place() explains. Programs poll the last byte of
 * a message, which nobody must see before the others, nor before its CRC was verified; so the last FPDU is verified
 * first. Returns false for a wrong CRC.
 */
static bool place(struct xiw_conn *c, const struct xiw_fpdu *f, const struct xiw_vec *v,
		  unsigned int n, const struct xiw_ddp_hdr *h, const struct xiw_ddp_place *p,
		  unsigned int how)
{
	const uint32_t off = h->len;

	if (how & XIW_FPDU_PLACED)
		return true;
	if (c->crc && p->dst && p->predicted && how & XIW_FPDU_BOUNDED && !h->last)
		return xiw_mpa_place_verify(f, v, n, off, p->dst);
	if (c->crc && !xiw_mpa_verify(f, v, n))
		return false;
	return copy_payload(f, v, n, off, p);
}

static int ask_ulp(struct xiw_conn *c, const struct xiw_ddp_hdr *h, uint32_t len,
		   const struct xiw_ddp_place *p, bool in_turn)
{
	return c->ulp ? c->ulp->check(c, h, len, p, in_turn) : 0;
}

int xiw_fpdu_early(struct xiw_conn *c, const struct xiw_fpdu *f, const struct xiw_vec *v,
		   unsigned int n)
{
	uint32_t got = header_max(f);
	struct xiw_ddp_place p = {};
	uint8_t copy[XIW_DDP_HDR_MAX];
	enum xiw_ddp_error err;
	const uint8_t *raw;
	struct xiw_ddp_hdr h;
	int why;

	if (c->crc && !xiw_mpa_verify(f, v, n))
		return -EBADMSG;
	if (c->startup.gate)
		return 0; /* the first FPDU may consume an MSN without a buffer */
	raw = header(f, v, n, got, copy);
	if (!raw || xiw_ddp_hdr_decode(&h, raw, got, f->ulpdu_len) || h.last)
		return 0;
	err = xiw_ddp_rx_place(c->ddp, &h, f->ulpdu_len - h.len, &p);
	why = err ? 0 : ask_ulp(c, &h, f->ulpdu_len - h.len, &p, false);
	/* What speaks against an untagged segment may pass until its turn: its buffer is posted, or taken. */
	if ((err && h.tagged) || why > 0)
		return -EACCES;
	if (err || why || p.untaken)
		return 0;
	if (!copy_payload(f, v, n, h.len, &p))
		return 0;
	c->counts.fpdus_early++;
	return 1;
}

void xiw_deliver(struct xiw_conn *c, const struct xiw_ddp_msg *m, uint8_t flags)
{
	const bool scattered = m->tagged && m->len && !m->contiguous;
	struct xiw_completion done = {
		.user_data = m->tagged ? c->opts.user_data : m->buf.user_data,
		.conn = c,
		.event = m->tagged ? XIW_EV_WRITTEN : XIW_EV_RECEIVED,
		.length = scattered ? 0 : m->len,
		.to = m->to,
		.stag = m->stag,
		.qn = m->qn,
		.msn = m->msn,
		.flags = flags | (scattered ? XIW_COMPLETION_SCATTERED : 0),
		.op = m->tagged ? XIW_OPERATION_NONE : XIW_OPERATION_RECV,
	};

	memcpy(done.rsvdulp, m->rsvdulp, sizeof(done.rsvdulp));
	xiw_complete(c->engine, &done);
}

static void deliver(struct xiw_conn *c, const struct xiw_ddp_msg *m, const struct xiw_header *last)
{
	c->counts.messages++;
	if (c->ulp)
		c->ulp->message(c, m, last);
	else
		xiw_deliver(c, m, 0);
}

/* With the first FPDU a Responder may send (RFC 5044 section 7.1.2 rule 4), beginning with what is queued. */
static void accepted(struct xiw_conn *c, uint32_t fpdus, uint32_t payload, unsigned int how)
{
	c->counts.fpdus += fpdus;
	if (how & XIW_FPDU_DIRECT)
		c->counts.placed_direct += payload;
	else
		c->counts.placed_kernel += payload;
	if (!c->send.allowed) {
		c->send.allowed = true;
		xiw_dirty(c);
	}
}

/*
 * Asks DDP where the payload of an FPDU in its turn goes, and the ULP, which may refuse it. A message that is too long
 * for its buffer may be one that the ULP does not know; that tells a peer more (RFC 7306 section 1.1).
 */
static enum xiw_ddp_error find_place(struct xiw_conn *c, const struct xiw_ddp_hdr *h, uint32_t len,
				     struct xiw_ddp_place *p, int *refused)
{
	enum xiw_ddp_error err = xiw_ddp_rx_place(c->ddp, h, len, p);

	if (c->ulp && !h->tagged && len == c->ulp->aside_len &&
	    (!err || err == XIW_DDP_UNTAGGED_TOO_LONG)) {
		uint8_t *aside = c->ulp->aside(c, h, !err);

		if (aside) {
			*p = (struct xiw_ddp_place){ .dst = aside, .aside = true };
			return XIW_DDP_OK;
		}
	}
	if (!err || err == XIW_DDP_UNTAGGED_TOO_LONG)
		*refused = ask_ulp(c, h, len, p, true);
	if (err || *refused)
		p->dst = NULL;
	return err;
}

int xiw_fpdu_accept(struct xiw_conn *c, const struct xiw_fpdu *f, const struct xiw_vec *v,
		    unsigned int n, unsigned int how)
{
	uint32_t got = header_max(f), payload;
	struct xiw_ddp_place p = {};
	enum xiw_ddp_error err;
	int refused = 0;
	uint8_t copy[XIW_DDP_HDR_MAX];
	const uint8_t *raw = header(f, v, n, got, copy);
	struct xiw_ddp_msg m;
	struct xiw_ddp_hdr h;

	if (!raw)
		return -EBADMSG;
	if (xiw_ddp_hdr_decode(&h, raw, got, f->ulpdu_len)) {
		/* RFC 5041 has no number for a segment shorter than its header. */
		if (c->crc && !xiw_mpa_verify(f, v, n))
			return -EBADMSG;
		return refuse(c, f, raw, got, XIW_DDP_LOCAL_CATASTROPHIC);
	}
	payload = f->ulpdu_len - h.len;
	if (c->startup.gate) {
		int took = c->crc && !xiw_mpa_verify(f, v, n) ? -EBADMSG
							      : c->startup.gate(c, &h, payload);

		if (took > 0)
			accepted(c, 1, 0, how);
		if (took)
			return took > 0 ? 0 : took;
	}
	err = find_place(c, &h, payload, &p, &refused);
	if (err == XIW_DDP_UNTAGGED_NO_BUFFER && xiw_hold_allowed(c, &h))
		return c->crc && !xiw_mpa_verify(f, v, n) ? -EBADMSG : -ENOBUFS;
	/* A senseless header may be a damaged one: the CRC is checked before the peer is blamed. */
	if (!place(c, f, v, n, &h, &p, how))
		return -EBADMSG;
	if (refused) {
		c->ulp->refuse(c, refused, &(struct xiw_header){ raw, h.len, f->ulpdu_len });
		return -EPROTO;
	}
	if (!err)
		err = xiw_ddp_rx_deliver(c->ddp, &h, p.aside ? 0 : payload, &m);
	else
		xiw_ddp_rx_refuse(c->ddp, &h, err);
	if (err)
		return refuse(c, f, raw, h.len, err);
	accepted(c, 1, payload, how);
	if (!m.complete)
		return 0;
	m.aside = p.aside ? p.dst : NULL;
	deliver(c, &m, &(struct xiw_header){ raw, h.len, f->ulpdu_len });
	return c->rx_dead ? -EPROTO : 0;
}

/* Asks the ULP as find_place() does. */
bool xiw_fpdu_ulp_agrees(struct xiw_conn *c, const uint8_t *header, uint32_t payload, uint8_t *dst)
{
	const struct xiw_ddp_place p = { .dst = dst,
					 .predicted = true,
					 .serial = c->ddp->view.serial };
	struct xiw_ddp_hdr h;

	return !xiw_ddp_hdr_decode(&h, header, XIW_DDP_TAGGED_LEN, XIW_DDP_TAGGED_LEN + payload) &&
	       !c->ulp->check(c, &h, payload, &p, true);
}

uint8_t *xiw_fpdu_expected(struct xiw_conn *c, const uint8_t *fpdu, uint32_t len)
{
	const uint8_t *header = fpdu + XIW_MPA_LEN_SIZE;
	uint32_t ulpdu_len, payload;
	uint8_t *dst;

	if (c->mpa.rx.markers || !c->crc || c->startup.gate ||
	    len < XIW_MPA_OVERHEAD + XIW_DDP_TAGGED_LEN)
		return NULL;
	ulpdu_len = xiw_get_be16(fpdu);
	payload = ulpdu_len - XIW_DDP_TAGGED_LEN;
	if (xiw_mpa_data_len(ulpdu_len) != len || ulpdu_len < XIW_DDP_TAGGED_LEN ||
	    ulpdu_len > XIW_MPA_ULPDU_MAX)
		return NULL;
	dst = xiw_ddp_rx_expected(c->ddp, header, payload);
	return dst && (!c->ulp || xiw_fpdu_ulp_agrees(c, header, payload, dst)) ? dst : NULL;
}

static bool place_verify(const struct xiw_vec *v, unsigned int n, uint32_t len, uint32_t ulpdu_len,
			 uint8_t *dst)
{
	if (n == 1)
		return xiw_mpa_place_verify_flat(v->base, len, ulpdu_len, XIW_DDP_TAGGED_LEN, dst,
						 NULL);
	return xiw_mpa_place_verify_pieces(v, n, ulpdu_len, XIW_DDP_TAGGED_LEN, dst, NULL);
}

void xiw_fpdu_expected_accepted(struct xiw_conn *c, uint32_t fpdus, uint32_t len, uint32_t payload,
				unsigned int how)
{
	xiw_ddp_rx_expected_placed(c->ddp, fpdus * payload);
	xiw_mpa_rx_advance(&c->mpa.rx, fpdus * len);
	accepted(c, fpdus, fpdus * payload, how);
}

bool xiw_fpdu_expected_place(struct xiw_conn *c, const struct xiw_vec *v, unsigned int n,
			     uint32_t len, uint8_t *dst, unsigned int how)
{
	const uint32_t ulpdu_len = xiw_get_be16(v->base), payload = ulpdu_len - XIW_DDP_TAGGED_LEN;

	if (!place_verify(v, n, len, ulpdu_len, dst))
		return false;
	xiw_fpdu_expected_accepted(c, 1, len, payload, how);
	return true;
}

bool xiw_fpdu_accept_expected(struct xiw_conn *c, const uint8_t *fpdu, uint32_t len,
			      unsigned int how)
{
	const struct xiw_vec v = { fpdu, len };
	uint8_t *dst = xiw_fpdu_expected(c, fpdu, len);

	return dst && xiw_fpdu_expected_place(c, &v, 1, len, dst, how);
}
