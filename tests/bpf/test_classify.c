// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* xiw_ingress against the reference in ref.c, over generated segments. */
#include <time.h>
#include "harness.h"
#include "ref.h"

#define MAX_PKT 12288
#define META sizeof(struct xiw_meta)
#define NQUEUES 66
#define LIMIT XIW_WATCHDOG_NS
#define STUCK XIW_STUCK_NS
#define NFLOWS 2

static struct harness h;
static struct ref_flow ref_flows[NFLOWS];
static struct xiw_flow ref_state[NFLOWS];
static uint64_t ref_stats[XIW_STAT__COUNT];
static uint32_t ifindex, max_linear;
static bool can_split; /* the kernel lets a test say where the first buffer ends */
static bool can_pull;  /* and a program move that (6.18) */
static uint32_t verdicts[XIW_V_CONTROL + 1], exits[REF__COUNT];

/* Runs asked for before going direct, and how often one was enough. */
static const uint32_t runs[] = { 0, 1, 8, 100 };
static uint32_t ran[4];

/* One generated segment, and where it was put. */
struct gen {
	uint8_t pkt[MAX_PKT];
	uint32_t len;
	int which; /* flow: its addresses are IPv4's, IPv6's */
	bool v6;   /* the packet */
	uint32_t l3, l4, hdr, ip_end;
	bool sound; /* nothing in it was damaged */
};

static uint64_t coarse_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* ---- the state before ---------------------------------------------------------------------------- */

static uint32_t near(uint32_t base)
{
	static const uint32_t reach[] = { 1, 8, 3000, 100000, 1u << 30 };
	uint32_t r = reach[rnd(5)];

	return chance(40) ? base : base - r + rnd(2 * r + 1);
}

static void gen_flow(struct xiw_flow *f, uint64_t now)
{
	static const uint32_t paths[] = { XIW_PATH_KERNEL, XIW_PATH_ARMED, XIW_PATH_DIRECT };
	uint32_t base = chance(30) ? 0u - rnd(4000) : harness_random();
	uint32_t path = chance(2) ? XIW_PATH_NONE : paths[rnd(3)];
	uint32_t value = path == XIW_PATH_DIRECT ? base : chance(30) ? 0 : harness_random();
	uint32_t epoch = chance(5) ? 0xffffff : harness_random() & 0xffffff;
	uint32_t k = chance(20) ? base : chance(20) ? base - value : harness_random();

	f->owner = xiw_owner_pack(value, epoch, path);
	/* K of this stretch, of the one to come, of any one, or none yet. */
	f->kernel_nxt = chance(path == XIW_PATH_DIRECT ? 93 : 2) ? xiw_kernel_nxt_pack(k, epoch)
			: chance(path == XIW_PATH_ARMED ? 15 : 50)
				? xiw_kernel_nxt_pack(k, epoch + 1)
			: chance(90) ? xiw_kernel_nxt_pack(k, harness_random())
				     : 0;
	f->flags = rnd(32);
	f->ece = rnd(3);
	f->acked = chance(80) ? base - rnd(1 << 16) : harness_random();
	f->marker_origin = chance(90) ? base - 4 * rnd(1 << 20) : harness_random();
	f->kernel_edge = chance(80) ? base + rnd(1 << 20) : near(base);
	f->direct_edge = chance(70) ? near(base) : harness_random();
	f->kernel_high = chance(path == XIW_PATH_ARMED ? 70 : 0) ? base
			 : chance(60)				 ? base - rnd(3) * 1000
			 : chance(80)				 ? near(base)
								 : base - (1u << 28) - rnd(1 << 28);
	f->beyond = chance(20) ? base - value + 1 : harness_random();
	f->run_needed = runs[rnd(4)];
	f->run_end = chance(60) ? f->kernel_high : chance(50) ? near(base) : harness_random();
	f->run_len = chance(40) ? 6 + rnd(3) : chance(80) ? rnd(3) : 0u - rnd(3);
	f->egress_segs = rnd(3);
	f->egress_floor = chance(80) ? 0 : rnd(4);
	f->elsewhere_segs = chance(95) ? 0 : rnd(3);
	/* As gen_l2() has it, or another in one place, or none. */
	memset(f->mac, chance(50) ? 2 : 0, sizeof(f->mac));
	if (chance(5))
		f->mac[rnd(6)] = 3;
	if (chance(10)) /* nothing was passed yet */
		f->kernel_segs = f->control_segs = 0;
	f->looked = rnd(1000);
	f->try_looked = f->looked - chance(30);
	f->try_nxt = chance(80) ? value : near(base);
	f->try_ns = now - (chance(60) ? rnd(STUCK / 2) : STUCK + 50000000 + rnd(1000000000));
	f->barred = 0;
	f->reserved0[0] = base; /* for gen_seq() only */
}

