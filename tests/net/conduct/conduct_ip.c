// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Segments behind IP options, extension headers and VLAN tags, and in fragments. */
#include "tests/net/conduct/conduct.h"

/* ---- IP options and extension headers, which the kernel's IP must see ------------------------------ */

/* They are rare, and the socket takes them, whatever the direct path has been given before. */
static void ip_options(struct peer *p)
{
	for (int i = 0; i < 4; i++) {
		SEND(p, .seq = p->nxt, .len = FPDU, .ip = RAW_IP_PADDED);
		p->nxt += FPDU;
		answers(p);
		REQUIRE(p, acked(p, &p->last) == p->nxt);
	}
	goes_on(p);
	go_direct(p);
	still_direct(p);
	goes_on(p);
}

/* Among others that lie in the engine's ring. Octets whose acknowledgement was lost come again with options. */
static void ip_options_among_others(struct peer *p)
{
	const int32_t sent = 8 * FPDU;

	if (p->direct)
		app_hangs = true;
	pause_ms(10);
	for (int32_t at = 0; at < sent; at += FPDU)
		SEND(p, .seq = at, .len = FPDU,
		     .ip = at == 4 * FPDU ? RAW_IP_PADDED : RAW_IP_PLAIN);
	app_hangs = false;
	p->nxt = sent;
	quietly(p);
	caught_up(p);
	goes_on(p);
	go_direct(p);
	SEND(p, .seq = p->nxt - 2 * FPDU, .len = FPDU, .ip = RAW_IP_PADDED, .evil = true);
	one(p);
	goes_on(p);
}

/* Linux takes none of them, and so nobody does: not in the stretch, nor where it would begin. */
static void ip_options_refused(struct peer *p)
{
	for (enum raw_ip ip = RAW_IP_ROUTED; ip <= RAW_IP_HOPS; ip++) {
		for (int i = 0; i < 2; i++) {
			SEND(p, .seq = p->nxt, .len = FPDU, .ip = ip, .evil = true);
			none(p);
			SEND(p, .seq = p->nxt + FPDU, .len = FPDU, .ip = ip, .evil = true);
			none(p);
			REQUIRE(p, acked(p, &p->last) == p->nxt);
		}
		goes_on(p);
		go_direct(p);
		still_direct(p);
	}
}

/* What nobody but the peer knows is wrong, one after the other. No such packet ends the direct path. */
static void blind(struct peer *p, const struct seg *how)
{
	const struct seg wrong[] = {
		{ .seq = edge(p) + 100000 },	   { .seq = -(1 << 28) },
		{ .seq = FPDU, .ack = 1 },	   { .seq = FPDU, .ack = -200000 },
		{ .seq = FPDU, .ack = INT32_MIN }, { .seq = FPDU, .flags = RAW_PSH },
		{ .seq = FPDU, .ts = -1000 },	   { .seq = FPDU, .ts = 1 << 27 },
		{ .seq = FPDU, .no_ts = true },	   { .seq = -FPDU, .ack = 1 },
	};

	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct seg s = wrong[i];

		s.len = FPDU;
		s.ip = how->ip;
		s.cut = how->cut;
		s.only = how->only;
		peer_send(p, &s);
		quietly(p);
		still_direct(p);
	}
	goes_on(p);
	still_direct(p);
}

static void ip_options_blind(struct peer *p)
{
	blind(p, &(struct seg){ .ip = RAW_IP_PADDED });
}

/* ---- behind more headers than xiw_ingress follows ------------------------------------------------- */

/* Old octets, wherever the socket may wait for octets in its own numbers. Other ones, and an end of the stream. */
static void hidden_old(struct peer *p, const struct seg *how)
{
	struct seg s = *how;

	for (s.seq = -(int32_t)(p->begun * FPDU); s.seq < 0; s.seq += FPDU) {
		s.len = FPDU;
		s.evil = true;
		peer_send(p, &s);
		s.len = 0;
		s.flags = RAW_RST;
		peer_send(p, &s);
		s.flags = 0;
	}
	quietly(p);
	REQUIRE(p, acked(p, &p->last) == p->nxt);
}

/* What plain TCP takes is lost as long as the socket counts otherwise: such a segment is never mistaken for another. */
static void hidden_new(struct peer *p, const struct seg *how)
{
	struct seg s = *how;

	s.seq = p->nxt;
	s.len = FPDU;
	s.evil = p->direct;
	peer_send(p, &s);
	quietly(p);
	if (p->direct)
		REQUIRE(p, acked(p, &p->last) == p->nxt);
	else
		p->nxt = acked(p, &p->last);
}

static void hidden(struct peer *p, const struct seg *how)
{
	hidden_old(p, how);
	hidden_new(p, how);
	still_direct(p);
	goes_on(p);
	/* Now the kernel has the stream, and its numbers are others. */
	SEND(p, .seq = p->nxt, .len = 100);
	SEND(p, .seq = p->nxt + 100, .len = FPDU - 100);
	p->nxt += FPDU;
	quietly(p);
	caught_up(p);
	hidden_old(p, how);
	hidden_new(p, how);
	goes_on(p);
	go_direct(p);
	hidden_old(p, how);
	still_direct(p);
	goes_on(p);
}

