// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The library's end of the startup test: makes one connection for each line that comes over a control
 * connection, as the line says, and answers with what came of it.
 *
 *   startup_end CONTROL-PORT kernel|direct
 *
 * A line is `key=value ...`: see take_line(). The first answer is `ready`, when a peer may connect, the
 * second the result. Exit codes: 0 the control connection was closed, 1 not so, 2 usage.
 */
#include <linux/capability.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/syscall.h>

#include "conn/conn.h"
#include "tests/net/peer/end.h"

#define BUFFER (1 << 20)
#define RECVS 4
#define RECV_SIZE 4096
#define PATIENCE_MS 20000

struct end {
	struct xiw_engine *engine;
	struct xiw_conn *conn;
	enum xiw_use_path path;
	uint8_t *buf; /* behind STag 0x1234 */
	uint8_t recv[3][RECVS][RECV_SIZE];

	/* The line. */
	struct xiw_conn_opts opts;
	char role, answer[8], review[8];
	int port, upgrade, stream, greedy, last, pd, apd, hold, send, take;
	int set_ird, set_ord, idle, must, drop, first, leave;

	/* What came of it. */
	char events[256];
	int status, error, accept_error;
	uint64_t tagged;
	unsigned int untagged, msn, bad;
	bool closed, deciding;
	char taken[64];
};

static uint8_t *pattern(int len)
{
	uint8_t *p = malloc((size_t)len + 1);

	for (int i = 0; i < len; i++)
		p[i] = octet((uint64_t)i);
	return p;
}

/* ---- the line ------------------------------------------------------------------------------------ */

static void take_word(void *ctx, const char *key, const char *value)
{
	struct end *e = ctx;
	int n = (int)strtol(value, NULL, 0);

	if (!strcmp(key, "role"))
		e->role = value[0];
	else if (!strcmp(key, "answer"))
		snprintf(e->answer, sizeof(e->answer), "%s", value);
	else if (!strcmp(key, "review"))
		snprintf(e->review, sizeof(e->review), "%s", value);
	else if (!strcmp(key, "markers"))
		e->opts.markers = n;
	else if (!strcmp(key, "nocrc"))
		e->opts.no_crc = n;
	else if (!strcmp(key, "rev"))
		e->opts.revision = (uint8_t)n;
	else if (!strcmp(key, "enhanced"))
		e->opts.enhanced = n;
	else if (!strcmp(key, "fallback"))
		e->opts.fall_back = n;
	else if (!strcmp(key, "first_sends"))
		e->opts.send_first = n;
	else if (!strcmp(key, "first_ms"))
		e->opts.send_first_ms = (uint16_t)n;
	else if (!strcmp(key, "rtr"))
		e->opts.rtr = (uint8_t)n;
	else if (!strcmp(key, "ird"))
		e->opts.ird = (uint16_t)n;
	else if (!strcmp(key, "ord"))
		e->opts.ord = (uint16_t)n;
	else if (!strcmp(key, "timeout"))
		e->opts.startup_timeout_ms = (unsigned int)n;
}

static bool take_line(struct end *e)
{
	const struct number numbers[] = {
		{ "port", &e->port },
		{ "upgrade", &e->upgrade }, /* over a plain TCP connection */
		{ "stream", &e->stream },   /* octets of streaming data to read first */
		{ "greedy", &e->greedy },   /* and whatever has come with them */
		{ "last", &e->last },
		{ "pd", &e->pd },
		{ "apd", &e->apd },   /* Private Data of the answer */
		{ "hold", &e->hold }, /* decide when an octet comes over the control connection */
		{ "send", &e->send },
		{ "take", &e->take },
		{ "setird", &e->set_ird },
		{ "setord", &e->set_ord },
		{ "idle", &e->idle }, /* before it connects */
		{ "must", &e->must }, /* direct or not at all, whatever this run is about */
		{ "drop", &e->drop }, /* nor that: the right to is dropped */
		{ "first", &e->first },
		{ "leave", &e->leave }, /* close behind the message that is sent */
	};

	e->opts = (struct xiw_conn_opts){ .size = sizeof(e->opts), .path = e->path };
	e->port = e->upgrade = e->stream = e->greedy = e->last = e->pd = e->apd = e->hold =
		e->idle = e->must = e->drop = e->first = e->leave = 0;
	e->send = e->take = e->status = e->error = e->accept_error = 0;
	e->set_ird = e->set_ord = -1;
	e->tagged = 0;
	e->untagged = e->msn = e->bad = 0;
	e->closed = e->deciding = false;
	e->conn = NULL;
	e->events[0] = e->review[0] = e->taken[0] = '\0';
	strcpy(e->answer, "accept");
	memset(e->buf, 0, BUFFER);
	if (!take_words(numbers, sizeof(numbers) / sizeof(numbers[0]), take_word, e))
		return false;
	e->opts.review_reply = e->review[0];
	xiw_conn_first_msn = e->first ? (uint32_t)e->first : 1;
	if (e->must)
		e->opts.path = XIW_USE_DIRECT;
	return true;
}

