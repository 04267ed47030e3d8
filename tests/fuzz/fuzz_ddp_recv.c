// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Compares the Data Sink of a DDP Stream with lists of buffers. Segments in any order are placed only within buffers of
 * the ULP. Messages are delivered whole, once, and in the order of their MSN (RFC 5041 sections 5.3 and 7.1). STags and
 * their rights come and go meanwhile.
 */
#include <errno.h>

#include "ddp/recv.h"
#include "tests/fuzz/fuzz.h"

enum {
	REGIONS = 5,
	REGION_MAX = 64,
	QUEUES = 2,
	DEPTH = 3,
	BUF_MAX = 48,
	PIECES = 4,
	PD = 7,
	STREAM = 3
};

/* Memory in pieces lies from its end to its start, with an octet between two pieces. */
struct region {
	bool valid;
	uint64_t serial;
	uint32_t stag, pd, stream, access;
	uint64_t base, len;
	struct xiw_ddp_piece pieces[PIECES];
	uint32_t npieces;
	uint8_t memory[REGION_MAX + PIECES];
};

struct posted {
	uint8_t memory[BUF_MAX + PIECES];
	struct xiw_ddp_piece pieces[PIECES];
	uint32_t len, npieces;
	uint64_t id;
};

struct queue {
	struct posted ring[DEPTH];
	uint32_t head, count, next_msn, extent;
};

struct segment {
	struct xiw_ddp_hdr h;
	uint32_t len;
};

static struct region regions[REGIONS];
static uint64_t registered, tagged_serial;
static struct queue queues[QUEUES];
static struct segment before;	  /* delivered last */
static struct xiw_ddp_msg tagged; /* under way */
static bool tagged_open, any_before, contiguous;
static enum xiw_ddp_error error;
static uint64_t next_id;
static struct xiw_ddp_table table;
static struct xiw_ddp_rx *rx;

/* Sometimes one of those that were asked for. */
static uint32_t stags;

static int number(void *ctx, uint32_t *n)
{
	(void)ctx;
	*n = stags++ % 64;
	return 0;
}

static struct region *by_stag(uint32_t stag)
{
	for (int i = 0; i < REGIONS; i++)
		if (regions[i].valid && regions[i].stag == stag)
			return &regions[i];
	return NULL;
}

/* Cuts memory into pieces. Returns their number, or 0: it is in one. */
static uint32_t cut(struct fuzz_in *in, uint8_t *memory, uint32_t len,
		    struct xiw_ddp_piece pieces[PIECES])
{
	uint32_t npieces = fuzz_below(in, PIECES + 1), left = len;

	for (uint32_t i = 0; i < npieces; i++) {
		uint32_t n = i == npieces - 1 ? left : fuzz_below(in, left + 1);

		n += !n;
		if (n > left)
			return i;
		left -= n;
		pieces[i] = (struct xiw_ddp_piece){ memory + left + npieces - i, n };
	}
	return npieces;
}

