// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * work - an application that uses all that RDMAP offers for real work, in both roles, with every octet compared.
 *
 *   work listen|connect kernel|direct ADDRESS [CASE]
 *
 * The cases are in work_*.c. Prints PASS for each case in which this end has acted, and FAIL.
 */
#include "tests/net/conn/work.h"

#include <poll.h>
#include <unistd.h>

#define CONTROL 15050
#define PORT 15051
#define PATIENCE_MS 60000

struct work work;
uint8_t arenas[ARENAS][ARENA];

static const char *path, *only, *address;
static uint16_t port = PORT;
static struct sockaddr_storage peer_addr;
static socklen_t peer_len;
static struct xiw_listener *listener;
static struct xiw_conn_opts conn_opts;
static struct xiw_rdma_opts rdma_opts;
static uint64_t octets_direct, octets_kernel;
static int control = -1;
static bool actor;

static void report(const char *word, const char *why)
{
	printf("%s %s-%s-%s%s\n", word, path, work.initiator ? "initiator" : "responder",
	       work.the_case ? work.the_case->name : "begin", why);
	fflush(stdout);
}

void work_failed(const char *file, int line, const char *what)
{
	char why[512];

	snprintf(why, sizeof(why), " as %s: %s:%d: %s", actor ? "actor" : "witness", file, line,
		 what);
	report("FAIL", why);
	exit(1);
}

/* ---- turns ------------------------------------------------------------------------------------- */

static void attach(struct xiw_conn *c)
{
	work.conn = c;
	CHECK(!xiw_rdma_attach(c, &rdma_opts, &work.rdma));
}

static void handle(const struct xiw_completion *c)
{
	switch (c->event) {
	case XIW_EV_REQUEST:
		attach(c->conn);
		CHECK(!xiw_conn_accept(c->conn, NULL, 0));
		break;
	case XIW_EV_CONNECTED:
		work.connected = true;
		break;
	case XIW_EV_ERROR:
		work.failed = true;
		break;
	case XIW_EV_TERMINATED:
		work.terminated = true;
		break;
	case XIW_EV_EOF:
		/* The Initiator closes first. */
		if (!work.initiator)
			xiw_rdma_close(work.rdma);
		break;
	case XIW_EV_CLOSED:
		work.closed = true;
		break;
	default:
		CHECK(work.ngot < COMPLETIONS);
		work.got[work.ngot++] = *c;
	}
}

void take_turn(void)
{
	struct xiw_completion c;
	int err = xiw_engine_run(work.engine, 1);

	CHECK(err >= 0 || err == -EINTR);
	while (xiw_engine_next(work.engine, &c) > 0)
		handle(&c);
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
		CHECK(!work.closed);
		take_turn();
	}
	CHECK(work.ngot == n);
	return work.got;
}

const struct xiw_completion *done(unsigned int i, enum xiw_event event, uint64_t user_data)
{
	const struct xiw_completion *c = &work.got[i];

	CHECK(i < work.ngot);
	CHECK(c->event == event);
	CHECK(!c->status);
	CHECK(c->user_data == user_data);
	return c;
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

	CHECK(!xiw_rdma_post_many(work.rdma, ops, n, &posted));
	CHECK(posted == n);
}

void post_recvs(unsigned int n)
{
	unsigned int posted;

	CHECK(!xiw_rdma_post_recv_many(work.rdma, recvs, n, &posted));
	CHECK(posted == n);
}

/* ---- the other end ------------------------------------------------------------------------------- */