/* ---- the connection ------------------------------------------------------------------------------ */

static void post(struct end *e, uint32_t qn, unsigned int i)
{
	xiw_conn_post_recv(e->conn, qn, e->recv[qn][i], RECV_SIZE, i);
}

static void post_all(struct end *e)
{
	for (uint32_t qn = 0; qn < 3; qn++)
		for (unsigned int i = 0; i < RECVS; i++)
			post(e, qn, i);
}

static void do_answer(struct end *e)
{
	uint8_t *pd = pattern(e->apd);
	const char *how = e->review[0] ? e->review : e->answer;

	e->deciding = false;
	if (e->set_ird >= 0)
		xiw_conn_set_depths(e->conn, (uint16_t)e->set_ird, (uint16_t)e->set_ord);
	if (!strcmp(how, "accept"))
		e->accept_error = xiw_conn_accept(e->conn, pd, (size_t)e->apd);
	else if (!strcmp(how, "reject"))
		e->accept_error = xiw_conn_reject(e->conn, pd, (size_t)e->apd);
	if (e->accept_error)
		xiw_conn_abort(e->conn);
	else if (strcmp(how, "none") && xiw_conn_accept(e->conn, NULL, 0) != -ENOTCONN)
		e->bad++; /* one answer only */
	free(pd);
}

static void send_message(struct end *e)
{
	static uint8_t text[65536];
	struct xiw_message m = { .buf = text, .len = (uint64_t)e->send };

	for (int i = 0; i < e->send; i++)
		text[i] = octet((uint64_t)i);
	e->error = xiw_conn_send(e->conn, &m);
}

static void check_message(struct end *e, const struct xiw_completion *c)
{
	const uint8_t *p = e->recv[c->qn][c->user_data];

	e->untagged++;
	e->msn = c->msn;
	for (uint64_t i = 0; i < c->length; i++)
		e->bad += c->qn != 2 && p[i] != octet(i);
	post(e, c->qn, (unsigned int)c->user_data);
}

static void on_event(struct end *e, const struct xiw_completion *c)
{
	static const char *const names[] = {
		[XIW_EV_REQUEST] = "REQUEST", [XIW_EV_CONNECTED] = "CONNECTED",
		[XIW_EV_REFUSED] = "REFUSED", [XIW_EV_CLOSED] = "CLOSED",
		[XIW_EV_REPLY] = "REPLY",     [XIW_EV_ERROR] = "ERROR",
	};

	if (c->event < sizeof(names) / sizeof(names[0]) && names[c->event]) {
		strcat(e->events, e->events[0] ? "," : "");
		strcat(e->events, names[c->event]);
	}
	switch (c->event) {
	case XIW_EV_REQUEST:
		e->conn = c->conn;
		post_all(e);
		/* fall through */
	case XIW_EV_REPLY:
		e->deciding = true;
		if (!e->hold)
			do_answer(e);
		break;
	case XIW_EV_CONNECTED:
		if (e->send)
			send_message(e);
		if (e->leave)
			xiw_conn_close(e->conn);
		break;
	case XIW_EV_WRITTEN:
		e->tagged += c->length;
		for (uint64_t i = c->to; i < c->to + c->length; i++)
			e->bad += e->buf[i] != octet(i);
		break;
	case XIW_EV_RECEIVED:
		check_message(e, c);
		break;
	case XIW_EV_EOF:
	case XIW_EV_ERROR:
		xiw_conn_close(e->conn);
		break;
	case XIW_EV_CLOSED:
		e->conn = c->conn;
		e->status = c->status;
		e->closed = true;
		break;
	default:
		break;
	}
}

