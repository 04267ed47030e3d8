// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* FPDUs from the socket that continue a message: in a straight line, and only what is as expected. */
#include <criterion/criterion.h>

#include "mpa/tx.h"
#include "path/kernel.c"
#include "tests/unit/mpa_ref.h"

enum { SEED = 0x4be1, STAG = 9, EACH = 100, REGION = 8000, OTHER = 11 };

static struct xiw_engine *e;
static struct xiw_conn *c;
static uint8_t memory[REGION], other[REGION], payload[REGION + EACH], wire[4 * REGION];
static uint32_t wire_len;
static struct xiw_mpa_tx tx;
static uint32_t messages;
static bool refuses;
static uint64_t refuses_from = UINT64_MAX; /* the TO */

static int check(struct xiw_conn *conn, const struct xiw_ddp_hdr *h, uint32_t len,
		 const struct xiw_ddp_place *p, bool in_turn)
{
	(void)conn, (void)len, (void)p, (void)in_turn;
	return refuses || h->to >= refuses_from;
}

static void message(struct xiw_conn *conn, const struct xiw_ddp_msg *m,
		    const struct xiw_header *last)
{
	(void)conn, (void)m, (void)last;
	messages++;
}

static void refuse_it(struct xiw_conn *conn, int code, const struct xiw_header *h)
{
	(void)code, (void)h;
	xiw_conn_stream_error(conn, 0, XIW_DDP_LOCAL_CATASTROPHIC);
}

static const struct xiw_ulp ulp = { .check = check, .message = message, .refuse = refuse_it };

static void add_region(uint32_t stag, uint8_t *ptr)
{
	const struct xiw_ddp_region_opts o = { .ptr = ptr,
					       .len = REGION,
					       .access = XIW_DDP_REMOTE_WRITE,
					       .fixed = true,
					       .stag = stag };

	cr_assert_eq(xiw_ddp_region_register(&e->regions, &o, &stag), 0);
}

static void begin(bool markers)
{
	struct xiw_ddp_rx_opts opts = { .stream = 1, .depth = 1 };

	e = calloc(1, sizeof(*e));
	c = aligned_alloc(64, sizeof(*c));
	memset(c, 0, sizeof(*c));
	c->engine = e;
	c->state = XIW_OPEN;
	c->crc = c->send.allowed = true;
	c->ulp = &ulp;
	e->cq.mask = 4 * XIW_CQ_RESERVE - 1;
	xiw_ddp_table_init(&e->regions, NULL, NULL);
	add_region(STAG, memory);
	add_region(OTHER, other);
	opts.table = &e->regions;
	cr_assert_eq(xiw_ddp_rx_create(&c->ddp, &opts), 0);
	xiw_mpa_stream_init(&c->mpa, &(struct xiw_mpa_rx){ .markers = markers, .crc = true });
	tx = (struct xiw_mpa_tx){ .markers = markers, .crc = true };
	memset(memory, 0xee, sizeof(memory));
	memset(other, 0xee, sizeof(other));
	wire_len = messages = 0;
	refuses = false;
}

static void finish(void)
{
	xiw_mpa_stream_free(&c->mpa);
	xiw_ddp_rx_free(c->ddp);
	xiw_ddp_table_free(&e->regions);
	free(c);
	free(e);
}

/* Puts one FPDU on the wire. Returns where it begins. */
static uint32_t put_fpdu(uint32_t stag, uint64_t to, uint32_t len, bool last)
{
	const struct xiw_ddp_hdr h = {
		.tagged = true, .last = last, .dv = XIW_DDP_VERSION, .stag = stag, .to = to
	};
	const uint32_t at = wire_len;
	uint8_t header[XIW_DDP_HDR_MAX];

	wire_len += xiw_mpa_build(&tx, wire + at, header, xiw_ddp_hdr_encode(&h, header),
				  payload + to % REGION, len);
	return at;
}

/* Says whether exactly these octets of a memory, from @from on, were written, and with the payload of their places. */
static bool holds(const uint8_t *where, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < REGION; i++)
		if (where[i] != (i >= from && i < to ? payload[i] : 0xee))
			return false;
	return true;
}

