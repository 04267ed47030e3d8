/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Atomic operations of RFC 7306 section 5: what they do to memory, what is refused, their order and their limits. */

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "rdmap/atomic.h"
#include "tests/unit/rdmap_rig.h"

#define ADD XIW_RDMAP_ATOMIC_FETCH_ADD
#define SWAP XIW_RDMAP_ATOMIC_CMP_SWAP

TestSuite(rdmap_atomic, .init = rdmap_begin_extended, .fini = rdmap_end);

/* ---- what they do ------------------------------------------------------------------------------ */

/* The pseudocode of section 5.1.1, bit by bit. */
static uint64_t masked_add(uint64_t original, uint64_t data, uint64_t mask)
{
	uint64_t bit_location = 1, result = 0;
	unsigned int carry = 0;

	for (unsigned int bit = 0; bit < 64; bit++) {
		unsigned int val1, val2, sum;

		if (bit)
			bit_location <<= 1;
		val1 = (unsigned int)((original & bit_location) >> bit);
		val2 = (unsigned int)((data & bit_location) >> bit);
		sum = carry + val1 + val2;
		carry = (sum & 2) >> 1;
		sum &= 1;
		if (sum)
			result |= bit_location;
		carry = carry && !(mask & bit_location);
	}
	return result;
}

/* That of section 5.1.2. */
static uint64_t cmp_swap(uint64_t original, const struct xiw_rdma_atomic *o)
{
	if (!((o->compare ^ original) & o->compare_mask))
		return (original & ~o->mask) | (o->value & o->mask);
	return original;
}

static uint64_t number(unsigned int *seed)
{
	static const uint64_t special[] = { 0,		1,	    UINT64_MAX,
					    1ull << 63, 1ull << 31, 0x5555555555555555 };
	uint64_t n = 0;

	if (rand_r(seed) % 4 == 0)
		return special[(unsigned int)rand_r(seed) % 6];
	for (int i = 0; i < 8; i++)
		n = n << 8 | ((unsigned int)rand_r(seed) >> 4 & 0xff);
	return n;
}

Test(rdmap_atomic, results)
{
	unsigned int seed = 3, swapped = 0;

	for (int i = 0; i < 100000; i++) {
		struct xiw_rdmap_atomic a = { .code = i % 2 ? SWAP : ADD };
		const uint64_t was = number(&seed);
		uint64_t word = was, want;

		a.operands = (struct xiw_rdma_atomic){ number(&seed), number(&seed), number(&seed),
						       number(&seed) };
		if (rand_r(&seed) % 2)
			a.operands.compare = was;
		want = a.code == ADD ? masked_add(was, a.operands.value, a.operands.mask)
				     : cmp_swap(was, &a.operands);
		cr_assert_eq(xiw_rdmap_atomic_run(&a, &word), was);
		cr_assert_eq(word, want, "seed 3, case %d", i);
		swapped += a.code == SWAP && want != was;
	}
	cr_expect(swapped > 10000 && swapped < 40000, "%u", swapped);
}

/* A mask of 0 adds 64 bits, and nothing that is not named changes. */
Test(rdmap_atomic, in_memory)
{
	uint64_t *w = (uint64_t *)(void *)memory;
	struct xiw_rdmap_out out;

	memset(memory, 0xee, SIZE);
	w[3] = UINT64_MAX;
	cr_expect_eq(in_atomic(ADD, words, BASE + 24, &(struct xiw_rdma_atomic){ .value = 5 }),
		     XIW_RDMAP_HANDLED);
	cr_expect_eq(w[3], 4);
	cr_expect_eq(w[2], 0xeeeeeeeeeeeeeeee);
	cr_expect_eq(w[4], 0xeeeeeeeeeeeeeeee);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_expect(!out.tagged && out.qn == 3 && out.rsvdulp[0] == 0x4b && !out.from_region);
	cr_expect_eq(xiw_get_be32(out.rsvdulp + 1), 0);
	cr_assert_eq(out.len, 12);
	cr_expect_arr_eq(out.buf, "\xa1\xb2\xc3\xd4\xff\xff\xff\xff\xff\xff\xff\xff", 12);
	xiw_rdmap_sent(&s, out.id, true);
	cr_expect_eq(s.info.atomics_in, 1);
	cr_expect_eq(s.info.reads_in, 0);
	cr_expect(xiw_rdmap_idle(&s));
}

