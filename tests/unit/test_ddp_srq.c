// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Streams that share buffers: who gets which one, and when. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "ddp/srq.h"
#include "tests/unit/ddp_rig.h"

#define STREAMS 3
#define SHARED 8u

static struct xiw_ddp_srq srq;
static struct xiw_ddp_rx *streams[STREAMS];
static uint8_t shared[SHARED][BUF];
static unsigned int lows;
static int low_status;

static void low(struct xiw_ddp_srq *of, int status)
{
	cr_assert_eq(of, &srq);
	low_status = status;
	lows++;
}

static void setup(void)
{
	ddp_begin();
	lows = 0;
	cr_assert_eq(xiw_ddp_srq_init(&srq, SHARED), 0);
	srq.low = low;
	for (uint32_t i = 0; i < STREAMS; i++) {
		const struct xiw_ddp_rx_opts o = {
			.table = &ddp_table, .pd = PD, .stream = STREAM + 1 + i, .depth = DEPTH
		};

		cr_assert_eq(xiw_ddp_rx_create(&streams[i], &o), 0);
		cr_assert_eq(xiw_ddp_rx_share(streams[i], &srq, NULL, NULL), 0);
	}
}

static void teardown(void)
{
	for (uint32_t i = 0; i < STREAMS; i++)
		xiw_ddp_rx_free(streams[i]);
	xiw_ddp_srq_free(&srq);
	ddp_end();
}

TestSuite(ddp_srq, .init = setup, .fini = teardown);

/* Posts shared[i] with user_data i. */
static int post(uint32_t i)
{
	const struct xiw_ddp_buf b = { .base = shared[i % SHARED], .len = BUF, .user_data = i };

	return xiw_ddp_srq_post(&srq, &b);
}

static void post_n(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		cr_assert_eq(post(i), 0);
}

static enum xiw_ddp_error place(int stream, uint32_t qn, uint32_t msn, uint32_t mo, uint32_t len,
				struct xiw_ddp_place *p)
{
	const struct xiw_ddp_hdr h = untagged(qn, msn, mo, false);

	return xiw_ddp_rx_place(streams[stream], &h, len, p);
}

/* Places a segment of queue 0 and delivers it. */
static enum xiw_ddp_error segment(int stream, uint32_t msn, uint32_t mo, uint32_t len, bool last,
				  struct xiw_ddp_msg *m)
{
	const struct xiw_ddp_hdr h = untagged(0, msn, mo, last);
	struct xiw_ddp_place p;
	enum xiw_ddp_error err = xiw_ddp_rx_place(streams[stream], &h, len, &p);

	if (err)
		xiw_ddp_rx_refuse(streams[stream], &h, err);
	if (!err && p.dst && !p.npieces)
		memset(p.dst, 'a' + stream, len);
	return err ? err : xiw_ddp_rx_deliver(streams[stream], &h, len, m);
}

static void message(int stream, uint32_t msn, uint64_t in)
{
	struct xiw_ddp_msg m;

	cr_assert_eq(segment(stream, msn, 0, 10, true, &m), XIW_DDP_OK);
	cr_assert(m.complete && m.len == 10 && m.msn == msn);
	cr_assert_eq(m.buf.user_data, in);
	cr_assert_eq(m.buf.base, shared[in]);
}

Test(ddp_srq, buffers_go_to_messages_as_they_begin)
{
	struct xiw_ddp_msg m;

	post_n(5);
	cr_assert_eq(segment(1, 1, 0, 10, false, &m), XIW_DDP_OK);
	message(0, 1, 1);
	message(0, 2, 2);
	cr_assert_eq(segment(2, 1, 0, 10, false, &m), XIW_DDP_OK);
	cr_assert_eq(srq.count, 1);
	cr_assert_eq(segment(1, 1, 10, 20, true, &m), XIW_DDP_OK);
	cr_assert(m.complete && m.buf.user_data == 0 && m.len == 30);
	cr_assert_eq(segment(2, 1, 10, 5, true, &m), XIW_DDP_OK);
	cr_assert(m.complete && m.buf.user_data == 3 && m.len == 15);
	for (int i = 0; i < 30; i++)
		cr_assert_eq(shared[0][i], 'b');
	for (int i = 0; i < 15; i++)
		cr_assert_eq(shared[3][i], 'c');
	cr_assert_eq(srq.taken, 4);
}

