// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * objects - how long things live: events behind the last one, completions of what was freed, objects that outlive their
 * engine, what a region's memory is read and written for. The library's end on loopback, and peers of plain sockets in
 * the same thread, so that what comes in one turn of the engine is the test's choice. Prints PASS and FAIL lines.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "ddp/hdr.h"
#include "mpa/startup.h"
#include "mpa/tx.h"

#define SIZE (1u << 20)
#define STAG 0x77u
#define CONNS 64

static struct xiw_engine *engine;
static struct xiw_listener *listener;
static struct xiw_region *region;
static uint8_t memory[SIZE];
static struct xiw_mpa_tx tx;
static bool as_rdmap, hold_answers;
static bool as_example; /* closes after the peer, and aborts after an error */

/* The connections that were heard of, and what was: they are freed at the test's end, so that no address comes twice. */
static struct seen {
	struct xiw_conn *conn;
	struct xiw_rdma *rdma;
	unsigned int events, closed, after, eof, connected, refused, written;
	struct xiw_completion last;
} seen[CONNS];
static unsigned int nseen, strangers;
static bool free_at_refused;

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			printf("       line %d: not so: %s\n", __LINE__, #x);                      \
			return false;                                                              \
		}                                                                                  \
	} while (0)

static struct seen *find(struct xiw_conn *c)
{
	for (unsigned int i = 0; i < nseen; i++)
		if (seen[i].conn == c)
			return &seen[i];
	return NULL;
}

static struct seen *add(struct xiw_conn *c)
{
	seen[nseen] = (struct seen){ .conn = c };
	return &seen[nseen++];
}

static void handle(const struct xiw_completion *c)
{
	struct seen *s = find(c->conn);

	if (!s && c->event == XIW_EV_REQUEST && nseen < CONNS)
		s = add(c->conn);
	if (!s) {
		strangers++;
		return;
	}
	s->events++;
	s->after += s->closed;
	s->last = *c;
	switch (c->event) {
	case XIW_EV_REQUEST:
		if (as_rdmap && xiw_rdma_attach(c->conn, NULL, &s->rdma))
			exit(1);
		if (!hold_answers)
			xiw_conn_accept(c->conn, NULL, 0);
		break;
	case XIW_EV_CONNECTED:
		s->connected++;
		break;
	case XIW_EV_REFUSED:
		s->refused++;
		if (free_at_refused) {
			xiw_conn_free(c->conn);
			s->conn = NULL;
		}
		break;
	case XIW_EV_WRITTEN:
		s->written++;
		break;
	case XIW_EV_EOF:
		s->eof++;
		if (as_example)
			xiw_conn_close(c->conn);
		break;
	case XIW_EV_ERROR:
		if (as_example)
			xiw_conn_abort(c->conn);
		break;
	case XIW_EV_CLOSED:
		s->closed++;
		break;
	default:
		break;
	}
}

static void take(void)
{
	struct xiw_completion c;

	while (xiw_engine_next(engine, &c))
		handle(&c);
}

static void run(unsigned int turns)
{
	while (turns--) {
		xiw_engine_run(engine, 1);
		take();
	}
}

/* Until it is so, or two seconds have passed. */
#define UNTIL(x)                                                                                   \
	do {                                                                                       \
		for (int i_ = 0; i_ < 2000 && !(x); i_++)                                          \
			run(1);                                                                    \
		CHECK(x);                                                                          \
	} while (0)

/* ---- the peer ------------------------------------------------------------------------------------ */

