/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The engine's part of the hand-off, one turn at a time: handoff_engine.c. */
#ifndef XIW_TESTS_FUZZ_HANDOFF_ENGINE_H
#define XIW_TESTS_FUZZ_HANDOFF_ENGINE_H

#include "core/conn.h"
#include "tests/fuzz/handoff_world.h"

extern struct xiw_conn *conn;
extern uint32_t next_fpdu; /* the next one to be delivered */
extern uint32_t read_most; /* octets per receive */

extern struct xiw_engine *engine;
extern uint8_t *memory; /* the application's, a region */

extern bool failed; /* the application was told that a Send has waited too long */

/* `how` says which buffers there are, and whether a Send waits for ever. */
void application_begins(uint8_t how);
void application_ends(void);
/* The application posts buffers for the next `n` Sends, when its engine's turn begins. */
void post_buffers(uint32_t n);
void post_those_due(void);
/* Another stream takes a shared buffer, later in the turn. False: buffers are not shared. */
bool another_takes(void);
void take_for_another(void);
void engine_open(uint8_t how);
void engine_close(void);
void engine_turn(void *arg);

/* Sets up the peer's stream and an established connection from the input. Nothing is in flight. */
void world_begin(struct fuzz_in *in);
void world_end(void);

#endif
