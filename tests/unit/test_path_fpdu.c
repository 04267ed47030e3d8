// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A payload that goes into several pieces of memory: each octet in its place, and nothing before its CRC was right. */
#include <criterion/criterion.h>

#include "mpa/tx.h"
#include "path/fpdu.c"
#include "tests/unit/mpa_ref.h"

enum { SEED = 0x5ca7, HEADER = 18, LONGEST = 4000, PIECES = 8 };

static uint8_t payload[LONGEST], wire[2 * LONGEST], memory[LONGEST + PIECES + 1];
static struct xiw_ddp_piece pieces[PIECES];
static struct xiw_conn c;

/* Pieces from the end of `memory` to its start, with an octet between two of them. */
static void cut(uint64_t *rng, uint32_t len)
{
	uint8_t *end = memory + sizeof(memory);

	memset(memory, 0xee, sizeof(memory));
	for (uint32_t i = 0; i < PIECES; i++) {
		uint32_t n = i == PIECES - 1 ? len : 1 + ref_random(rng) % (len - (PIECES - i) + 1);

		end -= n + 1;
		pieces[i] = (struct xiw_ddp_piece){ end + 1, n };
		len -= n;
	}
}

/* Octets that were placed from `skip` on, and how many others of the memory were changed. */
static void check_memory(uint32_t skip, uint32_t len)
{
	uint32_t at = 0, changed = 0;

	for (uint32_t i = 0; i < PIECES; i++)
		for (size_t k = 0; k < pieces[i].len; k++, at++)
			if (at >= skip && at < skip + len)
				cr_assert_eq(pieces[i].base[k], payload[at - skip]);
	for (size_t i = 0; i < sizeof(memory); i++)
		changed += memory[i] != 0xee;
	cr_assert_eq(changed, len); /* no octet of the payload is 0xee */
}

Test(path_fpdu, scatters)
{
	uint64_t rng = SEED;

	c.crc = true;
	for (int run = 0; run < 3000; run++) {
		uint32_t len = PIECES + ref_random(&rng) % (LONGEST - PIECES + 1), skip, at, size;
		struct xiw_mpa_tx tx = { ref_random(&rng) % 128 * 4, run & 1, true };
		const struct xiw_mpa_rx rx = { .marker_phase = tx.phase, .markers = run & 1 };
		const struct xiw_ddp_hdr h = { .len = HEADER, .last = run & 2 };
		struct xiw_ddp_place p = { .pieces = pieces, .npieces = PIECES };
		struct xiw_fpdu f;
		struct xiw_vec v[2];

		cut(&rng, len);
		skip = ref_random(&rng) % (len - 1);
		p.piece_off = skip;
		for (; p.piece_off >= p.pieces->len; p.pieces++, p.npieces--)
			p.piece_off -= p.pieces->len;
		p.dst = p.pieces->base + p.piece_off;
		len = 1 + ref_random(&rng) % (len - skip);
		for (uint32_t i = 0; i < len; i++)
			payload[i] = (uint8_t)(ref_random(&rng) % 0xee);
		size = xiw_mpa_build(&tx, wire, "eighteen octets...", HEADER, payload, len);
		at = ref_random(&rng) % size;
		v[0] = (struct xiw_vec){ wire, at };
		v[1] = (struct xiw_vec){ wire + at, size - at };
		cr_assert_eq(xiw_mpa_parse(&rx, v, 2, 0, &f), XIW_MPA_OK);
		wire[size / 2] ^= 1;
		cr_assert(!place(&c, &f, v, 2, &h, &p, XIW_FPDU_BOUNDED));
		check_memory(skip, 0);
		wire[size / 2] ^= 1;
		cr_assert(place(&c, &f, v, 2, &h, &p, XIW_FPDU_BOUNDED), "run %d", run);
		check_memory(skip, len);
	}
}

