// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* When a stage may leave without the cork, or as one write: the peer's window has room for it (user/conn/fill.c). */
#include <criterion/criterion.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* What TCP has: octets that are not acknowledged, and how many more the window has room for. */
static uint32_t in_flight, open_octets, acked_meanwhile, unsent;
static bool deaf;
static unsigned int asked;
static uint32_t tcp_mss = 1448;

/* Behind each question comes an ACK that leaves the window's right edge where it is. */
static void ack(void)
{
	const uint32_t n = acked_meanwhile < in_flight ? acked_meanwhile : in_flight;

	in_flight -= n;
	acked_meanwhile = 0;
}

static int tcp_says(int fd, int level, int option, void *value, socklen_t *len)
{
	struct tcp_info *info = value;

	(void)fd;
	(void)len;
	asked++;
	if (deaf || level != IPPROTO_TCP || option != TCP_INFO)
		return -1;
	info->tcpi_snd_mss = tcp_mss;
	info->tcpi_snd_wnd = in_flight + open_octets;
	info->tcpi_unacked = (in_flight - unsent + 1447) / 1448;
	info->tcpi_notsent_bytes = unsent;
	ack();
	return 0;
}

static int tcp_counts(int fd, unsigned long what, int *value)
{
	(void)fd;
	asked++;
	if (what != SIOCOUTQ)
		return -1;
	*value = (int)in_flight;
	ack();
	return 0;
}

#define getsockopt tcp_says
#define ioctl tcp_counts
#include "conn/fill.c"

static struct xiw_engine e;
static struct xiw_conn c;
static struct xiw_queued queue;
static uint8_t message[4096];

/* Returns whether a message of three segments goes without the cork. */
static bool fits(void)
{
	c = (struct xiw_conn){ .engine = &e, .fd = -1 };
	queue = (struct xiw_queued){ .buf = message, .len = sizeof(message) };
	cr_assert_eq(xiw_ddp_tx_tagged(&queue.cut, 1, 0, sizeof(message), 0), 0);
	c.send.queue = &queue;
	c.send.room = c.send.count = 1;
	c.send.stage = malloc(sizeof(*c.send.stage));
	cr_assert(c.send.stage);
	xiw_stage_fill(&c, true);
	cr_assert_eq(c.send.staged, 1);
	free(c.send.stage);
	return c.send.fits;
}

Test(conn_fill, window_has_room)
{
	in_flight = 20000;
	open_octets = 8192;
	cr_assert(fits());
	cr_assert(c.send.runs);
	open_octets = 4096; /* less than the message with its headers */
	cr_assert(!fits());
	cr_assert(c.send.runs);
}

/* The peer's application does not read: ACKs come, and the window's edge stays. */
Test(conn_fill, ack_in_between)
{
	in_flight = 20000;
	open_octets = 2000;
	acked_meanwhile = 10000;
	cr_assert(!fits());
}

/* Puts so many octets, as one message, behind those that are queued. */
static void enqueue(struct xiw_queued *q, const uint8_t *octets, uint32_t len)
{
	q[c.send.count] = (struct xiw_queued){ .buf = octets, .len = len };
	cr_assert_eq(xiw_ddp_tx_tagged(&q[c.send.count++].cut, 1, 0, len, 0), 0);
}

/* TCP is asked once in a millisecond, and before the last stage, which may leave without the cork. */
Test(conn_fill, asks_tcp_seldom)
{
	const uint32_t len = 3 * XIW_TX_STAGE;
	uint8_t *octets = calloc(1, len);
	struct xiw_queued queued[2];

	cr_assert(octets);
	in_flight = 0;
	open_octets = 2 * len;
	c = (struct xiw_conn){ .engine = &e, .fd = -1 };
	c.send.queue = queued;
	c.send.room = 2;
	enqueue(queued, octets, len);
	enqueue(queued, octets, XIW_TX_STAGE / 2);
	c.send.stage = malloc(sizeof(*c.send.stage));
	cr_assert(c.send.stage);
	for (int n = 0; c.send.staged < c.send.count; n++) {
		asked = 0;
		e.now_ms = n < 2 ? 7 : 8;
		xiw_stage_fill(&c, true);
		if (c.send.staged == c.send.count)
			cr_assert_eq(asked, 2);
		else
			cr_assert_eq(asked, n == 0 || n == 2, "stage %d: %u", n, asked);
		cr_assert_eq(c.send.fits, c.send.staged == c.send.count);
		cr_assert_leq(n, 4);
	}
	free(c.send.stage);
	free(octets);
}

/* Fills another stage of a connection whose queue is long. Returns its number of writes. */
static uint32_t writes_of_next(bool alone)
{
	const struct xiw_stage *s = c.send.stage;

	xiw_stage_fill(&c, alone);
	cr_assert_gt(c.send.stage_len, XIW_TX_STAGE - 20000);
	cr_assert_eq(s->end[s->nends - 1], c.send.stage_len);
	for (uint32_t i = 0; i < s->nends; i++)
		cr_assert_eq(s->end[i] % 1448, 0);
	return s->nends;
}