static void gen_queue(struct xiw_queue *q, uint64_t now)
{
	uint64_t recent = now - rnd(LIMIT / 4), old = now - 2 * LIMIT - rnd(1000000000);

	q->beat_ns = chance(70) ? recent : chance(50) ? old : now + rnd(4000000);
	q->wait_ns = chance(60) ? recent : old;
	q->drained_ns = chance(60) ? now : old;
	q->last_ns = chance(50) ? recent : chance(50) ? old + 1 : q->drained_ns;
}

/* ---- payload ------------------------------------------------------------------------------------- */

struct stream {
	uint8_t *at;
	uint32_t len, max, seq, origin, start;
	bool markers, full;
};

static void put_octet(struct stream *s, uint8_t v, bool inside)
{
	if (s->markers && (s->seq + s->len - s->origin) % 512 == 0) {
		if (s->len + 4 > s->max) {
			s->full = true;
			return;
		}
		put16(s->at + s->len, chance(90) ? 0 : harness_random());
		put16(s->at + s->len + 2,
		      (inside ? s->len - s->start : 0) | (chance(90) ? 0 : rnd(4)));
		s->len += 4;
	}
	if (s->len >= s->max) {
		s->full = true;
		return;
	}
	if (!inside)
		s->start = s->len;
	s->at[s->len++] = v;
}

/* FPDUs (RFC 5044 section 4.1) until one does not fit; that one is taken back, or cut. */
static uint32_t gen_payload(uint8_t *at, uint32_t max, uint32_t seq, const struct xiw_flow *f)
{
	struct stream s = { .at = at,
			    .max = max,
			    .seq = seq,
			    .origin = f->marker_origin,
			    .markers = f->flags & XIW_FLOW_MARKERS };
	uint32_t top = chance(25)   ? 1
		       : chance(30) ? 60
		       : chance(50) ? 600
				    : max,
		 whole, i, ulpdu, n;
	uint32_t limit = chance(70) ? 600 : 1 + rnd(20);
	bool markers = s.markers, cut = chance(6);

	if (markers && (seq - s.origin) % 4)
		s.markers = chance(50);
	for (n = 0; n < limit; n++) {
		whole = s.len;
		/* Often just what is left, so that full segments are common. */
		ulpdu = top == max && chance(60) && max > s.len + 8 + 4 * ((max >> 9) + 1)
				? max - s.len - 8 - 4 * ((max >> 9) + 1)
			: top > 1 ? rnd(top + 1)
				  : chance(95);
		put_octet(&s, ulpdu >> 8, false);
		put_octet(&s, ulpdu, true);
		for (i = (ulpdu + 2 + 3) / 4 * 4 - 2 + 4; i && !s.full; i--)
			put_octet(&s, i, true);
		if (s.full)
			return cut ? s.len : whole;
	}
	return s.len;
}

