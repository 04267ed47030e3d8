// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Compares xiw_ingress with the reference in ref.c, on generated segments. */
#include <time.h>
#include "harness.h"
#include "segments.h"

#define META sizeof(struct xiw_meta)
#define NQUEUES 66
#define TICK_NS 10000000 /* the longest tick */

static struct harness h;
static uint64_t ref_stats[XIW_STAT__COUNT];
static uint32_t ifindex, max_linear;
static bool can_split; /* on this kernel a test can choose where the first buffer ends */
static bool can_pull;  /* and a program can move that (Linux 6.18) */
static uint32_t verdicts[REF_V_NONE + 1], exits[REF__COUNT];

/* How often the flow went direct with each of `runs`. */
static uint32_t ran[4];

static uint64_t coarse_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
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

/* The time, if the program can have read it since `now`: one that it reads in a new tick may be of the tick before. */
static uint64_t read_at(uint64_t time, uint64_t now)
{
	return time >= now - TICK_NS && time <= coarse_ns() ? time : 0;
}

static bool same_flow(const struct xiw_flow *want, const struct xiw_flow *got, uint64_t now)
{
	struct xiw_flow w = *want;

	if (w.try_ns == now)
		w.try_ns = read_at(got->try_ns, now);
	return !memcmp(&w, got, sizeof(w));
}

/*
 * The reference remembers nothing. What XDP adds to the queue's stretches is the one that it has just found. If the
 * segment continued it, it must be there afterwards, as what was there is of no use.
 */
static bool same_memory(const struct xiw_queue *want, const struct xiw_queue *got, uint64_t found,
			bool continued)
{
	uint32_t i, added = 0, there = 0;

	for (i = 0; i < XIW_QUEUE_FLOWS; i++) {
		added += got->direct[i] != want->direct[i];
		there += got->direct[i] == found;
		if (got->direct[i] != want->direct[i] && got->direct[i] != found)
			return false;
	}
	return added <= 1 && (there || !continued);
}

static bool same_queue(struct xiw_queue *want, const struct xiw_queue *got, uint64_t now)
{
	struct xiw_queue w = *want;

	w.tick = got->tick;
	w.tick_ns = got->tick_ns;
	memcpy(w.direct, got->direct, sizeof(w.direct));
	if (w.last_ns == now)
		w.last_ns = read_at(got->last_ns, now);
	if (w.wait_ns == now)
		w.wait_ns = read_at(got->wait_ns, now);
	return !memcmp(&w, got, sizeof(w));
}

static void complain(long n, const struct gen *g, const struct ref_case *c, const char *what)
{
	const struct xiw_flow *f = &ref_state[g->which];

	cr_assert_fail("seed %llx, segment %ld: %s; IPv%d len %u linear %u l4 %u ip_end %u flags "
		       "%02x "
		       "want action %d stat %u verdict %u; after: owner %llx K %llx "
		       "high %x, exit %d",
		       HARNESS_SEED, n, what, g->v6 ? 6 : 4, g->len, c->linear, g->l4, g->ip_end,
		       g->pkt[g->l4 + 13], c->action, c->stat, c->verdict,
		       (unsigned long long)f->owner, (unsigned long long)f->kernel_nxt,
		       f->kernel_high, c->exit);
}

/* What came out of one run of the program. */
struct outcome {
	uint8_t pkt[MAX_PKT + META];
	uint32_t len, meta_len, linear;
	int action;
};

static void compare(long n, const struct gen *g, const struct ref_case *c, const struct outcome *o,
		    uint32_t queue, uint64_t memory)
{
	int i;

	if (o->linear != c->linear)
		complain(n, g, c, "first buffer of another size");
	if (o->action != c->action)
		complain(n, g, c,
			 o->action == XDP_PASS	     ? "passed"
			 : o->action == XDP_DROP     ? "dropped"
			 : o->action == XDP_REDIRECT ? "redirected"
						     : "odd action");
	/* A dropped segment may have metadata: nobody sees it. */
	if ((o->meta_len != (c->has_meta ? META : 0) && c->exit != REF_ARMED_CLAIMED) ||
	    o->len != g->len + o->meta_len)
		complain(n, g, c, "length of packet or metadata");
	if (c->has_meta && memcmp(o->pkt, &c->meta, META))
		complain(n, g, c, "metadata");
	if (memcmp(o->pkt + o->meta_len, c->pkt, g->len))
		complain(n, g, c, "octets of the packet");
	for (i = 0; i < NFLOWS; i++)
		if (!same_flow(&ref_state[i], &h.flows[ref_flows[i].index], c->now))
			complain(n, g, c, "state of the flow");
	if (c->queue && !same_memory(c->queue, &h.queues[queue], memory, c->exit == REF_DIRECT))
		complain(n, g, c, "what the queue remembers");
	if (c->queue && !same_queue(c->queue, &h.queues[queue], c->now))
		complain(n, g, c, "state of the queue");
	/* Compare with a checksum computed from scratch, too. */
	if (c->flow && g->sound && c->action == XDP_PASS &&
	    harness_tcp_sum(&ref_flows[g->which].key, o->pkt + g->l4, g->ip_end - g->l4))
		complain(n, g, c, "TCP checksum");
}

/*
 * The program reads the clock itself, and the times in the state lie at least 75 ms from the limits. If this thread did
 * not get to run for so long, the reference takes what the program has made of the case, and nothing is compared.
 */
static bool too_late(uint64_t then)
{
	if (coarse_ns() - then < 50000000)
		return false;
	for (int i = 0; i < NFLOWS; i++)
		ref_state[i] = h.flows[ref_flows[i].index];
	for (uint32_t i = 0; i < XIW_STAT__COUNT; i++)
		ref_stats[i] = harness_stat(&h, i);
	return true;
}

