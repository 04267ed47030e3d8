// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The straight line of the direct path has the effect of the general path. Two packets are taken, so that the third one
 * may take the straight line. That one is changed in each way, and then taken twice from the same state: with the line,
 * and without it. Everything that the engine knows and has written must then be the same.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "path/direct.c"
#include "path/fpdu.h"
#include "tests/unit/direct_rig.h"
#include "tests/unit/mpa_ref.h"

static const struct shape shapes[] = {
	{ .ts = true, .frags = 1 },
	{ .frags = 1 },
	{ .ip6 = true, .ts = true, .frags = 1 },
	{ .ts = true, .tag = true, .frags = 1 },
	{ .ts = true, .frags = 3 },
	{ .ip6 = true, .frags = 2 },
	{ .ts = true, .frags = 1, .any_cpu = true },
	{ .ip6 = true, .frags = 3, .any_cpu = true },
};

static struct world before, straight, general;
static uint32_t took_line;

static void save(struct world *to)
{
	w.ddp = *ddp;
	memcpy(to, &w, sizeof(w));
}

static void restore(void)
{
	memcpy(&w, &before, sizeof(w));
	*ddp = before.ddp;
}

static void take_packet(bool by_line)
{
	bool took = by_line && xiw_straight_take(&w.line, &packet_now);

	took_line += took;
	w.kept_it = !took && packet(&w.q, &packet_now, &w.line);
	xiw_straight_end(&w.line);
	memset(&w.line, 0, sizeof(w.line));
	/* What the end of the batch makes of it: a commit, an ACK. */
	xiw_commit(&w.c);
	save(by_line ? &straight : &general);
}

/* A segment that neither way took may have left octets where the next one goes. */
static void overlook(uint8_t *dst)
{
	const size_t at = (size_t)(dst - w.memory);

	if (straight.c.counts.fpdus == before.c.counts.fpdus + before.line.taken)
		memcpy(straight.memory + at, general.memory + at, PAYLOAD);
}

/* Takes the packet in both ways from the same state, which it leaves as it was. Returns whether it took the line. */
static bool same(const char *what, uint32_t number)
{
	const uint32_t had = took_line;
	uint8_t *dst = w.line.dst;

	rig_lay();
	save(&before);
	take_packet(false);
	restore();
	take_packet(true);
	if (before.line.left)
		overlook(dst);
	cr_assert(!memcmp(&straight, &general, sizeof(w)), "%s %u", what, number);
	restore();
	return took_line != had;
}

/* Takes the packet for good. Returns whether it took the line. */
static bool next(bool by_line)
{
	bool took;

	rig_lay();
	took = by_line && xiw_straight_take(&w.line, &packet_now);
	if (!took)
		cr_assert(!packet(&w.q, &packet_now, &w.line));
	sent += PAYLOAD;
	segments++;
	cr_assert_eq(w.c.counts.fpdus + w.line.taken, segments);
	rig_build();
	return took;
}

/* The next packet, the third of the message, may take the line. */
static void start(const struct shape *s)
{
	shape = *s;
	rig_open();
	rig_build();
	cr_assert(!next(true), "the first of a batch");
	cr_assert(next(true));
}

#define EACH_SHAPE(s) for (s = shapes; s < shapes + sizeof(shapes) / sizeof(*shapes); s++)

Test(path_straight, is_taken)
{
	const struct shape *s;

	EACH_SHAPE(s)
	{
		start(s);
		cr_assert(same("shape", (uint32_t)(s - shapes)));
		cr_assert(next(true));
		cr_assert(next(true));
		cr_assert(!same("the last of the message", 0));
		cr_assert(!next(true));
		for (uint32_t i = 0; i < OCTETS; i++)
			cr_assert_eq(w.memory[i], 0x31 + i / PAYLOAD);
		rig_close();
	}
}

/* The rest of the message but its last segment, which are three segments. */
static void take_three(bool by_line, struct world *to)
{
	for (int i = 0; i < 3; i++)
		cr_assert_eq(next(by_line), by_line);
	cr_assert_eq(w.line.taken, by_line ? 3 : 0);
	xiw_straight_end(&w.line);
	memset(&w.line, 0, sizeof(w.line));
	xiw_commit(&w.c);
	save(to);
}

