// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Packets of AF_XDP: metadata that disagree with the packet are refused, and a limited number of frames is kept. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "path/packet.h"

#define L4 (XIW_ETH_LEN + XIW_IP4_MIN)
#define PAYLOAD (L4 + XIW_TCP_MIN)
#define LEN 100
#define FRAMES 48
#define FIRST (PAYLOAD + 60) /* octets in the first frame of two */

static uint8_t room[sizeof(struct xiw_meta) + 256] __attribute__((aligned(64)));
static uint8_t more[256];
static struct xiw_meta *meta;
static struct xiw_packet p;
static struct xiw_engine *e;
static struct xiw_conn *c, *d; /* of two peers */
static struct xiw_rxq q;
static struct xiw_kept kept[FRAMES];
static uint64_t free_frames[4 * FRAMES];

static struct xiw_conn *new_conn(void)
{
	struct xiw_conn *n = aligned_alloc(64, (sizeof(*n) + 63) & ~63ul);

	cr_assert(n);
	memset(n, 0, sizeof(*n));
	n->engine = e;
	n->stretch.rxq = &q;
	return n;
}

static void setup(void)
{
	e = calloc(1, sizeof(*e));
	cr_assert(e);
	e->opts.frames = FRAMES;
	for (int i = 0; i < FRAMES; i++) {
		kept[i].next_free = e->pools.kept_free;
		e->pools.kept_free = &kept[i];
	}
	q.xsk.free = free_frames;
	c = new_conn();
	d = new_conn();
	d->keeps.peer = 1;
	meta = (struct xiw_meta *)(void *)room;
	*meta = (struct xiw_meta){ .l3_off = XIW_ETH_LEN,
				   .l4_off = L4,
				   .payload_off = PAYLOAD,
				   .payload_len = LEN,
				   .version = XIW_ABI_VERSION };
	p = (struct xiw_packet){ .frags = 1, .len = PAYLOAD + LEN };
	p.frag[0] = (struct xiw_vec){ room + sizeof(*meta), PAYLOAD + LEN };
}

static void teardown(void)
{
	free(c);
	free(d);
	free(e);
}

#define NFLOWS 256u /* in the table */

TestSuite(path_packet, .init = setup, .fini = teardown);

/* The packet takes two frames, and ends where it ended before. */
static void cut(void)
{
	p.frags = 2;
	p.frag[0].len = FIRST;
	p.frag[1] = (struct xiw_vec){ more, PAYLOAD + LEN - FIRST };
}

static bool good(void)
{
	return xiw_packet_meta(&p, NFLOWS) == meta;
}

Test(path_packet, metadata_that_fit_are_taken)
{
	cr_expect(good());
	cut();
	cr_expect(good());
	meta->flow = NFLOWS - 1;
	cr_expect(good());
	p.len++; /* Ethernet pads short packets */
	cr_expect(good());
}

