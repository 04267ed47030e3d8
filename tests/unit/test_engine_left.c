// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What remains of an engine after its thread has ended, or in a child after a fork. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "core/engine.h"

#define MESSAGE (1u << 20)
#define REQUEST 20 /* octets of an MPA Request or Reply without Private Data */

static struct xiw_engine *e;

static void setup(void)
{
	const struct xiw_engine_opts o = { .size = sizeof(o), .path = XIW_USE_KERNEL };

	cr_assert_eq(xiw_engine_create(&o, &e), 0);
}

TestSuite(engine_left, .init = setup);

static int any_port(struct sockaddr_in *addr)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(*addr);

	*addr = (struct sockaddr_in){ .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	cr_assert_eq(bind(fd, (struct sockaddr *)addr, len), 0);
	cr_assert_eq(listen(fd, 1), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)addr, &len), 0);
	return fd;
}

/* A Responder that accepts and then reads nothing. */
static int answer(int listener)
{
	uint8_t request[REQUEST], reply[REQUEST] = "MPA ID Rep Frame";
	int fd = accept(listener, NULL, NULL);

	reply[16] = 0x40; /* C */
	reply[17] = 1;
	cr_assert_eq(recv(fd, request, sizeof(request), MSG_WAITALL), REQUEST);
	cr_assert_eq(send(fd, reply, sizeof(reply), 0), REQUEST);
	return fd;
}

/* Returns non-NULL once octets certainly wait for room in the socket. */
static void *send_until_full(void *conn)
{
	static uint8_t buf[MESSAGE];
	const struct xiw_message m = { .buf = buf, .len = sizeof(buf) };
	struct xiw_conn *c = conn;
	int still = 0;

	for (int i = 0; i < 5000 && still < 50; i++) {
		if (xiw_engine_run(e, 1) < 0)
			return NULL;
		while (c->state == XIW_OPEN && !xiw_conn_send(c, &m))
			;
		still = c->send.busy && c->send.stage ? still + 1 : 0;
	}
	return still == 50 ? c : NULL;
}

/* The kernel no longer uses what was being sent, so the connection frees it. */
Test(engine_left, what_was_being_sent_when_the_thread_ended)
{
	const struct xiw_conn_opts o = { .size = sizeof(o) };
	struct sockaddr_in addr;
	int listener = any_port(&addr), peer;
	struct xiw_conn *c;
	pthread_t thread;
	void *waits;

	cr_assert_eq(xiw_connect(e, (struct sockaddr *)&addr, sizeof(addr), &o, &c), 0);
	cr_assert_eq(pthread_create(&thread, NULL, send_until_full, c), 0);
	peer = answer(listener);
	cr_assert_eq(pthread_join(thread, &waits), 0);
	cr_assert_not_null(waits);
	cr_assert_eq(xiw_engine_destroy(e), 0);
	cr_expect_null(c->send.stage);
	xiw_conn_free(c);
	close(peer);
	close(listener);
}

/* Also a connection that io_uring still uses. */
Test(engine_left, a_closed_listener_in_a_child)
{
	const struct xiw_conn_opts o = { .size = sizeof(o) };
	struct xiw_listener *l;
	struct sockaddr_in addr;
	int fd, status;
	pid_t pid;

	close(any_port(&addr));
	cr_assert_eq(xiw_listen(e, (struct sockaddr *)&addr, sizeof(addr), &o, &l), 0);
	cr_assert_geq(xiw_engine_run(e, 1), 0);
	cr_assert(l->armed);
	xiw_listener_free(l);
	fd = l->fd;
	cr_assert(e->closed_listeners == l && fd >= 0);
	pid = fork();
	if (!pid)
		_exit(fcntl(fd, F_GETFD) != -1 || errno != EBADF);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0);
	cr_assert_eq(xiw_engine_destroy(e), 0);
}

/* Another thread, or what an engine that ends runs last, may make a child before all descriptors are closed. */
struct last {
	struct xiw_call call;
	int fds[3];
	int kept; /* by the child; -1: there was none */
};

static void make_a_child(struct xiw_engine *engine, struct xiw_call *call, int status)
{
	struct last *last = (struct last *)call;
	int kept = 0;
	pid_t pid;

	cr_assert_eq(engine, e);
	cr_assert_eq(status, -ECANCELED);
	pid = fork();
	for (int i = 0; !pid && i < 3; i++)
		kept += fcntl(last->fds[i], F_GETFD) != -1 || errno != EBADF;
	if (!pid)
		_exit(kept);
	cr_assert_eq(waitpid(pid, &kept, 0), pid);
	last->kept = kept;
}

Test(engine_left, in_a_child_that_is_made_while_it_ends)
{
	struct last last = { .call.run = make_a_child, .kept = -1 };
	const struct xiw_conn_opts o = { .size = sizeof(o) };
	struct xiw_listener *l;
	struct sockaddr_in addr;

	close(any_port(&addr));
	cr_assert_eq(xiw_listen(e, (struct sockaddr *)&addr, sizeof(addr), &o, &l), 0);
	cr_assert_geq(xiw_engine_run(e, 1), 0);
	last.fds[0] = l->fd;
	last.fds[1] = e->io.ring.ring_fd;
	last.fds[2] = e->inbox.fd;
	cr_assert_eq(xiw_engine_call(e, &last.call), 0);
	cr_assert_eq(xiw_engine_destroy(e), 0);
	cr_expect_eq(last.kept, 0);
	xiw_listener_free(l);
}

/* The first receive in pieces takes memory from an engine, and there is none any more. */
Test(engine_left, a_receive_in_pieces_without_an_engine)
{
	const struct xiw_conn_opts o = { .size = sizeof(o), .queues = 3 };
	uint8_t octets[2];
	const struct iovec iov[2] = { { octets, 1 }, { octets + 1, 1 } };
	const struct xiw_rdma_recv recv = { .size = sizeof(recv), .iov = iov, .iov_count = 2 };
	struct sockaddr_in addr;
	int listener = any_port(&addr);
	struct xiw_rdma *rdma;
	struct xiw_conn *c;

	cr_assert_eq(xiw_connect(e, (struct sockaddr *)&addr, sizeof(addr), &o, &c), 0);
	cr_assert_eq(xiw_rdma_attach(c, NULL, &rdma), 0);
	cr_assert_eq(xiw_engine_destroy(e), 0);
	cr_expect_eq(xiw_rdma_post_recv_many(rdma, &recv, 1, NULL), -ESHUTDOWN);
	xiw_conn_free(c);
	close(listener);
}
