/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What soak_recv.c counts, and how it watches the process. */
#ifndef SOAK_WATCH_H
#define SOAK_WATCH_H

#include <bpf/bpf.h>
#include <getopt.h>
#include <linux/if_xdp.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <malloc.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "soak.h"
#include "tests/net/lib/borrowed.h"

#define DEPTH 64u
#define LOST_MS 20000
#define LOST_HURRY_MS 3000
#define CLEAR_MS 90000 /* TIME-WAIT and the collection of slots after it */
#define POISON 0xee

/* MiB that the sanitizer holds back of what was freed. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define QUARANTINE 512ull
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define QUARANTINE 512ull
#endif
#ifndef QUARANTINE
#define QUARANTINE 0ull
#endif

struct conn {
	struct xiw_conn *xc;
	struct xiw_region *region;
	struct conn *next_free;
	uint8_t *tagged, *untagged;
	struct soak_plan plan, posts, answers; /* delivered; posted; answered */
	struct soak_msg want;
	bool more, live, over, eof, error, closing, sync_due;
	unsigned int extra;
	uint64_t back_off, last_ms;
	uint64_t clean_tagged, clean_untagged; /* delivered, and poisoned since */
};

static struct {
	unsigned int conns, warm_up;
	uint64_t grow_mib, stuck_ms;
	const char *ifname;
} opt = { .conns = 100, .warm_up = 60, .grow_mib = 16, .stuck_ms = 60000 };

static struct {
	uint64_t opened, closed, kinds[SOAK_KINDS], messages, answers, octets;
	uint64_t direct, kernel, early, went_direct, went_kernel, crc, lost_resets, taken;
	uint64_t why[XIW_WHY__COUNT], drops[XIW_TCP_DROP_MAX];
	uint64_t wrong, stuck, live, most;
	uint64_t rss_base, rss_most, heap_base, heap_most, fds_base, fds_most, slots_most;
	uint64_t kept_most, ring_drops;
} n;

static struct conn *conns, *free_conns;
static struct xiw_engine *engine;
static struct xiw_table table = { .flows_fd = -1, .index_fd = -1 };
static volatile sig_atomic_t hurry, ending;

static void __attribute__((format(printf, 2, 3))) wrong(const struct conn *c, const char *fmt, ...)
{
	va_list ap;

	n.wrong++;
	if (n.wrong > 50)
		return;
	fprintf(stderr, "soak_recv: connection %llu (%s, message %u): ",
		c ? (unsigned long long)c->plan.id : 0, c ? soak_kinds[c->plan.kind].name : "none",
		c ? c->plan.n : 0);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
}

/* ---- watching ------------------------------------------------------------------------------------ */