static void reg(struct fuzz_in *in)
{
	static const uint64_t bases[] = { 0, 4096, UINT64_MAX - REGION_MAX, 1ull << 32 };
	struct region *r = &regions[fuzz_below(in, REGIONS)];
	struct xiw_ddp_region_opts o = {
		.ptr = r->memory,
		.len = fuzz_below(in, REGION_MAX + 1),
		.base = bases[fuzz_below(in, 4)],
		.pd = PD + !fuzz_below(in, 8),
		.stream = (uint32_t[]){ 0, STREAM, STREAM, STREAM + 1 }[fuzz_below(in, 4)],
		.access = fuzz_below(in, 4) ? XIW_DDP_REMOTE_WRITE
			  : fuzz_u8(in) & 1 ? XIW_DDP_SINK
					    : fuzz_below(in, 17),
		.fixed = fuzz_u8(in) & 1,
		.stag = fuzz_below(in, 4),
	};
	struct xiw_ddp_piece pieces[PIECES];
	uint32_t stag = 0, n;
	int err;

	if (r->valid)
		return;
	n = o.access == XIW_DDP_SINK ? cut(in, r->memory, (uint32_t)o.len, pieces) : 0;
	if (n) {
		o.ptr = r->pieces;
		o.npieces = n;
	}
	err = xiw_ddp_region_register(&table, &o, &stag);
	if (!o.len || o.access > 15)
		CHECK(err == -EINVAL);
	else if (o.fixed && by_stag(o.stag))
		CHECK(err == -EEXIST);
	else
		CHECK(!err, "%d", err);
	if (err)
		return;
	CHECK(o.fixed ? stag == o.stag : !by_stag(stag));
	*r = (struct region){ .valid = true,
			      .serial = ++registered,
			      .stag = stag,
			      .pd = o.pd,
			      .stream = o.stream,
			      .access = o.access,
			      .npieces = n,
			      .base = o.base,
			      .len = o.len };
	memcpy(r->pieces, pieces, n * sizeof(*pieces));
}

static void unreg(struct fuzz_in *in)
{
	struct region *r = &regions[fuzz_below(in, REGIONS)];
	uint32_t access = fuzz_below(in, 17);

	if (fuzz_u8(in) & 1) {
		int err = xiw_ddp_region_set_access(&table, r->stag, access);
		struct region *named = by_stag(r->stag);

		CHECK(err == (access > 15 ? -EINVAL : named ? 0 : -ENOENT));
		if (!err)
			named->access = access;
		return;
	}
	if (!r->valid)
		return;
	CHECK(!xiw_ddp_region_invalidate(&table, r->stag));
	r->valid = false;
	CHECK(xiw_ddp_region_invalidate(&table, r->stag) == -ENOENT);
	CHECK(!xiw_ddp_region_lookup(&table, r->stag));
}

static void post(struct fuzz_in *in)
{
	uint32_t qn = fuzz_below(in, QUEUES + 1), len = fuzz_below(in, BUF_MAX + 1);
	struct queue *q = &queues[qn % QUEUES];
	struct posted *p = &q->ring[(q->head + q->count) % DEPTH];
	struct xiw_ddp_piece pieces[PIECES];
	uint32_t npieces = cut(in, p->memory, len, pieces);
	struct xiw_ddp_buf b;
	int err;

	if (q->count < DEPTH)
		memcpy(p->pieces, pieces, npieces * sizeof(*pieces));
	b = xiw_ddp_buf_of(p->pieces, npieces, next_id);
	err = npieces ? xiw_ddp_rx_post_buf(rx, qn, &b)
		      : xiw_ddp_rx_post(rx, qn, p->memory, len, next_id);
	CHECK(err == (qn >= QUEUES	 ? -EINVAL
		      : error		 ? -ESHUTDOWN
		      : q->count == DEPTH ? -EAGAIN
					  : 0));
	if (err)
		return;
	p->len = len;
	p->npieces = npieces;
	p->id = next_id++;
	q->count++;
}

/* Plausible segments: known STags, places in and around a buffer, the next MSNs. */
static struct segment make(struct fuzz_in *in)
{
	struct segment s = { .len = fuzz_below(in, 24) };
	uint8_t how = fuzz_u8(in);
	struct region *r;

