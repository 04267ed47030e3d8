// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Both ends of the benchmark's connections.
 *
 *   wire_bench recv PATH ADDRESS PORT MIB REGION_MIB NAPI [FILE]
 *                                  one connection; prints what it cost, as a line of JSON
 *   wire_bench send PATH ADDRESS PORT MIB REGION_MIB NAPI [FILE]
 *                                  prints what the NAPI threads and this process cost, in ns per octet
 *
 * PATH is direct, copy (direct, with AF_XDP sockets that copy even if the driver could do without), markers (direct,
 * with markers in the stream) or kernel (the library: tagged messages of 1 MiB to one region, again and again) or plain
 * (TCP without framing or CRC). In each case the octets are placed at the same addresses: the memory at both ends is as
 * long as the region. They are compared at the end, so no figure is about wrong octets. With FILE that memory is a
 * file, which the sender has and the receiver makes anew; whoever runs this compares the files. With HUGE=1 in the
 * environment it is on huge pages, as far as the kernel has some.
 *
 * The measurement begins with the second MiB, when the connection has found its path and speed, and ends with the last.
 * NAPI is the pid of the interface's NAPI thread, or a list `pid,pid...` of all of them. They must be pinned to this
 * end's core: then they do not run while it reads their CPU time, so that the value is exact. The sender's thread
 * receives ACKs, and then transmits.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/if_xdp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "tests/net/lib/ended.h"
#include "tests/bench/account.h"
#include "tests/bench/area.h"
#include "tests/bench/marker.h"

#define CHUNK (256ul << 10) /* per call of send and recv on the plain path */
#define STAG 0x1234

struct bench {
	enum { DIRECT, COPY, MARKERS, KERNEL, PLAIN } path;
	struct sockaddr_in addr;
	uint64_t mib, region; /* the latter in octets */
	uint8_t *area;
	const char *file; /* or NULL */
	struct napis napis;
	struct account from, to;
	struct xiw_conn_info info;
};

static const char *const path_names[] = { "direct", "copy", "markers", "kernel", "plain" };
static bool copy; /* for bind() */

static void __attribute__((noreturn)) die(const char *what, int err)
{
	fprintf(stderr, "wire_bench: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

static void usage(void)
{
	fprintf(stderr, "usage: wire_bench recv|send direct|copy|markers|kernel|plain "
			"ADDRESS PORT MIB REGION_MIB NAPI [FILE]\n");
	exit(2);
}

/* Called by libxdp in place of libc's: the library has no option that forbids AF_XDP to do without a copy. */
int __attribute__((visibility("default"))) bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct sockaddr_xdp sx;

	if (!copy || addr->sa_family != AF_XDP || len != sizeof(sx))
		return (int)syscall(SYS_bind, fd, addr, len);
	memcpy(&sx, addr, sizeof(sx));
	sx.sxdp_flags |= XDP_COPY;
	return (int)syscall(SYS_bind, fd, &sx, len);
}

/* ---- accounts ------------------------------------------------------------------------------------ */

static void begin(struct bench *b, uint64_t octets)
{
	b->from = account_now(&b->napis, octets);
	mark_begin();
}

static void end(struct bench *b, uint64_t octets)
{
	mark_end();
	b->to = account_now(&b->napis, octets);
}

static void print_result(const struct bench *b)
{
	const struct xiw_conn_info *i = &b->info;
	uint64_t all = i->octets_direct + i->octets_kernel;

	printf("{ \"path\": \"%s\", \"octets\": %" PRIu64
	       ", \"seconds\": %.6f, \"app_cpu_ns\": %" PRIu64 ", \"napi_cpu_ns\": %" PRIu64
	       ", \"switches\": %" PRIu64 ", \"direct_share\": %.6f"
	       ", \"segments_direct\": %" PRIu64 ", \"acks_sent\": %" PRIu64
	       ", \"went_direct\": %" PRIu64 ", \"crc_errors\": %" PRIu64 ", \"zero_copy\": %s }\n",
	       path_names[b->path], b->to.octets - b->from.octets,
	       (double)(b->to.ns - b->from.ns) / 1e9, b->to.app_ns - b->from.app_ns,
	       b->to.napi_ns - b->from.napi_ns, b->to.switches - b->from.switches,
	       all ? (double)i->octets_direct / (double)all : 0, i->segments_direct, i->acks_sent,
	       i->went_direct, i->crc_errors, i->zero_copy ? "true" : "false");
}

static void print_cost(const struct bench *b)
{
	const struct account *x = &b->from, *y = &b->to;

	const double octets = (double)(y->octets - x->octets);

	printf("%.6f %.6f\n", (double)(y->napi_ns - x->napi_ns) / octets,
	       (double)(y->app_ns - x->app_ns) / octets);
}

/* ---- plain TCP ----------------------------------------------------------------------------------- */

static void receive_plain(struct bench *b)
{
	int fd, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	uint64_t got = 0;

	if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(listener, (struct sockaddr *)&b->addr, sizeof(b->addr)) || listen(listener, 1))
		die("listen", errno);
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		die("accept", errno);
	close(listener);
	while (got < b->mib * MIB) {
		size_t at = got % b->region, room = b->region - at;
		ssize_t n = recv(fd, b->area + at, room < CHUNK ? room : CHUNK, 0);

		if (n <= 0)
			die("recv", n ? errno : ECONNRESET);
		got += (uint64_t)n;
		if (!b->from.octets && got >= MIB)
			begin(b, got);
	}
	end(b, got);
	close(fd);
}