static int dial(void)
{
	struct sockaddr_storage addr;
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len;

	if (xiw_listener_addr(listener, &addr, &len) || connect(fd, (struct sockaddr *)&addr, len))
		exit(1);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

/* The library may have ended the connection already. */
static void push(int fd, const void *data, size_t len)
{
	(void)!send(fd, data, len, MSG_NOSIGNAL);
}

static void request(int fd)
{
	const struct xiw_mpa_frame f = { .rev = 1, .crc = true };
	uint8_t buf[XIW_MPA_FRAME_MAX];

	push(fd, buf, (size_t)xiw_mpa_frame_encode(&f, buf, sizeof(buf)));
}

/* A peer whose connection is established; the library's end is seen[nseen - 1]. -1: it is not. */
static int open_peer(void)
{
	const unsigned int before = nseen;
	uint8_t reply[20];
	size_t nread = 0;
	int fd = dial();

	request(fd);
	for (int i = 0; i < 2000 && nread < sizeof(reply); i++) {
		ssize_t n = recv(fd, reply + nread, sizeof(reply) - nread, MSG_DONTWAIT);

		if (n > 0)
			nread += (size_t)n;
		run(1);
	}
	if (nread < sizeof(reply) || nseen == before || !seen[before].connected)
		return -1;
	tx = (struct xiw_mpa_tx){ .crc = true };
	return fd;
}

static size_t tagged(uint8_t *out, uint32_t stag, uint64_t to, uint32_t len, bool last)
{
	static uint8_t payload[2048];
	const struct xiw_ddp_hdr h = { .tagged = true,
				       .last = last,
				       .dv = XIW_DDP_VERSION,
				       .rsvdulp = { 0x40 },
				       .stag = stag,
				       .to = to };
	uint8_t raw[XIW_DDP_HDR_MAX];

	return xiw_mpa_build(&tx, out, raw, xiw_ddp_hdr_encode(&h, raw), payload, len);
}

static void push_tagged(int fd, uint32_t stag, uint64_t to, uint32_t len, bool last)
{
	uint8_t f[4096];

	push(fd, f, tagged(f, stag, to, len, last));
}

static void reset(int fd)
{
	const struct linger linger = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(fd);
}

/* ---- events -------------------------------------------------------------------------------------- */

/* What is wrong, and the reset behind it, in one turn. */
static bool error_and_reset(void)
{
	for (int i = 0; i < 8; i++) {
		int fd = open_peer();
		struct seen *s = &seen[nseen - 1];

		CHECK(fd >= 0);
		push_tagged(fd, STAG, 0, 100, true);
		UNTIL(as_rdmap || s->written);
		push_tagged(fd, STAG + 1, 0, 100, true);
		reset(fd);
		UNTIL(s->closed);
		run(5);
		CHECK(s->closed == 1 && !s->after);
		CHECK(s->last.status == -EPROTO);
	}
	return true;
}

static uint32_t rnd(uint32_t below)
{
	static uint64_t x = 0x9e3779b9;

	x = x * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(x >> 33) % below;
}

/* Ends of all kinds in all orders, with turns of the engine here and there: the last event is XIW_EV_CLOSED. */
static bool hostile_mix(void)
{
	unsigned int closed = 0;

	for (int i = 0; i < CONNS; i++) {
		as_example = rnd(2);
		int fd = open_peer();
		struct seen *s = &seen[nseen - 1];
		bool gone = false;
		uint8_t f[4096];

		CHECK(fd >= 0);
		for (int k = 0; k < 6 && !gone && !s->closed; k++) {
			switch (rnd(9)) {
			case 0: /* several in one segment, the last one wrong */
				push(fd, f, tagged(f, STAG, 0, 10, true));
				push_tagged(fd, STAG + 1, 0, 10, true);
				break;
			case 1:
				push_tagged(fd, STAG, SIZE - 1, 2, true);
				break;
			case 2: /* a wrong CRC */
				push(fd, f, tagged(f, STAG, 0, 10, true) - 1);
				push(fd, "x", 1);
				break;
			case 3: /* within an FPDU */
				push(fd, f, tagged(f, STAG, 0, 10, true) / 2);
				shutdown(fd, SHUT_WR);
				gone = rnd(2);
				break;
			case 4:
				shutdown(fd, SHUT_WR);
				gone = rnd(2);
				break;
			case 5:
				reset(fd);
				fd = -1;
				gone = true;
				break;
			case 6:
				xiw_conn_close(s->conn);
				break;
			case 7:
				xiw_conn_abort(s->conn);
				break;
			default:
				run(rnd(3));
			}
		}
		if (fd >= 0)
			reset(fd);
		run(3);
		xiw_conn_abort(s->conn);
		UNTIL(s->closed);
		closed += s->closed;
	}
	run(5);
	for (unsigned int i = 0; i < nseen; i++)
		CHECK(seen[i].closed == 1 && !seen[i].after);
	CHECK(closed == CONNS && !strangers);
	return true;
}

/* ---- completions of what is freed ---------------------------------------------------------------- */

/* XIW_EV_CLOSED follows XIW_EV_REFUSED: not if the connection is freed by then. */
static bool freed_at_refused(void)
{
	struct sockaddr_in nowhere = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(nowhere);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct xiw_conn *c;

	CHECK(!bind(fd, (struct sockaddr *)&nowhere, len) &&
	      !getsockname(fd, (struct sockaddr *)&nowhere, &len));
	free_at_refused = true;
	for (int i = 0; i < 8; i++) {
		struct seen *s;

		CHECK(!xiw_connect(engine, (struct sockaddr *)&nowhere, len, NULL, &c));
		s = add(c);
		UNTIL(s->refused);
		run(5);
		CHECK(s->events == 1 && !strangers);
	}
	free_at_refused = false;
	close(fd);
	return true;
}

/* Each has events in the queue, and beyond it, when one of them is freed: those of the other are all there. */
static bool freed_with_events_queued(void)
{
	enum { MANY = 3000 };
	struct xiw_completion done;
	struct xiw_conn *freed;
	unsigned int written = 0, closed = 0;
	uint8_t f[64];
	int fd[2];

	for (int i = 0; i < 2; i++) {
		fd[i] = open_peer();
		CHECK(fd[i] >= 0);
	}
	freed = seen[0].conn;
	for (int i = 0; i < MANY; i++)
		for (int k = 0; k < 2; k++) {
			tx = (struct xiw_mpa_tx){ .crc = true };
			push(fd[k], f, tagged(f, STAG, 0, 1, true));
		}
	for (int i = 0; i < 100; i++)
		CHECK(xiw_engine_run(engine, 0) >= 0);
	xiw_conn_free(freed);
	seen[0].conn = NULL;
	for (int i = 0; i < 2000 && (written < MANY || !closed); i++) {
		xiw_engine_run(engine, 1);
		while (xiw_engine_next(engine, &done)) {
			CHECK(done.conn == seen[1].conn && done.event != XIW_EV_REQUEST);
			written += done.event == XIW_EV_WRITTEN;
			closed += done.event == XIW_EV_CLOSED;
		}
		if (written == MANY && !closed)
			xiw_conn_abort(seen[1].conn);
	}
	CHECK(written == MANY && closed == 1);
	close(fd[0]);
	close(fd[1]);
	return true;
}

/* ---- objects that outlive their engine ----------------------------------------------------------- */

static bool make_engine(void)
{
	static const uint32_t stag = STAG;
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct xiw_engine_opts eo = { .size = sizeof(eo), .app_ring_fd = -1, .cq_entries = 4096 };
	struct xiw_region_opts ro = { .size = sizeof(ro), .stag = &stag };

	return !xiw_engine_create(&eo, &engine) &&
	       !xiw_region_register(engine, memory, SIZE, &ro, &region) &&
	       !xiw_listen(engine, (struct sockaddr *)&any, sizeof(any), NULL, &listener);
}

/*
 * A connection that nobody has heard of, one that is to be answered, one that works, one that is rejected and one that is over; a
 * listener and regions. The engine goes first; they answer, and are freed in another order.
 */
static bool engine_first(void)
{
	struct xiw_region_opts ro = { .size = sizeof(ro) };
	struct xiw_message m = { .buf = memory, .len = 1, .tagged = true };
	struct sockaddr_storage addr;
	struct xiw_region *other;
	struct xiw_conn_info info;
	struct xiw_rdma *rdma;
	socklen_t len;
	int fd[5];

	CHECK(!xiw_region_register(engine, memory, SIZE, &ro, &other));
	for (int i = 0; i < 2; i++)
		CHECK((fd[i] = open_peer()) >= 0);
	reset(fd[1]);
	UNTIL(seen[1].closed);
	hold_answers = true;
	for (int i = 2; i < 4; i++) {
		fd[i] = dial();
		request(fd[i]);
		UNTIL(nseen == (unsigned int)i + 1);
	}
	hold_answers = false;
	CHECK(!xiw_conn_reject(seen[2].conn, NULL, 0));
	UNTIL(seen[2].closed);
	fd[4] = dial();
	request(fd[4]);
	for (int i = 0; i < 20; i++)
		xiw_engine_run(engine, 1);

	CHECK(!xiw_engine_destroy(engine));
	engine = NULL;
	CHECK(xiw_region_set_access(other, XIW_ACCESS_READ) == -ENOENT);
	xiw_region_free(other);
	CHECK(xiw_listener_addr(listener, &addr, &len) == -EBADF);
	for (unsigned int i = 0; i < nseen; i++) {
		xiw_conn_info(seen[i].conn, &info, sizeof(info));
		CHECK(info.error == (i == 0   ? ECONNABORTED
				     : i == 1 ? ECONNRESET
				     : i == 2 ? ECONNREFUSED
					      : ECONNABORTED));
		CHECK(xiw_conn_send(seen[i].conn, &m) < 0);
		CHECK(xiw_conn_post_recv(seen[i].conn, 0, memory, 1, 0) == -ESHUTDOWN);
		CHECK(xiw_conn_accept(seen[i].conn, NULL, 0) == -ENOTCONN);
		CHECK(xiw_conn_take_fd(seen[i].conn) == -ENOTCONN);
		CHECK(xiw_rdma_attach(seen[i].conn, NULL, &rdma) == -ENOTCONN);
		CHECK(xiw_conn_private_data(seen[i].conn, NULL));
		xiw_conn_abort(seen[i].conn);
		CHECK(!xiw_conn_close(seen[i].conn));
	}
	while (nseen)
		xiw_conn_free(seen[--nseen].conn);
	xiw_region_free(region);
	xiw_listener_free(listener);
	for (int i = 0; i < 5; i++)
		if (i != 1)
			close(fd[i]);
	return make_engine();
}

/* With RDMAP on it, and operations posted. */
static bool engine_first_rdmap(void)
{
	struct xiw_rdma_op op = { .kind = XIW_RDMA_SEND, .buf = memory, .len = 1 };
	struct xiw_rdma_info info;
	int fd = open_peer();

	CHECK(fd >= 0);
	for (int i = 0; i < 4; i++)
		CHECK(!xiw_rdma_post(seen[0].rdma, &op));
	CHECK(!xiw_engine_destroy(engine));
	engine = NULL;
	CHECK(xiw_rdma_post(seen[0].rdma, &op) == -EPIPE);
	CHECK(xiw_rdma_post_recv(seen[0].rdma, memory, 1, 0) == -ESHUTDOWN);
	CHECK(!xiw_rdma_close(seen[0].rdma));
	xiw_rdma_terminate(seen[0].rdma);
	xiw_rdma_info(seen[0].rdma, &info, sizeof(info));
	CHECK(!info.sends_out);
	xiw_conn_free(seen[0].conn);
	nseen = 0;
	xiw_listener_free(listener);
	xiw_region_free(region);
	close(fd);
	return make_engine();
}

/* An application that ends with its engine frees nothing: no leak checker minds. */
static bool nothing_freed(void)
{
	int fd = open_peer();

	CHECK(fd >= 0);
	CHECK(!xiw_engine_destroy(engine));
	engine = NULL;
	nseen = 0;
	close(fd);
	return make_engine();
}

/* ---- what is refused ----------------------------------------------------------------------------- */

static bool receive_after_end(void)
{
	int fd = open_peer();
	struct seen *s = &seen[0];

	CHECK(fd >= 0);
	CHECK(!xiw_conn_post_recv(s->conn, 0, memory, 1, 0));
	shutdown(fd, SHUT_WR);
	UNTIL(s->eof);
	CHECK(xiw_conn_post_recv(s->conn, 0, memory, 1, 0) == -ESHUTDOWN);
	reset(fd);
	xiw_conn_abort(s->conn);
	UNTIL(s->closed);
	CHECK(xiw_conn_post_recv(s->conn, 0, memory, 1, 0) == -ESHUTDOWN);
	return true;
}

/* The numbers of RDMAP's own messages and buffers are not the application's. */
static bool ddp_under_rdmap(void)
{
	const struct xiw_message m = { .buf = memory, .len = 1, .user_data = UINT64_MAX };
	int fd = open_peer();

	CHECK(fd >= 0);
	CHECK(xiw_conn_send(seen[0].conn, &m) == -EINVAL);
	for (uint32_t qn = 0; qn < 3; qn++)
		CHECK(xiw_conn_post_recv(seen[0].conn, qn, memory, 1, 1ull << 40) == -EINVAL);
	reset(fd);
	UNTIL(seen[0].closed);
	return true;
}

/* Bound to a connection: of the same engine, or the number may be another connection's there. */
static bool region_of_another_engine(void)
{
	struct xiw_region_opts ro = { .size = sizeof(ro) };
	struct xiw_region *r;
	struct xiw_engine *e;
	int fd = open_peer();

	CHECK(fd >= 0 && !xiw_engine_create(NULL, &e));
	ro.conn = seen[0].conn;
	CHECK(xiw_region_register(e, memory, 1, &ro, &r) == -EINVAL);
	CHECK(!xiw_region_register(engine, memory, 1, &ro, &r));
	xiw_region_free(r);
	xiw_engine_destroy(e);
	reset(fd);
	UNTIL(seen[0].closed);
	return true;
}

/* ---- a socket that is taken back ------------------------------------------------------------------ */

struct options {
	int nodelay, oobinline, rcvbuf, locks, keepalive, idle, user_timeout;
};

static struct options options_of(int fd)
{
	struct options o = { -1, -1, -1, -1, -1, -1, -1 };
	socklen_t len = sizeof(int);

	getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &o.nodelay, &len);
	getsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &o.oobinline, &len);
	getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &o.rcvbuf, &len);
	getsockopt(fd, SOL_SOCKET, 72 /* SO_BUF_LOCK */, &o.locks, &len);
	getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &o.keepalive, &len);
	getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &o.idle, &len);
	getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &o.user_timeout, &len);
	return o;
}