static void begin_long(void)
{
	static uint8_t octets[16 * XIW_TX_STAGE];

	e.now_ms = 7;
	in_flight = unsent = 0;
	c = (struct xiw_conn){ .engine = &e, .fd = -1 };
	c.send.queue = &queue;
	c.send.room = 1;
	enqueue(&queue, octets, sizeof(octets));
	c.send.stage = malloc(sizeof(*c.send.stage));
	cr_assert(c.send.stage);
}

#define RUNS 4 /* in a stage, where each is a write */

/* A stage is one write if the window has room for it behind all that TCP has; and if no other connection sends. */
Test(conn_fill, one_write, .init = begin_long)
{
	in_flight = 100000;
	unsent = 50000;
	open_octets = 8 * XIW_TX_STAGE;
	cr_assert_eq(writes_of_next(true), 1);
	cr_assert_eq(writes_of_next(true), 1);
	cr_assert_eq(writes_of_next(false), RUNS);
	cr_assert_eq(writes_of_next(true), 1);
}

/* Within a millisecond TCP is not asked again, but what it was given is in the window, whoever else sends. */
Test(conn_fill, stages_use_the_window, .init = begin_long)
{
	open_octets = 3 * XIW_TX_STAGE;
	cr_assert_eq(writes_of_next(true), 1);
	cr_assert_eq(writes_of_next(false), RUNS);
	cr_assert_eq(writes_of_next(true), RUNS);
	e.now_ms++;
	cr_assert_eq(writes_of_next(true), 1);
	e.now_ms++;
	open_octets = XIW_TX_STAGE;
	cr_assert_eq(writes_of_next(true), RUNS);
}

/* The window has room for the margin and one stage, to the octet. */
Test(conn_fill, window_to_the_octet, .init = begin_long)
{
	open_octets = 8 * XIW_TX_STAGE;
	writes_of_next(true);
	open_octets = WINDOW_MARGIN + c.send.stage_len;
	e.now_ms++;
	cr_assert_eq(writes_of_next(true), 1);
	e.now_ms++;
	open_octets--;
	cr_assert_eq(writes_of_next(true), RUNS);
}

/* Segments that are counted whole may be more than the window; so may what TCP has not sent. */
Test(conn_fill, window_is_full, .init = begin_long)
{
	in_flight = 2 * XIW_TX_STAGE + 1;
	open_octets = 0;
	cr_assert_eq(writes_of_next(true), RUNS);
	e.now_ms++;
	open_octets = 2 * XIW_TX_STAGE;
	in_flight = unsent = 2 * XIW_TX_STAGE;
	cr_assert_eq(writes_of_next(true), 1);
	e.now_ms++;
	open_octets = XIW_TX_STAGE;
	cr_assert_eq(writes_of_next(true), RUNS);
}

/* SACK blocks take room in segments, so each of them is a write. */
Test(conn_fill, sack_blocks, .init = begin_long)
{
	open_octets = 8 * XIW_TX_STAGE;
	writes_of_next(true);
	c.send.sacks = SACK_ROOM;
	xiw_stage_fill(&c, true);
	cr_assert_eq(c.send.stage->nends, XIW_RUNS);
}

/* A write ends behind a short segment, so that the next FPDU begins a segment. */
Test(conn_fill, writes_end_with_short_segments)
{
	static const struct {
		uint32_t len;
		bool ends;
	} messages[] = {
		/* An FPDU has 20 octets besides its payload; the third and the fourth are 1448 together. */
		{ 2 * 1428, false }, { 1428, false },	  { 1000, true },
		{ 408, true },	     { 2 * 1428, false },
	};
	struct xiw_queued queued[8];
	uint32_t end = 0, n = 0;

	unsent = in_flight = 0;
	open_octets = 2 * XIW_TX_STAGE;
	c = (struct xiw_conn){ .engine = &e, .fd = -1, .opts.no_pack = true };
	c.send.queue = queued;
	c.send.room = 8;
	for (size_t i = 0; i < sizeof(messages) / sizeof(*messages); i++)
		enqueue(queued, message, messages[i].len);
	c.send.stage = malloc(sizeof(*c.send.stage));
	cr_assert(c.send.stage);
	xiw_stage_fill(&c, true);
	for (size_t i = 0; i < sizeof(messages) / sizeof(*messages); i++) {
		end += messages[i].len + 20 * ((messages[i].len + 1427) / 1428);
		if (messages[i].ends || end == c.send.stage_len)
			cr_assert_eq(c.send.stage->end[n++], end);
	}
	cr_assert_eq(c.send.stage->nends, n);
	free(c.send.stage);
}

/* What the cork may hold back: the last segment, if it is short, wherever the stage ends. */
Test(conn_fill, short_end)
{
	static const struct {
		uint32_t len;
		bool no_pack, is_short;
	} cases[] = {
		/* An FPDU has 14 octets of header, 2 of length, 4 of CRC, and up to 3 of padding. */
		{ 1428, false, false }, { 2 * 1428, false, false }, { 1424, false, true },
		{ 1429, false, true },	{ 40, false, true },	    { 40, true, true },
	};

	in_flight = 0;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		c = (struct xiw_conn){ .engine = &e, .fd = -1, .opts.no_pack = cases[i].no_pack };
		c.send.queue = &queue;
		c.send.room = 1;
		enqueue(&queue, message, cases[i].len);
		c.send.emss = 1448;
		c.send.stage = malloc(sizeof(*c.send.stage));
		cr_assert(c.send.stage);
		xiw_stage_fill(&c, true);
		cr_assert_eq(c.send.short_end, cases[i].is_short, "%u", cases[i].len);
		free(c.send.stage);
	}
}

