// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The connections of soak_send.c: how they begin and end, and the report about them. */
#include "tests/net/soak/soak_peer.h"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

struct send_opt send_opt = { .conns = 100, .seconds = 10 };
struct send_sum send_sum = { .least = UINT64_MAX };
int poller;
uint64_t now;

static uint64_t next_id = 1;

void __attribute__((format(printf, 2, 3))) send_wrong(const struct conn *c, const char *fmt, ...)
{
	va_list ap;

	if (++send_sum.wrong > 50)
		return;
	fprintf(stderr, "soak_send: connection %llu (%s, message %u, state %d): ",
		(unsigned long long)c->plan.id, soak_kinds[c->plan.kind].name, c->plan.n, c->state);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
}

/* ---- opening and closing --------------------------------------------------------------------- */

void finish_conn(struct conn *c)
{
	close(c->fd);
	xiw_mpa_stream_free(&c->in);
	xiw_ddp_tx_free(&c->ddp);
	if (c->state < RUN)
		send_sum.starting--;
	send_sum.kinds[c->plan.kind]++;
	send_sum.open--;
	c->state = FREE;
}

void reset_conn(struct conn *c)
{
	struct linger l = { .l_onoff = 1 };

	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	finish_conn(c);
}

void watch_socket(struct conn *c, bool writable)
{
	struct epoll_event ev = { .events = EPOLLIN | (writable ? EPOLLOUT : 0), .data.ptr = c };

	c->writable = writable;
	if (epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &ev))
		die_errno("epoll_ctl");
}

void begin_conn(struct conn *c)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT, .data.ptr = c };
	struct sockaddr_storage ss;
	const char *to;
	socklen_t len;
	int one = 1;

	memset(c, 0, offsetof(struct conn, out));
	soak_plan_init(&c->plan, next_id++);
	c->answers = c->plan;
	to = send_opt.address[c->plan.id % send_opt.addresses];
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
		send_sum.connect_again++;
		next_id--;
		close(c->fd);
		return;
	}
	c->writable = true;
	if (xiw_ddp_tx_init(&c->ddp, QUEUES, 0) || epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &ev))
		die_errno("epoll_ctl");
	c->state = CONNECTING;
	c->last_ms = now;
	send_sum.opened++;
	send_sum.open++;
	send_sum.starting++;
}

uint32_t next_answer(struct conn *c)
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

bool ends_by_reset(const struct conn *c)
{
	return c->plan.kind == SOAK_RABORT || c->plan.kind >= SOAK_TRUNCATED;
}

void ended(struct conn *c, int err)
{
	bool reset_ok = ends_by_reset(c);
	bool clean_ok = c->plan.kind != SOAK_RABORT;

	if (err ? !reset_ok || (err != ECONNRESET && err != EPIPE) : !clean_ok)
		send_wrong(c, "ended with %s", err ? strerror(err) : "EOF");
	if (!err && c->state < ENDING && c->plan.kind != SOAK_RCLOSE &&
	    c->plan.kind < SOAK_TRUNCATED)
		send_wrong(c, "EOF before the end");
	if (!err && c->plan.kind <= SOAK_HALF) {
		next_answer(c);
		if (c->plan.left || c->sending || c->out_off < c->out_len)
			send_wrong(c, "the receiver closed before the end");
		if (c->answers.n != c->plan.n)
			send_wrong(c, "answers to %u of %u messages", c->answers.n, c->plan.n);
		if (c->plan.kind == SOAK_HALF && c->extra != SOAK_HALF_EXTRA)
			send_wrong(c, "%u messages behind the half-close", c->extra);
	}
	finish_conn(c);
}

void send_report(void)
{
	struct json_object *o = json_object_new_object();

	add(o, "opened", send_sum.opened);
	add(o, "least_open", send_sum.least);
	soak_add_kinds(o, send_sum.kinds);
	add(o, "messages", send_sum.messages);
	add(o, "octets", send_sum.octets);
	add(o, "answers", send_sum.answers);
	add(o, "octets_back", send_sum.octets_back);
	add(o, "no_port", send_sum.connect_again);
	add(o, "lost_resets", send_sum.lost_resets);
	add(o, "stuck", send_sum.stuck);
	add(o, "wrong", send_sum.wrong);
	print_json(o);
}
