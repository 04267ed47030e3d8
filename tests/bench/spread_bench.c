// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Both ends of many connections that are busy in turn: what an octet costs when the traffic is spread.
 *
 *   spread_bench recv ENGINES CONNECTIONS MIB LONG_MIB ADDRESS PORT NAPI...
 *   spread_bench send QUEUES CONNECTIONS MIB LONG_MIB ADDRESS PORT
 *
 * recv prints one line. It begins with the share of octets that went direct. For the messages of 64 KiB, and then for
 * those of 1 MiB, it says nanoseconds of CPU time for each octet, and how many of them the application's are.
 *
 * The receiver is the library: ENGINES of a group with a thread each; or 0, one engine that is in no group. NAPI are
 * the pids of the interface's NAPI threads. They and the receiver must be pinned to one core, so that none of them runs
 * while the receiver reads their CPU time.
 *
 * The sender is plain sockets, with FPDUs that are made before, so that it costs as little as possible. Each connection
 * in its turn sends one tagged message, and the next one does when a few messages are under way, or the end of one, so
 * that no more is in flight than the wire's rings hold. Their places in the receiver's region come in turn, too. There
 * are MIB of messages of 64 KiB, and then LONG_MIB of messages of 1 MiB. The measurement begins when each connection
 * has sent four messages of 64 KiB and found its path, so that a slow start is over: with a small window, the receiver
 * has smaller batches. Connection i has source port 40000 + i, if there are no more than 64.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "ddp/hdr.h"
#include "mpa/tx.h"
#include "tests/bench/clocks.h"

#define MIB (1ul << 20)
#define AREA (64 * MIB)
#define SHORT (64ul << 10)
#define LONG MIB
#define STAG 0x1234
#define WARM_UP 256u	  /* at least so many messages before the measurement */
#define WARM_UP_EACH 4u	  /* and so many of each connection */
#define UNDER_WAY 4u	  /* short messages for each queue: veth's ring has 256 frames */
#define AT_ONCE 500u	  /* connections that begin at once */
#define END_NS 2000000000 /* for the resets of all connections to come */
#define ENGINES_MAX 16
#define NAPI_MAX 16

struct account {
	uint64_t ns, app_ns, napi_ns, octets;
};

static struct sockaddr_in addr = { .sin_family = AF_INET };
static uint32_t nconns;
static uint64_t warm_up, shorts, longs; /* messages */
static uint8_t *area;

