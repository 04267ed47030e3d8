/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rings that become larger as they are needed, in powers of two. Entries are counted from 0 on for ever, and entry n is
 * at n & (room - 1).
 */
#ifndef XIW_BASE_GROW_H
#define XIW_BASE_GROW_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define XIW_RING_FIRST 1u /* the first room: many rings never have more than one entry */

/* The room of a ring that is to have `count` entries, but not more than `room` unless it has to. */
static inline uint32_t xiw_ring_room(uint32_t room, uint32_t count)
{
	if (!room)
		room = XIW_RING_FIRST;
	while (room < count)
		room *= 2;
	return room;
}

/*
 * Gives a ring of `room` entries of `size` octets, of which `count` from entry `first` on are in use, room for `more`.
 * Returns the new ring and frees the old one, or returns NULL and changes nothing.
 */
static inline void *xiw_ring_grow(void *ring, size_t size, uint32_t room, uint32_t more,
				  uint32_t first, uint32_t count)
{
	uint8_t *to = (uint8_t *)malloc(size * more);
	const uint8_t *from = (const uint8_t *)ring;

	if (!to)
		return NULL;
	for (uint32_t n = first; count--; n++)
		memcpy(to + size * (n & (more - 1)), from + size * (n & (room - 1)), size);
	free(ring);
	return to;
}

#endif
