// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sizes that must hold whatever an application asks for. */
#include <criterion/criterion.h>

#include "handoff/sock.h"
#include "netif/xsk.h"

/* The engine stands still, with half of the frames kept and a batch in hand, and the RX ring fills. */
Test(xsk, some_frames_always_go_round)
{
	for (uint32_t frames = 256; frames <= 1u << 24; frames *= 2) {
		uint32_t rx = xiw_xsk_rx_entries(frames);

		cr_expect(rx && !(rx & (rx - 1)), "%u frames: %u entries", frames, rx);
		cr_expect_lt(rx + frames / 2 + XIW_XSK_BATCH_FRAMES, frames, "%u frames", frames);
	}
}

Test(sock, the_buffer_for_a_window_is_never_smaller_than_it)
{
	cr_expect_eq(xiw_sock_buffer(1 << 20), 4 << 20);
	for (uint32_t window = 4096; window <= 1u << 29; window *= 2)
		cr_expect_geq(xiw_sock_buffer(window), (int)window, "%u", window);
}