static uint64_t rss(void)
{
	unsigned long size, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f && fscanf(f, "%lu %lu", &size, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t slots(void)
{
	if (table.flows_fd < 0 && opt.ifname) {
		char dir[300];

		snprintf(dir, sizeof(dir), "%s/%s", XIW_PIN_DIR, opt.ifname);
		if (xiw_table_open(&table, dir))
			die("no flow table in %s", dir);
	}
	return slots_used(&table);
}

/* Packets for which there was no frame, or no room in a ring. */
static uint64_t ring_drops(void)
{
	struct xdp_statistics x;
	socklen_t len;
	uint64_t count = 0;

	for (struct xiw_port *p = engine->ports; p; p = p->next) {
		for (uint32_t i = 0; i < p->nqueues; i++) {
			len = sizeof(x);
			if (!getsockopt(p->queues[i].xsk.fd, SOL_XDP, XDP_STATISTICS, &x, &len))
				count += x.rx_dropped + x.rx_ring_full + x.rx_fill_ring_empty_descs;
		}
	}
	return count;
}

static void most(uint64_t *at, uint64_t value)
{
	if (value > *at)
		*at = value;
}

static void watch(uint64_t start, uint64_t now, bool print)
{
	uint64_t memory = rss(), heap = mallinfo2().uordblks, fds = open_fds(), used = slots();

	if (now - start < opt.warm_up * 1000ull || !n.rss_base) {
		n.rss_base = memory;
		n.heap_base = heap;
		n.fds_base = fds;
	}
	most(&n.rss_most, memory);
	most(&n.heap_most, heap);
	most(&n.fds_most, fds);
	most(&n.slots_most, used);
	most(&n.kept_most, (uint64_t)kept_out(engine));
	n.ring_drops = ring_drops();
	if (!print)
		return;
	printf("%4llu s: %llu open, %llu opened, %llu closed; %llu MiB direct, %llu MiB kernel; "
	       "%llu to direct, %llu to kernel; %llu wrong, %llu stuck; rss %llu MiB, heap %llu "
	       "KiB, "
	       "%llu fds, %llu slots, %llu frames kept\n",
	       (unsigned long long)(now - start) / 1000, (unsigned long long)n.live,
	       (unsigned long long)n.opened, (unsigned long long)n.closed,
	       (unsigned long long)n.direct >> 20, (unsigned long long)n.kernel >> 20,
	       (unsigned long long)n.went_direct, (unsigned long long)n.went_kernel,
	       (unsigned long long)n.wrong, (unsigned long long)n.stuck,
	       (unsigned long long)memory >> 20, (unsigned long long)heap >> 10,
	       (unsigned long long)fds, (unsigned long long)used,
	       (unsigned long long)kept_out(engine));
	fflush(stdout);
}

static void say_sending(const struct xiw_conn *x)
{
	struct tcp_info t = {};
	socklen_t len = sizeof(t);
	int queued = 0, unsent = 0;

	getsockopt(x->fd, IPPROTO_TCP, TCP_INFO, &t, &len);
	ioctl(x->fd, SIOCOUTQ, &queued);
	ioctl(x->fd, SIOCOUTQNSD, &unsent);
	fprintf(stderr,
		"  sending %d, %u messages, %u of them staged, stage %u of %u, corked %d, may send "
		"%d; "
		"TCP: state %u, %d octets queued, %d never sent, %u segments out, %u "
		"retransmitted, "
		"backoff %u, probes %u, RTO %u, window %u, congestion window %u\n",
		x->sending, x->send_count, x->send_sent, x->stage_off, x->stage_len, x->tx_corked,
		x->may_send, t.tcpi_state, queued, unsent, t.tcpi_unacked, t.tcpi_total_retrans,
		t.tcpi_backoff, t.tcpi_probes, t.tcpi_rto, t.tcpi_snd_wnd, t.tcpi_snd_cwnd);
}

/* All that may tell why. */
static void say_stuck(struct conn *c)
{
	const struct xiw_conn *x = c->xc;
	struct xiw_sock_state sock = {};
	struct xiw_flow *f = x->flow;
	struct xiw_conn_info i;

	xiw_conn_info(x, &i, sizeof(i));
	wrong(c,
	      "stuck: path %d, %llu direct and %llu kernel octets, kept %u, frames %u, direct %d, "
	      "draining %d, leaving %d, held %u, receiving %d, eof %d, closing %d",
	      i.path, (unsigned long long)i.stream_direct, (unsigned long long)i.stream_kernel,
	      x->tcp.kept, x->kept_frames, x->direct, x->draining, x->leaving, x->held_n,
	      x->recv_armed, c->eof, c->closing);
	say_sending(x);
	if (!f)
		return;
	fprintf(stderr, "  %d: state %d, unread %d;", xiw_sock_read(x->fd, &sock), x->state,
		(int)(sock.rcv_nxt - sock.copied_seq));
	fprintf(stderr,
		" from the committed octet: next from the socket %d, socket %d (K %d), its edge "
		"%d, "
		"kernel_high %d, kernel_edge %d, direct_edge %d; TSval %u taken; "
		"%llu injected, dropped by XDP %u, engine %llu\n",
		(int)(x->stream_nxt - x->committed), (int)(sock.rcv_nxt - xiw_flow_kernel_nxt(f)),
		(int)xiw_flow_kernel_nxt(f), (int)(sock.rcv_edge - xiw_flow_kernel_nxt(f)),
		(int)(f->kernel_high - x->committed), (int)(f->kernel_edge - x->committed),
		(int)(f->direct_edge - x->committed), x->tcp.ts_recent,
		(unsigned long long)f->injected, f->dropped, (unsigned long long)f->segs_dropped);
}

/* A lost reset is not sent again, so whoever only receives never learns of it. */
static void look_for_stuck(uint64_t now)
{
	unsigned int count = opt.conns + opt.conns / 4 + 64;
	uint64_t lost = hurry ? LOST_HURRY_MS : LOST_MS;

	for (struct conn *c = conns; c < conns + count; c++) {
		if (!c->live || c->over)
			continue;
		if (c->plan.kind == SOAK_ABORT && now - c->last_ms > lost) {
			c->over = true;
			n.lost_resets++;
			xiw_conn_abort(c->xc);
		} else if (now - c->last_ms > opt.stuck_ms) {
			c->over = true;
			n.stuck++;
			say_stuck(c);
			xiw_conn_abort(c->xc);
		}
	}
}

static void report(double seconds, uint64_t left_heap)
{
	struct json_object *o = json_object_new_object();
	struct json_object *why = json_object_new_object(), *drops = json_object_new_object();

	json_object_object_add(o, "seconds", json_object_new_double(seconds));
	add(o, "opened", n.opened);
	add(o, "closed", n.closed);
	add(o, "most_open", n.most);
	soak_add_kinds(o, n.kinds);
	add(o, "messages", n.messages);
	add(o, "octets", n.octets);
	add(o, "answers", n.answers);
	add(o, "octets_direct", n.direct);
	add(o, "octets_kernel", n.kernel);
	add(o, "fpdus_early", n.early);
	add(o, "went_direct", n.went_direct);
	add(o, "went_kernel", n.went_kernel);
	for (unsigned int w = 1; w < XIW_WHY__COUNT; w++)
		add(why, xiw_reason_name(w), n.why[w]);
	json_object_object_add(o, "why", why);
	for (unsigned int d = 0; d < XIW_TCP_DROP_MAX; d++)
		add(drops, xiw_drop_name(d), n.drops[d]);
	json_object_object_add(o, "drops", drops);
	add(o, "crc_errors", n.crc);
	add(o, "addresses_taken", n.taken);
	add(o, "lost_resets", n.lost_resets);
	add(o, "rss_base", n.rss_base);
	add(o, "rss_most", n.rss_most);
	add(o, "heap_base", n.heap_base);
	add(o, "heap_most", n.heap_most);
	add(o, "heap_end", left_heap);
	add(o, "fds_most", n.fds_most);
	add(o, "slots_most", n.slots_most);
	add(o, "kept_most", n.kept_most);
	add(o, "ring_drops", n.ring_drops);
	add(o, "stuck", n.stuck);
	add(o, "wrong", n.wrong);
	print_json(o);
}
#endif