/* A Tagged segment of 14 octets of header, which goes to octet `to` of the region 9. */
static uint32_t tagged_fpdu(uint32_t to, uint32_t len)
{
	const struct xiw_ddp_hdr h = { .tagged = true, .dv = XIW_DDP_VERSION, .stag = 9, .to = to };
	struct xiw_mpa_tx tx = { .crc = true };
	uint8_t header[XIW_DDP_HDR_MAX];

	return xiw_mpa_build(&tx, wire, header, xiw_ddp_hdr_encode(&h, header), payload, len);
}

static bool region_untouched(uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < sizeof(memory); i++)
		if ((i < from || i >= to) && memory[i] != 0xee)
			return false;
	return true;
}

/* With any bit wrong, nothing is accepted, and nothing is written except where the next segment goes. */
Test(path_fpdu, straight_line)
{
	const struct xiw_ddp_region_opts region = { .ptr = memory,
						    .len = sizeof(memory),
						    .access = XIW_DDP_REMOTE_WRITE,
						    .fixed = true,
						    .stag = 9 };
	struct xiw_ddp_table table;
	const struct xiw_ddp_rx_opts opts = { .table = &table, .stream = 1, .depth = 1 };
	const uint32_t first = 40, len = 333, size = tagged_fpdu(first, len);
	struct xiw_conn was;
	uint32_t stag;

	c = (struct xiw_conn){ .crc = true, .send.allowed = true };
	xiw_ddp_table_init(&table, NULL, NULL);
	cr_assert_eq(xiw_ddp_region_register(&table, &region, &stag), 0);
	cr_assert_eq(xiw_ddp_rx_create(&c.ddp, &opts), 0);
	memset(memory, 0xee, sizeof(memory));
	memset(payload, 0x11, sizeof(payload));

	/* Nothing is expected before a message has begun. */
	tagged_fpdu(0, first);
	cr_assert(!xiw_fpdu_accept_expected(&c, wire, 2 + 14 + first + 4, XIW_FPDU_DIRECT));
	cr_assert(region_untouched(0, 0));
	c.ddp->view.generation = 0;
	cr_assert_eq(xiw_ddp_rx_place(c.ddp,
				      &(struct xiw_ddp_hdr){
					      .tagged = true, .dv = XIW_DDP_VERSION, .stag = 9 },
				      first, &(struct xiw_ddp_place){}),
		     XIW_DDP_OK);
	cr_assert_eq(xiw_ddp_rx_deliver(c.ddp,
					&(struct xiw_ddp_hdr){
						.tagged = true, .dv = XIW_DDP_VERSION, .stag = 9 },
					first, &(struct xiw_ddp_msg){}),
		     XIW_DDP_OK);

	tagged_fpdu(first, len);
	memcpy(&was, &c, sizeof(c));
	for (uint32_t bit = 0; bit < size * 8; bit++) {
		wire[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_assert(!xiw_fpdu_accept_expected(&c, wire, size, XIW_FPDU_DIRECT), "bit %u",
			  bit);
		wire[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_assert(region_untouched(first, first + len), "bit %u", bit);
		cr_assert(!memcmp(&was, &c, sizeof(c)), "bit %u", bit);
	}
	for (uint32_t n = 0; n < size; n++)
		cr_assert(!xiw_fpdu_accept_expected(&c, wire, n, XIW_FPDU_DIRECT), "%u octets", n);
	cr_assert(!xiw_fpdu_accept_expected(&c, wire, size + 4, XIW_FPDU_DIRECT));
	memset(memory, 0xee, sizeof(memory));
	cr_assert(xiw_fpdu_accept_expected(&c, wire, size, XIW_FPDU_DIRECT));
	cr_assert(!memcmp(memory + first, payload, len) && region_untouched(first, first + len));
	cr_assert_eq(c.counts.placed_direct, len);
	cr_assert_eq(c.counts.fpdus, 1);
	/* The same again is not expected. */
	cr_assert(!xiw_fpdu_accept_expected(&c, wire, size, XIW_FPDU_DIRECT));
	xiw_ddp_rx_free(c.ddp);
	xiw_ddp_table_free(&table);
}
