/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What each state of a connection comes to with what its peer does: see conn.h for the limits. */
#ifndef XIW_TESTS_NET_ENDS_TABLE_H
#define XIW_TESTS_NET_ENDS_TABLE_H

#include "tests/net/conn/ends.h"

/* When CLOSED is due, counted from what the peer did. */
enum bound {
	NEVER, /* no such cell, or no business of the library's */
	ONCE,
	STARTUP,
	CLOSE,
	USER,
	KEEP,
	APPLICATION, /* the connection lives: the application closes after IDLE_MS; then as CLOSE */
};

static const struct {
	const char *name;
	const char *roles; /* i, r: DDP; I, R: RDMAP */
	enum bound bound[ACTS];
} states[STATES] = {
	/*					    SILENT       UNREAD       VANISH   HALFCLOSE RESET TERMINATE */
	[CONNECTING] = { "connecting", "i", { STARTUP, NEVER, NEVER, NEVER, ONCE, NEVER } },
	[REQUESTED] = { "requested", "iI", { STARTUP, NEVER, STARTUP, ONCE, ONCE, NEVER } },
	[LISTENING] = { "listening", "rR", { STARTUP, NEVER, STARTUP, ONCE, ONCE, NEVER } },
	[DECIDING] = { "deciding", "r", { NEVER, NEVER, KEEP, ONCE, ONCE, NEVER } },
	[REVIEWING] = { "reviewing", "i", { NEVER, NEVER, KEEP, ONCE, ONCE, NEVER } },
	[REJECTED] = { "rejected", "r", { NEVER, STARTUP, USER, STARTUP, ONCE, NEVER } },
	[REPLYING] = { "replying", "r", { NEVER, STARTUP, USER, STARTUP, ONCE, NEVER } },
	[RTR] = { "rtr", "rR", { STARTUP, STARTUP, STARTUP, ONCE, ONCE, NEVER } },
	[RTR_CLOSED] = { "rtr-closed", "rR", { ONCE, ONCE, ONCE, ONCE, ONCE, NEVER } },
	[IDLE] = { "idle", "irIR", { APPLICATION, APPLICATION, KEEP, ONCE, ONCE, NEVER } },
	[HALF] = { "half-fpdu", "irR", { APPLICATION, APPLICATION, KEEP, ONCE, ONCE, NEVER } },
	[SENDING] = { "sending", "irR", { APPLICATION, USER, USER, ONCE, ONCE, NEVER } },
	[CLOSING] = { "closing", "irIR", { CLOSE, CLOSE, CLOSE, ONCE, ONCE, NEVER } },
	[CLOSING_ALL] = { "closing-all", "irR", { CLOSE, CLOSE, CLOSE, ONCE, ONCE, NEVER } },
	[FAILED] = { "failed", "irIR", { CLOSE, CLOSE, CLOSE, ONCE, ONCE, NEVER } },
	[FAILED_ALL] = { "failed-all", "ir", { CLOSE, CLOSE, CLOSE, ONCE, ONCE, NEVER } },
	[ANSWERS] = { "answers", "IR", { APPLICATION, USER, USER, ONCE, ONCE, ONCE } },
	[ANSWERS_BAD] = { "answers-bad", "IR", { CLOSE, CLOSE, CLOSE, ONCE, ONCE, ONCE } },
	[READING] = { "reading", "IR", { CLOSE, CLOSE, CLOSE, ONCE, ONCE, ONCE } },
};

static const char *const acts[ACTS] = {
	[SILENT] = "silent",	    [UNREAD] = "unread", [VANISH] = "vanishes",
	[HALFCLOSE] = "half-close", [RESET] = "reset",	 [TERMINATE_FIN] = "terminate-fin",
};

#endif
