// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What an RDMAP Stream keeps of a posted operation: pieces, copied octets, flags. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tests/unit/rdmap_rig.h"

TestSuite(rdmap_post, .init = rdmap_begin, .fini = rdmap_end);

static uint8_t octets[1 << 16];

static struct xiw_rdma_work work(enum xiw_rdma_kind kind, const struct iovec *iov,
				 unsigned int count)
{
	return (struct xiw_rdma_work){
		.size = sizeof(struct xiw_rdma_work),
		.kind = kind,
		.iov = iov,
		.iov_count = count,
		.stag = 0x99,
	};
}

/* Takes the next message, and gathers its octets. */
static uint32_t next(struct xiw_rdmap_out *out, uint8_t *to)
{
	struct xiw_vec whole;
	struct xiw_vec_cur at;

	cr_assert_eq(xiw_rdmap_next(&s, out), 1);
	whole = (struct xiw_vec){ out->buf, out->len };
	at = xiw_vec_at(out->npieces ? out->pieces : &whole, out->npieces ? out->npieces : 1, 0);
	cr_assert_eq(xiw_vec_take(&at, to, out->len), out->len);
	return out->len;
}

Test(rdmap_post, gathers)
{
	struct iovec iov[XIW_RDMA_PIECES_MAX + 1] = { 0 };
	struct xiw_rdma_work w = work(XIW_RDMA_WRITE, iov, XIW_RDMA_PIECES_MAX);
	uint8_t got[1024], expected[1024];
	struct xiw_rdmap_out out;
	uint32_t len = 0;

	for (size_t i = 0; i < sizeof(octets); i++)
		octets[i] = (uint8_t)(i * 7 + i / 256);
	for (uint32_t i = 0; i <= XIW_RDMA_PIECES_MAX; i++) {
		iov[i] = (struct iovec){ octets + 500 * i, i == 3 ? 0 : 2 * i };
		if (i == XIW_RDMA_PIECES_MAX)
			break;
		memcpy(expected + len, iov[i].iov_base, iov[i].iov_len);
		len += (uint32_t)iov[i].iov_len;
	}
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -ENOMEM); /* there is no room yet */
	cr_assert_eq(xiw_rdmap_make_rooms(&s), 0);
	/* Every place of the queue, and twice, so that a room is used again. */
	for (uint64_t i = 0; i < 2 * DEPTH; i++) {
		struct xiw_rdmap_op op;

		w.kind = i & 1 ? XIW_RDMA_SEND : XIW_RDMA_WRITE;
		cr_assert_eq(xiw_rdmap_post_work(&s, &w), 0);
		cr_expect_eq(next(&out, got), len);
		cr_expect_arr_eq(got, expected, len);
		xiw_rdmap_sent(&s, out.id, true);
		cr_expect(xiw_rdmap_completed(&s, &op) && op.op.len == len && !op.failed);
	}
	w.iov_count++;
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EINVAL);
}

/* The array of pieces is the caller's again, and so is the memory of inline octets. */
Test(rdmap_post, keeps_copies)
{
	struct iovec iov[3] = { { octets, 100 }, { octets + 200, 0 }, { octets + 300, 156 } };
	struct xiw_rdma_work w = work(XIW_RDMA_SEND, iov, 3);
	uint8_t got[XIW_RDMA_INLINE_MAX];
	struct xiw_rdmap_out out;

	cr_assert_eq(xiw_rdmap_make_rooms(&s), 0);
	memset(octets, 1, sizeof(octets));
	cr_assert_eq(xiw_rdmap_post_work(&s, &w), 0);
	w.flags = XIW_RDMA_INLINE;
	cr_assert_eq(xiw_rdmap_post_work(&s, &w), 0);
	w.iov_count = 1;
	cr_assert_eq(xiw_rdmap_post_work(&s, &w), 0);
	memset(iov, 0xff, sizeof(iov));
	memset(octets, 2, sizeof(octets));
	cr_expect_eq(next(&out, got), 256); /* not inline: the memory as it is now */
	cr_expect(out.npieces == 3 && got[0] == 2 && got[255] == 2);
	cr_expect_eq(next(&out, got), 256);
	cr_expect(!out.npieces && got[0] == 1 && got[255] == 1);
	cr_expect_eq(next(&out, got), 100);
	cr_expect(got[0] == 1 && got[99] == 1);
}

