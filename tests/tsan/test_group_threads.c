// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// timeout: 300
/*
 * A group of engines and threads: each engine runs in a thread of its own, and another thread uses the group.
 * Everything goes over lo, on the kernel path.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "tests/fuzz/fuzz.h"
#include "tests/net/lib/ended.h"

#define ENGINES 2u
#define ROUNDS 20u
#define PEERS 4u
#define CONNECTS 20u
#define DEPTH 32u
#define WAIT_MS 20
#define STAG 0x1234u
#define SIZE 4096u
#define WRITTEN                                                                                    \
	0x5a /* what peers write, and what the owner does when the memory is its own again */
#define OWN 0xa5

static struct xiw_conn_opts conn_opts = { .size = sizeof(conn_opts), .send_depth = DEPTH };
static uint8_t octets[SIZE];

static struct xiw_group *make_group(void)
{
	struct xiw_engine_opts eo = { .size = sizeof(eo), .path = XIW_USE_KERNEL };
	struct xiw_group_opts o = { .size = sizeof(o), .engines = ENGINES, .engine = &eo };
	struct xiw_group *g;

	CHECK(!xiw_group_create(&o, &g));
	CHECK(xiw_group_engines(g) == ENGINES);
	return g;
}

/* ---- a thread for each engine ------------------------------------------------------------------------ */

struct worker {
	struct xiw_engine *engine;
	_Atomic unsigned int arrived, connected, refused; /* as an Initiator */
	pthread_t thread;
	_Atomic unsigned int accepted, written, closed;
	_Atomic bool leave;
	bool spin; /* the engine's turns follow each other without a pause */
};

static void take(struct worker *w, const struct xiw_completion *c)
{
	switch (c->event) {
	case XIW_EV_REQUEST:
		CHECK(!xiw_conn_accept(c->conn, NULL, 0));
		w->accepted++;
		break;
	case XIW_EV_ARRIVED:
		/* Every other one with Private Data of its own. */
		CHECK(!xiw_conn_accept(c->conn, "late", w->arrived++ % 2 ? 4 : 0));
		CHECK(xiw_conn_accept(c->conn, NULL, 0) == -ENOTCONN);
		break;
	case XIW_EV_CONNECTED:
		w->connected++;
		break;
	case XIW_EV_REFUSED:
		w->refused++;
		CHECK(c->conn && c->user_data == 7);
		break;
	case XIW_EV_WRITTEN:
		CHECK(c->stag == STAG && c->length == SIZE);
		w->written++;
		break;
	case XIW_EV_CLOSED:
		xiw_conn_free(c->conn);
		w->closed++;
		break;
	default:
		follow_end(c);
		break;
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct xiw_completion c;

	while (!w->leave) {
		CHECK(xiw_engine_run(w->engine, w->spin ? 0 : WAIT_MS) >= 0);
		while (xiw_engine_next(w->engine, &c))
			take(w, &c);
	}
	return NULL;
}

static void start(struct worker *w, struct xiw_group *g)
{
	for (unsigned int i = 0; i < ENGINES; i++) {
		w[i].engine = xiw_group_engine(g, i);
		w[i].spin = i % 2;
		CHECK(!pthread_create(&w[i].thread, NULL, work, &w[i]));
	}
}

static void stop(struct worker *w)
{
	for (unsigned int i = 0; i < ENGINES; i++)
		w[i].leave = true;
	for (unsigned int i = 0; i < ENGINES; i++)
		pthread_join(w[i].thread, NULL);
}

/* ---- a peer that writes until its stream ends --------------------------------------------------------- */

struct peer {
	struct sockaddr_in addr;
	uint64_t to; /* where it writes: peers that wrote to one place would race with each other */
	pthread_t thread;
};

static void *write_on(void *arg)
{
	const struct peer *p = arg;
	struct xiw_message m = {
		.buf = octets, .len = SIZE, .stag = STAG, .to = p->to, .tagged = true
	};
	struct xiw_completion c;
	struct xiw_engine *e;
	struct xiw_conn *conn;
	bool open = true;

	CHECK(!xiw_engine_create(NULL, &e));
	CHECK(!xiw_connect(e, (struct sockaddr *)&p->addr, sizeof(p->addr), &conn_opts, &conn));
	while (open) {
		CHECK(xiw_engine_run(e, WAIT_MS) >= 0);
		while (xiw_engine_next(e, &c)) {
			CHECK(c.event != XIW_EV_REFUSED);
			for (unsigned int i = 0; c.event == XIW_EV_CONNECTED && i < DEPTH; i++)
				CHECK(!xiw_conn_send(conn, &m));
			if (c.event == XIW_EV_SENT)
				xiw_conn_send(conn, &m);
			else if (c.event == XIW_EV_EOF || c.event == XIW_EV_ERROR)
				xiw_conn_abort(conn);
			else if (c.event == XIW_EV_CLOSED)
				open = false;
		}
	}
	CHECK(!xiw_engine_destroy(e));
	return NULL;
}

/* Peers that write until the region is gone. */
static void begin(struct peer *peers, const struct sockaddr_in *addr)
{
	for (unsigned int i = 0; i < PEERS; i++) {
		peers[i] = (struct peer){ .addr = *addr, .to = i * SIZE };
		CHECK(!pthread_create(&peers[i].thread, NULL, write_on, &peers[i]));
	}
}

static void await(const struct peer *peers)
{
	for (unsigned int i = 0; i < PEERS; i++)
		pthread_join(peers[i].thread, NULL);
}

/* ---- the tests ---------------------------------------------------------------------------------------- */

static struct xiw_group_listener *listen_at(struct xiw_group *g, struct sockaddr_in *addr)
{
	struct xiw_group_listener *l;
	struct sockaddr_storage bound;
	socklen_t len;

	*addr = (struct sockaddr_in){ .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	CHECK(!xiw_group_listen(g, (struct sockaddr *)addr, sizeof(*addr), &conn_opts, &l));
	CHECK(!xiw_group_listener_addr(l, &bound, &len));
	memcpy(addr, &bound, sizeof(*addr));
	return l;
}

static unsigned int written(const struct worker *w)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < ENGINES; i++)
		n += w[i].written;
	return n;
}

