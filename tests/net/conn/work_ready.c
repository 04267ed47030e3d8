// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who has a buffer, and who speaks first: shared receive queues, Sends that wait, Responders that begin. */
#include "tests/net/conn/work.h"

/* ---- a shared receive queue ---------------------------------------------------------------------- */

#define EACH 20u /* messages of each stream */
#define BUFFERS 6u
#define LOW 3u
#define ROOM 4000u
#define SRQ_PIECES 6u

static struct xiw_srq *srq;
static struct iovec iov[STREAMS * EACH][SRQ_PIECES];
static bool posted[BUFFERS];

static size_t length_of(unsigned int stream, unsigned int n)
{
	return (stream * 1009 + n * 211) % (ROOM + 1);
}

/* Three streams, one queue of buffers, and two for completions, with one entry each. */
static void share(struct xiw_conn_opts *co, struct xiw_rdma_opts *ro)
{
	const struct xiw_cq_opts one = { .size = sizeof(one), .entries = 1 };
	const struct xiw_srq_opts so = { .size = sizeof(so), .depth = BUFFERS, .user_data = 5 };

	work.nstreams = STREAMS;
	CHECK(!xiw_cq_create(work.engine, &one, &work.recv_cq));
	CHECK(!xiw_cq_create(work.engine, &one, &work.send_cq));
	CHECK(!xiw_srq_create(work.engine, &so, &srq));
	co->hold_ms = 30000;
	ro->srq = srq;
	ro->recv_cq = work.recv_cq;
	ro->send_cq = work.send_cq;
}

static void post_shared(unsigned int i)
{
	struct xiw_rdma_recv r = {
		.size = sizeof(r), .user_data = i, .iov = iov[i], .iov_count = SRQ_PIECES
	};

	lay(iov[i], SRQ_PIECES, arenas[i], ROOM, i);
	CHECK(!xiw_srq_post_many(srq, &r, 1, NULL));
	posted[i] = true;
}

static struct xiw_srq_info srq_info(void)
{
	struct xiw_srq_info i;

	xiw_srq_info(srq, &i, sizeof(i));
	return i;
}

static void prepare_shared(void)
{
	for (unsigned int i = 0; i < BUFFERS; i++)
		post_shared(i);
	CHECK(xiw_srq_post(srq, arenas[0], 1, 0) == -EAGAIN);
	CHECK(!xiw_srq_set_limit(srq, LOW));
	CHECK(xiw_srq_set_limit(srq, BUFFERS + 1) == -EINVAL);
	CHECK(xiw_rdma_post_recv(work.s->rdma, arenas[0], 1, 0) == -EINVAL);
	CHECK(srq_info().posted == BUFFERS && srq_info().streams == STREAMS && !work.lows);
}

static void act_shared(void)
{
	for (unsigned int n = 0; n < EACH; n++)
		for (unsigned int k = 0; k < STREAMS; k++) {
			const unsigned int i = k * EACH + n;
			struct xiw_rdma_work *o = op(i, XIW_RDMA_SEND);
			uint8_t *at = arenas[k] + n * 2 * ROOM;

			for (unsigned int p = 0; p < SRQ_PIECES; p++) {
				const size_t len = length_of(k, n), part = len / SRQ_PIECES;

				iov[i][p] = (struct iovec){ at, p ? part : len - 5 * part };
				at += iov[i][p].iov_len + 1;
			}
			fill(iov[i], SRQ_PIECES, i);
			o->iov = iov[i];
			o->iov_count = SRQ_PIECES;
			CHECK(!xiw_rdma_post_many(work.s[k].rdma, o, 1, NULL));
		}
	await(STREAMS * EACH);
	for (unsigned int i = 0, next[STREAMS] = { 0 }; i < STREAMS * EACH; i++) {
		const unsigned int k = (unsigned int)work.got[i].user_data / EACH;

		CHECK(work.got[i].conn == work.s[k].conn);
		done(i, XIW_OPERATION_SEND, k * EACH + next[k], length_of(k, next[k]));
		next[k]++;
	}
}

