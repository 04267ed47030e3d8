// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The objects that other interfaces to the library are made of, used by many threads at a time, on two engines: threads
 * connect, post, poll and free, and all octets are checked.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/host.h"
#include "tests/fuzz/fuzz.h"

#define CLIENTS 6
#define MESSAGES 400u
#define CHAIN 8u
#define SIZE 512u
#define BUFFERS 64u
#define BULK (64u << 10)
#define HURRIES 60u
#define MOVERS 8u

struct head {
	uint32_t client, number;
};

/* What the server tells in its Private Data. */
struct place {
	uint64_t to;
	uint32_t stag;
};

static struct sockaddr_storage at;
static socklen_t at_len;

/* ---- the server: one CQ that two threads poll, and one event thread ---------------------------------------- */

static struct {
	struct xiw_host_eq *eq;
	struct xiw_host_cq *cq;
	struct xiw_host_srq *srq;
	struct xiw_host_listener *listener;
	struct xiw_host_mr *mr, *bulk_mr;
	uint32_t pd;
	uint8_t *bufs, *bulk;
	pthread_t threads[3];
	bool hurry;	    /* clients end at any moment */
	bool keeps;	    /* buffers are not posted again */
	struct peer *peers; /* completions may name one until nobody polls */
} s;

/* A connection of the server. It is its own context. */
struct peer {
	struct xiw_host_qp *qp;
	atomic_uint seen; /* messages */
	struct peer *next;
};

static atomic_uint received;
static atomic_bool over;

static void post_buffer(struct peer *p, uint64_t i)
{
	const struct xiw_host_sge sge = { s.bufs + i * SIZE, SIZE, xiw_host_mr_stag(s.mr) };
	const struct xiw_host_recv recv = { .wr_id = i, .sge = &sge, .sge_count = 1 };

	CHECK(!(p->qp && !s.srq ? xiw_host_post_recv(p->qp, &recv, 1, NULL)
				: xiw_host_srq_post(s.srq, &recv, 1, NULL)));
}

static void check_message(const struct xiw_host_wc *wc)
{
	const uint8_t *buf = s.bufs + wc->wr_id * SIZE;
	struct head h;

	memcpy(&h, buf, sizeof(h));
	CHECK(wc->length >= sizeof(h) && wc->length <= SIZE);
	for (uint32_t i = sizeof(h); i < wc->length; i++)
		CHECK(buf[i] == fuzz_pattern(h.client * 7919ull + h.number + i), "%u", i);
	/* Two threads take completions of one CQ, so the order is not known here. */
	atomic_fetch_add(&received, 1);
}

static void *polls(void *arg)
{
	struct xiw_host_wc wc[16];

	(void)arg;
	while (!atomic_load(&over)) {
		int n = xiw_host_cq_poll(s.cq, wc, 16);

		for (int i = 0; i < n; i++) {
			if (wc[i].op != XIW_OPERATION_RECV || wc[i].cause != XIW_CAUSE_NONE)
				continue;
			check_message(&wc[i]);
			if (!s.keeps)
				post_buffer(wc[i].context, wc[i].wr_id);
			atomic_fetch_add(&((struct peer *)wc[i].context)->seen, 1);
		}
	}
	return NULL;
}

static void take_request(struct xiw_host_request *request, unsigned int n)
{
	const struct place place = { (uintptr_t)s.bulk, xiw_host_mr_stag(s.bulk_mr) };
	struct peer *p = calloc(1, sizeof(*p));
	struct xiw_host_qp_opts qo = {
		.pd = s.pd,
		.send_cq = s.cq,
		.recv_cq = s.cq,
		.srq = s.srq,
		.send_depth = 4,
		.recv_depth = BUFFERS,
		.send_sge = 1,
		.recv_sge = 1,
		.context = p,
	};
	struct xiw_host_conn_opts co = {
		.eq = s.eq,
		.context = p,
		.ird = 4,
		.private_data = &place,
		.private_len = sizeof(place),
	};

	CHECK(p);
	p->next = s.peers;
	s.peers = p;
	CHECK(!xiw_host_qp_create(&qo, &p->qp));
	for (uint64_t i = 0; i < BUFFERS && !s.srq; i++)
		post_buffer(p, n % CLIENTS * BUFFERS + i);
	CHECK(!xiw_host_accept(request, p->qp, &co));
}

