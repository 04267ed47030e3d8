// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * When each state of a connection ends, for each act of its peer: xiwarp/conn.h has the limits, and ARCHITECTURE.md 9
 * what begins them again. What a peer may begin again has an end of its own, which is in the last column.
 */
#include "tests/net/conn/ends.h"

const struct state_row states[STATES] = {
	/* SILENT, UNREAD, VANISH, HALFCLOSE, RESET, TERMINATE_FIN, TRICKLE */
	[CONNECTING] = { "connecting", "i", { STARTUP, NEVER, NEVER, NEVER, ONCE, NEVER } },
	[REQUESTED] = { "requested", "iI",
			  { STARTUP, NEVER, STARTUP, ONCE, ONCE, NEVER, STARTUP } },
	[LISTENING] = { "listening", "rR",
			  { STARTUP, NEVER, STARTUP, ONCE, ONCE, NEVER, STARTUP } },
	[DECIDING] = { "deciding", "r", { NEVER, NEVER, KEEP, ONCE, ONCE, NEVER } },
	[REVIEWING] = { "reviewing", "i", { NEVER, NEVER, KEEP, ONCE, ONCE, NEVER } },
	[REJECTED] = { "rejected", "r", { NEVER, STARTUP, USER, STARTUP, ONCE, NEVER } },
	[REPLYING] = { "replying", "r", { NEVER, STARTUP, USER, STARTUP, ONCE, NEVER } },
	[RTR] = { "rtr", "rR", { STARTUP, STARTUP, STARTUP, ONCE, ONCE, NEVER, STARTUP } },
	[RTR_CLOSED] = { "rtr-closed", "rR", { ONCE, ONCE, ONCE, ONCE, ONCE, NEVER } },
	[IDLE] = { "idle", "irIR", { APPLICATION, APPLICATION, KEEP, ONCE, ONCE, NEVER } },
	[HALF] = { "half-fpdu", "irR", { APPLICATION, APPLICATION, KEEP, ONCE, ONCE, NEVER } },
	[SENDING] = { "sending", "irR", { APPLICATION, USER, USER, ONCE, ONCE, NEVER } },
	[CLOSING] = { "closing", "irIR", { CLOSE, CLOSE, CLOSE, ONCE, ONCE, NEVER, CLOSES } },
	[CLOSING_ALL] = { "closing-all", "irR",
			  { CLOSE, CLOSE, CLOSE, ONCE, ONCE, NEVER, CLOSES } },
	[FAILED] = { "failed", "irIR", { CLOSE, CLOSE, CLOSE, ONCE, ONCE, NEVER, CLOSE } },
	[FAILED_ALL] = { "failed-all", "ir", { CLOSE, CLOSE, CLOSE, ONCE, ONCE, NEVER, CLOSE } },
	[ANSWERS] = { "answers", "IR", { APPLICATION, USER, USER, ONCE, ONCE, ONCE } },
	[ANSWERS_BAD] = { "answers-bad", "IR", { CLOSE, CLOSE, CLOSE, ONCE, ONCE, ONCE } },
	[READING] = { "reading", "IR", { CLOSE, CLOSE, CLOSE, ONCE, ONCE, ONCE, CLOSES } },
};

const char *const acts[ACTS] = {
	[SILENT] = "silent",	    [UNREAD] = "unread", [VANISH] = "vanishes",
	[HALFCLOSE] = "half-close", [RESET] = "reset",	 [TERMINATE_FIN] = "terminate-fin",
	[TRICKLE] = "trickles",
};
