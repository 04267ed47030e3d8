// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Whoever sees the last byte of a message sees all of it, and never one whose CRC was wrong. Each instruction that
 * places is stepped over, and behind each the memory is looked at as a program sees it that polls the last byte.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <ucontext.h>

#include "crc32c/crc32c.h"
#include "mpa/tx.h"
#include "path/fpdu.h"
#include "tests/unit/mpa_ref.h"

enum { SEED = 0x0bde, LONGEST = 3000, ROOM = 8192, PIECES = 5, STAG = 9, OLD = 0xee };

static uint8_t payload[LONGEST], wire[2 * LONGEST], memory[ROOM];
static struct xiw_ddp_piece pieces[PIECES];
static unsigned int npieces;
static struct xiw_conn c;
static unsigned int delivered;

/* What the poller sees. */
static struct {
	volatile bool on;
	volatile uint8_t *last;
	uint32_t len;
	unsigned int steps, seen, torn;
} poller;

static bool whole(void)
{
	uint32_t at = 0;

	for (unsigned int i = 0; i < npieces; i++)
		for (size_t k = 0; k < pieces[i].len && at < poller.len; k++, at++)
			if (pieces[i].base[k] != payload[at])
				return false;
	return true;
}

static void look(void)
{
	poller.steps++;
	if (*poller.last == OLD || poller.seen)
		return;
	poller.seen++;
	poller.torn += !whole();
}

#ifdef __x86_64__
#define TRAP_FLAG 0x100

static void stepped(int sig, siginfo_t *info, void *context)
{
	greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];

	(void)sig;
	(void)info;
	if (poller.on)
		look();
	*flags = poller.on ? *flags | TRAP_FLAG : *flags & ~TRAP_FLAG;
}

static void steps_begin(void)
{
	const struct sigaction act = { .sa_sigaction = stepped, .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &act, NULL);
	poller.on = true;
	raise(SIGTRAP);
}
#else
static void steps_begin(void)
{
	cr_skip_test("stepping over instructions is for x86-64");
}
#endif

static void steps_end(void)
{
	poller.on = false;
	look();
}

/* The message goes to `n` pieces with gaps between them, the first at an address that is `at` modulo 64. */
static void lay_out(uint64_t *rng, uint32_t len, unsigned int n, uint32_t at)
{
	uint8_t *p = memory + (64 - (uintptr_t)memory % 64) + at;
	uint32_t left = len;

	memset(memory, OLD, sizeof(memory));
	npieces = n < len ? n : 1;
	for (unsigned int i = 0; i < npieces; i++) {
		const uint32_t others = npieces - 1 - i;
		const uint32_t k = others ? 1 + ref_random(rng) % (left - others) : left;

		pieces[i] = (struct xiw_ddp_piece){ p, k };
		p += k + ref_random(rng) % 70;
		left -= k;
	}
	poller.last = pieces[npieces - 1].base + pieces[npieces - 1].len - 1;
	poller.len = len;
	poller.seen = poller.torn = poller.steps = 0;
}

/* Every length, and ends at every place in a word and a cache line. */
Test(path_order, every_length)
{
	uint64_t rng = SEED;

	for (uint32_t len = 1; len <= LONGEST; len += len < 1500 ? 1 : 29) {
		const bool markers = len & 1;
		struct ref_stream s = { wire, 0, ref_random(&rng) % 128 * 4, markers };
		const struct xiw_mpa_rx rx = { s.phase, markers, true };
		unsigned int n = 1 + ref_random(&rng) % 3;
		struct xiw_vec v[3];
		struct xiw_fpdu f;
		uint32_t size;

		lay_out(&rng, len, 1, ref_random(&rng) % 64);
		memset(payload, 0x11, len);
		size = ref_fpdu(&s, payload, len, true);
		ref_cut(&rng, wire, size, v, n);
		cr_assert_eq(xiw_mpa_parse(&rx, v, n, 0, &f), XIW_MPA_OK);
		steps_begin();
		cr_assert(xiw_mpa_place(&f, v, n, 0, pieces->base));
		steps_end();
		cr_assert(poller.seen && whole(), "%u bytes", len);
		cr_assert_eq(poller.torn, 0, "%u bytes at %p: the last one came first", len,
			     (void *)pieces->base);
		cr_assert(*(poller.last + 1) == OLD && pieces->base[-1] == OLD);
		cr_assert(poller.steps > 10, "nothing was stepped over");
	}
}

static int agrees(struct xiw_conn *conn, const struct xiw_ddp_hdr *h, uint32_t len,
		  const struct xiw_ddp_place *p, bool in_turn)
{
	(void)conn, (void)h, (void)len, (void)p, (void)in_turn;
	return 0;
}

static void message(struct xiw_conn *conn, const struct xiw_ddp_msg *m, const struct xiw_header *h)
{
	(void)conn, (void)m, (void)h;
	delivered++;
}