static void *answers(void *arg)
{
	struct xiw_host_event ev;
	unsigned int n = 0, ended = 0;
	bool last = false;

	(void)arg;
	while (!last || ended < n) {
		CHECK(xiw_host_eq_wait(s.eq, &ev, -1) == 1);
		if (ev.kind == XIW_HOST_OTHER) {
			last = true;
		} else if (ev.kind == XIW_HOST_REQUEST) {
			take_request(ev.request, n++);
		} else if (ev.kind != XIW_HOST_ESTABLISHED) {
			struct peer *p = ev.context;

			/* With its QP the completions would go that are not polled. */
			while (!s.hurry && atomic_load(&p->seen) < MESSAGES)
				sched_yield();
			CHECK(!xiw_host_qp_free(p->qp));
			ended++;
		}
	}
	return NULL;
}

static void serve(unsigned int shared)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	const struct xiw_host_srq_opts so = { .depth = CLIENTS * BUFFERS, .sge = 1, .pd = 1000000 };
	const unsigned int rw = XIW_HOST_LOCAL_WRITE | XIW_HOST_REMOTE_WRITE | XIW_HOST_REMOTE_READ;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	atomic_store(&over, false);
	atomic_store(&received, 0);
	s.pd = so.pd;
	CHECK(s.bufs = calloc(CLIENTS * BUFFERS, SIZE));
	CHECK(s.bulk = calloc(CLIENTS, BULK));
	CHECK(!xiw_host_eq_create(&s.eq));
	CHECK(!xiw_host_cq_create(NULL, NULL, &s.cq));
	CHECK(!xiw_host_mr_register(s.pd, s.bufs, CLIENTS * BUFFERS * SIZE, (uintptr_t)s.bufs,
				    XIW_HOST_LOCAL_WRITE, &s.mr));
	CHECK(!xiw_host_mr_register(s.pd, s.bulk, CLIENTS * BULK, (uintptr_t)s.bulk, rw,
				    &s.bulk_mr));
	s.srq = NULL;
	if (shared) {
		struct peer none = { 0 };

		CHECK(!xiw_host_srq_create(&so, &s.srq));
		for (uint64_t i = 0; i < shared; i++)
			post_buffer(&none, i);
	}
	CHECK(!xiw_host_bind((void *)&addr, sizeof(addr), XIW_HOST_V6ONLY_DEFAULT, s.eq, NULL,
			     &s.listener));
	CHECK(!xiw_host_listener_addr(s.listener, &at, &at_len));
	CHECK(!xiw_host_listen(s.listener, 0));
	CHECK(!pthread_create(&s.threads[0], NULL, polls, NULL));
	CHECK(!pthread_create(&s.threads[1], NULL, polls, NULL));
	CHECK(!pthread_create(&s.threads[2], NULL, answers, NULL));
}

static void stop(void)
{
	const struct xiw_host_event last = { .kind = XIW_HOST_OTHER };

	CHECK(!xiw_host_listener_free(s.listener));
	xiw_host_eq_purge(s.eq, NULL);
	CHECK(!xiw_host_eq_post(s.eq, &last));
	pthread_join(s.threads[2], NULL);
	atomic_store(&over, true);
	pthread_join(s.threads[0], NULL);
	pthread_join(s.threads[1], NULL);
	CHECK(!xiw_host_srq_free(s.srq));
	CHECK(!xiw_host_cq_free(s.cq));
	CHECK(!xiw_host_mr_free(s.mr));
	CHECK(!xiw_host_mr_free(s.bulk_mr));
	CHECK(!xiw_host_eq_free(s.eq));
	while (s.peers) {
		struct peer *p = s.peers;

		s.peers = p->next;
		free(p);
	}
	free(s.bufs);
	free(s.bulk);
}

/* ---- clients --------------------------------------------------------------------------------------------------- */

struct client {
	uint32_t number, pd;
	struct xiw_host_qp *qp;
	struct xiw_host_eq *eq;
	struct xiw_host_mr *mr;
	uint8_t *mem;
	struct place place;
	atomic_uint done;
	pthread_t thread;
};

static struct xiw_host_cq *shared_cq; /* of all clients */

/* Any client takes completions of all. */
static void poll_shared(void)
{
	struct xiw_host_wc wc[4];
	int n = xiw_host_cq_poll(shared_cq, wc, 4);

	for (int i = 0; i < n; i++) {
		struct client *c = wc[i].context;

		CHECK(wc[i].cause == XIW_CAUSE_NONE, "%s", xiw_cause_name(wc[i].cause));
		atomic_fetch_add(&c->done, (unsigned int)wc[i].wr_id);
	}
}

static void open_client(struct client *c)
{
	const struct xiw_host_qp_opts qo = {
		.pd = c->pd,
		.send_cq = shared_cq,
		.recv_cq = shared_cq,
		.send_depth = 2 * CHAIN,
		.recv_depth = 1,
		.send_sge = 2,
		.recv_sge = 1,
		.inline_max = sizeof(struct head),
		.context = c,
	};
	const struct xiw_host_conn_opts co = { .eq = c->eq, .context = c, .ord = 4 };

	CHECK(!xiw_host_qp_create(&qo, &c->qp));
	CHECK(!xiw_host_connect(c->qp, (void *)&at, at_len, NULL, 0, &co));
}