Test(rdmap_post, refuses)
{
	struct iovec iov[2] = { { octets, XIW_RDMA_INLINE_MAX }, { octets, 1 } };
	struct xiw_rdma_work w = work(XIW_RDMA_SEND, iov, 2);

	cr_assert_eq(xiw_rdmap_make_rooms(&s), 0);
	w.flags = XIW_RDMA_INLINE;
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EMSGSIZE);
	iov[1].iov_len = 0;
	iov[1].iov_base = NULL;
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), 0);
	iov[1].iov_len = 1;
	w.flags = 0;
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EINVAL); /* no memory */
	iov[1].iov_base = octets;
	iov[0].iov_len = UINT32_MAX;
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EMSGSIZE);
	iov[0].iov_len = SIZE_MAX;
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EMSGSIZE);
	iov[0].iov_len = 1;
	w.len = 2; /* the pieces have the length */
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EINVAL);
	w.len = 0;
	w.kind = XIW_RDMA_WRITE;
	w.to = UINT64_MAX - 1;
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EINVAL); /* TO wraps */
	w.to = 0;
	w.iov = NULL;
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EINVAL);
	w = work(XIW_RDMA_READ, NULL, 0);
	w.flags = XIW_RDMA_INLINE;
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EINVAL);
	cr_expect_eq(s.tail, 1);
}

/* ---- Reads into plain memory ------------------------------------------------------------------- */

static const struct xiw_ddp_region *sink_of(const struct xiw_rdmap_out *out,
					    struct xiw_rdmap_read *request)
{
	xiw_rdmap_read_decode(request, out->buf);
	return xiw_ddp_region_lookup(&table, request->sink_stag);
}

/* May the peer write there, read it, or use it from another stream? */
static bool may_anything(uint32_t stag)
{
	const struct xiw_ddp_region *r;

	return !xiw_ddp_region_check(&table, stag, PD, STREAM, XIW_DDP_REMOTE_WRITE, 0, 1, &r) ||
	       !xiw_ddp_region_check(&table, stag, PD, STREAM, XIW_DDP_REMOTE_READ, 0, 1, &r) ||
	       !xiw_ddp_region_check(&table, stag, PD, STREAM, XIW_DDP_REMOTE_ATOMIC, 0, 1, &r) ||
	       !xiw_ddp_region_check(&table, stag, PD, STREAM + 1, XIW_DDP_SINK, 0, 1, &r) ||
	       !xiw_ddp_region_check(&table, stag, PD + 1, STREAM, XIW_DDP_SINK, 0, 1, &r);
}

