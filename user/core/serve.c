// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "core/serve.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/ranges.h"
#include "core/clock.h"
#include "core/engine.h"
#include "core/queue.h"
#include "core/ring.h"
#include "handoff/queues.h"
#include "netif/interface.h"

#define GONE_TRIES 20 /* looks for queues of a process that has just ended */
#define GONE_WAIT_US 10000
#define BUSY_MS 200
#define BUSY_LONG_MS 1000
#define LATELY_NS 10000000000ull
#define FOREIGN_MS                                                                                 \
	1000 /* the first wait for a queue that other software has; doubled up to the last */
#define FOREIGN_LAST_MS 64000

static uint64_t bit(uint32_t queue)
{
	return 1ull << queue;
}

static uint32_t first_of(uint64_t mask)
{
	return (uint32_t)__builtin_ctzll(mask);
}

/* The queues that the engine should serve, of those that the interface has now and XDP can serve. */
static uint64_t wanted(const struct xiw_engine *e, const struct xiw_netif *p)
{
	uint64_t all = p->channels < XIW_MAX_QUEUES ? bit(p->channels) - 1 : ~0ull;

	return e->opts.queues ? e->opts.queues & all : all;
}

static bool has_enough(const struct xiw_engine *e, const struct xiw_netif *p)
{
	return e->opts.max_queues && p->nqueues >= e->opts.max_queues;
}

/* The queues on which AF_XDP sends. */
static uint64_t sending(const struct xiw_netif *p)
{
	return p->senders < XIW_MAX_QUEUES ? bit(p->senders) - 1 : ~0ull;
}

/* A queue that has no send queue needs another one that sends its ACKs. */
static bool could_send(const struct xiw_netif *p, uint32_t queue)
{
	return (p->served | bit(queue)) & sending(p);
}

static uint64_t missing(const struct xiw_engine *e, const struct xiw_netif *p)
{
	return has_enough(e, p) ? 0 : wanted(e, p) & ~p->served;
}

static void choose_senders(struct xiw_netif *p)
{
	struct xiw_xsk *any = NULL;

	for (uint32_t i = 0; i < p->nqueues && !any; i++)
		if (bit(p->queues[i].index) & sending(p))
			any = &p->queues[i].xsk;
	for (uint32_t i = 0; i < p->nqueues; i++) {
		struct xiw_rxq *q = &p->queues[i];

		q->out = bit(q->index) & sending(p) || !any ? &q->xsk : any;
	}
}

/* A frame of 2 KiB holds a packet of 1500 octets. A larger packet takes several frames. */
static bool jumbo(const struct xiw_netif *p)
{
	return p->mtu > 1500;
}

#define CAUSE_MAX 96

/* The kernel adds up what all processes of a user lock, so the limit may be used up by others. */
static const char *memlock_cause(const struct xiw_engine *e, const struct xiw_netif *p,
				 char text[CAUSE_MAX])
{
	struct rlimit limit = {};

	getrlimit(RLIMIT_MEMLOCK, &limit);
	snprintf(text, CAUSE_MAX,
		 "CAP_IPC_LOCK is missing (%zu MiB; user %u's memlock is %llu in all)",
		 (xiw_xsk_locks(e->opts.frames, jumbo(p)) + (1 << 20) - 1) >> 20, getuid(),
		 (unsigned long long)limit.rlim_cur >> 20);
	return text;
}

static const char *xsk_cause(const struct xiw_engine *e, const struct xiw_netif *p, int err,
			     bool foreign, char text[CAUSE_MAX])
{
	switch (err) {
	case -EBUSY:
		return foreign ? "busy: another program's AF_XDP socket has it"
			       : "busy: another engine has it, of this process or another";
	case -ENOBUFS:
		return memlock_cause(e, p, text);
	case -EPERM:
		return xiw_caps_why(CAP_NET_RAW, "CAP_NET_RAW is missing");
	case -EAFNOSUPPORT:
		return "this kernel has no AF_XDP, or a seccomp profile hides it";
	case -EINVAL:
		/* The kernel does not know XDP_USE_SG. */
		return jumbo(p) ? "an MTU above 1500 needs Linux 6.6 for it" : strerror(-err);
	default:
		return strerror(-err);
	}
}

/*
 * The kernel gives a queue back some time after its socket was closed: where it has much to do, half a second. It
 * is waited for if an engine had the queue lately, or there is no other path, but not if connections would stand still
 * meanwhile. After what was waited for others in vain, it would have given this one back, too.
 */
static uint32_t busy_ms(struct xiw_engine *e, const struct xiw_rxq *q)
{
	const uint64_t beat_ns = q->shared->beat_ns; /* 0: no engine has had it */
	uint32_t most = BUSY_MS;
	bool lately;

	/* The other engine may have ended since this one has read the clock. */
	xiw_clock_update(e);
	lately = beat_ns && xiw_bpf_clock(e) - beat_ns < LATELY_NS;
	if (e->nconns <= 1 && (lately || e->opts.path == XIW_USE_DIRECT))
		most = BUSY_LONG_MS;
	return most > e->unready.waited_ms ? most - e->unready.waited_ms : 0;
}

