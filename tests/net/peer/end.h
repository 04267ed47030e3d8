/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the library's ends of these tests share: each reads lines of `key=value ...` from a control connection, which
 * say what to do, and answers there. And how RDMAP's events and Terminates are written.
 */
#ifndef XIW_TESTS_NET_END_H
#define XIW_TESTS_NET_END_H

#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "tests/net/lib/common.h"
#include "tests/net/lib/octets.h"

extern int control;
extern char events[512]; /* a letter for each */

void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...);
/* Takes the arguments CONTROL-PORT kernel|direct, and waits for the peer. Returns the path. */
enum xiw_use_path await_control(int argc, char **argv);

struct number {
	const char *key;
	int *to;
};

/* Reads the next line: numbers, and other words by `other`, which may be NULL. False: the connection was closed. */
bool take_words(const struct number *numbers, size_t n,
		void (*other)(void *ctx, const char *key, const char *value), void *ctx);

/*
 * Listens on the port (role r), or connects to the peer's (role i), and says `ready`, or `failed` and the error.
 * Returns an Initiator's connection, or NULL.
 */
struct xiw_conn *open_as(int role, int port, struct xiw_engine *engine,
			 const struct xiw_conn_opts *opts, struct xiw_listener **listener);

/* ---- RDMAP ----------------------------------------------------------------------------------- */

void add_event(char letter);
void note_event(enum xiw_event e);
/* LAYER.TYPE.CODE and M, D, R for what is included; `-siw`: its bits are in siw's order. */
void terminate_text(char text[64], const struct xiw_rdma_terminate_info *t);

#endif
