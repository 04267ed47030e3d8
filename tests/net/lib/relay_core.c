// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The way of each packet: its fate is drawn; then it may be lost, its window and ECN changed, split and merged,
 * damaged, doubled, held back, delayed; and it is sent.
 */
#include <stdlib.h>
#include <string.h>

#include "relay_core.h"

#define MS 1000000ull

static uint64_t mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

uint32_t relay_rnd(uint64_t *state, uint32_t below)
{
	*state = mix(*state);
	return below ? (uint32_t)((*state >> 32) * below >> 32) : 0;
}

void relay_init(struct relay *r, const struct relay_conf *conf)
{
	memset(r, 0, sizeof(*r));
	r->conf = *conf;
	for (unsigned int d = 0; d < 2; d++) {
		r->dir[d].out.end = &r->dir[d].out.head;
		r->dir[d].delayed.end = &r->dir[d].delayed.head;
		r->dir[d].merge_due = RELAY_NEVER;
		for (unsigned int c = 0; c < RELAY_CLASSES; c++) {
			const uint64_t *chance = conf->knobs[d][c].chance;

			if (chance[RELAY_SQUEEZE] || chance[RELAY_CORRUPT_FIXED])
				r->track = true;
		}
	}
}

struct relay_pkt *relay_get(struct relay *r)
{
	struct relay_pkt *p = r->pool;

	if (p) {
		r->pool = p->next;
	} else {
		p = malloc(sizeof(*p));
		if (!p)
			abort();
	}
	p->next = NULL;
	p->fate = 0;
	return p;
}

void relay_put(struct relay *r, struct relay_pkt *p)
{
	p->next = r->pool;
	r->pool = p;
}

static void put_all(struct relay *r, struct relay_pkt *p)
{
	while (p) {
		struct relay_pkt *next = p->next;

		relay_put(r, p);
		p = next;
	}
}

void relay_free(struct relay *r)
{
	for (unsigned int d = 0; d < 2; d++) {
		put_all(r, r->dir[d].held);
		put_all(r, r->dir[d].delayed.head);
		put_all(r, r->dir[d].out.head);
		for (unsigned int i = 0; i < r->dir[d].merge_n; i++)
			relay_put(r, r->dir[d].merge[i]);
	}
	while (r->pool) {
		struct relay_pkt *p = r->pool;

		r->pool = p->next;
		free(p);
	}
	memset(r, 0, sizeof(*r));
}

struct relay_pkt *relay_output(struct relay *r, unsigned int dir)
{
	return relay_list_take(&r->dir[dir].out);
}

/* The last stage. */
static void delay(struct relay *r, unsigned int dir, struct relay_pkt *p, uint64_t now)
{
	struct relay_dir *d = &r->dir[dir];

	d->count[p->cls][RELAY_N_SENT]++;
	if (!r->conf.delay_ns[dir] && !r->conf.jitter_ns[dir]) {
		relay_list_add(&d->out, p);
		return;
	}
	p->due = now + r->conf.delay_ns[dir];
	if (r->conf.jitter_ns[dir])
		p->due += mix(p->draw ^ 0x717e5) % r->conf.jitter_ns[dir];
	/* Jitter does not change the order; that is for RELAY_REORDER to do. */
	if (p->due < d->last_due)
		p->due = d->last_due;
	d->last_due = p->due;
	relay_list_add(&d->delayed, p);
}

/* One packet went by those that are held back. */
static void let_by(struct relay *r, unsigned int dir, uint64_t now)
{
	struct relay_pkt **at = &r->dir[dir].held, *p;

	while ((p = *at)) {
		if (--p->left) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		delay(r, dir, p, now);
	}
}

static struct relay_pkt *copy(struct relay *r, const struct relay_pkt *p)
{
	struct relay_pkt *q = relay_get(r);

	memcpy(q, p, sizeof(*p) - sizeof(p->data) + p->len);
	q->next = NULL;
	return q;
}

