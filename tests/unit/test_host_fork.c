// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A child of fork() uses the host layer itself, whatever threads of its parent were doing with it. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/host.h"

/* Both ends of a connection. */
struct pair {
	struct xiw_host_eq *eq;
	struct xiw_host_cq *cq;
	struct xiw_host_listener *listener;
	struct xiw_host_qp *asks, *answers;
	struct sockaddr_storage at;
	socklen_t at_len;
};

static void take(struct pair *p, struct xiw_host_event *event, enum xiw_host_event_kind kind)
{
	cr_assert_eq(xiw_host_eq_wait(p->eq, event, 20000), 1);
	cr_assert_eq(event->kind, kind);
}

static void open_pair(struct pair *p)
{
	const struct sockaddr_in addr = { .sin_family = AF_INET,
					  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct xiw_host_qp_opts qo = {
		.send_depth = 1, .recv_depth = 1, .send_sge = 1, .recv_sge = 1
	};
	struct xiw_host_conn_opts co = {};
	struct xiw_host_event ev;

	cr_assert(!xiw_host_eq_create(&p->eq) && !xiw_host_cq_create(NULL, NULL, &p->cq));
	co.eq = p->eq;
	qo.send_cq = qo.recv_cq = p->cq;
	cr_assert(!xiw_host_qp_create(&qo, &p->asks) && !xiw_host_qp_create(&qo, &p->answers));
	cr_assert(!xiw_host_bind((const void *)&addr, sizeof(addr), XIW_HOST_V6ONLY_DEFAULT, p->eq,
				 NULL, &p->listener));
	cr_assert(!xiw_host_listener_addr(p->listener, &p->at, &p->at_len));
	cr_assert(!xiw_host_listen(p->listener, 0));
	cr_assert(!xiw_host_connect(p->asks, (void *)&p->at, p->at_len, NULL, 0, &co));
	take(p, &ev, XIW_HOST_REQUEST);
	cr_assert(!xiw_host_accept(ev.request, p->answers, &co));
	take(p, &ev, XIW_HOST_ESTABLISHED);
	take(p, &ev, XIW_HOST_ESTABLISHED);
}

static void close_pair(struct pair *p)
{
	cr_assert(!xiw_host_qp_free(p->asks) && !xiw_host_qp_free(p->answers));
	cr_assert(!xiw_host_listener_free(p->listener) && !xiw_host_cq_free(p->cq));
	cr_assert(!xiw_host_eq_free(p->eq));
}

static void *frees(void *qp)
{
	cr_assert(!xiw_host_qp_free(qp));
	return NULL;
}

static void dead_names(const struct pair *parents)
{
	const struct sockaddr_in addr = { .sin_family = AF_INET,
					  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct xiw_host_conn_opts co = { .eq = parents->eq };
	struct xiw_host_srq_opts so = { .depth = 1, .sge = 1, .eq = parents->eq };
	struct xiw_host_qp_opts qo = {
		.send_depth = 1, .recv_depth = 1, .send_sge = 1, .recv_sge = 1
	};
	struct xiw_host_listener *listener;
	struct xiw_host_srq *srq;
	struct xiw_host_cq *cq;
	struct xiw_host_qp *qp;

	cr_assert_eq(xiw_host_cq_create(parents->eq, NULL, &cq), -ECANCELED);
	cr_assert_eq(xiw_host_srq_create(&so, &srq), -ECANCELED);
	cr_assert_eq(xiw_host_bind((const void *)&addr, sizeof(addr), XIW_HOST_V6ONLY_DEFAULT,
				   parents->eq, NULL, &listener),
		     -ECANCELED);
	qo.send_cq = qo.recv_cq = parents->cq;
	cr_assert_eq(xiw_host_qp_create(&qo, &qp), -ECANCELED);
	cr_assert(!xiw_host_cq_create(NULL, NULL, &cq));
	qo.send_cq = qo.recv_cq = cq;
	qo.eq = parents->eq;
	cr_assert_eq(xiw_host_qp_create(&qo, &qp), -ECANCELED);
	qo.eq = NULL;
	cr_assert(!xiw_host_qp_create(&qo, &qp));
	cr_assert_eq(xiw_host_connect(qp, (const void *)&parents->at, parents->at_len, NULL, 0,
				      &co),
		     -ECANCELED);
	cr_assert(!xiw_host_qp_free(qp) && !xiw_host_cq_free(cq));
}

/* Otherwise the parent's descriptor would tell the parent of events of the child. */
Test(host_fork, nothing_new_names_what_is_dead, .timeout = 60)
{
	struct pair parents;
	int status;
	pid_t child;

	setenv("XIWARP_PATH", "kernel", 1);
	open_pair(&parents);
	child = fork();
	if (!child) {
		dead_names(&parents);
		_exit(0);
	}
	cr_assert(waitpid(child, &status, 0) == child && !status, "%#x", status);
	close_pair(&parents);
}

/* The peer has no buffer for a Send, so its sender waits for the end of the connection when the program forks. */
Test(host_fork, while_a_thread_waits, .timeout = 60)
{
	const struct xiw_host_wr wr = { .kind = XIW_RDMA_SEND };
	struct pair parents, own;
	pthread_t thread;
	int status;
	pid_t child;

	setenv("XIWARP_PATH", "kernel", 1);
	open_pair(&parents);
	cr_assert(!xiw_host_post_send(parents.asks, &wr, 1, NULL));
	cr_assert(!pthread_create(&thread, NULL, frees, parents.asks));
	usleep(200000);
	child = fork();
	if (!child) {
		alarm(20);
		for (int i = 0; i < 4; i++) {
			open_pair(&own);
			close_pair(&own);
		}
		_exit(0);
	}
	cr_assert(waitpid(child, &status, 0) == child && !status, "%#x", status);
	pthread_join(thread, NULL);
	parents.asks = NULL;
	close_pair(&parents);
}