	s.h.tagged = how & 1;
	s.h.last = how & 2;
	s.h.dv = how & 0x1c ? XIW_DDP_VERSION : fuzz_u8(in) & 3;
	s.h.rsvdulp[0] = fuzz_u8(in);
	s.h.len = s.h.tagged ? 14 : 18;
	if (how & 0x20 && any_before && before.h.tagged == s.h.tagged && !before.h.last) {
		s.h.stag = before.h.stag;
		s.h.to = before.h.to + before.len;
		s.h.qn = before.h.qn;
		s.h.msn = before.h.msn;
		s.h.mo = before.h.mo + before.len;
		return s;
	}
	if (s.h.tagged) {
		r = &regions[fuzz_below(in, REGIONS)];
		s.h.stag = how & 0x40 ? r->stag + (fuzz_u8(in) & 1) : r->stag;
		s.h.to = r->base + (uint64_t)(int64_t)((int8_t)fuzz_u8(in));
		if (how & 0x80)
			s.h.to = ((uint64_t)fuzz_u32(in) << 32) + s.h.to;
		return s;
	}
	s.h.qn = fuzz_below(in, 16) ? fuzz_below(in, QUEUES) : fuzz_u32(in);
	s.h.msn = queues[s.h.qn % QUEUES].next_msn;
	if (how & 0x40)
		s.h.msn += fuzz_below(in, 8) - 2;
	s.h.mo = how & 0x80 ? fuzz_u32(in) : fuzz_below(in, BUF_MAX + 4);
	if (!(how & 0x80) && s.h.mo % 4) /* mostly where the message goes on */
		s.h.mo = queues[s.h.qn % QUEUES].extent;
	return s;
}

/* Returns the address of an octet of a buffer or region. */
static uint8_t *octet(const uint8_t *memory, const struct xiw_ddp_piece *piece, uint32_t npieces,
		      uint64_t at)
{
	if (!npieces)
		return (uint8_t *)memory + at;
	for (; at >= piece->len; piece++)
		at -= piece->len;
	return piece->base + at;
}

/* The address of an octet of the payload: of the region, or of the posted buffer. */
static uint8_t *place_of(const struct segment *s, uint32_t off)
{
	const struct region *r = by_stag(s->h.stag);
	const struct queue *q = &queues[s->h.qn % QUEUES];
	const struct posted *b = &q->ring[(q->head + s->h.msn - q->next_msn) % DEPTH];

	return s->h.tagged ? octet(r->memory, r->pieces, r->npieces, s->h.to - r->base + off)
			   : octet(b->memory, b->pieces, b->npieces, s->h.mo + off);
}

/* Does it carry what the ULP has asked for? */
static bool sunk(const struct segment *s)
{
	return (s->h.rsvdulp[0] & 3) == 2;
}

/* Section 7.1. Sets *at to where the segment begins in memory. */
static enum xiw_ddp_error reference(const struct segment *s, uint8_t **at)
{
	unsigned __int128 end;
	struct posted *p;
	struct region *r;
	struct queue *q;
	uint32_t ahead;

	*at = NULL;
	if (error)
		return error;
	if (s->h.dv != 1)
		return s->h.tagged ? XIW_DDP_TAGGED_VERSION : XIW_DDP_UNTAGGED_VERSION;
	if (s->h.tagged) {
		if (!s->len)
			return XIW_DDP_OK;
		r = by_stag(s->h.stag);
		end = (unsigned __int128)s->h.to + s->len;
		if (!r)
			return XIW_DDP_TAGGED_STAG;
		if (r->pd != PD || (r->stream && r->stream != STREAM))
			return XIW_DDP_TAGGED_NOT_STREAM;
		if (!(r->access & (XIW_DDP_REMOTE_WRITE | (sunk(s) ? XIW_DDP_SINK : 0))))
			return XIW_DDP_TAGGED_STAG;
		if (end >> 64)
			return XIW_DDP_TAGGED_TO_WRAP;
		if (s->h.to < r->base || end > (unsigned __int128)r->base + r->len)
			return XIW_DDP_TAGGED_BOUNDS;
		*at = place_of(s, 0);
		return XIW_DDP_OK;
	}
	if (s->h.qn >= QUEUES)
		return XIW_DDP_UNTAGGED_QN;
	q = &queues[s->h.qn];
	ahead = s->h.msn - q->next_msn;
	if (ahead >= DEPTH)
		return XIW_DDP_UNTAGGED_MSN_RANGE;
	if (ahead >= q->count)
		return XIW_DDP_UNTAGGED_NO_BUFFER;
	p = &q->ring[(q->head + ahead) % DEPTH];
	if (s->h.mo > p->len || (s->len && s->h.mo && s->h.mo == p->len))
		return XIW_DDP_UNTAGGED_MO;
	if ((uint64_t)s->h.mo + s->len > p->len)
		return XIW_DDP_UNTAGGED_TOO_LONG;
	if (s->len)
		*at = place_of(s, 0);
	return XIW_DDP_OK;
}