void relay_forward(struct relay *r, unsigned int dir, struct relay_pkt *p, uint64_t now)
{
	const struct relay_knobs *k = &r->conf.knobs[dir][p->cls];
	struct relay_dir *d = &r->dir[dir];
	struct relay_pkt *q;

	if (p->fate & (1 << RELAY_CORRUPT | 1 << RELAY_CORRUPT_FIXED | 1 << RELAY_CORRUPT_HEADER |
		       1 << RELAY_CORRUPT_TSVAL))
		relay_corrupt(p);
	q = p->fate & 1 << RELAY_DUP ? copy(r, p) : NULL;
	if (p->fate & 1 << RELAY_REORDER) {
		p->left = 1 + (uint32_t)(mix(p->draw ^ 0x0e0e) % k->reorder_by);
		p->due = now + k->reorder_ms * MS;
		p->next = d->held;
		d->held = p;
	} else {
		delay(r, dir, p, now);
		if (d->held)
			let_by(r, dir, now);
	}
	if (q)
		delay(r, dir, q, now);
}

/* The segments gathered are cut anew and go on. */
static void merge_flush(struct relay *r, unsigned int dir, uint64_t now)
{
	struct relay_dir *d = &r->dir[dir];
	struct relay_list out = { .end = &out.head };
	struct relay_pkt *p;

	if (d->merge_n > 1)
		d->count[RELAY_DATA][RELAY_N_PIECES] +=
			relay_recut(r, d->merge, d->merge_n, 0, &out);
	else if (d->merge_n)
		relay_list_add(&out, d->merge[0]);
	d->merge_n = 0;
	d->merge_due = RELAY_NEVER;
	while ((p = relay_list_take(&out)))
		relay_forward(r, dir, p, now);
}

static void split(struct relay *r, unsigned int dir, struct relay_pkt *p, uint64_t now)
{
	struct relay_list out = { .end = &out.head };
	uint64_t draw = p->draw ^ 0x5711;

	r->dir[dir].count[RELAY_DATA][RELAY_N_PIECES] +=
		relay_recut(r, &p, 1, 2 + relay_rnd(&draw, 2), &out);
	while ((p = relay_list_take(&out)))
		relay_forward(r, dir, p, now);
}

static void resegment(struct relay *r, unsigned int dir, struct relay_pkt *p, uint64_t now)
{
	const struct relay_knobs *k = &r->conf.knobs[dir][p->cls];
	struct relay_dir *d = &r->dir[dir];

	if (d->merge_n) {
		if (p->cls == RELAY_DATA && relay_continues(d->merge[d->merge_n - 1], p)) {
			d->merge[d->merge_n++] = p;
			if (d->merge_n == d->merge_want)
				merge_flush(r, dir, now);
			return;
		}
		merge_flush(r, dir, now);
	}
	if (p->fate & 1 << RELAY_MERGE) {
		d->merge[d->merge_n++] = p;
		d->merge_want = 2 + (uint32_t)(mix(p->draw ^ 0x3e36e) % (k->merge_n - 1));
		d->merge_due = now + k->merge_ms * MS;
	} else if (p->fate & 1 << RELAY_SPLIT) {
		split(r, dir, p, now);
	} else {
		relay_forward(r, dir, p, now);
	}
}

/* What is not to be done to this very packet. */
static uint32_t forbidden(const struct relay *r, unsigned int dir, const struct relay_pkt *p,
			  const struct relay_seg *s, const struct relay_flow *f)
{
	const struct relay_half *h = f ? &f->half[dir] : NULL;
	uint32_t no = 0;

	if (p->cls != RELAY_DATA || s->len < 2 || s->flags & 0x20) /* URG counts octets */
		no |= 1 << RELAY_SPLIT | 1 << RELAY_MERGE;
	if (p->cls != RELAY_DATA || !s->len)
		no |= 1 << RELAY_CORRUPT | 1 << RELAY_CORRUPT_FIXED;
	if (h && h->synced && s->seq - h->isn - 1 < r->conf.spare)
		no |= 1 << RELAY_CORRUPT_FIXED;
	if (!(s->flags & 0x10)) /* ACK */
		no |= 1 << RELAY_SQUEEZE;
	return no;
}

