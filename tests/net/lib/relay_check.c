// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * relay_check - the relay without its I/O: a stream of constructed segments goes through. What comes out must have the
 * same octets, correct checksums unless they are to be wrong, and the same decisions in each run.
 */
#include <stdlib.h>
#include <string.h>

#include "relay_core.h"
#include "tcp/csum.h"

#define SEGMENTS 4000u
#define MSS 1428u
#define ISN 0xfffc0000u /* the numbers wrap on the way */
#define STREAM (SEGMENTS * MSS)
#define SCALE 7

static struct relay relay;
static unsigned int failures;
static const char *test;

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			printf("FAIL core-%s: line %d: %s\n", test, __LINE__, #what);              \
			failures++;                                                                \
			return;                                                                    \
		}                                                                                  \
	} while (0)

static uint8_t octet(uint32_t off)
{
	return (uint8_t)((off * 2654435761u) >> 24);
}

/* A segment of the stream, with timestamps, as the kernel would send it; `off` < 0: the SYN. */
static struct relay_pkt *segment(bool v6, int64_t off, uint32_t len, uint8_t flags, uint32_t ack,
				 uint16_t window)
{
	struct relay_pkt *p = relay_get(&relay);
	uint8_t *ip = p->data + 14, *tcp = ip + (v6 ? 40 : 20);
	uint32_t seq = ISN + 1 + (uint32_t)off, hlen = 32;
	struct relay_seg s;

	memset(p->data, 0, 14 + 40 + 32);
	p->data[12] = v6 ? 0x86 : 0x08;
	p->data[13] = v6 ? 0xdd : 0x00;
	if (v6) {
		ip[0] = 0x60;
		ip[1] = 0x20; /* ECT(0) */
		ip[4] = (uint8_t)((hlen + len) >> 8);
		ip[5] = (uint8_t)(hlen + len);
		ip[6] = 6;
		ip[23] = 1;
		ip[39] = 2;
	} else {
		ip[0] = 0x45;
		ip[1] = 0x02;
		ip[2] = (uint8_t)((20 + hlen + len) >> 8);
		ip[3] = (uint8_t)(20 + hlen + len);
		ip[8] = 64;
		ip[9] = 6;
		ip[15] = 1;
		ip[19] = 2;
	}
	tcp[1] = 1;
	tcp[3] = 2;
	for (unsigned int i = 0; i < 4; i++) {
		tcp[4 + i] = (uint8_t)(seq >> (24 - 8 * i));
		tcp[8 + i] = (uint8_t)(ack >> (24 - 8 * i));
	}
	tcp[12] = (uint8_t)(hlen / 4 << 4);
	tcp[13] = flags;
	tcp[14] = (uint8_t)(window >> 8);
	tcp[15] = (uint8_t)window;
	if (flags & 0x02)
		memcpy(tcp + 20, "\1\1\1\3\3\7\0\0\0\0\0\0", 12);
	else
		memcpy(tcp + 20, "\1\1\x8\xa", 4), memcpy(tcp + 24, &off, 4);
	for (uint32_t i = 0; i < len; i++)
		tcp[hlen + i] = octet((uint32_t)off + i);
	p->len = (uint32_t)(tcp + hlen + len - p->data);
	relay_parse(p, &s);
	relay_fill_sums(p->data, &s);
	return p;
}

static bool sum_is_right(const struct relay_pkt *p, const struct relay_seg *s)
{
	const uint8_t *ip = p->data + 14;
	struct xiw_csum c = {}, h = {};
	uint32_t len = s->pay - s->l4 + s->len;

	xiw_csum_pseudo(&c, ip, len);
	xiw_csum_add(&c, p->data + s->l4, len);
	xiw_csum_add(&h, ip, s->v6 ? 0 : 20);
	return xiw_csum_good(&c) && (s->v6 || xiw_csum_good(&h));
}

/* What came out of the relay. */
static struct {
	uint8_t seen[STREAM]; /* how often each octet came */
	uint32_t packets, bad_sums, wrong, disordered, longest, psh, fin, ce, nxt, too_long;
	uint64_t hash;
} out;