Test(rdmap_post, reads_into_plain_memory)
{
	const struct iovec one[] = { { octets + 64, 40 } };
	const struct iovec several[] = { { octets, 0 }, { octets + 9, 3 }, { octets + 99, 37 } };
	const struct xiw_ddp_region *r;
	struct xiw_rdmap_read request;
	struct xiw_rdmap_out out;
	struct xiw_rdmap_op op;
	struct xiw_rdma_work w;

	cr_assert_eq(xiw_rdmap_make_rooms(&s), 0);
	for (int i = 0; i < 2 * DEPTH; i++) {
		const uint64_t generation = table.generation;

		w = work(XIW_RDMA_READ, i & 1 ? several : one, i & 1 ? 3 : 1);
		cr_assert_eq(xiw_rdmap_post_work(&s, &w), 0);
		cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
		r = sink_of(&out, &request);
		cr_assert(r && request.size == 40 && request.sink_to == 0 && r->len == 40);
		cr_expect(r->access == XIW_DDP_SINK && r->stream == STREAM && r->pd == PD);
		cr_expect(!may_anything(request.sink_stag));
		if (i & 1) {
			const struct xiw_ddp_piece *piece = (void *)r->ptr;

			cr_assert(r->npieces == 2 && piece[0].len == 3 && piece[1].len == 37);
			cr_expect(piece[0].base == octets + 9 && piece[1].base == octets + 99);
		} else {
			cr_expect(!r->npieces && r->ptr == octets + 64);
		}
		xiw_rdmap_sent(&s, out.id, true);
		cr_assert_eq(in_tagged(0x42, request.sink_stag, 0, 40), XIW_RDMAP_HANDLED);
		cr_expect_null(xiw_ddp_region_lookup(&table, request.sink_stag));
		cr_expect_neq(table.generation,
			      generation); /* no stream may use what it has cached */
		cr_expect(xiw_rdmap_completed(&s, &op) && !op.failed && op.op.len == 40);
	}
}

/* The STag goes with its Read, however that ends, and a Write to it is a mistake of the peer. */
Test(rdmap_post, plain_memory_is_given_back)
{
	const struct iovec iov = { octets, 8 };
	struct xiw_rdma_work w = work(XIW_RDMA_READ, &iov, 1);
	const struct xiw_ddp_region *r;
	struct xiw_rdmap_read request;
	struct xiw_rdmap_out out;
	struct xiw_rdmap_op op;
	uint32_t invalidated;

	for (int how = 0; how < 4; how++) {
		cr_assert_eq(xiw_rdmap_post_work(&s, &w), 0); /* with DDP */
		cr_assert_eq(xiw_rdmap_post_work(&s, &w), 0); /* not yet */
		cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
		cr_assert_not_null(sink_of(&out, &request));
		if (how == 0)
			xiw_rdmap_peer_gone(&s);
		else if (how == 1)
			xiw_rdmap_abandon(&s);
		else if (how == 2)
			xiw_rdmap_drop_sinks(&s);
		else
			cr_assert_eq(
				in_untagged(0x44, 0, NULL, 0, request.sink_stag, &invalidated),
				XIW_RDMAP_DELIVER); /* section 5.3 lets it invalidate the STag */
		if (how == 3) {
			/* Somebody else has the STag by now. */
			struct xiw_ddp_region_opts o = { .ptr = octets,
							 .len = 8,
							 .access = XIW_DDP_SINK,
							 .fixed = true,
							 .stag = request.sink_stag };
			uint32_t stag;

			cr_assert_eq(xiw_ddp_region_register(&table, &o, &stag), 0);
			cr_expect_eq(in_tagged(0x42, stag, 0, 8), XIW_RDMAP_ERROR);
			xiw_rdmap_abandon(&s);
			cr_expect_not_null(xiw_ddp_region_lookup(&table, stag));
			cr_expect_eq(xiw_ddp_region_check(&table, stag, 0, STREAM, XIW_DDP_SINK, 0,
							  8, &r),
				     XIW_DDP_OK);
			continue;
		}
		cr_expect_null(xiw_ddp_region_lookup(&table, request.sink_stag));
		for (uint32_t stag = 1; stag < 64; stag++) {
			r = xiw_ddp_region_lookup(&table, stag);
			cr_expect(!r || r->ptr != octets, "case %d: %u is left", how, stag);
		}
		if (how < 2) {
			xiw_rdmap_sent(&s, out.id, true);
			cr_expect(xiw_rdmap_completed(&s, &op) && op.failed);
		}
		rdmap_anew();
	}
}

