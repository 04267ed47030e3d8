// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How requests of the host layer are answered, on two engines over lo. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/host.h"
#include "tests/fuzz/fuzz.h"

/* A request that a QP cannot take can be refused instead. */
static void answered_again(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct xiw_host_qp_opts qo = {
		.send_depth = 1, .recv_depth = 1, .send_sge = 1, .recv_sge = 1
	};
	struct xiw_host_conn_opts co = { 0 };
	struct xiw_host_listener *listener;
	struct xiw_host_qp *qps[3];
	struct sockaddr_storage at;
	struct xiw_host_event ev;
	socklen_t at_len;
	unsigned int requests = 0, established = 0, refused = 0;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(!xiw_host_eq_create(&co.eq));
	CHECK(!xiw_host_cq_create(NULL, NULL, &qo.send_cq));
	qo.recv_cq = qo.send_cq;
	for (unsigned int i = 0; i < 3; i++)
		CHECK(!xiw_host_qp_create(&qo, &qps[i]));
	CHECK(!xiw_host_bind((void *)&addr, sizeof(addr), XIW_HOST_V6ONLY_DEFAULT, co.eq, NULL,
			     &listener));
	CHECK(!xiw_host_listener_addr(listener, &at, &at_len));
	CHECK(!xiw_host_listen(listener, 0));
	for (unsigned int i = 1; i < 3; i++)
		CHECK(!xiw_host_connect(qps[i], (void *)&at, at_len, NULL, 0, &co));
	while (established < 2 || !refused) {
		CHECK(xiw_host_eq_wait(co.eq, &ev, 20000) == 1);
		established += ev.kind == XIW_HOST_ESTABLISHED;
		refused += ev.kind == XIW_HOST_REFUSED;
		if (ev.kind != XIW_HOST_REQUEST)
			continue;
		if (!requests++) {
			CHECK(!xiw_host_accept(ev.request, qps[0], &co));
			continue;
		}
		CHECK(xiw_host_accept(ev.request, qps[0], &co) == -EISCONN);
		CHECK(!xiw_host_reject(ev.request, NULL, 0));
	}
	CHECK(requests == 2 && refused == 1);
	for (unsigned int i = 0; i < 3; i++)
		CHECK(!xiw_host_qp_free(qps[i]));
	CHECK(!xiw_host_listener_free(listener) && !xiw_host_cq_free(qo.send_cq));
	CHECK(!xiw_host_eq_free(co.eq));
	printf("PASS answered-again\n");
	fflush(stdout);
}

#define CALLERS 4u
#define CALLS 60u

/* Its QPs are freed while the peer's TCP, where nobody listens, is asked again and again. */
static void *gives_up(void *listener)
{
	struct xiw_host_qp_opts qo = {
		.send_depth = 1, .recv_depth = 1, .send_sge = 1, .recv_sge = 1
	};
	struct xiw_host_conn_opts co = { 0 };
	struct sockaddr_storage at;
	struct xiw_host_event ev;
	struct xiw_host_qp *qp;
	socklen_t at_len;

	CHECK(!xiw_host_listener_addr(listener, &at, &at_len));
	CHECK(!xiw_host_eq_create(&co.eq));
	CHECK(!xiw_host_cq_create(NULL, NULL, &qo.send_cq));
	qo.recv_cq = qo.send_cq;
	for (unsigned int i = 0; i < CALLS; i++) {
		CHECK(!xiw_host_qp_create(&qo, &qp));
		CHECK(!xiw_host_connect(qp, (void *)&at, at_len, NULL, 0, &co));
		usleep(i * 977 % 25000);
		CHECK(!xiw_host_qp_free(qp));
		CHECK(xiw_host_eq_take(co.eq, &ev) == 1 && ev.kind == XIW_HOST_FAILED);
		CHECK(ev.status == -ECANCELED || ev.status == -ECONNREFUSED, "%d", ev.status);
	}
	CHECK(!xiw_host_cq_free(qo.send_cq) && !xiw_host_eq_free(co.eq));
	return NULL;
}

static void given_up(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct xiw_host_listener *listener;
	struct xiw_host_eq *eq;
	pthread_t callers[CALLERS];

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(!xiw_host_eq_create(&eq));
	CHECK(!xiw_host_bind((void *)&addr, sizeof(addr), XIW_HOST_V6ONLY_DEFAULT, eq, NULL,
			     &listener));
	for (unsigned int i = 0; i < CALLERS; i++)
		CHECK(!pthread_create(&callers[i], NULL, gives_up, listener));
	for (unsigned int i = 0; i < CALLERS; i++)
		pthread_join(callers[i], NULL);
	CHECK(!xiw_host_listener_free(listener) && !xiw_host_eq_free(eq));
	printf("PASS given-up\n");
	fflush(stdout);
}

int main(void)
{
	setenv("XIWARP_PATH", "kernel", 1);
	setenv("XIWARP_ENGINES", "2", 1);
	answered_again();
	given_up();
	return 0;
}
