// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Two RDMAP Streams that talk to each other (RFC 5040 sections 5 and 6); messages come in order, as DDP delivers them.
 * Every operation completes once, in the order posted, without error, with the right octets in place, and no more Reads
 * are open than were agreed. Or one Stream and a hostile peer, which sends anything, also a Terminate. Some inputs have
 * RFC 7306 as well: atomic operations do what a model does, in the order in which they were sent.
 */
#include <errno.h>

#include "rdmap/stream.h"
#include "tests/fuzz/fuzz.h"

enum { REGION = 64, DEPTH = 5, FIFO = 64, STAG = 9, WORDS_STAG = 200, WORDS = 3 };

struct message {
	uint64_t id;
	struct xiw_rdmap_out out;
	uint8_t octets[REGION];
	bool sent; /* its sender was told */
};

struct side {
	struct xiw_rdmap_stream s;
	struct xiw_ddp_table table;
	uint8_t memory[REGION], landing[2 * REGION];
	uint64_t words[WORDS], model[WORDS]; /* for atomic operations */
	uint64_t found[DEPTH];		     /* what each of ours finds, by the model */
	struct message fifo[FIFO];	     /* messages on their way from here */
	uint32_t n, told;		     /* of these, how many their sender was told of */
	uint64_t posted, completed;
	uint32_t reads_open, sends, got_sends;
	uint16_t ird;
};

static struct side sides[2];
static uint8_t source[REGION];
static bool extended;

static void open_words(struct side *a)
{
	struct xiw_ddp_region_opts r = { .ptr = a->words,
					 .len = sizeof(a->words),
					 .base = 16,
					 .access = XIW_DDP_REMOTE_ATOMIC,
					 .pd = 1,
					 .stream = 1,
					 .fixed = true,
					 .stag = WORDS_STAG };
	uint32_t stag;

	CHECK(!xiw_ddp_region_register(&a->table, &r, &stag));
}

/* STags of plain memory, never STAG. */
static int number(void *ctx, uint32_t *n)
{
	static uint32_t last;

	(void)ctx;
	*n = STAG + 1 + last++ % 64;
	return 0;
}

static void open_side(struct side *a, struct fuzz_in *in)
{
	struct xiw_ddp_region_opts r = { .ptr = a->memory,
					 .len = REGION,
					 .access = XIW_DDP_REMOTE_WRITE | XIW_DDP_REMOTE_READ,
					 .pd = 1,
					 .stream = 1,
					 .fixed = true,
					 .stag = STAG };
	struct xiw_rdmap_opts o = { .table = &a->table,
				    .pd = 1,
				    .stream = 1,
				    .depth = DEPTH,
				    .ird_max = 4,
				    .extended = extended };
	uint32_t stag;

	memset(a, 0, sizeof(*a));
	xiw_ddp_table_init(&a->table, number, NULL);
	CHECK(!xiw_ddp_region_register(&a->table, &r, &stag));
	open_words(a);
	CHECK(!xiw_rdmap_init(&a->s, &o) && !xiw_rdmap_make_rooms(&a->s));
	a->ird = 1 + fuzz_below(in, 4);
}

static void close_side(struct side *a)
{
	xiw_rdmap_free(&a->s);
	xiw_ddp_table_free(&a->table);
}

/* A Read into two pieces of memory of its own, or one if the other is empty. */
static int post_plain(struct side *a, struct fuzz_in *in, const struct xiw_rdma_op *op)
{
	const uint32_t cut = fuzz_below(in, (uint32_t)op->len + 1);
	const struct iovec iov[2] = { { a->landing, cut }, { a->landing + REGION, op->len - cut } };
	const struct xiw_rdma_work w = { .kind = XIW_RDMA_READ,
					 .iov = iov,
					 .iov_count = 2,
					 .stag = op->stag,
					 .to = op->to,
					 .user_data = op->user_data };

	return xiw_rdmap_post_work(&a->s, &w);
}

/* err: what posting it has returned. */
static void count_post(struct side *a, enum xiw_rdma_kind kind, int err)
{
	const bool two = kind == XIW_RDMA_WRITE_IMMEDIATE;

	/* A hostile peer's Send with Invalidate may have closed the sink. */
	if (!xiw_ddp_region_lookup(&a->table, STAG) && err == -EACCES)
		return;
	CHECK(err == 0 || (err == -EAGAIN && a->s.tail - a->s.head + two >= DEPTH), "%d", err);
	a->posted += !err;
}

