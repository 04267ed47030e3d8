// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * `xiwarp rping`: the command, and its connections.
 *
 * Linux's siw as the other end, and where it goes its own ways:
 * - It asks for MPA revision 2 with RFC 6581's data, client and server, and does not try revision 1 when that
 *   is refused, as RFC 6581 section 10 would let it: a server of ours must not be told --rev 1.
 * - It refuses a frame with M = 1, where RFC 5044 section 7.1 obliges it to send Markers: no --markers.
 * - It wants no CRC of its own accord, and uses CRCs when we ask: --crc on and off are both good.
 * - What it sends without a copy has its CRC in a segment of its own, not aligned (section 5.1 only recommends
 *   that): the kernel path takes it.
 * - It closes, and frees, at our FIN; what it has not sent by then is lost, and a reset may come instead.
 * - The bits of its Terminates are in another order: user/rdmap/hdr.c.
 */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xiwarp/rdmap.h>

#include "rping.h"

#define CLIENT_SIZE 64
#define SERVER_SIZE (1u << 20)
#define CLOSE_NS 10000000000ull

struct rpings {
	const struct xiw_args *args;
	struct xiw_engine *engine;
	struct xiw_listener *listener;
	struct xiw_rping *all;
	unsigned int ended;
	int code;
};

/* ---- connections --------------------------------------------------------------------------------- */

static struct xiw_rping *new_end(struct rpings *s, bool server)
{
	struct xiw_rping *p = calloc(1, sizeof(*p));
	const uint64_t size = s->args->size ? s->args->size : server ? SERVER_SIZE : CLIENT_SIZE;

	if (!p)
		return NULL;
	p->args = s->args;
	p->engine = s->engine;
	p->server = server;
	p->size = (uint32_t)size;
	return p;
}

static int join(struct rpings *s, struct xiw_rping *p, struct xiw_conn *conn)
{
	/* One Read at a time, as the other rping asks for and allows. */
	struct xiw_rdma_opts opts = { .size = sizeof(opts), .ird = 1, .ord = 1 };
	int err;

	p->conn = conn;
	err = xiw_rdma_attach(conn, &opts, &p->rdma);
	if (!err)
		err = xiw_rping_open(p);
	if (err)
		return err;
	p->next = s->all;
	s->all = p;
	return 0;
}

static void discard(struct xiw_rping *p)
{
	xiw_conn_free(p->conn);
	xiw_rping_free(p);
	free(p);
}

static void leave(struct rpings *s, struct xiw_rping *p)
{
	struct xiw_rping **link = &s->all;

	while (*link != p)
		link = &(*link)->next;
	*link = p->next;
	discard(p);
}

static void on_request(struct rpings *s, struct xiw_conn *conn)
{
	struct xiw_conn_info info;
	struct xiw_rping *p;
	int err;

	if (!s->args->persistent && (s->all || s->ended)) {
		xiw_conn_free(conn);
		return;
	}
	p = new_end(s, true);
	err = p ? join(s, p, conn) : -ENOMEM;
	if (!err) {
		xiw_conn_info(conn, &info, sizeof(info));
		xiw_addr_name(&info.remote, p->name);
		/* Gone already: XIW_EV_CLOSED is on its way. */
		xiw_conn_accept(conn, NULL, 0);
		return;
	}
	xiw_fail(0, "a connection was not accepted: %s", strerror(-err));
	if (p) {
		xiw_rping_free(p);
		free(p);
	}
	xiw_conn_free(conn);
}

static void on_closed(struct rpings *s, struct xiw_rping *p)
{
	xiw_rping_report(p);
	if (p->code && !s->code)
		s->code = p->code;
	s->ended++;
	leave(s, p);
}

static void on_completion(struct rpings *s, const struct xiw_completion *c)
{
	struct xiw_rping *p = s->all;

	if (c->event == XIW_EV_REQUEST) {
		on_request(s, c->conn);
		return;
	}
	while (p && p->conn != c->conn)
		p = p->next;
	if (!p) {
		/* It asked for nothing: a server goes on waiting. */
		xiw_unknown_ended(c);
		return;
	}
	xiw_rping_completion(p, c);
	if (c->event == XIW_EV_CLOSED && p->server)
		on_closed(s, p);
}

/* False: stop now. */
static bool turn(struct rpings *s)
{
	struct xiw_completion c;
	int n;

	if (!xiw_go_on())
		return false;
	n = xiw_engine_run(s->engine, 500);
	if (n < 0 && n != -EINTR) {
		s->code = xiw_fail(XIW_EXIT_FAILURE, "the engine failed: %s", strerror(-n));
		return false;
	}
	while (xiw_engine_next(s->engine, &c) > 0)
		on_completion(s, &c);
	return xiw_go_on();
}

