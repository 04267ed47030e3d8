// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* RDMA streams over loopback whose operations must leave, although something is in their way for a moment. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/now.h"
#include "core/engine.h"
#include "mpa/startup.h"

#define FIRST_MS 400
#define BUFS 4

static struct xiw_engine *e;
static struct xiw_listener *listener;
static struct xiw_rdma *here[2]; /* Responders */
static uint8_t mem[2][BUFS][64];
static unsigned int accepted, up, received, ended;
static int status; /* of the last end */

static void take(const struct xiw_completion *c)
{
	const struct xiw_rdma_opts ro = { .size = sizeof(ro) };

	if (c->event == XIW_EV_REQUEST) {
		cr_assert(!xiw_rdma_attach(c->conn, &ro, &here[accepted++]));
		cr_assert(!xiw_conn_accept(c->conn, NULL, 0));
	}
	up += c->event == XIW_EV_CONNECTED;
	received += c->event == XIW_EV_RECEIVED;
	if (c->event == XIW_EV_CLOSED) {
		ended++;
		status = c->status;
	}
}

/* Runs the engine for so long, or until the number is reached. */
static void run(unsigned int ms, const unsigned int *number, unsigned int to)
{
	const uint64_t end = xiw_now_ms() + ms;
	struct xiw_completion c;

	while (xiw_now_ms() < end && (!number || *number < to)) {
		xiw_engine_run(e, 5);
		while (xiw_engine_next(e, &c) > 0)
			take(&c);
	}
}

static void begin(const struct xiw_conn_opts *o, struct sockaddr_storage *addr)
{
	const struct xiw_engine_opts eo = { .size = sizeof(eo), .path = XIW_USE_KERNEL };
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(*addr);

	cr_assert(!xiw_engine_create(&eo, &e));
	cr_assert(!xiw_listen(e, (void *)&any, sizeof(any), o, &listener));
	cr_assert(!xiw_listener_addr(listener, addr, &len));
}

static void join(const struct sockaddr_storage *addr)
{
	const struct xiw_conn_opts o = { .size = sizeof(o) };
	const struct xiw_rdma_opts ro = { .size = sizeof(ro) };
	struct xiw_rdma *r;
	struct xiw_conn *c;

	cr_assert(!xiw_connect(e, (const void *)addr, sizeof(struct sockaddr_in), &o, &c));
	cr_assert(!xiw_rdma_attach(c, &ro, &r));
	for (unsigned int i = 0; i < BUFS; i++)
		cr_assert(!xiw_rdma_post_recv(r, mem[accepted][i], sizeof(mem[0][i]), 0));
	run(20000, &up, 2 * (accepted + 1));
	cr_assert_eq(up, 2 * accepted);
}

static const struct xiw_rdma_op hello = { .kind = XIW_RDMA_SEND, .buf = "hello", .len = 5 };

/* The memory for one stream's first operation is missing for a moment, and nothing else happens there. */
Test(ulp_waits, for_memory, .timeout = 120)
{
	const struct xiw_conn_opts o = { .size = sizeof(o) };
	struct sockaddr_storage addr;
	uint64_t limit;

	begin(&o, &addr);
	join(&addr);
	join(&addr);
	run(1600, NULL, 0); /* what a beginning prompts is over */
	cr_assert(!xiw_rdma_post(here[0], &hello));
	run(20000, &received, 1); /* there are blocks and a stage */
	limit = e->budget.limit;
	e->budget.limit = e->budget.used;
	cr_assert(!xiw_rdma_post(here[1], &hello));
	run(50, NULL, 0);
	e->budget.limit = limit;
	run(20000, &received, 2);
	cr_assert_eq(received, 2);
	xiw_engine_destroy(e);
}

/*
 * A Responder that may speak first after some time closes before: what it has posted is sent then. If the close took
 * that time away, nothing would ever be sent.
 */
Test(ulp_waits, for_its_turn, .timeout = 120)
{
	const struct xiw_conn_opts o = { .size = sizeof(o),
					 .send_first = true,
					 .send_first_ms = FIRST_MS,
					 .close_timeout_ms = 2000 };

	const struct xiw_mpa_frame f = { .crc = true, .rev = 1 };
	struct sockaddr_storage addr;
	uint8_t frame[64], got[128];
	int n = xiw_mpa_frame_encode(&f, frame, sizeof(frame)), peer;
	ssize_t came = 0;

	begin(&o, &addr);
	peer = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert(!connect(peer, (struct sockaddr *)&addr, sizeof(struct sockaddr_in)));
	cr_assert_eq(send(peer, frame, (size_t)n, 0), n);
	run(20000, &up, 1);
	cr_assert_eq(up, 1);
	cr_assert(!xiw_rdma_post(here[0], &hello));
	run(FIRST_MS / 4, NULL, 0); /* the Reply is known to have left */
	cr_assert(!xiw_rdma_close(here[0]));
	for (int i = 0; i < 200 && !ended && came <= n; i++) {
		run(100, NULL, 0);
		came = recv(peer, got, sizeof(got), MSG_DONTWAIT | MSG_PEEK);
	}
	cr_assert(came > n, "%zd octets came, the Reply has %d", came, n);
	/* Octets that it had not read would make a reset of its close. */
	cr_assert_eq(recv(peer, got, sizeof(got), 0), came);
	close(peer);
	run(20000, &ended, 1);
	cr_assert_eq(ended, 1);
	cr_assert_eq(status, 0);
	xiw_engine_destroy(e);
}
