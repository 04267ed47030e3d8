// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Event queues and completion queues of user/host, which know nothing of engines. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "host/cq.h"
#include "host/eq.h"

static struct xiw_host_eq *eq, *other;
static struct xiw_host_cq *cq;
static struct xiw_host_event ev;
static struct xiw_host_wc wc[8];
static int a, b; /* contexts, and owners of completions */
static uint32_t credit;

static void set_up(void)
{
	cr_assert(!xiw_host_eq_create(&eq));
	cr_assert(!xiw_host_eq_create(&other));
	cr_assert(!xiw_host_cq_create(eq, &a, &cq));
	credit = 0;
}

static void tear_down(void)
{
	cr_expect(!xiw_host_cq_free(cq));
	cr_expect(!xiw_host_eq_free(other));
	cr_expect(!xiw_host_eq_free(eq));
}

TestSuite(host, .init = set_up, .fini = tear_down, .timeout = 60);

static bool readable(struct xiw_host_eq *q)
{
	struct pollfd p = { .fd = xiw_host_eq_fd(q), .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void post(void *context, uint64_t number)
{
	const struct xiw_host_event e = {
		.kind = XIW_HOST_OTHER,
		.context = context,
		.other = number,
		.private_len = (uint16_t)(number % 100),
		.private_data = { 1, 2, (uint8_t)number },
	};

	cr_assert(!xiw_host_eq_post(eq, &e));
}

static void expect_event(struct xiw_host_eq *q, const void *context, uint64_t number)
{
	cr_assert(readable(q));
	cr_assert_eq(xiw_host_eq_take(q, &ev), 1);
	cr_assert(ev.context == context && ev.other == number);
	cr_assert_eq(ev.private_len, number % 100);
	cr_assert(number % 100 < 3 || ev.private_data[2] == (uint8_t)number);
}

static void expect_none(struct xiw_host_eq *q)
{
	cr_assert_eq(xiw_host_eq_take(q, &ev), 0);
	cr_assert(!readable(q));
}

Test(host, events_in_order)
{
	expect_none(eq);
	for (uint64_t i = 0; i < 5; i++)
		post(&a, i * 33);
	for (uint64_t i = 0; i < 5; i++)
		expect_event(eq, &a, i * 33);
	expect_none(eq);
	post(&a, 7);
	expect_event(eq, &a, 7);
}

Test(host, waiting)
{
	const int fd = xiw_host_eq_fd(eq);

	cr_expect_eq(xiw_host_eq_wait(eq, &ev, 10), -ETIMEDOUT);
	cr_assert(!fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK));
	cr_expect_eq(xiw_host_eq_wait(eq, &ev, -1), -EAGAIN);
	post(&a, 1);
	cr_expect_eq(xiw_host_eq_wait(eq, &ev, -1), 1);
	cr_expect_eq(ev.other, 1);
}

Test(host, purged_and_handed_over)
{
	for (uint64_t i = 1; i <= 6; i++)
		post(i % 2 ? &a : &b, i);
	xiw_host_eq_hand_over(eq, other, &a);
	expect_event(other, &a, 1);
	xiw_host_eq_purge(other, &a);
	expect_none(other);
	expect_event(eq, &b, 2);
	xiw_host_eq_purge(eq, &b);
	expect_none(eq);
	post(&a, 9);
	expect_event(eq, &a, 9);
}

static void *posts(void *arg)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_cancel(pthread_self());
	pthread_setcancelstate(cancel, NULL);
	post(arg, 1);
	return NULL;
}

/* A thread that is to be cancelled is not, where it would keep the lock and say nothing. */
Test(host, cancelled)
{
	pthread_t thread;

	cr_assert(!pthread_create(&thread, NULL, posts, &a));
	cr_assert(!pthread_join(thread, NULL));
	expect_event(eq, &a, 1);
}

static unsigned int dropped;

static void drop(struct xiw_host_event *event)
{
	cr_assert_eq(event->context, &a);
	dropped++;
}

Test(host, what_is_removed_is_dropped)
{
	const struct xiw_host_event e = { .context = &a };

	for (int i = 0; i < 3; i++)
		cr_assert(!xiw_host_eq_put(other, &e, drop));
	cr_assert_eq(xiw_host_eq_take(other, &ev), 1);
	xiw_host_eq_purge(other, &a);
	cr_expect_eq(dropped, 2);
	cr_assert(!xiw_host_eq_put(other, &e, drop));
	cr_assert(!xiw_host_eq_free(other));
	cr_expect_eq(dropped, 3);
	cr_assert(!xiw_host_eq_create(&other));
}