/* A header that may be damaged does not take a buffer from the others. */
Test(ddp_srq, placement_takes_nothing)
{
	struct xiw_ddp_place p;

	post_n(1);
	for (int i = 0; i < STREAMS; i++) {
		cr_assert_eq(place(i, 0, 1, 0, 10, &p), XIW_DDP_OK);
		cr_assert(p.dst == shared[0] && p.untaken && !p.predicted);
	}
	cr_assert_eq(srq.count, 1);
	message(2, 1, 0);
	cr_assert_eq(place(0, 0, 1, 0, 10, &p), XIW_DDP_UNTAGGED_NO_BUFFER);
}

/* RFC 5042 section 6.4.3.1: what comes out of order uses up no buffers. */
Test(ddp_srq, no_buffer_before_its_turn)
{
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;

	post_n(3);
	cr_assert_eq(place(0, 0, 2, 0, 10, &p), XIW_DDP_UNTAGGED_MSN_RANGE);
	cr_assert_eq(place(0, 0, 0, 0, 10, &p), XIW_DDP_UNTAGGED_MSN_RANGE);
	cr_assert_eq(segment(0, 1, 0, 10, false, &m), XIW_DDP_OK);
	/* Its own buffer is safe, for early segments, too. */
	cr_assert_eq(place(0, 0, 1, 20, 10, &p), XIW_DDP_OK);
	cr_assert(p.dst == shared[0] + 20 && !p.untaken);
	cr_assert_eq(place(0, 0, 2, 0, 10, &p), XIW_DDP_UNTAGGED_MSN_RANGE);
	cr_assert_eq(srq.count, 2);
}

/* A message that skips an MSN ends its stream; it is not one that only lacks a buffer. */
Test(ddp_srq, a_message_that_skips_one)
{
	struct xiw_ddp_msg m;

	post_n(3);
	cr_assert_eq(segment(0, 2, 0, 10, true, &m), XIW_DDP_UNTAGGED_MSN_RANGE);
	cr_assert_eq(srq.count, 3);
}

Test(ddp_srq, predicted_within_the_buffer_that_it_took)
{
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;

	post_n(2);
	cr_assert_eq(segment(0, 1, 0, 10, false, &m), XIW_DDP_OK);
	message(1, 1, 1);
	cr_assert_eq(place(0, 0, 1, 10, 10, &p), XIW_DDP_OK);
	cr_assert(p.predicted && p.dst == shared[0] + 10);
	cr_assert_eq(segment(0, 1, 10, 10, true, &m), XIW_DDP_OK);
	cr_assert_eq(post(5), 0);
	cr_assert_eq(place(0, 0, 2, 0, 10, &p), XIW_DDP_OK);
	cr_assert(!p.predicted);
}

Test(ddp_srq, a_message_of_nothing_takes_a_buffer)
{
	struct xiw_ddp_msg m;

	post_n(1);
	cr_assert_eq(segment(0, 1, 0, 0, true, &m), XIW_DDP_OK);
	cr_assert(m.complete && !m.len && m.buf.user_data == 0);
	cr_assert_eq(segment(0, 2, 0, 0, true, &m), XIW_DDP_UNTAGGED_NO_BUFFER);
}

Test(ddp_srq, too_long_for_its_buffer)
{
	struct xiw_ddp_buf b;
	struct xiw_ddp_msg m;
	uint32_t qn;

	post_n(3);
	/* The buffer is the message's, whichever segment is too long, and is returned. */
	cr_assert_eq(segment(0, 1, 0, BUF + 1, false, &m), XIW_DDP_UNTAGGED_TOO_LONG);
	cr_assert_eq(srq.count, 2);
	cr_assert_eq(segment(1, 1, 0, 10, false, &m), XIW_DDP_OK);
	cr_assert_eq(segment(1, 1, 10, BUF, false, &m), XIW_DDP_UNTAGGED_TOO_LONG);
	for (uint64_t i = 0; i < 2; i++) {
		cr_assert(xiw_ddp_rx_flush(streams[i], &qn, &b));
		cr_assert(qn == 0 && b.user_data == i);
		cr_assert(!xiw_ddp_rx_flush(streams[i], &qn, &b));
	}
	message(2, 1, 2);
}

/* A message that is refused for another reason has no buffer, and a stream takes none after its first error. */
Test(ddp_srq, refused_without_a_buffer)
{
	struct xiw_ddp_buf b;
	struct xiw_ddp_msg m;
	uint32_t qn;

	post_n(1);
	cr_assert_eq(segment(0, 1, BUF + 1, 1, true, &m), XIW_DDP_UNTAGGED_MO);
	cr_assert_eq(segment(0, 1, 0, BUF + 1, true, &m), XIW_DDP_UNTAGGED_MO);
	cr_assert_eq(segment(1, 2, 0, BUF + 1, true, &m), XIW_DDP_UNTAGGED_MSN_RANGE);
	for (int i = 0; i < 2; i++)
		cr_assert(!xiw_ddp_rx_flush(streams[i], &qn, &b));
	message(2, 1, 0);
}