static void wait_for(struct client *c, enum xiw_host_event_kind kind)
{
	struct xiw_host_event ev;

	CHECK(xiw_host_eq_wait(c->eq, &ev, 20000) == 1);
	CHECK(ev.kind == kind && ev.context == c, "%d %s", ev.kind, strerror(-ev.status));
	if (kind == XIW_HOST_ESTABLISHED) {
		CHECK(ev.private_len == sizeof(c->place));
		memcpy(&c->place, ev.private_data, sizeof(c->place));
	}
}

/* A chain of messages, of which the last one is told. */
static void send_chain(struct client *c, uint32_t first)
{
	struct xiw_host_wr wr[CHAIN] = { 0 };
	struct xiw_host_sge sge[CHAIN][2];

	for (uint32_t i = 0; i < CHAIN; i++) {
		uint8_t *buf = c->mem + (first + i) % (2 * CHAIN) * SIZE;
		const struct head h = { c->number, first + i };
		const uint32_t len = sizeof(h) + (first + i) * 13 % (SIZE - sizeof(h));

		memcpy(buf, &h, sizeof(h));
		for (uint32_t k = sizeof(h); k < len; k++)
			buf[k] = fuzz_pattern(h.client * 7919ull + h.number + k);
		sge[i][0] = (struct xiw_host_sge){ buf, 4, xiw_host_mr_stag(c->mr) };
		sge[i][1] = (struct xiw_host_sge){ buf + 4, len - 4, xiw_host_mr_stag(c->mr) };
		wr[i].kind = XIW_RDMA_SEND;
		wr[i].sge = sge[i];
		wr[i].sge_count = 2;
	}
	wr[CHAIN - 1].flags = XIW_HOST_SIGNALED;
	wr[CHAIN - 1].wr_id = CHAIN;
	CHECK(!xiw_host_post_send(c->qp, wr, CHAIN, NULL));
}

static void write_and_read(struct client *c)
{
	const uint32_t lkey = xiw_host_mr_stag(c->mr);
	const struct xiw_host_sge from = { c->mem, BULK, lkey }, to = { c->mem + BULK, BULK, lkey };
	struct xiw_host_wr wr[2] = {
		{ .kind = XIW_RDMA_WRITE, .sge = &from, .sge_count = 1 },
		{ .kind = XIW_RDMA_READ, .sge = &to, .sge_count = 1 },
	};

	for (uint32_t i = 0; i < BULK; i++)
		c->mem[i] = fuzz_pattern(c->number + i);
	memset(c->mem + BULK, 0, BULK);
	wr[0].stag = wr[1].stag = c->place.stag;
	wr[0].to = wr[1].to = c->place.to + c->number * BULK;
	wr[1].wr_id = 1;
	wr[1].flags = XIW_HOST_SIGNALED;
	atomic_store(&c->done, 0);
	CHECK(!xiw_host_post_send(c->qp, wr, 2, NULL));
	while (!atomic_load(&c->done))
		poll_shared();
	CHECK(!memcmp(c->mem, c->mem + BULK, BULK));
}

static void mistakes(struct client *c)
{
	struct xiw_host_sge sge = { c->mem, 8, xiw_host_mr_stag(c->mr) };
	struct xiw_host_wr wr = { .kind = XIW_RDMA_SEND, .sge = &sge, .sge_count = 3 };

	CHECK(xiw_host_post_send(c->qp, &wr, 1, NULL) == -EINVAL);
	wr.sge_count = 1;
	sge.lkey++;
	CHECK(xiw_host_post_send(c->qp, &wr, 1, NULL) == -EINVAL);
	sge.lkey = xiw_host_mr_stag(s.mr); /* of another domain */
	CHECK(xiw_host_post_send(c->qp, &wr, 1, NULL) == -EINVAL);
	sge.lkey = xiw_host_mr_stag(c->mr);
	sge.addr = c->mem + 2 * BULK - 7;
	CHECK(xiw_host_post_send(c->qp, &wr, 1, NULL) == -EINVAL);
	wr.kind = XIW_RDMA_IMMEDIATE;
	wr.sge_count = 0;
	CHECK(xiw_host_post_send(c->qp, &wr, 1, NULL) == -EOPNOTSUPP);
}

static void prepare_client(struct client *c)
{
	c->pd = xiw_host_pd();
	CHECK(c->mem = malloc(2 * BULK));
	CHECK(!xiw_host_eq_create(&c->eq));
	CHECK(!xiw_host_mr_register(c->pd, c->mem, 2 * BULK, (uintptr_t)c->mem,
				    XIW_HOST_LOCAL_WRITE, &c->mr));
}

