// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Completion queues of the application's own: what goes into them, when they tell of it, and how they end. */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/cq.h"

#define ENTRIES 4096u

static struct xiw_engine *e;
static struct xiw_conn *conns[2];
static struct xiw_cq *sends, *recvs;

static struct xiw_cq *make(unsigned int entries, unsigned int flags)
{
	const struct xiw_cq_opts o = { .size = sizeof(o), .entries = entries, .flags = flags };
	struct xiw_cq *q = NULL;

	cr_assert_eq(xiw_cq_create(e, &o, &q), 0);
	return q;
}

static void setup(void)
{
	e = aligned_alloc(64, (sizeof(*e) + 63) & ~63ul);
	cr_assert(e);
	memset(e, 0, sizeof(*e));
	cr_assert_eq(xiw_cq_init(&e->cq, e, ENTRIES), 0);
	for (int i = 0; i < 2; i++) {
		conns[i] = aligned_alloc(64, (sizeof(**conns) + 63) & ~63ul);
		cr_assert(conns[i]);
		memset(conns[i], 0, sizeof(**conns));
		conns[i]->engine = e;
	}
	sends = make(16, 0);
	recvs = make(16, XIW_CQ_NOTIFY);
}

static void teardown(void)
{
	for (int i = 0; i < 2; i++) {
		if (conns[i]->engine)
			xiw_outlets_leave(conns[i]);
		free(conns[i]);
	}
	cr_expect_eq(xiw_cq_free(sends), 0);
	cr_expect_eq(xiw_cq_free(recvs), 0);
	free(e->cq.overflow);
	free(e->cq.entries);
	free(e);
}

TestSuite(core_cqs, .init = setup, .fini = teardown);

static void complete(int conn, enum xiw_event event, enum xiw_operation op, uint64_t user_data)
{
	const struct xiw_completion c = {
		.user_data = user_data, .conn = conns[conn], .event = event, .op = op
	};

	xiw_complete(e, &c);
}

static void received(int conn, uint64_t user_data)
{
	complete(conn, XIW_EV_RECEIVED, XIW_OPERATION_RECV, user_data);
}

static void expect(struct xiw_cq *q, uint64_t user_data)
{
	struct xiw_completion c;

	cr_assert(xiw_cq_next(q, &c), "%lu is missing", (unsigned long)user_data);
	cr_assert_eq(c.user_data, user_data, "%lu, not %lu", (unsigned long)c.user_data,
		     (unsigned long)user_data);
}

static bool empty(struct xiw_cq *q)
{
	struct xiw_completion c;

	return !xiw_cq_next(q, &c);
}

static struct xiw_cq_info info_of(const struct xiw_cq *q)
{
	struct xiw_cq_info i;

	xiw_cq_info(q, &i, sizeof(i));
	return i;
}

/* ---- where completions go ------------------------------------------------------------------------- */

Test(core_cqs, each_kind_goes_to_its_queue)
{
	static const enum xiw_operation of_sends[] = { XIW_OPERATION_SEND, XIW_OPERATION_WRITE,
						       XIW_OPERATION_READ };

	cr_assert_eq(xiw_outlets_set(conns[0], sends, recvs), 0);
	complete(0, XIW_EV_CONNECTED, XIW_OPERATION_NONE, 1);
	received(0, 2);
	for (uint64_t i = 0; i < 3; i++)
		complete(0, XIW_EV_FLUSHED, of_sends[i], 3 + i);
	/* The other connection has no queues of its own. */
	received(1, 6);
	complete(1, XIW_EV_SENT, XIW_OPERATION_SEND, 7);
	complete(0, XIW_EV_CLOSED, XIW_OPERATION_NONE, 8);

	expect(recvs, 2);
	for (uint64_t i = 0; i < 3; i++)
		expect(sends, 3 + i);
	expect(&e->cq, 1);
	expect(&e->cq, 6);
	expect(&e->cq, 7);
	expect(&e->cq, 8);
	cr_expect(empty(sends) && empty(recvs) && empty(&e->cq));
}

/* A connection is known to the application once it has taken an event, not a completion of another queue. */
Test(core_cqs, what_the_application_has_heard_of)
{
	cr_assert_eq(xiw_outlets_set(conns[0], sends, recvs), 0);
	received(0, 1);
	expect(recvs, 1);
	cr_expect(!xiw_cq_heard(conns[0]));
	complete(0, XIW_EV_REQUEST, XIW_OPERATION_NONE, 2);
	expect(&e->cq, 2);
	cr_expect(xiw_cq_heard(conns[0]));
}

Test(core_cqs, the_engine_returns_for_news_in_any_queue)
{
	cr_assert_eq(xiw_outlets_set(conns[0], sends, recvs), 0);
	complete(0, XIW_EV_CONNECTED, XIW_OPERATION_NONE, 1);
	cr_expect(!e->cqs.news, "the engine looks into its own queue");
	received(0, 2);
	cr_expect(e->cqs.news);
}

