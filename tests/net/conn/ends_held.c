// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * ends_held - what has arrived before the end of a connection is delivered before the end, although the application
 * takes no completion until then and the completion queue is full. And a living peer is not taken for a dead one.
 *
 *   ends_held kernel|direct HERE NAMESPACE
 *
 * As ends.c, with one peer at a time. Prints PASS and FAIL lines.
 */
#include <fcntl.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "tests/net/lib/mpa.h"

#define MESSAGES 6001 /* more than the queue takes */
#define CQ 4096
#define PORT 20900
#define STAG 0x1234u
#define STALL_MS 150 /* much longer than a turn, and much shorter than KEEPALIVE_MS */
#define KEEPALIVE_MS 1000

static struct xiw_engine *engine;
static struct xiw_conn *conn;
static struct xiw_rdma *rdma;
static uint8_t buffers[MESSAGES], memory[64];
static uint32_t delivered, errors, after;
static bool connected, closed_told, rdmap;
static int status;
static uint64_t longest; /* turn of the engine, in ms */
static enum xiw_use_path path;
static const char *here;
static int ns_here, ns_there;

/* ---- the application ----------------------------------------------------------------------------- */

static void on_request(struct xiw_conn *c)
{
	struct xiw_rdma_opts o = { .size = sizeof(o) };

	conn = c;
	if (rdmap && xiw_rdma_attach(c, &o, &rdma))
		die("cannot attach");
	for (uint32_t i = 0; rdmap && i < MESSAGES; i++)
		if (xiw_rdma_post_recv(rdma, &buffers[i], 1, i))
			die("cannot post");
	xiw_conn_accept(c, NULL, 0);
}

static void handle(const struct xiw_completion *c)
{
	after += closed_told;
	switch (c->event) {
	case XIW_EV_REQUEST:
		on_request(c->conn);
		break;
	case XIW_EV_CONNECTED:
		connected = true;
		break;
	case XIW_EV_RECEIVED:
	case XIW_EV_WRITTEN:
		delivered++;
		break;
	case XIW_EV_ERROR:
		errors++;
		break;
	case XIW_EV_CLOSED:
		closed_told = true;
		status = c->status;
		break;
	default:
		break;
	}
}

static void run(int ms, bool take)
{
	const uint64_t until = now_ms() + (uint64_t)ms;
	struct xiw_completion c;
	uint64_t began;

	while ((began = now_ms()) < until && !closed_told) {
		if (xiw_engine_run(engine, 1) < 0)
			die("the engine failed");
		while (take && xiw_engine_next(engine, &c))
			handle(&c);
		if (now_ms() - began > longest)
			longest = now_ms() - began;
	}
}

/* ---- the peer -------------------------------------------------------------------------------------- */

static void peer_connect(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	uint8_t f[64], got[20];
	size_t n = make_frame(f, REQUEST, C, 1, NULL, 0);

	inet_pton(AF_INET, here, &a.sin_addr);
	if (setns(ns_there, CLONE_NEWNET))
		die_errno("setns");
	peer.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (setns(ns_here, CLONE_NEWNET) || connect(peer.fd, (struct sockaddr *)&a, sizeof(a)))
		die_errno("connect");
	prepare(peer.fd);
	peer.out = 0;
	if (send(peer.fd, f, n, 0) != (ssize_t)n)
		die_errno("send");
	for (int i = 0; i < 500 && !connected; i++)
		run(5, true);
	run(5, true); /* the Reply goes out with the next turn */
	if (recv(peer.fd, got, sizeof(got), MSG_WAITALL) != sizeof(got))
		die("no Reply: connection %p, connected %d, closed %d, status %d", (void *)conn,
		    connected, closed_told, status);
}

/* Sends of nothing, or Writes of an octet. The application takes no completion meanwhile. */
static void peer_send_all(void)
{
	static uint8_t all[MESSAGES * 64];
	uint32_t len = 0, off = 0;
	int unacked = 1;
	uint8_t u[64];

	for (uint32_t i = 1; i <= MESSAGES; i++)
		len += make_fpdu(all + len, u,
				 rdmap ? make_untagged(u, LAST | DV, 0x4300000000, 0, i, 0, 0)
				       : make_tagged(u, LAST | DV, 0x40, STAG, i % 64, 0, 1));
	for (int i = 0; i < 2000 && (off < len || unacked); i++) {
		ssize_t n = send(peer.fd, all + off, len - off < 1400 ? len - off : 1400,
				 MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR);

		off += n > 0 ? (uint32_t)n : 0;
		run(1, false);
		ioctl(peer.fd, SIOCOUTQ, &unacked);
	}
	if (off < len || unacked)
		die("%u of %u octets went, %d wait", off, len, unacked);
}

/* ---- cases ------------------------------------------------------------------------------------------- */

/* The application closes while messages wait; the peer has. */
static const char *closes(int as_rdmap)
{
	rdmap = as_rdmap;
	peer_connect();
	peer_send_all();
	TRY(half_close());
	run(100, false);
	if (rdma)
		xiw_rdma_close(rdma);
	else
		xiw_conn_close(conn);
	run(3000, true);
	CHECK(closed_told && !status && delivered == MESSAGES && !errors && !after,
	      "closed %d, status %d, %u of %u, %u behind", closed_told, status, delivered, MESSAGES,
	      after);
	return NULL;
}

