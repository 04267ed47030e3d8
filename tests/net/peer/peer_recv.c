// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The library's end of peer_ulp.c: an application that does what a line over a control connection says, and answers
 * with the events that it saw.
 *
 *   peer_recv CONTROL-PORT kernel|direct
 *
 * A line is `key=number ...`: see take_line(). The first answer is `ready`, when a peer may connect, the
 * second the result. Exit codes: 0 the control connection was closed, 1 not so, 2 usage.
 */
#include <netinet/tcp.h>
#include <poll.h>

#include "tests/net/peer/end.h"

#define BUFFER (1 << 20) /* behind STag 0x1234, for every connection of every domain */
#define OWN 65536	 /* behind STag 0x5678, as the line says */
#define QUEUES 3
#define RECVS 4
#define RECV_SIZE 4096
#define PATIENCE_MS 8000

enum { CONNS = 2 };

struct end {
	struct xiw_engine *engine;
	struct xiw_region *region, *own;
	enum xiw_use_path path;
	uint8_t buf[BUFFER], was[BUFFER];
	uint8_t own_buf[OWN], own_was[OWN];
	uint8_t recv[CONNS][QUEUES][RECVS][RECV_SIZE];

	/* The line. */
	struct {
		int port, conns, markers, pd, own_pd, bind, revoke, release, delay, send, hold,
			errors_send, eof_send, user_timeout;
	} line;

	struct xiw_conn *conns[CONNS];
	int nconns, nclosed;
	enum { NOTHING, SEND, CLOSE } due;
	uint64_t due_at;
	bool close_when_sent;

	/* What the last connection was told. */
	char events[256], fields[1024];
	int status;
	unsigned int tagged, untagged, after, flushed, flushed_bad;
	bool error;
};

static void check(const char *what, int err)
{
	if (err)
		die("%s: %s", what, strerror(-err));
}

static bool take_line(struct end *e)
{
	const struct number numbers[] = {
		{ "port", &e->line.port },
		{ "conns", &e->line.conns }, /* to be accepted; the result is about the last */
		{ "markers", &e->line.markers },
		{ "pd", &e->line.pd },	      /* Protection Domain of the connections */
		{ "ownpd", &e->line.own_pd }, /* and of STag 0x5678 */
		{ "bind", &e->line.bind },    /* STag 0x5678 is the first connection's */
		{ "revoke",
		  &e->line.revoke }, /* its right to write, after so many tagged messages */
		{ "release", &e->line.release }, /* the same, the region */
		{ "delay", &e->line.delay },	 /* in milliseconds before each of what follows */
		{ "hold",
		  &e->line.hold }, /* the first of that waits for an octet on the control connection */
		{ "send", &e->line.send },	     /* octets, after the first tagged message */
		{ "errsend", &e->line.errors_send }, /* upon an error, before it closes */
		{ "usertimeout", &e->line.user_timeout }, /* in milliseconds */
		{ "eofsend", &e->line.eof_send }, /* upon the peer's half-close, before it closes */
	};

	memset(&e->line, 0, sizeof(e->line));
	e->line.conns = 1;
	e->nconns = e->nclosed = 0;
	e->due = NOTHING;
	e->close_when_sent = e->error = false;
	e->events[0] = e->fields[0] = '\0';
	e->status = 0;
	e->tagged = e->untagged = e->after = e->flushed = e->flushed_bad = 0;
	return take_words(numbers, sizeof(numbers) / sizeof(numbers[0]), NULL, NULL);
}

/* ---- the application ----------------------------------------------------------------------------- */

static void send_message(struct end *e, struct xiw_conn *c, int len)
{
	static uint8_t text[65536];
	struct xiw_message m = { .buf = text, .len = (uint64_t)len };

	for (int i = 0; i < len; i++)
		text[i] = octet((uint64_t)i);
	if (xiw_conn_send(c, &m))
		strcat(e->events, ",NOT-SENT");
}

static void register_own(struct end *e)
{
	const uint32_t stag = 0x5678;
	struct xiw_region_opts opts = {
		.size = sizeof(opts),
		.stag = &stag,
		.pd = (uint32_t)e->line.own_pd,
		.conn = e->line.bind ? e->conns[0] : NULL,
	};

	check("STag 0x5678", xiw_region_register(e->engine, e->own_buf, OWN, &opts, &e->own));
}