static void damage_payload(struct gen *g, uint32_t off, uint32_t *len)
{
	uint32_t seq_len = *len, k;

	if (!seq_len)
		return;
	switch (rnd(5)) {
	case 0:
		*len -= rnd(seq_len < 9 ? seq_len : 9);
		break;
	case 1:
		g->pkt[off + rnd(seq_len)] ^= 1 << rnd(8);
		break;
	case 2:
		g->pkt[off + rnd(seq_len < 2 ? seq_len : 2)] = harness_random();
		break;
	case 3:
		for (k = rnd(seq_len); k < seq_len; k++)
			g->pkt[off + k] = harness_random();
		break;
	default:
		for (k = rnd(12); k && off + *len < MAX_PKT - 100; k--)
			g->pkt[off + (*len)++] = chance(50) ? 0 : harness_random();
	}
}

/* ---- headers ------------------------------------------------------------------------------------- */

static uint32_t gen_l2(uint8_t *p, int which)
{
	uint32_t off = 12, tags = chance(80) ? 0 : chance(95) ? 1 + rnd(2) : 3;

	memset(p, 2, 12);
	for (; tags; tags--, off += 4) {
		put16(p + off, chance(50) ? 0x8100 : 0x88a8);
		put16(p + off + 2, rnd(4096));
	}
	put16(p + off, which ? 0x86dd : 0x0800);
	return off + 2;
}

/* Returns the octets of header; the lengths come later. */
static uint32_t gen_ip4(uint8_t *ip, const struct xiw_flow_key *key)
{
	uint32_t hdr = 20 + (chance(80) ? 0 : 4 * rnd(11));

	memset(ip, 1, hdr);
	ip[0] = 0x40 | hdr / 4;
	ip[1] = rnd(256);
	put16(ip + 6, chance(74) ? 0x4000 : chance(60) ? 0x2000 : rnd(0x4000));
	ip[8] = 64;
	ip[9] = chance(99) ? 6 : 17;
	memcpy(ip + 12, &key->remote_addr[3], 4);
	memcpy(ip + 16, &key->local_addr[3], 4);
	return hdr;
}

static uint32_t gen_ip6(uint8_t *ip, const struct xiw_flow_key *key)
{
	static const uint8_t kinds[] = { 0, 43, 60, 60, 60, 60, 44, 51 };
	uint32_t hdr = 40, n = chance(75) ? 0 : rnd(8);
	uint8_t *next = ip + 6;

	memset(ip, 0, 40);
	ip[0] = 0x60;
	ip[1] = rnd(256);
	memcpy(ip + 8, key->remote_addr, 16);
	memcpy(ip + 24, key->local_addr, 16);
	for (; n; n--) {
		uint8_t *ext = ip + hdr;
		uint32_t len = 8;

		*next = kinds[chance(95) ? rnd(6) : rnd(8)];
		memset(ext, 0, 8);
		if (*next == 44) {
			put16(ext + 2, chance(70) ? 1 : chance(50) ? 0 : rnd(0x10000));
		} else {
			ext[1] = chance(80) ? rnd(3) : rnd(40);
			len = 8 + 8 * ext[1];
			memset(ext + 2, 0, len - 2);
		}
		next = ext;
		hdr += len;
	}
	*next = chance(99) ? 6 : 17;
	return hdr;
}

static uint32_t gen_options(uint8_t *o)
{
	uint32_t n, i;

	switch (rnd(6)) {
	case 0:
		return 0;
	case 1:
	case 2: /* the usual */
		put32(o, 0x0101080a);
		put32(o + 4, harness_random());
		put32(o + 8, harness_random());
		return 12;
	case 3: /* with SACK, in either order */
		n = 1 + rnd(3);
		o[0] = o[1] = 1;
		o[2] = 5;
		o[3] = 2 + 8 * n;
		for (i = 0; i < 8 * n; i++)
			o[4 + i] = harness_random();
		i = 4 + 8 * n;
		o[i] = o[i + 1] = 1;
		o[i + 2] = 8;
		o[i + 3] = 10;
		put32(o + i + 4, harness_random());
		put32(o + i + 8, harness_random());
		return i + 12;
	case 4: /* a timestamp anywhere, or two, or cut */
		n = 4 * (3 + rnd(8));
		memset(o, chance(90), n);
		for (i = rnd(n); i + 2 < n; i += 10 + rnd(6)) {
			o[i] = 8;
			o[i + 1] = chance(90) ? 10 : rnd(12);
			if (i + 6 <= n)
				put32(o + i + 2, harness_random());
		}
		return n;
	default:
		n = 4 * rnd(11);
		for (i = 0; i < n; i++)
			o[i] = chance(50) ? rnd(10) : harness_random();
		return n;
	}
}