/* What comes early goes nowhere but to the sink of the oldest Read, as others may not be the peer's to write to. */
Test(rdmap_post, early_answers)
{
	const struct iovec iov[] = { { octets, 100 }, { octets + 200, 100 } };
	struct xiw_rdma_work w = work(XIW_RDMA_READ, iov, 1);
	struct xiw_rdmap_seg g = { .tagged = true, .control = 0x42, .len = 10 };
	struct xiw_rdmap_out out[2];
	struct xiw_rdmap_read request[2];

	for (int i = 0; i < 2; i++, w.iov = &iov[1]) {
		cr_assert_eq(xiw_rdmap_post_work(&s, &w), 0);
		cr_assert_eq(xiw_rdmap_next(&s, &out[i]), 1);
		cr_assert_not_null(sink_of(&out[i], &request[i]));
	}
	for (int i = 0; i < 2; i++) {
		g.stag = request[i].sink_stag;
		g.serial = xiw_ddp_region_lookup(&table, g.stag)->serial;
		for (g.to = 0; g.to <= 100; g.to += 10)
			cr_expect_eq(xiw_rdmap_check_segment(&s, &g),
				     i == 0 && g.to < 100 ? XIW_RDMAP_OK : XIW_RDMAP_STREAM);
		g.to = 0;
		g.serial++;
		cr_expect_eq(xiw_rdmap_check_segment(&s, &g), XIW_RDMAP_STREAM);
	}
}

Test(rdmap_post, refuses_plain_memory)
{
	const struct iovec iov[2] = { { octets, 8 }, { NULL, 8 } };
	struct xiw_rdma_work w = work(XIW_RDMA_READ, iov, 1);
	struct xiw_rdma_op op = { .kind = XIW_RDMA_READ, .buf = octets, .len = 8 };
	const uint64_t serial = table.serial;

	w.len = 8;
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EINVAL);
	w.len = 0;
	w.sink_stag = wr;
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EINVAL);
	w.sink_stag = 0;
	w.iov_count = 2;
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EINVAL);
	w.iov = (const struct iovec[]){ iov[0], iov[0] };
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -ENOMEM); /* no room for the pieces */
	w.iov_count = 1;
	w.flags = XIW_RDMA_INLINE;
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EINVAL);
	op.sink_stag = wr;
	cr_expect_eq(xiw_rdmap_post(&s, &op), -EINVAL);
	op.sink_stag = 0;
	cr_expect_eq(table.serial, serial); /* no STag was made */
	for (int i = 0; i < DEPTH; i++)
		cr_expect_eq(xiw_rdmap_post(&s, &op), 0);
	cr_expect_eq(xiw_rdmap_post(&s, &op), -EAGAIN);
	cr_expect_eq(table.serial, serial + DEPTH);
}

/* ---- rights that change in order --------------------------------------------------------------- */

static int post_change(enum xiw_rdma_kind kind, unsigned int flags, uint32_t stag, uint32_t rights)
{
	struct xiw_rdma_work w = { .size = sizeof(w), .kind = kind, .flags = flags };

	return xiw_rdmap_post_change(&s, &w, xiw_ddp_region_lookup(&table, stag), rights);
}

static uint32_t rights_of(uint32_t stag)
{
	return xiw_ddp_region_lookup(&table, stag)->access;
}

