// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A QP is freed, and its peer does not close: when the connection has had its time it is reset, and every buffer comes
 * back, also one into which half a message has come.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "ddp/hdr.h"
#include "host/host.h"
#include "mpa/startup.h"
#include "mpa/tx.h"

#define BUFS 3

static uint8_t mem[BUFS + 1][4096];
static struct xiw_host_eq *eq;
static struct xiw_host_cq *cq;
static struct xiw_host_listener *listener;
static uint32_t pd;
static int peer; /* its socket */

static void set_up(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	pd = xiw_host_pd();
	cr_assert(!xiw_host_eq_create(&eq));
	cr_assert(!xiw_host_cq_create(eq, NULL, &cq));
	cr_assert(!xiw_host_bind((void *)&any, sizeof(any), XIW_HOST_V6ONLY_DEFAULT, eq, NULL,
				 &listener));
	cr_assert(!xiw_host_listen(listener, 0));
}

TestSuite(host_reset, .init = set_up, .timeout = 120);

/* Half a Send: its last segment never comes. */
static void send_half(void)
{
	const struct xiw_ddp_hdr h = { .dv = 1, .rsvdulp = { 0x43 }, .msn = 1 };
	struct xiw_mpa_tx tx = { .crc = true };
	uint8_t header[XIW_DDP_HDR_MAX], fpdu[64];
	uint32_t len = xiw_ddp_hdr_encode(&h, header);

	len = xiw_mpa_build(&tx, fpdu, header, len, "12345678", 8);
	cr_assert_eq(send(peer, fpdu, len, 0), (ssize_t)len);
}

static struct xiw_host_request *request(void)
{
	const struct xiw_mpa_frame f = { .crc = true, .rev = 1 };
	struct sockaddr_storage addr;
	struct xiw_host_event ev;
	socklen_t len = sizeof(addr);
	uint8_t frame[64];
	int n = xiw_mpa_frame_encode(&f, frame, sizeof(frame));

	cr_assert(!xiw_host_listener_addr(listener, &addr, &len));
	peer = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert(!connect(peer, (struct sockaddr *)&addr, len), "%s", strerror(errno));
	cr_assert_eq(send(peer, frame, (size_t)n, 0), n);
	do
		cr_assert_eq(xiw_host_eq_wait(eq, &ev, 20000), 1);
	while (ev.kind != XIW_HOST_REQUEST);
	return ev.request;
}

static struct xiw_host_qp *connected(struct xiw_host_srq *srq)
{
	const struct xiw_host_qp_opts o = { .pd = pd,
					    .send_cq = cq,
					    .recv_cq = cq,
					    .srq = srq,
					    .recv_depth = srq ? 0 : BUFS,
					    .recv_sge = 1,
					    .send_depth = 4,
					    .send_sge = 1,
					    .unchecked = true };
	const struct xiw_host_conn_opts co = { .eq = eq };
	struct xiw_host_request *r = request();
	struct xiw_host_event ev;
	struct xiw_host_qp *qp;
	uint8_t reply[20];

	cr_assert(!xiw_host_qp_create(&o, &qp));
	cr_assert(!xiw_host_accept(r, qp, &co));
	cr_assert(xiw_host_eq_wait(eq, &ev, 20000) == 1 && ev.kind == XIW_HOST_ESTABLISHED);
	cr_assert_eq(recv(peer, reply, sizeof(reply), MSG_WAITALL), (ssize_t)sizeof(reply));
	return qp;
}

static struct xiw_host_recv buffer(struct xiw_host_sge *sge, unsigned int i)
{
	*sge = (struct xiw_host_sge){ mem[i], sizeof(mem[i]), 0 };
	return (struct xiw_host_recv){ .wr_id = i, .sge = sge, .sge_count = 1, .signaled = true };
}

/* All completions can be polled when xiw_host_qp_finish() returns. */
Test(host_reset, own_buffers)
{
	struct xiw_host_qp *qp = connected(NULL);
	struct xiw_host_qp_info info;
	struct xiw_host_wc wc[BUFS + 1];
	struct xiw_host_sge sge;
	unsigned int posted;

	for (unsigned int i = 0; i < BUFS; i++) {
		struct xiw_host_recv r = buffer(&sge, i);

		cr_assert(!xiw_host_post_recv(qp, &r, 1, &posted));
	}
	send_half();
	usleep(200000);
	cr_assert(!xiw_host_qp_finish(qp));
	cr_assert_eq(xiw_host_cq_poll(cq, wc, BUFS + 1), BUFS);
	for (unsigned int i = 0; i < BUFS; i++)
		cr_expect_eq(wc[i].wr_id, i);
	xiw_host_qp_info(qp, &info);
	cr_expect_eq(info.recvs_posted, 0);
	xiw_host_qp_free(qp);
	close(peer);
}

/* Otherwise peers could take one place of a shared queue after the other, for good. */
Test(host_reset, shared_buffers)
{
	const struct xiw_host_srq_opts o = { .pd = pd, .depth = 2, .sge = 1, .unchecked = true };
	struct xiw_host_srq *srq;
	struct xiw_host_sge sge;
	unsigned int posted;

	cr_assert(!xiw_host_srq_create(&o, &srq));
	for (unsigned int i = 0; i < 2; i++) {
		struct xiw_host_recv r = buffer(&sge, i);

		cr_assert(!xiw_host_srq_post(srq, &r, 1, &posted));
	}
	for (unsigned int i = 0; i < 2; i++) {
		struct xiw_host_recv r = buffer(&sge, 2);
		struct xiw_host_qp *qp = connected(srq);

		send_half();
		usleep(200000);
		xiw_host_qp_free(qp);
		cr_assert(!xiw_host_srq_post(srq, &r, 1, &posted), "round %u", i);
		close(peer);
	}
}
