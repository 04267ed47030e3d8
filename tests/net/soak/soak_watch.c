// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* soak_recv.c watches the process, and finds connections that do not go on. */
#include "tests/net/soak/soak_recv.h"

#include <bpf/bpf.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <malloc.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tests/net/lib/borrowed.h"
#include "tests/net/lib/loss.h"

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

#define LOST_MS 20000
#define LOST_HURRY_MS 3000

void __attribute__((format(printf, 2, 3))) recv_wrong(const struct conn *c, const char *fmt, ...)
{
	va_list ap;

	recv_sum.wrong++;
	if (recv_sum.wrong > 50)
		return;
	fprintf(stderr, "soak_recv: connection %llu (%s, message %u): ",
		c ? (unsigned long long)c->plan.id : 0, c ? soak_kinds[c->plan.kind].name : "none",
		c ? c->plan.n : 0);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
}

/* ---- watching -------------------------------------------------------------------------------- */

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

uint64_t slots_in_use(void)
{
	if (recv_table.flows_fd < 0 && recv_opt.ifname) {
		char dir[300];

		snprintf(dir, sizeof(dir), "%s/%s", XIW_PIN_DIR, recv_opt.ifname);
		if (xiw_table_open(&recv_table, dir))
			die("no flow table in %s", dir);
	}
	return slots_used(&recv_table);
}

static void most(uint64_t *at, uint64_t value)
{
	if (value > *at)
		*at = value;
}

void watch_process(uint64_t start, uint64_t now, bool print)
{
	uint64_t memory = rss(), heap = mallinfo2().uordblks, fds = open_fds(),
		 used = slots_in_use();

	if (now - start < recv_opt.warm_up * 1000ull || !recv_sum.rss_base) {
		recv_sum.rss_base = memory;
		recv_sum.heap_base = heap;
		recv_sum.fds_base = fds;
	}
	most(&recv_sum.rss_most, memory);
	most(&recv_sum.heap_most, heap);
	most(&recv_sum.fds_most, fds);
	most(&recv_sum.slots_most, used);
	most(&recv_sum.kept_most, (uint64_t)kept_out(recv_engine));
	recv_sum.ring_drops = loss_of_rings(recv_engine);
	if (!print)
		return;
	printf("%4llu s: %llu open, %llu opened, %llu closed; %llu MiB direct, %llu MiB kernel; "
	       "%llu to direct, %llu to kernel; %llu wrong, %llu stuck; rss %llu MiB, heap %llu "
	       "KiB, "
	       "%llu fds, %llu slots, %llu frames kept\n",
	       (unsigned long long)(now - start) / 1000, (unsigned long long)recv_sum.live,
	       (unsigned long long)recv_sum.opened, (unsigned long long)recv_sum.closed,
	       (unsigned long long)recv_sum.direct >> 20, (unsigned long long)recv_sum.kernel >> 20,
	       (unsigned long long)recv_sum.went_direct, (unsigned long long)recv_sum.went_kernel,
	       (unsigned long long)recv_sum.wrong, (unsigned long long)recv_sum.stuck,
	       (unsigned long long)memory >> 20, (unsigned long long)heap >> 10,
	       (unsigned long long)fds, (unsigned long long)used,
	       (unsigned long long)kept_out(recv_engine));
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
		x->send.busy, x->send.count, x->send.staged, x->send.stage_off, x->send.stage_len,
		x->send.corked, x->send.allowed, t.tcpi_state, queued, unsent, t.tcpi_unacked,
		t.tcpi_total_retrans, t.tcpi_backoff, t.tcpi_probes, t.tcpi_rto, t.tcpi_snd_wnd,
		t.tcpi_snd_cwnd);
}

/* All that may tell why. */
static void say_stuck(struct conn *c)
{
	const struct xiw_conn *x = c->xc;
	struct xiw_sock_state sock = {};
	struct xiw_flow *f = x->flow;
	struct xiw_conn_info i;

	xiw_conn_info(x, &i, sizeof(i));
	recv_wrong(c,
		   "stuck: path %d, %llu direct and %llu kernel octets, kept %u, frames %u, "
		   "stretch %u, held %u, receiving %d, eof %d, closing %d",
		   i.path, (unsigned long long)i.stream_direct, (unsigned long long)i.stream_kernel,
		   x->tcp.kept, x->keeps.frames, x->stretch.state, x->recv.held_n, x->recv.posted,
		   c->eof, c->closing);
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
		(int)(x->recv.nxt - x->stretch.committed),
		(int)(sock.rcv_nxt - xiw_flow_kernel_nxt(f)), (int)xiw_flow_kernel_nxt(f),
		(int)(sock.rcv_edge - xiw_flow_kernel_nxt(f)),
		(int)(f->kernel_high - x->stretch.committed),
		(int)(f->kernel_edge - x->stretch.committed),
		(int)(f->direct_edge - x->stretch.committed), x->tcp.ts_recent,
		(unsigned long long)f->injected, f->dropped, (unsigned long long)f->segs_dropped);
}

