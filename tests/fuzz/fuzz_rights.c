// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Regions whose rights change while data comes: by operations in order with Sends and Reads (Register, Local
 * Invalidate), at once by the application, and by the peer's Send with Invalidate. DDP and RDMAP together, against a
 * table of rights. An octet is placed or read only where that is allowed at that moment, in its turn or early; a change
 * takes effect with its turn and not before, and completes once, in the order posted; a Register of a region that is
 * gone ends the stream, and nothing else does but what the peer may not do.
 */
#include <errno.h>

#include "ddp/recv.h"
#include "rdmap/stream.h"
#include "tests/fuzz/fuzz.h"

enum { REGIONS = 3, LEN = 40, BASE = 100, OPS = 6, LIMIT = 2, PD = 4, STREAM = 2, BUF = 32 };

struct model_region {
	bool there;
	uint64_t serial;
	uint32_t access;
	uint8_t memory[LEN], want[LEN];
};

/* An operation that has not been passed on. */
struct model_op {
	enum xiw_rdma_kind kind;
	uint32_t region, access;
	uint64_t serial;
	bool fence;
};

/* A Read of the peer that has not been answered. */
struct model_answer {
	uint32_t region, off, len;
	uint64_t serial;
};

static struct model_region regions[REGIONS];
static uint64_t serials;
static struct model_op ops[OPS];
static struct model_answer answers[LIMIT];
static uint32_t nops, nanswers, reads_open;
static uint64_t posted, completed;
static struct xiw_ddp_table table;
static struct xiw_ddp_rx *rx;
static struct xiw_rdmap_stream rdmap;
static uint32_t msn[2], open_len; /* of the peer's; octets of the Write that is under way */
static bool under_way, over;
static uint8_t bufs[2][BUF], stamp;

/* ---- what is set up ------------------------------------------------------------------------------- */

static int number(void *ctx, uint32_t *n)
{
	(void)ctx;
	*n = 1000;
	return 0;
}

static void open_stream(void)
{
	const struct xiw_ddp_rx_opts d = {
		.table = &table, .pd = PD, .stream = STREAM, .depth = 1, .nqueues = 3
	};
	const struct xiw_rdmap_opts r = {
		.table = &table, .pd = PD, .stream = STREAM, .depth = OPS, .ird_max = LIMIT
	};

	CHECK(!xiw_ddp_rx_create(&rx, &d) && !xiw_rdmap_init(&rdmap, &r));
	xiw_rdmap_limits(&rdmap, LIMIT, LIMIT);
	for (uint32_t qn = 0; qn < 2; qn++) {
		CHECK(!xiw_ddp_rx_post(rx, qn, bufs[qn], BUF, 0));
		msn[qn] = 1;
	}
	nops = nanswers = reads_open = open_len = 0;
	posted = completed = 0;
	under_way = over = false;
}

/* Operations that the stream has not completed fail, each once. */
static void close_stream(void)
{
	struct xiw_rdmap_op op;

	xiw_rdmap_abandon(&rdmap);
	for (uint64_t id = rdmap.head; id != rdmap.next; id++)
		if (!xiw_rdmap_op_at(&rdmap, id)->sent)
			xiw_rdmap_sent(&rdmap, id, false);
	while (xiw_rdmap_completed(&rdmap, &op))
		CHECK(op.op.user_data == completed++);
	CHECK(completed == posted);
	xiw_rdmap_free(&rdmap);
	xiw_ddp_rx_free(rx);
}

static void open_region(uint32_t i, uint32_t access)
{
	struct model_region *r = &regions[i];
	const struct xiw_ddp_region_opts o = { .ptr = r->memory,
					       .len = LEN,
					       .base = BASE,
					       .access = access,
					       .pd = PD,
					       .stream = STREAM,
					       .fixed = true,
					       .stag = i };
	uint32_t stag;

	CHECK(xiw_ddp_region_register(&table, &o, &stag) == (r->there ? -EEXIST : 0));
	if (r->there)
		return;
	r->there = true;
	r->access = access;
	r->serial = ++serials;
	CHECK(xiw_ddp_region_lookup(&table, i)->serial == r->serial);
}

static void close_region(uint32_t i)
{
	CHECK(xiw_ddp_region_invalidate(&table, i) == (regions[i].there ? 0 : -ENOENT));
	regions[i].there = false;
}

static bool may(uint32_t i, uint32_t access, uint32_t off, uint32_t len)
{
	return regions[i].there && regions[i].access & access && off + len <= LEN;
}

/* ---- our operations --------------------------------------------------------------------------------- */

