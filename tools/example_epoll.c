// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A receiver in an epoll loop: the engine is one descriptor among others, here beside a timer that counts each second.
 *
 *   example_epoll 15044
 *   example_send HOST 15044 "some text"
 *
 * example_sink is the same in a loop of the engine's own.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

static char buffer[1 << 20];
static const uint32_t stag = 0x1234;
static unsigned long long octets; /* in the last second */

static int failed(const char *what, int err)
{
	fprintf(stderr, "%s: %s\n", what, strerror(err));
	return 1;
}

static void handle(const struct xiw_completion *c)
{
	switch (c->event) {
	case XIW_EV_REQUEST: /* a peer has connected and asks for MPA */
		xiw_conn_accept(c->conn, NULL, 0);
		break;
	case XIW_EV_WRITTEN: /* a message is complete in the buffer */
		printf("%llu octets at %llu\n", (unsigned long long)c->length,
		       (unsigned long long)c->to);
		octets += c->length;
		break;
	case XIW_EV_ERROR: /* the peer's stream is invalid */
		xiw_conn_abort(c->conn);
		break;
	case XIW_EV_EOF: /* the peer has closed its half */
		xiw_conn_close(c->conn);
		break;
	case XIW_EV_CLOSED: /* the last event of a connection */
		xiw_conn_free(c->conn);
		break;
	default:
		break;
	}
}

/* Takes all that there is, so that the descriptor becomes readable with the next event. */
static int run(struct xiw_engine *engine)
{
	struct xiw_completion completion;
	int n;

	while ((n = xiw_engine_run(engine, 0)) > 0)
		while (xiw_engine_next(engine, &completion) > 0)
			handle(&completion);
	return n;
}

static void second(int timer)
{
	uint64_t times;

	if (read(timer, &times, sizeof(times)) == sizeof(times) && octets)
		printf("%llu octets in a second\n", octets);
	octets = 0;
}

static int loop(struct xiw_engine *engine, int timer)
{
	struct epoll_event of_engine = { .events = EPOLLIN, .data.fd = xiw_engine_fd(engine) };
	struct epoll_event of_timer = { .events = EPOLLIN, .data.fd = timer };
	struct epoll_event ready[2];
	int set = epoll_create1(EPOLL_CLOEXEC), n, err;

	if (set < 0 || epoll_ctl(set, EPOLL_CTL_ADD, of_engine.data.fd, &of_engine) ||
	    epoll_ctl(set, EPOLL_CTL_ADD, of_timer.data.fd, &of_timer))
		return failed("epoll", errno);
	for (;;) {
		n = epoll_wait(set, ready, 2, -1);
		if (n < 0 && errno != EINTR)
			return failed("epoll_wait", errno);
		for (int i = 0; i < n; i++)
			if (ready[i].data.fd == timer)
				second(timer);
		/* In each round, since what other descriptors cause may use the engine, too. */
		err = run(engine);
		if (err && err != -EINTR)
			return failed("engine", -err);
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in6 addr = { .sin6_family = AF_INET6, .sin6_addr = in6addr_any };
	const struct itimerspec each = { .it_interval.tv_sec = 1, .it_value.tv_sec = 1 };
	struct xiw_conn_opts conn_opts = { .size = sizeof(conn_opts) };
	struct xiw_region_opts region_opts = { .size = sizeof(region_opts), .stag = &stag };
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	struct xiw_listener *listener;
	struct xiw_engine *engine;
	struct xiw_region *region;
	int err;

	addr.sin6_port = htons(argc > 1 ? atoi(argv[1]) : 15044);
	if (timer < 0 || timerfd_settime(timer, 0, &each, NULL))
		return failed("timer", errno);
	err = xiw_engine_create(NULL, &engine);
	if (err)
		return failed("engine", -err);
	err = xiw_region_register(engine, buffer, sizeof(buffer), &region_opts, &region);
	if (err)
		return failed("region", -err);
	err = xiw_listen(engine, (struct sockaddr *)&addr, sizeof(addr), &conn_opts, &listener);
	if (err)
		return failed("listen", -err);
	return loop(engine, timer);
}
