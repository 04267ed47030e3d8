/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What serve, sink and the servers of rping and perf share: a listener, the connections that it accepted, the loop that
 * runs the engine, and the end of all that. The command's own structures begin with these.
 *
 * With several threads each has an engine of its own, and a copy of the command's structure: connections belong to one
 * thread. What all of them share is in struct xiw_receivers.
 */
#ifndef XIW_TOOL_RECEIVER_H
#define XIW_TOOL_RECEIVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xiwarp/conn.h>
#include <xiwarp/engine.h>
#include <xiwarp/group.h>

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
	/* Of the command's structures: for the receiver, and for a connection, which is zero at first. */
	size_t receiver_size, peer_size;
	/*
	 * A Request came: accepts or rejects it. Negative errno: the connection is aborted, and the reason printed
	 * unless the connection has ended by itself; -EBUSY: it is refused in silence.
	 */
	int (*request)(struct xiw_peer *peer);
	/* For each connection, after each turn of the engine and before its completions. May be NULL. */
	void (*turned)(struct xiw_peer *peer);
	void (*completion)(struct xiw_peer *peer, const struct xiw_completion *c);
	/*
	 * Reports a connection that ended or (`stopped`) that is still open when the command ends. It is called in one
	 * thread at a time.
	 */
	void (*ended)(struct xiw_peer *peer, bool stopped);
	/* Frees what `request` made. The connection is freed already, unless `request` failed. */
	void (*release)(struct xiw_peer *peer);
	/* After each turn and its completions. May be NULL. */
	void (*after)(struct xiw_receiver *r);
	/*
	 * In each thread: before its first turn (prints a line and returns an exit code if it fails), and, if that did
	 * not fail, when no connection is left. Both or none may be NULL.
	 */
	int (*begin)(struct xiw_receiver *r);
	void (*finish)(struct xiw_receiver *r);
	/* A connection that ended during MPA startup counts as ended, and as failed. */
	bool count_failed_startups;
	bool with_file; /* a connection may have an open file beside its socket */
};

/* What the threads share. */
struct xiw_receivers {
	struct xiw_group *group;
	int code;			     /* exit code of the first connection that failed */
	bool chosen;			     /* rping: the one client that is served has come */
	pthread_mutex_t lock;		     /* for what follows */
	struct xiw_group_listener *listener; /* NULL: closed */
	unsigned int ended, open;	     /* connections */
	bool stop;			     /* all threads are to end */
	int failed;			     /* exit code of an engine that failed */
};

struct xiw_receiver {
	const struct xiw_args *args;
	const struct xiw_receiver_ops *ops;
	const char *listen;	/* address and port; NULL: any address, port XIW_PORT */
	const char *output_dir; /* where files will be made, or a file to write to; NULL: none */
	bool once; /* the command ends when a connection has ended and no other is open */

	struct xiw_receivers *all;
	struct xiw_engine *engine;
	struct xiw_peer *peers;
	/* Of connections that have ended, for the report. */
	unsigned int connections;
	uint64_t direct, kernel;
};

/* Makes the engines, listens, and gives up privilege. On failure prints a line and returns an exit code. */
int xiw_receiver_open(struct xiw_receiver *r, const struct xiw_conn_opts *opts);
/* The address that it listens on. */
const char *xiw_receiver_addr(const struct xiw_receiver *r, char buf[80]);
/* Runs until it is stopped or, with `once`, done. Returns an exit code; no connection is left. */
int xiw_receiver_run(struct xiw_receiver *r);
/* Remembers the exit code of the first failure. */
void xiw_receiver_fail(struct xiw_receiver *r, int code);
/* Closes the listener; connections go on. */
void xiw_receiver_accept_no_more(struct xiw_receiver *r);
/* Frees listener and engines. */
void xiw_receiver_close(struct xiw_receiver *r);

#endif
