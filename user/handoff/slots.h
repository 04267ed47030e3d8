/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sets of slots that a flow table keeps, so that nobody looks at all slots: a bit for each that is taken, which
 * processes share, and an engine's own lists of slots that connections have left.
 */
#ifndef XIW_HANDOFF_SLOTS_H
#define XIW_HANDOFF_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

/* ---- bits, 64 to a word; any process may change them at any time ------------------------------------ */

/* The first bit in [from, to) that is set, or that is clear; `to` if there is none. */
uint32_t xiw_bits_set_from(const uint64_t *words, uint32_t from, uint32_t to);
uint32_t xiw_bits_clear_from(const uint64_t *words, uint32_t from, uint32_t to);
/* How many of the first n are set; n is a multiple of 64. */
uint32_t xiw_bits_count(const uint64_t *words, uint32_t n);
void xiw_bits_set(uint64_t *words, uint32_t i);
void xiw_bits_clear(uint64_t *words, uint32_t i);

/* ---- lists ------------------------------------------------------------------------------------------ */

enum xiw_slot_list {
	XIW_SLOTS_LEFT,	   /* in the order in which they were left */
	XIW_SLOTS_RETIRED, /* free at the next collection */
	XIW_SLOT_LISTS,
};

/* Circular lists, in which a slot is at most once. Pages that no slot needs are never touched. */
struct xiw_slot_lists {
	struct xiw_slot_link {
		uint32_t next, prev; /* both 0: in no list */
	} * links;		     /* of `n` slots, then of the heads of the lists */
	uint32_t n;
};

/* Returns 0 or -ENOMEM. */
int xiw_slot_lists_init(struct xiw_slot_lists *l, uint32_t n);
void xiw_slot_lists_free(struct xiw_slot_lists *l);

/* Puts the slot at the end of a list, and takes it out of the one that it was in. */
void xiw_slot_add(struct xiw_slot_lists *l, enum xiw_slot_list list, uint32_t i);
void xiw_slot_remove(struct xiw_slot_lists *l, uint32_t i);
bool xiw_slot_listed(const struct xiw_slot_lists *l, uint32_t i);

/* The first slot of a list, and the one behind another; n or more: there is none. */
uint32_t xiw_slot_first(const struct xiw_slot_lists *l, enum xiw_slot_list list);
uint32_t xiw_slot_next(const struct xiw_slot_lists *l, uint32_t i);

#endif
