// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Compares the fast-path TCP receiver with a byte array that marks each octet that is held, for any segments and any
 * clock. Always:
 *
 *   No octet from outside the advertised window is taken or kept, and no octet is taken twice.
 *   A sound segment at rcv_nxt is taken.
 *   An ACK acknowledges what was taken. Its right edge does not move back and does not exceed the window.
 *   A SACK block is one whole run of kept octets; a D-SACK names octets that came before (RFC 2018, RFC 2883).
 *   No more segments are kept than allowed, and each is given back once, in order.
 *   What was taken is acknowledged within the delay, and at once after two segments (RFC 5681 section 4.2).
 */
#include <errno.h>

#include "tcp/recv.h"
#include "tests/fuzz/fuzz.h"

#define SPAN (1u << 18) /* octets of the stream per input */
#define NODES 24

struct node {
	struct xiw_tcp_keep keep; /* first member: the machine returns pointers to it */
	bool used;
};

static struct xiw_tcp_rx rx;
static struct xiw_tcp_rx_conf conf;
static struct node nodes[NODES];
static uint8_t held[SPAN]; /* how many kept segments hold this octet */
static uint32_t base, edge, snd_nxt;
static uint64_t now;
static uint32_t taken_segs; /* since the last ACK */
static uint32_t taken_octets;
static bool over; /* fell back */

static uint32_t rel(uint32_t seq)
{
	return seq - base;
}

static struct node *free_node(void)
{
	for (int i = 0; i < NODES; i++)
		if (!nodes[i].used)
			return &nodes[i];
	return NULL;
}

static void mark(const struct xiw_tcp_keep *k, int by)
{
	CHECK(rel(k->seq) < SPAN && k->len <= SPAN - rel(k->seq));
	for (uint32_t i = 0; i < k->len; i++) {
		CHECK(by > 0 || held[rel(k->seq) + i]);
		held[rel(k->seq) + i] += by;
	}
}

static uint32_t kept_now(void)
{
	uint32_t n = 0;

	for (int i = 0; i < NODES; i++)
		n += nodes[i].used;
	return n;
}

/* A FIN takes the number after its data, which may be in a block too. */
static bool fin_kept_at(uint32_t seq)
{
	for (int i = 0; i < NODES; i++)
		if (nodes[i].used && nodes[i].keep.flags & XIW_TCP_FIN &&
		    nodes[i].keep.seq + nodes[i].keep.len == seq)
			return true;
	return false;
}

static bool octet_held(uint32_t seq)
{
	return (rel(seq) < SPAN && held[rel(seq)]) || fin_kept_at(seq);
}

static void check_blocks(const struct xiw_tcp_seg *ack)
{
	unsigned int first = 0;

	REACHES(ack->nsack > 2, "an ACK with three SACK blocks");
	CHECK(ack->nsack <= (conf.ts_ok ? 3 : 4));
	CHECK(conf.sack_ok || !ack->nsack);
	for (unsigned int i = 0; i < ack->nsack; i++) {
		uint32_t start = ack->sack[i].start, end = ack->sack[i].end, s;

		CHECK(xiw_seq_before(start, end));
		/* RFC 2883 section 4: a D-SACK comes first, below the ACK or within the next block. */
		if (!i && (!xiw_seq_after(end, rx.rcv_nxt) ||
			   (ack->nsack > 1 && !xiw_seq_before(start, ack->sack[1].start) &&
			    !xiw_seq_after(end, ack->sack[1].end)))) {
			first = 1;
			continue;
		}
		/* It began with octets that were kept and have been taken since. */
		if (!i && !xiw_seq_after(start, rx.rcv_nxt)) {
			first = 1;
			continue;
		}
		for (s = start; s != end; s++)
			if (!octet_held(s))
				break;
		if (s != end && !i) {
			/* The octets came twice and were kept; the first copy was taken or given back since. */
			first = 1;
			continue;
		}
		CHECK(s == end, "block %u of %u: %u..%u, octet %u is not held", i, ack->nsack,
		      rel(start), rel(end), rel(s));
		CHECK(xiw_seq_after(start, rx.rcv_nxt) && !xiw_seq_after(end, edge));
		CHECK(i == 0 || (!octet_held(start - 1) && !octet_held(end)), "a run is one block");
		for (unsigned int k = first; k < i; k++)
			CHECK(k == 0 || ack->sack[k].start != start, "told twice");
	}
}