Test(ddp_srq, an_empty_buffer)
{
	const struct xiw_ddp_buf empty = { .user_data = 9 };
	struct xiw_ddp_buf b;
	struct xiw_ddp_msg m;
	uint32_t qn;

	for (int i = 0; i < 2; i++)
		cr_assert_eq(xiw_ddp_srq_post(&srq, &empty), 0);
	cr_assert_eq(segment(0, 1, 0, 0, true, &m), XIW_DDP_OK);
	cr_assert_eq(segment(1, 1, 0, 1, true, &m), XIW_DDP_UNTAGGED_TOO_LONG);
	cr_assert(xiw_ddp_rx_flush(streams[1], &qn, &b) && b.user_data == 9);
}

/* What a stream has taken comes back when it ends; what it has not taken is for the others. */
Test(ddp_srq, a_stream_that_ends)
{
	struct xiw_ddp_buf b;
	struct xiw_ddp_msg m;
	uint32_t qn;

	post_n(3);
	cr_assert_eq(xiw_ddp_rx_post(streams[0], 1, bufs[0], BUF, 100), 0);
	cr_assert_eq(segment(0, 1, 0, 10, false, &m), XIW_DDP_OK);
	cr_assert(xiw_ddp_rx_flush(streams[0], &qn, &b) && qn == 0 && b.user_data == 0);
	cr_assert(xiw_ddp_rx_flush(streams[0], &qn, &b) && qn == 1 && b.user_data == 100);
	cr_assert(!xiw_ddp_rx_flush(streams[0], &qn, &b));
	cr_assert_eq(srq.count, 2);
	message(1, 1, 1);
}

/* The place of the pieces in the queue may be another buffer's while the message is still arriving. */
Test(ddp_srq, pieces)
{
	struct xiw_ddp_piece a[2] = { { shared[0], 10 }, { shared[0] + 50, 20 } },
			     other_a[2] = { { shared[1], 10 }, { shared[1] + 50, 20 } };
	const struct xiw_ddp_buf b = xiw_ddp_buf_of(a, 2, 7);
	struct xiw_ddp_piece many[XIW_DDP_SRQ_PIECES_MAX + 1] = {};
	const struct xiw_ddp_buf too_many = xiw_ddp_buf_of(many, XIW_DDP_SRQ_PIECES_MAX + 1, 8);
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;

	many[0] = a[0];
	cr_assert_eq(xiw_ddp_srq_post(&srq, &too_many), -EINVAL);
	cr_assert_eq(xiw_ddp_srq_post(&srq, &b), 0);
	cr_assert_eq(b.len, 30);
	cr_assert_eq(place(0, 0, 1, 0, 15, &p), XIW_DDP_OK);
	cr_assert(p.npieces == 2 && p.dst == shared[0]);
	cr_assert_eq(segment(0, 1, 0, 15, false, &m), XIW_DDP_OK);
	memcpy(a, other_a, sizeof(a));
	cr_assert_eq(place(0, 0, 1, 15, 15, &p), XIW_DDP_OK);
	cr_assert(p.dst == shared[0] + 55 && p.predicted);
	cr_assert_eq(segment(0, 1, 15, 15, true, &m), XIW_DDP_OK);
	cr_assert(m.complete && m.len == 30 && m.buf.user_data == 7);
}

Test(ddp_srq, msn_wraps)
{
	struct xiw_ddp_msg m;

	streams[0]->queues[0].next_msn = UINT32_MAX;
	post_n(2);
	message(0, UINT32_MAX, 0);
	message(0, 0, 1);
	cr_assert_eq(segment(0, 2, 0, 1, true, &m), XIW_DDP_UNTAGGED_MSN_RANGE);
}