static uint32_t gen_seq(const struct xiw_flow *f, uint32_t len)
{
	uint32_t base = f->reserved0[0];

	return chance(65) ? base : chance(30) ? base - len : near(base);
}

static uint32_t gen_flags(void)
{
	static const uint8_t some[] = { 0x18, 0x11, 0x12, 0x14, 0x30, 0x04, 0x00, 0x19 };

	return chance(80) ? 0x10 : chance(80) ? some[rnd(8)] : rnd(256);
}

/* Header fields that lie, after the packet was built right. */
static void damage_headers(struct gen *g)
{
	uint8_t *ip = g->pkt + g->l3, *th = g->pkt + g->l4, *total = ip + (g->v6 ? 4 : 2);

	g->sound = false;
	switch (rnd(8)) {
	case 0:
		th[12] = harness_random();
		break;
	case 1:
		ip[0] = (ip[0] & 0xf0) | (chance(50) ? 4 : rnd(16));
		break;
	case 2:
		put16(total, get16(total) - 20 + rnd(60));
		break;
	case 3:
		put16(total, chance(30) ? 0 : harness_random());
		break;
	case 4:
		g->len = 14 + rnd(g->len - 13);
		break;
	case 5:
		g->len = 14 + rnd(g->l4 + 20 < g->len ? g->l4 + 20 - 13 : 1);
		break;
	case 6:
		g->pkt[12 + rnd(g->l4 - 12)] ^= 1 << rnd(8);
		break;
	default:
		g->pkt[g->l4 + rnd(20)] = harness_random();
	}
}

static void gen_packet(struct gen *g, uint32_t mtu)
{
	const struct xiw_flow *f;
	const struct xiw_flow_key *key;
	uint32_t seq, len = 0, room, off, sum;
	uint8_t *th;

	g->sound = true;
	g->which = rnd(NFLOWS);
	/* Now and then an IPv6 packet with the IPv4 flow's addresses, mapped: it is not the flow's. */
	g->v6 = g->which || chance(3);
	f = &ref_state[g->which];
	key = &ref_flows[g->which].key;
	g->l3 = gen_l2(g->pkt, g->v6);
	g->l4 = g->l3 + (g->v6 ? gen_ip6 : gen_ip4)(g->pkt + g->l3, key);
	th = g->pkt + g->l4;
	g->hdr = 20 + gen_options(th + 20);
	off = g->l4 + g->hdr;
	room = off + 100 < mtu ? mtu - off : 100;
	if (chance(30))
		room = 1 + rnd(room);
	seq = gen_seq(f, room);
	if (chance(85))
		len = gen_payload(g->pkt + off, room, seq, f);
	if (chance(15))
		damage_payload(g, off, &len);

	memcpy(th, &key->remote_port, 2);
	memcpy(th + 2, &key->local_port, 2);
	if (chance(1))
		th[rnd(4)] ^= 1;
	put32(th + 4, seq);
	put32(th + 8, harness_random());
	th[12] = g->hdr / 4 << 4;
	th[13] = gen_flags();
	put32(th + 14, harness_random());
	put32(th + 16, harness_random() & 0xffff);
	put16(th + 16, 0);
	g->ip_end = g->len = off + len;
	sum = harness_tcp_sum(key, th, g->ip_end - g->l4);
	put16(th + 16, sum);
	put16(g->pkt + g->l3 + (g->v6 ? 4 : 2), g->ip_end - g->l3 - (g->v6 ? 40 : 0));
	if (g->len < 60 || chance(5))
		for (sum = g->len < 60 ? 60 - g->len : rnd(30); sum; sum--)
			g->pkt[g->len++] = harness_random();
	if (chance(10))
		damage_headers(g);
}