static void count_post(int err, struct model_op op)
{
	CHECK(err == (rdmap.tail - rdmap.head == OPS && err ? -EAGAIN : 0), "%d", err);
	if (err)
		return;
	CHECK(nops < OPS);
	ops[nops++] = op;
	posted++;
}

static void post_change(struct fuzz_in *in, bool fence)
{
	const uint32_t i = fuzz_below(in, REGIONS), how = fuzz_u8(in);
	const struct xiw_ddp_region *r = xiw_ddp_region_lookup(&table, i);
	const bool gives = how & 4;
	const uint32_t access = gives ? 1 + how % 3 : 0;
	const struct xiw_rdma_work w = {
		.kind = gives ? XIW_RDMA_REGISTER : XIW_RDMA_LOCAL_INVALIDATE,
		.flags = fence ? XIW_RDMA_FENCE : 0,
		.user_data = posted,
	};

	CHECK(!!r == regions[i].there);
	if (r)
		count_post(xiw_rdmap_post_change(&rdmap, &w, r, access),
			   (struct model_op){ w.kind, i, access, regions[i].serial, fence });
}

static void post(struct fuzz_in *in)
{
	const uint8_t how = fuzz_u8(in);
	const bool fence = how & 4;
	const struct xiw_rdma_op op = {
		.kind = how & 1 ? XIW_RDMA_READ : XIW_RDMA_SEND,
		.flags = fence ? XIW_RDMA_FENCE : 0,
		.user_data = posted,
	};

	if (how & 2)
		post_change(in, fence);
	else
		count_post(xiw_rdmap_post(&rdmap, &op),
			   (struct model_op){ op.kind, 0, 0, 0, fence });
}

static void complete(void)
{
	struct xiw_rdmap_op op;

	while (xiw_rdmap_completed(&rdmap, &op)) {
		CHECK(op.op.user_data == completed++);
		CHECK(!op.failed ||
		      (rdmap.state == XIW_RDMAP_FAILED && op.op.kind == XIW_RDMA_REGISTER));
	}
}

static bool op_waits(void)
{
	return !nops || (ops[0].fence && reads_open) ||
	       (ops[0].kind == XIW_RDMA_READ && reads_open == LIMIT);
}

static struct model_op pull_op(void)
{
	const struct model_op op = ops[0];

	CHECK(nops);
	memmove(ops, ops + 1, --nops * sizeof(*ops));
	return op;
}

/* The changes whose turn has come. False: a region that is to get rights is gone. */
static bool model_changes(void)
{
	while (!op_waits() && xiw_rdmap_is_change(ops[0].kind)) {
		const struct model_op op = pull_op();
		struct model_region *r = &regions[op.region];
		const bool same = r->there && r->serial == op.serial;

		if (same)
			r->access = op.access;
		else if (op.kind == XIW_RDMA_REGISTER)
			return false;
	}
	return true;
}

static bool may_answer(const struct model_answer *a)
{
	return may(a->region, XIW_DDP_REMOTE_READ, a->off, a->len) &&
	       regions[a->region].serial == a->serial;
}

/* DDP asks again while it sends the answer. The application may have changed something meanwhile. */
static void send_answer(struct fuzz_in *in, const struct xiw_rdmap_out *out)
{
	const struct model_answer a = answers[0];

	CHECK(nanswers && may_answer(&a) && out->len == a.len);
	CHECK(out->buf == regions[a.region].memory + a.off);
	memmove(answers, answers + 1, --nanswers * sizeof(*answers));
	if (fuzz_u8(in) & 1) {
		regions[a.region].access = fuzz_below(in, 4);
		CHECK(xiw_ddp_region_set_access(&table, a.region, regions[a.region].access) == 0);
	}
	over = !xiw_rdmap_readable(&rdmap, out->id, fuzz_below(in, a.len));
	CHECK(over == !may_answer(&a));
	CHECK(over == (rdmap.state == XIW_RDMAP_FAILED));
	xiw_rdmap_sent(&rdmap, out->id, !over);
}

static void pass_on(struct fuzz_in *in)
{
	const bool good = model_changes();
	const uint64_t answered = rdmap.answer_next;
	struct xiw_rdmap_out out;
	const int got = xiw_rdmap_next(&rdmap, &out);

	for (uint32_t i = 0; i < REGIONS; i++) {
		const struct xiw_ddp_region *r = xiw_ddp_region_lookup(&table, i);

		CHECK(!!r == regions[i].there);
		CHECK(!r || !((r->access ^ regions[i].access) & ~XIW_DDP_SINK));
	}
	if (!good || got < 0) {
		CHECK(got == -EPROTO && rdmap.state == XIW_RDMAP_FAILED);
		CHECK(!good || (nanswers && !may_answer(&answers[0])));
		over = true;
	} else if (!got) {
		CHECK(op_waits() && !nanswers);
	} else if (rdmap.answer_next != answered) {
		send_answer(in, &out);
	} else {
		CHECK(!op_waits());
		reads_open += pull_op().kind == XIW_RDMA_READ;
		xiw_rdmap_sent(&rdmap, out.id, true);
	}
	complete();
}