/* ---- what is refused --------------------------------------------------------------------------- */

Test(rdmap_atomic, refused)
{
	const struct {
		uint8_t code;
		uint32_t stag;
		uint64_t to;
		enum xiw_rdmap_error want;
	} t[] = {
		{ ADD, words, BASE, XIW_RDMAP_OK },
		{ SWAP, words, BASE + SIZE - 8, XIW_RDMAP_OK },
		/* Section 5.2.1 rule 4; 1 is reserved (section 10.1). */
		{ 1, words, BASE, XIW_RDMAP_OPCODE },
		{ 3, words, BASE, XIW_RDMAP_OPCODE },
		{ 15, words, BASE, XIW_RDMAP_OPCODE },
		/* Section 8.2, last rule. */
		{ ADD, words, BASE + 4, XIW_RDMAP_STREAM },
		{ SWAP, words, BASE + 1, XIW_RDMAP_STREAM },
		{ ADD, words, BASE + SIZE - 9, XIW_RDMAP_STREAM },
		{ ADD, words, BASE + SIZE - 7, XIW_RDMAP_BOUNDS },
		{ ADD, words, BASE + SIZE, XIW_RDMAP_BOUNDS },
		{ ADD, words, BASE - 8, XIW_RDMAP_BOUNDS },
		{ ADD, words, UINT64_MAX - 7, XIW_RDMAP_TO_WRAP },
		{ ADD, 0xdead, BASE, XIW_RDMAP_STAG },
		{ ADD, rd, BASE, XIW_RDMAP_ACCESS },
		{ SWAP, wr, BASE, XIW_RDMAP_ACCESS },
		{ ADD, other_pd, BASE, XIW_RDMAP_NOT_STREAM },
		{ ADD, other_stream, BASE, XIW_RDMAP_NOT_STREAM },
	};
	uint8_t before[SIZE];

	memset(memory, 0x11, SIZE);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		const struct xiw_rdma_atomic o = { .value = 1, .mask = UINT64_MAX };
		enum xiw_rdmap_result got;

		memcpy(before, memory, SIZE);
		got = in_atomic(t[i].code, t[i].stag, t[i].to, &o);
		cr_expect_eq(got, t[i].want ? XIW_RDMAP_ERROR : XIW_RDMAP_HANDLED, "case %zu", i);
		cr_expect_eq(!memcmp(before, memory, SIZE), t[i].want != XIW_RDMAP_OK, "case %zu",
			     i);
		/* Section 8.1 rule 2: with the DDP header, without the RDMA header. */
		if (t[i].want)
			expect_failed(t[i].want, true, false);
		cr_expect_eq(s.info.atomics_in, !t[i].want);
		rdmap_anew();
	}
}

/* The address must be aligned, not the Tagged Offset (section 5.2.1). */
Test(rdmap_atomic, alignment_is_the_address)
{
	const struct xiw_ddp_region_opts o = {
		.ptr = memory + 3,
		.len = SIZE - 3,
		.base = 0x1000,
		.pd = PD,
		.access = XIW_DDP_REMOTE_ATOMIC,
	};
	const struct xiw_rdma_atomic one = { .value = 1 };
	uint32_t stag;

	cr_assert_eq(xiw_ddp_region_register(&table, &o, &stag), 0);
	cr_expect_eq(in_atomic(ADD, stag, 0x1005, &one), XIW_RDMAP_HANDLED);
	cr_expect_eq(in_atomic(ADD, stag, 0x1008, &one), XIW_RDMAP_ERROR);
	expect_failed(XIW_RDMAP_STREAM, true, false);
}

Test(rdmap_atomic, request_of_another_length)
{
	uint8_t buf[80] = { 0 };

	for (uint32_t len = 0; len < sizeof(buf); len++) {
		if (len == XIW_RDMAP_ATOMIC_LEN)
			continue;
		cr_expect_eq(in_untagged(0x4a, 1, buf, len, 0, NULL), XIW_RDMAP_ERROR);
		expect_failed(XIW_RDMAP_OPERATION, true, false);
		rdmap_anew();
	}
}