void tell(uint64_t value)
{
	CHECK(send(control, &value, sizeof(value), MSG_NOSIGNAL) == sizeof(value));
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

/* ---- octets -------------------------------------------------------------------------------------- */

void lay(struct iovec *iov, unsigned int n, uint8_t *arena, size_t len, uint64_t seed)
{
	uint8_t *end = arena + ARENA;

	memset(arena, 0xee, ARENA);
	for (unsigned int i = 0; i < n; i++) {
		size_t part = lcg(&seed, 5) ? lcg(&seed, 2 * (uint32_t)(len / (n - i)) + 2) : 0;

		if (part > len || i == n - 1)
			part = len;
		len -= part;
		end -= part + 3;
		CHECK(end >= arena);
		iov[i] = (struct iovec){ end, part };
	}
}

void fill(const struct iovec *iov, unsigned int n, uint64_t stream)
{
	uint64_t off = 0;

	for (unsigned int i = 0; i < n; off += iov[i++].iov_len)
		stream_octets(stream, off, iov[i].iov_base, iov[i].iov_len);
}

void check_arena(const struct iovec *iov, unsigned int n, uint8_t *arena, uint64_t stream,
		 size_t len)
{
	uint64_t off = 0;

	for (unsigned int i = 0; i < n && off < len; i++) {
		size_t part = iov[i].iov_len < len - off ? iov[i].iov_len : len - off;

		CHECK(stream_wrong(stream, off, iov[i].iov_base, part) < 0);
		memset(iov[i].iov_base, 0xee, part);
		off += part;
	}
	CHECK(off == len);
	for (size_t i = 0; i < ARENA; i++)
		CHECK(arena[i] == 0xee);
}

struct xiw_region *work_region(uint8_t *arena, unsigned int access)
{
	const struct xiw_region_opts o = { .size = sizeof(o), .conn = work.conn, .access = access };
	struct xiw_region *region;

	CHECK(!xiw_region_register(work.engine, arena, ARENA, &o, &region));
	return region;
}

/* ---- cases --------------------------------------------------------------------------------------- */

static void open_case(const struct work_case *c)
{
	/* A freed listener may have its port for a moment longer. */
	peer_len = address_of(address, port++, &peer_addr);
	work.the_case = c;
	work.conn = NULL;
	work.rdma = NULL;
	work.connected = work.failed = work.terminated = work.closed = false;
	work.ngot = 0;
	conn_opts = (struct xiw_conn_opts){ .size = sizeof(conn_opts), .enhanced = true };
	if (work.initiator)
		conn_opts.rtr = XIW_RTR_WRITE; /* so that a Responder may send first */
	rdma_opts = (struct xiw_rdma_opts){ .size = sizeof(rdma_opts) };
	if (c->options)
		c->options(&conn_opts, &rdma_opts);
	if (work.initiator) {
		struct xiw_conn *conn;

		hear(); /* the other end listens */
		CHECK(!xiw_connect(work.engine, (struct sockaddr *)&peer_addr, peer_len, &conn_opts,
				   &conn));
		attach(conn);
	} else {
		CHECK(!xiw_listen(work.engine, (struct sockaddr *)&peer_addr, peer_len, &conn_opts,
				  &listener));
		tell(0);
	}
	await_flag(&work.connected);
}

static void count_path(void)
{
	struct xiw_conn_info info;

	xiw_conn_info(work.conn, &info, sizeof(info));
	octets_direct += info.octets_direct;
	octets_kernel += info.octets_kernel;
}

static void close_case(void)
{
	if (work.initiator && !work.the_case->fails)
		xiw_rdma_close(work.rdma);
	await_flag(&work.closed);
	count_path();
	xiw_conn_free(work.conn);
	if (!work.initiator)
		xiw_listener_free(listener);
}

static void run_case(const struct work_case *c, bool initiator_acts)
{
	actor = work.initiator == initiator_acts;
	open_case(c);
	if (!actor && c->prepare)
		c->prepare();
	/* Both are ready. */
	tell(0);
	hear();
	if (actor)
		c->act();
	else
		c->witness();
	/* Both are done. */
	tell(0);
	hear();
	close_case();
	if (actor)
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
	run_cases(work_memory);
	run_cases(work_queue);
	work.the_case = NULL;
	printf("%llu octets direct, %llu by the kernel\n", (unsigned long long)octets_direct,
	       (unsigned long long)octets_kernel);
	/* A machine that stands still makes streams fall back for a while. */
	CHECK(eo.path == XIW_USE_DIRECT ? octets_direct > octets_kernel : !octets_direct);
	xiw_engine_destroy(work.engine);
	close(control);
	return 0;
}
