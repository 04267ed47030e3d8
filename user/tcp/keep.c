// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Kept segments may overlap, because their frames are kept as they arrived. A search is among the runs, which are a
 * splay tree (Sleator and Tarjan 1985). A peer may make a run of each segment that it sends, and choose any of them
 * each time, but n segments never cost more than n log n steps. New segments most often belong to the run of the one
 * before, which is the tree's root.
 */
#include "tcp/keep.h"

#define COVERS_MAX                                                                                 \
	64 /* kept segments that one may cover which continues a run: they are looked at one by one */

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

/* Makes the run that begins at seq the root; if there is none, one of the two beside it. */
static struct xiw_tcp_keep *splay(struct xiw_tcp_keep *t, uint32_t seq)
{
	/* What lies before and behind what is left: each is hung in at the end of the one before it. */
	struct xiw_tcp_keep top = { .run_tree = { NULL, NULL } }, *edge[2] = { &top, &top }, *next;
	bool behind;

	while (seq != t->seq) {
		behind = xiw_seq_after(seq, t->seq);
		next = t->run_tree[behind];
		if (next && seq != next->seq && xiw_seq_after(seq, next->seq) == behind) {
			t->run_tree[behind] = next->run_tree[!behind];
			next->run_tree[!behind] = t;
			t = next;
			next = t->run_tree[behind];
		}
		if (!next)
			break;
		edge[!behind]->run_tree[behind] = t;
		edge[!behind] = t;
		t = next;
	}
	edge[0]->run_tree[1] = t->run_tree[0];
	edge[1]->run_tree[0] = t->run_tree[1];
	t->run_tree[0] = top.run_tree[1];
	t->run_tree[1] = top.run_tree[0];
	return t;
}

/* The last run that begins at seq or before it, or NULL. */
static struct xiw_tcp_keep *run_at(struct xiw_tcp_rx *rx, uint32_t seq)
{
	if (!rx->run_root)
		return NULL;
	rx->run_root = splay(rx->run_root, seq);
	return xiw_seq_after(rx->run_root->seq, seq) ? rx->run_root->run_prev : rx->run_root;
}

/* The runs between which another one is, side by side. */
static void run_link(struct xiw_tcp_keep *a, struct xiw_tcp_keep *b)
{
	if (a)
		a->run_next = b;
	if (b)
		b->run_prev = a;
}

/* Makes n a run of its own between the runs a and b. */
static void run_add(struct xiw_tcp_rx *rx, struct xiw_tcp_keep *a, struct xiw_tcp_keep *b,
		    struct xiw_tcp_keep *n)
{
	struct xiw_tcp_keep *root = rx->run_root;
	bool behind;

	n->run_last = n;
	n->run_end = xiw_keep_end(n);
	n->run_next = n->run_prev = n->run_tree[0] = n->run_tree[1] = NULL;
	run_link(a, n);
	run_link(n, b);
	rx->run_root = n;
	if (!root)
		return;
	root = splay(root, n->seq);
	behind = xiw_seq_after(n->seq, root->seq);
	n->run_tree[!behind] = root;
	n->run_tree[behind] = root->run_tree[behind];
	root->run_tree[behind] = NULL;
}

static void run_remove(struct xiw_tcp_rx *rx, struct xiw_tcp_keep *r)
{
	struct xiw_tcp_keep *before;

	splay(rx->run_root, r->seq);
	before = r->run_tree[0];
	rx->run_root = r->run_tree[1];
	if (before) {
		rx->run_root = splay(before, r->seq);
		rx->run_root->run_tree[1] = r->run_tree[1];
	}
	run_link(r->run_prev, r->run_next);
}

/* The node m, which follows r, begins the run instead. */
static void run_begins_with(struct xiw_tcp_rx *rx, struct xiw_tcp_keep *r, struct xiw_tcp_keep *m)
{
	splay(rx->run_root, r->seq);
	m->run_tree[0] = r->run_tree[0];
	m->run_tree[1] = r->run_tree[1];
	rx->run_root = m;
	run_link(r->run_prev, m);
	m->run_next = NULL;
	run_link(m, r->run_next);
}

