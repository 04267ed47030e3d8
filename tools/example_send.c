// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The sender for example_sink.c: writes a text into its buffer. Needs no privilege.
 *
 *   example_send HOST PORT TEXT
 */
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include <xiwarp/xiwarp.h>

static int failed(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	return 1;
}

/* Runs the engine until `text` is sent and the connection closed. Returns an exit code. */
static int converse(struct xiw_engine *engine, struct xiw_conn *conn, const char *text)
{
	/* A tagged message names its place in the peer's memory: STag and tagged offset. */
	struct xiw_message message = {
		.buf = text, .len = strlen(text), .tagged = true, .stag = 0x1234, .to = 0
	};
	struct xiw_completion c;

	while (xiw_engine_run(engine, -1) >= 0) {
		while (xiw_engine_next(engine, &c) > 0) {
			if (c.event == XIW_EV_CONNECTED && xiw_conn_send(conn, &message))
				return failed("send", "refused");
			if (c.event == XIW_EV_SENT) /* TCP has all of it: the text may be freed */
				xiw_conn_close(conn);
			if (c.event == XIW_EV_REFUSED)
				return failed("connect", strerror(-c.status));
			if (c.event == XIW_EV_CLOSED)
				return 0;
		}
	}
	return 1;
}

int main(int argc, char **argv)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *addr;
	struct xiw_conn_opts opts = { .size = sizeof(opts) };
	struct xiw_engine *engine;
	struct xiw_conn *conn;
	int err, code;

	if (argc != 4)
		return failed("usage", "example_send HOST PORT TEXT");
	err = getaddrinfo(argv[1], argv[2], &hints, &addr);
	if (err)
		return failed(argv[1], gai_strerror(err));
	err = xiw_engine_create(NULL, &engine);
	if (err)
		return failed("engine", strerror(-err));
	err = xiw_connect(engine, addr->ai_addr, addr->ai_addrlen, &opts, &conn);
	freeaddrinfo(addr);
	if (err)
		return failed("connect", strerror(-err));

	code = converse(engine, conn, argv[3]);
	xiw_conn_free(conn);
	xiw_engine_destroy(engine);
	return code;
}
