// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * work - an application that uses all that RDMAP offers for real work, in both roles, with every octet compared.
 *
 *   work listen|connect kernel|direct ADDRESS [CASE]
 *
 * The cases are in work_*.c, each a small program on a connection of its own:
 *
 *   memory     gather, scatter, Reads into memory and into regions
 *   queue      inline octets, batches, no completions, depth, rights that change in order, limits
 *   depths     all kinds of operations on streams of the least and of the greatest depths
 *   extended   Immediate Data, atomic operations, Send with Invalidate, causes
 *   ready      a shared receive queue with completion queues, Sends that wait for buffers, Responders that speak first
 *   gone       memory and rights that go away in use
 *   careless   what a program should not do
 *
 * Prints PASS for each case in which this end has acted, and FAIL.
 */
#include "tests/net/conn/work.h"

#include <poll.h>
#include <unistd.h>

#define CONTROL 15050
#define PORT 15051
#define PATIENCE_MS 60000

struct work work;

static const char *path, *only, *address;
static uint16_t port = PORT;
static struct sockaddr_storage peer_addr;
static socklen_t peer_len;
static struct xiw_listener *listener;
static unsigned int nrequests;
static struct xiw_conn_opts conn_opts;
static struct xiw_rdma_opts rdma_opts;
static uint64_t octets_direct, octets_kernel;
static int control = -1;

static void report(const char *word, const char *why)
{
	printf("%s %s-%s-%s%s\n", word, path, work.initiator ? "initiator" : "responder",
	       work.the_case ? work.the_case->name : "begin", why);
	fflush(stdout);
}

void work_failed(const char *file, int line, const char *what)
{
	char why[512];

	snprintf(why, sizeof(why), " as %s: %s:%d: %s", work.actor ? "actor" : "witness", file,
		 line, what);
	report("FAIL", why);
	exit(1);
}

/* ---- turns ------------------------------------------------------------------------------------- */

static void attach(struct stream *s, struct xiw_conn *c)
{
	s->conn = c;
	xiw_conn_set_user_data(c, (uint64_t)(s - work.s));
	CHECK(!xiw_rdma_attach(c, &rdma_opts, &s->rdma));
}

static struct stream *stream_of(const struct xiw_completion *c)
{
	for (unsigned int i = 0; i < nrequests; i++)
		if (work.s[i].conn == c->conn)
			return &work.s[i];
	CHECK(!"a completion of another connection");
}

/* Buffers complete in the order of the messages. The first one may be a Send by which an Initiator says it is ready. */
static void number(struct stream *s, const struct xiw_completion *c)
{
	if (!s->msn && !work.initiator && c->msn == 2)
		s->msn++;
	CHECK(!c->qn && c->msn == ++s->msn);
}

/* An operation, or a posted buffer, is complete. */
static void keep(const struct xiw_completion *c)
{
	CHECK(work.ngot < COMPLETIONS);
	if (c->event == XIW_EV_RECEIVED)
		number(stream_of(c), c);
	work.got[work.ngot++] = *c;
}

/* Completions have the queue that the application gave the stream for them. */
static void take_from(struct xiw_cq *cq)
{
	struct xiw_completion c;

	while (cq && xiw_cq_next(cq, &c) > 0) {
		CHECK(cq == (c.op == XIW_OPERATION_RECV ? work.recv_cq : work.send_cq));
		keep(&c);
	}
}

static void handle_stream(struct stream *s, const struct xiw_completion *c)
{
	CHECK(c->user_data == (uint64_t)(s - work.s) && c->op == XIW_OPERATION_NONE);
	switch (c->event) {
	case XIW_EV_CONNECTED:
		s->connected = true;
		break;
	case XIW_EV_ERROR:
		s->failed = true;
		break;
	case XIW_EV_TERMINATED:
		s->terminated = true;
		s->cause = c->cause;
		break;
	case XIW_EV_EOF:
		/* The Initiator closes first. */
		if (!work.initiator)
			xiw_rdma_close(s->rdma);
		break;
	case XIW_EV_CLOSED:
		s->closed = true;
		break;
	default:
		CHECK(!"an event that nobody expects");
	}
}

static void handle(const struct xiw_completion *c)
{
	/* A Responder has refused the Request. */
	if (c->event == XIW_EV_CLOSED && !nrequests) {
		xiw_conn_free(c->conn);
		return;
	}
	switch (c->event) {
	case XIW_EV_REQUEST:
		CHECK(nrequests < work.nstreams);
		attach(&work.s[nrequests], c->conn);
		work.s[nrequests++].requested = true;
		if (!work.the_case->opening)
			CHECK(!xiw_conn_accept(c->conn, NULL, 0));
		break;
	case XIW_EV_SRQ_LOW:
		work.lows++;
		break;
	case XIW_EV_CONNECTED:
	case XIW_EV_ERROR:
	case XIW_EV_TERMINATED:
	case XIW_EV_EOF:
	case XIW_EV_CLOSED:
		handle_stream(stream_of(c), c);
		break;
	default:
		CHECK(!(c->op == XIW_OPERATION_RECV ? work.recv_cq : work.send_cq));
		keep(c);
	}
}

