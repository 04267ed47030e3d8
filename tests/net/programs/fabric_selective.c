// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Endpoints that are bound with FI_SELECTIVE_COMPLETION for what they receive: of messages, only those complete that
 * come into buffers with FI_COMPLETION.
 */
#include "tests/net/programs/fabric.h"

#define BUFFERS 4 /* as many as may be posted */
#define ROUNDS 3
#define TOLD 1 /* the number of the buffer with FI_COMPLETION */

static uint8_t buffers[BUFFERS];

/* A place for a buffer is free when one has been filled, which may be a moment after its octets are there. */
static void post(struct fid_ep *ep, int n, uint64_t flags)
{
	struct iovec iov = { &buffers[n], 1 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = &buffers[n] };
	const uint64_t until = now_ms() + TIMEOUT_MS;
	ssize_t rc;

	buffers[n] = 0;
	while ((rc = flags ? fi_recvmsg(ep, &msg, flags)
			   : fi_recv(ep, &buffers[n], 1, NULL, 0, &buffers[n])) == -FI_EAGAIN)
		NEED(now_ms() < until);
	MUST(rc);
}

static void round_of(struct fid_ep *from, bool in_order)
{
	const uint64_t until = now_ms() + TIMEOUT_MS;

	for (int i = 0; i < BUFFERS; i++)
		post(from, i, i == TOLD ? FI_COMPLETION : 0);
	MUST(fi_inject(end.ep, "g", 1, 0));
	NEED(done(&buffers[TOLD], FI_RECV | FI_MSG).len == 1);
	for (int i = 0; i < BUFFERS; i++) {
		while (!__atomic_load_n(&buffers[i], __ATOMIC_ACQUIRE))
			NEED(now_ms() < until);
		NEED(!in_order || buffers[i] == '0' + i);
	}
}

/* With srx, its buffers. */
void serve_selective(const char *param, struct fid_ep *srx)
{
	struct fid_ep *from;
	struct fi_cq_data_entry c;

	end.recv_flags = FI_SELECTIVE_COMPLETION;
	end.recv_size = BUFFERS;
	accept_next(param, srx);
	from = srx ? srx : end.ep;
	for (int i = 0; i < ROUNDS; i++)
		round_of(from, !srx);
	NEED(fi_cq_read(end.cq, &c, 1) == -FI_EAGAIN);
	/* What came with Immediate Data is known by its completion alone. */
	post(from, 0, 0);
	MUST(fi_inject(end.ep, "g", 1, 0));
	NEED(done(&buffers[0], FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA).data == DATA);
	/* A failure is always told. */
	if (!srx)
		post(from, 0, 0);
	MUST(fi_inject(end.ep, "g", 1, 0));
	await(FI_SHUTDOWN);
	NEED(srx || failed(&buffers[0]) == FI_ECANCELED);
	NEED(fi_cq_read(end.cq, &c, 1) == -FI_EAGAIN);
	close_endpoint();
	end.recv_flags = end.recv_size = 0;
}

void connect_selective(const char *param)
{
	uint8_t go, octet;

	connect_as(param);
	for (int i = 0; i < ROUNDS; i++) {
		hear(&go, 1);
		for (octet = '0'; octet < '0' + BUFFERS; octet++)
			say(&octet, 1);
	}
	hear(&go, 1);
	MUST(fi_inject_writedata(end.ep, buffers, 1, DATA, 0, end.peer.addr, end.peer.key));
	hear(&go, 1);
	close_endpoint();
}