static void take(unsigned int dir)
{
	struct relay_pkt *p;
	struct relay_seg s;

	while ((p = relay_output(&relay, dir))) {
		out.packets++;
		for (uint32_t i = 0; i < p->len; i++)
			out.hash = (out.hash ^ p->data[i]) * 0x100000001b3ull;
		if (!relay_parse(p, &s) || !sum_is_right(p, &s)) {
			out.bad_sums++;
		} else if (!(s.flags & 0x02)) {
			uint32_t off = s.seq - ISN - 1;

			out.disordered += off != out.nxt && s.len;
			out.nxt = off + s.len;
			if (s.len > out.longest)
				out.longest = s.len;
			out.too_long += p->len > 14 + 1500;
			out.psh += (s.flags & 0x08) != 0;
			out.fin += (s.flags & 0x01) != 0;
			out.ce += (p->data[15] & (s.v6 ? 0x30 : 3)) == (s.v6 ? 0x30 : 3);
			for (uint32_t i = 0; i < s.len && off + i < STREAM; i++) {
				out.seen[off + i]++;
				out.wrong += p->data[s.pay + i] != octet(off + i);
			}
		}
		relay_put(&relay, p);
	}
}

/* The whole stream through `knobs`, one segment each 10 us; PSH on every tenth, FIN on the last. */
static void run(bool v6, const char *knobs, uint64_t seed)
{
	struct relay_conf conf;
	uint64_t now = 0;

	relay_conf_default(&conf);
	conf.seed = seed;
	if (!relay_conf_parse(&conf, 0, knobs))
		exit(1);
	memset(&out, 0, sizeof(out));
	relay_free(&relay);
	relay_init(&relay, &conf);
	relay_input(&relay, 0, segment(v6, -1, 0, 0x02, 0, 0xffff), now);
	for (uint32_t i = 0; i < SEGMENTS; i++) {
		uint8_t flags = 0x10 | (i % 10 == 9 ? 0x08 : 0) | (i == SEGMENTS - 1 ? 0x01 : 0);

		relay_input(&relay, 0, segment(v6, (int64_t)i * MSS, MSS, flags, 1, 500), now);
		relay_tick(&relay, now);
		take(0);
		now += 10000;
	}
	relay_tick(&relay, now + 1000000000);
	take(0);
}

static uint64_t count(unsigned int n)
{
	return relay.dir[0].count[RELAY_DATA][n];
}

static uint32_t octets_seen(unsigned int times)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < STREAM; i++)
		n += out.seen[i] == times;
	return n;
}

static void transparent(bool v6)
{
	run(v6, "", 1);
	CHECK(out.packets == SEGMENTS + 1 && octets_seen(1) == STREAM);
	CHECK(!out.wrong && !out.bad_sums && !out.disordered && !relay.dir[0].digest);
}

static void loss(bool v6)
{
	run(v6, "loss=5", 1);
	CHECK(count(RELAY_LOSS) > SEGMENTS / 40 && count(RELAY_LOSS) < SEGMENTS / 10);
	CHECK(octets_seen(1) == STREAM - count(RELAY_LOSS) * MSS && octets_seen(0));
	CHECK(!out.wrong && !out.bad_sums);
}

static void duplicate(bool v6)
{
	run(v6, "dup=5", 1);
	CHECK(count(RELAY_DUP) > SEGMENTS / 40);
	CHECK(octets_seen(2) == count(RELAY_DUP) * MSS && octets_seen(0) == 0 && !out.wrong);
}

static void reorder(bool v6)
{
	run(v6, "reorder=2:6:1000", 1);
	CHECK(count(RELAY_REORDER) > SEGMENTS / 100 && out.disordered > count(RELAY_REORDER));
	CHECK(octets_seen(1) == STREAM && !out.wrong);
	/* The last ones are let go by time alone. */
	CHECK(count(RELAY_N_REORDER_TIMEOUT) <= 6);
	run(v6, "reorder=100:6:1000", 1);
	CHECK(octets_seen(1) == STREAM && count(RELAY_N_REORDER_TIMEOUT));
}

static void corrupt(bool v6)
{
	run(v6, "corrupt=3", 1);
	CHECK(count(RELAY_CORRUPT) && out.bad_sums == count(RELAY_CORRUPT) && !out.wrong);
	run(v6, "corrupt-fixed=3", 1);
	CHECK(!out.bad_sums && out.wrong >= count(RELAY_CORRUPT_FIXED) && octets_seen(1) == STREAM);
	for (uint32_t i = 0; i < 600; i++)
		CHECK(out.seen[i] == 1);
	run(v6, "corrupt-tsval=3", 1);
	CHECK(count(RELAY_CORRUPT_TSVAL) && out.bad_sums == count(RELAY_CORRUPT_TSVAL));
	run(v6, "corrupt-header=10", 1);
	/* Of IPv6's header not every bit is covered. */
	CHECK(out.bad_sums > count(RELAY_CORRUPT_HEADER) / (v6 ? 2 : 1) - 1 && !out.wrong);
}