/*
 * While peers write into a region through every engine, its owner takes the memory back. From then on nobody else
 * writes there, which ThreadSanitizer sees, and the octets show.
 */
static void region_freed(void)
{
	static uint8_t memory[PEERS * SIZE];
	const uint32_t stag = STAG;
	struct xiw_region_opts ro = { .size = sizeof(ro), .stag = &stag };
	struct worker w[ENGINES] = { 0 };
	struct peer peers[PEERS];
	struct xiw_group *g = make_group();
	struct xiw_group_region *r;

	struct sockaddr_in addr;
	struct xiw_group_listener *l = listen_at(g, &addr);

	start(w, g);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		const unsigned int before = written(w);

		CHECK(!xiw_group_region_register(g, memory, sizeof(memory), &ro, &r));
		CHECK(xiw_group_region_stag(r) == STAG);
		begin(peers, &addr);
		while (written(w) < before + PEERS + round)
			usleep(1000);
		if (round % 2)
			CHECK(!xiw_group_region_set_access(r, XIW_ACCESS_NONE));
		else
			xiw_group_region_free(r);
		memset(memory, OWN, sizeof(memory));
		await(peers);
		for (unsigned int i = 0; i < sizeof(memory); i++)
			CHECK(memory[i] == OWN, "octet %u", i);
		if (round % 2)
			xiw_group_region_free(r);
	}
	while (w[0].closed + w[1].closed < ROUNDS * PEERS)
		usleep(1000);
	CHECK(w[0].accepted && w[1].accepted); /* by their hash, as lo has no queues */
	xiw_group_listener_free(l);
	CHECK(xiw_group_destroy(g) == -EEXIST);
	stop(w);
	CHECK(!xiw_group_destroy(g));
	printf("PASS region freed under traffic\n");
}

static void *see_it_end(void *group)
{
	while (xiw_group_engine(group, 0))
		usleep(100);
	return NULL;
}

/* Regions and engines may end in any order, also while other threads use the group. */
static void engine_ended(void)
{
	static uint8_t memory[SIZE];
	pthread_t other;
	struct worker w[ENGINES] = { 0 };
	struct xiw_group *g = make_group();
	struct xiw_group_region *r[3];

	start(w, g);
	CHECK(!xiw_group_region_register(g, memory, SIZE, NULL, &r[0]));
	w[0].leave = true;
	pthread_join(w[0].thread, NULL);
	CHECK(!pthread_create(&other, NULL, see_it_end, g));
	CHECK(!xiw_engine_destroy(w[0].engine));
	pthread_join(other, NULL);
	CHECK(!xiw_group_engine(g, 0) && xiw_group_engine(g, 1) == w[1].engine);
	CHECK(!xiw_group_region_register(g, memory, SIZE, NULL, &r[1]));
	CHECK(!xiw_group_region_set_access(r[0], XIW_ACCESS_READ));
	xiw_group_region_free(r[0]);
	w[1].leave = true;
	pthread_join(w[1].thread, NULL);
	CHECK(!xiw_engine_destroy(w[1].engine));
	CHECK(xiw_group_region_register(g, memory, SIZE, NULL, &r[2]) == -ESHUTDOWN);
	CHECK(!xiw_group_destroy(g));
	CHECK(xiw_group_region_set_access(r[1], XIW_ACCESS_READ) == -ENOENT);
	xiw_group_region_free(r[1]);
	printf("PASS engine ended\n");
}