static void add(const void *owner, uint64_t id, enum xiw_cause cause, uint8_t flags)
{
	const struct xiw_host_wc w = { .wr_id = id, .cause = cause, .flags = flags };

	credit++;
	xiw_host_cq_add(cq, &w, owner, &credit);
}

Test(host, completions_in_order_while_the_queue_grows)
{
	uint64_t in = 0, out = 0;

	for (int round = 1; round < 50; round++) {
		cr_assert(!xiw_host_cq_reserve(cq, 3));
		for (int i = 0; i < 3; i++)
			add(&a, in++, XIW_CAUSE_NONE, 0);
		if (round % 2)
			cr_assert_eq(xiw_host_cq_poll(cq, wc, 1), 1);
		if (round % 2)
			cr_assert_eq(wc[0].wr_id, out++);
		cr_assert_eq(xiw_host_cq_count(cq), in - out);
		cr_assert_eq(credit, in - out);
	}
	for (int n; (n = xiw_host_cq_poll(cq, wc, 8));)
		for (int i = 0; i < n; i++)
			cr_assert_eq(wc[i].wr_id, out++);
	cr_assert(out == in && !credit);
	cr_expect_eq(xiw_host_cq_free(cq), -EBUSY);
	xiw_host_cq_unreserve(cq, 49 * 3);
}

Test(host, armed_once)
{
	cr_assert(!xiw_host_cq_reserve(cq, 16));
	add(&a, 1, XIW_CAUSE_NONE, 0);
	cr_assert(!xiw_host_cq_arm(cq, false));
	expect_none(eq);
	add(&a, 2, XIW_CAUSE_NONE, 0);
	add(&a, 3, XIW_CAUSE_NONE, 0);
	cr_assert_eq(xiw_host_eq_take(eq, &ev), 1);
	cr_assert(ev.kind == XIW_HOST_COMPLETION && ev.context == &a);
	expect_none(eq);
	/* Armed twice, it tells twice, although nobody has taken the first event. */
	for (uint64_t i = 4; i < 6; i++) {
		cr_assert(!xiw_host_cq_arm(cq, false));
		add(&a, i, XIW_CAUSE_NONE, 0);
	}
	cr_assert_eq(xiw_host_eq_take(eq, &ev), 1);
	cr_assert_eq(xiw_host_eq_take(eq, &ev), 1);
	expect_none(eq);
	xiw_host_cq_unreserve(cq, 16);
}

/* A program may arm, poll once, and wait. */
Test(host, armed_and_not_emptied)
{
	cr_assert(!xiw_host_cq_reserve(cq, 4));
	for (uint64_t i = 0; i < 4; i++)
		add(&a, i, XIW_CAUSE_NONE, 0);
	cr_assert_eq(xiw_host_cq_poll(cq, wc, 1), 1);
	expect_none(eq);
	cr_assert(!xiw_host_cq_arm(cq, false));
	cr_assert_eq(xiw_host_cq_poll(cq, wc, 1), 1);
	cr_assert_eq(xiw_host_eq_take(eq, &ev), 1);
	cr_assert(ev.kind == XIW_HOST_COMPLETION && ev.context == &a);
	cr_assert_eq(xiw_host_cq_poll(cq, wc, 1), 1);
	expect_none(eq);
	cr_assert(!xiw_host_cq_arm(cq, false));
	cr_assert_eq(xiw_host_cq_poll(cq, wc, 8), 1);
	expect_none(eq);
	add(&a, 4, XIW_CAUSE_NONE, 0);
	cr_assert_eq(xiw_host_eq_take(eq, &ev), 1);
	cr_assert_eq(xiw_host_cq_poll(cq, wc, 8), 1);
	xiw_host_cq_unreserve(cq, 4);
}

