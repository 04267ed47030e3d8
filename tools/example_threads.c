/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A receiver with a thread for each receive queue of the interface: one buffer that peers may write into, and a line
 * for each connection.
 *
 *   xiwarp load eth0          (as root; without the programs there is one thread, on the kernel path)
 *   example_threads 15044
 *   example_send HOST 15044 "some text"
 */
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xiwarp/xiwarp.h>

static char buffer[1 << 26];
static const uint32_t stag = 0x1234;
static atomic_bool stop;

static int failed(const char *what, int err)
{
	fprintf(stderr, "%s: %s\n", what, strerror(-err));
	return 1;
}

/* Called in the thread of the connection's engine. What other threads use, too, would need a lock. */
static void handle(const struct xiw_completion *c)
{
	struct xiw_conn_info info;

	switch (c->event) {
	case XIW_EV_REQUEST: /* a peer has connected and asks for MPA */
		xiw_conn_accept(c->conn, NULL, 0);
		break;
	case XIW_EV_ERROR: /* the peer's stream is invalid */
		xiw_conn_abort(c->conn);
		break;
	case XIW_EV_EOF: /* the peer has closed its half */
		xiw_conn_close(c->conn);
		break;
	case XIW_EV_CLOSED: /* the last event of a connection */
		xiw_conn_info(c->conn, &info, sizeof(info));
		printf("closed: %llu octets came direct, %llu by the kernel. %s\n",
		       (unsigned long long)info.octets_direct,
		       (unsigned long long)info.octets_kernel, info.no_direct);
		xiw_conn_free(c->conn);
		break;
	default:
		break;
	}
}

/* An engine belongs to the thread that runs it. It receives from queues of its own, and shares nothing per packet. */
static void *run(void *engine)
{
	struct xiw_completion completion;

	while (!stop && xiw_engine_run(engine, -1) >= 0)
		while (xiw_engine_next(engine, &completion) > 0)
			handle(&completion);
	return NULL;
}

/* Until the process is told to end. Then threads that wait in xiw_engine_run() are woken. */
static void run_all(struct xiw_group *group)
{
	const unsigned int n = xiw_group_engines(group);
	pthread_t threads[XIW_GROUP_ENGINES_MAX];
	sigset_t ends;
	int signal;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	for (unsigned int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, run, xiw_group_engine(group, i));
	printf("%u threads\n", n);
	fflush(stdout);
	sigwait(&ends, &signal);
	stop = true;
	for (unsigned int i = 0; i < n; i++)
		xiw_engine_wake(xiw_group_engine(group, i));
	for (unsigned int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	struct sockaddr_in6 addr = { .sin6_family = AF_INET6, .sin6_addr = in6addr_any };
	struct xiw_conn_opts conn_opts = { .size = sizeof(conn_opts) };
	struct xiw_region_opts region_opts = { .size = sizeof(region_opts), .stag = &stag };
	struct xiw_group_listener *listener;
	struct xiw_group_region *region;
	struct xiw_group *group;
	char why[256];
	int err;

	addr.sin6_port = htons(argc > 1 ? atoi(argv[1]) : 15044);

	/* By default an engine for each receive queue, but no more than CPUs. */
	err = xiw_group_create(NULL, &group);
	if (err)
		return failed("group", err);

	/* The queues are opened before anybody connects, so that each connection finds its engine. */
	if (xiw_group_prepare(group, NULL, why, sizeof(why)))
		fprintf(stderr, "no direct path: %s\n", why);

	/* One STag and one listener for all engines. */
	err = xiw_group_region_register(group, buffer, sizeof(buffer), &region_opts, &region);
	if (err)
		return failed("region", err);
	err = xiw_group_listen(group, (struct sockaddr *)&addr, sizeof(addr), &conn_opts,
			       &listener);
	if (err)
		return failed("listen", err);

	run_all(group);

	xiw_group_listener_free(listener);
	xiw_group_region_free(region);
	xiw_group_destroy(group);
	return 0;
}
