// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * `xiwarp rping`: the command and its connections.
 *
 * What is particular about Linux's siw as the peer:
 * - It asks for MPA revision 2 with the data of RFC 6581, as client and as server, and does not try revision 1 when
 *   that is refused, though RFC 6581 section 10 would let it. So a server of ours must not be told --rev 1.
 * - It refuses a frame with M = 1, though RFC 5044 section 7.1 obliges it to send Markers. So no --markers.
 * - It asks for no CRC of its own accord and uses CRCs when we ask: --crc on and off both work.
 * - The CRC of what it sends without a copy is a segment of its own, which is not aligned (section 5.1 only recommends
 *   alignment). Such segments take the kernel path.
 * - It closes and frees at our FIN. What it has not sent by then is lost, and a reset may come instead.
 * - The bits of its Terminates are in another order: user/rdmap/hdr.c.
 */
#include "rping.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "endpoint.h"
#include "ends.h"
#include "exit.h"
#include "receiver_opts.h"
#include "signals.h"
#include "text.h"

#define CLIENT_SIZE 64
#define SERVER_SIZE (1u << 20)
#define NS 1000000000ull
#define CLOSE_NS (10 * NS)
#define LOOK_NS (NS / 2)
#define TURN_MS 500

/* One Read at a time, as the other rping asks for and allows. */
#define DEPTH 1

static struct xiw_rping *rping_of(struct xiw_peer *peer)
{
	return (struct xiw_rping *)peer;
}

/* Makes an RDMAP Stream of the connection, with buffers. */
static int attach(struct xiw_rping *p, const struct xiw_args *args, struct xiw_engine *engine)
{
	struct xiw_rdma_opts opts = { .size = sizeof(opts), .ird = DEPTH, .ord = DEPTH };
	const uint64_t size = args->rping.size;
	int err;

	p->args = args;
	p->engine = engine;
	p->size = (uint32_t)(size ? size : p->server ? SERVER_SIZE : CLIENT_SIZE);
	err = xiw_rdma_attach(p->peer.conn, &opts, &p->rdma);
	return err ? err : xiw_rping_open(p);
}

/* "ADDR:PORT" of the options, as xiw_resolve() takes it. */
static void address_of(const struct xiw_args *args, char *buf, size_t len)
{
	const char *a = args->rping.address ? args->rping.address : "";
	const bool bare6 = *a != '[' && strchr(a, ':');

	snprintf(buf, len, "%s%s%s:%s", bare6 ? "[" : "", a, bare6 ? "]" : "",
		 args->rping.port ? args->rping.port : XIW_RPING_PORT);
}

/* ---- server -------------------------------------------------------------------------------------- */