/* Two ends of a connection that the library has nothing to do with. */
static bool plain_pair(int fd[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(!bind(l, (struct sockaddr *)&a, len) && !listen(l, 1) &&
	      !getsockname(l, (struct sockaddr *)&a, &len) &&
	      !connect(fd[0], (struct sockaddr *)&a, len));
	fd[1] = accept4(l, NULL, NULL, SOCK_CLOEXEC);
	close(l);
	return fd[1] >= 0;
}

/* The library's end is rejected, and its socket taken: it is as `want` says. */
static bool taken_as(unsigned int i, int peer, const struct options *want)
{
	struct options got;
	int fd;

	request(peer);
	UNTIL(nseen == i + 1 && seen[i].events);
	CHECK(!xiw_conn_reject(seen[i].conn, NULL, 0));
	UNTIL(seen[i].closed);
	fd = xiw_conn_take_fd(seen[i].conn);
	CHECK(fd >= 0);
	got = options_of(fd);
	if (memcmp(&got, want, sizeof(got)))
		printf("       %d %d %d %d %d %d %d, not %d %d %d %d %d %d %d\n", got.nodelay,
		       got.oobinline, got.rcvbuf, got.locks, got.keepalive, got.idle,
		       got.user_timeout, want->nodelay, want->oobinline, want->rcvbuf, want->locks,
		       want->keepalive, want->idle, want->user_timeout);
	close(fd);
	close(peer);
	return !memcmp(&got, want, sizeof(got));
}

static bool socket_as_it_was(void)
{
	const int one = 1, size = 50000, seconds = 77;
	struct options was;
	struct xiw_conn *c;
	int fd[2], peer;

	hold_answers = true;
	/* As accepted by anybody. */
	CHECK(plain_pair(fd));
	was = options_of(fd[1]);
	close(fd[0]);
	close(fd[1]);
	peer = dial();
	CHECK(taken_as(0, peer, &was));
	/* The application's own, as it was, and with options of its own. */
	for (unsigned int own = 0; own < 2; own++) {
		CHECK(plain_pair(fd));
		if (own) {
			setsockopt(fd[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
			setsockopt(fd[1], SOL_SOCKET, SO_OOBINLINE, &one, sizeof(one));
			setsockopt(fd[1], SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
			setsockopt(fd[1], IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
			setsockopt(fd[1], IPPROTO_TCP, TCP_USER_TIMEOUT, &size, sizeof(size));
			setsockopt(fd[1], SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
		}
		was = options_of(fd[1]);
		CHECK(!xiw_conn_from_fd(engine, fd[1], false, NULL, NULL, &c));
		add(c);
		CHECK(taken_as(1 + own, fd[0], &was));
	}
	return true;
}

/* ---- octets that do not follow each other -------------------------------------------------------- */

static bool written_in_pieces(void)
{
	int fd = open_peer();
	struct seen *s = &seen[0];

	CHECK(fd >= 0);
	push_tagged(fd, STAG, 100, 100, false);
	push_tagged(fd, STAG, 200, 1, true);
	UNTIL(s->written == 1);
	CHECK(!s->last.flags && s->last.to == 100 && s->last.length == 101);
	/* The last octet of the region, and a hundred that are not in front of it; nor behind it. */
	push_tagged(fd, STAG, SIZE - 1, 1, false);
	push_tagged(fd, STAG, 0, 100, true);
	UNTIL(s->written == 2);
	CHECK(s->last.flags == XIW_COMPLETION_SCATTERED && s->last.to == SIZE - 1 &&
	      !s->last.length);
	/* Some of them twice. */
	push_tagged(fd, STAG, 0, 100, false);
	push_tagged(fd, STAG, 0, 100, true);
	UNTIL(s->written == 3);
	CHECK(s->last.flags == XIW_COMPLETION_SCATTERED && !s->last.to && !s->last.length);
	push_tagged(fd, STAG, 7, 0, true);
	UNTIL(s->written == 4);
	CHECK(!s->last.flags && !s->last.to && !s->last.length);
	reset(fd);
	UNTIL(s->closed);
	return true;
}

/* ---- run ----------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	bool (*fn)(void);
	bool rdmap;
} tests[] = {
	{ "error-and-reset", error_and_reset, false },
	{ "error-and-reset-rdmap", error_and_reset, true },
	{ "hostile-mix", hostile_mix, false },
	{ "hostile-mix-rdmap", hostile_mix, true },
	{ "freed-at-refused", freed_at_refused, false },
	{ "freed-with-events-queued", freed_with_events_queued, false },
	{ "engine-first", engine_first, false },
	{ "engine-first-rdmap", engine_first_rdmap, true },
	{ "nothing-freed", nothing_freed, false },
	{ "receive-after-end", receive_after_end, false },
	{ "ddp-under-rdmap", ddp_under_rdmap, true },
	{ "region-of-another-engine", region_of_another_engine, false },
	{ "socket-as-it-was", socket_as_it_was, false },
	{ "written-in-pieces", written_in_pieces, false },
};

int main(int argc, char **argv)
{
	int failures = 0;

	if (!make_engine())
		return 1;
	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		bool ok;

		if (argc > 1 && strcmp(argv[1], tests[i].name))
			continue;
		nseen = strangers = 0;
		as_rdmap = tests[i].rdmap;
		hold_answers = free_at_refused = as_example = false;
		ok = tests[i].fn();
		printf("%s %s%s\n", ok ? "PASS" : "FAIL", tests[i].name, ok ? "" : ": see above");
		fflush(stdout);
		failures += !ok;
		while (nseen)
			xiw_conn_free(seen[--nseen].conn);
		run(10);
	}
	xiw_listener_free(listener);
	xiw_region_free(region);
	xiw_engine_destroy(engine);
	return !!failures;
}
