// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The library's end of vmtest's scenarios against Linux's siw: one RDMAP Stream.
 *
 *   siw_end connect ADDRESS PORT KEY=VALUE...   the peer's region comes as Private Data: see tests/siw/siw_peer.c
 *   siw_end listen ADDRESS PORT KEY=VALUE...    a region of 1 MiB: STag 0x2222, TO 0x10000 and up
 *
 *   sends=N len=L   so many Sends of so many octets each way; the pattern is not checked
 *   reply=1         ours only when the peer's have come
 *   write=HOW       one RDMA Write of 1000 octets: `good`, `stag` (a wrong one), `bounds` (one octet too far)
 *   read=HOW        one RDMA Read likewise
 *   path=PATH       kernel, direct; default what can be had
 *   crc=off
 *   rtr=none        as siw, do not offer the peer-to-peer startup
 *
 * Prints one line at the end: `events=` C connected, r received, s sent, d read, f flushed, e error, t terminated, E
 * end of the peer's stream, F refused, X closed; status, and both Terminates as LAYER.TYPE.CODE with M, D and R,
 * `-siw` if its bits are in siw's order. Exit codes: 0 closed, and all Sends were completed; 1 not so; 2 usage.
 */
#include <netdb.h>

#include "tests/net/peer/end.h"

#define BASE 0x10000
#define SIZE (1u << 20)
#define STAG 0x2222
#define ONE 1000
#define SENDS_MAX 60
#define PATIENCE_S 20
/* What the peer tells of its region. */
#define TOLD 16

static struct end {
	bool connects, reply;
	unsigned int sends, len;
	const char *write, *read;
	struct xiw_conn_opts opts;

	struct xiw_engine *engine;
	struct xiw_conn *conn;
	struct xiw_rdma *rdma;
	struct xiw_region *region;
	uint8_t mem[SIZE], out[65536];
	uint8_t *in;
	unsigned int sent, received;
	bool closed;
	int status;
} e;

/* ---- operations ---------------------------------------------------------------------------------- */

static void post(enum xiw_rdma_kind kind, const char *how)
{
	struct xiw_rdma_op op = { .kind = kind,
				  .buf = kind == XIW_RDMA_READ ? NULL : e.out,
				  .len = e.len };
	const uint8_t *told;
	size_t len;
	int err;

	if (kind != XIW_RDMA_SEND) {
		told = xiw_conn_private_data(e.conn, &len);
		if (len < TOLD)
			die("no word of the peer's region");
		op.to = get(told, 8);
		op.stag = (uint32_t)get(told + 8, 4);
		op.len = ONE;
		op.sink_stag = STAG;
		op.sink_to = BASE;
		if (!strcmp(how, "stag"))
			op.stag ^= 0x4321;
		if (!strcmp(how, "bounds"))
			op.to += get(told + 12, 4) - ONE + 1;
	}
	err = xiw_rdma_post(e.rdma, &op);
	if (err)
		die("xiw_rdma_post: %s", strerror(-err));
}

static void post_sends(void)
{
	for (unsigned int i = 0; i < e.sends; i++)
		post(XIW_RDMA_SEND, NULL);
}

static void connected(void)
{
	if (!e.reply)
		post_sends();
	if (e.write)
		post(XIW_RDMA_WRITE, e.write);
	if (e.read)
		post(XIW_RDMA_READ, e.read);
}

/* All is done: the one that connected closes. What a Write has done wrong is not known when it is sent. */
static void one_done(void)
{
	const bool wrong = (e.write && strcmp(e.write, "good")) ||
			   (e.read && strcmp(e.read, "good"));

	if (e.connects && !wrong && e.sent == e.sends + (e.write || e.read) &&
	    e.received == e.sends)
		xiw_rdma_close(e.rdma);
}

/* ---- completions --------------------------------------------------------------------------------- */

static void attach(struct xiw_conn *c)
{
	struct xiw_rdma_opts o = { .size = sizeof(o), .ird = 1, .ord = 1 };
	int err = xiw_rdma_attach(c, &o, &e.rdma);

	if (err)
		die("xiw_rdma_attach: %s", strerror(-err));
	e.conn = c;
	for (unsigned int i = 0; i < e.sends; i++)
		xiw_rdma_post_recv(e.rdma, e.in + i * e.len, e.len, i);
}

static void handle(const struct xiw_completion *c)
{
	note_event(c->event);
	switch (c->event) {
	case XIW_EV_REQUEST:
		attach(c->conn);
		xiw_conn_accept(c->conn, NULL, 0);
		break;
	case XIW_EV_CONNECTED:
		connected();
		break;
	case XIW_EV_RECEIVED:
		e.received += c->length == e.len;
		if (e.reply && e.received == e.sends)
			post_sends();
		one_done();
		break;
	case XIW_EV_READ:
		for (unsigned int i = 0; i < ONE; i++)
			if (e.mem[i] != 0xee)
				die("what was read is not what the peer has");
		e.sent++;
		one_done();
		break;
	case XIW_EV_SENT:
		e.sent++;
		one_done();
		break;
	case XIW_EV_EOF:
		xiw_rdma_close(e.rdma);
		break;
	case XIW_EV_CLOSED:
	case XIW_EV_REFUSED:
		e.status = c->status;
		e.closed = true;
		break;
	default:
		break;
	}
}