static void draw_fate(struct relay *r, unsigned int dir, struct relay_pkt *p)
{
	const struct relay_knobs *k = &r->conf.knobs[dir][p->cls];
	struct relay_dir *d = &r->dir[dir];
	uint64_t index = d->index[p->cls]++;

	p->fate = 0;
	p->draw = mix(r->conf.seed ^ mix(index << 3 | (uint64_t)dir << 2 | p->cls));
	if (index < r->conf.after)
		return;
	for (unsigned int a = 0; a < RELAY_ACTS; a++)
		if (k->chance[a] && mix(p->draw + a) >> 32 < k->chance[a])
			p->fate |= 1u << a;
}

static void tell(struct relay_dir *d, const struct relay_pkt *p)
{
	for (unsigned int a = 0; a < RELAY_ACTS; a++)
		if (p->fate & 1u << a)
			d->count[p->cls][a]++;
	if (p->fate)
		d->digest = mix(d->digest ^ p->draw ^ (uint64_t)p->fate << 32);
}

void relay_input(struct relay *r, unsigned int dir, struct relay_pkt *p, uint64_t now)
{
	struct relay_dir *d = &r->dir[dir];
	struct relay_flow *f = NULL;
	struct relay_seg s = {};
	bool tcp;

	p->cls = (uint8_t)relay_classify(p, &s, &tcp);
	d->count[p->cls][RELAY_N_PACKETS]++;
	d->count[p->cls][RELAY_N_OCTETS] += s.len;
	if (tcp && r->track)
		f = relay_flow(r, dir, p, &s, s.flags & 0x02);
	if (f && s.flags & 0x02)
		relay_flow_syn(f, dir, p, &s);
	draw_fate(r, dir, p);
	if (p->cls == RELAY_OTHER) {
		p->fate = 0;
		if (d->merge_n)
			merge_flush(r, dir, now);
		relay_forward(r, dir, p, now);
		return;
	}
	p->fate &= ~forbidden(r, dir, p, &s, f);
	if (p->fate & 1 << RELAY_LOSS)
		p->fate = 1 << RELAY_LOSS;
	if (p->fate & 1 << RELAY_CE && !relay_mark_ce(p, &s))
		p->fate &= ~(1u << RELAY_CE);
	tell(d, p);
	if (p->fate & 1 << RELAY_LOSS) {
		relay_put(r, p);
		return;
	}
	if (f)
		relay_squeeze(r, dir, f, p, &s, now);
	resegment(r, dir, p, now);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t tick(struct relay *r, unsigned int dir, uint64_t now)
{
	struct relay_dir *d = &r->dir[dir];
	struct relay_pkt **at = &d->held, *p;
	uint64_t next = RELAY_NEVER;

	if (d->merge_n && d->merge_due <= now) {
		d->count[RELAY_DATA][RELAY_N_MERGE_TIMEOUT]++;
		merge_flush(r, dir, now);
	}
	next = sooner(next, d->merge_due);
	while ((p = *at)) {
		if (p->due > now) {
			next = sooner(next, p->due);
			at = &p->next;
			continue;
		}
		*at = p->next;
		d->count[p->cls][RELAY_N_REORDER_TIMEOUT]++;
		delay(r, dir, p, now);
	}
	while (d->delayed.head && d->delayed.head->due <= now)
		relay_list_add(&d->out, relay_list_take(&d->delayed));
	if (d->delayed.head)
		next = sooner(next, d->delayed.head->due);
	return next;
}

uint64_t relay_tick(struct relay *r, uint64_t now)
{
	uint64_t next = r->squeezing ? relay_reopen(r, now) : RELAY_NEVER;

	next = sooner(next, tick(r, 0, now));
	return sooner(next, tick(r, 1, now));
}