/* Which of the peer's streams it came on, the octets tell. */
static void take_shared(const struct xiw_completion *c)
{
	const unsigned int b = (unsigned int)c->user_data, n = c->msn - 1;
	uint8_t first[ROOM] = { 0 };
	size_t off = 0;

	CHECK(b < BUFFERS && posted[b] && n < EACH && c->length <= ROOM);
	done((unsigned int)(c - work.got), XIW_OPERATION_RECV, b, c->length);
	for (unsigned int p = 0; p < SRQ_PIECES; off += iov[b][p++].iov_len)
		memcpy(first + off, iov[b][p].iov_base, iov[b][p].iov_len);
	for (unsigned int k = 0; k < STREAMS; k++)
		if (length_of(k, n) == c->length &&
		    (!c->length || stream_wrong(k * EACH + n, 0, first, c->length) < 0)) {
			check_arena(iov[b], SRQ_PIECES, arenas[b], k * EACH + n, c->length);
			posted[b] = false;
			return;
		}
	CHECK(!"a message of no stream");
}

/* Posts the buffers that are free again, and asks to be told when few are left. */
static unsigned int refill(void)
{
	unsigned int nfree = 0;

	for (unsigned int b = 0; b < BUFFERS; b++)
		nfree += !posted[b];
	/* The completions of those that were taken are still to come. */
	if (nfree <= BUFFERS - LOW)
		return 0;
	for (unsigned int b = 0; b < BUFFERS; b++)
		if (!posted[b])
			post_shared(b);
	CHECK(!srq_info().limit && srq_info().posted > LOW);
	CHECK(!xiw_srq_set_limit(srq, LOW));
	return 1;
}

/* Nobody posts before the event says that there are few buffers. */
static void witness_shared(void)
{
	unsigned int refills = 0;

	for (unsigned int i = 0; i < STREAMS * EACH;) {
		take_turn();
		CHECK(!work.s->closed);
		while (i < work.ngot)
			take_shared(&work.got[i++]);
		if (work.lows > refills)
			refills += refill();
	}
	CHECK(refills >= (STREAMS * EACH - BUFFERS) / BUFFERS && work.lows <= refills + 1);
	CHECK(srq_info().taken == STREAMS * EACH);
	CHECK(xiw_srq_free(srq) == -EBUSY);
	CHECK(xiw_cq_free(work.recv_cq) == -EBUSY && xiw_cq_free(work.send_cq) == -EBUSY);
	for (unsigned int k = 0; k < STREAMS; k++)
		CHECK(work.s[k].msn == EACH);
}

static void cleanup_shared(void)
{
	CHECK(!xiw_srq_free(srq));
	CHECK(!xiw_cq_free(work.recv_cq) && !xiw_cq_free(work.send_cq));
}

/* ---- Sends that wait for a buffer ---------------------------------------------------------------- */

#define LATE 30u

static void patient(struct xiw_conn_opts *co, struct xiw_rdma_opts *ro)
{
	(void)ro;
	co->hold_ms = XIW_NO_LIMIT - 1;
}

static void impatient(struct xiw_conn_opts *co, struct xiw_rdma_opts *ro)
{
	(void)ro;
	co->hold_ms = 100;
}

static void act_early(void)
{
	for (unsigned int i = 0; i < LATE; i++) {
		struct xiw_rdma_work *o = op(i, XIW_RDMA_SEND);

		iov[i][0] = (struct iovec){ arenas[0] + 2000 * i, 1000 + i };
		fill(iov[i], 1, i);
		o->iov = iov[i];
		o->iov_count = 1;
	}
	post(LATE);
	await(LATE);
	for (unsigned int i = 0; i < LATE; i++)
		done(i, XIW_OPERATION_SEND, i, 1000 + i);
}

/* A buffer at a time, and only when the stream stands in front of a message. */
static void witness_late(void)
{
	for (unsigned int i = 0; i < LATE; i++) {
		while (conn_info().holds <= i && !work.s->closed)
			take_turn();
		CHECK(work.ngot == i && !conn_info().holds_expired);
		lay(iov[0], SRQ_PIECES, arenas[0], 1100, i);
		recvs[0] = (struct xiw_rdma_recv){ .size = sizeof(recvs[0]),
						   .user_data = i,
						   .iov = iov[0],
						   .iov_count = SRQ_PIECES };
		post_recvs(1);
		await(i + 1);
		done(i, XIW_OPERATION_RECV, i, 1000 + i);
		check_arena(iov[0], SRQ_PIECES, arenas[0], i, 1000 + i);
	}
}

