// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Segments that no real TCP sends and no wire should deliver: unknown and malformed options, wrong checksums and
 * lengths, urgent data, and segments of the flow on another interface.
 */
#include <stdlib.h>

#include "tests/net/conduct/conduct.h"

/* ---- options: RFC 9293 section 3.2 --------------------------------------------------------------- */

static void option(struct peer *p, const char *opt, uint8_t len)
{
	SEND(p, .seq = p->nxt, .len = FPDU, .opt = opt, .opt_len = len);
	p->nxt += FPDU;
	answers(p);
	REQUIRE(p, acked(p, &p->last) == p->nxt);
}

/* "MUST ignore without error any TCP option it does not implement" */
static void unknown_option(struct peer *p)
{
	option(p, "\xfd\4ab", 4);
	option(p, "\xfe\2\xfd\2\1\1\1\1", 8);
	option(p, "\x1d\10abcdef", 8);
	option(p, "\5\2\1\1", 4);
	/* Known options that are allowed on SYNs only: MSS, window scale, SACK permitted. */
	option(p, "\2\4\0\1\3\3\16\4\2\1\1\0", 12);
	still_direct(p);
	goes_on(p);
}

/* "MUST be prepared to handle an illegal option length (e.g., zero)" */
static void malformed_option(struct peer *p)
{
	option(p, "\xfd\0\1\1", 4);
	option(p, "\xfd\1\1\1", 4);
	option(p, "\xfd\x28\1\1", 4);
	option(p, "\1\1\1\xfd", 4);
	option(p, "\5\12\0\0", 4);
	option(p, "\0\xff\xff\xff", 4);
	option(p, "\5\7abcde\0", 8);
	still_direct(p);
	goes_on(p);
}

/* A SACK of what we never sent. */
static void sack_of_nothing(struct peer *p)
{
	option(p, "\1\1\5\12\377\377\0\0\377\377\1\0", 12);
	option(p, "\1\1\5\22\0\0\0\0\200\0\0\0\0\0\0\5\0\0\0\1", 20);
	still_direct(p);
	goes_on(p);
}

/* In front of the timestamp, and two of them: the last counts. */
static void two_timestamps(struct peer *p)
{
	deliver(p, 1);
	SEND(p, .seq = p->nxt, .len = FPDU, .ts = 1, .opt = "\1\1\10\12\0\0\0\1\0\0\0\0",
	     .opt_len = 12);
	answers(p);
	p->nxt = acked(p, &p->last);
	goes_on(p);
}

/* ---- wrong checksums and lengths: RFC 9293 section 3.1 MUST-3 ------------------------------------- */

static void bad_checksum(struct peer *p)
{
	SEND(p, .seq = 0, .len = FPDU, .bad_csum = true);
	none(p);
	SEND(p, .seq = 0, .flags = RAW_FIN | RAW_ACK, .bad_csum = true);
	none(p);
	SEND(p, .seq = -1, .bad_csum = true);
	none(p);
	SEND(p, .seq = FPDU, .len = FPDU, .bad_csum = true);
	none(p);
	still_direct(p);
	goes_on(p);
}

/* RFC 1122 section 3.2.1.2: "MUST silently discard" */
static void bad_ip_checksum(struct peer *p)
{
	SEND(p, .seq = 0, .len = FPDU, .bad_ip_csum = true);
	none(p);
	SEND(p, .seq = FPDU, .len = FPDU, .bad_ip_csum = true);
	none(p);
	still_direct(p);
	goes_on(p);
}

static void bad_data_offset(struct peer *p)
{
	static const uint8_t doff[] = { 1, 4 };

	for (unsigned int i = 0; i < sizeof(doff); i++) {
		SEND(p, .seq = 0, .len = FPDU, .data_offset = doff[i], .evil = true);
		none(p);
	}
	SEND(p, .seq = 0, .data_offset = 15);
	none(p);
	still_direct(p);
	goes_on(p);
}

/* RFC 1122 section 4.2.3.10: "MUST silently discard" what was sent to a group. */
static void group_address(struct peer *p)
{
	SEND(p, .seq = 0, .len = FPDU, .group = true);
	none(p);
	SEND(p, .seq = 0, .flags = RAW_RST, .group = true);
	none(p);
	still_direct(p);
	goes_on(p);
}

/* The Ethernet address is another host's: a NIC in promiscuous mode delivers the frame, and IP drops it. */
static void foreign_frame(struct peer *p)
{
	SEND(p, .seq = 0, .len = FPDU, .foreign = true);
	none(p);
	SEND(p, .seq = FPDU, .len = FPDU, .foreign = true);
	none(p);
	SEND(p, .seq = 0, .flags = RAW_RST, .foreign = true);
	none(p);
	SEND(p, .seq = -FPDU, .len = FPDU, .foreign = true);
	none(p);
	still_direct(p);
	goes_on(p);
}

/* An unacceptable segment is answered, to the peer's address and not to where the segment came from. */
static void spoofed_frame(struct peer *p)
{
	SEND(p, .seq = -FPDU, .len = FPDU, .spoofed = true);
	REQUIRE(p, one(p)->for_me);
	still_direct(p);
	goes_on(p);
}

static bool has_all(struct peer *p, const struct raw_got *g)
{
	return !g->len && acked(p, g) == p->nxt;
}