static void on_request(struct end *e, struct xiw_conn *c)
{
	int n = e->nconns;

	if (n >= CONNS) {
		xiw_conn_free(c);
		return;
	}
	e->conns[e->nconns++] = c;
	for (uint32_t qn = 0; qn < QUEUES; qn++)
		for (unsigned int i = 0; i < RECVS; i++)
			xiw_conn_post_recv(c, qn, e->recv[n][qn][i], RECV_SIZE, i);
	if (!n)
		register_own(e);
	xiw_conn_accept(c, NULL, 0);
}

static void when(struct end *e, int what)
{
	e->due = what;
	e->due_at = e->line.hold ? UINT64_MAX : now_ms() + (uint64_t)e->line.delay;
}

static void on_written(struct end *e, struct xiw_conn *c)
{
	e->tagged++;
	if (e->line.send && e->tagged == 1)
		when(e, SEND);
	if (e->line.revoke != (int)e->tagged && e->line.release != (int)e->tagged)
		return;
	if (e->line.revoke)
		check("revoke", xiw_region_set_access(e->own, XIW_ACCESS_READ));
	if (e->line.release) {
		xiw_region_free(e->own);
		e->own = NULL;
	}
	memcpy(e->own_was, e->own_buf, OWN);
	send_message(e, c, 8);
}

static void note(struct end *e, const struct xiw_completion *c)
{
	const uint8_t *r = c->rsvdulp;
	size_t n = strlen(e->fields);

	if (c->event == XIW_EV_WRITTEN)
		snprintf(e->fields + n, sizeof(e->fields) - n, "%x:%llx:%llu:%02x,", c->stag,
			 (unsigned long long)c->to, (unsigned long long)c->length, r[0]);
	else
		snprintf(e->fields + n, sizeof(e->fields) - n, "q%u:%u:%llu:%02x%02x%02x%02x%02x,",
			 c->qn, c->msn, (unsigned long long)c->length, r[0], r[1], r[2], r[3],
			 r[4]);
}

/* The stream ends: does what the line says, and then closes. */
static void on_end(struct end *e, const struct xiw_completion *c)
{
	e->error = c->event == XIW_EV_ERROR;
	memcpy(e->was, e->buf, BUFFER);
	e->line.send = e->error ? e->line.errors_send : e->line.eof_send;
	if (e->line.send) {
		e->close_when_sent = true;
		when(e, SEND);
	} else {
		when(e, CLOSE);
	}
}

static void on_event(struct end *e, const struct xiw_completion *c)
{
	static const char *const names[] = {
		[XIW_EV_CONNECTED] = "CONNECTED", [XIW_EV_CLOSED] = "CLOSED",
		[XIW_EV_ERROR] = "ERROR",	  [XIW_EV_EOF] = "EOF",
		[XIW_EV_SENT] = "SENT",
	};
	bool last = e->nconns == e->line.conns && c->conn == e->conns[e->nconns - 1];

	if (c->event == XIW_EV_REQUEST) {
		on_request(e, c->conn);
		return;
	}
	e->nclosed += c->event == XIW_EV_CLOSED;
	if (!last) {
		if (c->event == XIW_EV_EOF || c->event == XIW_EV_ERROR)
			xiw_conn_close(c->conn);
		return;
	}
	if (c->event < sizeof(names) / sizeof(names[0]) && names[c->event]) {
		strcat(e->events, e->events[0] ? "," : "");
		strcat(e->events, names[c->event]);
	}
	e->after += e->error && (c->event == XIW_EV_WRITTEN || c->event == XIW_EV_RECEIVED);
	if (c->event == XIW_EV_WRITTEN || c->event == XIW_EV_RECEIVED)
		note(e, c);
	if (c->event == XIW_EV_WRITTEN)
		on_written(e, c->conn);
	else if (c->event == XIW_EV_RECEIVED)
		e->untagged++;
	else if (c->event == XIW_EV_EOF || c->event == XIW_EV_ERROR)
		on_end(e, c);
	else if (c->event == XIW_EV_SENT && e->close_when_sent)
		when(e, CLOSE);
	else if (c->event == XIW_EV_CLOSED)
		e->status = c->status;
	if (c->event == XIW_EV_FLUSHED) {
		e->flushed++;
		e->flushed_bad += c->status >= 0;
	}
}

