/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What serve, sink and the server of rping share: a listener, the connections that it accepted, the loop that runs the
 * engine, and the end of all that. The command's own structures begin with these.
 */
#ifndef XIW_TOOL_RECEIVER_H
#define XIW_TOOL_RECEIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xiwarp/conn.h>
#include <xiwarp/engine.h>

#include "address.h"
#include "args.h"

struct xiw_receiver;

/* One connection. */
struct xiw_peer {
	struct xiw_peer *next;
	struct xiw_receiver *receiver;
	struct xiw_conn *conn;
	char name[80]; /* its address */
};

struct xiw_receiver_ops {
	size_t peer_size; /* of the command's structure for a connection, which is zero at first */
	/*
	 * A Request came: accepts or rejects it. Negative errno: the connection is aborted, and the reason printed
	 * unless the connection has ended by itself; -EBUSY: it is refused in silence.
	 */
	int (*request)(struct xiw_peer *peer);
	/* For each connection, after each turn of the engine and before its completions. May be NULL. */
	void (*turned)(struct xiw_peer *peer);
	void (*completion)(struct xiw_peer *peer, const struct xiw_completion *c);
	/* Reports a connection that ended or (`stopped`) that is still open when the command ends. */
	void (*ended)(struct xiw_peer *peer, bool stopped);
	/* Frees what `request` made. The connection is freed already, unless `request` failed. */
	void (*release)(struct xiw_peer *peer);
	/* After each turn and its completions. May be NULL. */
	void (*after)(struct xiw_receiver *r);
	/* A connection that ended during MPA startup counts as ended, and as failed. */
	bool count_failed_startups;
};

struct xiw_receiver {
	const struct xiw_args *args;
	const struct xiw_receiver_ops *ops;
	const char *listen;	/* address and port; NULL: any address, port XIW_PORT */
	const char *output_dir; /* where files will be made; NULL: nowhere */
	bool once;		/* the command ends when its first connection has ended */
	bool busy;		/* the command has work of its own: turns do not wait */

	struct xiw_engine *engine;
	struct xiw_listener *listener;
	struct xiw_peer *peers;
	unsigned int ended; /* connections */
	int code;	    /* exit code of the first that failed */
};

/* Makes the engine, listens, and gives up privilege. On failure prints a line and returns an exit code. */
int xiw_receiver_open(struct xiw_receiver *r, const struct xiw_conn_opts *opts);
/* The address that it listens on. */
const char *xiw_receiver_addr(const struct xiw_receiver *r, char buf[80]);
/* Runs until it is stopped or, with `once`, done. Returns an exit code; no connection is left. */
int xiw_receiver_run(struct xiw_receiver *r);
/* Remembers the exit code of the first failure. */
void xiw_receiver_fail(struct xiw_receiver *r, int code);
/* Frees listener and engine. */
void xiw_receiver_close(struct xiw_receiver *r);

#endif
