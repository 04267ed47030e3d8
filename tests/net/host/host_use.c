// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * host_use HOW ADDR: the other side of host_serve. It polls, except for `sleep`.
 *
 *   work, sleep   Sends of many lengths, in pieces, inline, and in chains of which only the last is told; RDMA Writes
 *                 with Immediate Data, Reads of what was written, and atomic operations
 *   hasty         Sends, and frees the QP when they are complete
 *   refuse        is refused, connects where nobody listens, and gives connections up
 *   fork          a child has connections of its own, beside those of its parent
 */
#include <sys/wait.h>
#include <unistd.h>

#include "party.h"

struct conn {
	struct xiw_host_qp *qp;
	struct place place;
	uint32_t posted, told; /* messages */
	uint64_t found;	       /* by the atomic operation */
};

static struct party p;
static struct sockaddr_storage addr;
static socklen_t addr_len;
static bool sleeps;

static struct xiw_host_conn_opts conn_opts(struct conn *c)
{
	return (struct xiw_host_conn_opts){
		.eq = p.eq,
		.context = c,
		.ird = 8,
		.ord = 8,
		.extended = true,
		.private_data = "hello",
		.private_len = 5,
	};
}

static void open_conn(struct conn *c)
{
	const struct xiw_host_conn_opts opts = conn_opts(c);
	struct xiw_host_event ev;
	struct xiw_host_qp_info info;

	*c = (struct conn){ .qp = party_qp(&p, NULL, c) };
	MUST(xiw_host_connect(c->qp, (void *)&addr, addr_len, NULL, 0, &opts));
	party_event(&p, &ev, XIW_HOST_ESTABLISHED);
	if (ev.private_len != sizeof(c->place) || ev.context != c || !ev.extended || ev.ord != 8)
		die("not what was agreed");
	memcpy(&c->place, ev.private_data, sizeof(c->place));
	xiw_host_qp_info(c->qp, &info);
	if (((struct sockaddr_in *)&info.remote)->sin_port != htons(PORT) ||
	    !((struct sockaddr_in *)&info.local)->sin_port)
		die("not the addresses");
}

static void close_conn(struct conn *c)
{
	struct xiw_host_event ev;

	MUST(xiw_host_disconnect(c->qp));
	party_event(&p, &ev, XIW_HOST_DISCONNECTED);
	if (ev.status || ev.context != c)
		die("disconnected: %s", strerror(-ev.status));
	MUST(xiw_host_qp_free(c->qp));
}

/* The completion of an operation that is told. Its wr_id is a number that is added to what its connection knows. */
static void take_one(void)
{
	struct xiw_host_wc wc;
	struct conn *c;

	party_completion(&p, &wc, sleeps);
	c = wc.context;
	if (wc.cause)
		die("an operation has %s", xiw_cause_name(wc.cause));
	c->told += (uint32_t)wc.wr_id;
}

static uint8_t *message_at(uint32_t conn, uint32_t i)
{
	return p.mem + ((size_t)conn * DEPTH + i % DEPTH) * LONGEST;
}

/* Eight messages, or what is left, of which the last one is told. */
static void send_chain(struct conn *c, uint32_t slot)
{
	struct xiw_host_sge sge[8][3];
	struct xiw_host_wr wr[8] = { 0 };
	uint32_t n = MESSAGES - c->posted < 8 ? MESSAGES - c->posted : 8;

	for (uint32_t i = 0; i < n; i++) {
		const struct head h = { c->place.number, c->posted + i };
		const uint32_t len = message_len(h.number);
		uint8_t *buf = message_at(slot, h.number);

		memcpy(buf, &h, sizeof(h));
		stream_octets(message_stream(h.conn, h.number), 0, buf + sizeof(h), len);
		sge[i][0] = (struct xiw_host_sge){ buf, sizeof(h), p.lkey };
		sge[i][1] = (struct xiw_host_sge){ buf + sizeof(h), len / 3, p.lkey };
		sge[i][2] =
			(struct xiw_host_sge){ buf + sizeof(h) + len / 3, len - len / 3, p.lkey };
		wr[i] = (struct xiw_host_wr){ .sge = sge[i], .sge_count = 3 };
		if (len + sizeof(h) <= 200)
			wr[i].flags = XIW_HOST_INLINE;
	}
	wr[n - 1].flags |= XIW_HOST_SIGNALED;
	wr[n - 1].wr_id = n;
	MUST(xiw_host_post_send(c->qp, wr, n, NULL));
	/* What is copied may change at once. */
	for (uint32_t i = 0; i < n; i++)
		if (wr[i].flags & XIW_HOST_INLINE)
			memset(message_at(slot, c->posted + i), 0xee, 200);
	c->posted += n;
}