static void __attribute__((noreturn)) die(const char *what, int err)
{
	fprintf(stderr, "spread_bench: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

static void *make_area(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		die("mmap", errno);
	return p;
}

/* The same octets at both ends. */
static void fill(uint64_t *octets)
{
	uint64_t state = 0x9e3779b97f4a7c15ull;

	for (size_t i = 0; i < AREA / sizeof(state); i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		octets[i] = state;
	}
}

/* ---- the receiver -------------------------------------------------------------------------------- */

struct worker {
	struct xiw_engine *engine;
	pthread_t thread;
};

static struct worker workers[ENGINES_MAX];
static unsigned int nworkers, nnapi;
static int napi[NAPI_MAX]; /* their schedstat */
/* When the octets had come that warm up, those of short messages, and all. */
static struct account warm, halfway, finish;
/* What all workers write. */
static uint64_t octets, direct, kernel;
static uint32_t closed;

static struct account account(uint64_t so_far)
{
	struct account a = { .octets = so_far };

	for (unsigned int i = 0; i < nnapi; i++)
		a.napi_ns += napi_ns(napi[i]);
	a.app_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	a.ns = clock_ns(CLOCK_MONOTONIC);
	return a;
}

static void note(struct account *a, uint64_t before, uint64_t now, uint64_t at)
{
	if (before < at && now >= at)
		*a = account(now);
}

static uint64_t short_octets(void)
{
	return (warm_up + shorts) * SHORT;
}

static void written(const struct xiw_completion *c)
{
	uint64_t now = __atomic_add_fetch(&octets, c->length, __ATOMIC_RELAXED);
	uint64_t before = now - c->length;

	note(&warm, before, now, warm_up * SHORT);
	note(&halfway, before, now, short_octets());
	note(&finish, before, now, short_octets() + longs * LONG);
}

/* The sender resets its connections when everything has been acknowledged, so that nothing stays in TIME-WAIT. */
static void ended(struct xiw_conn *conn)
{
	struct xiw_conn_info info;

	xiw_conn_info(conn, &info, sizeof(info));
	__atomic_add_fetch(&direct, info.octets_direct, __ATOMIC_RELAXED);
	__atomic_add_fetch(&kernel, info.octets_kernel, __ATOMIC_RELAXED);
	xiw_conn_free(conn);
	if (__atomic_add_fetch(&closed, 1, __ATOMIC_RELAXED) == nconns)
		for (unsigned int i = 0; i < nworkers; i++)
			xiw_engine_wake(workers[i].engine);
}

static void handle(const struct xiw_completion *c)
{
	switch (c->event) {
	case XIW_EV_REQUEST:
		xiw_conn_accept(c->conn, NULL, 0);
		break;
	case XIW_EV_WRITTEN:
		written(c);
		break;
	case XIW_EV_ERROR:
		die("the stream is invalid", EPROTO);
	case XIW_EV_NOT_ACCEPTED:
		die("accept", c->status);
	case XIW_EV_CLOSED:
		ended(c->conn);
		break;
	default:
		break;
	}
}

/* All connections have ended; or their resets were lost, which TCP does not send again. */
static bool over(void)
{
	uint64_t end_ns = __atomic_load_n(&finish.ns, __ATOMIC_RELAXED);

	return __atomic_load_n(&closed, __ATOMIC_RELAXED) == nconns ||
	       (end_ns && clock_ns(CLOCK_MONOTONIC) - end_ns > END_NS);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct xiw_completion c;
	int n;

	while (!over()) {
		n = xiw_engine_run(w->engine, 200);
		if (n < 0 && n != -EINTR)
			die("engine", n);
		while (xiw_engine_next(w->engine, &c) > 0)
			handle(&c);
	}
	return NULL;
}

static void need(int err, const char *what)
{
	if (err)
		die(what, err);
}

static struct xiw_group *group;

/* Engines, region and listener; with 0 engines one that is in no group. */
static void make_engines(unsigned int engines)
{
	struct xiw_engine_opts e = { .size = sizeof(e), .path = XIW_USE_DIRECT };
	struct xiw_group_opts g = { .size = sizeof(g), .engines = engines, .engine = &e };
	struct xiw_conn_opts conn = { .size = sizeof(conn),
				      .path = XIW_USE_DIRECT,
				      .queues = 1,
				      .max_unstarted = 2 * AT_ONCE,
				      .max_unstarted_peer = 2 * AT_ONCE };
	uint32_t stag = STAG;
	struct xiw_region_opts r = { .size = sizeof(r), .stag = &stag };
	struct xiw_group_listener *group_listener;
	struct xiw_group_region *group_region;
	struct xiw_listener *listener;
	struct xiw_region *region;
	struct sockaddr *a = (struct sockaddr *)&addr;
	char why[128];

	nworkers = engines ? engines : 1;
	if (!engines) {
		need(xiw_engine_create(&e, &workers[0].engine), "engine");
		need(xiw_region_register(workers[0].engine, area, AREA, &r, &region), "region");
		need(xiw_listen(workers[0].engine, a, sizeof(addr), &conn, &listener), "listen");
		return;
	}
	need(xiw_group_create(&g, &group), "group");
	need(xiw_group_prepare(group, a, why, sizeof(why)), "prepare");
	need(xiw_group_region_register(group, area, AREA, &r, &group_region), "region");
	for (unsigned int i = 0; i < engines; i++)
		workers[i].engine = xiw_group_engine(group, i);
	need(xiw_group_listen(group, a, sizeof(addr), &conn, &group_listener), "listen");
}

static void check(void)
{
	uint64_t *right = make_area(AREA);

	fill(right);
	if (octets != short_octets() + longs * LONG || memcmp(right, area, AREA))
		die("wrong octets", EPROTO);
}

/* What an octet has cost, of everybody and of the application. */
static void print_cost(const struct account *from, const struct account *to)
{
	double n = (double)(to->octets - from->octets), app = (double)(to->app_ns - from->app_ns);

	printf(" %.4f %.4f", (app + (double)(to->napi_ns - from->napi_ns)) / n, app / n);
}

static void receive(unsigned int engines, char **pids)
{
	char name[64];

	for (; *pids && nnapi < NAPI_MAX; pids++) {
		snprintf(name, sizeof(name), "/proc/%s/schedstat", *pids);
		napi[nnapi] = open(name, O_RDONLY | O_CLOEXEC);
		if (napi[nnapi++] < 0)
			die(name, errno);
	}
	make_engines(engines);
	for (unsigned int i = 0; i < nworkers; i++)
		need(-pthread_create(&workers[i].thread, NULL, work, &workers[i]), "thread");
	for (unsigned int i = 0; i < nworkers; i++)
		pthread_join(workers[i].thread, NULL);
	/* Otherwise the port is not free before the kernel has taken io_uring down, after the end of the process. */
	need(group ? xiw_group_destroy(group) : xiw_engine_destroy(workers[0].engine), "the end");
	check();
	printf("%.4f", (double)direct / (double)(direct + kernel));
	print_cost(&warm, &halfway);
	if (longs)
		print_cost(&halfway, &finish);
	printf("\n");
}

/* ---- the sender ---------------------------------------------------------------------------------- */

/* Messages of one length. */
struct kind {
	uint64_t octets;
	uint8_t *fpdus; /* those of the messages that fill the region, one after the other */
	uint32_t len;	/* of the FPDUs of one message */
	uint32_t
		behind; /* messages for each queue that may be sent behind one that is not acknowledged */
	uint32_t
		slack; /* octets of a message that may be unacknowledged when it counts as arrived */
};

static struct kind shortly = { .octets = SHORT, .behind = UNDER_WAY - 1 };
static struct kind longly = { .octets = LONG, .slack = SHORT };
static int *fds;
static uint32_t mss;

static const char request[20] = "MPA ID Req Frame\x40\1\0"; /* and a NUL: no Private Data */

static void begin(uint32_t i)
{
	struct sockaddr_in from_addr = { .sin_family = AF_INET,
					 .sin_port = htons((uint16_t)(40000 + i)) };
	struct linger reset = { .l_onoff = 1 };
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)))
		die("socket", errno);
	if (nconns <= 64 && bind(fd, (struct sockaddr *)&from_addr, sizeof(from_addr)))
		die("bind", errno);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		die("connect", errno);
	if (send(fd, request, sizeof(request), MSG_NOSIGNAL) != sizeof(request))
		die("Request", errno);
	fds[i] = fd;
}

