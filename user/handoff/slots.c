// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "handoff/slots.h"

#include <errno.h>
#include <stdlib.h>

/* The first bit in [from, to) of the words, each of which is inverted by `flip`, that is set. */
static uint32_t find(const uint64_t *words, uint64_t flip, uint32_t from, uint32_t to)
{
	uint64_t word, beyond = ~0ull << from % 64;

	for (uint32_t w = from / 64; from < to; from = ++w * 64, beyond = ~0ull) {
		word = (__atomic_load_n(&words[w], __ATOMIC_ACQUIRE) ^ flip) & beyond;
		if (word) {
			from = w * 64 + (uint32_t)__builtin_ctzll(word);
			return from < to ? from : to;
		}
	}
	return to;
}

uint32_t xiw_bits_set_from(const uint64_t *words, uint32_t from, uint32_t to)
{
	return find(words, 0, from, to);
}

uint32_t xiw_bits_clear_from(const uint64_t *words, uint32_t from, uint32_t to)
{
	return find(words, ~0ull, from, to);
}

uint32_t xiw_bits_count(const uint64_t *words, uint32_t n)
{
	uint32_t count = 0;

	for (uint32_t w = 0; w < n / 64; w++)
		count += (uint32_t)__builtin_popcountll(
			__atomic_load_n(&words[w], __ATOMIC_RELAXED));
	return count;
}

void xiw_bits_set(uint64_t *words, uint32_t i)
{
	__atomic_fetch_or(&words[i / 64], 1ull << i % 64, __ATOMIC_SEQ_CST);
}

void xiw_bits_clear(uint64_t *words, uint32_t i)
{
	__atomic_fetch_and(&words[i / 64], ~(1ull << i % 64), __ATOMIC_SEQ_CST);
}

/* ---- lists ------------------------------------------------------------------------------------------ */

int xiw_slot_lists_init(struct xiw_slot_lists *l, uint32_t n)
{
	l->n = n;
	l->links = calloc((size_t)n + XIW_SLOT_LISTS, sizeof(*l->links));
	if (!l->links)
		return -ENOMEM;
	for (uint32_t head = n; head < n + XIW_SLOT_LISTS; head++)
		l->links[head] = (struct xiw_slot_link){ head, head };
	return 0;
}

void xiw_slot_lists_free(struct xiw_slot_lists *l)
{
	free(l->links);
	l->links = NULL;
}

/* No list has a slot between slot 0 and slot 0. */
bool xiw_slot_listed(const struct xiw_slot_lists *l, uint32_t i)
{
	return l->links[i].next || l->links[i].prev;
}

void xiw_slot_remove(struct xiw_slot_lists *l, uint32_t i)
{
	struct xiw_slot_link *link = &l->links[i];

	if (!xiw_slot_listed(l, i))
		return;
	l->links[link->prev].next = link->next;
	l->links[link->next].prev = link->prev;
	*link = (struct xiw_slot_link){ 0, 0 };
}

void xiw_slot_add(struct xiw_slot_lists *l, enum xiw_slot_list list, uint32_t i)
{
	uint32_t head = l->n + list;

	xiw_slot_remove(l, i);
	l->links[i] = (struct xiw_slot_link){ head, l->links[head].prev };
	l->links[l->links[head].prev].next = i;
	l->links[head].prev = i;
}

uint32_t xiw_slot_first(const struct xiw_slot_lists *l, enum xiw_slot_list list)
{
	return l->links[l->n + list].next;
}

uint32_t xiw_slot_next(const struct xiw_slot_lists *l, uint32_t i)
{
	return l->links[i].next;
}