/* How many connections wait to be accepted, at all sockets of the listener's address. */
static unsigned int backlog(const struct sockaddr_in *addr)
{
	char line[256], want[16];
	unsigned int n = 0;
	FILE *f = fopen("/proc/self/net/tcp", "r");

	CHECK(f);
	snprintf(want, sizeof(want), ":%04X ", ntohs(addr->sin_port));
	while (fgets(line, sizeof(line), f)) {
		char *local = strstr(line, want);

		n += local && local < line + 20 && strstr(line, " 01 ") != NULL;
	}
	fclose(f);
	return n;
}

/*
 * Engine 0 ends twice: in one group before it has accepted what waits for it, in another one after it has run. Engine 1
 * gets all that waits, and all that comes.
 */
static void listener_goes_on(bool ran)
{
	static uint8_t memory[PEERS * SIZE];
	const uint32_t stag = STAG;
	struct xiw_region_opts ro = { .size = sizeof(ro), .stag = &stag };
	struct worker w[ENGINES] = { 0 };
	struct peer peers[PEERS];
	struct xiw_group *g = make_group(), *other = make_group();
	struct xiw_group_listener *l, *l2;
	struct xiw_group_region *r;
	struct sockaddr_in addr;
	struct xiw_listener *single;
	unsigned int before;

	l = listen_at(g, &addr);
	CHECK(xiw_group_listen(other, (struct sockaddr *)&addr, sizeof(addr), &conn_opts, &l2) ==
	      -EADDRINUSE);
	CHECK(xiw_listen(xiw_group_engine(other, 0), (struct sockaddr *)&addr, sizeof(addr),
			 &conn_opts, &single) == -EADDRINUSE);
	CHECK(!xiw_group_region_register(g, memory, sizeof(memory), &ro, &r));
	if (ran)
		start(w, g);
	begin(peers, &addr);
	while (ran ? w[0].connected + w[1].connected < PEERS : backlog(&addr) < PEERS)
		usleep(1000);
	if (ran) {
		w[0].leave = true;
		pthread_join(w[0].thread, NULL);
	}
	CHECK(!xiw_engine_destroy(xiw_group_engine(g, 0)));
	if (!ran) {
		w[1].engine = xiw_group_engine(g, 1);
		CHECK(!pthread_create(&w[1].thread, NULL, work, &w[1]));
		while (w[1].accepted < PEERS)
			usleep(1000);
	}
	xiw_group_region_free(r);
	await(peers);
	CHECK(!xiw_group_region_register(g, memory, sizeof(memory), &ro, &r));
	before = w[1].accepted;
	begin(peers, &addr);
	while (w[1].accepted < before + PEERS)
		usleep(1000);
	xiw_group_region_free(r);
	await(peers);
	w[1].leave = true;
	pthread_join(w[1].thread, NULL);
	CHECK(!xiw_group_destroy(g));
	xiw_group_listener_free(l);
	/* The address is free. */
	CHECK(!xiw_group_listen(other, (struct sockaddr *)&addr, sizeof(addr), &conn_opts, &l2));
	xiw_group_listener_free(l2);
	CHECK(!xiw_group_destroy(other));
	printf("PASS listener goes on without an engine that %s\n", ran ? "ran" : "never ran");
}

struct freeing {
	struct xiw_call call;
	struct xiw_group_region *region;
};

static void free_region(struct xiw_engine *e, struct xiw_call *call, int status)
{
	struct freeing *f = (void *)((char *)call - offsetof(struct freeing, call));

	CHECK(e && !status);
	xiw_group_region_free(f->region);
	f->region = NULL;
}

