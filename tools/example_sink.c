// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The smallest useful receiver: one buffer that peers may write into, and a line for each write.
 *
 *   xiwarp load eth0          (as root; without it, everything takes the kernel's path)
 *   example_sink 15044
 *   example_send HOST 15044 "some text"
 *
 * The two agree on the STag beforehand. Real protocols send it to the peer in a message, or in the MPA
 * private data.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xiwarp/xiwarp.h>

static char buffer[1 << 20];
static const uint32_t stag = 0x1234;

static int failed(const char *what, int err)
{
	fprintf(stderr, "%s: %s\n", what, strerror(-err));
	return 1;
}

/* Every completion says what happened, and to which connection. */
static void handle(const struct xiw_completion *c)
{
	struct xiw_conn_info info;

	switch (c->event) {
	case XIW_EV_REQUEST: /* a peer has connected and asks to speak MPA with us */
		xiw_conn_accept(c->conn, NULL, 0);
		break;
	case XIW_EV_WRITTEN: /* a message is complete: its octets are in the buffer already */
		if (c->flags & XIW_COMPLETION_SCATTERED) { /* where they are only the peer knows */
			printf("a message whose octets do not follow each other\n");
			break;
		}
		printf("%llu octets at %llu: %.*s\n", (unsigned long long)c->length,
		       (unsigned long long)c->to, (int)(c->length < 60 ? c->length : 60),
		       buffer + c->to);
		break;
	case XIW_EV_ERROR: /* what it sends makes no sense */
		xiw_conn_abort(c->conn);
		break;
	case XIW_EV_EOF: /* the peer is done, and so are we */
		xiw_conn_close(c->conn);
		break;
	case XIW_EV_CLOSED: /* the last event: the connection is ours to free */
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

int main(int argc, char **argv)
{
	struct sockaddr_in6 addr = { .sin6_family = AF_INET6, .sin6_addr = in6addr_any };
	struct xiw_conn_opts conn_opts = { .size = sizeof(conn_opts) };
	struct xiw_region_opts region_opts = { .size = sizeof(region_opts), .stag = &stag };
	struct xiw_completion completion;
	struct xiw_listener *listener;
	struct xiw_engine *engine;
	struct xiw_region *region;
	int err;

	addr.sin6_port = htons(argc > 1 ? atoi(argv[1]) : 15044);

	/* The engine drives everything that is made from it. One thread, one engine. */
	err = xiw_engine_create(NULL, &engine);
	if (err)
		return failed("engine", err);

	/* From here on, whoever knows the STag may write into the buffer, at its offsets 0 and up. */
	err = xiw_region_register(engine, buffer, sizeof(buffer), &region_opts, &region);
	if (err)
		return failed("region", err);

	err = xiw_listen(engine, (struct sockaddr *)&addr, sizeof(addr), &conn_opts, &listener);
	if (err)
		return failed("listen", err);

	/* Let the engine work until something is complete, and take it. */
	while (xiw_engine_run(engine, -1) >= 0)
		while (xiw_engine_next(engine, &completion) > 0)
			handle(&completion);

	xiw_listener_free(listener);
	xiw_region_free(region);
	xiw_engine_destroy(engine);
	return 0;
}