static void begin_all(void)
{
	char reply[20];
	socklen_t len = sizeof(mss);

	for (uint32_t i = 0; i < nconns; i += AT_ONCE) {
		uint32_t end = i + AT_ONCE < nconns ? i + AT_ONCE : nconns;

		for (uint32_t k = i; k < end; k++)
			begin(k);
		for (uint32_t k = i; k < end; k++)
			if (recv(fds[k], reply, sizeof(reply), MSG_WAITALL) != sizeof(reply))
				die("Reply", ECONNRESET);
	}
	if (getsockopt(fds[0], IPPROTO_TCP, TCP_MAXSEG, &mss, &len))
		die("MSS", errno);
}

/* FPDUs that fill a segment each, except for the last one of a message. */
static void make_fpdus(struct kind *kind)
{
	struct xiw_mpa_tx tx = { .crc = true };
	uint32_t room = xiw_mpa_ulpdu_fit(mss, false, 0) - 14;
	uint8_t hdr[XIW_DDP_HDR_MAX], *octets_of = make_area(AREA), *at;

	fill((uint64_t *)octets_of);
	kind->fpdus = at = make_area(AREA + AREA / 4);
	for (uint64_t pos = 0, len; pos < AREA; pos += len) {
		uint64_t left = kind->octets - pos % kind->octets;
		struct xiw_ddp_hdr h = { .tagged = true, .dv = 1, .stag = STAG, .to = pos };

		len = left < room ? left : room;
		h.last = len == left;
		at += xiw_mpa_build(&tx, at, hdr, xiw_ddp_hdr_encode(&h, hdr), octets_of + pos,
				    (uint32_t)len);
		if (pos + len == kind->octets)
			kind->len = (uint32_t)(at - kind->fpdus);
	}
	munmap(octets_of, AREA);
	/* The peer may delay the acknowledgement of two segments. */
	kind->slack += 2 * mss;
}

