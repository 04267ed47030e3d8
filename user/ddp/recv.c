// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ddp/recv.h"

#include <string.h>

#include "ddp/srq.h"

void xiw_ddp_rx_fail(struct xiw_ddp_rx *rx, enum xiw_ddp_error error)
{
	if (!rx->error)
		rx->error = error;
}

/* ---- Placement ---------------------------------------------------------------------------- */

/*
 * Says where the octet `off` of a buffer is, which has more octets than that, and the `len` octets from there on.
 * base: the octets, or the pieces.
 */
static inline void locate(struct xiw_ddp_place *p, void *base, uint32_t npieces, uint64_t off,
			  uint32_t len)
{
	const struct xiw_ddp_piece *piece = base;

	if (!npieces) {
		p->dst = (uint8_t *)base + off;
		return;
	}
	for (; off >= piece->len; npieces--)
		off -= piece++->len;
	p->dst = piece->base + off;
	if (len <= piece->len - off)
		return;
	p->pieces = piece;
	p->npieces = npieces;
	p->piece_off = off;
}

/* The address of that octet alone. */
static inline uint8_t *address(void *base, uint32_t npieces, uint64_t off)
{
	struct xiw_ddp_place p;

	locate(&p, base, npieces, off, 0);
	return p.dst;
}

static enum xiw_ddp_error view_load(struct xiw_ddp_rx *rx, const struct xiw_ddp_hdr *h,
				    uint32_t access, uint32_t len)
{
	const struct xiw_ddp_region *r;
	enum xiw_ddp_error err;

	err = xiw_ddp_region_check(rx->table, h->stag, rx->pd, rx->stream, access, h->to, len, &r);
	if (err)
		return err;
	rx->view = (struct xiw_ddp_view){
		.generation = rx->table->generation,
		.serial = r->serial,
		.stag = r->stag,
		.base = r->base,
		.len = r->len,
		.ptr = r->ptr,
		.npieces = r->npieces,
		.access = r->access,
	};
	return XIW_DDP_OK;
}

static bool view_holds(const struct xiw_ddp_rx *rx, uint32_t stag)
{
	return rx->view.generation == rx->table->generation && rx->view.stag == stag;
}

/* What the region must allow, by the header's RsvdULP. */
static inline uint32_t needed_access(const struct xiw_ddp_rx *rx, uint8_t rsvdulp)
{
	return (rsvdulp & rx->sink_mask) == rx->sink ? XIW_DDP_SINK : XIW_DDP_REMOTE_WRITE;
}

static enum xiw_ddp_error place_tagged(struct xiw_ddp_rx *rx, const struct xiw_ddp_hdr *h,
				       uint32_t len, struct xiw_ddp_place *p)
{
	const uint32_t access = needed_access(rx, h->rsvdulp[0]);
	const struct xiw_ddp_next *next = &rx->next;
	uint64_t off = h->to - rx->view.base;
	enum xiw_ddp_error err;

	/* Section 5.2: without payload, STag and TO are not checked. */
	if (!len)
		return XIW_DDP_OK;
	/* A TO below the base gives an offset beyond any length, because base + len does not wrap. */
	if (!view_holds(rx, h->stag) || !(rx->view.access & access) || off > rx->view.len ||
	    len > rx->view.len - off) {
		err = view_load(rx, h, access, len);
		if (err)
			return err;
		off = h->to - rx->view.base;
	}
	locate(p, rx->view.ptr, rx->view.npieces, off, len);
	p->serial = rx->view.serial;
	/* The address is compared as well, because the STag may name another buffer by now. */
	p->predicted = next->dst == p->dst && !p->npieces && next->tagged && next->to == h->to &&
		       next->stag == h->stag;
	return XIW_DDP_OK;
}

static bool shares(const struct xiw_ddp_rx *rx, uint32_t qn)
{
	return rx->srq && !qn;
}

/* The shared buffer for a message that begins, or NULL. */
static const struct xiw_ddp_buf *first_shared(const struct xiw_ddp_rx *rx)
{
	const bool may = !rx->may_take || rx->may_take(rx->may_take_ctx);
	const struct xiw_ddp_buf *b = may ? xiw_ddp_srq_first(rx->srq) : NULL;

	if (!b)
		xiw_ddp_srq_miss(rx->srq);
	return b;
}