/* The peer has said over the control connection that it is time. */
static bool told_to_decide(void)
{
	struct pollfd p = { .fd = control, .events = POLLIN };
	char c;

	return poll(&p, 1, 0) == 1 && read(control, &c, 1) == 1;
}

static void turn(struct end *e, int ms)
{
	struct xiw_completion c;

	xiw_engine_run(e->engine, ms);
	while (xiw_engine_next(e->engine, &c) > 0)
		on_event(e, &c);
	if (e->deciding && !e->closed && told_to_decide())
		do_answer(e);
}

/* The TCP connection of a rejected one is the application's: it talks on. */
static void take_socket(struct end *e)
{
	struct pollfd p = { .fd = xiw_conn_take_fd(e->conn), .events = POLLIN };
	ssize_t n;

	if (p.fd < 0) {
		snprintf(e->taken, sizeof(e->taken), "error%d", -p.fd);
		return;
	}
	if (poll(&p, 1, PATIENCE_MS) == 1 && (n = read(p.fd, e->taken, sizeof(e->taken) - 1)) > 0)
		e->taken[n] = '\0';
	if (write(p.fd, "pong", 4) != 4)
		e->taken[0] = '\0';
	close(p.fd);
}

/* A rejected connection that is upgraded after all. */
static void again(struct end *e)
{
	int fd = xiw_conn_take_fd(e->conn);
	uint64_t until = now_ms() + PATIENCE_MS;

	xiw_conn_free(e->conn);
	e->conn = NULL;
	e->closed = false;
	e->take = 0;
	strcpy(e->answer, "accept");
	e->error = fd < 0 ? fd : xiw_conn_from_fd(e->engine, fd, false, &e->opts, NULL, &e->conn);
	while (!e->error && !e->closed && now_ms() < until)
		turn(e, 10);
}

static void report(struct end *e)
{
	struct xiw_conn_info i = {};
	const uint8_t *pd = NULL;
	size_t len = 0, bad = 0;

	if (e->conn) {
		xiw_conn_info(e->conn, &i, sizeof(i));
		pd = xiw_conn_private_data(e->conn, &len);
	}
	for (size_t n = 0; n < len; n++)
		bad += pd[n] != octet(n);
	if (e->take && e->conn)
		take_socket(e);
	say("events=%s status=%d error=%d answer=%d mpa=%u ddp=%u rejected=%d rev=%u enhanced=%d "
	    "p2p=%d rtr=%u "
	    "ird=%u ord=%u pird=%u pord=%u pd=%zu pdbad=%zu crc=%d in=%d out=%d tagged=%llu "
	    "untagged=%u "
	    "msn=%u bad=%u direct=%llu kernel=%llu went=%llu back=%llu fpdus=%llu no_direct=%d "
	    "surplus=%llu taken=%s",
	    e->events, e->status, e->error, e->accept_error, i.mpa_error, i.ddp_error, i.rejected,
	    i.revision, i.enhanced, i.peer_to_peer, i.rtr, i.ird, i.ord, i.peer_ird, i.peer_ord,
	    len, bad, i.crc, i.markers_in, i.markers_out, (unsigned long long)e->tagged,
	    e->untagged, e->msn, e->bad, (unsigned long long)i.octets_direct,
	    (unsigned long long)i.octets_kernel, (unsigned long long)i.went_direct,
	    (unsigned long long)i.went_kernel, (unsigned long long)i.fpdus, *i.no_direct != '\0',
	    (unsigned long long)i.surplus, e->taken);
	xiw_conn_free(e->conn);
}

