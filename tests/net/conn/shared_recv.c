// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * shared_recv - RDMAP Streams that share a receive queue and completion queues; shared_send is the peer.
 *
 *   shared_recv good|empty|share|half|long kernel|direct    prints a line of JSON when CONNS streams have ended
 *
 * good: CONNS streams, MESSAGES Sends on each; a thread of its own takes what arrives, checks each octet, and has the
 *   buffer posted again. It sleeps until its queue tells. The peer has at most WINDOW Sends under way on each stream.
 * empty: nobody posts again, and the peer sends more than the FEW buffers that there are.
 * share: a stream may only have SHARE buffers, and nothing is taken until all streams have ended.
 * half: the peer ends in the middle of long Sends.
 * long: the first segment of each stream is longer than any buffer.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/net/conn/shared.h"

#define BUFFERS 40u /* more than CONNS * WINDOW */
#define FEW 20u	    /* for `empty`: fewer than the peer sends */
#define LOW 12u
#define SHARE 3u
#define TOO_SHORT 15u /* for `long`: shorter than any message */
#define PIECE 1000u   /* every third buffer is in pieces: this many octets, and the rest */

static enum what what;
static struct xiw_engine *engine;

struct buffer {
	struct xiw_call call;
	uint64_t length, user_data;
	struct xiw_conn *conn;
	uint8_t octets[SIZE];
	bool posted;
};

static struct stream {
	struct xiw_conn *conn;
	struct xiw_rdma *rdma;
	uint8_t credit[1];
} streams[CONNS];

static struct buffer buffers[BUFFERS];
static struct xiw_srq *srq;
static struct xiw_cq *recv_cq, *send_cq;
static unsigned int nstreams, closed, lows, credits, errors;
static atomic_uint received, flushed, wakes;
static atomic_bool leave, hold_back;

static struct stream *stream_of(const struct xiw_conn *c)
{
	for (unsigned int i = 0; i < nstreams; i++)
		if (streams[i].conn == c)
			return &streams[i];
	die("a completion of nobody");
}

/* The limit is set again when there are enough buffers; at once would be too early. */
static void watch_limit(void)
{
	struct xiw_srq_info i;

	xiw_srq_info(srq, &i, sizeof(i));
	if (!i.limit && i.posted >= LOW)
		ok(xiw_srq_set_limit(srq, LOW), "limit");
}

static void post(struct buffer *b)
{
	const uint32_t len = what == LONG ? TOO_SHORT : SIZE, one = what == LONG ? 1 : PIECE;
	const struct iovec iov[2] = { { b->octets, one }, { b->octets + one, len - one } };
	const uint64_t n = (uint64_t)(b - buffers);
	const struct xiw_rdma_recv recv = {
		.size = sizeof(recv), .user_data = n, .iov = iov, .iov_count = 2
	};

	if (b->posted)
		die("buffer %llu came twice", (unsigned long long)n);
	b->posted = true;
	if (n % 3 == 0)
		ok(xiw_srq_post_many(srq, &recv, 1, NULL), "post_many");
	else
		ok(xiw_srq_post(srq, b->octets, len, n), "post");
}

/* In the engine's thread: the buffer is posted again, and the peer may send one more. */
static void again(struct xiw_engine *e, struct xiw_call *call, int status)
{
	struct buffer *b = (struct buffer *)call;
	struct stream *s = stream_of(b->conn);
	const struct xiw_rdma_op credit = { .kind = XIW_RDMA_SEND, .buf = s->credit, .len = 1 };

	if (status || e != engine)
		return;
	post(b);
	watch_limit();
	if (!xiw_rdma_post(s->rdma, &credit))
		credits++;
}

/* Each message says which stream of the peer's it is of, and its number there. */
static void check_message(const struct buffer *b, uint64_t len)
{
	static uint32_t next[CONNS];
	uint32_t from, n;
	int64_t wrong;

	memcpy(&from, b->octets, 4);
	memcpy(&n, b->octets + 4, 4);
	if (len < 16 || from >= CONNS || n != next[from]++ || len != length_of(what, from, n))
		die("%llu octets of %u: message %u", (unsigned long long)len, from, n);
	wrong = stream_wrong(from * 100000ull + n, 0, b->octets + 8, len - 8);
	if (wrong >= 0)
		die("message %u of %u: octet %lld", n, from, (long long)wrong);
}

