/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What other threads ask of an engine: notes that its thread carries out, and to wake up. */
#ifndef XIW_CORE_INBOX_H
#define XIW_CORE_INBOX_H

#include "core/engine.h"

/*
 * Hands a note to the engine, from any thread. The engine's thread calls note->run() at the beginning of its next turn,
 * once, after the notes that were put before; the note's memory belongs to the engine until then. An engine that
 * sleeps wakes up. When the engine is destroyed, run() is called for the notes that are left, with e->destroying set:
 * it then only releases what it holds. False: the engine is being destroyed, and the note stays the caller's.
 */
bool xiw_inbox_put(struct xiw_engine *e, struct xiw_note *note);

/* Runs all notes. True: there were some, or the engine was asked to wake up. */
bool xiw_inbox_run(struct xiw_engine *e);

/* True if xiw_inbox_run() would return true. */
bool xiw_inbox_waits(const struct xiw_engine *e);

/*
 * Says that the engine is about to sleep, so that other threads ring the eventfd `bell`: e->inbox.fd, which ends a wait
 * in the engine's ring, or another one that the application waits for. False: something has come, and the engine must
 * not sleep. xiw_inbox_run() ends this.
 */
bool xiw_inbox_sleep(struct xiw_engine *e, int bell);

/* Ends a wait in the engine's ring, whether it sleeps or not, if it has slept before. */
void xiw_inbox_ring(struct xiw_engine *e);

/* Writes to an eventfd that was given to xiw_inbox_sleep(). */
void xiw_inbox_ring_bell(int bell);

/* Notes that the ring's request for wake-ups has completed with these flags. */
void xiw_inbox_rung(struct xiw_engine *e, uint32_t flags);

/* Runs what is left, and lets xiw_inbox_put() refuse from now on. */
void xiw_inbox_close(struct xiw_engine *e);

/* Creates what wakes the engine's ring. Returns 0 or an error; xiw_inbox_free() is fine in both cases. */
int xiw_inbox_create(struct xiw_engine *e);
void xiw_inbox_free(struct xiw_engine *e);

#endif