/* One thread runs all engines, and frees regions between their turns and in a function that an engine calls. */
static void one_thread(bool called)
{
	static uint8_t memory[PEERS * SIZE];
	const uint32_t stag = STAG;
	struct xiw_region_opts ro = { .size = sizeof(ro), .stag = &stag };
	struct worker w[ENGINES] = { 0 };
	struct peer peers[PEERS];
	struct freeing f = { .call.run = free_region };
	struct xiw_group *g = make_group();
	struct xiw_completion c;
	struct sockaddr_in addr;
	struct xiw_group_listener *l = listen_at(g, &addr);
	bool asked = false;

	CHECK(!xiw_group_region_register(g, memory, sizeof(memory), &ro, &f.region));
	begin(peers, &addr);
	for (unsigned int i = 0; w[0].closed + w[1].closed < PEERS; i = (i + 1) % ENGINES) {
		CHECK(xiw_engine_run(xiw_group_engine(g, i), 1) >= 0);
		while (xiw_engine_next(xiw_group_engine(g, i), &c))
			take(&w[i], &c);
		if (asked || written(w) < 100)
			continue;
		asked = true;
		if (called)
			CHECK(!xiw_engine_call(xiw_group_engine(g, 1), &f.call));
		else
			free_region(xiw_group_engine(g, 1), &f.call, 0);
	}
	CHECK(!f.region);
	xiw_group_listener_free(l);
	CHECK(!xiw_group_destroy(g));
	await(peers);
	printf("PASS one thread%s\n", called ? ", freed in a call" : "");
}

/* Counts the Requests with the Private Data of the options, and with others, until all connections have closed. */
static void *answer(void *arg)
{
	struct worker *w = arg;
	struct xiw_completion c;

	while (w->closed < w->accepted || w->accepted < CONNECTS) {
		CHECK(xiw_engine_run(w->engine, WAIT_MS) >= 0);
		while (xiw_engine_next(w->engine, &c)) {
			size_t len;
			const void *pd;

			if (c.event == XIW_EV_REQUEST) {
				pd = xiw_conn_private_data(c.conn, &len);
				CHECK(len == 4 &&
				      (!memcmp(pd, "opts", 4) || !memcmp(pd, "late", 4)));
				w->arrived += !memcmp(pd, "late", 4);
			}
			take(w, &c);
			if (c.event == XIW_EV_CONNECTED)
				xiw_conn_close(c.conn);
		}
	}
	return NULL;
}

/* Engines take turns in connecting, as lo has no queues. One of them reports the peer that does not listen. */
static void connects(void)
{
	struct xiw_conn_opts o = { .size = sizeof(o),
				   .private_data = "opts",
				   .private_data_len = 4 };
	struct worker w[ENGINES] = { 0 }, peer = { 0 };
	struct xiw_group *g = make_group();
	struct sockaddr_storage bound;
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct xiw_listener *l;
	socklen_t len;

	CHECK(!xiw_engine_create(NULL, &peer.engine));
	CHECK(!xiw_listen(peer.engine, (struct sockaddr *)&addr, sizeof(addr), NULL, &l));
	CHECK(!xiw_listener_addr(l, &bound, &len));
	CHECK(!pthread_create(&peer.thread, NULL, answer, &peer));
	CHECK(!xiw_group_connect(g, (struct sockaddr *)&bound, len, &o)); /* nobody runs it yet */
	start(w, g);
	for (unsigned int i = 1; i < CONNECTS; i++)
		CHECK(!xiw_group_connect(g, (struct sockaddr *)&bound, len, &o));
	o.user_data = 7;
	addr.sin_port = htons(1);
	CHECK(!xiw_group_connect(g, (struct sockaddr *)&addr, sizeof(addr), &o));
	pthread_join(peer.thread, NULL);
	while (w[0].closed + w[1].closed < CONNECTS + 1)
		usleep(1000);
	CHECK(w[0].arrived >= CONNECTS / 2 - 1 && w[1].arrived >= CONNECTS / 2 - 1);
	CHECK(w[0].connected + w[1].connected == CONNECTS);
	CHECK(w[0].refused + w[1].refused == 1);
	CHECK(peer.arrived == w[0].arrived / 2 + w[1].arrived / 2);
	/* Connections that nobody will hear of end with their engines. */
	for (unsigned int i = 0; i < CONNECTS; i++)
		CHECK(!xiw_group_connect(g, (struct sockaddr *)&bound, len, &o));
	stop(w);
	CHECK(!xiw_group_destroy(g));
	CHECK(!xiw_engine_destroy(peer.engine));
	printf("PASS connects\n");
}

int main(void)
{
	memset(octets, WRITTEN, SIZE);
	region_freed();
	engine_ended();
	listener_goes_on(false);
	listener_goes_on(true);
	connects();
	one_thread(false);
	one_thread(true);
	return 0;
}