/* ---- a queue that is too small -------------------------------------------------------------------- */

/* RFC 5042 section 6.4.6: what does not use the queue that is full goes on. */
Test(core_cqs, a_full_queue_holds_up_nothing)
{
	cr_assert_eq(xiw_outlets_set(conns[0], sends, recvs), 0);
	for (uint64_t i = 0; i < 100000; i++)
		received(0, i);
	cr_expect_eq(info_of(recvs).queued, 100000);
	cr_expect_eq(info_of(recvs).beyond, 100000 - 16);
	cr_expect_gt(e->budget.used, 100000 * sizeof(struct xiw_completion), "memory is counted");
	cr_expect_eq(xiw_cq_room(e), ENTRIES, "the engine takes packets");
	for (uint64_t i = 0; i < 16; i++)
		complete(0, XIW_EV_SENT, XIW_OPERATION_SEND, i);
	for (uint64_t i = 0; i < 16; i++)
		expect(sends, i);
	for (uint64_t i = 0; i < 100000; i++) {
		if (i % 16 == 0)
			xiw_cqs_refill(e);
		expect(recvs, i);
	}
	xiw_cqs_refill(e);
	cr_expect(empty(recvs) && !e->cqs.overflowing && !e->cqs.lost);
	cr_expect_eq(info_of(recvs).total, 100000);
	cr_expect_lt(e->budget.used, 100000);
}

Test(core_cqs, several_are_full_and_get_room_in_any_order)
{
	cr_assert_eq(xiw_outlets_set(conns[0], sends, recvs), 0);
	for (uint64_t i = 0; i < 40; i++) {
		received(0, i);
		complete(0, XIW_EV_SENT, XIW_OPERATION_SEND, i);
	}
	for (uint64_t i = 0; i < 40; i++) {
		xiw_cqs_refill(e);
		expect(sends, i);
	}
	xiw_cqs_refill(e);
	cr_expect_eq(e->cqs.overflowing, recvs);
	for (uint64_t i = 0; i < 40; i++) {
		xiw_cqs_refill(e);
		expect(recvs, i);
	}
	xiw_cqs_refill(e);
	cr_expect(!e->cqs.overflowing);
}

/* ---- notification --------------------------------------------------------------------------------- */

static bool readable(struct xiw_cq *q)
{
	struct pollfd p = { .fd = xiw_cq_fd(q), .events = POLLIN };
	uint64_t octets;

	return poll(&p, 1, 0) == 1 && read(p.fd, &octets, sizeof(octets)) == sizeof(octets);
}

Test(core_cqs, an_armed_queue_tells_once)
{
	cr_assert_eq(xiw_outlets_set(conns[0], sends, recvs), 0);
	received(0, 1);
	cr_expect(!readable(recvs), "it was not armed");
	cr_assert_eq(xiw_cq_arm(recvs, false), 0);
	cr_expect(!readable(recvs), "what is there already does not count");
	received(0, 2);
	received(0, 3);
	cr_expect(readable(recvs));
	received(0, 4);
	cr_expect(!readable(recvs), "it told once");
	cr_expect_eq(xiw_cq_arm(sends, false), -ENOENT);
	cr_expect_eq(xiw_cq_fd(sends), -ENOENT);
}

Test(core_cqs, armed_for_solicited_completions_and_failures)
{
	struct xiw_completion c = {
		.conn = conns[0],
		.event = XIW_EV_RECEIVED,
		.op = XIW_OPERATION_RECV,
		.flags = XIW_COMPLETION_SOLICITED,
	};

	cr_assert_eq(xiw_outlets_set(conns[0], sends, recvs), 0);
	cr_assert_eq(xiw_cq_arm(recvs, true), 0);
	received(0, 1);
	cr_expect(!readable(recvs));
	xiw_complete(e, &c);
	cr_expect(readable(recvs));

	cr_assert_eq(xiw_cq_arm(recvs, true), 0);
	c.flags = 0;
	c.status = -ECANCELED;
	xiw_complete(e, &c);
	cr_expect(readable(recvs), "a failure counts");

	cr_assert_eq(xiw_cq_arm(recvs, false), 0);
	cr_assert_eq(xiw_cq_arm(recvs, true), 0);
	received(0, 1);
	cr_expect(readable(recvs), "the wider wish counts");
}

