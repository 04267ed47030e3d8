// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Compares Streams that share posted buffers with lists. A buffer belongs to one message from its first segment on,
 * and nobody else writes into it; a Stream has at most one that is not full; buffers are taken in the order in which
 * they were posted; and none is lost, whatever Streams end in the middle of a message.
 */
#include <errno.h>

#include "ddp/srq.h"
#include "tests/fuzz/fuzz.h"

enum { STREAMS = 3, SHARED = 5, RING = 8, BUFS = 64, BUF_MAX = 40, PIECES = 3 };

struct posted {
	uint8_t memory[BUF_MAX + PIECES];
	uint8_t want[BUF_MAX]; /* what the message that has it has placed; 0: nothing */
	struct xiw_ddp_piece pieces[PIECES];
	uint32_t len, npieces;
};

struct stream {
	struct xiw_ddp_rx *rx;
	enum xiw_ddp_error error;
	uint32_t next_msn, extent;
	int64_t has; /* number of its buffer, or -1 */
	bool enough;
};

static struct xiw_ddp_table table;
static struct xiw_ddp_srq srq;
static struct stream streams[STREAMS];
static struct posted bufs[BUFS];
/* As the library keeps them: the place of a buffer that was taken is somebody else's. */
static struct xiw_ddp_piece places[RING][PIECES];
static int64_t first, posted; /* numbers of buffers; they lie in bufs[number % BUFS] */
static uint32_t limit, lows, want_lows;
static uint8_t stamp;

static void low(struct xiw_ddp_srq *of, int status)
{
	CHECK(of == &srq && !status);
	lows++;
}

static bool may_take(void *ctx)
{
	return !((struct stream *)ctx)->enough;
}

static struct posted *buf_at(int64_t number)
{
	return &bufs[number % BUFS];
}

static void open_stream(struct stream *s, struct fuzz_in *in)
{
	const struct xiw_ddp_rx_opts o = {
		.table = &table, .stream = (uint32_t)(s - streams) + 1, .depth = 2, .nqueues = 2
	};

	*s = (struct stream){ .has = -1, .next_msn = 1 - fuzz_below(in, 3) };
	CHECK(!xiw_ddp_rx_create(&s->rx, &o));
	s->rx->queues[0].next_msn = s->next_msn;
	CHECK(!xiw_ddp_rx_share(s->rx, &srq, may_take, s));
}

static void close_stream(struct stream *s)
{
	struct xiw_ddp_buf b;
	uint32_t qn;

	if (s->has >= 0) {
		CHECK(xiw_ddp_rx_flush(s->rx, &qn, &b));
		CHECK(qn == 0 && b.user_data == (uint64_t)s->has);
	}
	CHECK(!xiw_ddp_rx_flush(s->rx, &qn, &b));
	xiw_ddp_rx_free(s->rx);
}

static void look_at_limit(void)
{
	if (posted - first >= limit)
		return;
	limit = 0;
	want_lows++;
}

static void set_limit(struct fuzz_in *in)
{
	const uint32_t to = fuzz_below(in, SHARED + 2);
	const int err = xiw_ddp_srq_set_limit(&srq, to);

	CHECK(err == (to > SHARED ? -EINVAL : 0));
	if (err)
		return;
	limit = to;
	look_at_limit();
}

/* In pieces, it lies in its memory from the end to the start, with an octet between two pieces. */
static void post(struct fuzz_in *in)
{
	struct xiw_ddp_piece *place = places[xiw_ddp_srq_at(&srq)];
	struct posted *p = buf_at(posted);
	uint32_t len = fuzz_below(in, BUF_MAX + 1), n = fuzz_below(in, PIECES + 1), left = len;
	struct xiw_ddp_buf b = { .base = p->memory, .len = len, .user_data = (uint64_t)posted };

	if (posted - first == SHARED) {
		CHECK(xiw_ddp_srq_post(&srq, &b) == -EAGAIN);
		return;
	}
	memset(p, 0, sizeof(*p));
	p->len = len;
	if (n > 1 && len >= n) {
		for (uint32_t i = 0; i < n; i++) {
			uint32_t some = i == n - 1 ? left : 1 + fuzz_below(in, left - (n - 1 - i));

			left -= some;
			p->pieces[i] = (struct xiw_ddp_piece){ p->memory + left + n - i, some };
		}
		p->npieces = n;
		memcpy(place, p->pieces, n * sizeof(*place));
		b = xiw_ddp_buf_of(place, n, (uint64_t)posted);
		CHECK(b.len == len);
	}
	CHECK(!xiw_ddp_srq_post(&srq, &b));
	posted++;
}

static uint8_t *octet(struct posted *p, uint32_t at)
{
	const struct xiw_ddp_piece *piece = p->pieces;

	if (!p->npieces)
		return p->memory + at;
	for (; at >= piece->len; piece++)
		at -= (uint32_t)piece->len;
	return piece->base + at;
}

static struct xiw_ddp_hdr make(struct stream *s, struct fuzz_in *in, uint32_t *len)
{
	const uint8_t how = fuzz_u8(in);
	struct xiw_ddp_hdr h = {
		.last = how & 1, .dv = XIW_DDP_VERSION, .len = 18, .msn = s->next_msn
	};

	*len = fuzz_below(in, 20);
	h.mo = how & 2 ? s->extent : fuzz_below(in, BUF_MAX + 4);
	if (!(how & 0x1c))
		h.msn += fuzz_below(in, 5) - 2;
	if (!(how & 0xe0))
		h.qn = 1;
	return h;
}