/* A segment is predicted only if it continues the current message exactly where the previous one ended. */
static bool continues(const struct segment *s)
{
	if (!any_before || before.h.last || before.h.tagged != s->h.tagged)
		return false;
	if (s->h.tagged)
		return s->h.stag == before.h.stag && s->h.to == before.h.to + before.len;
	return s->h.qn == before.h.qn && s->h.msn == before.h.msn &&
	       s->h.mo == before.h.mo + before.len;
}

/* Every octet goes to its place, whatever the borders of pieces are. */
static void check_octets(const struct segment *s, const struct xiw_ddp_place *p)
{
	const struct xiw_ddp_piece *piece = p->pieces;
	uint8_t *to = p->dst;

	CHECK(!p->npieces || to == piece->base + p->piece_off);
	for (uint32_t i = 0; i < s->len; i++, to++) {
		if (p->npieces && to == piece->base + piece->len) {
			CHECK(++piece < p->pieces + p->npieces);
			to = piece->base;
		}
		CHECK(to == place_of(s, i));
	}
}

static enum xiw_ddp_error place(const struct segment *s)
{
	struct xiw_ddp_place p;
	enum xiw_ddp_error err = xiw_ddp_rx_place(rx, &s->h, s->len, &p), want;
	uint8_t *at;

	want = reference(s, &at);
	CHECK(err == want, "%x, not %x", err, want);
	CHECK(p.dst == at);
	if (p.dst)
		check_octets(s, &p);
	CHECK(!p.npieces || !p.predicted);
	REACHES(p.predicted, "a place that is predicted");
	/* A segment without payload does not change the prediction. */
	CHECK(!p.predicted || (p.dst && (continues(s) || !before.len)));
	return err;
}

static void *buffer(struct posted *p)
{
	return p->npieces ? (void *)p->pieces : p->memory;
}

static enum xiw_ddp_error model_deliver(const struct segment *s, struct xiw_ddp_msg *m)
{
	struct queue *q = &queues[s->h.qn % QUEUES];

	m->complete = false;
	if (s->h.tagged) {
		if (!tagged_open)
			tagged = (struct xiw_ddp_msg){ .tagged = true, .stag = s->h.stag };
		tagged_open = true;
		if (s->len) {
			const uint64_t serial = by_stag(s->h.stag)->serial;

			contiguous = !tagged.len ||
				     (contiguous && tagged.to_end == s->h.to &&
				      tagged.stag == s->h.stag && tagged_serial == serial);
			if (!tagged.len) {
				tagged.to = s->h.to;
				tagged_serial = serial;
			}
			tagged.stag = s->h.stag;
			tagged.to_end = s->h.to + s->len;
			tagged.len += s->len;
		}
		if (s->h.last) {
			*m = tagged;
			m->complete = true;
			m->contiguous = m->len && contiguous;
			tagged_open = false;
		}
		return XIW_DDP_OK;
	}
	if (s->h.msn != q->next_msn)
		return XIW_DDP_UNTAGGED_MSN_RANGE;
	if (s->h.mo != q->extent)
		return XIW_DDP_UNTAGGED_MO;
	q->extent += s->len;
	if (!s->h.last)
		return XIW_DDP_OK;
	*m = (struct xiw_ddp_msg){ .complete = true, .len = q->extent };
	m->qn = s->h.qn;
	m->msn = s->h.msn;
	m->buf.base = buffer(&q->ring[q->head]);
	m->buf.len = q->ring[q->head].len;
	m->buf.user_data = q->ring[q->head].id;
	q->extent = 0;
	q->head = (q->head + 1) % DEPTH;
	q->count--;
	q->next_msn++;
	return XIW_DDP_OK;
}