Test(conn_fill, window_is_unknown)
{
	deaf = true;
	cr_assert(!fits());
}

/* ---- what a stage holds, whichever way its FPDUs were built -------------------------------------------------- */

static uint8_t stream[3 * XIW_TX_STAGE];

/* Checks a message's next FPDU at `at`, and where segments and messages begin. Returns its length. */
static uint32_t check_fpdu(const uint8_t *at, const struct xiw_ddp_hdr *first, uint32_t *off,
			   uint32_t len)
{
	const uint32_t ulpdu = xiw_get_be16(at), room = ulpdu - first->len,
		       fpdu = XIW_MPA_LEN_SIZE + ulpdu + xiw_mpa_pad(ulpdu);
	uint8_t field[XIW_MPA_CRC_SIZE];
	struct xiw_ddp_hdr hdr;

	cr_assert_eq(xiw_ddp_hdr_decode(&hdr, at + XIW_MPA_LEN_SIZE, ulpdu, ulpdu), 0);
	cr_assert_eq(hdr.tagged, first->tagged);
	cr_assert_eq(hdr.rsvdulp[0], first->rsvdulp[0]);
	if (hdr.tagged)
		cr_assert(hdr.stag == first->stag && hdr.to == first->to + *off);
	else
		cr_assert(hdr.qn == first->qn && hdr.msn == first->msn && hdr.mo == *off);
	cr_assert_eq(hdr.last, *off + room == len);
	cr_assert(!memcmp(at + XIW_MPA_LEN_SIZE + first->len, stream + *off, room));
	xiw_mpa_put_crc(field, xiw_crc32c(0, at, fpdu));
	cr_assert(!memcmp(field, at + fpdu, sizeof(field)));
	*off += room;
	return fpdu + XIW_MPA_CRC_SIZE;
}

/* Sends a message of this length. Each segment of a run begins with an FPDU, and each but the last one is whole. */
static void send_checked(uint32_t len, bool tagged)
{
	static struct xiw_ddp_tx tx;
	const uint8_t ulp[XIW_DDP_UNTAGGED_RSVDULP_LEN] = { 0x43 };
	uint32_t off = 0;

	c = (struct xiw_conn){ .engine = &e, .fd = -1 };
	c.send.mpa.crc = true;
	queue = (struct xiw_queued){ .buf = stream, .len = len };
	if (!tx.nqueues)
		cr_assert_eq(xiw_ddp_tx_init(&tx, 1, 7), 0);
	if (tagged)
		cr_assert_eq(xiw_ddp_tx_tagged(&queue.cut, 9, 1ull << 33, len, 0x41), 0);
	else
		cr_assert_eq(xiw_ddp_tx_untagged(&tx, &queue.cut, 0, len, ulp), 0);
	c.send.queue = &queue;
	c.send.room = c.send.count = 1;
	c.send.stage = malloc(sizeof(*c.send.stage));
	cr_assert(c.send.stage);
	while (!c.send.staged) {
		const struct xiw_stage *s = c.send.stage;
		uint32_t at = 0, run = 0;

		xiw_stage_fill(&c, true);
		cr_assert(c.send.stage_len && c.send.stage_len <= XIW_TX_STAGE);
		cr_assert_eq(s->end[s->nends - 1], c.send.stage_len);
		while (at < c.send.stage_len) {
			const uint32_t n = check_fpdu(s->octets + at, &queue.cut.hdr, &off, len);

			cr_assert(n == tcp_mss - tcp_mss % 4 || off == len);
			at += n;
			if (tcp_mss % 4)
				cr_assert_eq(at, s->end[run]);
			run += at == s->end[run];
		}
	}
	cr_assert_eq(off, len);
	free(c.send.stage);
}

Test(conn_fill, fpdus_of_all_lengths)
{
	static const uint32_t sizes[] = { 536, 1447, 1448, 8948, 33000 };

	for (uint32_t i = 0; i < sizeof(stream); i++)
		stream[i] = (uint8_t)(i * 2654435761u >> 24);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		tcp_mss = sizes[i];
		in_flight = 0;
		for (int wide = 0; wide < 2; wide++) {
			open_octets = wide ? 1 << 20 : 3000; /* the latter: short runs */
			for (uint32_t len = 0; len < 5 * tcp_mss; len += len < 40 ? 1 : 211) {
				send_checked(len, true);
				send_checked(len, false);
			}
			for (uint32_t n = sizeof(stream) - 3; n <= sizeof(stream); n++) {
				send_checked(n, true);
				send_checked(n, false);
			}
		}
	}
	tcp_mss = 1448;
}
