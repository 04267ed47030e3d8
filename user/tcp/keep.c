// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Kept segments may overlap, because their frames are kept as they arrived. A search steps over runs, not over nodes,
 * and starts at the end, where nearly all new segments belong.
 */
#include "tcp/keep.h"

/* Remembers r as the run that changed last; s is a number inside it. */
static void recent_push(struct xiw_tcp_rx *rx, const struct xiw_tcp_keep *r, uint32_t s)
{
	unsigned int i, n = 0;
	uint32_t old[XIW_TCP_MAX_SACK];

	for (i = 0; i < rx->nrecent; i++) {
		/* A run's identity is a number inside it: it still names the run after another one has swallowed it. */
		if (rx->recent[i] - r->seq >= r->run_end - r->seq)
			old[n++] = rx->recent[i];
	}
	rx->recent[0] = s;
	for (i = 0; i < n && i + 1 < XIW_TCP_MAX_SACK; i++)
		rx->recent[i + 1] = old[i];
	rx->nrecent = (uint8_t)(i + 1);
}

static void link_after(struct xiw_tcp_rx *rx, struct xiw_tcp_keep *p, struct xiw_tcp_keep *n)
{
	n->prev = p;
	n->next = p ? p->next : rx->keep_head;
	if (n->next)
		n->next->prev = n;
	if (p)
		p->next = n;
	else
		rx->keep_head = n;
}

/* Makes n a run of its own behind the run a (NULL: in front of all). */
static void run_add(struct xiw_tcp_rx *rx, struct xiw_tcp_keep *a, struct xiw_tcp_keep *b,
		    struct xiw_tcp_keep *n)
{
	n->run_last = n;
	n->run_end = xiw_keep_end(n);
	n->run_prev = a;
	n->run_next = b;
	if (a)
		a->run_next = n;
	if (b)
		b->run_prev = n;
	else
		rx->run_tail = n;
}

/* Makes r swallow the runs behind it that it touches. */
static void run_merge(struct xiw_tcp_rx *rx, struct xiw_tcp_keep *r)
{
	struct xiw_tcp_keep *b = r->run_next;

	while (b && !xiw_seq_after(b->seq, r->run_end)) {
		r->run_end = xiw_seq_max(r->run_end, b->run_end);
		r->run_last = b->run_last;
		b = b->run_next;
	}
	r->run_next = b;
	if (b)
		b->run_prev = r;
	else
		rx->run_tail = r;
}

bool xiw_keep_insert(struct xiw_tcp_rx *rx, struct xiw_tcp_keep *n, struct xiw_tcp_sack *dup)
{
	uint32_t start = n->seq, end = xiw_keep_end(n);
	struct xiw_tcp_keep *a, *b, *p;

	xiw_keep_runs(rx);
	for (a = rx->run_tail; a && xiw_seq_after(a->seq, start);)
		a = a->run_prev;
	b = a ? a->run_next : rx->keep_head;

	dup->start = dup->end = start;
	if (a && xiw_seq_after(a->run_end, start)) {
		dup->end = xiw_seq_min(end, a->run_end);
	} else if (b && xiw_seq_before(b->seq, end)) {
		dup->start = b->seq;
		dup->end = xiw_seq_min(end, b->run_end);
	}
	if (a && !xiw_seq_before(a->run_end, end)) {
		recent_push(rx, a, start);
		return false;
	}

	if (a && !xiw_seq_before(a->run_end, start)) {
		/* n continues a; overlapping nodes of a may start behind n. */
		for (p = a->run_last; xiw_seq_after(p->seq, start);)
			p = p->prev;
		link_after(rx, p, n);
		if (p == a->run_last)
			a->run_last = n;
		a->run_end = end;
	} else {
		link_after(rx, a ? a->run_last : NULL, n);
		run_add(rx, a, b, n);
		a = n;
	}
	run_merge(rx, a);
	recent_push(rx, a, start);
	rx->kept++;
	return true;
}

bool xiw_tcp_rx_keeps_any(struct xiw_tcp_rx *rx, uint32_t seq, uint32_t len)
{
	const struct xiw_tcp_keep *r;

	xiw_keep_runs(rx);
	for (r = rx->run_tail; r && !xiw_seq_before(r->seq, seq + len);)
		r = r->run_prev;
	return r && xiw_seq_after(r->run_end, seq);
}

struct xiw_tcp_keep *xiw_keep_pop(struct xiw_tcp_rx *rx)
{
	struct xiw_tcp_keep *h = rx->keep_head, *m = h->next;

	rx->keep_head = m;
	rx->kept--;
	if (!m) {
		rx->run_tail = NULL;
		rx->runs_stale = false;
		return h;
	}
	m->prev = NULL;
	if (rx->runs_stale)
		return h;
	if (h->run_last == h) {
		m->run_prev = NULL;
	} else if (xiw_seq_after(xiw_keep_end(h), m->seq)) {
		/*
		 * Without h there may be holes behind m. They are searched only when they are asked for, once per
		 * drain.
		 */
		rx->runs_stale = true;
	} else {
		m->run_last = h->run_last;
		m->run_end = h->run_end;
		m->run_prev = NULL;
		m->run_next = h->run_next;
		if (m->run_next)
			m->run_next->run_prev = m;
		else
			rx->run_tail = m;
	}
	return h;
}

void xiw_keep_runs(struct xiw_tcp_rx *rx)
{
	struct xiw_tcp_keep *n, *r = NULL;

	if (!rx->runs_stale)
		return;
	for (n = rx->keep_head; n; n = n->next) {
		if (r && !xiw_seq_after(n->seq, r->run_end)) {
			r->run_last = n;
			r->run_end = xiw_seq_max(r->run_end, xiw_keep_end(n));
		} else {
			run_add(rx, r, NULL, n);
			r = n;
		}
	}
	rx->runs_stale = false;
}

unsigned int xiw_keep_blocks(struct xiw_tcp_rx *rx, struct xiw_tcp_sack *blocks, unsigned int max)
{
	const struct xiw_tcp_keep *r, *first[XIW_TCP_MAX_SACK] = { NULL };
	const struct xiw_tcp_keep *other[XIW_TCP_MAX_SACK];
	unsigned int i, n = 0, nother = 0;

	xiw_keep_runs(rx);
	for (r = rx->keep_head; r; r = r->run_next) {
		/* A run that rcv_nxt has reached waits for its turn; it will be acknowledged, and is not reported. */
		if (!xiw_seq_after(r->seq, rx->rcv_nxt))
			continue;
		for (i = 0; i < rx->nrecent; i++)
			if (rx->recent[i] - r->seq < r->run_end - r->seq)
				break;
		if (i < rx->nrecent)
			first[i] = r;
		else if (nother < XIW_TCP_MAX_SACK)
			other[nother++] = r;
	}
	for (i = 0; i < XIW_TCP_MAX_SACK && n < max; i++) {
		if (!first[i])
			continue;
		blocks[n].start = first[i]->seq;
		blocks[n++].end = first[i]->run_end;
	}
	for (i = 0; i < nother && n < max; i++) {
		blocks[n].start = other[i]->seq;
		blocks[n++].end = other[i]->run_end;
	}
	return n;
}
