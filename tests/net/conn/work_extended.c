// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* RFC 7306, Sends that invalidate, and what is said of operations that do not succeed. */
#include "tests/net/conn/work.h"

#define WRITTEN 40000u
#define LETTER 5u

static struct iovec iov[2][XIW_RDMA_PIECES_MAX];

static void extended(struct xiw_conn_opts *co, struct xiw_rdma_opts *ro)
{
	(void)co;
	ro->extended = true;
}

/* Buffers of 8 octets, in pieces. */
static void post_words(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		lay(iov[0], 3, arenas[i], 8, i);
		recvs[i] = (struct xiw_rdma_recv){
			.size = sizeof(recvs[i]), .user_data = 50 + i, .iov = iov[0], .iov_count = 3
		};
		CHECK(!xiw_rdma_post_recv_many(work.s->rdma, &recvs[i], 1, NULL));
	}
}

/* ---- Immediate Data ------------------------------------------------------------------------------ */

static const uint64_t immediates[] = { 0x0123456789abcdef, 0, UINT64_MAX };

/* A Write that tells its peer, Immediate Data alone, with and without Solicited Event, and a Send among them. */
static void act_immediate(void)
{
	const uint32_t stag = (uint32_t)hear();
	uint8_t letter[LETTER];
	struct xiw_rdma_work *o = op(0, XIW_RDMA_WRITE_IMMEDIATE);

	lay(iov[0], XIW_RDMA_PIECES_MAX, arenas[0], WRITTEN, 1);
	fill(iov[0], XIW_RDMA_PIECES_MAX, 1);
	o->iov = iov[0];
	o->iov_count = XIW_RDMA_PIECES_MAX;
	o->stag = stag;
	o->to = 100;
	o->immediate = immediates[0];
	o->flags = XIW_RDMA_SOLICITED;
	op(1, XIW_RDMA_IMMEDIATE)->immediate = immediates[1];
	stream_octets(2, 0, letter, LETTER);
	o = op(2, XIW_RDMA_SEND);
	o->iov = &(struct iovec){ letter, LETTER };
	o->iov_count = 1;
	o->flags = XIW_RDMA_INLINE | XIW_RDMA_SOLICITED | XIW_RDMA_UNSIGNALED;
	o = op(3, XIW_RDMA_IMMEDIATE);
	o->immediate = immediates[2];
	o->flags = XIW_RDMA_SOLICITED;
	post(4);
	await(3);
	done(0, XIW_OPERATION_WRITE, 0, WRITTEN);
	done(1, XIW_OPERATION_IMMEDIATE, 1, 8);
	done(2, XIW_OPERATION_IMMEDIATE, 3, 8);
}

static void prepare_immediate(void)
{
	post_words(4);
	memset(arenas[8], 0xee, ARENA);
}

static void check_immediate(unsigned int i, uint64_t want, bool solicited)
{
	const struct xiw_completion *c = done(i, XIW_OPERATION_RECV, 50 + i, 8);
	uint8_t octets[8];
	uint64_t value;

	CHECK(xiw_rdma_immediate(c, &value) && value == want);
	CHECK(xiw_rdma_solicited(c) == solicited);
	CHECK(!!(c->flags & XIW_COMPLETION_SOLICITED) == solicited);
	lay(iov[0], 3, arenas[15], 8, i);
	for (unsigned int k = 0, n = 0; k < 3; n += (unsigned int)iov[0][k++].iov_len)
		memcpy(octets + n, arenas[i] + ((uint8_t *)iov[0][k].iov_base - arenas[15]),
		       iov[0][k].iov_len);
	for (unsigned int k = 0; k < 8; k++)
		CHECK(octets[k] == (uint8_t)(want >> (56 - 8 * k)));
}

static void witness_immediate(void)
{
	struct xiw_region *region = work_region(arenas[8], XIW_ACCESS_WRITE);
	uint64_t value;

	tell(xiw_region_stag(region));
	while (!work.ngot)
		take_turn();
	/* What was written before has been placed. */
	CHECK(stream_wrong(1, 0, arenas[8] + 100, WRITTEN) < 0);
	check_untouched(arenas[8], 100);
	check_untouched(arenas[8] + 100 + WRITTEN, ARENA - 100 - WRITTEN);
	await(4);
	check_immediate(0, immediates[0], true);
	check_immediate(1, immediates[1], false);
	CHECK(!xiw_rdma_immediate(done(2, XIW_OPERATION_RECV, 52, LETTER), &value));
	CHECK(xiw_rdma_solicited(&work.got[2]));
	lay(iov[0], 3, arenas[15], 8, 2);
	memcpy(arenas[15], arenas[2], ARENA);
	check_arena(iov[0], 3, arenas[15], 2, LETTER);
	check_immediate(3, immediates[2], true);
	CHECK(rdma_info().immediates_in == 3 && rdma_info().writes_in == 1);
	xiw_region_free(region);
}

/* ---- atomic operations --------------------------------------------------------------------------- */