/* ---- run and compare ----------------------------------------------------------------------------- */

static int run(const uint8_t *in, uint32_t len, uint32_t linear, uint32_t queue, uint8_t *out,
	       uint32_t *out_len, uint32_t *meta_len, uint32_t *out_linear)
{
	struct xdp_md md_in = { .data_end = linear,
				.ingress_ifindex = ifindex,
				.rx_queue_index = queue };
	struct xdp_md md_out = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = in, .data_size_in = len, .data_out = out,
		    .data_size_out = MAX_PKT + META, .ctx_in = &md_in, .ctx_size_in = sizeof(md_in),
		    .ctx_out = &md_out, .ctx_size_out = sizeof(md_out), .repeat = 1);
	int err = bpf_prog_test_run_opts(h.ingress, &opts);

	if (err)
		return -1;
	*out_len = opts.data_size_out;
	*meta_len = *out_len > len ? *out_len - len : 0;
	*out_linear = md_out.data_end - *meta_len;
	return opts.retval;
}

static bool same_flow(const struct xiw_flow *want, const struct xiw_flow *got, uint64_t now)
{
	struct xiw_flow w = *want;

	if (w.try_ns == now)
		w.try_ns = got->try_ns >= now && got->try_ns <= coarse_ns() ? got->try_ns : 0;
	return !memcmp(&w, got, sizeof(w));
}

static bool same_queue(struct xiw_queue *want, const struct xiw_queue *got, uint64_t now)
{
	struct xiw_queue w = *want;

	/* The program read the clock a little later. */
	if (w.last_ns == now)
		w.last_ns = got->last_ns >= now && got->last_ns <= coarse_ns() ? got->last_ns : 0;
	if (w.wait_ns == now)
		w.wait_ns = got->wait_ns >= now && got->wait_ns <= coarse_ns() ? got->wait_ns : 0;
	return !memcmp(&w, got, sizeof(w));
}

static void complain(long n, const struct gen *g, const struct ref_case *c, const char *what)
{
	const struct xiw_flow *f = &ref_state[g->which];

	cr_assert_fail("seed %llx, segment %ld: %s; IPv%d len %u linear %u l4 %u ip_end %u flags "
		       "%02x "
		       "want action %d stat %u verdict %u fpdus %u; after: owner %llx K %llx "
		       "high %x, exit %d",
		       HARNESS_SEED, n, what, g->v6 ? 6 : 4, g->len, c->linear, g->l4, g->ip_end,
		       g->pkt[g->l4 + 13], c->action, c->stat, c->meta.verdict, c->meta.fpdus,
		       (unsigned long long)f->owner, (unsigned long long)f->kernel_nxt,
		       f->kernel_high, c->exit);
}