/* A long message may take longer than a connection may stand still: its octets count, too. */
static void note_octets(struct conn *c, uint64_t now)
{
	const uint64_t octets = c->xc->counts.stream_direct + c->xc->counts.stream_kernel;

	if (octets == c->octets)
		return;
	c->octets = octets;
	c->last_ms = now;
}

/* A lost reset is not sent again, so whoever only receives never learns of it. */
void look_for_stuck(uint64_t now)
{
	unsigned int count = recv_opt.conns + recv_opt.conns / 4 + 64;
	uint64_t lost = hurry ? LOST_HURRY_MS : LOST_MS;

	for (struct conn *c = recv_conns; c < recv_conns + count; c++) {
		if (!c->live || c->over)
			continue;
		note_octets(c, now);
		if (c->plan.kind == SOAK_ABORT && now - c->last_ms > lost) {
			c->over = true;
			recv_sum.lost_resets++;
			xiw_conn_abort(c->xc);
		} else if (now - c->last_ms > recv_opt.stuck_ms) {
			c->over = true;
			recv_sum.stuck++;
			say_stuck(c);
			xiw_conn_abort(c->xc);
		}
	}
}

void recv_report(double seconds, uint64_t left_heap)
{
	struct json_object *o = json_object_new_object();
	struct json_object *why = json_object_new_object(), *drops = json_object_new_object();

	json_object_object_add(o, "seconds", json_object_new_double(seconds));
	add(o, "opened", recv_sum.opened);
	add(o, "closed", recv_sum.closed);
	add(o, "most_open", recv_sum.most);
	soak_add_kinds(o, recv_sum.kinds);
	add(o, "messages", recv_sum.messages);
	add(o, "octets", recv_sum.octets);
	add(o, "answers", recv_sum.answers);
	add(o, "octets_direct", recv_sum.direct);
	add(o, "octets_kernel", recv_sum.kernel);
	add(o, "fpdus_early", recv_sum.early);
	add(o, "went_direct", recv_sum.went_direct);
	add(o, "went_kernel", recv_sum.went_kernel);
	for (unsigned int w = 1; w < XIW_REASON__COUNT; w++)
		add(why, xiw_reason_name(w), recv_sum.why[w]);
	json_object_object_add(o, "why", why);
	for (unsigned int d = 0; d < XIW_TCP_DROP_MAX; d++)
		add(drops, xiw_drop_name(d), recv_sum.drops[d]);
	json_object_object_add(o, "drops", drops);
	add(o, "crc_errors", recv_sum.crc);
	add(o, "addresses_taken", recv_sum.taken);
	add(o, "lost_resets", recv_sum.lost_resets);
	add(o, "rss_base", recv_sum.rss_base);
	add(o, "rss_most", recv_sum.rss_most);
	add(o, "heap_base", recv_sum.heap_base);
	add(o, "heap_most", recv_sum.heap_most);
	add(o, "heap_end", left_heap);
	add(o, "fds_most", recv_sum.fds_most);
	add(o, "slots_most", recv_sum.slots_most);
	add(o, "kept_most", recv_sum.kept_most);
	add(o, "ring_drops", recv_sum.ring_drops);
	add(o, "stuck", recv_sum.stuck);
	add(o, "wrong", recv_sum.wrong);
	print_json(o);
}

void check_rest(void)
{
	struct xiw_flow_key key;

	if (recv_sum.live)
		recv_wrong(NULL, "%llu connections left", (unsigned long long)recv_sum.live);
	if (recv_engine->conns)
		recv_wrong(NULL, "the engine still has connections");
	if (kept_out(recv_engine) || recv_engine->io.bufs_out)
		recv_wrong(NULL, "%llu frames kept, %u buffers out",
			   (unsigned long long)kept_out(recv_engine), recv_engine->io.bufs_out);
	if (frames_out(recv_engine))
		recv_wrong(NULL, "%lld frames lost", (long long)frames_out(recv_engine));
	if (slots_in_use())
		recv_wrong(NULL, "%llu flow slots in use", (unsigned long long)slots_in_use());
	if (recv_table.index_fd >= 0 && !bpf_map_get_next_key(recv_table.index_fd, NULL, &key))
		recv_wrong(NULL, "a connection is left in the index of flows");
	if (recv_sum.rss_most > recv_sum.rss_base + ((recv_opt.grow_mib + QUARANTINE) << 20))
		recv_wrong(NULL, "resident memory grew from %llu to %llu MiB",
			   (unsigned long long)recv_sum.rss_base >> 20,
			   (unsigned long long)recv_sum.rss_most >> 20);
}