static void send_ack(void)
{
	uint8_t *out = malloc(XIW_TCP_MAX);
	struct xiw_tcp_seg ack = {};
	uint32_t old = edge, promised;
	int len;

	CHECK(out);
	CHECK(xiw_tcp_rx_build_ack(&rx, 1, out, XIW_TCP_MIN - 1) == -ENOSPC);
	len = xiw_tcp_rx_build_ack(&rx, 1, out, XIW_TCP_MAX);
	CHECK(len >= XIW_TCP_MIN && xiw_tcp_parse(out, (size_t)len, (size_t)len, &ack) == len);
	CHECK(ack.ack == rx.rcv_nxt && ack.seq == snd_nxt && ack.flags & XIW_TCP_ACK);
	promised = (uint32_t)ack.wnd << rx.rcv_wscale;
	edge = ack.ack + promised;
	CHECK(!xiw_seq_before(edge, old), "the right edge moved back by %u", old - edge);
	/* The edge exceeds the window only because it may not move back and is rounded up. */
	CHECK(promised <= rx.window || !xiw_seq_after(edge, old + (1u << rx.rcv_wscale) - 1),
	      "promises %u of %u", promised, rx.window);
	CHECK(rx.right_edge == edge);
	CHECK(ack.has_ts == conf.ts_ok && (!ack.has_ts || ack.tsecr == rx.ts_recent));
	check_blocks(&ack);
	taken_segs = taken_octets = 0;
	CHECK(!xiw_tcp_rx_ack_due(&rx, now, true) || rx.rcv_nxt + rx.window != edge);
	free(out);
}

/* The caller takes whole FPDUs: all, or fewer if a CRC is wrong. */
static void take(const struct xiw_tcp_take *t, const struct xiw_tcp_seg *seg, uint32_t take_len)
{
	CHECK(t->seq == rx.rcv_nxt && t->len);
	CHECK(!xiw_seq_after(t->seq + t->len, edge), "beyond the right edge");
	if (seg)
		CHECK(t->off == t->seq - seg->seq && t->off + t->len <= seg->len);
	CHECK(take_len <= t->len);
	if (!take_len)
		return;
	taken_segs++;
	taken_octets += take_len;
	xiw_tcp_rx_advance(&rx, take_len);
	CHECK(rx.rcv_nxt == t->seq + take_len);
}

static void drain(struct fuzz_in *in)
{
	struct xiw_tcp_keep *k;
	struct xiw_tcp_take t;
	uint32_t last = rx.rcv_nxt - SPAN;

	while (!over && (k = xiw_tcp_rx_next(&rx))) {
		struct node *n = (struct node *)k;

		CHECK(n->used && !xiw_seq_after(k->seq, rx.rcv_nxt));
		CHECK(!xiw_seq_before(k->seq, last), "not in order");
		last = k->seq;
		n->used = false;
		mark(k, -1);
		switch (xiw_tcp_rx_turn(&rx, k, &t)) {
		case XIW_TCP_TAKE:
			CHECK(t.off == rx.rcv_nxt - k->seq && t.off + t.len == k->len);
			take(&t, NULL, fuzz_below(in, 8) ? t.len : fuzz_u16(in) % (t.len + 1));
			REACHES(true, "a segment that was kept and whose turn comes");
			break;
		case XIW_TCP_CONTROL:
			CHECK(k->flags & (XIW_TCP_FIN | XIW_TCP_URG));
			REACHES(true, "a FIN or URG that was kept and whose turn comes");
			over = true;
			break;
		case XIW_TCP_DROP:
			CHECK(!xiw_seq_after(k->seq + k->len + !!(k->flags & XIW_TCP_FIN),
					     rx.rcv_nxt));
			break;
		default:
			CHECK(false);
		}
	}
}