void take_turn(void)
{
	struct xiw_completion c;
	int err = xiw_engine_run(work.engine, 1);

	CHECK(err >= 0 || err == -EINTR);
	while (xiw_engine_next(work.engine, &c) > 0)
		handle(&c);
	take_from(work.recv_cq);
	if (work.send_cq != work.recv_cq)
		take_from(work.send_cq);
}

void await_flag(const bool *flag)
{
	const uint64_t end = now_ms() + PATIENCE_MS;

	while (!*flag) {
		CHECK(now_ms() < end);
		take_turn();
	}
}

const struct xiw_completion *await(unsigned int n)
{
	const uint64_t end = now_ms() + PATIENCE_MS;

	while (work.ngot < n) {
		CHECK(now_ms() < end);
		CHECK(!work.s->closed);
		take_turn();
	}
	CHECK(work.ngot == n);
	return work.got;
}

static enum xiw_event event_of(enum xiw_operation op)
{
	switch (op) {
	case XIW_OPERATION_RECV:
		return XIW_EV_RECEIVED;
	case XIW_OPERATION_READ:
		return XIW_EV_READ;
	case XIW_OPERATION_FETCH_ADD:
	case XIW_OPERATION_CMP_SWAP:
		return XIW_EV_ATOMIC;
	case XIW_OPERATION_REGISTER:
	case XIW_OPERATION_LOCAL_INVALIDATE:
		return XIW_EV_CHANGED;
	default:
		return XIW_EV_SENT;
	}
}

const struct xiw_completion *done(unsigned int i, enum xiw_operation op, uint64_t user_data,
				  uint64_t length)
{
	const struct xiw_completion *c = &work.got[i];

	CHECK(i < work.ngot);
	CHECK(c->op == op);
	CHECK(c->event == event_of(op));
	CHECK(!c->status && c->cause == XIW_CAUSE_NONE);
	CHECK(c->user_data == user_data);
	CHECK(c->length == length);
	return c;
}

void ended(unsigned int i, enum xiw_operation op, uint64_t user_data, enum xiw_cause cause)
{
	const struct xiw_completion *c = &work.got[i];

	CHECK(i < work.ngot);
	CHECK(c->op == op);
	CHECK(c->event == XIW_EV_FLUSHED && c->status == -ECANCELED);
	CHECK(c->user_data == user_data);
	CHECK(c->cause == cause);
}

struct xiw_rdma_info rdma_info(void)
{
	struct xiw_rdma_info i;

	xiw_rdma_info(work.s->rdma, &i, sizeof(i));
	return i;
}

struct xiw_conn_info conn_info(void)
{
	struct xiw_conn_info i;

	xiw_conn_info(work.s->conn, &i, sizeof(i));
	return i;
}

/* ---- operations ---------------------------------------------------------------------------------- */

struct xiw_rdma_work ops[OPS];
struct xiw_rdma_recv recvs[OPS];

struct xiw_rdma_work *op(unsigned int i, enum xiw_rdma_kind kind)
{
	ops[i] = (struct xiw_rdma_work){ .size = sizeof(ops[i]), .user_data = i, .kind = kind };
	return &ops[i];
}

void post(unsigned int n)
{
	unsigned int posted;

	CHECK(!xiw_rdma_post_many(work.s->rdma, ops, n, &posted));
	CHECK(posted == n);
}

void post_recvs(unsigned int n)
{
	unsigned int posted;

	CHECK(!xiw_rdma_post_recv_many(work.s->rdma, recvs, n, &posted));
	CHECK(posted == n);
}

/* ---- the other end ------------------------------------------------------------------------------- */

void tell(uint64_t value)
{
	CHECK(send(control, &value, sizeof(value), MSG_NOSIGNAL) == sizeof(value));
}

uint64_t hear_still(void)
{
	const struct timeval patience = { .tv_sec = PATIENCE_MS / 1000 };
	uint64_t value;

	CHECK(!setsockopt(control, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)));
	CHECK(recv(control, &value, sizeof(value), 0) == sizeof(value));
	return value;
}

uint64_t hear(void)
{
	const uint64_t end = now_ms() + PATIENCE_MS;
	uint64_t value;
	ssize_t n;

	while ((n = recv(control, &value, sizeof(value), MSG_DONTWAIT)) < 0 && errno == EAGAIN) {
		CHECK(now_ms() < end);
		take_turn();
	}
	CHECK(n == sizeof(value));
	return value;
}