/* An application that talks over TCP first, and knows from that when MPA begins. */
static int upgrade(struct end *e)
{
	static uint8_t in[8192];
	int l = listen_on((uint16_t)e->port), fd, err;
	struct xiw_upgrade u = { .size = sizeof(u) };
	uint8_t *last = pattern(e->last);
	ssize_t n, have = 0;

	say("ready");
	fd = accept4(l, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	close(l);
	if (fd < 0)
		return -errno;
	while (have < e->stream) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		poll(&p, 1, PATIENCE_MS);
		if (e->greedy)
			usleep(20000);
		n = recv(fd, in + have,
			 e->greedy ? sizeof(in) - (size_t)have : (size_t)(e->stream - have), 0);
		if (n <= 0)
			return -ECONNRESET;
		have += n;
	}
	u.prefix = in + e->stream;
	u.prefix_len = (size_t)(have - e->stream);
	u.last = last;
	u.last_len = (size_t)e->last;
	err = xiw_conn_from_fd(e->engine, fd, e->role == 'i', &e->opts, &u, &e->conn);
	free(last);
	if (err)
		close(fd);
	return err;
}

/* What a connection takes for the direct path, when its interface has been opened. */
static void net_admin(bool on)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];

	if (syscall(SYS_capget, &h, d))
		die_errno("capget");
	if (on)
		d[0].effective |= 1u << CAP_NET_ADMIN;
	else
		d[0].effective &= ~(1u << CAP_NET_ADMIN);
	if (syscall(SYS_capset, &h, d))
		die_errno("capset");
}

static void run(struct end *e)
{
	struct sockaddr_in local = { .sin_family = AF_INET, .sin_port = htons((uint16_t)e->port) };
	socklen_t len = sizeof(local);
	struct xiw_listener *l = NULL;
	uint64_t until;

	if (e->drop) {
		xiw_engine_prepare(e->engine, NULL, NULL, 0);
		net_admin(false);
	}
	if (e->pd) {
		e->opts.private_data = pattern(e->pd);
		e->opts.private_data_len = (size_t)e->pd;
	}
	if (e->upgrade) {
		e->error = upgrade(e);
	} else if (e->role == 'r') {
		e->error = xiw_listen(e->engine, (struct sockaddr *)&local, sizeof(local), &e->opts,
				      &l);
		say("ready");
	} else {
		say("ready");
		usleep((useconds_t)e->idle * 1000);
		getpeername(control, (struct sockaddr *)&local, &len);
		local.sin_port = htons((uint16_t)e->port);
		e->error = xiw_connect(e->engine, (struct sockaddr *)&local, sizeof(local),
				       &e->opts, &e->conn);
	}
	if (e->conn && e->role == 'i')
		post_all(e);
	until = now_ms() + PATIENCE_MS;
	while (!e->error && !e->closed && now_ms() < until)
		turn(e, 10);
	if (e->take == 2)
		again(e);
	if (e->drop)
		net_admin(true);
	report(e);
	xiw_listener_free(l);
	/* What the kernel still does for them, it ends in turns. */
	for (int i = 0; i < 3; i++)
		turn(e, 1);
	free((void *)(uintptr_t)e->opts.private_data);
}

int main(int argc, char **argv)
{
	static struct end e;
	struct xiw_engine_opts eopts = { .size = sizeof(eopts),
					 .app_ring_fd = -1,
					 .window = 1 << 18 };
	struct xiw_region_opts ropts = { .size = sizeof(ropts) };
	struct xiw_region *region;
	uint32_t stag = 0x1234;
	int err;

	e.path = await_control(argc, argv);
	e.buf = malloc(BUFFER);
	ropts.stag = &stag;
	err = xiw_engine_create(&eopts, &e.engine);
	if (!err)
		err = xiw_region_register(e.engine, e.buf, BUFFER, &ropts, &region);
	if (err)
		die("%s", strerror(-err));
	while (take_line(&e))
		run(&e);
	close(control);
	xiw_region_free(region);
	xiw_engine_destroy(e.engine);
	free(e.buf);
	return 0;
}