/* ---- the peer's messages ------------------------------------------------------------------------------ */

static void received(const struct xiw_ddp_msg *m, enum xiw_rdmap_result expected)
{
	static const uint8_t header[XIW_DDP_HDR_MAX];
	const struct xiw_rdmap_in in = { .tagged = m->tagged,
					 .contiguous = m->contiguous,
					 .qn = m->qn,
					 .stag = m->stag,
					 .to = m->to,
					 .len = m->len,
					 .serial = m->serial,
					 .rsvdulp = m->rsvdulp,
					 .buf = m->buf.base,
					 .header = header,
					 .header_len = m->tagged ? XIW_DDP_TAGGED_LEN
								 : XIW_DDP_UNTAGGED_LEN };
	uint32_t invalidated;

	CHECK(xiw_rdmap_received(&rdmap, &in, &invalidated) == expected);
	over = expected == XIW_RDMAP_ERROR;
	CHECK(over == (rdmap.state == XIW_RDMAP_FAILED));
	complete();
}

static bool checked(const struct xiw_ddp_hdr *h, uint32_t len, uint64_t serial, bool in_turn)
{
	const struct xiw_rdmap_seg g = { .tagged = h->tagged,
					 .control = h->rsvdulp[0],
					 .qn = h->qn,
					 .stag = h->stag,
					 .to = h->to,
					 .len = len,
					 .serial = serial,
					 .in_turn = in_turn,
					 .before = rx->tagged.open ? rx->tagged.len : 0 };

	return !xiw_rdmap_check_segment(&rdmap, &g);
}

/* A segment of a Write, in its turn, or early: then it is only placed. */
static void write_comes(struct fuzz_in *in)
{
	const uint8_t how = fuzz_u8(in);
	const bool early = how & 1;
	const uint32_t i = fuzz_below(in, REGIONS), off = fuzz_below(in, LEN + 1),
		       len = 1 + fuzz_below(in, 16);
	const struct xiw_ddp_hdr h = { .tagged = true,
				       .last = how & 2,
				       .dv = XIW_DDP_VERSION,
				       .len = XIW_DDP_TAGGED_LEN,
				       .stag = i,
				       .to = BASE + off,
				       .rsvdulp = { xiw_rdmap_control(XIW_RDMAP_OP_WRITE) } };
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;
	const enum xiw_ddp_error err = xiw_ddp_rx_place(rx, &h, len, &p);

	CHECK(!err == may(i, XIW_DDP_REMOTE_WRITE, off, len), "%x", err);
	if (err) {
		over = !early;
		return;
	}
	CHECK(p.dst == regions[i].memory + off && p.serial == regions[i].serial);
	CHECK(checked(&h, len, p.serial, !early));
	memset(p.dst, ++stamp, len);
	memset(regions[i].want + off, stamp, len);
	if (early)
		return;
	CHECK(!xiw_ddp_rx_deliver(rx, &h, len, &m));
	open_len += len;
	under_way = !h.last;
	CHECK(m.complete == h.last);
	if (!m.complete)
		return;
	CHECK(m.tagged && m.len == open_len);
	REACHES(m.contiguous && m.len > len, "a Write of several segments that are allowed");
	CHECK(!m.contiguous || m.serial == regions[i].serial);
	open_len = 0;
	received(&m, XIW_RDMAP_HANDLED);
}

/* A message of one segment to a queue, whose buffer is posted again. */
static bool untagged_comes(uint32_t qn, uint8_t opcode, uint32_t stag, const uint8_t *octets,
			   uint32_t len, struct xiw_ddp_msg *m)
{
	struct xiw_ddp_hdr h = { .last = true,
				 .dv = XIW_DDP_VERSION,
				 .len = XIW_DDP_UNTAGGED_LEN,
				 .qn = qn,
				 .msn = msn[qn],
				 .rsvdulp = { xiw_rdmap_control(opcode) } };
	struct xiw_ddp_place p;

	if (under_way) /* messages are not mixed */
		return false;
	h.rsvdulp[XIW_RDMAP_OFF_INVALIDATE + 3] = (uint8_t)stag;
	CHECK(!xiw_ddp_rx_place(rx, &h, len, &p) && checked(&h, len, 0, true));
	if (len)
		memcpy(p.dst, octets, len);
	CHECK(!xiw_ddp_rx_deliver(rx, &h, len, m) && m->complete && !m->tagged);
	msn[qn]++;
	CHECK(!xiw_ddp_rx_post(rx, qn, bufs[qn], BUF, 0));
	return true;
}