/* Reset when all was acknowledged, with something of ours under way or not. */
static const char *is_reset(int sending)
{
	const struct linger now = { .l_onoff = 1 };
	struct xiw_message m = { .buf = memory, .len = sizeof(memory), .tagged = true };

	rdmap = false;
	peer_connect();
	peer_send_all();
	setsockopt(peer.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(peer.fd);
	peer.fd = -1;
	/* The send finds out first. */
	if (sending)
		xiw_conn_send(conn, &m);
	run(100, false);
	CHECK(!closed_told);
	run(3000, true);
	CHECK(closed_told && status == -ECONNRESET && delivered == MESSAGES && !errors && !after,
	      "closed %d, status %d, %u of %u, %u behind", closed_told, status, delivered, MESSAGES,
	      after);
	return NULL;
}

/* Of the kernel's keepalive, in this namespace. */
static long probes(void)
{
	FILE *f = fopen("/proc/net/netstat", "r");
	char names[8192], values[8192], *n, *v, *sn, *sv;
	long found = -1;

	while (f && fgets(names, sizeof(names), f) && fgets(values, sizeof(values), f)) {
		n = strtok_r(names, " \n", &sn);
		v = strtok_r(values, " \n", &sv);
		for (; n && v; n = strtok_r(NULL, " \n", &sn), v = strtok_r(NULL, " \n", &sv))
			if (!strcmp(n, "TCPKeepAlive"))
				found = atol(v);
	}
	if (f)
		fclose(f);
	return found;
}

/* How often the kernel asks whether the peer lives while that sends 65 messages in three seconds; -1: failed. */
static long asked(void)
{
	const long before = probes();
	uint8_t f[128], u[64];
	uint32_t n;

	longest = 0;
	for (int i = 0; i < 65; i++) {
		n = make_fpdu(f, u, make_tagged(u, LAST | DV, 0x40, STAG, 0, 0, 1));
		if (push(f, n))
			return -1;
		run(40, true);
	}
	return before < 0 ? -1 : probes() - before;
}

/*
 * A peer that does nothing but send lives, and is not even asked: on the direct path the kernel's socket sees none of
 * it, but is told. An engine that this machine does not let run for long tells it late: then once more.
 */
static const char *lives(int unused)
{
	struct xiw_conn_info info;
	unsigned int times = 0;
	long n;

	(void)unused;
	rdmap = false;
	peer_connect();
	do
		n = asked();
	while (++times < 5 && n > 0 && longest > STALL_MS);
	xiw_conn_info(conn, &info, sizeof(info));
	CHECK(!n && !closed_told && delivered == 65 * times, "%ld probes, %u messages", n,
	      delivered);
	CHECK(!peer.direct || info.stream_direct > info.stream_kernel, "not direct: %s",
	      info.no_direct);
	return NULL;
}

static const struct test_case held_cases[] = {
	{ "held-close", closes, 0 },   { "held-close-rdmap", closes, 1 },
	{ "held-reset", is_reset, 0 }, { "held-reset-sending", is_reset, 1 },
	{ "alive", lives, 0 },
};

/* The kernel releases the queues of the previous engine with a delay. */
static void prepare_direct(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	char why[96] = "";

	inet_pton(AF_INET, here, &a.sin_addr);
	for (int i = 0; i < 200; i++) {
		if (!xiw_engine_prepare(engine, (struct sockaddr *)&a, why, sizeof(why)))
			return;
		run(20, true);
	}
	die("no direct path: %s", why);
}

static const char *one(int i)
{
	struct xiw_engine_opts eo = { .size = sizeof(eo), .cq_entries = CQ, .app_ring_fd = -1 };
	struct xiw_conn_opts o = { .size = sizeof(o),
				   .path = path,
				   .recv_depth = MESSAGES,
				   .keepalive_ms = KEEPALIVE_MS,
				   .user_timeout_ms = 1500 };
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct xiw_region_opts ro = { .size = sizeof(ro), .stag = &(uint32_t){ STAG } };
	struct xiw_listener *listener;
	struct xiw_region *region;
	const char *why;

	conn = NULL;
	rdma = NULL;
	delivered = errors = after = 0;
	connected = closed_told = false;
	if (xiw_engine_create(&eo, &engine) ||
	    xiw_region_register(engine, memory, sizeof(memory), &ro, &region) ||
	    xiw_listen(engine, (struct sockaddr *)&a, sizeof(a), &o, &listener))
		die("cannot begin");
	if (peer.direct)
		prepare_direct();
	why = held_cases[i].run(held_cases[i].arg);
	xiw_conn_free(conn);
	xiw_listener_free(listener);
	xiw_region_free(region);
	xiw_engine_destroy(engine);
	return why;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: ends_held kernel|direct HERE NAMESPACE\n");
		return 2;
	}
	peer.direct = !strcmp(argv[1], "direct");
	path = peer.direct ? XIW_USE_DIRECT : XIW_USE_KERNEL;
	peer.control = -1;
	peer.crc = true;
	here = argv[2];
	ns_here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	ns_there = open(argv[3], O_RDONLY | O_CLOEXEC);
	if (ns_here < 0 || ns_there < 0)
		die_errno("namespace");
	for (int i = 0; i < (int)(sizeof(held_cases) / sizeof(held_cases[0])); i++)
		run_case(held_cases[i].name, one, i);
	return failures > 0;
}