Test(rdmap_post, changes_rights_in_order)
{
	const uint32_t stag = region(PD, STREAM, 0), both = XIW_DDP_REMOTE_WRITE | XIW_DDP_SINK;
	struct xiw_rdmap_out out;
	struct xiw_rdmap_op op;

	cr_assert_eq(post(XIW_RDMA_SEND, 0, 1), 0);
	cr_assert_eq(post_change(XIW_RDMA_REGISTER, 0, stag, XIW_DDP_REMOTE_WRITE), 0);
	cr_assert_eq(post(XIW_RDMA_READ, 0, 8), 0);
	cr_assert_eq(post_change(XIW_RDMA_LOCAL_INVALIDATE, XIW_RDMA_FENCE, stag, 0), 0);
	cr_assert_eq(post(XIW_RDMA_SEND, 0, 1), 0);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1); /* the first Send */
	cr_expect_eq(rights_of(stag), 0);
	xiw_rdmap_sent(&s, out.id, true);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1); /* the Read, behind the change */
	cr_expect(out.qn == 1 && rights_of(stag) == both);
	cr_expect(xiw_rdmap_completed(&s, &op) && op.op.kind == XIW_RDMA_SEND);
	cr_expect(xiw_rdmap_completed(&s, &op) && op.op.kind == XIW_RDMA_REGISTER && !op.failed);
	xiw_rdmap_sent(&s, out.id, true);
	cr_expect_eq(xiw_rdmap_next(&s, &out), 0); /* the fence */
	cr_expect_eq(rights_of(stag), both);
	cr_expect_eq(in_tagged(0x42, wr, BASE, 8), XIW_RDMAP_HANDLED);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_expect(out.qn == 0 && rights_of(stag) == 0);
	xiw_rdmap_sent(&s, out.id, true);
	for (int i = 0; i < 3; i++)
		cr_expect(xiw_rdmap_completed(&s, &op) && !op.failed);
	cr_expect(xiw_rdmap_idle(&s));
}

/* The region is not there any more when its turn comes. */
Test(rdmap_post, changes_what_is_gone)
{
	struct xiw_rdmap_out out;
	struct xiw_rdmap_op op;

	for (int i = 0; i < 2; i++) {
		const enum xiw_rdma_kind kind = i ? XIW_RDMA_REGISTER : XIW_RDMA_LOCAL_INVALIDATE;
		const uint32_t stag = region(PD, 0, 0);
		struct xiw_ddp_region_opts again = {
			.ptr = memory,
			.len = 8,
			.pd = PD,
			.access = XIW_DDP_SINK,
			.fixed = true,
		};

		cr_assert_eq(post(XIW_RDMA_READ, 0, 8), 0);
		cr_assert_eq(post_change(kind, XIW_RDMA_FENCE, stag, i ? XIW_DDP_REMOTE_READ : 0),
			     0);
		cr_assert_eq(post(XIW_RDMA_SEND, 0, 1), 0);
		cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
		xiw_rdmap_sent(&s, out.id, true);
		xiw_ddp_region_invalidate(&table, stag);
		again.stag = stag;
		cr_assert_eq(xiw_ddp_region_register(&table, &again, &again.stag), 0);
		cr_expect_eq(in_tagged(0x42, wr, BASE, 8), XIW_RDMAP_HANDLED);
		cr_expect_eq(xiw_rdmap_next(&s, &out), i ? -EPROTO : 1);
		cr_expect_eq(rights_of(stag), XIW_DDP_SINK); /* another region's */
		cr_expect(xiw_rdmap_completed(&s, &op) && op.op.kind == XIW_RDMA_READ);
		cr_expect(xiw_rdmap_completed(&s, &op) && op.op.kind == kind && op.failed == i);
		cr_expect_eq(s.state, i ? XIW_RDMAP_FAILED : XIW_RDMAP_OPEN);
		cr_expect_eq(op.cause, i ? XIW_CAUSE_LOCAL_PROTECTION : XIW_CAUSE_NONE);
		rdmap_anew();
	}
}

Test(rdmap_post, refuses_changes)
{
	struct xiw_rdma_work w = work(XIW_RDMA_REGISTER, NULL, 0);

	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EINVAL);
	cr_expect_eq(post_change(XIW_RDMA_REGISTER, XIW_RDMA_INLINE, wr, 0), -EINVAL);
	cr_expect_eq(post_change(XIW_RDMA_REGISTER, 0, other_pd, 0), -EACCES);
	cr_expect_eq(post_change(XIW_RDMA_LOCAL_INVALIDATE, 0, other_stream, 0), -EACCES);
	for (int i = 0; i < DEPTH; i++)
		cr_expect_eq(post_change(XIW_RDMA_LOCAL_INVALIDATE, 0, wr, 0), 0);
	cr_expect_eq(post_change(XIW_RDMA_LOCAL_INVALIDATE, 0, wr, 0), -EAGAIN);
}