static void destroy_socket(const struct xiw_engine *e, struct xiw_rxq *q)
{
	xiw_ring_forget(e, q->xsk.fd);
	xiw_xsk_destroy(&q->xsk);
}

/* Makes the socket of a queue that was claimed. */
static int make_socket(struct xiw_engine *e, struct xiw_netif *p, struct xiw_rxq *q, bool patient)
{
	struct xiw_xsk_opts opts = { .ifname = p->ifname,
				     .queue = q->index,
				     .frames = e->opts.frames,
				     .jumbo = jumbo(p),
				     .copy = p->copy || xiw_queues_cut(p),
				     .busy_ms = patient ? busy_ms(e, q) : 0 };
	int err = xiw_xsk_create(&q->xsk, &opts);

	xiw_clock_update(e); /* it may have waited */
	if (err == -EBUSY)
		e->unready.waited_ms += opts.busy_ms;
	if (err)
		return err;
	p->copy = !q->xsk.zero_copy; /* nor has the driver it on other queues */
	q->shared->beat_ns = q->shared->emptied_ns = xiw_bpf_clock(e);
	q->shared->takes = xiw_xsk_takes(&q->xsk);
	q->shared->room = xiw_xsk_room(&q->xsk);
	q->shared->longest = q->shared->cut = 0;
	q->shared->grouped = e->group && e->opts.queues;
	err = xiw_queue_begin(&p->table, q->index, q->xsk.fd);
	if (err)
		destroy_socket(e, q);
	return err;
}

static uint32_t batch(const struct xiw_engine *e, const struct xiw_netif *p)
{
	return xiw_xsk_batch_frames(e->opts.frames) / (jumbo(p) ? XIW_XSK_FRAGS_MAX : 1);
}

static int open_queue(struct xiw_engine *e, struct xiw_netif *p, uint32_t index, bool patient)
{
	struct xiw_rxq *q = &p->queues[p->nqueues];
	int err = xiw_queue_claim(&p->table, index);

	p->foreign &= ~bit(index);
	if (err)
		return err;
	memset(q, 0, sizeof(*q));
	q->netif = p;
	q->index = index;
	q->batch = batch(e, p);
	q->shared = &p->table.queues[index];
	err = make_socket(e, p, q, patient);
	if (err) {
		xiw_queue_release(&p->table, index);
		if (err == -EBUSY)
			p->foreign |= bit(index);
		return err;
	}
	p->served |= bit(index);
	p->nqueues++;
	choose_senders(p);
	return 0;
}

/*
 * Opens what can be had now. Waits for a queue that is busy, but only until one of them turns out to stay busy. Returns
 * the first failure.
 */
static int open_some(struct xiw_engine *e, struct xiw_netif *p, bool *patient, char *why,
		     size_t len)
{
	char cause[CAUSE_MAX];
	int first = 0;

	for (uint64_t left = missing(e, p); left && !has_enough(e, p); left &= left - 1) {
		uint32_t index = first_of(left);
		int err;

		if (!could_send(p, index)) {
			if (!first)
				snprintf(why, len,
					 "%s has no send queue %u for ACKs: ethtool -L %s",
					 p->ifname, index, p->ifname);
			first = first ? first : -EOPNOTSUPP;
			continue;
		}
		err = open_queue(e, p, index, *patient);
		if (!err)
			continue;
		if (p->foreign & bit(index))
			*patient = false;
		if (!first)
			snprintf(why, len, "AF_XDP on %s queue %u: %s", p->ifname, index,
				 xsk_cause(e, p, err, p->foreign & bit(index), cause));
		first = first ? first : err;
		/* What is missing for one queue is missing for all. */
		if (err != -EBUSY)
			return err;
	}
	return first;
}

/* Of a list, so that what is behind it has room. */
#define SAY_MOST 14

int xiw_queues_none(const struct xiw_engine *e, const struct xiw_netif *p, char *why, size_t len)
{
	char asked[XIW_RANGES_MAX], cause[CAUSE_MAX];

	if (p->refused && p->shut_ms)
		snprintf(why, len,
			 "the queues of %s had to be left for its %s: start this process again",
			 p->ifname,
			 xiw_queues_cut(p) ? "zero-copy, which cuts packets" : "new MTU");
	else if (p->refused)
		snprintf(why, len, "AF_XDP on %s: %s", p->ifname,
			 xsk_cause(e, p, p->refused, false, cause));
	else
		snprintf(why, len, "%s has %u queues, and the engine was to serve %s", p->ifname,
			 p->channels, xiw_ranges_cut(e->opts.queues, asked, SAY_MOST));
	return -ENXIO;
}