/* The solicited completion has no room in the queue, and the others do not wake the thread that would make room. */
Test(core_cqs, a_full_queue_tells)
{
	const struct xiw_completion c = {
		.conn = conns[0],
		.event = XIW_EV_RECEIVED,
		.op = XIW_OPERATION_RECV,
		.flags = XIW_COMPLETION_SOLICITED,
	};

	cr_assert_eq(xiw_outlets_set(conns[0], sends, recvs), 0);
	cr_assert_eq(xiw_cq_arm(recvs, true), 0);
	for (uint64_t i = 0; i < 20; i++)
		received(0, i);
	cr_expect(!readable(recvs));
	xiw_complete(e, &c);
	cr_expect(readable(recvs));
}

/* ---- ends ----------------------------------------------------------------------------------------- */

Test(core_cqs, none_of_a_freed_connection)
{
	for (int i = 0; i < 2; i++)
		cr_assert_eq(xiw_outlets_set(conns[i], sends, recvs), 0);
	for (uint64_t i = 0; i < 50; i++) {
		received(0, i);
		received(1, i);
		complete(0, XIW_EV_SENT, XIW_OPERATION_SEND, i);
	}
	xiw_cq_forget_conn(conns[0]);
	for (uint64_t i = 0; i < 50; i++) {
		xiw_cqs_refill(e);
		expect(recvs, i);
		cr_assert(empty(sends));
	}
	xiw_cqs_refill(e);
	cr_expect(empty(recvs) && empty(sends));
}

Test(core_cqs, a_queue_in_use_is_not_freed)
{
	cr_assert_eq(xiw_outlets_set(conns[0], sends, sends), 0);
	cr_assert_eq(xiw_outlets_set(conns[1], NULL, sends), 0);
	cr_expect_eq(info_of(sends).streams, 3);
	cr_expect_eq(xiw_cq_free(sends), -EBUSY);
	xiw_outlets_leave(conns[0]);
	cr_expect_eq(xiw_cq_free(sends), -EBUSY);
	xiw_outlets_leave(conns[1]);
	cr_expect_eq(xiw_cq_free(sends), 0);
	cr_expect_eq(xiw_cq_free(NULL), 0);
	sends = NULL;
}

/* A queue that is full when it goes leaves nothing behind, whatever the order. */
Test(core_cqs, memory_is_given_back)
{
	struct xiw_cq *q[4];
	const uint64_t before = e->budget.used;

	for (int i = 0; i < 4; i++)
		q[i] = make(1, 0);
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(xiw_outlets_set(conns[0], q[i], q[i]), 0);
		for (uint64_t n = 0; n < 3; n++)
			received(0, n);
	}
	xiw_outlets_leave(conns[0]);
	static const int order[] = { 2, 0, 3, 1 };
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(xiw_cq_free(q[order[i]]), 0);
		xiw_cqs_refill(e);
	}
	cr_expect_eq(e->budget.used, before);
	cr_expect(!e->cqs.overflowing);
}

Test(core_cqs, after_its_engine_a_queue_is_empty)
{
	cr_assert_eq(xiw_outlets_set(conns[0], sends, recvs), 0);
	for (uint64_t i = 0; i < 50; i++)
		received(0, i);
	xiw_outlets_leave(conns[0]);
	conns[0]->engine = NULL;
	xiw_cqs_detach(e);
	cr_expect(empty(recvs) && empty(sends));
	cr_expect_eq(info_of(recvs).total, 50);
	cr_expect_eq(e->budget.used, 0);
}

Test(core_cqs, options)
{
	struct xiw_cq_opts o = { .size = sizeof(o), .entries = XIW_CQ_ENTRIES_MAX + 1 };
	struct xiw_cq *q = NULL;
	struct xiw_engine other = {};

	cr_expect_eq(xiw_cq_create(e, &o, &q), -EINVAL);
	o = (struct xiw_cq_opts){ .size = sizeof(o), .flags = 4 };
	cr_expect_eq(xiw_cq_create(e, &o, &q), -EINVAL);
	o = (struct xiw_cq_opts){ .size = sizeof(o), .reserved = 1 };
	cr_expect_eq(xiw_cq_create(e, &o, &q), -EINVAL);
	o = (struct xiw_cq_opts){ .size = sizeof(o), .app_ring_fd = 1 };
	cr_expect_eq(xiw_cq_create(e, &o, &q), -EINVAL);
	o.flags = XIW_CQ_APP_RING;
	cr_expect_eq(xiw_cq_create(e, &o, &q), -EBADF);
	cr_assert_eq(xiw_cq_create(e, NULL, &q), 0);
	cr_expect_eq(info_of(q).entries, 256);
	conns[0]->engine = &other;
	cr_expect_eq(xiw_outlets_set(conns[0], q, NULL), -EINVAL);
	cr_expect_eq(xiw_outlets_set(conns[0], NULL, q), -EINVAL);
	cr_expect_eq(xiw_cq_free(q), 0);
	e->budget.limit = 1000;
	cr_expect_eq(xiw_cq_create(e, NULL, &q), -ENOMEM);
}