/*
 * Checks 1, 2 and 5 of section 7.1. An MSN whose buffer is not posted yet differs from one that is delivered already,
 * and from one further ahead than buffers can ever be posted.
 */
static enum xiw_ddp_error find_buffer(const struct xiw_ddp_rx *rx, const struct xiw_ddp_hdr *h,
				      uint32_t *ahead, const struct xiw_ddp_buf **buf)
{
	const struct xiw_ddp_queue *q;

	if (h->qn >= rx->nqueues)
		return XIW_DDP_UNTAGGED_QN;
	q = &rx->queues[h->qn];
	*ahead = h->msn - q->next_msn;
	if (*ahead < q->count) {
		*buf = &q->ring[(q->head + *ahead) & (q->room - 1)];
		return XIW_DDP_OK;
	}
	if (shares(rx, h->qn)) {
		if (*ahead)
			return XIW_DDP_UNTAGGED_MSN_RANGE;
		*buf = first_shared(rx);
		return *buf ? XIW_DDP_OK : XIW_DDP_UNTAGGED_NO_BUFFER;
	}
	return *ahead < rx->depth ? XIW_DDP_UNTAGGED_NO_BUFFER : XIW_DDP_UNTAGGED_MSN_RANGE;
}

/*
 * Checks 3 and 4 of section 7.1. Wire numbers are added only after they are known to fit. Without payload MO may be the
 * buffer's end, for the empty last segment of a message that fills the buffer. For an empty buffer any message with
 * payload is too long.
 */
static enum xiw_ddp_error check_extent(const struct xiw_ddp_buf *b, uint32_t mo, uint32_t len)
{
	if (b->revoked && (len || mo))
		return XIW_DDP_LOCAL_CATASTROPHIC;
	if (mo > b->len || (len && mo && mo == b->len))
		return XIW_DDP_UNTAGGED_MO;
	if (len > b->len - mo)
		return XIW_DDP_UNTAGGED_TOO_LONG;
	return XIW_DDP_OK;
}

static enum xiw_ddp_error place_untagged(struct xiw_ddp_rx *rx, const struct xiw_ddp_hdr *h,
					 uint32_t len, struct xiw_ddp_place *p)
{
	const struct xiw_ddp_next *next = &rx->next;
	const struct xiw_ddp_buf *b;
	enum xiw_ddp_error err;
	uint32_t ahead;

	err = find_buffer(rx, h, &ahead, &b);
	if (!err)
		err = check_extent(b, h->mo, len);
	if (err || !len)
		return err;
	locate(p, b->base, b->npieces, h->mo, len);
	p->untaken = shares(rx, h->qn) && !rx->queues[0].count;
	p->predicted = next->dst == p->dst && !p->npieces && !next->tagged && next->mo == h->mo &&
		       next->msn == h->msn && next->qn == h->qn;
	return XIW_DDP_OK;
}

enum xiw_ddp_error xiw_ddp_rx_place(struct xiw_ddp_rx *rx, const struct xiw_ddp_hdr *h,
				    uint32_t payload_len, struct xiw_ddp_place *p)
{
	*p = (struct xiw_ddp_place){ .dst = NULL };
	if (rx->error)
		return rx->error;
	if (h->dv != XIW_DDP_VERSION)
		return h->tagged ? XIW_DDP_TAGGED_VERSION : XIW_DDP_UNTAGGED_VERSION;
	return h->tagged ? place_tagged(rx, h, payload_len, p)
			 : place_untagged(rx, h, payload_len, p);
}

/* ---- Prediction --------------------------------------------------------------------------- */

static void expect_after_tagged(struct xiw_ddp_rx *rx, const struct xiw_ddp_hdr *h, uint32_t len)
{
	struct xiw_ddp_next *next = &rx->next;
	uint64_t off = h->to + len - rx->view.base;

	/* If segments of others were placed since, the table may have changed: nothing is predicted. */
	next->dst = view_holds(rx, h->stag) && off < rx->view.len
			    ? address(rx->view.ptr, rx->view.npieces, off)
			    : NULL;
	next->tagged = true;
	next->stag = h->stag;
	next->to = h->to + len;
}

