// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Bits of slots that are taken, and lists of slots that were left, against plain arrays. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "handoff/slots.h"

#define N 256u

Test(handoff_slots, bits_are_found_within_their_range)
{
	uint64_t words[N / 64] = {};
	bool set[N] = {};

	srand(1);
	for (int round = 0; round < 20000; round++) {
		uint32_t i = (uint32_t)rand() % N, from = (uint32_t)rand() % (N + 1);
		uint32_t to = from + (uint32_t)rand() % (N + 1 - from), one, none;

		set[i] = rand() & 1;
		if (set[i])
			xiw_bits_set(words, i);
		else
			xiw_bits_clear(words, i);
		for (one = from; one < to && !set[one]; one++)
			;
		for (none = from; none < to && set[none]; none++)
			;
		cr_assert_eq(xiw_bits_set_from(words, from, to), one);
		cr_assert_eq(xiw_bits_clear_from(words, from, to), none);
	}
}

/* Words behind the range may not be there. */
Test(handoff_slots, no_word_behind_the_range_is_read)
{
	uint64_t *word = malloc(sizeof(*word));

	*word = ~0ull;
	cr_expect_eq(xiw_bits_set_from(word, 64, 64), 64);
	cr_expect_eq(xiw_bits_clear_from(word, 0, 64), 64);
	free(word);
}

static void expect_list(struct xiw_slot_lists *l, enum xiw_slot_list list, const uint32_t *want,
			uint32_t n)
{
	uint32_t i = xiw_slot_first(l, list);

	for (uint32_t k = 0; k < n; k++, i = xiw_slot_next(l, i))
		cr_assert_eq(i, want[k], "at %u: %u, not %u", k, i, want[k]);
	cr_assert_geq(i, l->n);
}

Test(handoff_slots, lists_keep_the_order_in_which_slots_came)
{
	uint32_t order[XIW_SLOT_LISTS][N], n[XIW_SLOT_LISTS] = {};
	struct xiw_slot_lists l;

	srand(2);
	cr_assert_eq(xiw_slot_lists_init(&l, 8), 0);
	for (int round = 0; round < 5000; round++) {
		uint32_t i = (uint32_t)rand() % 8, k;
		enum xiw_slot_list to = (enum xiw_slot_list)(rand() % XIW_SLOT_LISTS);
		bool was = false, add = rand() % 3;

		for (int list = 0; list < XIW_SLOT_LISTS; list++) {
			for (k = 0; k < n[list] && order[list][k] != i; k++)
				;
			if (k == n[list])
				continue;
			was = true;
			memmove(&order[list][k], &order[list][k + 1],
				(--n[list] - k) * sizeof(order[list][0]));
		}
		cr_assert_eq(xiw_slot_listed(&l, i), was);
		if (add) {
			order[to][n[to]++] = i;
			xiw_slot_add(&l, to, i);
		} else {
			xiw_slot_remove(&l, i);
		}
		for (int list = 0; list < XIW_SLOT_LISTS; list++)
			expect_list(&l, (enum xiw_slot_list)list, order[list], n[list]);
	}
	xiw_slot_lists_free(&l);
}