static void send_plain(struct bench *b)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint64_t sent = 0;
	char at_end;

	if (fd < 0 || connect(fd, (struct sockaddr *)&b->addr, sizeof(b->addr)))
		die("connect", errno);
	while (sent < b->mib * MIB) {
		size_t at = sent % b->region;
		ssize_t n = send(fd, b->area + at, CHUNK - at % CHUNK, MSG_NOSIGNAL);

		if (n < 0)
			die("send", errno);
		sent += (uint64_t)n;
		if (!b->from.octets && sent >= MIB)
			b->from = account_now(&b->napis, sent);
	}
	/* Until the peer has everything, as far as it tells. */
	if (shutdown(fd, SHUT_WR) || recv(fd, &at_end, 1, 0))
		die("the end", errno);
	b->to = account_now(&b->napis, sent);
	close(fd);
}

/* ---- the library --------------------------------------------------------------------------------- */

static void failed(const char *what, const struct xiw_completion *c)
{
	struct xiw_conn_info info;

	xiw_conn_info(c->conn, &info, sizeof(info));
	fprintf(stderr, "wire_bench: %s: %s; %s; %s; %s\n", what, strerror(-c->status),
		xiw_mpa_error_name(info.mpa_error), xiw_ddp_error_name(info.ddp_error),
		info.no_direct);
	exit(1);
}

static void receive_message(struct bench *b, const struct xiw_completion *c, uint64_t *octets)
{
	*octets += c->length;
	if (!b->from.octets)
		begin(b, *octets);
	else if (*octets == b->mib * MIB)
		end(b, *octets);
}

static bool receive_event(struct bench *b, const struct xiw_completion *c, uint64_t *octets)
{
	switch (c->event) {
	case XIW_EV_REQUEST:
		xiw_conn_accept(c->conn, NULL, 0);
		break;
	case XIW_EV_WRITTEN:
		receive_message(b, c, octets);
		break;
	case XIW_EV_CLOSED:
		if (c->status || !b->to.octets)
			failed("the connection ended early", c);
		xiw_conn_info(c->conn, &b->info, sizeof(b->info));
		xiw_conn_free(c->conn);
		return false;
	default:
		follow_end(c);
		break;
	}
	return true;
}

static void receive_library(struct bench *b)
{
	struct xiw_engine_opts opts = {
		.size = sizeof(opts),
		.app_ring_fd = -1,
		.path = b->path == KERNEL ? XIW_USE_KERNEL : XIW_USE_DIRECT,
	};
	struct xiw_conn_opts conn_opts = {
		.size = sizeof(conn_opts),
		.path = opts.path,
		.markers = b->path == MARKERS,
	};
	uint32_t stag = STAG;
	struct xiw_region_opts region_opts = { .size = sizeof(region_opts), .stag = &stag };
	struct xiw_listener *listener;
	struct xiw_completion c;
	struct xiw_engine *engine;
	struct xiw_region *region;
	uint64_t octets = 0;
	bool more = true;
	int err;

	err = xiw_engine_create(&opts, &engine);
	if (err)
		die("engine", err);
	err = xiw_region_register(engine, b->area, b->region, &region_opts, &region);
	if (err)
		die("region", err);
	err = xiw_listen(engine, (struct sockaddr *)&b->addr, sizeof(b->addr), &conn_opts,
			 &listener);
	if (err)
		die("listen", err);
	while (more) {
		err = xiw_engine_run(engine, -1);
		if (err < 0 && err != -EINTR)
			die("engine", err);
		while (more && xiw_engine_next(engine, &c) > 0)
			more = receive_event(b, &c, &octets);
	}
	xiw_listener_free(listener);
	xiw_region_free(region);
	xiw_engine_destroy(engine);
}