/* ---- run ----------------------------------------------------------------------------------------- */

static void tell(const char *key, const struct xiw_rdma_terminate_info *t)
{
	char text[64];

	terminate_text(text, t);
	printf(" %s=%s", key, text);
	if (t->present)
		printf(" (%s; %02x%02x%02x%02x)", xiw_rdma_terminate_name(t), t->control[0],
		       t->control[1], t->control[2], t->control[3]);
}

static int report(void)
{
	struct xiw_conn_info i;
	struct xiw_rdma_info r;

	printf("events=%s status=%d", events, e.status);
	if (e.rdma) {
		xiw_conn_info(e.conn, &i, sizeof(i));
		xiw_rdma_info(e.rdma, &r, sizeof(r));
		tell("sent", &r.sent);
		tell("received", &r.received);
		printf(" mpa=%u ddp=%u.%u sends=%u/%u crc=%d octets_direct=%llu octets_kernel=%llu",
		       i.mpa_error, i.ddp_error >> 8 & 0xff, i.ddp_error & 0xff, e.received, e.sent,
		       i.crc, (unsigned long long)i.octets_direct,
		       (unsigned long long)i.octets_kernel);
	}
	printf("\n");
	return !e.closed || e.received < e.sends || e.sent < e.sends;
}

static void open_end(const struct sockaddr *a, socklen_t len)
{
	struct xiw_region_opts r = {
		.size = sizeof(r),
		.base_to = BASE,
		.stag = &(uint32_t){ STAG },
		.access = XIW_ACCESS_READ | XIW_ACCESS_WRITE,
	};
	struct xiw_listener *listener;
	int err = xiw_region_register(e.engine, e.mem, SIZE, &r, &e.region);

	if (err)
		die("xiw_region_register: %s", strerror(-err));
	if (!e.connects) {
		err = xiw_listen(e.engine, a, len, &e.opts, &listener);
	} else {
		err = xiw_connect(e.engine, a, len, &e.opts, &e.conn);
		if (!err)
			attach(e.conn);
	}
	if (err)
		die("open: %s", strerror(-err));
}

static bool option(const char *word)
{
	if (!strncmp(word, "sends=", 6))
		e.sends = (unsigned int)atoi(word + 6);
	else if (!strncmp(word, "len=", 4))
		e.len = (unsigned int)atoi(word + 4);
	else if (!strncmp(word, "write=", 6))
		e.write = word + 6;
	else if (!strncmp(word, "read=", 5))
		e.read = word + 5;
	else if (!strcmp(word, "reply=1"))
		e.reply = true;
	else if (!strcmp(word, "path=kernel"))
		e.opts.path = XIW_USE_KERNEL;
	else if (!strcmp(word, "path=direct"))
		e.opts.path = XIW_USE_DIRECT;
	else if (!strcmp(word, "rtr=none"))
		e.opts.rtr = XIW_RTR_NONE;
	else if (!strcmp(word, "crc=off"))
		e.opts.no_crc = true;
	else
		return false;
	return e.sends <= SENDS_MAX && e.len <= sizeof(e.out);
}

int main(int argc, char **argv)
{
	struct xiw_engine_opts o = { .size = sizeof(o), .app_ring_fd = -1 };
	const char *stretch = getenv("XIW_PATIENCE");
	time_t until = time(NULL) + PATIENCE_S * (stretch ? atoi(stretch) : 1);
	struct xiw_completion c;
	struct addrinfo *ai;
	int rc;

	e.opts = (struct xiw_conn_opts){ .size = sizeof(e.opts), .ird = 1, .ord = 1 };
	e.connects = argc > 3 && !strcmp(argv[1], "connect");
	rc = argc < 4 || (!e.connects && strcmp(argv[1], "listen"));
	for (int i = 4; i < argc && !rc; i++)
		rc = !option(argv[i]);
	if (rc) {
		fprintf(stderr, "usage: siw_end connect|listen ADDRESS PORT KEY=VALUE...\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(e.out); i++)
		e.out[i] = octet(i);
	e.in = calloc(e.sends + 1, e.len + 1);
	rc = e.in ? xiw_engine_create(&o, &e.engine) : -ENOMEM;
	if (rc)
		die("engine: %s", strerror(-rc));
	if (getaddrinfo(argv[2], argv[3], &(struct addrinfo){ .ai_socktype = SOCK_STREAM }, &ai))
		die("%s is no address", argv[2]);
	open_end(ai->ai_addr, ai->ai_addrlen);
	freeaddrinfo(ai);
	while (!e.closed && time(NULL) < until) {
		xiw_engine_run(e.engine, 100);
		while (xiw_engine_next(e.engine, &c) > 0)
			handle(&c);
	}
	rc = report();
	xiw_engine_destroy(e.engine);
	free(e.in);
	return rc;
}