/* The upper 28 bits of the code's word are reserved and ignored, and so is the Invalidate STag. */
Test(rdmap_atomic, reserved_bits)
{
	const struct xiw_rdmap_atomic a = { .code = ADD, .stag = words, .to = BASE };
	uint8_t buf[XIW_RDMAP_ATOMIC_LEN];

	xiw_rdmap_atomic_encode(&a, buf);
	buf[0] = buf[1] = buf[2] = 0xff;
	buf[3] = 0xf0;
	cr_expect_eq(in_untagged(0x4a, 1, buf, sizeof(buf), 0x1234, NULL), XIW_RDMAP_HANDLED);
	cr_expect_eq(s.info.atomics_in, 1);
}

/* Section 5.2: the limit is that of Reads, and what exceeds it changes no memory. */
Test(rdmap_atomic, too_many)
{
	const struct xiw_rdma_atomic one = { .value = 1 };
	uint64_t *word = (uint64_t *)(void *)memory;
	struct xiw_rdmap_out out;

	*word = 0;
	cr_expect_eq(in_atomic(ADD, words, BASE, &one), XIW_RDMAP_HANDLED);
	cr_expect_eq(in_read(10, rd, BASE, 0), XIW_RDMAP_HANDLED);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	xiw_rdmap_sent(&s, out.id, true);
	cr_expect_eq(in_atomic(ADD, words, BASE, &one), XIW_RDMAP_HANDLED);
	cr_expect_eq(*word, 2);
	cr_expect_eq(in_atomic(ADD, words, BASE, &one), XIW_RDMAP_ERROR);
	expect_failed(XIW_RDMAP_STREAM, true, false);
	cr_expect_eq(*word, 2);

	rdmap_anew();
	xiw_rdmap_limits(&s, 0, 0);
	cr_expect_eq(in_atomic(ADD, words, BASE, &one), XIW_RDMAP_ERROR);
	expect_failed(XIW_RDMAP_STREAM, true, false);
	cr_expect_eq(*word, 2);
}

/* ---- order ------------------------------------------------------------------------------------- */

/* Sections 5.2.2 rule 8 and 7: answers leave in the order of the Requests, those to Reads among them. */
Test(rdmap_atomic, answers_in_order)
{
	const struct xiw_rdma_atomic one = { .value = 1 };
	uint64_t *word = (uint64_t *)(void *)memory;
	struct xiw_rdmap_out out;

	*word = 70;
	for (uint64_t round = 0; round < 40; round++) {
		cr_assert_eq(round % 2 ? in_atomic(ADD, words, BASE, &one)
				       : in_read(8, rd, BASE, 0),
			     XIW_RDMAP_HANDLED);
		cr_assert_eq(in_atomic(ADD, words, BASE, &one), XIW_RDMAP_HANDLED);
		for (int i = 0; i < 2; i++) {
			const bool read = i == 0 && round % 2 == 0;

			cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
			cr_expect_eq(out.tagged, read);
			cr_expect_eq(out.rsvdulp[0], read ? 0x42 : 0x4b);
			if (!read)
				cr_expect_eq(xiw_get_be64(out.buf + 4),
					     70 + round + round / 2 + (round % 2 && i));
			xiw_rdmap_sent(&s, out.id, true); /* the answer's memory is gone */
		}
	}
	cr_expect(s.info.atomics_in == 60 && s.info.reads_in == 20);
}

static enum xiw_rdmap_result in_original(uint32_t id, uint64_t value, uint32_t len)
{
	uint8_t buf[64] = { 0 };

	xiw_put_be32(buf, id);
	xiw_put_be64(buf + 4, value);
	return in_untagged(0x4b, 3, buf, len, 0, NULL);
}

