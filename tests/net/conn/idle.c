// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Ten thousand connections that are idle: what memory they take, and what work they are. Then octets come on some.
 *
 *   idle recv PORT N [rdma]   the library's end; rdma: each has an RDMAP Stream
 *   idle send HOST PORT N [silent]
 *                             the peers: plain sockets. At SIGUSR1 they leave; at the one before octets come, unless
 *                             they are silent
 *
 * The library's end prints `rested` and `done` when it is time for these signals, and PASS or FAIL for each case.
 * Exit codes: 0 all passed, 1 some failed, 2 usage.
 */
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>

#include <xiwarp/xiwarp.h>

#include "core/engine.h"
#include "tests/net/lib/octets.h"
#include "tests/net/lib/plain.h"

#define STAG 0x1234u
#define EVERY 50u   /* octets come on each connection whose number is a multiple of this */
#define PIECE 1000u /* octets of a message, which takes a segment */
#define PIECES 10u
#define MOST (4u << 10) /* octets of memory for a connection */

#define LOOKS 3
#define PATIENCE_MS 60000

static unsigned int count;

static void raise_files(void)
{
	struct rlimit l = { count + 1000, count + 1000 };

	if (setrlimit(RLIMIT_NOFILE, &l))
		die_errno("RLIMIT_NOFILE");
}

/* ---- the peers ------------------------------------------------------------------------------------ */

static int *socks;

static void give(int sock, const uint8_t *p, size_t len)
{
	if (send(sock, p, len, MSG_EOR | MSG_NOSIGNAL) != (ssize_t)len)
		die_errno("send");
}

static void write_octets(struct xiw_mpa_tx *tx, unsigned int n)
{
	struct xiw_ddp_hdr h = { .tagged = true, .last = true, .dv = 1, .stag = STAG };
	uint8_t payload[PIECE], header[XIW_DDP_HDR_MAX], fpdu[2048];

	for (uint32_t k = 0; k < PIECES; k++) {
		h.to = ((uint64_t)n * PIECES + k) * PIECE;
		for (uint32_t i = 0; i < PIECE; i++)
			payload[i] = octet(h.to + i);
		give(socks[n * EVERY], fpdu,
		     xiw_mpa_build(tx, fpdu, header, xiw_ddp_hdr_encode(&h, header), payload,
				   PIECE));
	}
}

static void await_signal(void)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigwait(&set, &sig);
}

static void peers(const char *host, uint16_t port, bool silent)
{
	struct xiw_mpa_tx *tx = calloc(count / EVERY, sizeof(*tx));

	socks = calloc(count, sizeof(*socks));
	if (!tx || !socks)
		die("no memory");
	for (unsigned int i = 0; i < count; i++) {
		struct xiw_mpa_tx one;

		plain_connect(host, port, NULL);
		one = plain_startup();
		socks[i] = plain.sock;
		if (i % EVERY == 0)
			tx[i / EVERY] = one;
	}
	if (!silent)
		await_signal();
	for (unsigned int n = 0; !silent && n < count / EVERY; n++)
		write_octets(&tx[n], n);
	await_signal();
	free(tx);
	free(socks);
}

/* ---- the library's end ---------------------------------------------------------------------------- */

static struct xiw_engine *engine;
static struct xiw_conn **conns;
static unsigned int nopen, nclosed, written;
static uint8_t *region;
static bool with_rdma;

static void on_event(const struct xiw_completion *c)
{
	struct xiw_rdma_opts o = { .size = sizeof(o) };
	static uint8_t posted[64];
	struct xiw_rdma *rdma;

	switch (c->event) {
	case XIW_EV_REQUEST:
		if (with_rdma && (xiw_rdma_attach(c->conn, &o, &rdma) ||
				  xiw_rdma_post_recv(rdma, posted, sizeof(posted), 0)))
			die("xiw_rdma_attach");
		xiw_conn_accept(c->conn, NULL, 0);
		break;
	case XIW_EV_CONNECTED:
		conns[nopen++] = c->conn;
		break;
	case XIW_EV_WRITTEN:
		written++;
		break;
	case XIW_EV_ERROR:
		die("the stream is in error");
	case XIW_EV_EOF:
		xiw_conn_close(c->conn);
		break;
	case XIW_EV_CLOSED:
		nclosed++;
		xiw_conn_free(c->conn);
		break;
	default:
		break;
	}
}

static void turn(int ms)
{
	struct xiw_completion c;

	if (xiw_engine_run(engine, ms) < 0)
		die("xiw_engine_run");
	while (xiw_engine_next(engine, &c) > 0)
		on_event(&c);
}