static void hidden_by_tags(struct peer *p)
{
	hidden(p, &(struct seg){ .tags = 3 });
	hidden(p, &(struct seg){ .tags = 20 });
}

static void hidden_by_headers(struct peer *p)
{
	if (!p->v6)
		return;
	hidden(p, &(struct seg){ .headers = 7 });
	hidden(p, &(struct seg){ .headers = 20 });
	hidden(p, &(struct seg){ .headers = 7, .tags = 3 });
}

/* RFC 8883: more than any real packet has, which nobody takes, whatever the path. */
static void too_many_headers(struct peer *p)
{
	SEND(p, .seq = 0, .len = FPDU, .headers = 50, .tags = p->v6 ? 0 : 50);
	none(p);
	if (p->v6) {
		SEND(p, .seq = 0, .len = FPDU, .headers = 7, .tags = 25);
		none(p);
	}
	still_direct(p);
	goes_on(p);
}

/* The first fragment ends in front of the TCP header (RFC 8200 section 4.5: discarded), or is behind many headers. */
static void hidden_in_fragments(struct peer *p)
{
	hidden(p, &(struct seg){ .cut = 8, .headers = p->v6 ? 3 : 0, .tags = 3 });
	if (p->v6)
		hidden(p, &(struct seg){ .cut = 8, .headers = 2 });
}

/* ---- fragments ----------------------------------------------------------------------------------- */

static bool all_acked(struct peer *p, const struct raw_got *g)
{
	return acked(p, g) == p->nxt;
}

/* Two fragments that make a whole segment: it is treated like others. */
static void fragments(struct peer *p)
{
	for (int i = 0; i < 4; i++) {
		SEND(p, .seq = p->nxt, .len = 2 * FPDU, .cut = 128);
		p->nxt += 2 * FPDU;
		await(p, all_acked);
	}
	goes_on(p);
	SEND(p, .seq = p->nxt + FPDU, .len = FPDU, .cut = 128);
	quietly(p);
	SEND(p, .seq = p->nxt, .len = FPDU, .cut = 200);
	p->nxt += 2 * FPDU;
	await(p, all_acked);
	goes_on(p);
}

/* Halves that never meet, and blind ones. */
static void fragments_lost(struct peer *p)
{
	for (int only = 1; only <= 2; only++) {
		SEND(p, .seq = p->nxt, .len = FPDU, .cut = 128, .only = only, .evil = true);
		none(p);
		SEND(p, .seq = edge(p) + 5000, .len = FPDU, .cut = 128, .only = only, .evil = true);
		none(p);
		SEND(p, .seq = -FPDU, .len = FPDU, .cut = 128, .only = only, .evil = true);
		none(p);
		deliver(p, 1);
	}
	goes_on(p);
}

/* A fragment from outside the window, or one that is too small for the TCP header, does not end the direct path. */
static void fragments_blind(struct peer *p)
{
	SEND(p, .seq = edge(p) + 100000, .len = FPDU, .cut = 128, .evil = true);
	quietly(p);
	SEND(p, .seq = -(1 << 28), .len = FPDU, .cut = 128, .evil = true);
	quietly(p);
	SEND(p, .seq = 0, .len = FPDU, .cut = 8, .only = 1, .evil = true);
	none(p);
	still_direct(p);
	goes_on(p);
	blind(p, &(struct seg){ .cut = 128, .only = 1 });
}

static void fragments_bad_checksum(struct peer *p)
{
	SEND(p, .seq = 0, .len = FPDU, .cut = 128, .bad_csum = true);
	none(p);
	goes_on(p);
}

/* From fragments to the direct path again, when they have ended. */
static void fragments_end(struct peer *p)
{
	SEND(p, .seq = 0, .len = FPDU, .cut = 64);
	p->nxt = FPDU;
	await(p, all_acked);
	/* A fragment counts as long as an IP packet can be. */
	go_direct(p);
	goes_on(p);
}

const struct script conduct_ip[] = {
	{ "rfc9293-ip-options", ip_options, V46 },
	{ "ip-options-among-others", ip_options_among_others, V46 | ALONE },
	{ "ip-options-that-linux-refuses", ip_options_refused, V46 },
	{ "ip-options-blind", ip_options_blind, V46 },
	{ "hidden-by-vlan-tags", hidden_by_tags, V46 },
	{ "hidden-by-extension-headers", hidden_by_headers, V46 },
	{ "too-many-headers", too_many_headers, V46 },
	/* Its fragments have more numbers than a connection has for itself. */
	{ "hidden-in-fragments", hidden_in_fragments, V46 | ALONE },
	{ "fragments", fragments, V46 },
	{ "fragments-lost", fragments_lost, V46 },
	{ "fragments-blind", fragments_blind, V46 },
	{ "fragments-wrong-checksum", fragments_bad_checksum, 0 },
	{ "fragments-end", fragments_end, V46 },
	{},
};