static void one_segment(long n, uint32_t mtu, uint32_t seen[XIW_STAT__COUNT])
{
	static const uint32_t queues[] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, NQUEUES - 1 };
	static struct gen g;
	static uint8_t out[MAX_PKT + META], want[MAX_PKT];
	uint32_t queue = queues[rnd(10)], out_len, meta_len, linear;
	struct xiw_queue ref_queue;
	struct ref_case c = { .pkt = want,
			      .flows = ref_flows,
			      .nflows = NFLOWS,
			      .limit = LIMIT,
			      .stuck = STUCK,
			      .headroom = true,
			      .pulls = can_pull };
	int i, action;

	c.now = coarse_ns();
	for (i = 0; i < NFLOWS; i++)
		gen_flow(&ref_state[i], c.now);
	gen_packet(&g, mtu);
	for (i = 0; i < NFLOWS; i++)
		h.flows[ref_flows[i].index] = ref_state[i];
	memcpy(want, g.pkt, g.len);
	gen_queue(&ref_queue, c.now);
	if (queue < XIW_MAX_QUEUES) {
		h.queues[queue] = ref_queue;
		c.queue = &ref_queue;
	}
	c.xsk = queue == 0;
	c.len = g.len;
	c.linear = g.len < max_linear ? g.len : max_linear;
	if (mtu > max_linear && can_split && c.linear > 14 && chance(20))
		c.linear = chance(20) ? 14 : 14 + rnd((c.linear < 200 ? c.linear : 200) - 14);
	linear = c.linear < max_linear ? c.linear : g.len;

	ref_ingress(&c);
	action = run(g.pkt, g.len, linear, queue, out, &out_len, &meta_len, &linear);
	ref_stats[c.stat]++;
	seen[c.stat]++;
	exits[c.exit]++;
	for (i = 0; c.exit == REF_WENT_DIRECT && i < 4; i++)
		ran[i] += c.flow->state->run_needed == runs[i];
	if (c.has_meta)
		verdicts[c.meta.verdict]++;

	if (linear != c.linear)
		complain(n, &g, &c, "first buffer of another size");

	if (action != c.action)
		complain(n, &g, &c,
			 action == XDP_PASS	  ? "passed"
			 : action == XDP_DROP	  ? "dropped"
			 : action == XDP_REDIRECT ? "redirected"
						  : "odd action");
	/* What was in front of a segment that is dropped in the end, nobody sees. */
	if ((meta_len != (c.has_meta ? META : 0) && c.exit != REF_ARMED_CLAIMED) ||
	    out_len != g.len + meta_len)
		complain(n, &g, &c, "length of packet or metadata");
	if (c.has_meta && memcmp(out, &c.meta, META))
		complain(n, &g, &c, "metadata");
	if (memcmp(out + meta_len, want, g.len))
		complain(n, &g, &c, "octets of the packet");
	for (i = 0; i < NFLOWS; i++)
		if (!same_flow(&ref_state[i], &h.flows[ref_flows[i].index], c.now))
			complain(n, &g, &c, "state of the flow");
	if (c.queue && !same_queue(&ref_queue, &h.queues[queue], c.now))
		complain(n, &g, &c, "state of the queue");
	/* Against a checksum computed anew, too. */
	if (c.flow && g.sound && c.action == XDP_PASS &&
	    harness_tcp_sum(&ref_flows[g.which].key, out + g.l4, g.ip_end - g.l4))
		complain(n, &g, &c, "TCP checksum");
}

static void set_up(void)
{
	uint8_t probe[8000] = { 0 }, out[MAX_PKT + META];
	uint32_t q = 0, len, meta_len;
	int i, j, fd;

	harness_load(&h);
	cr_assert(!system("ip link add xt0 numrxqueues 66 numtxqueues 66 type veth peer name xt1 "
			  "&& ip link set xt0 up && ip link set xt1 up"));
	ifindex = if_nametoindex("xt0");
	fd = harness_xsk("xt0", 0);
	cr_assert(!bpf_map_update_elem(h.xsks_map, &q, &fd, BPF_ANY), "%s", strerror(errno));
	for (i = 0; i < NFLOWS; i++) {
		struct ref_flow *f = &ref_flows[i];

		for (j = 0; j < 4; j++) {
			f->key.remote_addr[j] = harness_random();
			f->key.local_addr[j] = harness_random();
		}
		if (!i) {
			f->key.remote_addr[0] = f->key.remote_addr[1] = 0;
			f->key.local_addr[0] = f->key.local_addr[1] = 0;
			f->key.remote_addr[2] = f->key.local_addr[2] = __builtin_bswap32(0xffff);
		}
		f->key.remote_port = harness_random();
		f->key.local_port = harness_random();
		/* A short ihl puts the address where the ports would be: it must not be believed. */
		if (!i)
			memcpy(&f->key.local_addr[3], &f->key.remote_port, 4);
		f->index = i ? XIW_MAX_FLOWS - 1 : 5;
		f->state = &ref_state[i];
		cr_assert(!bpf_map_update_elem(h.index_map, &f->key, &f->index, BPF_ANY));
	}
	/* How much the kernel leaves in the first buffer. */
	cr_assert_eq(run(probe, sizeof(probe), sizeof(probe), 0, out, &len, &meta_len, &max_linear),
		     XDP_PASS);
	ref_stats[XIW_STAT_OTHER]++;
	cr_assert(max_linear > 2000 && max_linear < 4096, "linear part %u", max_linear);
	can_split = run(probe, sizeof(probe), 100, 0, out, &len, &meta_len, &q) == XDP_PASS;
	can_pull = can_split && q > 100;
	ref_stats[XIW_STAT_OTHER] += can_split;
	if (!can_split)
		fprintf(stderr, "no split within the headers: this kernel's test run cannot\n");
}