#define UNTIL(x)                                                                                   \
	do {                                                                                       \
		uint64_t start_ = now_ms();                                                        \
		while (!(x) && now_ms() - start_ < PATIENCE_MS)                                    \
			turn(20);                                                                  \
		if (!(x))                                                                          \
			die("not in a minute: %s", #x);                                            \
	} while (0)

static uint64_t charged(void)
{
	struct xiw_engine_info i;

	xiw_engine_info(engine, &i, sizeof(i));
	return i.memory;
}

static uint64_t allocated(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static unsigned int failures;

static void verdict(bool good, const char *name, uint64_t value)
{
	printf(good ? "PASS %s (%llu)\n" : "FAIL %s: %llu\n", name, (unsigned long long)value);
	fflush(stdout);
	failures += !good;
}

/* For some seconds nothing comes. What the engine then does must not grow with the number of connections. */
static void rest(void)
{
	uint64_t routes = engine->watch.routes, look = engine->watch.look_ms, looks = 0, turns = 0;
	struct rusage before, after;

	getrusage(RUSAGE_SELF, &before);
	while (looks < LOOKS) {
		turn(-1);
		turns++;
		if (engine->watch.look_ms != look)
			looks++;
		look = engine->watch.look_ms;
	}
	getrusage(RUSAGE_SELF, &after);
	printf("%u seconds took %lld us of CPU\n", LOOKS,
	       (long long)(after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec -
			   before.ru_stime.tv_sec) *
			       1000000 +
		       after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec -
		       before.ru_stime.tv_usec);
	routes = engine->watch.routes - routes;
	verdict(routes <= (LOOKS + 1) * XIW_LOOK_ROUTES && routes >= LOOKS, "idle-routes", routes);
	verdict(turns < 10 * LOOKS, "idle-turns", turns);
}

static void say(const char *what)
{
	printf("%s\n", what);
	fflush(stdout);
}

static void check_octets(void)
{
	const uint64_t all = (uint64_t)count / EVERY * PIECES * PIECE;
	uint64_t bad = 0;

	for (uint64_t i = 0; i < all; i++)
		bad += region[i] != octet(i);
	verdict(!bad, "octets-that-are-wrong", bad);
}

/* Connections in the order in which they were made. */
static void check_paths(void)
{
	unsigned int registered = 0, direct = 0;
	struct xiw_conn_info i;

	for (unsigned int n = 0; n < nopen; n++) {
		xiw_conn_info(conns[n], &i, sizeof(i));
		registered += !i.no_direct[0] && i.path != XIW_PATH_NONE;
		direct += i.octets_direct != 0;
	}
	verdict(registered == count, "registered", registered);
	/* A machine that is busy may take some back. */
	verdict(direct * 2 > count / EVERY, "direct", direct);
}

static void receive(uint16_t port)
{
	const size_t len = (size_t)count * PIECES * PIECE / EVERY;
	struct sockaddr_in local = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct xiw_conn_opts opts = { .size = sizeof(opts) };
	uint32_t stag = STAG;
	struct xiw_region_opts ropts = { .size = sizeof(ropts), .stag = &stag };
	struct xiw_listener *l;
	struct xiw_region *r;
	const uint64_t most = MOST;
	uint64_t empty, budget, memory;

	region = calloc(1, len);
	conns = calloc(count, sizeof(*conns));
	if (!region || !conns || xiw_engine_create(NULL, &engine) ||
	    xiw_region_register(engine, region, len, &ropts, &r) ||
	    xiw_listen(engine, (struct sockaddr *)&local, sizeof(local), &opts, &l))
		die("cannot begin");
	empty = charged();
	UNTIL(nopen == 1); /* with the interface, which the first connection opens */
	budget = charged();
	memory = allocated();
	UNTIL(nopen == count);
	budget = charged() - budget;
	memory = allocated() - memory;
	verdict(budget / (count - 1) <= most, "octets-charged-for-each", budget / (count - 1));
	verdict(memory / (count - 1) <= most, "octets-allocated-for-each", memory / (count - 1));
	rest();
	say("rested");
	if (with_rdma) {
		UNTIL(nclosed);
	} else {
		UNTIL(written == count / EVERY * PIECES);
		check_octets();
		check_paths();
		say("done");
	}
	UNTIL(nclosed == count);
	xiw_listener_free(l);
	xiw_region_free(r);
	verdict(charged() == empty, "octets-charged-at-the-end", charged() - empty);
	xiw_engine_destroy(engine);
}

int main(int argc, char **argv)
{
	sigset_t set;

	if (argc < 4)
		return 2;
	count = (unsigned int)atoi(argv[argc > 4 && !strcmp(argv[1], "send") ? 4 : 3]);
	raise_files();
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (!strcmp(argv[1], "send") && argc >= 5) {
		peers(argv[2], (uint16_t)atoi(argv[3]), argc == 6);
	} else if (!strcmp(argv[1], "recv")) {
		with_rdma = argc == 5 && !strcmp(argv[4], "rdma");
		receive((uint16_t)atoi(argv[2]));
	} else {
		return 2;
	}
	return failures != 0;
}