static void await(struct conn *c, uint32_t told)
{
	while (c->told < told)
		take_one();
}

static void bulk(struct conn *c, uint32_t round)
{
	uint8_t *out = p.mem + (size_t)2 * CONNS * DEPTH * LONGEST, *in = out + BULK;
	const uint64_t id = message_stream(c->place.number, round);
	const struct xiw_host_sge from = { out, BULK, p.lkey };
	/* One piece has the region's STag as its sink, and two have one of their own. */
	const struct xiw_host_sge to[2] = {
		{ in, round % 2 ? BULK : 777, p.lkey },
		{ in + 777, BULK - 777, p.lkey },
	};
	const struct xiw_host_sge found = { &c->found, 8, p.lkey };
	const uint32_t before = c->told;
	struct xiw_host_wr wr[3] = {
		{ .kind = XIW_RDMA_WRITE_IMMEDIATE, .sge = &from, .sge_count = 1 },
		{ .kind = XIW_RDMA_READ, .sge = to, .sge_count = round % 2 ? 1 : 2 },
		{ .kind = XIW_RDMA_FETCH_ADD, .sge = &found, .sge_count = 1 },
	};

	stream_octets(id, 0, out, BULK);
	memset(in, 0, BULK);
	wr[0].immediate = id;
	wr[2].atomic.value = 1;
	wr[2].flags = XIW_HOST_SIGNALED;
	wr[2].wr_id = 1;
	for (int i = 0; i < 3; i++) {
		wr[i].stag = c->place.stag;
		wr[i].to = i < 2 ? c->place.to + round * BULK : c->place.word;
	}
	if (xiw_host_post_send(c->qp, wr, 3, NULL) != -EINVAL)
		die("an atomic operation into memory that is not registered");
	/* The two in front of it were posted. */
	{
		const struct xiw_host_sge word = { in + BULK, 8, p.lkey };

		wr[2].sge = &word;
		MUST(xiw_host_post_send(c->qp, &wr[2], 1, NULL));
		await(c, before + 1);
		memcpy(&c->found, in + BULK, 8);
	}
	if (stream_wrong(id, 0, in, BULK) >= 0)
		die("not what was written");
}

static void work(uint32_t first_slot)
{
	struct conn c[CONNS];

	for (uint32_t i = 0; i < CONNS; i++)
		open_conn(&c[i]);
	for (bool more = true; more;) {
		more = false;
		for (uint32_t i = 0; i < CONNS; i++) {
			/* So the octets of a message stay until it is complete. */
			await(&c[i], c[i].posted);
			if (c[i].posted < MESSAGES)
				send_chain(&c[i], first_slot + i);
			more |= c[i].posted < MESSAGES;
		}
	}
	for (uint32_t i = 0; i < CONNS; i++) {
		await(&c[i], MESSAGES);
		for (uint32_t round = 0; round < ROUNDS; round++)
			bulk(&c[i], round);
		close_conn(&c[i]);
	}
}

static void hasty(void)
{
	for (uint32_t i = 0; i < CONNS; i++) {
		struct conn c;

		open_conn(&c);
		while (c.posted < MESSAGES) {
			send_chain(&c, i);
			await(&c, c.posted);
		}
		MUST(xiw_host_qp_free(c.qp));
		xiw_host_eq_purge(p.eq, &c);
	}
}