static void resegment(bool v6)
{
	static const char *const all[] = { "split=100", "merge=100:8", "merge=30:3",
					   "split=30,merge=30:4" };

	for (unsigned int i = 0; i < 4; i++) {
		run(v6, all[i], 1);
		CHECK(octets_seen(1) == STREAM && !out.wrong && !out.bad_sums && !out.disordered);
		CHECK(count(RELAY_N_PIECES) && !out.too_long && out.fin == 1);
		CHECK(out.psh > SEGMENTS / 40 && out.psh <= SEGMENTS / 10);
		CHECK(out.packets > SEGMENTS);
	}
	CHECK(count(RELAY_SPLIT) && count(RELAY_MERGE));
}

static void ce(bool v6)
{
	run(v6, "ce=5", 1);
	CHECK(count(RELAY_CE) && out.ce == count(RELAY_CE) && !out.bad_sums && !out.wrong);
}

#define ALL "loss=1,dup=1,reorder=1,corrupt=1,corrupt-header=1,split=5,merge=5,ce=1,delay=1:1"

static void repeatable(bool v6)
{
	uint64_t hash, digest;

	run(v6, ALL, 7);
	hash = out.hash;
	digest = relay.dir[0].digest;
	run(v6, ALL, 7);
	CHECK(digest && out.hash == hash && relay.dir[0].digest == digest);
	run(v6, ALL, 8);
	CHECK(out.hash != hash && relay.dir[0].digest != digest);
}

/* Acknowledgements of a receiver that always offers 64 KiB: the edge never goes back, nor beyond the offer. */
static void squeeze(bool v6)
{
	uint32_t edge = 0, ack = 1000, zero = 0, moved = 0;
	struct relay_conf conf;
	struct relay_pkt *p;
	struct relay_seg s;
	uint64_t now = 0;

	relay_conf_default(&conf);
	relay_conf_parse(&conf, 0, "squeeze=1:50:20");
	relay_init(&relay, &conf);
	relay_input(&relay, 0, segment(v6, -1, 0, 0x02, 0, 0xffff), now);
	relay_put(&relay, relay_output(&relay, 0));
	for (uint32_t i = 0; i < 20000; i++, now += 100000, ack += 2 * MSS) {
		/* Sometimes nothing more comes, and only time opens the window again. */
		if (i % 500 == 499)
			now += 100000000;
		relay_tick(&relay, now);
		relay_input(&relay, 0, segment(v6, 0, 0, 0x10, ack, 65536 >> SCALE), now);
		while ((p = relay_output(&relay, 0))) {
			uint32_t right;

			CHECK(relay_parse(p, &s) && sum_is_right(p, &s));
			right = s.ack + ((uint32_t)s.window << SCALE);
			CHECK(!edge || (int32_t)(right - edge) >= 0 || s.window == 0);
			CHECK((int32_t)(right - ack) <= 65536);
			zero += !s.window;
			moved += right != edge;
			edge = right;
			relay_put(&relay, p);
		}
	}
	CHECK(zero && moved && relay.dir[0].count[RELAY_ACK][RELAY_N_ZERO] == zero);
	CHECK(relay.dir[0].count[RELAY_ACK][RELAY_N_REOPENED]);
}

static const struct {
	const char *name;
	void (*fn)(bool v6);
} tests[] = {
	{ "transparent", transparent },
	{ "loss", loss },
	{ "duplicate", duplicate },
	{ "reorder", reorder },
	{ "corrupt", corrupt },
	{ "resegment", resegment },
	{ "ce", ce },
	{ "squeeze", squeeze },
	{ "repeatable", repeatable },
};

int main(void)
{
	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		for (unsigned int v6 = 0; v6 < 2; v6++) {
			unsigned int before = failures;
			char name[64];

			snprintf(name, sizeof(name), "%s-v%d", tests[i].name, v6 ? 6 : 4);
			test = name;
			tests[i].fn(v6);
			relay_free(&relay);
			if (failures == before)
				printf("PASS core-%s\n", name);
		}
	}
	return failures > 0;
}