/* What is left counts as what comes: if it is solicited or has failed. */
Test(host, armed_for_what_is_solicited_and_not_emptied)
{
	const struct {
		enum xiw_cause cause;
		uint8_t flags;
	} wakes[] = { { XIW_CAUSE_NONE, XIW_HOST_WC_SOLICITED }, { XIW_CAUSE_FLUSHED, 0 } };

	cr_assert(!xiw_host_cq_reserve(cq, 4));
	for (int i = 0; i < 2; i++) {
		add(&a, 1, XIW_CAUSE_NONE, 0);
		add(&a, 2, wakes[i].cause, wakes[i].flags);
		add(&a, 3, XIW_CAUSE_NONE, 0);
		add(&b, 4, wakes[i].cause, wakes[i].flags);
		cr_assert(!xiw_host_cq_arm(cq, true));
		cr_assert_eq(xiw_host_cq_poll(cq, wc, 1), 1);
		cr_assert_eq(xiw_host_eq_take(eq, &ev), 1);
		expect_none(eq);
		/* Those that are removed are not left. */
		xiw_host_cq_purge(cq, &b);
		cr_assert_eq(xiw_host_cq_poll(cq, wc, 1), 1);
		add(&a, 5, XIW_CAUSE_NONE, 0);
		cr_assert(!xiw_host_cq_arm(cq, true));
		cr_assert_eq(xiw_host_cq_poll(cq, wc, 1), 1);
		expect_none(eq);
		cr_assert(!xiw_host_cq_arm(cq, false));
		cr_assert_eq(xiw_host_cq_poll(cq, wc, 8), 1);
		expect_none(eq);
		add(&a, 6, XIW_CAUSE_NONE, 0);
		cr_assert_eq(xiw_host_eq_take(eq, &ev), 1);
		cr_assert_eq(xiw_host_cq_poll(cq, wc, 8), 1);
	}
	xiw_host_cq_unreserve(cq, 4);
}

Test(host, armed_for_what_is_solicited)
{
	cr_assert(!xiw_host_cq_reserve(cq, 16));
	cr_assert(!xiw_host_cq_arm(cq, true));
	add(&a, 1, XIW_CAUSE_NONE, 0);
	expect_none(eq);
	add(&a, 2, XIW_CAUSE_NONE, XIW_HOST_WC_SOLICITED);
	cr_assert_eq(xiw_host_eq_take(eq, &ev), 1);
	cr_assert(!xiw_host_cq_arm(cq, true));
	add(&a, 3, XIW_CAUSE_FLUSHED, 0);
	cr_assert_eq(xiw_host_eq_take(eq, &ev), 1);
	/* For all stays for all. */
	cr_assert(!xiw_host_cq_arm(cq, false));
	cr_assert(!xiw_host_cq_arm(cq, true));
	add(&a, 4, XIW_CAUSE_NONE, 0);
	cr_assert_eq(xiw_host_eq_take(eq, &ev), 1);
	/* An event that nobody has taken goes with its queue. */
	cr_assert(!xiw_host_cq_arm(cq, false));
	add(&a, 5, XIW_CAUSE_NONE, 0);
	cr_assert(readable(eq));
	xiw_host_cq_unreserve(cq, 16);
	cr_expect_eq(xiw_host_eq_free(eq), -EBUSY);
	cr_assert(!xiw_host_cq_free(cq));
	expect_none(eq);
	cr_assert(!xiw_host_cq_create(NULL, NULL, &cq));
	cr_expect_eq(xiw_host_cq_arm(cq, false), -ENOENT);
}

Test(host, completions_of_one_owner_are_removed)
{
	cr_assert(!xiw_host_cq_reserve(cq, 16));
	for (uint64_t i = 0; i < 10; i++)
		add(i % 3 ? &a : &b, i, XIW_CAUSE_NONE, 0);
	xiw_host_cq_purge(cq, &b);
	cr_expect_eq(credit, 6);
	cr_assert_eq(xiw_host_cq_poll(cq, wc, 8), 6);
	for (int i = 0; i < 6; i++)
		cr_expect_eq(wc[i].wr_id, (uint64_t)(i + i / 2 + 1));
	cr_expect_eq(credit, 0);
	xiw_host_cq_unreserve(cq, 16);
}

Test(host, dead_in_a_child)
{
	int status;
	pid_t child;

	cr_assert(!xiw_host_cq_reserve(cq, 16));
	add(&a, 1, XIW_CAUSE_NONE, 0);
	post(&a, 1);
	child = fork();
	if (!child)
		_exit(xiw_host_cq_poll(cq, wc, 1) || xiw_host_eq_take(eq, &ev) ||
		      xiw_host_cq_arm(cq, false) != -ECANCELED ||
		      xiw_host_eq_wait(eq, &ev, 0) != -ECANCELED || xiw_host_cq_free(cq) ||
		      xiw_host_eq_free(eq) || xiw_host_eq_create(&eq) || readable(eq));
	cr_assert(waitpid(child, &status, 0) == child && !status);
	expect_event(eq, &a, 1);
	cr_assert_eq(xiw_host_cq_poll(cq, wc, 8), 1);
	xiw_host_cq_unreserve(cq, 16);
}