static void many_segments(long count, uint32_t mtu)
{
	static const uint32_t reasons[] = { XIW_WHY_WATCHDOG, XIW_WHY_NO_XSK, XIW_WHY_FRAGMENT,
					    XIW_WHY_UNSEEN };
	uint32_t seen[XIW_STAT__COUNT] = { 0 }, i;
	struct timespec t0, t1;
	long n;

	set_up();
	clock_gettime(CLOCK_MONOTONIC, &t0);
	for (n = 0; n < count; n++)
		one_segment(n, mtu, seen);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	for (i = 0; i < XIW_STAT__COUNT; i++)
		cr_expect_eq(harness_stat(&h, i), ref_stats[i], "stat %u: %lu, not %lu", i,
			     (long)harness_stat(&h, i), (long)ref_stats[i]);
	/* A generator that no longer reaches an exit tests nothing there. */
	for (i = 0; i <= XIW_STAT_WATCHDOG; i++)
		cr_expect(seen[i] > count / 2000, "stat %u seen %u times", i, seen[i]);
	for (i = 0; i < REF_NO_HEADROOM; i++) /* a test run always has headroom */
		cr_expect(exits[i] > count / 2000, "exit %u seen %u times", i, exits[i]);
	for (i = 0; i < 3; i++)
		cr_expect(ran[i] > count / 2000, "direct after %u in a row: %u times", runs[i],
			  ran[i]);
	for (i = 0; i <= XIW_V_CONTROL; i++)
		cr_expect(verdicts[i] > count / 1000 || (i == XIW_V_TOO_MANY && mtu < 4096),
			  "verdict %u seen %u times", i, verdicts[i]);
	for (i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		cr_expect(ref_state[0].why[reasons[i]] && ref_state[1].why[reasons[i]],
			  "reason %u not seen", reasons[i]);
	cr_expect(ref_state[0].went_direct > count / 200 && ref_state[1].went_direct > count / 200);
	fprintf(stderr,
		"%ld segments, MTU %u, seed %llx, %.1f s; other %u data %u control %u "
		"direct %u epoch %u fragment %u malformed %u foreign %u watchdog %u; went direct "
		"%u\n",
		count, mtu, HARNESS_SEED, t1.tv_sec - t0.tv_sec + (t1.tv_nsec - t0.tv_nsec) / 1e9,
		seen[XIW_STAT_OTHER], seen[XIW_STAT_PASS_DATA], seen[XIW_STAT_PASS_CONTROL],
		seen[XIW_STAT_DIRECT], seen[XIW_STAT_DROP_EPOCH], seen[XIW_STAT_DROP_FRAGMENT],
		seen[XIW_STAT_DROP_MALFORMED], seen[XIW_STAT_DROP_FOREIGN], seen[XIW_STAT_WATCHDOG],
		exits[REF_WENT_DIRECT]);
}

Test(classify, one_buffer, .timeout = 120)
{
	many_segments(400000, 1514);
}

Test(classify, many_buffers, .timeout = 60)
{
	many_segments(40000, 9014);
}