static const struct xiw_ulp ulp = { .check = agrees, .message = message };

/* One FPDU of the message, [off, off + len); `bad`: the bit that is wrong, counted from the end. */
static int take_fpdu(uint64_t *rng, bool tagged, uint32_t off, uint32_t len, bool last,
		     uint32_t bad)
{
	const struct xiw_ddp_hdr h = { .tagged = tagged,
				       .last = last,
				       .dv = XIW_DDP_VERSION,
				       .stag = STAG,
				       .to = off,
				       .msn = c.ddp->queues[0].next_msn,
				       .mo = off };
	struct xiw_mpa_tx tx = { .phase = c.mpa.rx.marker_phase,
				 .markers = c.mpa.rx.markers,
				 .crc = true };
	unsigned int n = 1 + ref_random(rng) % 3;
	uint8_t header[XIW_DDP_HDR_MAX];
	struct xiw_vec v[3];
	struct xiw_fpdu f;
	uint32_t size = xiw_mpa_build(&tx, wire, header, xiw_ddp_hdr_encode(&h, header),
				      payload + off, len);
	int err;

	if (bad)
		wire[size - 1 - bad / 8 % (tx.markers ? 4 : len + 4)] ^= (uint8_t)(1 << bad % 8);
	ref_cut(rng, wire, size, v, n);
	cr_assert_eq(xiw_mpa_parse(&c.mpa.rx, v, n, 0, &f), XIW_MPA_OK);
	if (last && !bad)
		steps_begin();
	err = xiw_fpdu_accept(&c, &f, v, n, XIW_FPDU_DIRECT | XIW_FPDU_BOUNDED);
	steps_end();
	if (!err)
		xiw_mpa_rx_advance(&c.mpa.rx, size);
	return err;
}

/* A message in FPDUs of at most `each` bytes. Damage to the last one shows nowhere, and it may come again. */
static void send_message(uint64_t *rng, bool tagged, uint32_t len, uint32_t each)
{
	unsigned int before = delivered;
	uint32_t off = 0;

	for (; len - off > each; off += each)
		cr_assert_eq(take_fpdu(rng, tagged, off, each, false, 0), 0);
	cr_assert(!poller.seen);
	cr_assert_eq(take_fpdu(rng, tagged, off, len - off, true, 1 + ref_random(rng) % 30000),
		     -EBADMSG);
	cr_assert(!poller.seen, "%u bytes in FPDUs of %u: the last one shows damage", len, each);
	cr_assert_eq(take_fpdu(rng, tagged, off, len - off, true, 0), 0);
	cr_assert(poller.seen && whole() && delivered == before + 1);
	cr_assert_eq(poller.torn, 0, "%u bytes in FPDUs of %u: the last one came first", len, each);
}

static void begin_stream(struct xiw_ddp_table *table, bool markers)
{
	const struct xiw_ddp_region_opts region = { .ptr = pieces->base,
						    .len = poller.len,
						    .access = XIW_DDP_REMOTE_WRITE,
						    .fixed = true,
						    .stag = STAG };
	const struct xiw_ddp_rx_opts opts = { .table = table, .stream = 1, .depth = 1 };
	const struct xiw_ddp_buf buf = xiw_ddp_buf_of(pieces, npieces, 0);
	uint32_t stag;

	c = (struct xiw_conn){
		.crc = true, .send.allowed = true, .ulp = &ulp, .mpa.rx = { .markers = markers }
	};
	xiw_ddp_table_init(table, NULL, NULL);
	cr_assert_eq(xiw_ddp_region_register(table, &region, &stag), 0);
	cr_assert_eq(xiw_ddp_rx_create(&c.ddp, &opts), 0);
	cr_assert_eq(xiw_ddp_rx_post_buf(c.ddp, 0, &buf), 0);
}

/* In one FPDU and in several, with Markers and without, Writes and Sends that are scattered, by each CRC32c. */
Test(path_order, messages)
{
	uint64_t rng = SEED;

	for (size_t i = 0; i < xiw_crc32c_table_len; i++) {
		if (!xiw_crc32c_table[i].supported())
			continue;
		xiw_crc32c_use(&xiw_crc32c_table[i]);
		for (unsigned int run = 0; run < 12; run++) {
			const uint32_t len = 1 + ref_random(&rng) % LONGEST;
			const uint32_t each = run % 3 ? 200 + ref_random(&rng) % 1240 : LONGEST;
			const bool tagged = run & 1;
			struct xiw_ddp_table table;

			lay_out(&rng, len, tagged ? 1 : PIECES, ref_random(&rng) % 64);
			for (uint32_t k = 0; k < len; k++)
				payload[k] = (uint8_t)(ref_random(&rng) % OLD);
			begin_stream(&table, run & 2);
			send_message(&rng, tagged, len, each);
			xiw_ddp_rx_free(c.ddp);
			xiw_ddp_table_free(&table);
		}
	}
}