static void send_comes(struct fuzz_in *in)
{
	const uint8_t how = fuzz_u8(in);
	const uint32_t i = fuzz_below(in, REGIONS);
	const bool invalidates = how & 1, good = !invalidates || regions[i].there;
	struct xiw_ddp_msg m;

	if (!untagged_comes(XIW_RDMAP_QN_SEND,
			    invalidates ? XIW_RDMAP_OP_SEND_INV : XIW_RDMAP_OP_SEND, i, bufs[1],
			    how >> 4, &m))
		return;
	received(&m, good ? XIW_RDMAP_DELIVER : XIW_RDMAP_ERROR);
	REACHES(good && invalidates, "a Send that invalidates");
	REACHES(!good, "a Send that may not invalidate");
	if (!invalidates)
		return;
	regions[i].there = false;
	CHECK(!xiw_ddp_region_lookup(&table, i));
}

static void read_comes(struct fuzz_in *in)
{
	const struct model_answer a = { .region = fuzz_below(in, REGIONS),
					.off = fuzz_below(in, LEN + 1),
					.len = 1 + fuzz_below(in, LEN) };
	const struct xiw_rdmap_read read = {
		.sink_stag = 77, .size = a.len, .src_stag = a.region, .src_to = BASE + a.off
	};
	const bool good = may(a.region, XIW_DDP_REMOTE_READ, a.off, a.len) && nanswers < LIMIT;
	uint8_t request[XIW_RDMAP_READ_LEN];
	struct xiw_ddp_msg m;

	xiw_rdmap_read_encode(&read, request);
	if (!untagged_comes(XIW_RDMAP_QN_READ, XIW_RDMAP_OP_READ_REQUEST, 0, request,
			    sizeof(request), &m))
		return;
	received(&m, good ? XIW_RDMAP_HANDLED : XIW_RDMAP_ERROR);
	REACHES(good, "a Read that is allowed");
	REACHES(!good, "a Read that is not allowed");
	if (!good)
		return;
	answers[nanswers] = a;
	answers[nanswers++].serial = regions[a.region].serial;
}

/* The answer to our oldest Read, which has no octets. */
static void answer_comes(void)
{
	const struct xiw_ddp_msg m = {
		.tagged = true,
		.rsvdulp = { xiw_rdmap_control(XIW_RDMAP_OP_READ_RESPONSE) },
	};

	if (!reads_open || under_way)
		return;
	reads_open--;
	received(&m, XIW_RDMAP_HANDLED);
}

/* ---- what happens next -------------------------------------------------------------------------------- */

static void change_at_once(struct fuzz_in *in)
{
	const uint8_t how = fuzz_u8(in);
	const uint32_t i = fuzz_below(in, REGIONS);
	const uint64_t before = table.generation;
	const uint32_t was = regions[i].access;

	if (how & 1) {
		CHECK(xiw_ddp_region_set_access(&table, i, how >> 6) ==
		      (regions[i].there ? 0 : -ENOENT));
		if (!regions[i].there)
			return;
		regions[i].access = how >> 6;
		/* By this, whoever keeps the outcome of a check knows that it does not hold any more. */
		CHECK(!(was & ~regions[i].access) || table.generation != before);
	} else if (how & 2) {
		CHECK(!regions[i].there || (close_region(i), table.generation != before));
	} else {
		open_region(i, how >> 6);
	}
}

static void step(struct fuzz_in *in)
{
	switch (fuzz_u8(in) & 7) {
	case 0:
		change_at_once(in);
		break;
	case 1:
		send_comes(in);
		break;
	case 2:
		read_comes(in);
		break;
	case 3:
		answer_comes();
		break;
	case 4:
		write_comes(in);
		break;
	case 5:
		post(in);
		break;
	default:
		pass_on(in);
		break;
	}
	for (uint32_t i = 0; i < REGIONS; i++)
		CHECK(!memcmp(regions[i].memory, regions[i].want, LEN));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };

	memset(regions, 0, sizeof(regions));
	serials = 0;
	stamp = 0;
	xiw_ddp_table_init(&table, number, NULL);
	for (uint32_t i = 0; i < REGIONS; i++)
		open_region(i, XIW_DDP_REMOTE_WRITE | XIW_DDP_REMOTE_READ);
	open_stream();
	while (in.left) {
		step(&in);
		if (over) {
			close_stream();
			open_stream();
		}
	}
	close_stream();
	xiw_ddp_table_free(&table);
	return 0;
}