/* Makes r swallow the runs behind it that it touches. */
static void run_merge(struct xiw_tcp_rx *rx, struct xiw_tcp_keep *r)
{
	struct xiw_tcp_keep *b;

	while ((b = r->run_next) && !xiw_seq_after(b->seq, r->run_end)) {
		r->run_end = xiw_seq_max(r->run_end, b->run_end);
		r->run_last = b->run_last;
		run_remove(rx, b);
	}
}

/* The last node of run a that begins at n or before it; NULL: n covers too many of those behind. */
static struct xiw_tcp_keep *place_in(const struct xiw_tcp_keep *a, const struct xiw_tcp_keep *n)
{
	struct xiw_tcp_keep *p = a->run_last;

	for (unsigned int i = 0; xiw_seq_after(p->seq, n->seq); p = p->prev)
		if (++i > COVERS_MAX)
			return NULL;
	return p;
}

bool xiw_keep_insert(struct xiw_tcp_rx *rx, struct xiw_tcp_keep *n, struct xiw_tcp_sack *dup)
{
	uint32_t start = n->seq, end = xiw_keep_end(n);
	struct xiw_tcp_keep *a, *b, *p;

	xiw_keep_runs(rx);
	a = run_at(rx, start);
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
		p = place_in(a, n);
		if (!p) {
			dup->end = dup->start;
			return false;
		}
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
	r = run_at(rx, seq + len - 1);
	return r && xiw_seq_after(r->run_end, seq);
}

struct xiw_tcp_keep *xiw_keep_pop(struct xiw_tcp_rx *rx)
{
	struct xiw_tcp_keep *h = rx->keep_head, *m = h->next;

	rx->keep_head = m;
	rx->kept--;
	if (m)
		m->prev = NULL;
	if (m == h->run_next) {
		run_remove(rx, h);
		rx->runs_stale = false;
		return h;
	}
	run_begins_with(rx, h, m);
	if (rx->runs_stale || xiw_seq_after(xiw_keep_end(h), m->seq)) {
		/*
		 * Without h there may be holes behind m. They are searched only when they are asked for, once per
		 * drain.
		 */
		rx->runs_stale = true;
	} else {
		m->run_last = h->run_last;
		m->run_end = h->run_end;
	}
	return h;
}

void xiw_keep_runs(struct xiw_tcp_rx *rx)
{
	struct xiw_tcp_keep *n, *r = rx->keep_head, *behind;

	if (!rx->runs_stale)
		return;
	behind = r->run_next;
	r->run_last = r;
	r->run_end = xiw_keep_end(r);
	for (n = r->next; n != behind; n = n->next) {
		if (!xiw_seq_after(n->seq, r->run_end)) {
			r->run_last = n;
			r->run_end = xiw_seq_max(r->run_end, xiw_keep_end(n));
		} else {
			run_add(rx, r, behind, n);
			r = n;
		}
	}
	rx->runs_stale = false;
}

/* Is the run one of those that are reported already? */
static bool reported(const struct xiw_tcp_keep *r, const struct xiw_tcp_sack *blocks,
		     unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (blocks[i].start == r->seq)
			return true;
	return false;
}

unsigned int xiw_keep_blocks(struct xiw_tcp_rx *rx, struct xiw_tcp_sack *blocks, unsigned int max)
{
	const struct xiw_tcp_keep *r;
	unsigned int i, n = 0;

	xiw_keep_runs(rx);
	/* A run that rcv_nxt has reached waits for its turn; it will be acknowledged, and is not reported. */
	for (i = 0; i < rx->nrecent && n < max; i++) {
		r = run_at(rx, rx->recent[i]);
		if (r && rx->recent[i] - r->seq < r->run_end - r->seq &&
		    xiw_seq_after(r->seq, rx->rcv_nxt) && !reported(r, blocks, n))
			blocks[n++] = (struct xiw_tcp_sack){ r->seq, r->run_end };
	}
	r = run_at(rx, rx->rcv_nxt);
	for (r = r ? r->run_next : rx->keep_head; r && n < max; r = r->run_next)
		if (!reported(r, blocks, n))
			blocks[n++] = (struct xiw_tcp_sack){ r->seq, r->run_end };
	return n;
}