static void take(const struct xiw_completion *c)
{
	struct buffer *b = &buffers[c->user_data];

	if (c->op != XIW_OPERATION_RECV || c->user_data >= BUFFERS || !b->posted)
		die("operation %u, user_data %llu", c->op, (unsigned long long)c->user_data);
	b->posted = false;
	if (c->event == XIW_EV_FLUSHED) {
		if (c->cause != (what == LONG ? XIW_CAUSE_LOCAL_LENGTH : XIW_CAUSE_FLUSHED))
			die("flushed by %s", xiw_cause_name(c->cause));
		flushed++;
		return;
	}
	if (c->event != XIW_EV_RECEIVED || c->cause)
		die("event %d", c->event);
	check_message(b, c->length);
	received++;
	if (what != GOOD)
		return;
	b->conn = c->conn;
	b->call = (struct xiw_call){ .run = again };
	xiw_engine_call(engine, &b->call);
}

static void *taker(void *arg)
{
	struct pollfd p = { .fd = xiw_cq_fd(recv_cq), .events = POLLIN };
	struct xiw_completion c;
	uint64_t octets;

	while (!leave) {
		if (hold_back) {
			usleep(1000);
			continue;
		}
		ok(xiw_cq_arm(recv_cq, false), "arm");
		while (xiw_cq_next(recv_cq, &c))
			take(&c);
		if (poll(&p, 1, 100) == 1 && read(p.fd, &octets, 8) == 8)
			wakes++;
	}
	while (xiw_cq_next(recv_cq, &c))
		take(&c);
	return arg;
}

static void request(struct xiw_conn *conn)
{
	const struct xiw_rdma_opts o = {
		.size = sizeof(o),
		.send_depth = 64,
		.send_cq = send_cq,
		.recv_cq = recv_cq,
		.srq = srq,
		.srq_max = what == SHARED ? SHARE : 0,
	};
	struct stream *s = &streams[nstreams++];

	s->conn = conn;
	ok(xiw_rdma_attach(conn, &o, &s->rdma), "attach");
	if (xiw_rdma_post_recv(s->rdma, s->credit, 1, 0) != -EINVAL)
		die("a buffer of its own");
	ok(xiw_conn_accept(conn, NULL, 0), "accept");
}

static void event(const struct xiw_completion *c)
{
	switch (c->event) {
	case XIW_EV_REQUEST:
		request(c->conn);
		break;
	case XIW_EV_SRQ_LOW:
		if (c->user_data != 4711 || c->conn || c->length >= LOW)
			die("low: %llu", (unsigned long long)c->length);
		lows++;
		break;
	case XIW_EV_EOF:
		xiw_rdma_close(stream_of(c->conn)->rdma);
		break;
	case XIW_EV_ERROR:
		errors++;
		break;
	case XIW_EV_CLOSED:
		closed++;
		break;
	case XIW_EV_CONNECTED:
		break;
	default:
		die("event %d in the engine's queue", c->event);
	}
}

static void run_receiver(void)
{
	struct xiw_completion c;
	uint32_t sent = 0;

	while (closed < CONNS) {
		int err = xiw_engine_run(engine, 1000);

		if (err < 0 && err != -EINTR)
			ok(err, "run");
		while (xiw_engine_next(engine, &c))
			event(&c);
		while (xiw_cq_next(send_cq, &c)) {
			if (c.op != XIW_OPERATION_SEND)
				die("operation %u in the queue for Sends", c.op);
			sent++;
		}
	}
	if (sent != credits)
		die("%u credits, %u completions", credits, sent);
}

/* Completions that a queue had no room for come into it while the engine runs. */
static void take_the_rest(void)
{
	struct xiw_srq_info i;

	xiw_srq_info(srq, &i, sizeof(i));
	hold_back = false;
	while (i.taken != received + flushed)
		xiw_engine_run(engine, 1);
}

