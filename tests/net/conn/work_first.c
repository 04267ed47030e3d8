// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which side speaks first is up to the applications, whatever the startup was. Each case is run with the Initiator as
 * the one that speaks, and with the Responder, which may not send before it has an FPDU (RFC 5044 section 7.1.2 rule
 * 4).
 */
#include "tests/net/conn/work.h"

#define TEXT "who speaks first"

static uint8_t heard[64];
static uint8_t revision; /* which is expected */
static bool peer_to_peer;

/* Nothing is changed: the peer-to-peer startup of RFC 6581. */
static void by_default(struct xiw_conn_opts *co, struct xiw_rdma_opts *ro)
{
	(void)ro;
	*co = (struct xiw_conn_opts){ .size = sizeof(*co) };
	revision = 2;
	peer_to_peer = true;
}

/* The Initiator asks for Rev 1. */
static void rev_1(struct xiw_conn_opts *co, struct xiw_rdma_opts *ro)
{
	by_default(co, ro);
	if (work.initiator)
		co->revision = 1;
	revision = 1;
	peer_to_peer = false;
}

/* The Responder knows no other revision, and the Initiator asks once more. */
static void falls_back(struct xiw_conn_opts *co, struct xiw_rdma_opts *ro)
{
	by_default(co, ro);
	if (!work.initiator)
		co->revision = 1;
	revision = 1;
	peer_to_peer = false;
}

/* The Initiator sends nothing of its own accord, and the Responder does not wait for it. */
static void send_first(struct xiw_conn_opts *co, struct xiw_rdma_opts *ro)
{
	by_default(co, ro);
	if (work.initiator)
		co->rtr = XIW_RTR_NONE;
	else
		co->send_first = true;
	revision = 1;
	peer_to_peer = false;
}

static void check_terms(void)
{
	const struct xiw_conn_info info = conn_info();

	CHECK(info.revision == revision);
	CHECK(info.peer_to_peer == peer_to_peer);
}

static void prepare(void)
{
	static const struct iovec into = { heard, sizeof(heard) };

	memset(heard, 0, sizeof(heard));
	recvs[0] = (struct xiw_rdma_recv){ .size = sizeof(recvs[0]), .iov = &into, .iov_count = 1 };
	post_recvs(1);
}

static void speak(void)
{
	static char text[] = TEXT;
	static const struct iovec from = { text, sizeof(text) };
	struct xiw_rdma_work *o = op(0, XIW_RDMA_SEND);

	check_terms();
	o->iov = &from;
	o->iov_count = 1;
	post(1);
	await(1);
	done(0, XIW_OPERATION_SEND, 0, sizeof(text));
}

static void hear_it(void)
{
	check_terms();
	await(1);
	done(0, XIW_OPERATION_RECV, 0, sizeof(TEXT));
	CHECK(!memcmp(heard, TEXT, sizeof(TEXT)));
}

const struct work_case work_first[] = {
	{ .name = "speaks-first",
	  .options = by_default,
	  .prepare = prepare,
	  .act = speak,
	  .witness = hear_it },
	{ .name = "speaks-first-rev-1",
	  .options = rev_1,
	  .prepare = prepare,
	  .act = speak,
	  .witness = hear_it },
	{ .name = "speaks-first-falls-back",
	  .options = falls_back,
	  .prepare = prepare,
	  .act = speak,
	  .witness = hear_it },
	{ .name = "speaks-first-unasked",
	  .options = send_first,
	  .prepare = prepare,
	  .act = speak,
	  .witness = hear_it },
	{},
};