/* Queues messages until the queue is full. */
static void send_messages(struct bench *b, struct xiw_conn *conn, uint64_t *queued)
{
	while (*queued < b->mib) {
		uint64_t at = *queued * MIB % b->region;
		struct xiw_message m = {
			.buf = b->area + at,
			.len = MIB,
			.tagged = true,
			.stag = STAG,
			.to = at,
		};
		int err = xiw_conn_send(conn, &m);

		if (err == -EAGAIN)
			return;
		if (err)
			die("send", err);
		++*queued;
	}
	xiw_conn_close(conn);
}

static bool send_event(struct bench *b, const struct xiw_completion *c, uint64_t *queued,
		       uint64_t *sent)
{
	switch (c->event) {
	case XIW_EV_SENT:
		*sent += MIB;
		if (!b->from.octets)
			b->from = account_now(&b->napis, *sent);
		send_messages(b, c->conn, queued);
		break;
	case XIW_EV_CONNECTED:
		send_messages(b, c->conn, queued);
		break;
	case XIW_EV_REFUSED:
		failed("connect", c);
		break;
	case XIW_EV_CLOSED:
		if (c->status)
			failed("the connection ended early", c);
		b->to = account_now(&b->napis, *sent);
		xiw_conn_free(c->conn);
		return false;
	default:
		break;
	}
	return true;
}

static void send_library(struct bench *b)
{
	struct xiw_engine_opts opts = {
		.size = sizeof(opts),
		.app_ring_fd = -1,
		.path = XIW_USE_KERNEL,
	};
	struct xiw_conn_opts conn_opts = { .size = sizeof(conn_opts), .path = opts.path };
	struct xiw_completion c;
	struct xiw_engine *engine;
	struct xiw_conn *conn;
	uint64_t queued = 0, sent = 0;
	bool more = true;
	int err;

	err = xiw_engine_create(&opts, &engine);
	if (err)
		die("engine", err);
	err = xiw_connect(engine, (struct sockaddr *)&b->addr, sizeof(b->addr), &conn_opts, &conn);
	if (err)
		die("connect", err);
	while (more) {
		err = xiw_engine_run(engine, -1);
		if (err < 0 && err != -EINTR)
			die("engine", err);
		while (more && xiw_engine_next(engine, &c) > 0)
			more = send_event(b, &c, &queued, &sent);
	}
	xiw_engine_destroy(engine);
}

/* ---- the command line ---------------------------------------------------------------------------- */

static uint8_t *make_area(const struct bench *b, bool receiver)
{
	void *p;
	int err;

	if (b->file)
		return area_of_file(b->file, b->region, receiver);
	if (!getenv("HUGE"))
		return area_make(b->region);
	err = xiw_memory_alloc(b->region, XIW_MEMORY_PRESENT, &p);
	if (err)
		die("memory", err);
	return p;
}

static void receive(struct bench *b)
{
	if (b->path == PLAIN)
		receive_plain(b);
	else
		receive_library(b);
	if (!b->file)
		area_check(b->area, MIN(b->mib * MIB, b->region));
	print_result(b);
}

static void transmit(struct bench *b)
{
	if (!b->file)
		area_fill(b->area, b->region);
	if (b->path == PLAIN)
		send_plain(b);
	else
		send_library(b);
	print_cost(b);
}

int main(int argc, char **argv)
{
	struct bench b = { .addr = { .sin_family = AF_INET } };
	bool receiver;
	size_t p;

	if (argc != 8 && argc != 9)
		usage();
	receiver = !strcmp(argv[1], "recv");
	if (!receiver && strcmp(argv[1], "send"))
		usage();
	for (p = 0; p <= PLAIN && strcmp(argv[2], path_names[p]); p++)
		;
	b.mib = strtoull(argv[5], NULL, 10);
	b.region = strtoull(argv[6], NULL, 10) * MIB;
	if (p > PLAIN || inet_pton(AF_INET, argv[3], &b.addr.sin_addr) != 1 || b.mib < 2 ||
	    !b.region)
		usage();
	b.path = p;
	copy = p == COPY;
	b.addr.sin_port = htons((uint16_t)atoi(argv[4]));
	b.file = argv[8];
	b.area = make_area(&b, receiver);
	b.napis = napis_open(argv[7]);
	if (receiver)
		receive(&b);
	else
		transmit(&b);
	return 0;
}