static int on_request(struct xiw_peer *peer)
{
	struct xiw_receiver *r = peer->receiver;
	struct xiw_rping *p = rping_of(peer);
	bool chosen = false;
	int err;

	if (r->once && !__atomic_compare_exchange_n(&r->all->chosen, &chosen, true, false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return -EBUSY;
	p->server = true;
	err = attach(p, r->args, r->engine);
	if (err) {
		__atomic_store_n(&r->all->chosen, false, __ATOMIC_RELAXED);
		return err;
	}
	/* If the connection has ended already, XIW_EV_CLOSED is on its way. */
	xiw_conn_accept(peer->conn, NULL, 0);
	return 0;
}

static void on_completion(struct xiw_peer *peer, const struct xiw_completion *c)
{
	xiw_rping_completion(rping_of(peer), c);
}

static void on_ended(struct xiw_peer *peer, bool stopped)
{
	(void)stopped;
	xiw_rping_report(rping_of(peer));
	xiw_receiver_fail(peer->receiver, rping_of(peer)->code);
}

static void release(struct xiw_peer *peer)
{
	xiw_rping_free(rping_of(peer));
}

/* A server of one client has no use for its listener any more. */
static void after_turn(struct xiw_receiver *r)
{
	if (!r->once || !r->peers)
		return;
	xiw_receiver_accept_no_more(r);
}

static const struct xiw_receiver_ops ops = {
	.receiver_size = sizeof(struct xiw_receiver),
	.peer_size = sizeof(struct xiw_rping),
	.request = on_request,
	.completion = on_completion,
	.ended = on_ended,
	.release = release,
	.after = after_turn,
};

static int run_server(const struct xiw_args *args)
{
	struct xiw_conn_opts opts = {
		.size = sizeof(opts),
		.markers = args->mpa.markers,
		.no_crc = args->mpa.crc_off,
		.revision = args->mpa.revision,
		.ird = DEPTH,
		.ord = DEPTH,
	};
	char where[300], name[80];
	struct xiw_receiver r = {
		.args = args, .ops = &ops, .listen = where, .once = !args->rping.persistent
	};
	int code;

	address_of(args, where, sizeof(where));
	code = xiw_receiver_open(&r, &opts);
	if (code)
		return code;
	fprintf(stderr, "xiwarp: rping server on %s\n", xiw_receiver_addr(&r, name));
	code = xiw_receiver_run(&r);
	xiw_receiver_close(&r);
	return code;
}

/* ---- client -------------------------------------------------------------------------------------- */

/* One turn of the engine. Returns false if it is to stop now; `*code` gets an exit code if that is a failure. */
static bool turn(struct xiw_rping *p, int *code)
{
	struct xiw_completion c;

	if (!xiw_go_on())
		return false;
	*code = xiw_endpoint_turn(p->engine, TURN_MS);
	if (*code)
		return false;
	while (xiw_engine_next(p->engine, &c) > 0)
		if (c.conn == p->peer.conn)
			xiw_rping_completion(p, &c);
	return xiw_go_on();
}

static void close_client(struct xiw_rping *p)
{
	xiw_conn_free(p->peer.conn);
	xiw_rping_free(p);
	memset(p, 0, sizeof(*p));
}

static int open_client(struct xiw_rping *p, const struct xiw_args *args, struct xiw_engine *engine,
		       const struct addrinfo *ai)
{
	const uint8_t revision = args->mpa.revision, rtr = args->rping.rtr;
	struct xiw_conn_opts opts = {
		.size = sizeof(opts),
		.markers = args->mpa.markers,
		.no_crc = args->mpa.crc_off,
		.revision = revision,
		.rtr = rtr,
		/* A server without RFC 6581 closes the connection when it sees revision 2. */
		.fall_back = !revision && (!rtr || rtr == XIW_RTR_NONE),
		.path = args->receiver.path,
	};
	int err;

	/* Revision 1 has no place for the depths (RFC 6581 section 9.1). */
	if (revision != 1) {
		opts.ird = opts.ord = DEPTH;
		opts.enhanced = true;
	}
	xiw_addr_name((const void *)ai->ai_addr, p->peer.name);
	xiw_endpoint_limits(args, &opts);
	err = xiw_connect(engine, ai->ai_addr, ai->ai_addrlen, &opts, &p->peer.conn);
	if (!err)
		err = attach(p, args, engine);
	if (err)
		close_client(p);
	return err;
}

/* Connects to the first address that accepts. */
static int connect_any(struct xiw_rping *p, const struct xiw_args *args, struct xiw_engine *engine,
		       const struct addrinfo *list)
{
	struct xiw_conn_info info;
	int err = 0, code = 0;

	for (const struct addrinfo *ai = list; ai && !xiw_stop_signal; ai = ai->ai_next) {
		close_client(p);
		err = open_client(p, args, engine, ai);
		while (!err && p->state == XIW_RPING_STARTING && turn(p, &code))
			;
		if (code || (!err && p->state != XIW_RPING_CLOSED))
			return code;
	}
	if (xiw_stop_signal)
		return 0;
	if (!p->peer.conn)
		return xiw_fail(XIW_EXIT_FAILURE, "cannot connect: %s%s", strerror(-err),
				xiw_remedy(err));
	xiw_conn_info(p->peer.conn, &info, sizeof(info));
	return xiw_connect_failed(p->peer.name, &info, "rping -s");
}

/* What the connection has done, and since when nothing more. */
struct progress {
	uint64_t octets, since_ns, looked_ns;
};

/* TCP is content with a peer that acknowledges everything. A long ping may take its time, as long as octets go. */
static bool unanswered(struct xiw_rping *p, struct progress *done)
{
	const uint64_t now = xiw_now_ns();
	struct xiw_conn_info info;
	uint64_t octets;

	if (now - done->looked_ns < LOOK_NS)
		return false;
	done->looked_ns = now;
	xiw_conn_info(p->peer.conn, &info, sizeof(info));
	octets = info.octets_direct + info.octets_kernel + info.octets_sent;
	if (octets != done->octets || !done->since_ns) {
		done->octets = octets;
		done->since_ns = now;
	}
	if (now - done->since_ns < p->args->receiver.peer_timeout * NS)
		return false;
	/* Without a Terminate, which would not be answered either. */
	p->code = XIW_EXIT_PEER;
	snprintf(p->why, sizeof(p->why), "the server does not answer any more");
	return true;
}

static int ping(struct xiw_rping *p)
{
	struct progress done = {};
	uint64_t limit = 0;
	int code = 0;

	while (p->state != XIW_RPING_CLOSED && turn(p, &code)) {
		/* A peer that does not close when everything is done is not waited for long. */
		if (p->state < XIW_RPING_CLOSING) {
			if (unanswered(p, &done))
				break;
			continue;
		}
		if (!limit)
			limit = xiw_now_ns() + CLOSE_NS;
		else if (xiw_now_ns() > limit)
			break;
	}
	xiw_rping_report(p);
	return code ? code : p->code;
}

static int run_client(const struct xiw_args *args)
{
	struct xiw_engine *engine = NULL;
	struct xiw_rping p = {};
	struct addrinfo *list;
	char where[300];
	int code;

	address_of(args, where, sizeof(where));
	code = xiw_resolve(where, false, &list);
	if (code)
		return code;
	code = xiw_endpoint_open(args, args->receiver.path, &engine);
	if (!code)
		code = xiw_endpoint_prepare(args, engine, NULL, NULL);
	if (!code)
		code = connect_any(&p, args, engine, list);
	freeaddrinfo(list);
	if (!code && p.peer.conn)
		code = ping(&p);
	close_client(&p);
	xiw_engine_destroy(engine);
	return code;
}

/* ---- the command --------------------------------------------------------------------------------- */

static int run_rping(const struct xiw_args *args)
{
	if (args->rping.server == args->rping.client)
		return xiw_fail(XIW_EXIT_USAGE, "rping needs one of --server and --client");
	if (args->rping.client && !args->rping.address)
		return xiw_fail(XIW_EXIT_USAGE, "rping --client needs --address");
	if (args->rping.rtr && (args->mpa.revision == 1 || args->rping.server))
		return xiw_fail(XIW_EXIT_USAGE, "--rtr is for a client with MPA revision 2");
	xiw_catch_signals();
	return xiw_exit_stopped(args->rping.server ? run_server(args) : run_client(args));
}

static const struct xiw_word rtr_words[] = {
	{ "send", XIW_RTR_SEND },
	{ "write", XIW_RTR_WRITE },
	{ "read", XIW_RTR_READ },
	{ "none", XIW_RTR_NONE },
	{},
};

static const struct xiw_opt rping_opts[] = {
	{ "server", 's', .help = "wait for a client", XIW_FLAG(rping.server) },
	{ "client", 'c', .help = "connect to a server and ping it", XIW_FLAG(rping.client) },
	{ "address", 'a', "ADDR",
	  "client: the server's name or address; server: where to listen, default any address",
	  XIW_TEXT(rping.address, 1, SIZE_MAX, "an address") },
	{ "port", 'p', "PORT", "the server's port; default " XIW_RPING_PORT,
	  XIW_TEXT(rping.port, 1, SIZE_MAX, "a port") },
	{ "count", 'C', "N", "client: number of pings; default 0: until it is stopped",
	  XIW_NUMBER(rping.count, 0, INT32_MAX) },
	{ "size", 'S', "BYTES",
	  "client: octets of a ping, default 64; server: of the largest ping that it accepts, "
	  "default 1M. From 16 to 1G (rdma-core's rping: 26 to 65535)",
	  XIW_SIZE(rping.size, XIW_RPING_MIN, 1u << 30) },
	{ "validate", 'V',
	  .help = "compare every octet: the client those that came back, the server those that it "
		  "read",
	  XIW_FLAG(rping.validate) },
	{ "verbose", 'v', .help = "show the pings on standard output", XIW_FLAG(rping.verbose) },
	{ "persistent", 'P',
	  .help = "server: serve clients, any number at once, until it is stopped",
	  XIW_FLAG(rping.persistent) },
	{ "rev", .arg = "1|2",
	  .help = "the MPA revision; 2 negotiates the number of RDMA Reads (RFC 6581), as "
		  "Linux's siw does. Client: default 2, and 1 for a server that refuses it; "
		  "server: the highest to accept, default 2",
	  XIW_NUMBER(mpa.revision, 1, 2) },
	{ "rtr", .arg = "send|write|read|none",
	  .help = "client: peer-to-peer startup of RFC 6581, in which this message says that the "
		  "client is ready; default: any of them, if the server knows that startup; none: "
		  "client and server",
	  XIW_WORD(rping.rtr, rtr_words) },
	XIW_OPT_CRC,
	{ "markers", .help = "ask the peer for MPA markers (Linux's siw refuses that)",
	  XIW_FLAG(mpa.markers) },
	XIW_OPT_PATH,
	XIW_OPT_TRUST_CHECKSUM,
	XIW_OPT_PEER_TIMEOUT,
	XIW_OPT_THREADS,
	{},
};

const struct xiw_cmd xiw_cmd_rping = {
	.name = "rping",
	.synopsis = "-s|-c",
	.summary = "RDMA ping, against any iWARP peer that has rping",
	.text = "Speaks RDMAP (RFC 5040) as the program rping of rdma-core does, and works with "
		"it, over Linux's siw or an RNIC at the other end. Each ping is read from the "
		"client by an RDMA Read and written back to it by an RDMA Write; Sends say "
		"where, and when to go on. Both ends take the direct path if the interface has "
		"the programs.\n\n"
		"A server ends with its first client, unless --persistent. A client gives up a "
		"server that lets it wait for --peer-timeout without an octet going either way; "
		"rdma-core's waits for ever. The report at the end "
		"has iterations, octets read and written, the share received direct, and how the "
		"stream ended: a Terminate that was sent or received is shown with its layer, "
		"type and code (RFC 5040 section 4.8). Exit code 7: the connection or the peer "
		"failed; 8: --validate found a difference.",
	.examples = "sudo xiwarp rping -s -a 192.0.2.1 -v            # here\n"
		    "rping -c -a 192.0.2.1 -C 10 -S 1000 -V          # there, with rdma-core\n"
		    "xiwarp rping -c -a 192.0.2.2 -C 1000 -S 64K -V --json\n",
	.opts = rping_opts,
	.max_words = 0,
	.run = run_rping,
};