/* As many messages as there is room for, of several FPDUs that are equally long but the last, in random pieces. */
static void whole_messages(uint64_t *rng, bool markers)
{
	uint32_t to = 0, n = 0, at = 0, fpdus = 0;

	begin(markers);
	while (to < REGION - 2000) {
		const uint32_t each = 1 + ref_random(rng) % 300, more = ref_random(rng) % 6;

		for (uint32_t i = 0; i < more; i++, to += each)
			put_fpdu(STAG, to, each, false);
		put_fpdu(STAG, to, 1 + ref_random(rng) % each, true);
		to += each;
		n++;
		fpdus += more + 1;
	}
	while (at < wire_len) {
		uint32_t len = 1 + ref_random(rng) % 2000;

		len = len < wire_len - at ? len : wire_len - at;
		cr_assert_eq(feed(c, wire + at, len), len);
		at += len;
	}
	cr_assert(!c->rx_dead);
	cr_assert_eq(messages, n);
	cr_assert_eq(c->counts.fpdus, fpdus);
	cr_assert_eq(c->counts.stream_kernel, wire_len);
	cr_assert_eq(c->recv.nxt, wire_len);
	for (uint32_t i = 0; i < REGION; i++)
		cr_assert(memory[i] == payload[i] || memory[i] == 0xee);
	cr_assert_eq(xiw_mpa_stream_pending(&c->mpa), 0);
	finish();
}

static void fill_payload(void)
{
	for (uint32_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i % 0xeb); /* never 0xee */
}

Test(path_kernel, messages_in_pieces)
{
	uint64_t rng = SEED;

	fill_payload();
	for (int run = 0; run < 300; run++)
		whole_messages(&rng, run % 4 == 3);
}

/* Four FPDUs as long as each other, which are taken, and one behind them, which ends the stream. */
static void four_and(uint32_t stag, uint64_t to, uint32_t len)
{
	begin(false);
	for (uint32_t i = 0; i < 4; i++)
		put_fpdu(STAG, i * EACH, EACH, false);
	put_fpdu(stag, to, len, false);
}

static void dies_behind(uint32_t fpdus, enum xiw_mpa_error mpa, enum xiw_ddp_error ddp)
{
	cr_expect_eq(feed(c, wire, wire_len), wire_len);
	cr_expect(c->rx_dead);
	cr_expect_eq(c->end.mpa_error, mpa);
	cr_expect_eq(c->end.ddp_error, ddp);
	cr_expect_eq(c->counts.fpdus, fpdus);
	cr_expect_eq(c->counts.placed_kernel, fpdus * EACH);
	cr_expect_eq(messages, 0);
	cr_expect(holds(other, 0, 0));
}

static void dies(enum xiw_mpa_error mpa, enum xiw_ddp_error ddp)
{
	dies_behind(4, mpa, ddp);
}

/* With any bit wrong, nothing is accepted, and no octet is written but where the FPDU goes anyway. */
Test(path_kernel, every_wrong_bit)
{
	fill_payload();
	for (uint32_t bit = 0;; bit++) {
		uint32_t from, size;

		memset(wire, 0, sizeof(wire));
		four_and(STAG, 4 * EACH, EACH);
		from = wire_len / 5 * 4;
		size = wire_len - from;
		if (bit == size * 8) {
			finish();
			return;
		}
		wire[from + bit / 8] ^= (uint8_t)(1 << bit % 8);
		feed(c, wire, sizeof(wire));
		memset(memory + 4 * EACH, 0xee, EACH);
		cr_expect(holds(memory, 0, 4 * EACH), "bit %u", bit);
		cr_expect(holds(other, 0, 0), "bit %u", bit);
		cr_expect_eq(c->counts.fpdus, 4, "bit %u", bit);
		cr_expect(c->rx_dead || (bit < 16 && xiw_mpa_stream_pending(&c->mpa)), "bit %u",
			  bit);
		finish();
	}
}

/* A length that nothing confirms: the CRC comes first, and not an octet is written. */
Test(path_kernel, another_length)
{
	fill_payload();
	for (uint32_t len = EACH - 3; len < EACH + 30; len++) {
		four_and(STAG, 4 * EACH, len);
		wire[wire_len - 1] ^= 1;
		dies(XIW_MPA_ERR_CRC, 0);
		memset(memory + 4 * EACH, 0xee, xiw_mpa_data_len(14 + len) ==
								xiw_mpa_data_len(14 + EACH)
							? len
							: 0);
		cr_expect(holds(memory, 0, 4 * EACH), "%u octets", len);
		finish();
		four_and(STAG, 4 * EACH, len);
		cr_expect_eq(feed(c, wire, wire_len), wire_len);
		cr_expect(!c->rx_dead && holds(memory, 0, 4 * EACH + len), "%u octets", len);
		finish();
	}
}

Test(path_kernel, another_place)
{
	fill_payload();
	four_and(OTHER, 4 * EACH, EACH);
	feed(c, wire, wire_len);
	cr_expect(!c->rx_dead && holds(memory, 0, 4 * EACH) &&
		  holds(other, 4 * EACH, 5 * EACH));
	finish();
	four_and(STAG, 6 * EACH, EACH);
	feed(c, wire, wire_len);
	memset(memory + 6 * EACH, 0xee, EACH);
	cr_expect(!c->rx_dead && holds(memory, 0, 4 * EACH));
	finish();
	four_and(STAG, REGION - EACH + 1, EACH);
	dies(0, XIW_DDP_TAGGED_BOUNDS);
	cr_expect(holds(memory, 0, 4 * EACH));
	finish();
	four_and(STAG + 1, 4 * EACH, EACH);
	dies(0, XIW_DDP_TAGGED_STAG);
	cr_expect(holds(memory, 0, 4 * EACH));
	finish();
}

