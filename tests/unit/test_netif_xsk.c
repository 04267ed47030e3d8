// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sizes that must hold whatever an application asks for, and packets as they come from the RX ring. */
#include <criterion/criterion.h>
#include <linux/if_xdp.h>
#include <string.h>

#include <xiwarp/abi.h>

#include "handoff/sock.h"
#include "netif/xsk.h"
#include "tests/unit/mpa_ref.h"

/* The engine stands still, with half of the frames kept and a batch in hand, and the RX ring fills. */
Test(xsk, some_frames_always_go_round)
{
	for (uint32_t frames = 256; frames <= 1u << 24; frames *= 2) {
		uint32_t rx = xiw_xsk_rx_entries(frames);

		cr_expect(rx && !(rx & (rx - 1)), "%u frames: %u entries", frames, rx);
		cr_expect_lt(rx + frames / 2 + xiw_xsk_batch_frames(frames), frames, "%u frames",
			     frames);
	}
}

Test(sock, the_buffer_for_a_window_is_never_smaller_than_it)
{
	cr_expect_eq(xiw_sock_buffer(1 << 20), 4 << 20);
	for (uint32_t window = 4096; window <= 1u << 29; window *= 2)
		cr_expect_geq(xiw_sock_buffer(window), (int)window, "%u", window);
}

#ifndef XDP_PKT_CONTD /* headers older than Linux 6.6 lack it */
#define XDP_PKT_CONTD (1 << 0)
#endif

enum { RING = 64, META = sizeof(struct xiw_meta), FRAMES_MOST = XIW_XSK_FRAGS_MAX + 3 };

/* What the ring has, and what must come of it. */
static struct xdp_desc ring[RING];
static struct xiw_packet want[RING];
static uint64_t want_free[RING], is_free[RING];
static uint32_t nring, nwant, nwant_free, want_too_long;
static uint8_t area[RING * 64];

/* Puts a packet on the ring. One with too many frames, or whose first frame has no room for metadata, is dropped. */
static void put_packet(uint64_t *rng)
{
	const uint32_t frames = ref_random(rng) % 2 ? 1 : 1 + ref_random(rng) % FRAMES_MOST;
	const uint32_t first_len = ref_random(rng) % 4 ? META + ref_random(rng) % 40
						       : META - 1 + ref_random(rng) % 2;
	const bool good = frames <= XIW_XSK_FRAGS_MAX && first_len >= META;
	struct xiw_packet *p = &want[nwant];

	memset(p, 0, sizeof(*p));
	for (uint32_t i = 0; i < frames; i++) {
		struct xdp_desc *d = &ring[nring];
		const uint32_t prefix = i ? 0 : META;

		*d = (struct xdp_desc){ .addr = nring++ * 64,
					.len = i ? (uint32_t)(ref_random(rng) % 60) : first_len,
					.options = i + 1 < frames ? XDP_PKT_CONTD : 0 };
		if (!good) {
			want_free[nwant_free++] = d->addr;
			continue;
		}
		p->addr[i] = d->addr;
		p->frag[i] = (struct xiw_vec){ area + d->addr + prefix, d->len - prefix };
		p->len += d->len - prefix;
		p->frags++;
	}
	nwant += good;
	want_too_long += !good;
}

static void same_packet(const struct xiw_packet *p, const struct xiw_packet *q, uint64_t round)
{
	cr_assert(p->len == q->len && p->frags == q->frags, "round %lu", round);
	for (uint32_t i = 0; i < p->frags; i++)
		cr_assert(p->addr[i] == q->addr[i] && p->frag[i].base == q->frag[i].base &&
				  p->frag[i].len == q->frag[i].len,
			  "round %lu, frame %u", round, i);
}

Test(xsk, packets_come_whole_or_not_at_all)
{
	uint64_t rng = 0x5eed;

	for (uint64_t round = 0; round < 20000; round++) {
		uint32_t consumer = 0, n = 0;
		struct xiw_packet got[RING];
		struct xiw_xsk x = { .area = area, .free = is_free };

		nring = nwant = nwant_free = want_too_long = 0;
		while (nring + FRAMES_MOST <= RING)
			put_packet(&rng);
		x.rx = (struct xsk_ring_cons){ .mask = RING - 1,
					       .size = RING,
					       .producer = &nring,
					       .consumer = &consumer,
					       .ring = ring };
		/* So few at once that a packet of too many frames does not lie in one batch with all of them. */
		while (consumer < nring)
			n += xiw_xsk_receive(&x, got + n, 2 + ref_random(&rng) % 3);
		cr_assert_eq(n, nwant, "round %lu", round);
		for (uint32_t i = 0; i < n; i++)
			same_packet(&got[i], &want[i], round);
		cr_assert_eq(x.too_long, want_too_long);
		cr_assert_eq(x.nfree, nwant_free);
		cr_assert(!memcmp(is_free, want_free, nwant_free * sizeof(*is_free)));
		cr_assert(!x.skipping);
	}
}

/* The kernel's side of the fill ring, and one frame of the stack for each number. */
static uint64_t fill_ring[RING], stack[2 * RING];

/*
 * The kernel takes frames in bursts of any size and gives them back. Whatever the number of connections asks for, it
 * has so many again after the next refill, or all that the ring has room for; and no frame is lent twice.
 */
Test(xsk, the_kernel_never_stays_without_frames)
{
	uint64_t rng = 0xf111;

	for (uint32_t at_least = 0; at_least <= RING + 2; at_least++) {
		uint32_t producer = 0, consumer = 0;
		struct xiw_xsk x = { .free = stack, .lend = 2 };

		x.fill = (struct xsk_ring_prod){ .mask = RING - 1,
						 .size = RING,
						 .cached_cons = RING,
						 .producer = &producer,
						 .consumer = &consumer,
						 .ring = fill_ring };
		for (; x.nfree < 2 * RING; x.nfree++)
			stack[x.nfree] = x.nfree;
		for (uint32_t round = 0; round < 200; round++) {
			const uint32_t want_least = at_least < RING ? at_least : RING;
			uint64_t seen[2] = {};

			xiw_xsk_refill(&x, at_least);
			cr_assert(producer - consumer && producer - consumer >= want_least,
				  "%u of %u in round %u", producer - consumer, at_least, round);
			cr_assert_leq(producer - consumer, RING);
			for (uint32_t i = consumer; i != producer; i++) {
				const uint64_t f = fill_ring[i % RING];

				cr_assert(!(seen[f / 64] >> f % 64 & 1), "frame %lu", f);
				seen[f / 64] |= 1ull << f % 64;
			}
			for (uint32_t n = ref_random(&rng) % (producer - consumer + 1); n; n--)
				stack[x.nfree++] = fill_ring[consumer++ % RING];
		}
	}
}