static void release_client(struct client *c)
{
	CHECK(!xiw_host_mr_free(c->mr));
	CHECK(!xiw_host_eq_free(c->eq));
	free(c->mem);
}

static void *works(void *arg)
{
	struct client *c = arg;

	prepare_client(c);
	open_client(c);
	wait_for(c, XIW_HOST_ESTABLISHED);
	mistakes(c);
	for (uint32_t i = 0; i < MESSAGES; i += CHAIN) {
		send_chain(c, i);
		while (atomic_load(&c->done) + CHAIN < i + CHAIN)
			poll_shared();
	}
	while (atomic_load(&c->done) < MESSAGES)
		poll_shared();
	write_and_read(c);
	CHECK(!xiw_host_disconnect(c->qp));
	wait_for(c, XIW_HOST_DISCONNECTED);
	CHECK(!xiw_host_qp_free(c->qp));
	release_client(c);
	return NULL;
}

/* Frees its QP at any moment of a connection's life. */
static void *hurries(void *arg)
{
	struct client *c = arg;

	prepare_client(c);
	for (unsigned int i = 0; i < HURRIES; i++) {
		atomic_store(&c->done, 0);
		open_client(c);
		if (i % 4 == 1)
			usleep(i * 20);
		if (i % 4 >= 2)
			wait_for(c, XIW_HOST_ESTABLISHED);
		if (i % 4 == 3)
			send_chain(c, 0);
		CHECK(!xiw_host_qp_free(c->qp));
		xiw_host_eq_purge(c->eq, c);
	}
	release_client(c);
	return NULL;
}

/* shared: so many buffers, or 0: each connection has its own. */
static void run(const char *name, unsigned int shared, void *(*as)(void *))
{
	struct client c[CLIENTS] = { 0 };

	s.hurry = as == hurries;
	serve(shared);
	CHECK(!xiw_host_cq_create(NULL, NULL, &shared_cq));
	for (uint32_t i = 0; i < CLIENTS; i++) {
		c[i].number = i;
		CHECK(!pthread_create(&c[i].thread, NULL, as, &c[i]));
	}
	for (uint32_t i = 0; i < CLIENTS; i++)
		pthread_join(c[i].thread, NULL);
	CHECK(!xiw_host_cq_free(shared_cq));
	stop();
	if (as == works)
		CHECK(atomic_load(&received) == CLIENTS * MESSAGES, "%u", received);
	printf("PASS %s\n", name);
	fflush(stdout);
}

/* All send as many messages as they get buffers if these are shared fairly. */
static void send_all(struct client *c)
{
	for (uint32_t k = 0; k < CLIENTS * BUFFERS; k++) {
		struct client *from = &c[k % MOVERS];
		const struct xiw_host_sge sge = { from->mem, sizeof(struct head),
						  xiw_host_mr_stag(from->mr) };
		const struct xiw_host_wr wr = { .sge = &sge, .sge_count = 1 };

		while (xiw_host_post_send(from->qp, &wr, 1, NULL))
			sched_yield();
	}
}

/*
 * The first stream has its engine take all buffers of a shared queue. Then streams come to the other engine, and its
 * part of the buffers comes over when they need it, although nobody posts any.
 */
static void moves(void)
{
	struct client c[MOVERS] = { 0 };

	s.hurry = s.keeps = true;
	serve(CLIENTS * BUFFERS);
	CHECK(!xiw_host_cq_create(NULL, NULL, &shared_cq));
	for (uint32_t i = 0; i < MOVERS; i++) {
		prepare_client(&c[i]);
		memset(c[i].mem, 0, sizeof(struct head));
		open_client(&c[i]);
		wait_for(&c[i], XIW_HOST_ESTABLISHED);
	}
	send_all(c);
	while (atomic_load(&received) < CLIENTS * BUFFERS)
		sched_yield();
	for (uint32_t i = 0; i < MOVERS; i++) {
		CHECK(!xiw_host_qp_free(c[i].qp));
		xiw_host_eq_purge(c[i].eq, &c[i]);
		release_client(&c[i]);
	}
	CHECK(!xiw_host_cq_free(shared_cq));
	stop();
	printf("PASS moves\n");
}

int main(void)
{
	setenv("XIWARP_PATH", "kernel", 1);
	setenv("XIWARP_ENGINES", "2", 1);
	run("own-buffers", 0, works);
	run("shared-buffers", CLIENTS * BUFFERS, works);
	run("one-shared-buffer", 1, works); /* Sends of both engines wait for it */
	run("freed-at-any-moment", CLIENTS * BUFFERS, hurries);
	moves();
	return 0;
}
