// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Rings that grow keep their entries and their places in the count, also where the count wraps. */
#include <criterion/criterion.h>

#include "base/grow.h"

Test(base_grow, the_room_is_a_power_of_two)
{
	cr_expect_eq(xiw_ring_room(0, 1), XIW_RING_FIRST);
	cr_expect_eq(xiw_ring_room(4, 4), 4);
	cr_expect_eq(xiw_ring_room(4, 5), 8);
	cr_expect_eq(xiw_ring_room(4, 100), 128);
}

static void fifo(uint32_t first)
{
	uint32_t room = 0, head = first, tail = first, *ring = NULL;

	srand(1);
	for (int i = 0; i < 20000; i++) {
		if (rand() % 100 < 48 + (tail - head < 3000 ? 5 : -5)) {
			uint32_t more = xiw_ring_room(room, tail - head + 1);

			if (more != room) {
				ring = xiw_ring_grow(ring, sizeof(*ring), room, more, head,
						     tail - head);
				cr_assert(ring);
				room = more;
			}
			ring[tail & (room - 1)] = tail;
			tail++;
		} else if (head != tail) {
			cr_assert_eq(ring[head & (room - 1)], head);
			head++;
		}
	}
	for (; head != tail; head++)
		cr_assert_eq(ring[head & (room - 1)], head);
	cr_expect_gt(room, 64u);
	free(ring);
}

Test(base_grow, entries_keep_their_order)
{
	fifo(0);
	fifo(3);
	fifo(UINT32_MAX - 500);
}