#define ADDS 40u /* more than may be outstanding */
#define WORD_AT 24
#define FIRST 0xfffffffffffffff0ull

static void post_atomic(unsigned int i, enum xiw_rdma_kind kind, uint32_t stag, uint64_t to,
			const struct xiw_rdma_atomic *operands)
{
	struct xiw_rdma_work *o = op(0, kind);

	o->atomic = operands;
	o->stag = stag;
	o->to = to;
	o->user_data = i;
	post(1);
}

/* The operands are the application's again at once; the Read behind the fence finds what the operations have left. */
static void act_atomics(void)
{
	const uint32_t stag = (uint32_t)hear();
	uint64_t word = FIRST, found[3] = { 0 };
	struct xiw_rdma_atomic a;
	struct xiw_rdma_work *o;

	for (unsigned int i = 0; i < ADDS; i++) {
		a = (struct xiw_rdma_atomic){ .value = i };
		post_atomic(i, XIW_RDMA_FETCH_ADD, stag, WORD_AT, &a);
	}
	/* Two fields of 32 bits; then a swap that finds what it expects, in some of the bits, and one that does not. */
	a = (struct xiw_rdma_atomic){ .value = 1ull << 32 | UINT32_MAX, .mask = 1ull << 31 };
	post_atomic(ADDS, XIW_RDMA_FETCH_ADD, stag, WORD_AT, &a);
	for (unsigned int i = 0; i < ADDS; i++)
		word += i;
	a = (struct xiw_rdma_atomic){ .value = 0x5555555555555555,
				      .mask = 0x0000ffffffff0000,
				      .compare = (uint32_t)word - 1,
				      .compare_mask = UINT32_MAX };
	post_atomic(ADDS + 1, XIW_RDMA_CMP_SWAP, stag, WORD_AT, &a);
	post_atomic(ADDS + 2, XIW_RDMA_CMP_SWAP, stag, WORD_AT, &a);
	memset(&a, 0xff, sizeof(a));
	o = op(0, XIW_RDMA_READ);
	o->iov = &(struct iovec){ found, sizeof(found) };
	o->iov_count = 1;
	o->stag = stag;
	o->to = WORD_AT - 8;
	o->flags = XIW_RDMA_FENCE;
	o->user_data = ADDS + 3;
	post(1);
	await(ADDS + 4);
	word = FIRST;
	for (unsigned int i = 0; i < ADDS; word += i++)
		CHECK(done(i, XIW_OPERATION_FETCH_ADD, i, 8)->value == word);
	CHECK(done(ADDS, XIW_OPERATION_FETCH_ADD, ADDS, 8)->value == word);
	word = ((word >> 32) + 1) << 32 | (uint32_t)(word + UINT32_MAX);
	CHECK(done(ADDS + 1, XIW_OPERATION_CMP_SWAP, ADDS + 1, 8)->value == word);
	word = (word & 0xffff00000000ffff) | 0x0000555555550000;
	CHECK(done(ADDS + 2, XIW_OPERATION_CMP_SWAP, ADDS + 2, 8)->value == word);
	done(ADDS + 3, XIW_OPERATION_READ, ADDS + 3, sizeof(found));
	CHECK(found[1] == word);
	CHECK(found[0] == 0xeeeeeeeeeeeeeeee && found[2] == 0xeeeeeeeeeeeeeeee);
	CHECK(rdma_info().atomics_out == ADDS + 3);
	tell(word);
}

static struct xiw_region *word_region(unsigned int access)
{
	const uint64_t word = FIRST;

	memset(arenas[0], 0xee, ARENA);
	memcpy(arenas[0] + WORD_AT, &word, 8);
	return work_region(arenas[0], access);
}

static void check_word(uint64_t word)
{
	CHECK(!memcmp(arenas[0] + WORD_AT, &word, 8));
	check_untouched(arenas[0], WORD_AT);
	check_untouched(arenas[0] + WORD_AT + 8, ARENA - WORD_AT - 8);
}

static void witness_atomics(void)
{
	struct xiw_region *region = word_region(XIW_ACCESS_ATOMIC | XIW_ACCESS_READ);

	tell(xiw_region_stag(region));
	check_word(hear());
	CHECK(rdma_info().atomics_in == ADDS + 3);
	xiw_region_free(region);
}

/*
 * An operation that the peer refuses ends the stream. Without a completion for success, it has one nevertheless, which
 * says why, and so have those behind it.
 */
static void refused_at(uint64_t to, enum xiw_cause cause)
{
	static const struct xiw_rdma_atomic one = { .value = 1 };
	const uint32_t stag = (uint32_t)hear();

	post_atomic(0, XIW_RDMA_FETCH_ADD, stag, WORD_AT, &one);
	await(1);
	CHECK(done(0, XIW_OPERATION_FETCH_ADD, 0, 8)->value == FIRST);
	for (unsigned int i = 0; i < 2; i++) {
		struct xiw_rdma_work *o = op(i, XIW_RDMA_FETCH_ADD);

		o->atomic = &one;
		o->stag = stag;
		o->to = i ? WORD_AT : to;
		o->flags = XIW_RDMA_UNSIGNALED;
	}
	post(2);
	await_flag(&work.s->terminated);
	CHECK(work.s->cause == cause && work.ngot == 3);
	ended(1, XIW_OPERATION_FETCH_ADD, 0, cause);
	ended(2, XIW_OPERATION_FETCH_ADD, 1, XIW_CAUSE_FLUSHED);
}