static void send_message(const struct kind *kind, uint64_t k)
{
	const uint8_t *at = kind->fpdus + k % (AREA / kind->octets) * kind->len;

	for (uint32_t done = 0; done < kind->len;) {
		ssize_t n =
			send(fds[k % nconns], at + done, kind->len - done, MSG_NOSIGNAL | MSG_EOR);

		if (n < 0)
			die("send", errno);
		done += (uint32_t)n;
	}
}

/* Waits until the connection of message k has no more than `most` octets that are not acknowledged. */
static void await(uint64_t k, uint64_t most)
{
	int left;

	for (;;) {
		if (ioctl(fds[k % nconns], SIOCOUTQ, &left))
			die("SIOCOUTQ", errno);
		if ((uint64_t)left <= most)
			return;
		usleep(50); /* the wire needs this core, too */
	}
}

/* Sends messages of one kind. All connections have been idle before, and are idle afterwards. */
static void send_all(const struct kind *kind, uint64_t n, unsigned int queues)
{
	const uint64_t behind = (kind->behind + 1) * queues - 1;

	for (uint64_t k = 0; k < n; k++) {
		if (k > behind)
			await(k - behind - 1, behind / nconns * kind->len + kind->slack);
		send_message(kind, k);
	}
	for (uint32_t i = 0; i < nconns; i++)
		await(i, 0);
}

static void transmit(unsigned int queues)
{
	prctl(PR_SET_TIMERSLACK, 1);
	fds = make_area(nconns * sizeof(*fds));
	begin_all();
	make_fpdus(&shortly);
	make_fpdus(&longly);
	send_all(&shortly, warm_up + shorts, queues);
	send_all(&longly, longs, queues);
	for (uint32_t i = 0; i < nconns; i++) {
		close(fds[i]);
		if (i % 32 == 31)
			usleep(2000); /* the wire's ring shall have room for the resets */
	}
}

/* ---- the command line ---------------------------------------------------------------------------- */

static void allow_files(void)
{
	struct rlimit limit = { .rlim_cur = 16384, .rlim_max = 16384 };

	if (setrlimit(RLIMIT_NOFILE, &limit))
		die("RLIMIT_NOFILE", errno);
}

int main(int argc, char **argv)
{
	bool receiver = argc > 1 && !strcmp(argv[1], "recv");
	unsigned int first;

	if (argc < 8 || (!receiver && strcmp(argv[1], "send")) ||
	    inet_pton(AF_INET, argv[6], &addr.sin_addr) != 1) {
		fprintf(stderr, "usage: spread_bench recv|send ...: see its source\n");
		return 2;
	}
	first = (unsigned int)atoi(argv[2]);
	nconns = (uint32_t)atoi(argv[3]);
	warm_up = nconns * WARM_UP_EACH > WARM_UP ? nconns * WARM_UP_EACH : WARM_UP;
	shorts = strtoull(argv[4], NULL, 10) * MIB / SHORT;
	longs = strtoull(argv[5], NULL, 10) * MIB / LONG;
	addr.sin_port = htons((uint16_t)atoi(argv[7]));
	if (first > ENGINES_MAX || !nconns || shorts < AREA / SHORT)
		die("arguments", EINVAL);
	allow_files();
	if (receiver) {
		area = make_area(AREA);
		receive(first, argv + 8);
	} else {
		transmit(first);
	}
	return 0;
}
