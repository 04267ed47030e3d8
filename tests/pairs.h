/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pairs of threads of which one asks and the other answers, over lo, by the objects of user/host. For one program. */
#ifndef XIW_TESTS_PAIRS_H
#define XIW_TESTS_PAIRS_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "host/host.h"
#include "tests/fuzz/fuzz.h"

#define PAIRS 3u
#define BUFFERS 4u
#define TRIPS 1500u

typedef int (*wait_fn)(struct xiw_host_eq *eq, struct xiw_host_event *event);

struct end {
	struct xiw_host_eq *told;
	struct xiw_host_cq *cq;
	struct xiw_host_qp *qp;
	uint64_t came[BUFFERS], sent;
	wait_fn wait;
	pthread_t thread;
};

/* The second answers what the first sends. */
static struct end ends[PAIRS][2];
static struct xiw_host_eq *eq;
static struct xiw_host_listener *listener;
static atomic_uint interrupted; /* waits, by signals */

static inline int waits(struct xiw_host_eq *q, struct xiw_host_event *event)
{
	return xiw_host_eq_wait(q, event, -1);
}

/* ---- connections ---------------------------------------------------------------------------------- */

static inline void post_buffer(struct end *e, uint64_t i)
{
	const struct xiw_host_sge sge = { &e->came[i], sizeof(e->came[i]), 0 };
	const struct xiw_host_recv recv = { .wr_id = i, .sge = &sge, .sge_count = 1 };

	CHECK(!xiw_host_post_recv(e->qp, &recv, 1, NULL));
}

static inline void make(struct end *e)
{
	struct xiw_host_qp_opts qo = { .send_depth = 8,
				       .recv_depth = BUFFERS,
				       .send_sge = 1,
				       .recv_sge = 1,
				       .unchecked = true };

	CHECK(!xiw_host_eq_create(&e->told) && !xiw_host_cq_create(e->told, e, &e->cq));
	qo.send_cq = qo.recv_cq = e->cq;
	CHECK(!xiw_host_qp_create(&qo, &e->qp));
	for (uint64_t i = 0; i < BUFFERS; i++)
		post_buffer(e, i);
}

static inline void join(struct end *pair)
{
	const struct xiw_host_conn_opts co = { .eq = eq };
	struct sockaddr_storage at;
	struct xiw_host_event ev;
	socklen_t at_len;

	make(&pair[0]);
	make(&pair[1]);
	CHECK(!xiw_host_listener_addr(listener, &at, &at_len));
	CHECK(!xiw_host_connect(pair[0].qp, (void *)&at, at_len, NULL, 0, &co));
	for (unsigned int established = 0; established < 2;) {
		CHECK(xiw_host_eq_wait(eq, &ev, 20000) == 1);
		if (ev.kind == XIW_HOST_REQUEST)
			CHECK(!xiw_host_accept(ev.request, pair[1].qp, &co));
		else
			CHECK(ev.kind == XIW_HOST_ESTABLISHED && ++established);
	}
}

static inline void start(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };

	setenv("XIWARP_PATH", "kernel", 1);
	setenv("XIWARP_ENGINES", "1", 1);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(!xiw_host_eq_create(&eq));
	CHECK(!xiw_host_bind((void *)&addr, sizeof(addr), XIW_HOST_V6ONLY_DEFAULT, eq, NULL,
			     &listener));
	CHECK(!xiw_host_listen(listener, 0));
	for (unsigned int i = 0; i < PAIRS; i++)
		join(ends[i]);
}

static inline void stop(void)
{
	for (unsigned int i = 0; i < PAIRS; i++)
		for (unsigned int k = 0; k < 2; k++) {
			CHECK(!xiw_host_qp_free(ends[i][k].qp));
			CHECK(!xiw_host_cq_free(ends[i][k].cq));
			CHECK(!xiw_host_eq_free(ends[i][k].told));
		}
	CHECK(!xiw_host_listener_free(listener) && !xiw_host_eq_free(eq));
}

/* ---- messages ------------------------------------------------------------------------------------- */

static inline void say(struct end *e, uint64_t number)
{
	const struct xiw_host_sge sge = { &e->sent, sizeof(e->sent), 0 };
	const struct xiw_host_wr wr = { .kind = XIW_RDMA_SEND, .sge = &sge, .sge_count = 1 };

	e->sent = number;
	CHECK(!xiw_host_post_send(e->qp, &wr, 1, NULL));
}

/* Takes a message that is there. */
static inline bool heard(struct end *e, uint64_t *number)
{
	struct xiw_host_wc wc;

	if (!xiw_host_cq_poll(e->cq, &wc, 1))
		return false;
	CHECK(wc.cause == XIW_CAUSE_NONE && wc.op == XIW_OPERATION_RECV);
	*number = e->came[wc.wr_id];
	post_buffer(e, wc.wr_id);
	return true;
}

static inline uint64_t hear(struct end *e)
{
	struct xiw_host_event ev;
	uint64_t number;
	int rc;

	while (true) {
		CHECK(!xiw_host_cq_arm(e->cq, false));
		if (heard(e, &number))
			return number;
		rc = e->wait(e->told, &ev);
		CHECK(rc == 1 || rc == -EINTR, "%d", rc);
		interrupted += rc == -EINTR;
	}
}

static inline void *answers(void *arg)
{
	struct end *e = arg;

	for (uint64_t number; (number = hear(e));)
		say(e, number + 1);
	return NULL;
}

static inline void there_and_back(struct end *e, unsigned int trips)
{
	for (uint64_t i = 1; i <= trips; i++) {
		say(e, 2 * i);
		CHECK(hear(e) == 2 * i + 1);
	}
}

static inline void *asks(void *arg)
{
	there_and_back(arg, TRIPS);
	say(arg, 0);
	return NULL;
}

static inline void begin(struct end *e, void *(*run)(void *), wait_fn wait)
{
	e->wait = wait;
	CHECK(!pthread_create(&e->thread, NULL, run, e));
}

#endif