/* Section 7.1 of RFC 5041. *number is set to that of the buffer. */
static enum xiw_ddp_error reference(struct stream *s, const struct xiw_ddp_hdr *h, uint32_t len,
				    int64_t *number)
{
	struct posted *p;

	if (s->error)
		return s->error;
	if (h->qn)
		return h->msn - 1 < 2 ? XIW_DDP_UNTAGGED_NO_BUFFER : XIW_DDP_UNTAGGED_MSN_RANGE;
	if (h->msn != s->next_msn)
		return XIW_DDP_UNTAGGED_MSN_RANGE;
	if (s->has < 0 && (s->enough || first == posted))
		return XIW_DDP_UNTAGGED_NO_BUFFER;
	*number = s->has < 0 ? first : s->has;
	p = buf_at(*number);
	if (h->mo > p->len || (len && h->mo && h->mo == p->len))
		return XIW_DDP_UNTAGGED_MO;
	return (uint64_t)h->mo + len > p->len ? XIW_DDP_UNTAGGED_TOO_LONG : XIW_DDP_OK;
}

static enum xiw_ddp_error place(struct stream *s, const struct xiw_ddp_hdr *h, uint32_t len,
				int64_t *number)
{
	struct xiw_ddp_place p;
	enum xiw_ddp_error err = xiw_ddp_rx_place(s->rx, h, len, &p);

	CHECK(err == reference(s, h, len, number), "%x", err);
	if (err || !len)
		return err;
	CHECK(p.dst == octet(buf_at(*number), h->mo));
	CHECK(p.untaken == (s->has < 0));
	CHECK(!p.predicted || s->has >= 0);
	return XIW_DDP_OK;
}

static void write_octets(int64_t number, uint32_t at, uint32_t len)
{
	struct posted *p = buf_at(number);

	for (uint32_t i = at; i < at + len; i++)
		p->want[i] = *octet(p, i) = stamp;
	stamp = stamp == 255 ? 1 : stamp + 1;
}

static void early(struct stream *s, struct fuzz_in *in)
{
	int64_t number = -1;
	uint32_t len;
	struct xiw_ddp_hdr h = make(s, in, &len);

	if (!place(s, &h, len, &number) && s->has >= 0)
		write_octets(number, h.mo, len);
}

/* The message that begins takes the first buffer. */
static void take(struct stream *s, uint32_t ring_at)
{
	if (s->has >= 0)
		return;
	s->has = first++;
	memset(places[ring_at], 0xff, sizeof(places[ring_at]));
	look_at_limit();
}

static void complete(struct stream *s, const struct xiw_ddp_msg *m)
{
	struct posted *p = buf_at(s->has);

	CHECK(m->complete && m->len == s->extent && m->msn == s->next_msn);
	REACHES(p->npieces && m->len, "a message in a shared buffer of several pieces");
	CHECK(m->buf.user_data == (uint64_t)s->has && m->buf.len == p->len);
	for (uint32_t i = 0; i < p->len; i++)
		CHECK(*octet(p, i) == p->want[i], "octet %u is of somebody else", i);
	s->has = -1;
	s->extent = 0;
	s->next_msn++;
}

static void deliver(struct stream *s, struct fuzz_in *in)
{
	const uint32_t ring_at = srq.head & srq.mask;
	int64_t number = -1;
	uint32_t len;
	struct xiw_ddp_hdr h = make(s, in, &len);
	struct xiw_ddp_msg m;
	enum xiw_ddp_error err = place(s, &h, len, &number);

	if (err) {
		xiw_ddp_rx_refuse(s->rx, &h, err);
		if (!s->error && err == XIW_DDP_UNTAGGED_TOO_LONG)
			take(s, ring_at);
		s->error = err;
		return;
	}
	write_octets(number, h.mo, len);
	err = xiw_ddp_rx_deliver(s->rx, &h, len, &m);
	take(s, ring_at);
	if (h.mo != s->extent)
		s->error = XIW_DDP_UNTAGGED_MO;
	s->extent += len;
	CHECK(err == s->error);
	if (!err && h.last)
		complete(s, &m);
	else
		CHECK(!m.complete);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };

	first = posted = 0;
	limit = lows = want_lows = 0;
	stamp = 1;
	xiw_ddp_table_init(&table, NULL, NULL);
	CHECK(!xiw_ddp_srq_init(&srq, SHARED));
	srq.low = low;
	for (int i = 0; i < STREAMS; i++)
		open_stream(&streams[i], &in);
	while (in.left) {
		const uint8_t what = fuzz_u8(&in);
		struct stream *s = &streams[(what >> 4) % STREAMS];

		switch (what % 8) {
		case 0:
			set_limit(&in);
			break;
		case 1:
			s->enough = !s->enough;
			break;
		case 2:
			if (!s->error && fuzz_below(&in, 4))
				break;
			close_stream(s);
			open_stream(s, &in);
			break;
		case 3:
			early(s, &in);
			break;
		case 4:
		case 5:
			post(&in);
			break;
		default:
			deliver(s, &in);
			break;
		}
		CHECK(srq.count == posted - first && srq.taken == (uint64_t)first);
		CHECK(lows == want_lows && srq.limit == limit);
		REACHES(lows && srq.taken > 2, "the limit, after some buffers");
	}
	for (int i = 0; i < STREAMS; i++)
		close_stream(&streams[i]);
	xiw_ddp_srq_free(&srq);
	return 0;
}