static void deliver(const struct segment *s)
{
	struct xiw_ddp_msg m, want = {};
	enum xiw_ddp_error err;

	if (place(s)) {
		/* Its turn came and it was refused: do what the engine does for most errors. */
		if (s->h.rsvdulp[0] & 1) {
			error = error ? error : XIW_DDP_UNTAGGED_QN;
			xiw_ddp_rx_fail(rx, XIW_DDP_UNTAGGED_QN);
		}
		return;
	}
	err = xiw_ddp_rx_deliver(rx, &s->h, s->len, &m);
	error = model_deliver(s, &want);
	CHECK(err == error, "%x, not %x", err, error);
	before = *s;
	any_before = true;
	CHECK(m.complete == (!err && want.complete));
	if (!m.complete)
		return;
	CHECK(m.tagged == want.tagged && m.len == want.len && m.rsvdulp[0] == s->h.rsvdulp[0]);
	REACHES(m.tagged && m.contiguous && m.len > s->len, "a tagged message of several segments");
	REACHES(!m.tagged && m.len > s->len, "an untagged message of several segments");
	if (m.tagged) {
		CHECK(m.stag == want.stag && m.contiguous == want.contiguous);
		CHECK(!m.contiguous || (m.to == want.to && m.to_end == want.to_end));
	} else {
		CHECK(m.qn == want.qn && m.msn == want.msn && m.buf.base == want.buf.base);
		CHECK(m.buf.len == want.buf.len && m.buf.user_data == want.buf.user_data);
	}
}

static void flush(void)
{
	struct xiw_ddp_buf buf;
	uint32_t qn, left = 0;

	for (int i = 0; i < QUEUES; i++)
		left += queues[i].count;
	while (xiw_ddp_rx_flush(rx, &qn, &buf)) {
		struct queue *q;

		CHECK(left-- && qn < QUEUES);
		q = &queues[qn];
		CHECK(q->count && buf.base == buffer(&q->ring[q->head]) &&
		      buf.user_data == q->ring[q->head].id);
		q->head = (q->head + 1) % DEPTH;
		q->count--;
	}
	CHECK(!left);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct xiw_ddp_rx_opts o = {
		.table = &table, .pd = PD, .stream = STREAM, .nqueues = QUEUES, .depth = DEPTH
	};
	struct segment s;

	memset(regions, 0, sizeof(regions));
	memset(queues, 0, sizeof(queues));
	before = (struct segment){};
	tagged_open = any_before = contiguous = false;
	error = XIW_DDP_OK;
	next_id = 1;
	stags = fuzz_u16(&in);
	xiw_ddp_table_init(&table, number, NULL);
	CHECK(!xiw_ddp_rx_create(&rx, &o));
	xiw_ddp_rx_sinks(rx, 3, 2);
	for (int i = 0; i < QUEUES; i++) /* so that the MSN wraps too (section 4.3) */
		queues[i].next_msn = rx->queues[i].next_msn = 1 - fuzz_below(&in, 4);
	while (in.left) {
		switch (fuzz_u8(&in) % 8) {
		case 0:
			reg(&in);
			break;
		case 1:
			unreg(&in);
			break;
		case 2:
			post(&in);
			break;
		case 3:
			s = make(&in);
			place(&s);
			break;
		default:
			s = make(&in);
			deliver(&s);
			break;
		}
	}
	flush();
	xiw_ddp_rx_free(rx);
	xiw_ddp_table_free(&table);
	return 0;
}