static void act_unaligned(void)
{
	refused_at(WORD_AT + 4, XIW_CAUSE_REMOTE_OPERATION);
}

static void act_beyond(void)
{
	refused_at(ARENA, XIW_CAUSE_REMOTE_ACCESS);
}

static void witness_refusing(void)
{
	struct xiw_region *region = word_region(XIW_ACCESS_ATOMIC);

	tell(xiw_region_stag(region));
	await_flag(&work.s->failed);
	check_word(FIRST + 1);
	xiw_region_free(region);
}

/* All other rights are not this one. */
static void act_without_right(void)
{
	static const struct xiw_rdma_atomic one = { .value = 1 };

	post_atomic(7, XIW_RDMA_FETCH_ADD, (uint32_t)hear(), WORD_AT, &one);
	await_flag(&work.s->terminated);
	CHECK(work.ngot == 1);
	ended(0, XIW_OPERATION_FETCH_ADD, 7, XIW_CAUSE_REMOTE_ACCESS);
}

static void witness_without_right(void)
{
	struct xiw_region *region =
		word_region(XIW_ACCESS_WRITE | XIW_ACCESS_READ | XIW_ACCESS_SINK);

	tell(xiw_region_stag(region));
	await_flag(&work.s->failed);
	check_word(FIRST);
	xiw_region_free(region);
}

/* ---- Send with Invalidate ------------------------------------------------------------------------ */

/* Writes, and takes the right to do so again away; the second Write is refused. */
static void act_invalidate(void)
{
	const uint32_t stag = (uint32_t)hear();
	struct xiw_rdma_work *o;

	for (unsigned int i = 0; i < 2; i++) {
		o = op(2 * i, XIW_RDMA_WRITE);
		lay(iov[i], 6, arenas[i], WRITTEN, i);
		fill(iov[i], 6, 10 + i);
		o->iov = iov[i];
		o->iov_count = 6;
		o->stag = stag;
		o->to = i * WRITTEN;
		o->flags = XIW_RDMA_UNSIGNALED;
	}
	o = op(1, XIW_RDMA_SEND);
	o->flags = XIW_RDMA_INVALIDATE | XIW_RDMA_SOLICITED;
	o->invalidate = stag;
	post(3);
	await_flag(&work.s->terminated);
	CHECK(work.s->cause == XIW_CAUSE_REMOTE_ACCESS);
	done(0, XIW_OPERATION_SEND, 1, 0);
}

static void prepare_invalidate(void)
{
	CHECK(!xiw_rdma_post_recv(work.s->rdma, NULL, 0, 9));
}

static void witness_invalidated(void)
{
	struct xiw_region *region = work_region(arenas[0], XIW_ACCESS_WRITE);
	const uint32_t stag = xiw_region_stag(region);

	memset(arenas[0], 0xee, ARENA);
	tell(stag);
	await(1);
	CHECK(done(0, XIW_OPERATION_RECV, 9, 0)->stag == stag);
	CHECK(xiw_rdma_invalidated(&work.got[0]) && xiw_rdma_solicited(&work.got[0]));
	CHECK(xiw_region_set_access(region, XIW_ACCESS_WRITE) == -ENOENT);
	await_flag(&work.s->failed);
	CHECK(stream_wrong(10, 0, arenas[0], WRITTEN) < 0);
	check_untouched(arenas[0] + WRITTEN, ARENA - WRITTEN);
	CHECK(rdma_info().invalidated == 1);
	xiw_region_free(region);
}

const struct work_case work_extended[] = {
	{ .name = "immediate-data",
	  .options = extended,
	  .prepare = prepare_immediate,
	  .act = act_immediate,
	  .witness = witness_immediate },
	{ .name = "atomics", .options = extended, .act = act_atomics, .witness = witness_atomics },
	{ .name = "atomic-unaligned",
	  .options = extended,
	  .act = act_unaligned,
	  .witness = witness_refusing,
	  .fails = true },
	{ .name = "atomic-out-of-bounds",
	  .options = extended,
	  .act = act_beyond,
	  .witness = witness_refusing,
	  .fails = true },
	{ .name = "atomic-without-the-right",
	  .options = extended,
	  .act = act_without_right,
	  .witness = witness_without_right,
	  .fails = true },
	{ .name = "send-with-invalidate",
	  .prepare = prepare_invalidate,
	  .act = act_invalidate,
	  .witness = witness_invalidated,
	  .fails = true },
	{ 0 },
};