static void keep(const struct xiw_tcp_take *t, bool none)
{
	uint32_t end = t->seq + t->len + !!(t->flags & XIW_TCP_FIN);
	bool news = false;
	struct node *n = none ? NULL : free_node();
	enum xiw_tcp_action act;

	CHECK(xiw_seq_after(t->seq, rx.rcv_nxt) && !xiw_seq_after(end, edge));
	for (uint32_t s = t->seq; s != end; s++)
		news |= !octet_held(s);
	if (n)
		xiw_tcp_keep_set(&n->keep, t);
	act = xiw_tcp_rx_keep(&rx, n ? &n->keep : NULL);
	CHECK(act == (n && news ? XIW_TCP_KEEP : XIW_TCP_DROP));
	if (act != XIW_TCP_KEEP)
		return;
	n->used = true;
	mark(&n->keep, 1);
	CHECK(rx.kept == kept_now() && rx.kept <= conf.max_keep);
}

/* Is the segment acceptable by all rules of TCP? */
static bool sound(const struct xiw_tcp_seg *s)
{
	return s->len <= 65535 &&
	       !(s->flags & (XIW_TCP_RST | XIW_TCP_SYN | XIW_TCP_FIN | XIW_TCP_URG)) &&
	       s->flags & XIW_TCP_ACK && s->ack == snd_nxt &&
	       (!conf.ts_ok || (s->has_ts && !xiw_seq_before(s->tsval, rx.ts_recent)));
}

static struct xiw_tcp_seg make(struct fuzz_in *in)
{
	uint8_t how = fuzz_u8(in);
	struct xiw_tcp_seg s = {
		.seq = rx.rcv_nxt,
		.len = fuzz_u8(in) * (how & 1 ? 64u : 4u),
		.ack = snd_nxt,
		.wnd = 500,
		.flags = XIW_TCP_ACK,
		.has_ts = conf.ts_ok,
		.tsval = rx.ts_recent + (how & 2),
	};
	int32_t off;

	switch (how >> 2 & 3) {
	case 1:
		s.seq += fuzz_u16(in) % 4096; /* ahead, near */
		break;
	case 2:
		off = (int16_t)fuzz_u16(in);
		s.seq += (uint32_t)off * 4;
		break;
	case 3:
		s.seq = edge - fuzz_u8(in);
		break;
	}
	if (how & 0x10) {
		s.flags = fuzz_u8(in);
		s.ecn = fuzz_u8(in) & 3;
	}
	if (how & 0x20) {
		s.ack += (uint32_t)(int32_t)(int8_t)fuzz_u8(in) << (fuzz_u8(in) & 31);
		s.wnd = fuzz_u16(in);
		s.nsack = fuzz_u8(in) % (XIW_TCP_MAX_SACK + 1);
		s.sack[0].start = fuzz_u32(in);
	}
	if (how & 0x40) {
		s.tsval = rx.ts_recent + (uint32_t)(int32_t)(int8_t)fuzz_u8(in);
		s.has_ts ^= fuzz_u8(in) & 1;
	}
	if (how & 0x80)
		s.len = fuzz_u32(in) >> (fuzz_u8(in) & 31);
	return s;
}

static void segment(struct fuzz_in *in)
{
	struct xiw_tcp_seg s = make(in);
	uint32_t rcv_nxt = rx.rcv_nxt, end = s.seq + s.len + !!(s.flags & XIW_TCP_FIN);
	bool plain = sound(&s), room = kept_now() < conf.max_keep;
	struct xiw_tcp_take t;
	enum xiw_tcp_action act;

	memset(&t, 0xee, sizeof(t));
	act = xiw_tcp_rx_segment(&rx, &s, now, &t);
	CHECK(rx.rcv_nxt == rcv_nxt && rx.right_edge == edge, "moved by a segment alone");
	if (plain && s.len && !xiw_seq_after(s.seq, rcv_nxt) && xiw_seq_after(end, rcv_nxt) &&
	    xiw_seq_after(edge, rcv_nxt))
		CHECK(act == XIW_TCP_TAKE && t.len == xiw_seq_min(end, edge) - rcv_nxt);
	if (plain && s.len && room && xiw_seq_after(s.seq, rcv_nxt) && xiw_seq_before(s.seq, edge))
		CHECK(act == XIW_TCP_KEEP);
	if (s.flags & (XIW_TCP_RST | XIW_TCP_SYN) || !(s.flags & XIW_TCP_ACK) || s.len > 65535)
		CHECK(act == XIW_TCP_DROP);
	switch (act) {
	case XIW_TCP_TAKE:
		take(&t, &s, fuzz_below(in, 8) ? t.len : fuzz_u16(in) % (t.len + 1));
		drain(in);
		break;
	case XIW_TCP_KEEP:
		CHECK(t.off == 0 && t.seq == s.seq && t.len <= s.len && room);
		keep(&t, !fuzz_below(in, 32));
		break;
	case XIW_TCP_CONTROL:
		CHECK(s.flags & (XIW_TCP_FIN | XIW_TCP_URG) && t.seq == rcv_nxt);
		CHECK(!xiw_seq_after(t.seq + t.len + !!(t.flags & XIW_TCP_FIN), edge));
		over = true;
		break;
	default:
		break;
	}
	/* An ACK is due after two segments, or if octets have waited too long. */
	if (taken_segs >= 2)
		CHECK(xiw_tcp_rx_ack_due(&rx, now, true));
	if (taken_octets)
		CHECK(xiw_tcp_rx_deadline(&rx) <= now + 500);
}