/* The connection learns of several segments at once, with the effect of one after the other. */
Test(path_straight, settled_together)
{
	const struct shape *s;

	EACH_SHAPE(s)
	{
		shape = *s;
		rig_open();
		rig_build();
		cr_assert(!next(true));
		save(&before);
		take_three(true, &straight);
		restore();
		sent = PAYLOAD;
		segments = 1;
		rig_build();
		take_three(false, &general);
		cr_assert(!memcmp(&straight, &general, sizeof(w)), "%u", (uint32_t)(s - shapes));
		rig_close();
	}
}

/* A line that has room for one segment, for this reason. */
#define TAKEN_ONCE_WITH(change)                                                                    \
	do {                                                                                       \
		shape = shapes[0];                                                                 \
		rig_open();                                                                        \
		rig_build();                                                                       \
		cr_assert(!next(true));                                                            \
		xiw_straight_end(&w.line);                                                         \
		change;                                                                            \
		cr_assert(!next(true));                                                            \
		cr_assert(next(true));                                                             \
		cr_assert(!same(#change, 0));                                                      \
		rig_close();                                                                       \
	} while (0)

/* The line ends where the window ends, and where the region does. */
Test(path_straight, room)
{
	TAKEN_ONCE_WITH(w.c.tcp.right_edge = w.c.tcp.rcv_nxt + 3 * fpdu_len - 1);
	TAKEN_ONCE_WITH(ddp->view.len = 4 * PAYLOAD - 1);
}

/* What may differ from packet to packet. */
Test(path_straight, is_taken_with)
{
	const struct shape *s;

	EACH_SHAPE(s)
	{
		uint8_t *at = frame + sizeof(struct xiw_meta);

		start(s);
		at[l4 + XIW_TCP_OFF_FLAGS] |= XIW_TCP_PSH;
		rig_repair(true);
		cr_assert(same("PSH", 0));
		if (!shape.ip6)
			xiw_put_be16(at + l3 + XIW_IP4_OFF_ID, 0x1234);
		rig_repair(true);
		cr_assert(same("identification", 0));
		if (shape.ts) {
			xiw_put_be32(at + l4 + XIW_TCP_MIN + 4, TSVAL + 100);
			xiw_put_be32(at + l4 + XIW_TCP_MIN + 8, 12345);
		}
		rig_repair(true);
		cr_assert(same("timestamps", 0));
		if (shape.ts)
			xiw_put_be32(at + l4 + XIW_TCP_MIN + 4, TSVAL - 1);
		rig_repair(true);
		cr_assert_eq(same("an old timestamp", 0), !shape.ts);
		rig_close();
	}
}

/* Each bit of the packet and its metadata, with wrong sums and with right ones. */
Test(path_straight, each_bit)
{
	const struct shape *s;

	EACH_SHAPE(s)
	{
		start(s);
		for (uint32_t bit = 0; bit < 8 * (sizeof(struct xiw_meta) + frame_len); bit++) {
			uint8_t copy[sizeof(frame)];

			memcpy(copy, frame, sizeof(frame));
			frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
			same("bit", bit);
			rig_repair(false);
			same("bit, with checksums", bit);
			rig_repair(true);
			same("bit, with checksums and CRC", bit);
			memcpy(frame, copy, sizeof(frame));
		}
		rig_close();
	}
}

/* The numbers in the headers, off by one. */
Test(path_straight, each_number)
{
	const struct shape *s;

	EACH_SHAPE(s)
	{
		uint8_t *at = frame + sizeof(struct xiw_meta);

		start(s);
		for (uint32_t off = l3; off < payload_off + XIW_FPDU_EXPECTED_HEAD; off += 2) {
			const uint16_t was = xiw_get_be16(at + off);

			for (int by = -1; by <= 1; by += 2) {
				xiw_put_be16(at + off, (uint16_t)(was + by));
				same("number at", off);
				rig_repair(true);
				same("number, with sums, at", off);
			}
			xiw_put_be16(at + off, was);
			rig_repair(true);
		}
		cr_assert(same("as it was", 0));
		rig_close();
	}
}

/* The packet is longer or shorter than its headers say, or lies in other frames. */
Test(path_straight, each_length)
{
	const struct shape *s;

	EACH_SHAPE(s)
	{
		uint32_t len;

		start(s);
		len = frame_len;
		for (int by = -8; by <= 8; by++) {
			frame_len = len + (uint32_t)by;
			cr_assert_eq(same("octets more or less", (uint32_t)by), !by, "%d", by);
		}
		frame_len = len;
		for (shape.frags = 1; shape.frags <= 3; shape.frags++)
			cr_assert_eq(same("frames", shape.frags), shape.frags == s->frags);
		rig_close();
	}
}

/* The headers lie in the first frame of this packet no more. */
Test(path_straight, cut_headers)
{
	start(&shapes[4]);
	rig_lay();
	packet_now.frag[0].len = payload_off - 2;
	packet_now.frag[1].len += 62;
	memcpy(pieces[1], frame + sizeof(struct xiw_meta) + payload_off - 2,
	       packet_now.frag[1].len);
	cr_assert(!xiw_straight_take(&w.line, &packet_now));
	cr_assert(!packet(&w.q, &packet_now, &w.line));
	cr_assert_eq(w.c.counts.fpdus, 2);
	rig_close();
}

/* Makes the timestamp stand in front of the NOPs. */
static void move_timestamp(uint32_t tsval)
{
	uint8_t *options = frame + sizeof(struct xiw_meta) + l4 + XIW_TCP_MIN;

	options[0] = XIW_TCPOPT_TS;
	options[1] = XIW_TCPOPT_TS_LEN;
	xiw_put_be32(options + 2, tsval);
	xiw_put_be32(options + 6, 70);
	options[10] = options[11] = XIW_TCPOPT_NOP;
	rig_repair(true);
}

/* The options are as long as usual, and laid out in another way: the timestamp is still that of the segment. */
Test(path_straight, moved_timestamp)
{
	shape = shapes[0];
	rig_open();
	rig_build();
	move_timestamp(16);
	cr_assert(!next(true));
	move_timestamp(15);
	cr_assert(!same("an old timestamp", 0));
	move_timestamp(17);
	cr_assert(!same("a new timestamp", 0));
	cr_assert(!next(true));
	rig_close();
}

/* What other threads may change within a batch, and what the packet before has left. */
#define NOT_TAKEN_WITH(change)                                                                     \
	do {                                                                                       \
		start(&shapes[0]);                                                                 \
		change;                                                                            \
		cr_assert(!same(#change, 0));                                                      \
		rig_close();                                                                       \
	} while (0)

static int disagree(struct xiw_conn *c, const struct xiw_ddp_hdr *h, uint32_t len,
		    const struct xiw_ddp_place *p, bool in_turn)
{
	(void)c;
	(void)p;
	cr_assert(in_turn && h->stag == STAG && h->to == sent && len == PAYLOAD);
	return 1;
}

static void disagreed(struct xiw_conn *c, int why, const struct xiw_header *h)
{
	(void)why;
	(void)h;
	c->rx_dead = true;
}

static const struct xiw_ulp ulp = { .check = disagree, .refuse = disagreed };

Test(path_straight, state)
{
	NOT_TAKEN_WITH(w.c.ulp = &ulp);
	NOT_TAKEN_WITH(w.e.regions.generation++);
}

/* The packet before leaves this state: there is no line. */
#define NO_LINE_AFTER(change)                                                                      \
	do {                                                                                       \
		const struct xiw_segment s = { &packet_now, (struct xiw_meta *)(void *)frame };    \
		struct xiw_tcp_seg seg = {};                                                       \
                                                                                                   \
		start(&shapes[0]);                                                                 \
		rig_lay();                                                                         \
		xiw_packet_read(&w.c, &packet_now, s.meta, &seg);                                  \
		xiw_straight_end(&w.line);                                                         \
		xiw_straight_after(&w.line, &w.c, &s, &seg);                                       \
		cr_assert(w.line.left);                                                            \
		w.line.left = 0;                                                                   \
		change;                                                                            \
		xiw_straight_after(&w.line, &w.c, &s, &seg);                                       \
		cr_assert(!w.line.left, #change);                                                  \
		rig_close();                                                                       \
	} while (0)

Test(path_straight, state_before)
{
	NO_LINE_AFTER(w.c.stretch.state = XIW_STRETCH_ENDS);
	NO_LINE_AFTER(w.c.rx_dead = true);
	NO_LINE_AFTER(w.c.keeps.hand = w.kept);
	NO_LINE_AFTER(w.c.tcp.ack_flags = XIW_TCP_ACK_NOW);
	NO_LINE_AFTER(w.c.tcp.keep_head = &w.kept->node);
	NO_LINE_AFTER(w.c.tcp.flags |= XIW_TCP_RX_WND_FEEDBACK);
	NO_LINE_AFTER(w.c.tcp.snd_una++);
	NO_LINE_AFTER(w.c.tcp.snd_wnd++);
	NO_LINE_AFTER(w.c.mpa.rx.markers = true);
	NO_LINE_AFTER(w.c.crc = false);
	NO_LINE_AFTER(ddp->next.tagged = false);
	NO_LINE_AFTER(ddp->next.dst = NULL);
	NO_LINE_AFTER(ddp->next.stag++);
	NO_LINE_AFTER(ddp->error = XIW_DDP_TAGGED_STAG);
	NO_LINE_AFTER(ddp->view.len = sent + PAYLOAD - 1);
	NO_LINE_AFTER(w.c.tcp.right_edge = w.c.tcp.rcv_nxt + 40);
	/* The next segment may change TS.Recent. */
	NO_LINE_AFTER(w.c.tcp.last_ack_sent = w.c.tcp.rcv_nxt);
}

/* XDP has taken the stream back and begun another stretch: the first frame of that ends the line. */
Test(path_straight, every_packet_ends_it)
{
	struct xiw_meta *meta = (struct xiw_meta *)(void *)frame;

	start(&shapes[0]);
	rig_lay();
	meta->epoch++;
	w.flow.owner = xiw_owner_pack(SEQ, EPOCH + 1, XIW_PATH_KERNEL);
	cr_assert(!xiw_straight_take(&w.line, &packet_now));
	cr_assert(!packet(&w.q, &packet_now, &w.line));
	cr_assert_eq(w.c.stretch.state, XIW_STRETCH_OFF);
	meta->epoch--;
	cr_assert(!xiw_straight_take(&w.line, &packet_now));
	rig_close();
}

static void end_batch(void)
{
	xiw_straight_end(&w.line);
	xiw_commit(&w.c);
	w.e.batch++;
	rig_rings();
}

/* Takes the packet for good. False: its frames are kept, or the stretch is over, or has stood still for long. */
static bool goes_well(uint32_t *stands)
{
	const uint64_t had = w.c.counts.fpdus + w.line.taken;

	rig_lay();
	if (!xiw_straight_take(&w.line, &packet_now) && packet(&w.q, &packet_now, &w.line))
		return false;
	(*stands)++;
	if (w.c.counts.fpdus + w.line.taken != had) {
		sent = (sent + PAYLOAD) % OCTETS;
		segments++;
		*stands = 0;
	}
	return w.c.stretch.state == XIW_STRETCH_RUNS && !w.c.rx_dead && *stands < 8;
}

/* Long streams of packets, some of which are wrong in some way. */
Test(path_straight, streams)
{
	uint64_t rng = 0x57a1;
	const struct shape *s;

	EACH_SHAPE(s)
	{
		uint32_t rounds = 0, stands = 0;

		took_line = 0;
		start(s);
		for (uint32_t step = 0; step < 20000; step++) {
			rig_build();
			if (!(ref_random(&rng) % 6)) {
				frame[ref_random(&rng) % (sizeof(struct xiw_meta) + frame_len)] ^=
					(uint8_t)(1 << ref_random(&rng) % 8);
				if (ref_random(&rng) % 4)
					rig_repair(ref_random(&rng) % 2);
			}
			same("step", step);
			if (!goes_well(&stands)) {
				rig_close();
				start(s);
				rounds++;
				stands = 0;
			} else if (!(ref_random(&rng) % 12)) {
				end_batch();
			}
		}
		cr_assert_gt(took_line, 5000, "%u in %u rounds", took_line, rounds);
		rig_close();
	}
}