/* The time is over: the error that it would have been at once. */
static void act_too_early(void)
{
	op(0, XIW_RDMA_SEND);
	post(1);
	await_flag(&work.s->terminated);
	CHECK(work.s->cause == XIW_CAUSE_NOT_READY);
}

static void check_too_late(uint64_t holds)
{
	await_flag(&work.s->failed);
	CHECK(conn_info().holds == holds && conn_info().holds_expired == holds);
	CHECK(conn_info().ddp_error == XIW_DDP_UNTAGGED_NO_BUFFER && !work.ngot);
}

static void witness_too_late(void)
{
	check_too_late(1);
}

static void witness_at_once(void)
{
	check_too_late(0);
}

/* ---- Responders that speak first ----------------------------------------------------------------- */

#define HELLO 300u
#define FPDU (2 + 18 + HELLO + 4) /* length, header, CRC; nothing is padded */

static uint64_t surplus; /* what the Initiator finds behind the Reply */

/* A client and a server, and the server does not wait for the client's first FPDU. */
static void client_and_server(struct xiw_conn_opts *co, struct xiw_rdma_opts *ro)
{
	(void)ro;
	co->enhanced = false;
	co->rtr = 0;
	if (work.initiator)
		co->revision = 1;
	else
		co->send_first = true;
	surplus = FPDU;
}

static void peers(struct xiw_conn_opts *co, struct xiw_rdma_opts *ro)
{
	(void)ro;
	if (work.initiator)
		co->rtr = work.actor ? XIW_RTR_SEND : XIW_RTR_READ;
	surplus = 0;
}

static void post_room(void)
{
	lay(iov[0], SRQ_PIECES, arenas[0], HELLO, 1);
	recvs[0] = (struct xiw_rdma_recv){
		.size = sizeof(recvs[0]), .user_data = 3, .iov = iov[0], .iov_count = SRQ_PIECES
	};
	post_recvs(1);
}

static void greet(unsigned int i)
{
	struct xiw_rdma_work *o = op(0, XIW_RDMA_SEND);

	iov[1][0] = (struct iovec){ arenas[1], HELLO };
	fill(iov[1], 1, 77);
	o->iov = iov[1];
	o->iov_count = 1;
	post(1);
	await(i + 1);
	done(i, XIW_OPERATION_SEND, 0, HELLO);
}

static void take_greeting(unsigned int i)
{
	await(i + 1);
	done(i, XIW_OPERATION_RECV, 3, HELLO);
	check_arena(iov[0], SRQ_PIECES, arenas[0], 77, HELLO);
}

/* The Responder sends as soon as it may. Without RTR, the Initiator stands still until then. */
static void open_speaking(void)
{
	if (work.initiator) {
		post_room();
		hear(); /* the Responder has the Request */
		tell(0);
		if (surplus)
			hear_still(); /* it has sent */
		else
			hear();
		await_flag(&work.s->connected);
		take_greeting(0);
		CHECK(conn_info().surplus == surplus);
		return;
	}
	await_flag(&work.s->requested);
	tell(0);
	hear();
	CHECK(!xiw_conn_accept(work.s->conn, NULL, 0));
	await_flag(&work.s->connected);
	greet(0);
	tell(0);
}

static void act_greet(void)
{
	greet(1);
}

static void witness_greeted(void)
{
	take_greeting(1);
}

const struct work_case work_ready[] = {
	{ .name = "shared-receive-queue",
	  .options = share,
	  .prepare = prepare_shared,
	  .act = act_shared,
	  .witness = witness_shared,
	  .cleanup = cleanup_shared },
	{ .name = "receiver-not-ready",
	  .options = patient,
	  .act = act_early,
	  .witness = witness_late },
	{ .name = "receiver-not-ready-in-time",
	  .options = impatient,
	  .act = act_too_early,
	  .witness = witness_too_late,
	  .fails = true },
	{ .name = "receiver-not-ready-at-once",
	  .act = act_too_early,
	  .witness = witness_at_once,
	  .fails = true },
	{ .name = "responder-first-of-peers",
	  .options = peers,
	  .opening = open_speaking,
	  .prepare = post_room,
	  .act = act_greet,
	  .witness = witness_greeted },
	{ .name = "responder-first-of-client-and-server",
	  .options = client_and_server,
	  .opening = open_speaking,
	  .prepare = post_room,
	  .act = act_greet,
	  .witness = witness_greeted },
	{ 0 },
};