/* Returns false if the case does not count. */
static bool one_segment(long n, uint32_t mtu, uint32_t seen[XIW_STAT__COUNT])
{
	static const uint32_t queues[] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, NQUEUES - 1 };
	static struct gen g;
	static struct outcome o;
	static uint8_t want[MAX_PKT];
	uint32_t queue = queues[rnd(10)], linear;
	uint64_t memory;
	struct xiw_queue ref_queue;
	struct ref_case c = { .pkt = want,
			      .flows = ref_flows,
			      .nflows = NFLOWS,
			      .limit = LIMIT,
			      .stuck = STUCK,
			      .headroom = true,
			      .verdict = REF_V_NONE,
			      .pulls = can_pull };
	int i;

	c.now = coarse_ns();
	for (i = 0; i < NFLOWS; i++)
		gen_flow(&ref_state[i], c.now);
	gen_packet(&g, mtu);
	for (i = 0; i < NFLOWS; i++)
		h.flows[ref_flows[i].index] = ref_state[i];
	memcpy(want, g.pkt, g.len);
	gen_queue(&ref_queue, c.now);
	memory = gen_memory_of(g.which);
	if (queue < XIW_MAX_QUEUES) {
		h.queues[queue] = ref_queue;
		c.queue = &ref_queue;
	}
	c.queue_index = queue;
	c.xsk = queue == 0;
	c.len = g.len;
	c.linear = g.len < max_linear ? g.len : max_linear;
	if (mtu > max_linear && can_split && c.linear > 14 && chance(20))
		c.linear = chance(20) ? 14 : 14 + rnd((c.linear < 200 ? c.linear : 200) - 14);
	linear = c.linear < max_linear ? c.linear : g.len;

	ref_ingress(&c);
	o.action = run(g.pkt, g.len, linear, queue, o.pkt, &o.len, &o.meta_len, &o.linear);
	if (too_late(c.now))
		return false;
	ref_stats[c.stat]++;
	seen[c.stat]++;
	exits[c.exit]++;
	for (i = 0; c.exit == REF_WENT_DIRECT && i < 4; i++)
		ran[i] += c.flow->state->run_needed == runs[i];
	verdicts[c.verdict]++;
	compare(n, &g, &c, &o, queue, memory);
	return true;
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
		/* With a short ihl the ports would be read from the address: such a header must be refused. */
		if (!i)
			memcpy(&f->key.local_addr[3], &f->key.remote_port, 4);
		f->index = i ? XIW_DEFAULT_FLOWS - 1 : 5;
		f->state = &ref_state[i];
		ref_state[i].key = f->key;
		cr_assert(!bpf_map_update_elem(h.index_map, &f->key, &f->index, BPF_ANY));
	}
	/* How much does the kernel leave in the first buffer? */
	cr_assert_eq(run(probe, sizeof(probe), sizeof(probe), 0, out, &len, &meta_len, &max_linear),
		     XDP_PASS);
	ref_stats[XIW_STAT_OTHER]++;
	cr_assert(max_linear > 2000 && max_linear < 4096, "linear part %u", max_linear);
	can_split = run(probe, sizeof(probe), 100, 0, out, &len, &meta_len, &q) == XDP_PASS;
	can_pull = can_split && q > 100;
	ref_stats[XIW_STAT_OTHER] += can_split;
	if (!can_split)
		fprintf(stderr,
			"this kernel's test run cannot split a packet within the headers\n");
}

static void many_segments(long count, uint32_t mtu)
{
	static const uint32_t reasons[] = { XIW_REASON_WATCHDOG, XIW_REASON_NO_XSK,
					    XIW_REASON_FRAGMENT, XIW_REASON_UNSEEN,
					    XIW_REASON_STEERED, XIW_REASON_LONG };
	uint32_t seen[XIW_STAT__COUNT] = { 0 }, i;
	struct timespec t0, t1;
	long n;

	set_up();
	clock_gettime(CLOCK_MONOTONIC, &t0);
	for (n = 0; n < count;)
		n += one_segment(n, mtu, seen);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	for (i = 0; i < XIW_STAT__COUNT; i++)
		cr_expect_eq(harness_stat(&h, i), ref_stats[i], "stat %u: %lu, not %lu", i,
			     (long)harness_stat(&h, i), (long)ref_stats[i]);
	/* An exit that the generator no longer reaches is not tested. */
	for (i = 0; i <= XIW_STAT_WATCHDOG; i++)
		cr_expect(i == XIW_STAT_DROP_CUT || seen[i] > count / 2000,
			  "stat %u seen %u times", i, seen[i]);
	for (i = 0; i < REF_NO_HEADROOM; i++) /* a test run always has headroom */
		cr_expect(exits[i] > count / 2000, "exit %u seen %u times", i, exits[i]);
	for (i = 0; i < 3; i++)
		cr_expect(ran[i] > count / 2000, "direct after %u in a row: %u times", runs[i],
			  ran[i]);
	for (i = 0; i < REF_V_NONE; i++)
		cr_expect(verdicts[i] > count / 1000 || (i == REF_V_TOO_MANY && mtu < 4096),
			  "verdict %u seen %u times", i, verdicts[i]);
	for (i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		cr_expect(ref_state[0].reasons[reasons[i]] && ref_state[1].reasons[reasons[i]],
			  "reason %u not seen", reasons[i]);
	cr_expect(ref_state[0].went_direct > count / 400 && ref_state[1].went_direct > count / 400);
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
	many_segments(80000, 9014);
}