/* What the application has taken back between two pieces of the stream is not written. */
Test(path_kernel, taken_back)
{
	fill_payload();
	for (int how = 0; how < 3; how++) {
		four_and(STAG, 4 * EACH, EACH);
		cr_expect_eq(feed(c, wire, wire_len / 5 * 4), wire_len / 5 * 4);
		if (how == 0)
			cr_assert_eq(xiw_ddp_region_invalidate(&e->regions, STAG), 0);
		else if (how == 1)
			cr_assert_eq(xiw_ddp_region_set_access(&e->regions, STAG,
							       XIW_DDP_REMOTE_READ),
				     0);
		else
			refuses = true;
		memmove(wire, wire + wire_len / 5 * 4, wire_len / 5);
		wire_len /= 5;
		dies(0, how == 2 ? XIW_DDP_LOCAL_CATASTROPHIC : XIW_DDP_TAGGED_STAG);
		cr_expect(holds(memory, 0, 4 * EACH));
		finish();
	}
}

/* FPDUs of several lengths need as many octets with their padding, and each is as long as it says. */
Test(path_kernel, lengths_that_padding_makes_equal)
{
	uint64_t rng = SEED;

	fill_payload();
	for (int i = 0; i < 500; i++) {
		uint32_t to = 0, len = EACH, fpdus = 0, last = 0;

		begin(false);
		for (; to < REGION - EACH; to += len, fpdus++) {
			/* 97 to 100 have the same number of octets. Most are as long as the one before. */
			if (ref_random(&rng) % 3 == 0)
				len = EACH - (uint32_t)(ref_random(&rng) % 4);
			last = to + len;
			put_fpdu(STAG, to, len, false);
		}
		cr_expect_eq(feed(c, wire, wire_len), wire_len);
		cr_expect(!c->rx_dead && holds(memory, 0, last));
		cr_expect_eq(c->counts.fpdus, fpdus);
		cr_expect_eq(c->counts.placed_kernel, last);
		cr_expect(c->ddp->tagged.contiguous && c->ddp->tagged.len == last);
		finish();
	}
}

/* Each FPDU of a run is asked about, wherever the answer changes. */
Test(path_kernel, refused_within_a_run)
{
	fill_payload();
	for (uint32_t n = 1; n < 9; n++) {
		begin(false);
		for (uint32_t i = 0; i < 10; i++)
			put_fpdu(STAG, i * EACH, EACH, false);
		refuses_from = n * EACH;
		dies_behind(n, 0, XIW_DDP_LOCAL_CATASTROPHIC);
		cr_expect(holds(memory, 0, n * EACH), "%u", n);
		refuses_from = UINT64_MAX;
		finish();
	}
}

/* A run may end where the region ends, and no octet lies behind it. */
Test(path_kernel, end_of_region_within_a_run)
{
	fill_payload();
	for (uint32_t over = 0; over < 2 * EACH; over += 7) {
		const uint32_t first = REGION - 6 * EACH + over,
			       fit = 6 - (over + EACH - 1) / EACH;

		begin(false);
		for (uint32_t i = 0; i < 6; i++)
			put_fpdu(STAG, first + i * EACH, EACH, false);
		if (over) {
			dies_behind(fit, 0, XIW_DDP_TAGGED_BOUNDS);
			cr_expect(holds(memory, first, first + fit * EACH), "%u", over);
		} else {
			cr_expect_eq(feed(c, wire, wire_len), wire_len);
			cr_expect(!c->rx_dead && holds(memory, first, REGION));
		}
		finish();
	}
}

/* FPDUs of the direct path lie between: the length of one from before them confirms nothing. */
Test(path_kernel, length_from_before_a_stretch)
{
	uint32_t third;

	fill_payload();
	begin(false);
	put_fpdu(STAG, 0, EACH, false);
	feed(c, wire, wire_len);
	wire_len = 0;
	put_fpdu(STAG, EACH, EACH / 2, false);
	cr_assert(xiw_fpdu_accept_expected(c, wire, wire_len, XIW_FPDU_DIRECT));
	wire_len = 0;
	third = put_fpdu(STAG, EACH + EACH / 2, EACH, false);
	wire[wire_len - 1] ^= 1;
	cr_expect_eq(feed(c, wire + third, wire_len), wire_len);
	cr_expect(c->rx_dead && holds(memory, 0, EACH + EACH / 2));
	cr_expect_eq(c->counts.placed_direct, EACH / 2);
	finish();
}
