/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Does what the socket sends reach xiw_egress during a stretch? A firewall that accepts in OUTPUT what conntrack knows
 * may forget the connection, as by `conntrack -F`, or begin while it is open. Plain TCP's next incoming segment makes
 * conntrack know it again, but direct segments do not pass conntrack.
 */
#ifndef XIW_PATH_OUTPUT_H
#define XIW_PATH_OUTPUT_H

#include "core/timer.h"

/* Begins to look whether what the socket sends from now on reaches xiw_egress. */
void xiw_output_watch(struct xiw_conn *c);

/* A stretch begins. The socket may have octets that it was given before, and a full buffer is given no more. */
static inline void xiw_output_stretch(struct xiw_conn *c)
{
	if (c->progress.output.look_ms == XIW_NEVER)
		xiw_output_watch(c);
}

/* The same, where the socket is about to be made to send an acknowledgement. */
void xiw_output_answer(struct xiw_conn *c);

/* The socket is about to be given octets. */
static inline void xiw_output_begins(struct xiw_conn *c)
{
	if (!xiw_stretch_live(c))
		return;
	c->progress.output.wrote = true;
	xiw_output_stretch(c);
}

/*
 * A firewall has refused what was injected over lo: it hardly lets the socket's segments leave. If the peer has been
 * asked for a segment, that may be on its way until the next look.
 */
static inline void xiw_output_refused(struct xiw_conn *c)
{
	struct xiw_output *o = &c->progress.output;

	if (!xiw_stretch_live(c) || o->elicited || o->refused)
		return;
	o->refused = true;
	o->look_ms = c->engine->now_ms;
	xiw_timer(c);
}

/* What the socket has sent has not reached xiw_egress for a while. */
void xiw_output_unseen(struct xiw_conn *c);

/* The time of a look has come. */
void xiw_output_look(struct xiw_conn *c);

#endif