static void expect_after_untagged(struct xiw_ddp_rx *rx, const struct xiw_ddp_hdr *h, uint32_t len)
{
	struct xiw_ddp_next *next = &rx->next;
	const struct xiw_ddp_buf *b;
	uint32_t ahead;

	next->dst = NULL;
	if (find_buffer(rx, h, &ahead, &b) || check_extent(b, h->mo, len) || h->mo + len == b->len)
		return;
	next->dst = address(b->base, b->npieces, (uint64_t)h->mo + len);
	next->tagged = false;
	next->qn = h->qn;
	next->msn = h->msn;
	next->mo = h->mo + len;
}

static void expect_after(struct xiw_ddp_rx *rx, const struct xiw_ddp_hdr *h, uint32_t len)
{
	if (h->last)
		rx->next.dst = NULL;
	else if (!h->tagged)
		expect_after_untagged(rx, h, len);
	else if (len)
		expect_after_tagged(rx, h, len);
	/* else: STag and TO of a Tagged segment without payload have no meaning */
}

/* ---- Delivery ----------------------------------------------------------------------------- */

/*
 * The serial of the registration that has the STag. There is one, as the segment was placed, unless the caller has
 * invalidated it since.
 */
static uint64_t serial_of(const struct xiw_ddp_rx *rx, uint32_t stag)
{
	const struct xiw_ddp_region *r;

	if (view_holds(rx, stag))
		return rx->view.serial;
	r = xiw_ddp_region_lookup(rx->table, stag);
	return r ? r->serial : 0;
}

static void deliver_tagged(struct xiw_ddp_rx *rx, const struct xiw_ddp_hdr *h, uint32_t len,
			   struct xiw_ddp_msg *m)
{
	struct xiw_ddp_tagged *t = &rx->tagged;

	if (!t->open) {
		*t = (struct xiw_ddp_tagged){ .open = true, .stag = h->stag };
	}
	if (len) {
		uint64_t serial = serial_of(rx, h->stag);

		if (!t->len) {
			t->contiguous = true;
			t->start = h->to;
			t->serial = serial;
		} else if (h->to != t->end || h->stag != t->stag || serial != t->serial) {
			t->contiguous = false;
		}
		t->stag = h->stag;
		t->end = h->to + len;
		t->len += len;
	}
	if (!h->last)
		return;
	t->open = false;
	*m = (struct xiw_ddp_msg){
		.complete = true,
		.tagged = true,
		.len = t->len,
		.stag = t->stag,
		.contiguous = t->contiguous,
		.to = t->start,
		.to_end = t->end,
		.serial = t->serial,
	};
	memcpy(m->rsvdulp, h->rsvdulp, sizeof(m->rsvdulp));
}

static enum xiw_ddp_error deliver_untagged(struct xiw_ddp_rx *rx, const struct xiw_ddp_hdr *h,
					   uint32_t len, struct xiw_ddp_msg *m)
{
	const struct xiw_ddp_buf *b;
	struct xiw_ddp_queue *q;
	enum xiw_ddp_error err;
	uint32_t ahead;

	err = find_buffer(rx, h, &ahead, &b);
	if (!err)
		err = check_extent(b, h->mo, len);
	if (err)
		return err;
	/* Messages are sent in order (section 5.3), so the one before this never ended. */
	if (ahead)
		return XIW_DDP_UNTAGGED_MSN_RANGE;

	/*
	 * Its segments come in order (section 5.3), so each goes on where the one before has ended. A message that has
	 * all of its octets from the peer has none that were in the buffer before.
	 */
	q = &rx->queues[h->qn];
	if (h->mo != q->extent)
		return XIW_DDP_UNTAGGED_MO;
	q->extent += len;
	if (!h->last)
		return XIW_DDP_OK;
	*m = (struct xiw_ddp_msg){
		.complete = true,
		.len = q->extent,
		.qn = h->qn,
		.msn = h->msn,
		.buf = *b,
	};
	memcpy(m->rsvdulp, h->rsvdulp, sizeof(m->rsvdulp));
	q->extent = 0;
	q->head++;
	q->count--;
	q->next_msn++; /* wraps from 0xFFFFFFFF to 0, section 4.3 */
	return XIW_DDP_OK;
}