/* The header of a Request (section 5.2.1), and its completion (section 5.4). */
Test(rdmap_atomic, posted)
{
	static const uint8_t add[] = "\0\0\0\0"
				     "\0\0\0\0"
				     "\0\0\0\x99"
				     "\0\0\0\0\0\0\x10\0"
				     "\0\0\0\0\0\0\0\1"
				     "\0\0\0\0\0\0\0\2"
				     "\0\0\0\0\0\0\0\0"
				     "\xff\xff\xff\xff\xff\xff\xff\xff";
	static const uint8_t swap[] = "\0\0\0\2"
				      "\0\0\0\1"
				      "\0\0\0\x99"
				      "\0\0\0\0\0\0\x10\0"
				      "\0\0\0\0\0\0\0\1"
				      "\0\0\0\0\0\0\0\2"
				      "\0\0\0\0\0\0\0\3"
				      "\0\0\0\0\0\0\0\4";
	struct xiw_rdmap_out out;
	struct xiw_rdmap_op op;

	cr_assert_eq(post(XIW_RDMA_FETCH_ADD, 0, 0), 0);
	cr_assert_eq(post(XIW_RDMA_CMP_SWAP, 0, 0), 0);
	for (uint32_t i = 0; i < 2; i++) {
		cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
		cr_expect(!out.tagged && out.qn == 1 && out.rsvdulp[0] == 0x4a && out.answer);
		cr_expect_eq(xiw_get_be32(out.rsvdulp + 1), 0);
		cr_assert_eq(out.len, 52);
		cr_expect_arr_eq(out.buf, i ? swap : add, 52);
		xiw_rdmap_sent(&s, out.id, true);
		/* Rules 1 and 7: it is complete when its answer was delivered. */
		cr_expect(!xiw_rdmap_completed(&s, &op));
	}
	for (uint32_t i = 0; i < 2; i++) {
		cr_expect_eq(in_original(i, 0x123456789abcdef0 + i, 12), XIW_RDMAP_HANDLED);
		cr_assert(xiw_rdmap_completed(&s, &op));
		cr_expect(op.op.user_data == i && !op.failed && op.op.len == 8);
		cr_expect_eq(op.original, 0x123456789abcdef0 + i);
	}
	cr_expect(xiw_rdmap_idle(&s) && s.info.atomics_out == 2 && s.info.reads_out == 0);
}

/* Answers that nobody asked for, or to something else, or with another length or Identifier. */
Test(rdmap_atomic, wrong_answers)
{
	struct xiw_rdmap_out out;

	cr_expect_eq(in_original(0, 1, 12), XIW_RDMAP_ERROR);
	expect_failed(XIW_RDMAP_OPCODE, true, false);
	for (int i = 0; i < 7; i++) {
		enum xiw_rdmap_result got;

		rdmap_anew();
		cr_assert_eq(post(i < 2 ? XIW_RDMA_READ : XIW_RDMA_FETCH_ADD, 0, i < 2 ? 8 : 0), 0);
		cr_assert_eq(post(i < 2 ? XIW_RDMA_FETCH_ADD : XIW_RDMA_READ, 0, i < 2 ? 0 : 8), 0);
		cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
		cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
		got = i == 0   ? in_original(1, 1, 12) /* the Read is the older one */
		      : i == 1 ? in_original(0, 1, 12)
		      : i == 2 ? in_original(1, 1, 12)
		      : i == 3 ? in_original(0, 1, 11)
		      : i == 4 ? in_original(0, 1, 13)
		      : i == 5 ? in_original(0, 1, 0)
			       : in_tagged(0x42, wr, BASE, 8); /* the atomic operation is older */
		cr_expect_eq(got, XIW_RDMAP_ERROR, "case %d", i);
		expect_failed(i < 2 || i == 6 ? XIW_RDMAP_OPCODE : XIW_RDMAP_STREAM, true, false);
		cr_expect_eq(s.info.atomics_out, 0);
	}
}

/* A Read Response whose turn has not come is refused before it is placed. */
Test(rdmap_atomic, read_response_out_of_turn)
{
	struct xiw_rdmap_seg g = {
		.tagged = true, .control = 0x42, .stag = wr, .to = BASE, .len = 8
	};
	struct xiw_rdmap_out out;

	g.serial = xiw_ddp_region_lookup(&table, wr)->serial;
	cr_assert_eq(post(XIW_RDMA_FETCH_ADD, 0, 0), 0);
	cr_assert_eq(post(XIW_RDMA_READ, 0, 8), 0);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	/* What comes early is kept until its turn. */
	cr_expect_eq(xiw_rdmap_check_segment(&s, &g), XIW_RDMAP_STREAM);
	g.in_turn = true;
	cr_expect_eq(xiw_rdmap_check_segment(&s, &g), XIW_RDMAP_OPCODE);
	cr_expect_eq(in_original(0, 7, 12), XIW_RDMAP_HANDLED);
	cr_expect_eq(xiw_rdmap_check_segment(&s, &g), XIW_RDMAP_OK);
}

