// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A small receiver: one buffer that peers may write into, and a line for each write.
 *
 *   xiwarp load eth0          (as root; without the programs, everything takes the kernel path)
 *   example_sink 15044
 *   example_send HOST 15044 "some text"
 *
 * Both programs know the STag beforehand. Real protocols send it to the peer in a message, or in the MPA Private Data.
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
	case XIW_EV_REQUEST: /* a peer has connected and asks for MPA */
		xiw_conn_accept(c->conn, NULL, 0);
		break;
	case XIW_EV_WRITTEN:				   /* a message is complete in the buffer */
		if (c->flags & XIW_COMPLETION_SCATTERED) { /* only the peer knows where */
			printf("a message whose octets are not contiguous\n");
			break;
		}
		printf("%llu octets at %llu: %.*s\n", (unsigned long long)c->length,
		       (unsigned long long)c->to, (int)(c->length < 60 ? c->length : 60),
		       buffer + c->to);
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

	/* The engine drives everything that is made from it. An engine belongs to one thread. */
	err = xiw_engine_create(NULL, &engine);
	if (err)
		return failed("engine", err);

	/* From here on a peer that knows the STag may write into the buffer, at tagged offsets from 0. */
	err = xiw_region_register(engine, buffer, sizeof(buffer), &region_opts, &region);
	if (err)
		return failed("region", err);

	err = xiw_listen(engine, (struct sockaddr *)&addr, sizeof(addr), &conn_opts, &listener);
	if (err)
		return failed("listen", err);

	/* One turn of the engine after the other, and what it completed. */
	while (xiw_engine_run(engine, -1) >= 0)
		while (xiw_engine_next(engine, &completion) > 0)
			handle(&completion);

	xiw_listener_free(listener);
	xiw_region_free(region);
	xiw_engine_destroy(engine);
	return 0;
}