/* Queues cannot go before the connections; each buffer is posted, was received, or was flushed. */
static void end_receiver(struct xiw_listener *listener)
{
	uint64_t direct = 0, kernel = 0, sends = 0;
	struct xiw_srq_info i;
	unsigned int left = 0;

	xiw_srq_info(srq, &i, sizeof(i));
	for (unsigned int n = 0; n < BUFFERS; n++)
		left += buffers[n].posted;
	if (left != i.posted || i.taken != received + flushed || i.streams != CONNS)
		die("%u posted of %u, %llu taken, %u received, %u flushed", left, i.posted,
		    (unsigned long long)i.taken, received, flushed);
	for (unsigned int n = 0; n < CONNS; n++) {
		struct xiw_conn_info info;
		struct xiw_rdma_info rinfo;

		if (xiw_srq_free(srq) != -EBUSY || xiw_cq_free(recv_cq) != -EBUSY ||
		    xiw_cq_free(send_cq) != -EBUSY)
			die("freed in use");
		xiw_conn_info(streams[n].conn, &info, sizeof(info));
		xiw_rdma_info(streams[n].rdma, &rinfo, sizeof(rinfo));
		direct += info.octets_direct;
		kernel += info.octets_kernel;
		sends += rinfo.sends_in;
		xiw_conn_free(streams[n].conn);
	}
	printf("{\"received\":%u,\"flushed\":%u,\"lows\":%u,\"errors\":%u,\"wakes\":%u,"
	       "\"sends\":%llu,\"direct\":%llu,\"kernel\":%llu}\n",
	       received, flushed, lows, errors, wakes, (unsigned long long)sends,
	       (unsigned long long)direct, (unsigned long long)kernel);
	if (what == GOOD) {
		ok(xiw_srq_free(srq), "srq_free");
		ok(xiw_cq_free(recv_cq), "cq_free");
		ok(xiw_engine_destroy(engine), "destroy");
		ok(xiw_cq_free(send_cq), "cq_free");
	} else {
		ok(xiw_engine_destroy(engine), "destroy");
		ok(xiw_cq_free(recv_cq), "cq_free");
		ok(xiw_srq_free(srq), "srq_free");
		ok(xiw_cq_free(send_cq), "cq_free");
	}
	xiw_listener_free(listener);
}

int main(int argc, char **argv)
{
	const char *path = argc == 3 ? argv[2] : "";
	const struct xiw_engine_opts eo = {
		.size = sizeof(eo),
		.path = strcmp(path, "direct") ? XIW_USE_KERNEL : XIW_USE_DIRECT,
	};
	const struct xiw_cq_opts co = { .size = sizeof(co), .entries = 16, .flags = XIW_CQ_NOTIFY };
	const struct xiw_srq_opts so = { .size = sizeof(so), .user_data = 4711, .depth = BUFFERS };
	const struct xiw_conn_opts o = { .size = sizeof(o) };
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct xiw_listener *listener;
	pthread_t thread;

	if (argc != 3)
		die("shared_recv good|empty|share|half|long kernel|direct");
	what = what_of(argv[1]);
	ok(xiw_engine_create(&eo, &engine), "engine");
	ok(xiw_cq_create(engine, &co, &recv_cq), "cq");
	ok(xiw_cq_create(engine, NULL, &send_cq), "cq");
	ok(xiw_srq_create(engine, &so, &srq), "srq");
	for (unsigned int n = 0; n < (what == EMPTY ? FEW : BUFFERS); n++)
		post(&buffers[n]);
	watch_limit();
	hold_back = what == SHARED;
	ok(xiw_listen(engine, (struct sockaddr *)&any, sizeof(any), &o, &listener), "listen");
	if (pthread_create(&thread, NULL, taker, NULL))
		die("no thread");
	run_receiver();
	take_the_rest();
	leave = true;
	pthread_join(thread, NULL);
	end_receiver(listener);
	return 0;
}
