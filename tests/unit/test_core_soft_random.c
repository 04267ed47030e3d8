// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Requests and events in random orders: the ring in plain memory answers each step as io_uring does. A step is one
 * request, or one thing that the peer does; after it, everything has come that comes.
 */
#include <errno.h>
#include <linux/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "soft_rig.h"

#define PAIRS 4
#define STEPS 120
#define SEEDS 12
#define LOG 4096

enum { RECEIVE, RECEIVE_ON, WAIT_IN, WAIT_HUP, SEND, KINDS };

struct pair {
	int ours, peer;
	bool waits[KINDS]; /* a request of this kind is under way */
	bool ended, reset; /* by the peer */
	uint64_t sent;	   /* to us */
};

static struct pair pairs[PAIRS];
static uint8_t in[PAIRS][256];
static struct {
	uint32_t step;
	struct expected x;
} logs[2][LOG], *now;
static unsigned int logged[2], *n_now;

static void renew(struct pair *p)
{
	connect_both();
	*p = (struct pair){ .ours = at[0], .peer = at[1] };
}

static uint64_t what_of(unsigned int pair, unsigned int kind)
{
	return 100 * (pair + 1) + kind;
}

/* Who comes first to a socket that was reset, takes its error: a receive, or a poll that reports it. */
static int result(const struct io_uring_cqe *c)
{
	const unsigned int kind = c->user_data % 100;

	return c->res > 0 && (kind == WAIT_IN || kind == WAIT_HUP) ? c->res & ~POLLERR : c->res;
}

/* Notes what the step has brought, by request. */
static void settle(uint32_t step)
{
	take(MOST, 2);
	for (unsigned int i = 1; i < ngot; i++)
		for (unsigned int k = i; k && got[k - 1].user_data > got[k].user_data; k--) {
			const struct io_uring_cqe later = got[k - 1];

			got[k - 1] = got[k];
			got[k] = later;
		}
	for (unsigned int i = 0; i < ngot; i++) {
		const struct io_uring_cqe *c = &got[i];
		const bool more = c->flags & IORING_CQE_F_MORE;

		if (c->user_data >= 100 && !more)
			pairs[c->user_data / 100 - 1].waits[c->user_data % 100] = false;
		if (c->flags & IORING_CQE_F_BUFFER) {
			xiw_buf_taken(e);
			xiw_buf_return(e, (uint16_t)(c->flags >> IORING_CQE_BUFFER_SHIFT));
		}
		cr_assert_lt(*n_now, LOG);
		now[*n_now].step = step;
		now[(*n_now)++].x = (struct expected){ c->user_data, result(c), more };
	}
	ngot = 0;
}

static bool idle(const struct pair *p)
{
	for (unsigned int k = 0; k < KINDS; k++)
		if (p->waits[k])
			return false;
	return true;
}

static void ask(unsigned int i, unsigned int kind, unsigned int len)
{
	struct pair *p = &pairs[i];
	const uint64_t what = what_of(i, kind);

	/* Who of two receives gets the octets is open. */
	if (p->waits[kind] || (kind <= RECEIVE_ON && p->waits[RECEIVE_ON - kind]))
		return;
	p->waits[kind] = true;
	at[0] = p->ours;
	switch (kind) {
	case RECEIVE:
		io_uring_prep_recv(request(what), p->ours, in[i], sizeof(in[i]), 0);
		break;
	case RECEIVE_ON:
		receive_on(what);
		break;
	case WAIT_IN:
		io_uring_prep_poll_add(request(what), p->ours, POLLIN);
		break;
	case WAIT_HUP:
		io_uring_prep_poll_add(request(what), p->ours, POLLRDHUP);
		break;
	default:
		io_uring_prep_send(request(what), p->ours, octets, len, MSG_WAITALL);
	}
}

/* What the peer has done is here: on a busy machine even the loopback interface takes its time. */
static void arrived(const struct pair *p)
{
	struct tcp_info i = { .tcpi_state = 0 };
	socklen_t len = sizeof(i);

	for (unsigned int n = 0; n < 10000; n++) {
		cr_assert_eq(getsockopt(p->ours, IPPROTO_TCP, TCP_INFO, &i, &len), 0);
		if (p->reset ? i.tcpi_state == 7 /* CLOSE */
			     : i.tcpi_bytes_received >= p->sent &&
				       (!p->ended || i.tcpi_state == 8 /* CLOSE_WAIT */))
			return;
		usleep(100);
	}
	cr_assert_fail("nothing has arrived: state %u", i.tcpi_state);
}

static void disturb(struct pair *p, unsigned int choice, size_t len)
{
	if (p->reset)
		return;
	if (choice < 4) {
		ssize_t n = p->ended ? 0 : send(p->peer, octets, len, MSG_DONTWAIT);

		p->sent += n > 0 ? (uint64_t)n : 0;
	} else if (choice < 5) {
		shutdown(p->peer, SHUT_WR);
		p->ended = true;
	} else {
		reset(p->peer);
		p->reset = true;
	}
	arrived(p);
}

static void step(uint32_t number)
{
	const unsigned int i = (unsigned int)random() % PAIRS,
			   len = 1 + (unsigned int)random() % 999;
	const unsigned int kind = (unsigned int)random() % KINDS,
			   choice = (unsigned int)random() % 20;
	struct pair *p = &pairs[i];

	if (choice < 9) {
		ask(i, kind, len);
	} else if (choice < 12) {
		cancel(1, what_of(i, kind));
	} else if (choice < 18) {
		disturb(p, choice - 12, len);
	} else if (idle(p)) {
		/* A number that is used again, or that of another pair. */
		forget_close(p->ours);
		if (!p->reset)
			close(p->peer);
		renew(p);
	}
	settle(number);
}

static void play(void)
{
	n_now = &logged[io_uring];
	now = logs[io_uring];
	for (unsigned int i = 0; i < PAIRS; i++)
		renew(&pairs[i]);
	for (uint32_t s = 0; s < STEPS; s++)
		step(s);
	for (unsigned int i = 0; i < PAIRS; i++)
		for (unsigned int k = 0; k < KINDS; k++)
			cancel(1, what_of(i, k));
	settle(STEPS);
	for (unsigned int i = 0; i < PAIRS; i++) {
		cr_expect(idle(&pairs[i]));
		forget_close(pairs[i].ours);
		if (!pairs[i].reset)
			close(pairs[i].peer);
	}
	connect_both(); /* which the rig closes */
}

static unsigned int seed;

static void play_one(void)
{
	srandom(seed);
	play();
}

Test(core_soft_random, answers_as_io_uring_does)
{
	for (seed = 1; seed <= SEEDS; seed++) {
		logged[0] = logged[1] = 0;
		both(play_one);
		cr_assert_gt(logged[0], STEPS / 4);
		if (!io_uring)
			continue; /* there is none here to compare with */
		cr_assert_eq(logged[0], logged[1], "seed %u: %u completions and %u", seed,
			     logged[0], logged[1]);
		for (unsigned int i = 0; i < logged[0]; i++)
			cr_assert(!memcmp(&logs[0][i].x.what, &logs[1][i].x.what, 8) &&
					  logs[0][i].x.res == logs[1][i].x.res &&
					  logs[0][i].x.more == logs[1][i].x.more &&
					  logs[0][i].step == logs[1][i].step,
				  "seed %u, step %u: %llu has %d, and %llu has %d in step %u", seed,
				  logs[0][i].step, (unsigned long long)logs[0][i].x.what,
				  logs[0][i].x.res, (unsigned long long)logs[1][i].x.what,
				  logs[1][i].x.res, logs[1][i].step);
	}
}
