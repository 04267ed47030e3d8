/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The connections of soak_send.c: how they begin and end, and the report of it. */
#ifndef SOAK_PEER_H
#define SOAK_PEER_H

#include <fcntl.h>
#include <getopt.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ddp/tx.h"
#include "mpa/startup.h"
#include "mpa/stream.h"
#include "mpa/tx.h"
#include "soak.h"

#define OUT (48u << 10)
/* The receiver is the first to notice, since it can tell more. */
#define STUCK_MS 75000
#define STARTING 256 /* at most so many between connect() and the Reply */
#define QUEUES 3

enum state {
	FREE,
	CONNECTING,
	REPLY, /* the Request is out */
	RUN,
	ENDING, /* all is sent; the receiver's end is awaited */
};

struct conn {
	enum state state;
	int fd;
	bool writable, shut;
	bool said;			/* the garbage is out */
	struct soak_plan plan, answers; /* sent; answered */
	struct soak_msg msg;
	bool sending; /* msg is under way */
	bool whole;   /* its length disregards segments */
	uint32_t run; /* of out: with MSG_EOR at its end */
	uint64_t due_ms, last_ms;
	int unacked;
	uint32_t stag;
	struct xiw_mpa_tx tx;
	struct xiw_ddp_tx ddp;
	struct xiw_ddp_tx_msg cut;
	struct xiw_mpa_stream in;
	uint64_t back_off, back_len; /* octets that came; of the message under way */
	uint32_t back_msn;
	unsigned int extra;
	uint8_t reply[XIW_MPA_FRAME_MAX];
	size_t reply_len;
	uint32_t out_len, out_off;
	uint8_t out[OUT + 70000];
};

static struct {
	unsigned int conns;
	uint64_t seconds;
	const char *address[2];
	unsigned int addresses;
} opt = { .conns = 100, .seconds = 10 };

static struct {
	uint64_t opened, kinds[SOAK_KINDS], messages, octets, answers, octets_back;
	uint64_t wrong, stuck, open, starting, least, connect_again, lost_resets;
} n = { .least = UINT64_MAX };

static struct conn *conns;
static int poller;
static uint64_t next_id = 1, now;
static bool hurry; /* the time is over: no new ones, and no pauses */
static volatile sig_atomic_t interrupted;

static void __attribute__((format(printf, 2, 3))) wrong(const struct conn *c, const char *fmt, ...)
{
	va_list ap;

	if (++n.wrong > 50)
		return;
	fprintf(stderr, "soak_send: connection %llu (%s, message %u, state %d): ",
		(unsigned long long)c->plan.id, soak_kinds[c->plan.kind].name, c->plan.n, c->state);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
}

/* ---- opening and closing ------------------------------------------------------------------------- */

static void finish(struct conn *c)
{
	close(c->fd);
	xiw_mpa_stream_free(&c->in);
	xiw_ddp_tx_free(&c->ddp);
	if (c->state < RUN)
		n.starting--;
	n.kinds[c->plan.kind]++;
	n.open--;
	c->state = FREE;
}

static void reset(struct conn *c)
{
	struct linger l = { .l_onoff = 1 };

	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	finish(c);
}

static void watch(struct conn *c, bool writable)
{
	struct epoll_event ev = { .events = EPOLLIN | (writable ? EPOLLOUT : 0), .data.ptr = c };

	c->writable = writable;
	if (epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &ev))
		die_errno("epoll_ctl");
}

static void begin(struct conn *c)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT, .data.ptr = c };
	struct sockaddr_storage ss;
	const char *to;
	socklen_t len;
	int one = 1;

	memset(c, 0, offsetof(struct conn, out));
	soak_plan_init(&c->plan, next_id++);
	c->answers = c->plan;
	to = opt.address[c->plan.id % opt.addresses];
	len = address_of(to, SOAK_PORT + c->plan.markers, &ss);
	if (!len)
		die("%s is no address", to);
	c->fd = socket(ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		die_errno("socket");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(c->fd, (struct sockaddr *)&ss, len) && errno != EINPROGRESS) {
		if (errno != EADDRNOTAVAIL)
			die_errno("connect");
		/* All ports are in TIME-WAIT: this is not the connection's fault. */
		n.connect_again++;
		next_id--;
		close(c->fd);
		return;
	}
	c->writable = true;
	if (xiw_ddp_tx_init(&c->ddp, QUEUES, 0) || epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &ev))
		die_errno("epoll_ctl");
	c->state = CONNECTING;
	c->last_ms = now;
	n.opened++;
	n.open++;
	n.starting++;
}

/* The next message that the receiver sends: its length. */
static uint32_t next_answer(struct conn *c)
{
	struct soak_msg m;

	while (c->answers.n < c->plan.n) {
		struct soak_plan ahead = c->answers;

		soak_plan_next(&ahead, &m);
		if (m.back)
			return m.back;
		c->answers = ahead;
	}
	return c->plan.kind == SOAK_HALF && c->extra < SOAK_HALF_EXTRA ? 8192 : 0;
}

/* The receiver ends it by a reset, or may. */
static bool ends_by_reset(const struct conn *c)
{
	return c->plan.kind == SOAK_RABORT || c->plan.kind >= SOAK_TRUNCATED;
}

/* The receiver's end was awaited, and came as EOF (0) or an errno. */
static void ended(struct conn *c, int err)
{
	bool reset_ok = ends_by_reset(c);
	bool clean_ok = c->plan.kind != SOAK_RABORT;

	if (err ? !reset_ok || (err != ECONNRESET && err != EPIPE) : !clean_ok)
		wrong(c, "ended with %s", err ? strerror(err) : "EOF");
	if (!err && c->state < ENDING && c->plan.kind != SOAK_RCLOSE &&
	    c->plan.kind < SOAK_TRUNCATED)
		wrong(c, "EOF before the end");
	if (!err && c->plan.kind <= SOAK_HALF) {
		next_answer(c);
		if (c->plan.left || c->sending || c->out_off < c->out_len)
			wrong(c, "the receiver closed before the end");
		if (c->answers.n != c->plan.n)
			wrong(c, "answers to %u of %u messages", c->answers.n, c->plan.n);
		if (c->plan.kind == SOAK_HALF && c->extra != SOAK_HALF_EXTRA)
			wrong(c, "%u messages behind the half-close", c->extra);
	}
	finish(c);
}

static void report(void)
{
	struct json_object *o = json_object_new_object();

	add(o, "opened", n.opened);
	add(o, "least_open", n.least);
	soak_add_kinds(o, n.kinds);
	add(o, "messages", n.messages);
	add(o, "octets", n.octets);
	add(o, "answers", n.answers);
	add(o, "octets_back", n.octets_back);
	add(o, "no_port", n.connect_again);
	add(o, "lost_resets", n.lost_resets);
	add(o, "stuck", n.stuck);
	add(o, "wrong", n.wrong);
	print_json(o);
}
#endif