#define REFUSED(member, value)                                                                     \
	do {                                                                                       \
		const struct xiw_meta was = *meta;                                                 \
                                                                                                   \
		meta->member = (value);                                                            \
		cr_expect_null(xiw_packet_meta(&p, NFLOWS), #member " " #value);                   \
		*meta = was;                                                                       \
		cr_expect(good());                                                                 \
	} while (0)

Test(path_packet, metadata_that_lie_are_refused)
{
	REFUSED(version, XIW_ABI_VERSION + 1);
	REFUSED(flow, NFLOWS);
	REFUSED(flow, UINT16_MAX);
	REFUSED(l3_off, XIW_ETH_LEN - 1);
	REFUSED(l4_off, L4 - 1);
	REFUSED(l4_off, UINT16_MAX);
	REFUSED(payload_off, PAYLOAD - 1);
	REFUSED(payload_off, PAYLOAD + 1);
	REFUSED(payload_off, UINT16_MAX);
	REFUSED(payload_len, LEN + 1);
	REFUSED(payload_len, UINT16_MAX);
}

/* xiw_ingress follows no more than two VLAN tags. */
Test(path_packet, a_long_link_header_is_refused)
{
	const uint16_t most = XIW_ETH_LEN + XIW_VLANS_MAX * XIW_VLAN_LEN;

	meta->l3_off = most;
	meta->l4_off = most + XIW_IP4_MIN;
	meta->payload_off = (uint16_t)(meta->l4_off + XIW_TCP_MIN);
	meta->payload_len = 0;
	cr_expect(good());
	meta->l3_off++;
	meta->l4_off++;
	meta->payload_off++;
	cr_expect_null(xiw_packet_meta(&p, NFLOWS));
}

/* The engine reads all headers from the first frame. */
Test(path_packet, headers_beyond_the_first_frame_are_refused)
{
	cut();
	p.frag[0].len = PAYLOAD - 1;
	p.frag[1].len = LEN + 1;
	cr_expect_null(xiw_packet_meta(&p, NFLOWS));
}

static void piece(const struct xiw_vec *v, const uint8_t *base, size_t len)
{
	cr_expect_eq(v->base, base);
	cr_expect_eq(v->len, len);
}

Test(path_packet, payload_is_found_in_its_frames)
{
	const uint32_t there = FIRST - PAYLOAD;
	struct xiw_vec v[XIW_XSK_FRAGS_MAX];

	cut();
	cr_assert_eq(xiw_payload(&p, meta, 0, LEN, v), 2);
	piece(&v[0], p.frag[0].base + PAYLOAD, there);
	piece(&v[1], more, LEN - there);
	cr_assert_eq(xiw_payload(&p, meta, 10, there - 10, v), 1);
	piece(&v[0], p.frag[0].base + PAYLOAD + 10, there - 10);
	cr_assert_eq(xiw_payload(&p, meta, there, 5, v), 1);
	piece(&v[0], more, 5);
	cr_assert_eq(xiw_payload(&p, meta, there + 7, 5, v), 1);
	piece(&v[0], more + 7, 5);
	cr_expect_eq(xiw_payload(&p, meta, 0, 0, v), 0);
}

static struct xiw_kept *keep(struct xiw_conn *owner)
{
	const struct xiw_segment s = { &p, meta };

	return xiw_keep(owner, &s);
}

Test(path_packet, a_connection_gets_a_third_of_what_is_left)
{
	int n = 0;

	while (keep(c))
		n++;
	cr_expect_eq(n, FRAMES / 6, "a third of the half that may be kept");
	cr_expect_eq(c->keeps.frames, FRAMES / 6);
	cr_expect(e->pools.kept_short);
	cr_expect(keep(d), "there is some for the next");
	while (keep(d))
		;
	cr_expect_eq(e->pools.kept_frames, c->keeps.frames + d->keeps.frames);
	cr_expect_lt(e->pools.kept_frames, FRAMES / 2);
}

/* What all but one of many connections keep counts against the last one, whoever has them. */
Test(path_packet, a_peer_gets_half_with_any_number_of_connections)
{
	struct xiw_conn *many[FRAMES];
	unsigned int n = 0;

	for (int i = 0; i < FRAMES; i++) {
		many[i] = new_conn();
		while (keep(many[i]))
			n++;
	}
	cr_expect_leq(n, FRAMES / 4, "%u of the %u frames that may be kept", n, FRAMES / 2);
	cr_expect_geq(n, FRAMES / 6);
	cr_expect_gt(many[1]->keeps.frames, 0, "its second connection has some");
	n = 0;
	while (keep(d))
		n++;
	cr_expect_geq(n, FRAMES / 12, "another peer has %u", n);
	for (int i = 0; i < FRAMES; i++)
		free(many[i]);
}

Test(path_packet, each_frame_counts)
{
	int n = 0;

	p.frags = 3;
	while (keep(c))
		n++;
	cr_expect_eq(n, 3, "9 of 24 frames, as 6 are less than a third");
	cr_expect_eq(c->keeps.frames, 9);
	p.frags = 7;
	while (keep(d))
		;
	cr_expect_eq(d->keeps.frames, 7);
	p.frags = 8;
	d->keeps.peer = 2;
	cr_expect(keep(d));
	cr_expect_eq(e->pools.kept_frames, FRAMES / 2);
	cr_expect_eq(e->pools.kept_of[0], 9);
	cr_expect_eq(e->pools.kept_of[1], 7);
	cr_expect_eq(e->pools.kept_of[2], 8);
}

Test(path_packet, what_is_freed_can_be_kept_again)
{
	struct xiw_kept *k = keep(c);

	cr_assert(k);
	cr_expect_eq(k->rxq, &q);
	xiw_kept_uncount(k);
	xiw_kept_uncount(k);
	cr_expect_eq(e->pools.kept_frames, 0);
	cr_expect_eq(e->pools.kept_of[0], 0);
	cr_expect_eq(c->keeps.frames, 0);
	xiw_kept_free(e, k);
	cr_expect_eq(e->pools.kept_frames, 0);
	cr_expect_eq(q.xsk.nfree, 1, "its frame has gone back");
	cr_expect_eq(keep(c), k);
}

Test(path_packet, no_more_packets_than_there_are_places)
{
	e->pools.kept_free = NULL;
	cr_expect_null(keep(c));
	cr_expect_eq(e->pools.kept_frames, 0);
}

/* RFC 1122 sections 4.2.3.10 and 3.2.1.2 */
Test(path_packet, what_the_kernel_s_ip_would_drop)
{
	uint8_t *frame = room + sizeof(*meta);

	frame[XIW_ETH_LEN] = 0x60;
	cr_expect(xiw_packet_link_good(&p, meta));
	frame[0] = 1;
	cr_expect(!xiw_packet_link_good(&p, meta), "a group address");
	frame[0] = 0;
	frame[XIW_ETH_LEN] = 0x45;
	cr_expect(!xiw_packet_link_good(&p, meta), "a wrong checksum of IPv4");
	frame[XIW_ETH_LEN + 10] = 0xba;
	frame[XIW_ETH_LEN + 11] = 0xff;
	cr_expect(xiw_packet_link_good(&p, meta));
	meta->l3_off += XIW_VLAN_LEN;
	frame[meta->l3_off] = 0x60;
	memset(frame + XIW_ETH_LEN, 0, XIW_VLAN_LEN);
	cr_expect(xiw_packet_link_good(&p, meta), "a priority tag is no VLAN");
	frame[XIW_ETH_LEN + 1] = 5;
	cr_expect(!xiw_packet_link_good(&p, meta), "a VLAN");
}