/* One of RFC 7306, except the Write with Immediate Data. */
static void post_extended(struct side *a, struct fuzz_in *in, enum xiw_rdma_kind kind)
{
	static const uint64_t numbers[] = { 0, 1, 2, UINT64_MAX, 1ull << 31, 1ull << 63 };
	struct xiw_rdma_op op = { .kind = kind, .user_data = a->posted, .stag = WORDS_STAG };
	struct xiw_rdma_atomic operands;

	if (kind == XIW_RDMA_IMMEDIATE) {
		op.flags = fuzz_u8(in) & XIW_RDMA_SOLICITED;
		op.immediate = a->posted;
	} else {
		operands.value = numbers[fuzz_below(in, 6)];
		operands.mask = numbers[fuzz_below(in, 6)];
		operands.compare = numbers[fuzz_below(in, 6)];
		operands.compare_mask = numbers[fuzz_below(in, 6)];
		op.atomic = &operands;
		op.to = 16 + 8 * fuzz_below(in, WORDS);
	}
	count_post(a, kind, xiw_rdmap_post(&a->s, &op));
}

static void post(struct side *a, struct fuzz_in *in)
{
	static const enum xiw_rdma_kind kinds[] = {
		XIW_RDMA_SEND,	    XIW_RDMA_WRITE,	      XIW_RDMA_READ,
		XIW_RDMA_IMMEDIATE, XIW_RDMA_WRITE_IMMEDIATE, XIW_RDMA_FETCH_ADD,
		XIW_RDMA_CMP_SWAP,
	};
	const enum xiw_rdma_kind kind = kinds[fuzz_below(in, extended ? 7 : 3)];
	const bool writes = kind == XIW_RDMA_WRITE || kind == XIW_RDMA_WRITE_IMMEDIATE;
	struct xiw_rdma_op op = { .kind = kind,
				  .len = fuzz_below(in, REGION + 1),
				  .stag = STAG,
				  .sink_stag = STAG,
				  .user_data = a->posted };
	bool plain;

	if (kind > XIW_RDMA_READ && !writes) {
		post_extended(a, in, kind);
		return;
	}
	if (op.kind == XIW_RDMA_SEND)
		op.flags = fuzz_u8(in) & XIW_RDMA_SOLICITED;
	else
		op.to = fuzz_below(in, REGION - (uint32_t)op.len + 1);
	if (op.kind == XIW_RDMA_READ)
		op.sink_to = fuzz_below(in, REGION - (uint32_t)op.len + 1);
	else
		op.buf = source + (writes ? op.to : 0);
	if (writes)
		op.len = op.len < REGION - op.to ? op.len : REGION - op.to;
	if (kind == XIW_RDMA_WRITE_IMMEDIATE)
		op.immediate = a->posted;
	plain = kind == XIW_RDMA_READ && fuzz_u8(in) & 1;
	count_post(a, kind, plain ? post_plain(a, in, &op) : xiw_rdmap_post(&a->s, &op));
}

static void complete(struct side *a)
{
	struct xiw_rdmap_op op;

	while (xiw_rdmap_completed(&a->s, &op)) {
		if (op.internal)
			continue;
		if (op.op.kind == XIW_RDMA_FETCH_ADD || op.op.kind == XIW_RDMA_CMP_SWAP)
			CHECK(op.original == a->found[(a->s.head - 1) % DEPTH]);
		CHECK(op.op.user_data == a->completed && a->completed < a->posted);
		CHECK(!op.failed);
		a->completed++;
	}
}

/* Gives the next message to DDP. */
static void pass_on(struct side *a, const struct side *b)
{
	struct message *m = &a->fifo[a->n];

	if (a->n == FIFO)
		return;
	memset(m, 0, sizeof(*m));
	if (xiw_rdmap_next(&a->s, &m->out) != 1)
		return;
	CHECK(m->out.len <= REGION && (m->out.buf || !m->out.len));
	/* ASan checks what is read. */
	if (m->out.len)
		memcpy(m->octets, m->out.buf, m->out.len);
	if (m->out.from_region)
		CHECK(xiw_rdmap_readable(&a->s, m->out.id, m->out.len / 2));
	if (!m->out.tagged && m->out.qn == XIW_RDMAP_QN_READ)
		CHECK(++a->reads_open <= b->ird, "more Reads than agreed");
	a->sends += !m->out.tagged && m->out.qn == XIW_RDMAP_QN_SEND;
	a->n++;
}