/* "ADDR", "HOST" or nothing, and the port, as xiw_resolve() takes them. */
static void with_port(const struct xiw_args *args, char *buf, size_t len)
{
	const char *a = args->address ? args->address : "";
	const bool bare6 = *a != '[' && strchr(a, ':');

	snprintf(buf, len, "%s%s%s:%s", bare6 ? "[" : "", a, bare6 ? "]" : "",
		 args->port ? args->port : XIW_RPING_PORT);
}

/* ---- server -------------------------------------------------------------------------------------- */

static int run_server(struct rpings *s)
{
	struct xiw_args args = *s->args;
	struct xiw_conn_opts opts = {
		.size = sizeof(opts),
		.markers = args.markers,
		.no_crc = args.crc_off,
		.revision = args.rev,
		.ird = 1,
		.ord = 1,
	};
	struct sockaddr_storage addr = {};
	socklen_t len = sizeof(addr);
	char where[300], name[80];
	int code;

	with_port(s->args, where, sizeof(where));
	args.listen = where;
	code = xiw_receiver_open(&args, &opts, &s->engine, &s->listener);
	if (code)
		return code;
	xiw_listener_addr(s->listener, &addr, &len);
	fprintf(stderr, "xiwarp: rping server on %s\n", xiw_addr_name(&addr, name));
	while ((args.persistent || !s->ended || s->all) && turn(s))
		if (s->all && !args.persistent && s->listener) {
			xiw_listener_free(s->listener);
			s->listener = NULL;
		}
	/* Stopped: what is open is reported as far as it came. */
	while (s->all)
		on_closed(s, s->all);
	xiw_listener_free(s->listener);
	return args.persistent ? XIW_EXIT_OK : s->code;
}

/* ---- client -------------------------------------------------------------------------------------- */

static int open_client(struct rpings *s, const struct addrinfo *ai)
{
	const struct xiw_args *args = s->args;
	struct xiw_conn_opts opts = {
		.size = sizeof(opts),
		.markers = args->markers,
		.no_crc = args->crc_off,
		.revision = args->rev,
		.rtr = args->rtr,
		/* One without RFC 6581 closes upon revision 2. */
		.fall_back = !args->rev && !args->rtr,
		.path = args->path,
	};
	struct xiw_rping *p = new_end(s, false);
	struct xiw_conn *conn;
	int err;

	if (!p)
		return -ENOMEM;
	/* Revision 1 has no place for them (RFC 6581 section 9.1). */
	if (args->rev != 1) {
		opts.ird = opts.ord = 1;
		opts.enhanced = true;
	}
	xiw_addr_name((const void *)ai->ai_addr, p->name);
	xiw_peer_timeout(args, &opts);
	err = xiw_connect(s->engine, ai->ai_addr, ai->ai_addrlen, &opts, &conn);
	if (err) {
		free(p);
		return err;
	}
	err = join(s, p, conn);
	if (err)
		discard(p);
	return err;
}

/* The first address that a connection can be made to. */
static int connect_any(struct rpings *s, const struct addrinfo *list)
{
	struct xiw_conn_info info;
	int err = 0;

	for (const struct addrinfo *ai = list; ai && !xiw_stop_signal; ai = ai->ai_next) {
		if (s->all)
			leave(s, s->all);
		err = open_client(s, ai);
		while (!err && s->all->state == XIW_RPING_STARTING && turn(s))
			;
		if (!err && s->all->state != XIW_RPING_CLOSED)
			return 0;
	}
	if (xiw_stop_signal)
		return 0;
	if (!s->all)
		return xiw_fail(XIW_EXIT_FAILURE, "cannot connect: %s", strerror(-err));
	xiw_conn_info(s->all->conn, &info, sizeof(info));
	xiw_conn_free(s->all->conn);
	s->all->conn = NULL;
	return xiw_connect_failed(s->all->name, &info, "rping -s");
}

static int ping(struct rpings *s)
{
	struct xiw_rping *p = s->all;
	uint64_t limit = 0;

	while (p->state != XIW_RPING_CLOSED && turn(s)) {
		xiw_rping_nudge(p);
		/* Whoever does not close when all is done is not waited for long. */
		if (p->state != XIW_RPING_CLOSING)
			continue;
		if (!limit)
			limit = xiw_now_ns() + CLOSE_NS;
		else if (xiw_now_ns() > limit)
			break;
	}
	xiw_rping_report(p);
	return s->code ? s->code : p->code;
}

static int run_client(struct rpings *s)
{
	struct xiw_engine_opts opts = {
		.size = sizeof(opts),
		.app_ring_fd = -1,
		.path = s->args->path,
		.pin_dir = s->args->pin_dir,
		.flags = s->args->trust_checksum ? XIW_ENGINE_TRUST_CHECKSUM : 0,
	};
	struct addrinfo *list;
	char where[300];
	int code, err;

	with_port(s->args, where, sizeof(where));
	code = xiw_resolve(where, false, &list);
	if (code)
		return code;
	err = xiw_engine_create(&opts, &s->engine);
	if (err) {
		freeaddrinfo(list);
		return xiw_engine_failed(err);
	}
	code = xiw_prepare(s->args, s->engine, NULL);
	if (!code)
		code = connect_any(s, list);
	freeaddrinfo(list);
	if (!code && s->all)
		code = ping(s);
	if (s->all)
		leave(s, s->all);
	return code;
}