static void flush(void)
{
	struct xiw_tcp_keep *k = xiw_tcp_rx_flush(&rx), *next;
	uint32_t last = k ? k->seq : 0;

	for (; k; k = next) {
		struct node *n = (struct node *)k;

		next = k->next;
		CHECK(n->used && !xiw_seq_before(k->seq, last));
		last = k->seq;
		n->used = false;
		mark(k, -1);
	}
	CHECK(!kept_now() && !rx.kept);
}

static void start(struct fuzz_in *in)
{
	static const uint32_t bases[] = { 0, 0xffff0000, 0x7fff0000, 0x80000000, 0xfffffffc };
	uint8_t how = fuzz_u8(in);

	base = bases[fuzz_below(in, 5)];
	/* Leave room below for duplicates of earlier octets. */
	conf = (struct xiw_tcp_rx_conf){
		.sport = 1,
		.dport = 2,
		.rcv_nxt = base + 4096,
		.last_ack_sent = base + 4096,
		.window = fuzz_u16(in) + (how & 1 ? 65536u : 0),
		.mss = (uint16_t)(1 + fuzz_u16(in) % 9000),
		.rcv_wscale = fuzz_below(in, 16),
		.snd_wscale = how >> 1 & 3,
		.ts_ok = how & 8,
		.sack_ok = how & 16,
		.ecn_ok = how & 32,
		.ts_recent = 0xfffffff0,
		.now_ms = 1000,
		.max_keep = fuzz_below(in, NODES + 1),
	};
	conf.right_edge = conf.rcv_nxt + fuzz_u16(in);
	conf.buffer = conf.window;
	snd_nxt = base + 77;
	conf.snd_nxt = snd_nxt;
	conf.snd_una = snd_nxt - 10;
	now = conf.now_ms;
	memset(nodes, 0, sizeof(nodes));
	memset(held, 0, sizeof(held));
	taken_segs = taken_octets = 0;
	over = false;
	xiw_tcp_rx_init(&rx, &conf);
	edge = rx.right_edge;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };

	start(&in);
	/* Far from the end of the marks: a window reaches less than 2^18 - 2^17 beyond rcv_nxt. */
	while (in.left && !over && rel(rx.rcv_nxt) < SPAN / 8 && rel(edge) < SPAN - 65536) {
		switch (fuzz_u8(&in) % 8) {
		case 0:
			if (xiw_tcp_rx_ack_due(&rx, now, fuzz_u8(&in) & 1))
				send_ack();
			break;
		case 1:
			now += 1ull << (fuzz_u8(&in) % 40);
			break;
		case 2:
			snd_nxt += fuzz_u16(&in);
			xiw_tcp_rx_set_snd(&rx, snd_nxt);
			break;
		case 3:
			if (fuzz_u8(&in) & 1)
				xiw_tcp_rx_set_window(&rx, fuzz_u16(&in));
			else
				xiw_tcp_rx_feedback_given(&rx);
			break;
		case 4:
			send_ack();
			break;
		default:
			segment(&in);
			break;
		}
	}
	flush();
	return 0;
}