/* Acknowledgements have the same IP header fields whether the engine or the kernel sends them. */
static void like_the_socket(struct peer *p)
{
	struct raw_got data, *ack;

	p->app->want |= APP_CLASS | APP_SEND;
	info(p);
	data = *await(p, has_data);
	REQUIRE(p, data.tclass == APP_TCLASS && data.hops == APP_HOPS);
	SEND(p, .seq = 0, .len = FPDU);
	p->nxt = FPDU;
	ack = await(p, has_all);
	REQUIRE(p, ack->tclass == data.tclass && ack->hops == data.hops && !ack->ecn);
	REQUIRE(p, ack->label == data.label);
	still_direct(p);
}

/* A VLAN is another link. VLAN 0 is only a priority. */
static void vlan(struct peer *p)
{
	SEND(p, .seq = 0, .len = FPDU, .vlan = 5);
	none(p);
	SEND(p, .seq = 0, .flags = RAW_RST, .vlan = 5);
	none(p);
	SEND(p, .seq = 0, .len = FPDU, .vlan = 0x6000);
	p->nxt = FPDU;
	quietly(p);
	caught_up(p);
	goes_on(p);
}

/* ---- urgent data: RFC 9293 section 3.8.5 --------------------------------------------------------- */

/* The urgent pointer is only a pointer: its octets belong to the stream like all others. */
static void urgent(struct peer *p)
{
	SEND(p, .seq = 0, .len = 2 * FPDU, .flags = RAW_ACK | RAW_URG, .urgent = 100);
	p->nxt = 2 * FPDU;
	quietly(p);
	caught_up(p);
	goes_on(p);
	go_direct(p);
	goes_on(p);
}

static void urgent_at_the_end(struct peer *p)
{
	SEND(p, .seq = 0, .len = FPDU, .flags = RAW_ACK | RAW_URG, .urgent = FPDU);
	SEND(p, .seq = FPDU, .len = FPDU, .flags = RAW_ACK | RAW_URG, .urgent = 1);
	SEND(p, .seq = 2 * FPDU, .len = FPDU);
	p->nxt = 3 * FPDU;
	quietly(p);
	caught_up(p);
	goes_on(p);
}

static void urgent_out_of_order(struct peer *p)
{
	SEND(p, .seq = FPDU, .len = FPDU, .flags = RAW_ACK | RAW_URG, .urgent = 10);
	one(p);
	SEND(p, .seq = 0, .len = FPDU);
	p->nxt = 2 * FPDU;
	quietly(p);
	caught_up(p);
	goes_on(p);
}

/* The pointer points to octets that have not come yet, on a segment without data, or without URG. */
static void urgent_beyond(struct peer *p)
{
	SEND(p, .seq = 0, .flags = RAW_ACK | RAW_URG, .urgent = 3 * FPDU);
	deliver(p, 2);
	SEND(p, .seq = p->nxt, .len = FPDU, .urgent = 7);
	p->nxt += FPDU;
	deliver(p, 2);
	SEND(p, .seq = p->nxt, .len = FPDU, .flags = RAW_ACK | RAW_URG);
	p->nxt += FPDU;
	goes_on(p);
}

/* ---- the other interface ------------------------------------------------------------------------- */

/*
 * When a flow can be direct, the socket takes segments of its interface only: untranslated ones would be
 * misinterpreted. Linux alone takes them from any interface.
 */
static void other(struct peer *p)
{
	struct raw *by = other_interface(p);

	SEND(p, .seq = 0, .len = FPDU, .by = by, .evil = p->direct);
	quietly(p);
	if (p->direct)
		REQUIRE(p, acked(p, &p->last) == 0);
	else
		p->nxt = acked(p, &p->last);
	if (p->direct)
		SEND(p, .seq = 0, .flags = RAW_RST, .by = by);
	SEND(p, .seq = -100000, .len = FPDU, .by = by, .evil = true);
	quietly(p);
	raw_close(by);
	free(by);
	still_direct(p);
	goes_on(p);
}

const struct script conduct_odd[] = {
	{ "rfc9293-unknown-option", unknown_option, V46 },
	{ "rfc9293-unknown-option-no-timestamps", unknown_option, NO_TS },
	{ "rfc9293-malformed-option", malformed_option, V46 },
	{ "rfc9293-malformed-option-no-timestamps", malformed_option, NO_TS },
	{ "rfc2018-sack-of-nothing", sack_of_nothing, 0 },
	{ "rfc7323-two-timestamps", two_timestamps, 0 },
	{ "rfc9293-wrong-checksum", bad_checksum, V46 },
	{ "rfc1122-wrong-ip-checksum", bad_ip_checksum, 0 },
	{ "rfc9293-wrong-data-offset", bad_data_offset, V46 },
	{ "rfc1122-group-address", group_address, V46 },
	{ "foreign-frame", foreign_frame, V46 },
	{ "spoofed-frame", spoofed_frame, V46 },
	{ "acks-like-the-socket", like_the_socket, V46 | LOUD },
	{ "vlan", vlan, 0 },
	{ "rfc9293-urgent", urgent, V46 },
	{ "rfc9293-urgent-at-the-end", urgent_at_the_end, 0 },
	{ "rfc9293-urgent-out-of-order", urgent_out_of_order, 0 },
	{ "rfc9293-urgent-beyond", urgent_beyond, 0 },
	{ "other-interface", other, V46 },
	{},
};