/* DDP gave it to TCP. The peer may have it before the sender is told. */
static void tell_sent(struct side *a)
{
	if (a->told < a->n)
		xiw_rdmap_sent(&a->s, a->fifo[a->told++].out.id, true);
	complete(a);
}

static uint64_t serial(const struct side *a, uint32_t stag)
{
	const struct xiw_ddp_region *r = xiw_ddp_region_lookup(&a->table, stag);

	return r ? r->serial : 0;
}

/* Delivers a part of a message as a segment. */
static enum xiw_rdmap_error check(struct side *b, const struct message *m, uint32_t off,
				  uint32_t len)
{
	const struct xiw_rdmap_seg g = {
		.tagged = m->out.tagged,
		.control = m->out.rsvdulp[0],
		.qn = m->out.qn,
		.stag = m->out.stag,
		.to = m->out.to + off,
		.len = len,
		.serial = serial(b, m->out.stag),
		.in_turn = true,
		.before = off,
	};

	return xiw_rdmap_check_segment(&b->s, &g);
}

/* As DDP does: in the region, or in the plain memory of a Read of two pieces. */
static void place(struct side *b, const struct message *m)
{
	const struct xiw_ddp_region *r = xiw_ddp_region_lookup(&b->table, m->out.stag);
	const struct xiw_ddp_piece *piece;

	CHECK(r && m->out.to <= r->len && m->out.len <= r->len - m->out.to);
	if (m->out.stag == STAG) {
		memcpy(b->memory + m->out.to, m->octets, m->out.len);
		return;
	}
	CHECK(r->access == XIW_DDP_SINK && r->stream == 1 && !m->out.to && m->out.len == r->len);
	CHECK(xiw_rdmap_opcode(m->out.rsvdulp[0]) == XIW_RDMAP_OP_READ_RESPONSE);
	if (!r->npieces) {
		memcpy(r->ptr, m->octets, m->out.len);
		return;
	}
	piece = (const struct xiw_ddp_piece *)(const void *)r->ptr;
	CHECK(r->npieces == 2 && piece[0].len + piece[1].len == m->out.len);
	memcpy(piece[0].base, m->octets, piece[0].len);
	memcpy(piece[1].base, m->octets + piece[0].len, piece[1].len);
}

/* An Atomic Request of a's arrives at b: what it finds there, and leaves, by the pseudocode of RFC 7306 section 5.1. */
static void model_atomic(struct side *a, struct side *b, const struct message *m)
{
	struct xiw_rdmap_atomic q;
	uint64_t *word, was, is = 0;
	unsigned int carry = 0;

	xiw_rdmap_atomic_decode(&q, m->octets);
	CHECK(q.stag == WORDS_STAG && q.to >= 16 && (q.to - 16) / 8 < WORDS);
	word = &b->model[(q.to - 16) / 8];
	was = *word;
	a->found[q.id % DEPTH] = was;
	if (q.code == XIW_RDMAP_ATOMIC_CMP_SWAP) {
		if (!((q.operands.compare ^ was) & q.operands.compare_mask))
			*word = (was & ~q.operands.mask) | (q.operands.value & q.operands.mask);
		return;
	}
	for (unsigned int bit = 0; bit < 64; bit++) {
		unsigned int sum = carry + (was >> bit & 1) + (q.operands.value >> bit & 1);

		is |= (uint64_t)(sum & 1) << bit;
		carry = sum >> 1 && !(q.operands.mask >> bit & 1);
	}
	*word = is;
}

