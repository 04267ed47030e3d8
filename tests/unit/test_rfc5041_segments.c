// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Rules of RFC 5041 for every segment of a message, and for everything after an error. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "ddp/tx.h"
#include "tests/unit/ddp_rig.h"

/* ---- the Data Source: sections 4 and 5.2 ----------------------------------------------------------- */

enum { MAX_SEGS = 4096 };
static const uint8_t ulp[5] = { 0xa1, 0xb2, 0xc3, 0xd4, 0xe5 };

struct cut {
	bool tagged;
	uint32_t len, mulpdu, step; /* the MULPDU changes by this with each segment */
};

/* Sends one message and checks the octets of each header. */
static void check_cut(const struct cut *c)
{
	const uint32_t hlen = c->tagged ? 14 : 18;
	struct xiw_ddp_tx_msg m;
	struct xiw_ddp_tx tx;
	uint8_t first[18] = { 0 }, hdr[18];
	uint64_t sent = 0, next = 0x1122334455667788;
	uint32_t segs = 0, mulpdu = c->mulpdu;
	struct xiw_ddp_seg s;
	bool last = false;

	cr_assert_eq(xiw_ddp_tx_init(&tx, 8, 0), 0);
	if (c->tagged)
		cr_assert_eq(xiw_ddp_tx_tagged(&m, 0xdeadbeef, next, c->len, ulp[0]), 0);
	else
		cr_assert_eq(xiw_ddp_tx_untagged(&tx, &m, 7, c->len, ulp), 0);
	if (!c->tagged)
		next = 0; /* section 4.3: MO of the first octet */
	for (; xiw_ddp_tx_next(&m, mulpdu, &s) == 1; mulpdu += c->step, segs++) {
		uint64_t at = 0;

		cr_assert_not(last, "section 4.1: L on no other than the last");
		last = s.hdr.last;
		memset(hdr, 0, sizeof(hdr));
		cr_assert_eq(xiw_ddp_hdr_encode(&s.hdr, hdr), hlen);
		cr_assert_leq(hlen + s.len, mulpdu, "section 5.2");
		cr_assert_leq(hlen + s.len, 64768, "RFC 5044 section 3");
		cr_assert(s.len || !c->len, "a segment without payload");
		/* Section 4.1: T, L, reserved bits 0, and DV 1. */
		cr_assert_eq(hdr[0], (c->tagged ? 0x80 : 0) | (last ? 0x40 : 0) | 1);
		/* Sections 4.2 and 4.3: the offset of the segment's first octet. */
		for (int i = 0; i < (c->tagged ? 8 : 4); i++)
			at = at << 8 | hdr[(c->tagged ? 6 : 14) + i];
		cr_assert_eq(at, next, "segment %u", segs);
		cr_assert_eq(s.off, sent);
		next += s.len;
		sent += s.len;
		/* RsvdULP, STag, QN and MSN are those of the first segment, which the ULP gave. */
		hdr[0] &= ~0x40;
		if (!segs)
			memcpy(first, hdr, sizeof(hdr));
		cr_assert_eq(memcmp(hdr, first, c->tagged ? 6 : 14), 0, "segment %u", segs);
	}
	cr_assert(last, "section 4.1: L on the last");
	cr_assert_eq(sent, c->len, "section 5.2: all the data");
	cr_assert_eq(segs == 1, hlen + c->len <= c->mulpdu);
	if (c->tagged)
		cr_assert_eq(memcmp(first + 1, "\xa1\xde\xad\xbe\xef", 5), 0);
	else
		cr_assert_eq(memcmp(first + 1, "\xa1\xb2\xc3\xd4\xe5\0\0\0\7\0\0\0\1", 13), 0);
	xiw_ddp_tx_free(&tx);
}

