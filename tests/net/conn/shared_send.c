// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * shared_send - the peer of shared_recv: CONNS streams that send MESSAGES messages each, WINDOW at a time.
 *
 *   shared_send good|empty|share|half|long ADDR
 *
 * At the end of `good` it checks the causes of its operations: of a Read that is not allowed, and of those around it.
 */
#include "tests/net/conn/shared.h"

#define NO_STAG 0x77777777u

static enum what what;
static struct xiw_engine *engine;

static struct peer {
	struct xiw_conn *conn;
	struct xiw_rdma *rdma;
	uint8_t out[WINDOW + 1][SIZE], credit[WINDOW + 1][1];
	uint32_t sent, answered, flushed;
	bool connected, closed;
} * peers;

static unsigned int blamed;

/* In `good` as many as there is credit for; else as many as the stream takes. */
static void send_some(struct peer *p)
{
	const unsigned int me = (unsigned int)(p - peers);

	while (p->connected && !p->closed && p->sent < MESSAGES && p->sent - p->answered < WINDOW) {
		const uint32_t n = p->sent, len = length_of(what, me, n);
		uint8_t *out = p->out[n % (WINDOW + 1)];
		const struct xiw_rdma_op op = { .kind = XIW_RDMA_SEND, .buf = out, .len = len };
		int err;

		memcpy(out, &me, 4);
		memcpy(out + 4, &n, 4);
		stream_octets(me * 100000ull + n, 0, out + 8, len - 8);
		err = xiw_rdma_post(p->rdma, &op);
		if (err == -EAGAIN || err == -EPIPE)
			return;
		ok(err, "send");
		p->sent++;
	}
}

static uint32_t sink_stag;

static void read_octets(struct peer *p, uint64_t number, uint64_t len)
{
	const struct xiw_rdma_op op = { .kind = XIW_RDMA_READ,
					.user_data = number,
					.stag = NO_STAG,
					.len = len,
					.sink_stag = sink_stag };

	ok(xiw_rdma_post(p->rdma, &op), "Read");
}

/* Read 1, of nothing, is allowed. Then come Read 2, which is not, and Read 3, which would be. */
static void read_ended(struct peer *p, const struct xiw_completion *c)
{
	static const uint8_t causes[] = { 0, XIW_CAUSE_NONE, XIW_CAUSE_REMOTE_ACCESS,
					  XIW_CAUSE_FLUSHED };

	if (c->op != XIW_OPERATION_READ || c->user_data > 3 || c->cause != causes[c->user_data])
		die("operation %u, %llu: %s", c->op, (unsigned long long)c->user_data,
		    xiw_cause_name(c->cause));
	blamed += c->user_data == 2;
	if (c->user_data != 1)
		return;
	read_octets(p, 2, 16);
	read_octets(p, 3, 0);
}

static struct peer *peer_of(const struct xiw_conn *c)
{
	for (unsigned int i = 0; i < CONNS; i++)
		if (peers[i].conn == c)
			return &peers[i];
	die("a completion of nobody");
}

static unsigned int terminated[XIW_CAUSE_MAX];

static void peer_event(const struct xiw_completion *c)
{
	struct peer *p = peer_of(c->conn);

	switch (c->event) {
	case XIW_EV_CONNECTED:
		p->connected = true;
		break;
	case XIW_EV_RECEIVED:
		p->answered++;
		ok(xiw_rdma_post_recv(p->rdma, p->credit[c->user_data], 1, c->user_data), "post");
		if (what == GOOD && p->answered == MESSAGES)
			read_octets(p, 1, 0);
		break;
	case XIW_EV_TERMINATED:
		terminated[c->cause]++;
		break;
	case XIW_EV_CLOSED:
		p->closed = true;
		break;
	case XIW_EV_READ:
		read_ended(p, c);
		break;
	case XIW_EV_FLUSHED:
		if (c->op == XIW_OPERATION_READ)
			read_ended(p, c);
		p->flushed++;
		break;
	default:
		break;
	}
	send_some(p);
}

static bool all_closed(void)
{
	for (unsigned int i = 0; i < CONNS; i++)
		if (!peers[i].closed)
			return false;
	return true;
}

static void open_peer(struct peer *p, const struct sockaddr_storage *to, socklen_t len)
{
	const struct xiw_conn_opts o = { .size = sizeof(o) };
	const struct xiw_rdma_opts ro = { .size = sizeof(ro), .send_depth = WINDOW + 4 };

	ok(xiw_connect(engine, (const struct sockaddr *)to, len, &o, &p->conn), "connect");
	ok(xiw_rdma_attach(p->conn, &ro, &p->rdma), "attach");
	for (unsigned int i = 0; i <= WINDOW; i++)
		ok(xiw_rdma_post_recv(p->rdma, p->credit[i], 1, i), "post");
}

int main(int argc, char **argv)
{
	const struct xiw_engine_opts eo = { .size = sizeof(eo), .path = XIW_USE_KERNEL };
	struct sockaddr_storage to;
	socklen_t len = argc == 3 ? address_of(argv[2], PORT, &to) : 0;
	uint64_t sent = 0, until = 0;
	static uint8_t sink[16];
	struct xiw_region *region;
	struct xiw_completion c;

	if (!len)
		die("shared_send good|empty|share|half|long ADDR");
	what = what_of(argv[1]);
	peers = calloc(CONNS, sizeof(*peers));
	if (!peers)
		die("no memory");
	ok(xiw_engine_create(&eo, &engine), "engine");
	ok(xiw_region_register(engine, sink, sizeof(sink), NULL, &region), "region");
	sink_stag = xiw_region_stag(region);
	for (unsigned int i = 0; i < CONNS; i++)
		open_peer(&peers[i], &to, len);
	while (!all_closed()) {
		xiw_engine_run(engine, what == HALF ? 1 : 50);
		while (xiw_engine_next(engine, &c))
			peer_event(&c);
		for (unsigned int i = 0; i < CONNS; i++)
			sent += peers[i].sent && !until;
		/* Streams that could be served are open; they end when the others have. */
		if (what != GOOD && sent && !until)
			until = now_ms() + (what == HALF ? 3 : 2000);
		for (unsigned int i = 0; until && now_ms() > until && i < CONNS; i++)
			if (!peers[i].closed)
				what == HALF ? xiw_conn_abort(peers[i].conn)
					     : (void)xiw_rdma_close(peers[i].rdma);
	}
	printf("{\"blamed\":%u,\"not_ready\":%u,\"access\":%u}\n", blamed,
	       terminated[XIW_CAUSE_NOT_READY], terminated[XIW_CAUSE_REMOTE_ACCESS]);
	for (unsigned int i = 0; i < CONNS; i++)
		xiw_conn_free(peers[i].conn);
	xiw_region_free(region);
	ok(xiw_engine_destroy(engine), "destroy");
	free(peers);
	return 0;
}