/* ---- cases --------------------------------------------------------------------------------------- */

static void begin_case(const struct work_case *c)
{
	/* A freed listener may have its port for a moment longer. */
	peer_len = address_of(address, port++, &peer_addr);
	work.the_case = c;
	memset(work.s, 0, sizeof(work.s));
	work.nstreams = 1;
	work.send_cq = work.recv_cq = NULL;
	work.lows = work.ngot = nrequests = 0;
	conn_opts = (struct xiw_conn_opts){ .size = sizeof(conn_opts) };
	rdma_opts = (struct xiw_rdma_opts){ .size = sizeof(rdma_opts) };
	if (c->options)
		c->options(&conn_opts, &rdma_opts);
}

static void open_case(void)
{
	struct sockaddr *to = (struct sockaddr *)&peer_addr;
	struct xiw_conn *conn;

	if (work.initiator) {
		hear(); /* the other end listens */
		while (nrequests < work.nstreams) {
			CHECK(!xiw_connect(work.engine, to, peer_len, &conn_opts, &conn));
			attach(&work.s[nrequests++], conn);
		}
	} else {
		CHECK(!xiw_listen(work.engine, to, peer_len, &conn_opts, &listener));
		tell(0);
	}
	if (work.the_case->opening)
		work.the_case->opening();
	for (unsigned int i = 0; i < work.nstreams; i++)
		await_flag(&work.s[i].connected);
}

static void close_case(void)
{
	for (struct stream *s = work.s; s < work.s + work.nstreams; s++) {
		struct xiw_conn_info info;

		if (work.initiator && !work.the_case->fails)
			xiw_rdma_close(s->rdma);
		await_flag(&s->closed);
		CHECK(work.the_case->fails == (s->failed || s->terminated));
		xiw_conn_info(s->conn, &info, sizeof(info));
		octets_direct += info.octets_direct;
		octets_kernel += info.octets_kernel;
		xiw_conn_free(s->conn);
	}
	if (!work.initiator)
		xiw_listener_free(listener);
	if (work.the_case->cleanup)
		work.the_case->cleanup();
}

static void run_case(const struct work_case *c, bool initiator_acts)
{
	work.actor = work.initiator == initiator_acts;
	begin_case(c);
	open_case();
	if (!work.actor && c->prepare)
		c->prepare();
	/* Both are ready. */
	tell(0);
	hear();
	if (work.actor)
		c->act();
	else
		c->witness();
	/* Both are done. */
	tell(0);
	hear();
	close_case();
	if (work.actor)
		report("PASS", "");
}

static void run_cases(const struct work_case *cases)
{
	for (const struct work_case *c = cases; c->name; c++) {
		if (only && !strstr(c->name, only))
			continue;
		run_case(c, true);
		run_case(c, false);
	}
}

/* ---- begin --------------------------------------------------------------------------------------- */

static void open_control(void)
{
	peer_len = address_of(address, CONTROL, &peer_addr);
	if (!peer_len)
		die("%s is no address", address);
	if (work.initiator) {
		control = socket(peer_addr.ss_family, SOCK_STREAM, 0);
		if (connect(control, (struct sockaddr *)&peer_addr, peer_len))
			die_errno("connect");
	} else {
		int l = listen_on(CONTROL);

		control = accept(l, NULL, NULL);
		if (control < 0)
			die_errno("accept");
		close(l);
	}
}

int main(int argc, char **argv)
{
	struct xiw_engine_opts eo = { .size = sizeof(eo), .app_ring_fd = -1, .cq_entries = 8192 };

	if (argc < 4 || argc > 5)
		die("usage: work listen|connect kernel|direct ADDRESS [CASE]");
	work.initiator = !strcmp(argv[1], "connect");
	path = argv[2];
	only = argv[4];
	eo.path = strcmp(path, "direct") ? XIW_USE_KERNEL : XIW_USE_DIRECT;
	address = argv[3];
	open_control();
	CHECK(!xiw_engine_create(&eo, &work.engine));
	run_cases(work_first);
	run_cases(work_memory);
	run_cases(work_queue);
	run_cases(work_depths);
	run_cases(work_extended);
	run_cases(work_ready);
	run_cases(work_gone);
	run_cases(work_careless);
	work.the_case = NULL;
	printf("%llu octets direct, %llu by the kernel\n", (unsigned long long)octets_direct,
	       (unsigned long long)octets_kernel);
	/* A machine that stands still makes streams fall back for a while. */
	CHECK(eo.path == XIW_USE_DIRECT ? octets_direct > octets_kernel : !octets_direct);
	xiw_engine_destroy(work.engine);
	close(control);
	return 0;
}