/*
 * A message begins: it gets the oldest buffer of those that are shared, where its segment has been placed. The pieces
 * move, as their place may be another buffer's soon.
 */
static void take_shared(struct xiw_ddp_rx *rx, const struct xiw_ddp_hdr *h)
{
	struct xiw_ddp_queue *q = &rx->queues[0];
	struct xiw_ddp_buf *b = &q->ring[q->head & (q->room - 1)];

	if (q->count || h->msn != q->next_msn || !first_shared(rx))
		return;
	xiw_ddp_srq_take(rx->srq, b);
	q->count = 1;
	if (!b->npieces)
		return;
	memcpy(rx->taken, b->base, b->npieces * sizeof(*rx->taken));
	b->base = (uint8_t *)rx->taken;
}

void xiw_ddp_rx_refuse(struct xiw_ddp_rx *rx, const struct xiw_ddp_hdr *h, enum xiw_ddp_error error)
{
	if (!rx->error && shares(rx, h->qn) &&
	    (error == XIW_DDP_UNTAGGED_TOO_LONG || error == XIW_DDP_LOCAL_CATASTROPHIC))
		take_shared(rx, h);
	xiw_ddp_rx_fail(rx, error);
}

enum xiw_ddp_error xiw_ddp_rx_deliver(struct xiw_ddp_rx *rx, const struct xiw_ddp_hdr *h,
				      uint32_t payload_len, struct xiw_ddp_msg *m)
{
	m->complete = false;
	if (rx->error)
		return rx->error;
	if (!h->tagged && shares(rx, h->qn))
		take_shared(rx, h);
	/* Before the message ends, as its buffer is looked up here. */
	expect_after(rx, h, payload_len);
	if (h->tagged)
		deliver_tagged(rx, h, payload_len, m);
	else
		rx->error = deliver_untagged(rx, h, payload_len, m);
	return rx->error;
}

/* ---- The straight line -------------------------------------------------------------------- */

/* The checks of place_tagged(), and those that make the delivery the same as that of the segment before it. */
uint8_t *xiw_ddp_rx_expected(const struct xiw_ddp_rx *rx, const uint8_t *hdr, uint32_t payload_len)
{
	const uint8_t control = XIW_DDP_CONTROL_TAGGED | XIW_DDP_CONTROL_LAST | XIW_DDP_CONTROL_DV;
	const struct xiw_ddp_tagged *t = &rx->tagged;
	const struct xiw_ddp_next *next = &rx->next;
	const struct xiw_ddp_view *view = &rx->view;
	uint64_t off = next->to - view->base;

	if ((hdr[XIW_DDP_OFF_CONTROL] & control) != (XIW_DDP_CONTROL_TAGGED | XIW_DDP_VERSION) ||
	    xiw_get_be32(hdr + XIW_DDP_OFF_STAG) != next->stag ||
	    xiw_get_be64(hdr + XIW_DDP_OFF_TO) != next->to)
		return NULL;
	if (!next->dst || !next->tagged || rx->error || !payload_len)
		return NULL;
	if (!view_holds(rx, next->stag) || view->npieces || off > view->len ||
	    payload_len > view->len - off || next->dst != view->ptr + off ||
	    !(view->access & needed_access(rx, hdr[XIW_DDP_OFF_RSVDULP])))
		return NULL;
	if (!t->open || !t->len || t->stag != next->stag || t->end != next->to ||
	    t->serial != view->serial)
		return NULL;
	return next->dst;
}

void xiw_ddp_rx_expected_placed(struct xiw_ddp_rx *rx, uint32_t payload_len)
{
	struct xiw_ddp_next *next = &rx->next;

	rx->tagged.len += payload_len;
	rx->tagged.end += payload_len;
	next->to += payload_len;
	next->dst = next->to - rx->view.base < rx->view.len ? next->dst + payload_len : NULL;
}