int xiw_queues_open(struct xiw_engine *e, struct xiw_netif *p, bool patient, char *why, size_t len)
{
	int err;

	/* In a group, another engine serves them, and this one sees which connections it is to have. */
	if (!wanted(e, p) && !e->group)
		return xiw_queues_none(e, p, why, len);
	p->queues = aligned_alloc(64, XIW_MAX_QUEUES * sizeof(*p->queues));
	if (!p->queues)
		return -ENOMEM;
	e->clock_lead = xiw_clock_lead();
	if (!wanted(e, p))
		return 0;
	for (int tries = patient ? GONE_TRIES : 0;; tries--) {
		err = open_some(e, p, &patient, why, len);
		if (p->nqueues || err != -EBUSY || !patient || !tries)
			break;
		usleep(GONE_WAIT_US);
	}
	p->refused = err != -EBUSY ? err : 0;
	return p->nqueues ? 0 : err;
}

/* Other software has the queue, and nobody tells when that ends. Each try costs milliseconds, so they become rare. */
static void wait_for_foreign(const struct xiw_engine *e, struct xiw_netif *p)
{
	p->foreign_wait_ms = !p->foreign_wait_ms		    ? FOREIGN_MS
			     : p->foreign_wait_ms < FOREIGN_LAST_MS ? 2 * p->foreign_wait_ms
								    : FOREIGN_LAST_MS;
	p->foreign_ms = e->now_ms + p->foreign_wait_ms;
}

bool xiw_queues_look(struct xiw_engine *e, struct xiw_netif *p)
{
	uint64_t left, skip;

	p->channels = xiw_if_queues(p->ifname);
	p->senders = xiw_if_send_queues(p->ifname);
	for (uint32_t i = 0; i < p->nqueues; i++)
		xiw_queue_look(&p->table, p->queues[i].index);
	/* The process may have given up the privilege for more sockets, or lacks memory for them. */
	if (p->refused || p->outgrown || p->rebinds)
		return false;
	skip = e->now_ms < p->foreign_ms ? p->foreign : 0;
	for (left = missing(e, p) & ~skip; left; left &= left - 1) {
		int err;

		if (!could_send(p, first_of(left)))
			continue;
		err = open_queue(e, p, first_of(left), false);
		if (!err) {
			xiw_queue_poll(e, &p->queues[p->nqueues - 1]);
			return left & (left - 1);
		}
		if (err != -EBUSY) {
			p->refused = err;
			return false;
		}
	}
	if (p->foreign && e->now_ms >= p->foreign_ms)
		wait_for_foreign(e, p);
	return false;
}

/* The counts stay as long as the programs are loaded, so that an engine that begins later knows of it, too. */
bool xiw_queues_cut(const struct xiw_netif *p)
{
	for (uint32_t q = 0; q < XIW_MAX_QUEUES; q++)
		if (__atomic_load_n(&p->table.queues[q].cuts, __ATOMIC_RELAXED))
			return true;
	return false;
}

void xiw_queues_shut(struct xiw_engine *e, struct xiw_netif *p)
{
	for (uint32_t i = 0; i < p->nqueues; i++)
		destroy_socket(e, &p->queues[i]);
	p->shut = p->nqueues;
	p->shut_ms = e->now_ms;
	p->nqueues = 0;
}

/* Those that could not be had. The others get no more of them. */
static void let_go(struct xiw_netif *p)
{
	for (uint32_t i = p->nqueues; i < p->shut; i++) {
		p->served &= ~bit(p->queues[i].index);
		xiw_queue_release(&p->table, p->queues[i].index);
	}
	p->shut = 0;
}

bool xiw_queues_again(struct xiw_engine *e, struct xiw_netif *p)
{
	int err = 0;

	while (!err && p->nqueues < p->shut) {
		struct xiw_rxq *q = &p->queues[p->nqueues];

		q->batch = batch(e, p);
		err = make_socket(e, p, q, false);
		p->nqueues += !err;
	}
	if (err == -EBUSY && e->now_ms - p->shut_ms < BUSY_LONG_MS)
		return false;
	if (err != -EBUSY)
		p->refused = err;
	let_go(p);
	choose_senders(p);
	for (uint32_t i = 0; i < p->nqueues; i++)
		xiw_queue_poll(e, &p->queues[i]);
	return true;
}

void xiw_queues_close(const struct xiw_engine *e, struct xiw_netif *p)
{
	let_go(p);
	for (uint32_t i = 0; i < p->nqueues; i++) {
		struct xiw_rxq *q = &p->queues[i];

		xiw_queue_end(&p->table, q->index);
		q->shared->beat_ns = xiw_bpf_clock(e);
		destroy_socket(e, q);
		xiw_queue_release(&p->table, q->index);
	}
	p->nqueues = 0;
	p->served = 0;
	free(p->queues);
	p->queues = NULL;
}

void xiw_queues_say(const struct xiw_engine *e, const struct xiw_netif *p, char *why, size_t len)
{
	uint64_t without = missing(e, p);
	char served[XIW_RANGES_MAX], others[XIW_RANGES_MAX], cause[CAUSE_MAX];

	why[0] = '\0';
	if (without)
		snprintf(why, len, "queues %s of %s (%s are served): %s",
			 xiw_ranges_cut(without, others, SAY_MOST), p->ifname,
			 xiw_ranges_cut(p->served, served, SAY_MOST),
			 p->refused		 ? xsk_cause(e, p, p->refused, false, cause)
			 : p->foreign == without ? "other programs have them"
						 : "other engines have them");
}