static void deliver(struct side *a, struct side *b)
{
	struct message *m = &a->fifo[0];
	struct xiw_rdmap_in in = { .tagged = m->out.tagged,
				   .qn = m->out.qn,
				   .stag = m->out.stag,
				   .to = m->out.to,
				   .len = m->out.len,
				   .contiguous = m->out.len,
				   .serial = serial(b, m->out.stag),
				   .rsvdulp = m->out.rsvdulp,
				   .buf = m->octets,
				   .header = source,
				   .header_len = m->out.tagged ? 14 : 18 };
	enum xiw_rdmap_result verdict;
	uint32_t invalidated;

	if (!a->n)
		return;
	if (!a->told)
		tell_sent(a);
	for (uint32_t off = 0; off <= m->out.len; off += m->out.len / 2 + 1)
		CHECK(!check(b, m, off, m->out.len - off));
	if (m->out.tagged && m->out.len)
		place(b, m);
	if (xiw_rdmap_opcode(m->out.rsvdulp[0]) == XIW_RDMAP_OP_READ_RESPONSE ||
	    xiw_rdmap_opcode(m->out.rsvdulp[0]) == XIW_RDMAP_OP_ATOMIC_RESPONSE)
		b->reads_open--;
	if (xiw_rdmap_opcode(m->out.rsvdulp[0]) == XIW_RDMAP_OP_ATOMIC_REQUEST)
		model_atomic(a, b, m);
	verdict = xiw_rdmap_received(&b->s, &in, &invalidated);
	REACHES(xiw_rdmap_opcode(m->out.rsvdulp[0]) == XIW_RDMAP_OP_ATOMIC_RESPONSE,
		"the answer to an atomic operation");
	CHECK(verdict == (!m->out.tagged && m->out.qn == XIW_RDMAP_QN_SEND ? XIW_RDMAP_DELIVER
									   : XIW_RDMAP_HANDLED));
	CHECK(b->s.state == XIW_RDMAP_OPEN && !invalidated);
	CHECK(!memcmp(b->words, b->model, sizeof(b->words)));
	b->got_sends += verdict == XIW_RDMAP_DELIVER;
	a->n--;
	a->told--;
	memmove(&a->fifo[0], &a->fifo[1], a->n * sizeof(a->fifo[0]));
	complete(b);
}

/* No STag is left that was made for a Read. */
static void only_stag(const struct side *a)
{
	for (uint32_t stag = STAG + 1; stag <= STAG + 64; stag++)
		CHECK(!xiw_ddp_region_lookup(&a->table, stag));
}

static void both_honest(struct fuzz_in *in)
{
	for (int i = 0; i < 2; i++)
		xiw_rdmap_limits(&sides[i].s, sides[i].ird, sides[!i].ird);
	while (in->left) {
		uint8_t what = fuzz_u8(in);
		struct side *a = &sides[what & 1], *b = &sides[!(what & 1)];

		switch (what >> 1 & 3) {
		case 0:
			post(a, in);
			break;
		case 1:
			pass_on(a, b);
			break;
		case 2:
			tell_sent(a);
			break;
		default:
			deliver(a, b);
			break;
		}
	}
	for (int round = 0; round < 4 * DEPTH; round++) {
		for (int i = 0; i < 2; i++) {
			for (int k = 0; k < FIFO; k++)
				pass_on(&sides[i], &sides[!i]);
			while (sides[i].n)
				deliver(&sides[i], &sides[!i]);
		}
	}
	for (int i = 0; i < 2; i++) {
		CHECK(sides[i].completed == sides[i].posted && xiw_rdmap_idle(&sides[i].s));
		only_stag(&sides[i]);
		CHECK(sides[i].sends == sides[!i].got_sends);
	}
}

/* A Terminate that we send can be parsed. */
static void check_terminate(struct xiw_rdma_terminate_info *t)
{
	uint8_t *buf = malloc(XIW_RDMAP_TERM_MAX);
	struct xiw_rdma_terminate_info back;
	uint32_t len;

	CHECK(buf && t->present);
	len = xiw_rdmap_terminate_encode(t, buf);
	CHECK(len >= 4 && len <= XIW_RDMAP_TERM_MAX);
	CHECK(!xiw_rdmap_terminate_decode(&back, buf, len));
	CHECK(back.layer == t->layer && back.etype == t->etype && back.code == t->code);
	CHECK(back.has_ddp_header == t->has_ddp_header &&
	      back.has_read_request == t->has_read_request);
	CHECK(!t->has_ddp_header || t->ddp_header_len == 14 || t->ddp_header_len == 18);
	free(buf);
}

