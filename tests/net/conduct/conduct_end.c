// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The application: one engine with connections on both paths, each with a buffer of its own. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/net/conduct/conduct.h"
#include "tests/net/lib/loss.h"

#define WINDOW (128u << 10)

struct app apps[PORTS];
_Atomic bool app_deaf, app_hangs;
_Atomic uint64_t app_lost;

static struct xiw_engine *engine;
static int listener[2]; /* for the kernel path, for the direct path */
static pthread_t thread;
static _Atomic bool stop;

static int listen_at(uint16_t port)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int size = WINDOW * 4, one = 1;

	/* The same on both paths, so that windows and their scale are equal. */
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&any, sizeof(any)) || listen(fd, 1024))
		return -1;
	return fd;
}

static void take_connection(int fd, const struct sockaddr_in6 *from, bool direct)
{
	uint16_t port = ntohs(from->sin6_port);
	struct app *a = &apps[port - FIRST_PORT];
	struct xiw_conn_opts co = { .size = sizeof(co),
				    .user_data = (uintptr_t)a,
				    .path = direct ? XIW_USE_DIRECT : XIW_USE_KERNEL };
	uint32_t stag = 0x10000u | port;
	struct xiw_region_opts ro = { .size = sizeof(ro), .stag = &stag };
	struct xiw_conn *c = NULL;

	if (port < FIRST_PORT || port >= FIRST_PORT + PORTS || a->before)
		goto refuse;
	a->before = a->conn;
	if (!a->before)
		a->mem = mmap(NULL, APP_MEM, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (a->mem == MAP_FAILED ||
	    (!a->before && xiw_region_register(engine, a->mem, APP_MEM, &ro, &a->region)) ||
	    xiw_conn_from_fd(engine, fd, false, &co, NULL, &c))
		goto refuse;
	a->fd = fd;
	a->port = port;
	a->conn = c;
	return;
refuse:
	fprintf(stderr, "connection from port %u is not taken\n", port);
	close(fd);
}

static void handle(const struct xiw_completion *c)
{
	struct app *a = (struct app *)(uintptr_t)c->user_data;

	switch (c->event) {
	case XIW_EV_REQUEST:
		xiw_conn_accept(c->conn, NULL, 0);
		break;
	case XIW_EV_WRITTEN:
		a->messages++;
		break;
	case XIW_EV_EOF:
		a->eof = true;
		break;
	case XIW_EV_ERROR:
		a->error = true;
		break;
	case XIW_EV_CLOSED:
		a->status = c->status;
		xiw_conn_info(c->conn, &a->info, sizeof(a->info));
		a->closed = true;
		break;
	default:
		break;
	}
}

static void serve(struct app *a)
{
	static const uint8_t text[100] = { 1, 2, 3 };
	struct xiw_message m = { .buf = text, .len = sizeof(text), .user_data = (uintptr_t)a };
	unsigned int want = a->want;
	int one = 1, class = APP_TCLASS, hops = APP_HOPS;

	if (!want || !a->conn)
		return;
	if (!a->closed) {
		if (want & APP_CLASS) {
			setsockopt(a->fd, IPPROTO_IP, IP_TOS, &class, sizeof(class));
			setsockopt(a->fd, IPPROTO_IP, IP_TTL, &hops, sizeof(hops));
			setsockopt(a->fd, IPPROTO_IPV6, IPV6_TCLASS, &class, sizeof(class));
			setsockopt(a->fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &hops, sizeof(hops));
		}
		if (want & APP_SEND)
			xiw_conn_send(a->conn, &m);
		if (want & APP_CLOSE)
			xiw_conn_close(a->conn);
		if (want & APP_ABORT)
			xiw_conn_abort(a->conn);
		if (want & APP_KEEPALIVE) {
			setsockopt(a->fd, IPPROTO_TCP, TCP_KEEPIDLE, &one, sizeof(one));
			setsockopt(a->fd, IPPROTO_TCP, TCP_KEEPINTVL, &one, sizeof(one));
			setsockopt(a->fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
		}
		xiw_conn_info(a->conn, &a->info, sizeof(a->info));
	}
	a->want &= ~want;
}

static void *work(void *arg)
{
	struct sockaddr_in6 from;
	struct xiw_completion c;
	socklen_t len;
	int fd;

	(void)arg;
	while (!stop) {
		for (int i = 0; i < 2; i++) {
			len = sizeof(from);
			fd = accept4(listener[i], (struct sockaddr *)&from, &len, SOCK_CLOEXEC);
			if (fd >= 0)
				take_connection(fd, &from, i);
		}
		if (app_hangs) {
			usleep(1000);
			continue;
		}
		if (xiw_engine_run(engine, 1) < 0)
			fprintf(stderr, "xiw_engine_run failed\n");
		while (!app_deaf && xiw_engine_next(engine, &c))
			handle(&c);
		for (struct app *a = apps; a < apps + PORTS; a++)
			serve(a);
		app_lost = loss_of_rings(engine);
	}
	for (struct app *a = apps; a < apps + PORTS; a++) {
		if (a->before)
			xiw_conn_free(a->before);
		if (a->conn)
			xiw_conn_free(a->conn);
	}
	xiw_engine_destroy(engine);
	return NULL;
}

static struct _start {
	pthread_barrier_t ready;
	bool ok;
} start;

/* An engine belongs to the thread that made it. */
static void *begin(void *arg)
{
	struct xiw_engine_opts eo = {
		.size = sizeof(eo), .app_ring_fd = -1, .cq_entries = 4096, .window = WINDOW
	};

	listener[0] = listen_at(KERNEL_PORT);
	listener[1] = listen_at(DIRECT_PORT);
	start.ok = listener[0] >= 0 && listener[1] >= 0 && !xiw_engine_create(&eo, &engine);
	pthread_barrier_wait(&start.ready);
	return start.ok ? work(arg) : NULL;
}

bool end_start(void)
{
	pthread_barrier_init(&start.ready, NULL, 2);
	if (pthread_create(&thread, NULL, begin, NULL))
		return false;
	pthread_barrier_wait(&start.ready);
	return start.ok;
}

void end_stop(void)
{
	stop = true;
	pthread_join(thread, NULL);
}