Test(ddp_srq, depth)
{
	const struct xiw_ddp_buf none = { .len = 1 };
	struct xiw_ddp_srq five;

	cr_assert_eq(xiw_ddp_srq_init(&five, 0), -EINVAL);
	cr_assert_eq(xiw_ddp_srq_init(&five, XIW_DDP_MAX_DEPTH + 1), -EINVAL);
	cr_assert_eq(xiw_ddp_srq_init(&five, 5), 0);
	for (int round = 0; round < 10; round++) {
		struct xiw_ddp_buf b = { .base = shared[0], .len = 1 };

		for (int i = 0; i < 5; i++)
			cr_assert_eq(xiw_ddp_srq_post(&five, &b), 0);
		cr_assert_eq(xiw_ddp_srq_post(&five, &b), -EAGAIN);
		for (int i = 0; i < 5; i++)
			xiw_ddp_srq_take(&five, &b);
		cr_assert(!xiw_ddp_srq_first(&five));
	}
	cr_assert_eq(xiw_ddp_srq_post(&five, &none), -EINVAL);
	xiw_ddp_srq_free(&five);
}

Test(ddp_srq, low_water)
{
	cr_assert_eq(xiw_ddp_srq_set_limit(&srq, SHARED + 1), -EINVAL);
	post_n(4);
	cr_assert_eq(xiw_ddp_srq_set_limit(&srq, 3), 0);
	message(0, 1, 0);
	cr_assert_eq(lows, 0, "3 are not fewer than 3");
	message(0, 2, 1);
	cr_assert_eq(lows, 1);
	message(0, 3, 2);
	cr_assert_eq(lows, 1, "once");
	cr_assert_eq(xiw_ddp_srq_set_limit(&srq, 2), 0);
	cr_assert_eq(lows, 2, "it is low already");
	cr_assert_eq(xiw_ddp_srq_set_limit(&srq, 1), 0);
	cr_assert_eq(xiw_ddp_srq_set_limit(&srq, 0), 0);
	message(0, 4, 3);
	cr_assert_eq(lows, 2, "the limit was taken back");
}

Test(ddp_srq, missed_is_told_once)
{
	struct xiw_ddp_buf b;
	struct xiw_ddp_msg m;

	srq.tell_missed = true;
	post_n(2);
	cr_assert(xiw_ddp_srq_withdraw(&srq, &b));
	cr_assert_eq(b.user_data, 1, "the newest");
	message(0, 1, 0);
	cr_assert(!xiw_ddp_srq_withdraw(&srq, &b));
	cr_assert_eq(lows, 0);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(segment(0, 2, 0, 10, true, &m), XIW_DDP_UNTAGGED_NO_BUFFER);
	cr_assert_eq(lows, 1);
	cr_assert_eq(low_status, -ENOBUFS);
}

Test(ddp_srq, own_buffers_or_shared_ones)
{
	post_buf(0, 0);
	cr_assert_eq(xiw_ddp_rx_share(rx, &srq, NULL, NULL), -EINVAL);
	cr_assert_eq(xiw_ddp_rx_post(streams[0], 0, bufs[0], BUF, 1), -EINVAL);
	cr_assert_eq(xiw_ddp_rx_post(streams[0], 1, bufs[0], BUF, 1), 0);
}

static bool allowed;

static bool may_take(void *ctx)
{
	cr_assert_eq(ctx, &allowed);
	return allowed;
}

/* RFC 5042 section 6.4.3.1: a stream that may not have more leaves the others theirs. */
Test(ddp_srq, a_stream_that_has_enough)
{
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;

	cr_assert_eq(xiw_ddp_rx_share(streams[0], &srq, may_take, &allowed), 0);
	post_n(3);
	allowed = true;
	cr_assert_eq(segment(0, 1, 0, 10, false, &m), XIW_DDP_OK);
	allowed = false;
	cr_assert_eq(segment(0, 1, 10, 10, true, &m), XIW_DDP_OK, "it has this one");
	cr_assert_eq(place(0, 0, 2, 0, 10, &p), XIW_DDP_UNTAGGED_NO_BUFFER);
	message(1, 1, 1);
	allowed = true;
	message(0, 2, 2);
}

/* Whoever waits because there is no buffer at all is told of, even if one that may not have more waits already. */
Test(ddp_srq, missed_by_one_that_has_enough_and_by_another)
{
	struct xiw_ddp_msg m;

	srq.tell_missed = true;
	cr_assert_eq(xiw_ddp_rx_share(streams[0], &srq, may_take, &allowed), 0);
	post_n(1);
	allowed = false;
	cr_assert_eq(segment(0, 1, 0, 10, true, &m), XIW_DDP_UNTAGGED_NO_BUFFER);
	cr_assert_eq(lows, 1);
	message(1, 1, 0);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(segment(2, 1, 0, 10, true, &m), XIW_DDP_UNTAGGED_NO_BUFFER);
	cr_assert_eq(lows, 2);
	cr_assert_eq(low_status, -ENOBUFS);
}