Test(rfc5041, segments_of_a_message)
{
	static const struct cut table[] = {
		/* No octets, one octet, exactly full, one more; with the smallest MULPDU and the largest. */
		{ true, 0, 128, 0 },
		{ true, 1, 128, 0 },
		{ true, 114, 128, 0 },
		{ true, 115, 128, 0 },
		{ true, 10000, 128, 0 },
		{ false, 0, 128, 0 },
		{ false, 1, 128, 0 },
		{ false, 110, 128, 0 },
		{ false, 111, 128, 0 },
		{ false, 10000, 128, 0 },
		{ true, 64754, 64768, 0 },
		{ true, 64755, 64768, 0 },
		{ true, 1u << 24, 64768, 0 },
		{ false, 64750, 64768, 0 },
		{ false, 64751, 64768, 0 },
		{ false, 1u << 24, 64768, 0 },
		/* Section 3: the MULPDU changes, but segments that were cut before do not. */
		{ true, 100000, 128, 3 },
		{ false, 100000, 1454, -1u },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		check_cut(&table[i]);
}

/* Sections 4.3 and 5.3: MSNs count per queue, in the order in which messages begin, whatever is between them. */
Test(rfc5041, messages_in_order)
{
	uint32_t want[3] = { 1, 1, 1 };
	struct xiw_ddp_tx_msg m;
	struct xiw_ddp_seg s;
	struct xiw_ddp_tx tx;

	cr_assert_eq(xiw_ddp_tx_init(&tx, 3, 0), 0);
	tx.next_msn[2] = want[2] = 0xfffffff0;
	for (uint32_t i = 0; i < 300; i++) {
		uint32_t qn = i * 7 / 5 % 3;

		cr_assert_eq(xiw_ddp_tx_untagged(&tx, &m, qn, i, ulp), 0);
		cr_assert_eq(m.hdr.msn, want[qn]++);
		cr_assert_eq(xiw_ddp_tx_next(&m, 1000, &s), 1);
		cr_assert_eq(s.hdr.msn, want[qn] - 1);
		/* A Tagged message takes no MSN. */
		cr_assert_eq(xiw_ddp_tx_tagged(&m, 1, i, i, 0), 0);
	}
	cr_assert_lt(want[2], 100, "passed the wrap");
	xiw_ddp_tx_free(&tx);
}

/* ---- the Data Sink: sections 7.1 and 8.3 ----------------------------------------------------------- */

static void region(uint32_t stag, uint32_t pd, uint32_t stream)
{
	region_add(stag, pd, stream, XIW_DDP_REMOTE_WRITE, BASE, mem);
}

static void open_stream(void)
{
	ddp_begin();
	region(STAG + 1, PD + 1, XIW_DDP_ANY_STREAM);
	region(STAG + 2, PD, STREAM + 1);
	for (int i = 0; i < 2; i++)
		post_buf(0, i);
}

static struct xiw_ddp_hdr version(struct xiw_ddp_hdr h)
{
	h.dv = 0;
	return h;
}

/* What the engine does with a segment in its turn and with a right CRC. */
static enum xiw_ddp_error receive_in_turn(struct xiw_ddp_hdr h, uint32_t len,
					  struct xiw_ddp_place *p, struct xiw_ddp_msg *m)
{
	enum xiw_ddp_error err = xiw_ddp_rx_place(rx, &h, len, p);

	m->complete = false;
	if (err) {
		xiw_ddp_rx_fail(rx, err);
		return err;
	}
	return xiw_ddp_rx_deliver(rx, &h, len, m);
}

/* Section 7.1: the segment is not placed, the error is reported, and each later segment is dropped. */
static void fails(const char *name, struct xiw_ddp_hdr h, uint32_t len, enum xiw_ddp_error want)
{
	struct xiw_ddp_place p = { .dst = mem };
	struct xiw_ddp_msg m;
	struct xiw_ddp_buf b;
	uint32_t qn;

	open_stream();
	cr_assert_eq(receive_in_turn(tagged(STAG, BASE, true), 10, &p, &m), XIW_DDP_OK);
	cr_assert(p.dst && m.complete);
	cr_expect_eq(receive_in_turn(h, len, &p, &m), want, "%s", name);
	cr_expect(!p.dst && !m.complete, "%s", name);

	cr_expect_eq(receive_in_turn(tagged(STAG, BASE, true), 10, &p, &m), want, "%s", name);
	cr_expect(!p.dst && !m.complete, "%s", name);
	cr_expect_eq(receive_in_turn(untagged(0, 1, 0, true), 10, &p, &m), want, "%s", name);
	cr_expect(!p.dst && !m.complete, "%s", name);
	cr_expect_eq(receive_in_turn(version(tagged(0, 0, true)), 0, &p, &m), want,
		     "%s: the first stays", name);
	cr_expect_eq(xiw_ddp_rx_post(rx, 0, bufs[2], BUF, 0), -ESHUTDOWN, "%s", name);

	/* Section 6.2.2: outstanding buffers are completed. */
	for (uint64_t i = 0; i < 2; i++)
		cr_expect(xiw_ddp_rx_flush(rx, &qn, &b) && b.user_data == 100 + i, "%s", name);
	cr_expect_not(xiw_ddp_rx_flush(rx, &qn, &b), "%s", name);
	ddp_end();
}

Test(rfc5041, nothing_after_an_error)
{
	fails("STag", tagged(99, BASE, true), 1, XIW_DDP_TAGGED_STAG);
	fails("bounds", tagged(STAG, BASE + LEN, true), 1, XIW_DDP_TAGGED_BOUNDS);
	fails("other PD", tagged(STAG + 1, BASE, true), 1, XIW_DDP_TAGGED_NOT_STREAM);
	fails("other stream", tagged(STAG + 2, BASE, true), 1, XIW_DDP_TAGGED_NOT_STREAM);
	fails("wrap", tagged(STAG, UINT64_MAX, true), 2, XIW_DDP_TAGGED_TO_WRAP);
	fails("version", version(tagged(STAG, BASE, true)), 1, XIW_DDP_TAGGED_VERSION);
	fails("QN", untagged(3, 1, 0, true), 1, XIW_DDP_UNTAGGED_QN);
	fails("no buffer", untagged(0, 3, 0, true), 1, XIW_DDP_UNTAGGED_NO_BUFFER);
	fails("MSN", untagged(0, 0x80000000, 0, true), 1, XIW_DDP_UNTAGGED_MSN_RANGE);
	fails("MO", untagged(0, 1, BUF, true), 1, XIW_DDP_UNTAGGED_MO);
	fails("too long", untagged(0, 1, 0, true), BUF + 1, XIW_DDP_UNTAGGED_TOO_LONG);
	fails("version", version(untagged(0, 1, 0, true)), 1, XIW_DDP_UNTAGGED_VERSION);
}

/* Section 8.2: a stream can use an STag of its domain that is bound to no stream or to this one. */
Test(rfc5041, stag_association)
{
	struct xiw_ddp_rx_opts o = { .table = &ddp_table, .nqueues = 1, .depth = 1 };
	struct xiw_ddp_rx *r[2][2];

	xiw_ddp_table_init(&ddp_table, NULL, NULL);
	for (uint32_t pd = 0; pd < 2; pd++) {
		region(10 * pd, pd, XIW_DDP_ANY_STREAM);
		region(10 * pd + 1, pd, 1);
		region(10 * pd + 2, pd, 2);
		for (uint32_t stream = 1; stream <= 2; stream++) {
			o.pd = pd;
			o.stream = stream;
			cr_assert_eq(xiw_ddp_rx_create(&r[pd][stream - 1], &o), 0);
		}
	}
	for (uint32_t i = 0; i < 24; i++) {
		uint32_t pd = i / 12, stream = 1 + i / 6 % 2, of = i % 6 / 3, bound = i % 3;
		struct xiw_ddp_hdr h = tagged(10 * of + bound, BASE, true);
		bool may = pd == of && (!bound || bound == stream);
		struct xiw_ddp_place p;

		rx = r[pd][stream - 1];
		cr_expect_eq(xiw_ddp_rx_place(rx, &h, 1, &p),
			     may ? XIW_DDP_OK : XIW_DDP_TAGGED_NOT_STREAM,
			     "PD %u stream %u, STag %u", pd, stream, h.stag);
		cr_expect_eq(p.dst != NULL, may);
	}
	for (int i = 0; i < 4; i++)
		xiw_ddp_rx_free(r[i / 2][i % 2]);
	xiw_ddp_table_free(&ddp_table);
}