/* ---- the command --------------------------------------------------------------------------------- */

static int run_rping(const struct xiw_args *args)
{
	struct rpings s = { .args = args };
	int code;

	if (args->server == args->client)
		return xiw_fail(XIW_EXIT_USAGE, "rping needs one of --server and --client");
	if (args->client && !args->address)
		return xiw_fail(XIW_EXIT_USAGE, "rping --client needs --address");
	if (args->size && (args->size < XIW_RPING_MIN || args->size > 1u << 30))
		return xiw_fail(XIW_EXIT_USAGE, "--size: from %u octets to 1G", XIW_RPING_MIN);
	if (args->rtr && (args->rev == 1 || args->server))
		return xiw_fail(XIW_EXIT_USAGE, "--rtr is for a client, and MPA revision 2");
	xiw_catch_signals();
	code = args->server ? run_server(&s) : run_client(&s);
	xiw_engine_destroy(s.engine);
	return xiw_exit_stopped(code);
}

static const struct xiw_opt rping_opts[] = {
	{ XIW_OPT_SERVER, "server", NULL, "wait for a client" },
	{ XIW_OPT_CLIENT, "client", NULL, "connect to a server, and ping" },
	{ XIW_OPT_ADDRESS, "address", "ADDR",
	  "client: the server's name or address; server: where to listen, default any address" },
	{ XIW_OPT_PORT, "port", "PORT", "the server's port; default " XIW_RPING_PORT },
	{ XIW_OPT_COUNT, "count", "N", "client: pings; default 0: until it is stopped" },
	{ XIW_OPT_RPING_SIZE, "size", "BYTES",
	  "client: octets of a ping, default 64; server: of the largest that it takes, default 1M. "
	  "From 16 to 1G (rdma-core's rping: 26 to 65535)" },
	{ XIW_OPT_VALIDATE, "validate", NULL,
	  "compare every octet: the client what it got back, the server what it read" },
	{ XIW_OPT_VERBOSE, "verbose", NULL, "show the pings on standard output" },
	{ XIW_OPT_PERSISTENT, "persistent", NULL,
	  "server: serve clients, any number at once, until it is stopped" },
	{ XIW_OPT_REV, "rev", "1|2",
	  "MPA's revision; 2 negotiates the number of RDMA Reads (RFC 6581), as Linux's siw "
	  "does. Client: default 2, and 1 for a server that refuses it; server: the highest to "
	  "take, default 2" },
	{ XIW_OPT_RTR, "rtr", "send|write|read",
	  "client: peer-to-peer startup of RFC 6581, with such a message to say that it is ready" },
	{ XIW_OPT_CRC, "crc", "on|off",
	  "off: do without CRC32c if the peer does not ask for it either, and the administrator "
	  "has allowed it in /etc/xiwarp.conf, else say so and use it; default on" },
	{ XIW_OPT_MARKERS, "markers", NULL, "ask the peer for MPA markers (siw refuses that)" },
	{ XIW_OPT_PATH, "path", "PATH",
	  "auto (direct where the interface has the programs, else kernel), kernel, or direct "
	  "(refuse what cannot go direct); default auto" },
	{ XIW_OPT_TRUST_CHECKSUM, "trust-checksum", NULL,
	  "do not verify TCP checksums on the direct path" },
	XIW_OPT_ENTRY_PEER_TIMEOUT,
	{ 0, NULL, NULL, NULL },
};

const struct xiw_cmd xiw_cmd_rping = {
	.name = "rping",
	.synopsis = "-s|-c",
	.summary = "RDMA ping, against any iWARP peer that has rping",
	.text = "Speaks RDMAP (RFC 5040) as the program rping of rdma-core does, and works against "
		"it: over "
		"Linux's siw or an RNIC at the other end. Each ping is read from the client by an "
		"RDMA "
		"Read, and written back to it by an RDMA Write; Sends say where, and when to go "
		"on. Both "
		"ends take the direct path if the interface has the programs.\n\n"
		"A server ends with its first client, unless --persistent. The report at the end "
		"has "
		"iterations, octets read and written, the share received direct, and how the "
		"stream "
		"ended: a Terminate that was sent or received has its layer, type and code (RFC "
		"5040 "
		"section 4.8). Exit code 7: the connection or the peer failed; 8: --validate found "
		"a "
		"difference.",
	.examples = "sudo xiwarp rping -s -a 192.0.2.1 -v            # here\n"
		    "rping -c -a 192.0.2.1 -C 10 -S 1000 -V          # there, with rdma-core\n"
		    "xiwarp rping -c -a 192.0.2.2 -C 1000 -S 64K -V --json\n",
	.opts = rping_opts,
	.max_words = 0,
	.run = run_rping,
};
