/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A slot of the flow table and its engine, for table.c and collect.c. */
#ifndef XIW_HANDOFF_SLOT_H
#define XIW_HANDOFF_SLOT_H

#include "handoff/table.h"

/* No process has the slot, but its numbers are still translated. No engine and no pid is ever that high. */
#define XIW_ABANDONED 0x40000000u
/* No process has the slot, and nothing is translated: the next collection frees it. */
#define XIW_RETIRED 0x40000001u

/* Locks on the directory of the pins, by numbers. xiw_lock_at() returns a descriptor that has it, or negative errno. */
bool xiw_locked_at(int dir_fd, uint32_t number);
int xiw_lock_at(const char *dir, uint32_t number);
void xiw_unlock_at(int lock, uint32_t number);

bool xiw_engine_lives(const struct xiw_table *t, uint32_t engine);

/* The number of the engine that has the slot; 0: it is free. */
uint32_t xiw_slot_engine(const struct xiw_table *t, uint32_t index);

/* Gives the slot from engine @from to @to, if it still is @from's. `pid` follows, for readers. */
bool xiw_slot_hand_over(struct xiw_flow *f, uint32_t from, uint32_t to);
void xiw_slot_give_away(struct xiw_flow *f, uint32_t to);

/* A slot is free: clears its bit in `taken`. */
void xiw_slot_untake(struct xiw_table *t, uint32_t index);

/* Takes the slot out of the index, so that BPF does not find it any more. */
void xiw_slot_forget(struct xiw_table *t, uint32_t index);

/* Nothing is translated by the slot any more, and it is given to @to. */
void xiw_slot_release(struct xiw_table *t, uint32_t index, uint32_t to);

/* The engine collects the slot from now on, or does not collect it any more. */
void xiw_slot_list(struct xiw_table *t, enum xiw_slot_list list, uint32_t index);
void xiw_slot_unlist(struct xiw_table *t, uint32_t index);

#endif