static bool told_to_act(void)
{
	struct pollfd p = { .fd = control, .events = POLLIN };
	char c;

	return poll(&p, 1, 0) == 1 && read(control, &c, 1) == 1;
}

static void turn(struct end *e, int ms)
{
	struct xiw_completion c;
	int due = e->due;

	xiw_engine_run(e->engine, ms);
	while (xiw_engine_next(e->engine, &c) > 0)
		on_event(e, &c);
	if (e->line.hold && e->due != NOTHING && told_to_act()) {
		e->line.hold = 0;
		when(e, (int)e->due);
	}
	if (!due || now_ms() < e->due_at || e->nclosed == e->line.conns)
		return;
	e->due = NOTHING;
	if (due == SEND)
		send_message(e, e->conns[e->nconns - 1], e->line.send);
	else
		xiw_conn_close(e->conns[e->nconns - 1]);
}

/* ---- the result ---------------------------------------------------------------------------------- */

static unsigned int differ(const uint8_t *a, const uint8_t *b, size_t len)
{
	unsigned int n = 0;

	while (len--)
		n += a[len] != b[len];
	return n;
}

static void report(struct end *e)
{
	struct xiw_conn_info i = {};
	char header[64] = "";

	if (e->nconns)
		xiw_conn_info(e->conns[e->nconns - 1], &i, sizeof(i));
	for (uint32_t n = 0; n < i.error_header_len && n < sizeof(i.error_header); n++)
		snprintf(header + 2 * n, 3, "%02x", i.error_header[n]);
	say("events=%s fields=%s status=%d mpa=%u ddp=%x header=%s segment=%u tagged=%u "
	    "untagged=%u after=%u "
	    "flushed=%u flushedbad=%u touched=%u owntouched=%u direct=%llu kernel=%llu",
	    e->events, e->fields, e->status, i.mpa_error, i.ddp_error, header, i.error_segment_len,
	    e->tagged, e->untagged, e->after, e->flushed, e->flushed_bad,
	    e->error ? differ(e->buf, e->was, BUFFER) : 0, differ(e->own_buf, e->own_was, OWN),
	    (unsigned long long)i.octets_direct, (unsigned long long)i.octets_kernel);
}

static void run(struct end *e)
{
	struct sockaddr_in local = { .sin_family = AF_INET,
				     .sin_port = htons((uint16_t)e->line.port) };
	struct xiw_conn_opts opts = { .size = sizeof(opts),
				      .path = e->path,
				      .markers = e->line.markers,
				      .user_timeout_ms = (unsigned int)e->line.user_timeout,
				      .pd = (uint32_t)e->line.pd };
	const uint32_t stag = 0x1234;
	struct xiw_region_opts ropts = { .size = sizeof(ropts), .stag = &stag, .pd = opts.pd };
	struct xiw_listener *l = NULL;
	uint64_t until = now_ms() + PATIENCE_MS;

	memset(e->buf, 0, BUFFER);
	memset(e->own_buf, 0, OWN);
	memset(e->own_was, 0, OWN);
	check("STag 0x1234", xiw_region_register(e->engine, e->buf, BUFFER, &ropts, &e->region));
	check("listen", xiw_listen(e->engine, (struct sockaddr *)&local, sizeof(local), &opts, &l));
	say("ready");
	while (e->nclosed < e->line.conns && now_ms() < until)
		turn(e, 10);
	report(e);
	for (int i = 0; i < e->nconns; i++)
		xiw_conn_free(e->conns[i]);
	xiw_listener_free(l);
	xiw_region_free(e->own);
	xiw_region_free(e->region);
	e->own = NULL;
	/* Some turns complete what the kernel still does for them. */
	e->due = NOTHING;
	for (int i = 0; i < 3; i++)
		turn(e, 1);
}

int main(int argc, char **argv)
{
	static struct end e;
	struct xiw_engine_opts opts = { .size = sizeof(opts),
					.app_ring_fd = -1,
					.window = 1 << 18 };
	int patience_ms = 30000;

	e.path = await_control(argc, argv);
	check("engine", xiw_engine_create(&opts, &e.engine));
	/* The control connection must survive a silence that ends a tested connection. */
	setsockopt(control, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms, sizeof(patience_ms));
	while (take_line(&e))
		run(&e);
	close(control);
	xiw_engine_destroy(e.engine);
	return 0;
}