/* One message from the hostile peer. */
static void hostile_message(struct side *a, struct fuzz_in *in, uint8_t how, uint32_t len)
{
	uint8_t rsvdulp[5], header[18] = { 0 };
	const uint64_t run = a->s.info.atomics_in;
	uint32_t invalidated, stag;
	struct xiw_rdmap_in message;
	enum xiw_rdmap_result verdict;
	uint8_t *buf;

	rsvdulp[0] = (uint8_t)(0x40 | (how >> 5));
	if (how & 4)
		rsvdulp[0] = fuzz_u8(in);
	else if (extended && how & 8)
		rsvdulp[0] |= 8;
	for (int i = 1; i < 5; i++)
		rsvdulp[i] = how & 8 ? fuzz_u8(in) : i == 4 ? STAG : 0;
	header[0] = fuzz_u8(in) & 0x80;
	buf = fuzz_take(in, len);
	if (how & 0x10 && how & 2) { /* a Read Request that may be granted */
		memset(buf, 0, len);
		buf[15] = fuzz_u8(in);
		buf[19] = STAG;
		buf[27] = fuzz_u8(in);
	}
	if (len == XIW_RDMAP_ATOMIC_LEN && how & 2) { /* an Atomic Request that may be granted */
		memset(buf, 0, 20);
		buf[3] = fuzz_u8(in);
		buf[11] = how & 8 ? WORDS_STAG : STAG;
		buf[19] = fuzz_u8(in);
	}
	stag = STAG + (how & 8 ? fuzz_below(in, 65) : 0);
	message = (struct xiw_rdmap_in){ .tagged = header[0],
					 .qn = fuzz_below(in, 4),
					 .contiguous = how & 8,
					 .stag = stag,
					 .len = len,
					 .serial = serial(a, stag),
					 .rsvdulp = rsvdulp,
					 .buf = buf,
					 .header = header,
					 .header_len = header[0] ? 14 : 18,
					 .segment_len = len + 18 };
	verdict = xiw_rdmap_received(&a->s, &message, &invalidated);
	CHECK((verdict == XIW_RDMAP_ERROR) == (a->s.state == XIW_RDMAP_FAILED));
	CHECK((verdict == XIW_RDMAP_ENDED) == (a->s.state == XIW_RDMAP_TERMINATED));
	if (verdict == XIW_RDMAP_ERROR)
		check_terminate(&a->s.info.sent);
	if (verdict == XIW_RDMAP_ENDED)
		CHECK(*xiw_rdma_terminate_name(&a->s.info.received));
	/* Only what was granted changes a word. */
	CHECK(a->s.info.atomics_in != run || !memcmp(a->words, a->model, sizeof(a->words)));
	memcpy(a->model, a->words, sizeof(a->words));
	free(buf);
}

static void hostile(struct fuzz_in *in)
{
	struct side *a = &sides[0];
	struct xiw_rdmap_out out;

	xiw_rdmap_limits(&a->s, a->ird, 2);
	while (in->left && a->s.state == XIW_RDMAP_OPEN) {
		uint8_t how = fuzz_u8(in);
		uint32_t len = how & 0x10 ? XIW_RDMAP_READ_LEN : fuzz_below(in, 80);

		if (extended && (how & 0xb0) == 0x90)
			len = XIW_RDMAP_ATOMIC_LEN;
		if (how & 1) {
			post(a, in);
			if (xiw_rdmap_next(&a->s, &out) == 1 && how & 2)
				xiw_rdmap_sent(&a->s, out.id, true);
			continue;
		}
		hostile_message(a, in, how, len);
		/* Responses lie within the region, whatever the request was. */
		while (a->s.state == XIW_RDMAP_OPEN && xiw_rdmap_next(&a->s, &out) == 1) {
			if (out.from_region)
				CHECK(out.buf >= a->memory && out.len <= REGION &&
				      out.buf + out.len <= a->memory + REGION);
			if (how & 2)
				xiw_rdmap_sent(&a->s, out.id, true);
		}
		REACHES(a->s.info.atomics_in, "an atomic operation of a hostile peer");
	}
	if (a->s.state != XIW_RDMAP_OPEN)
		CHECK(xiw_rdmap_next(&a->s, &out) == 0);
	xiw_rdmap_abandon(&a->s);
	only_stag(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	uint8_t how = fuzz_u8(&in);

	extended = how & 2;
	for (uint32_t i = 0; i < REGION; i++)
		source[i] = fuzz_pattern(i);
	for (int i = 0; i < 2; i++)
		open_side(&sides[i], &in);
	if (how & 1)
		hostile(&in);
	else
		both_honest(&in);
	for (int i = 0; i < 2; i++)
		close_side(&sides[i]);
	return 0;
}