static void expect_end(struct conn *c, enum xiw_host_event_kind kind, int status)
{
	struct xiw_host_event ev;
	struct xiw_host_wc wc;

	party_event(&p, &ev, (int)kind);
	if (ev.status != status)
		die("status %s", strerror(-ev.status));
	if (kind == XIW_HOST_REFUSED &&
	    (ev.private_len != 10 || memcmp(ev.private_data, "no, thanks", 10)))
		die("not the Private Data");
	/* Its buffer stays with an idle QP. Else what was posted has completed before. */
	if (status != -ECANCELED) {
		if (xiw_host_qp_state(c->qp) != XIW_HOST_IDLE || xiw_host_cq_poll(p.cq, &wc, 1))
			die("the QP is not as it was");
		return;
	}
	if (xiw_host_cq_poll(p.cq, &wc, 1) != 1 || wc.cause != XIW_CAUSE_FLUSHED || wc.wr_id != 7)
		die("no flushed buffer");
	MUST(xiw_host_qp_free(c->qp));
}

static void make_qp(struct conn *c)
{
	const struct xiw_host_sge sge = { p.mem, 8, p.lkey };
	const struct xiw_host_recv recv = { .wr_id = 7, .sge = &sge, .sge_count = 1 };

	*c = (struct conn){ .qp = party_qp(&p, NULL, c) };
	MUST(xiw_host_post_recv(c->qp, &recv, 1, NULL));
}

static void attempt(struct conn *c, const struct sockaddr_storage *to)
{
	const struct xiw_host_conn_opts opts = conn_opts(c);

	if (xiw_host_disconnect(c->qp) != -ENOTCONN)
		die("an idle QP was disconnected");
	MUST(xiw_host_connect(c->qp, (const void *)to, addr_len, NULL, 0, &opts));
	if (xiw_host_connect(c->qp, (const void *)to, addr_len, NULL, 0, &opts) != -EISCONN)
		die("connected twice");
}

static void refuse(void)
{
	struct sockaddr_storage nobody = addr;
	struct conn c;

	((struct sockaddr_in *)&nobody)->sin_port = htons(PORT + 1);
	make_qp(&c);
	attempt(&c, &addr);
	expect_end(&c, XIW_HOST_REFUSED, -ECONNREFUSED);
	attempt(&c, &nobody);
	expect_end(&c, XIW_HOST_FAILED, -ECONNREFUSED);
	MUST(xiw_host_qp_free(c.qp));
	for (int i = 0; i < 20; i++) {
		make_qp(&c);
		attempt(&c, &nobody);
		MUST(xiw_host_qp_free(c.qp));
		xiw_host_eq_purge(p.eq, &c);
	}
	/* This address answers nothing. */
	((struct sockaddr_in *)&nobody)->sin_addr.s_addr ^= htonl(0xc0);
	make_qp(&c);
	attempt(&c, &nobody);
	MUST(xiw_host_disconnect(c.qp));
	expect_end(&c, XIW_HOST_FAILED, -ECANCELED);
}

/* The child begins while its parent has a connection, whose objects are dead there. */
static void fork_off(void)
{
	struct party parents;
	struct conn c;
	pid_t child;
	int status;

	open_conn(&c);
	fflush(stdout);
	child = fork();
	if (!child) {
		parents = p;
		if (xiw_host_post_send(c.qp, NULL, 0, NULL) != -ECANCELED ||
		    xiw_host_disconnect(c.qp) != -ECANCELED)
			die("an object of the parent lives");
		MUST(xiw_host_qp_free(c.qp));
		party_free(&parents);
		party_make(&p, ((size_t)2 * CONNS * DEPTH * LONGEST) + 2 * BULK + 8);
		work(0);
		party_free(&p);
		exit(0);
	}
	while (c.posted < MESSAGES) {
		send_chain(&c, CONNS);
		await(&c, c.posted);
	}
	close_conn(&c);
	if (waitpid(child, &status, 0) != child || status)
		die("the child failed");
}

int main(int argc, char **argv)
{
	if (argc != 3 || !(addr_len = address_of(argv[2], PORT, &addr)))
		die("usage: host_use HOW ADDR");
	party_make(&p, ((size_t)2 * CONNS * DEPTH * LONGEST) + 2 * BULK + 8);
	sleeps = !strcmp(argv[1], "sleep");
	if (!strcmp(argv[1], "hasty"))
		hasty();
	else if (!strcmp(argv[1], "refuse"))
		refuse();
	else if (!strcmp(argv[1], "fork"))
		fork_off();
	else
		work(0);
	party_free(&p);
	return 0;
}