/* ---- posting ----------------------------------------------------------------------------------- */

Test(rdmap_atomic, limit_and_fence)
{
	struct xiw_rdmap_out out;

	cr_assert_eq(post(XIW_RDMA_FETCH_ADD, 0, 0), 0);
	cr_assert_eq(post(XIW_RDMA_READ, 0, 8), 0);
	cr_assert_eq(post(XIW_RDMA_CMP_SWAP, 0, 0), 0);
	cr_assert_eq(post(XIW_RDMA_WRITE, XIW_RDMA_FENCE, 1), 0);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_expect_eq(xiw_rdmap_next(&s, &out), 0, "two are open, and two were negotiated");
	cr_expect_eq(in_original(0, 1, 12), XIW_RDMAP_HANDLED);
	cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
	cr_expect_eq(out.rsvdulp[0], 0x4a);
	cr_expect_eq(in_tagged(0x42, wr, BASE, 8), XIW_RDMAP_HANDLED);
	cr_expect_eq(xiw_rdmap_next(&s, &out), 0, "the fence waits for the atomic operation too");
	cr_expect_eq(in_original(2, 1, 12), XIW_RDMAP_HANDLED);
	cr_expect_eq(xiw_rdmap_next(&s, &out), 1);
}

Test(rdmap_atomic, posted_wrongly)
{
	static const struct xiw_rdma_atomic operands;
	struct xiw_rdma_op op = { .kind = XIW_RDMA_FETCH_ADD, .atomic = &operands };

	op.len = 8;
	cr_expect_eq(xiw_rdmap_post(&s, &op), -EINVAL);
	op.len = 0;
	op.flags = XIW_RDMA_SOLICITED;
	cr_expect_eq(xiw_rdmap_post(&s, &op), -EINVAL);
	op.flags = 0;
	op.atomic = NULL;
	cr_expect_eq(xiw_rdmap_post(&s, &op), -EINVAL);
	op.atomic = &operands;
	xiw_rdmap_limits(&s, 2, 0);
	cr_expect_eq(xiw_rdmap_post(&s, &op), -EOPNOTSUPP);
	xiw_rdmap_limits(&s, 2, 2);
	cr_expect_eq(xiw_rdmap_post(&s, &op), 0);
	xiw_rdmap_peer_gone(&s);
	cr_expect_eq(xiw_rdmap_post(&s, &op), -EPIPE);
}

/* The peer closes, or the stream ends: each of them fails once. */
Test(rdmap_atomic, unanswered)
{
	struct xiw_rdmap_out out;
	struct xiw_rdmap_op op;

	for (int how = 0; how < 2; how++) {
		for (int i = 0; i < 3; i++)
			cr_assert_eq(post(XIW_RDMA_CMP_SWAP, 0, 0), 0);
		for (int i = 0; i < 2; i++) {
			cr_assert_eq(xiw_rdmap_next(&s, &out), 1);
			xiw_rdmap_sent(&s, out.id, true);
		}
		if (how)
			xiw_rdmap_abandon(&s);
		else
			xiw_rdmap_peer_gone(&s);
		for (int i = 0; i < 3; i++)
			cr_expect(xiw_rdmap_completed(&s, &op) && op.failed);
		cr_expect(xiw_rdmap_idle(&s));
		rdmap_anew();
	}
}

/* Without the option, nothing of it can be posted, and what comes in is an unexpected opcode (RFC 5040 section 7.2). */
Test(rdmap_atomic, not_extended)
{
	uint8_t buf[XIW_RDMAP_ATOMIC_LEN] = { 0 };

	rdmap_end();
	rdmap_begin();
	cr_expect_eq(post(XIW_RDMA_FETCH_ADD, 0, 0), -EOPNOTSUPP);
	cr_expect_eq(post(XIW_RDMA_CMP_SWAP, 0, 0), -EOPNOTSUPP);
	cr_expect_eq(in_untagged(0x4a, 1, buf, sizeof(buf), 0, NULL), XIW_RDMAP_ERROR);
	expect_failed(XIW_RDMAP_OPCODE, true, false);
	rdmap_anew();
	cr_expect_eq(in_untagged(0x4b, 3, buf, 12, 0, NULL), XIW_RDMAP_ERROR);
	expect_failed(XIW_RDMAP_OPCODE, true, false);
}
