// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the relay knows of a connection, and the squeezed window.
 *
 * During an episode the right edge that the peer sees does not move: acknowledgements go through, and the window
 * closes, to 0 if the peer has enough to send. The edge never moves back, and never beyond what the receiver offers:
 * the peer sees a receiver that does not shrink its window (RFC 9293 section 3.8.6), but whose application is slow.
 * The peer may send nothing into a closed window. Then time ends the episode, with a window update: the last
 * acknowledgement again, unchanged.
 */
#include <string.h>

#include "relay_core.h"

#define L3 14u
#define MS 1000000ull

static void make_key(uint8_t key[37], unsigned int dir, const struct relay_pkt *p,
		     const struct relay_seg *s)
{
	unsigned int n = s->v6 ? 16 : 4, addr = L3 + (s->v6 ? 8 : 12);

	memset(key, 0, 37);
	memcpy(key + (dir ? 16 : 0), p->data + addr, n);
	memcpy(key + (dir ? 0 : 16), p->data + addr + n, n);
	memcpy(key + (dir ? 34 : 32), p->data + s->l4, 2);
	memcpy(key + (dir ? 32 : 34), p->data + s->l4 + 2, 2);
	key[36] = s->v6;
}

struct relay_flow *relay_flow(struct relay *r, unsigned int dir, const struct relay_pkt *p,
			      const struct relay_seg *s, bool make)
{
	struct relay_flow *f, *room = NULL;
	uint32_t h = 2166136261u;
	uint8_t key[37];

	make_key(key, dir, p, s);
	for (unsigned int i = 0; i < sizeof(key); i++)
		h = (h ^ key[i]) * 16777619u;
	for (unsigned int i = 0; i < 8; i++) {
		f = &r->flows[(h + i) % RELAY_FLOWS];
		if (f->used && !memcmp(f->key, key, sizeof(key)))
			return f;
		if (!f->used && !room)
			room = f;
	}
	if (!make)
		return NULL;
	/* If none is free, any old one is reused: there are many. */
	f = room ? room : &r->flows[h % RELAY_FLOWS];
	for (unsigned int d = 0; d < 2; d++)
		r->squeezing -= f->half[d].left > 0;
	memset(f, 0, sizeof(*f));
	f->used = true;
	memcpy(f->key, key, sizeof(key));
	return f;
}

/* -1: none */
static int window_scale(const uint8_t *opt, const uint8_t *end)
{
	while (opt < end && *opt) {
		if (*opt == 1) {
			opt++;
			continue;
		}
		if (end - opt < 2 || opt[1] < 2 || opt[1] > end - opt)
			break;
		if (opt[0] == 3 && opt[1] == 3)
			return opt[2] > 14 ? 14 : opt[2];
		opt += opt[1];
	}
	return -1;
}

void relay_flow_syn(struct relay_flow *f, unsigned int dir, const struct relay_pkt *p,
		    const struct relay_seg *s)
{
	struct relay_half *h = &f->half[dir], *other = &f->half[!dir];
	int scale = window_scale(p->data + s->l4 + 20, p->data + s->pay);

	h->synced = true;
	h->edged = false;
	h->isn = s->seq;
	h->scale = (uint8_t)(scale < 0 ? 0 : scale);
	/* Only what both offer counts (RFC 7323 section 2.2). */
	if (s->flags & 0x10 && scale < 0)
		other->scale = 0;
}

static void end_episode(struct relay *r, struct relay_half *h)
{
	h->left = 0;
	r->squeezing--;
}

static void remember(struct relay_half *h, const struct relay_pkt *p, const struct relay_seg *s)
{
	uint32_t seq = s->seq + s->len + (s->flags & 1);
	uint8_t *tcp = h->last + s->l4;

	memcpy(h->last, p->data, s->pay);
	h->last_len = s->pay;
	tcp[4] = (uint8_t)(seq >> 24);
	tcp[5] = (uint8_t)(seq >> 16);
	tcp[6] = (uint8_t)(seq >> 8);
	tcp[7] = (uint8_t)seq;
	tcp[13] = 0x10 | (tcp[13] & 0x40); /* ECE says the same again */
	if (s->v6) {
		h->last[L3 + 4] = 0;
		h->last[L3 + 5] = (uint8_t)(s->pay - s->l4);
	} else {
		h->last[L3 + 2] = 0;
		h->last[L3 + 3] = (uint8_t)(s->pay - L3);
	}
}

void relay_squeeze(struct relay *r, unsigned int dir, struct relay_flow *f, struct relay_pkt *p,
		   const struct relay_seg *s, uint64_t now)
{
	const struct relay_knobs *k = &r->conf.knobs[dir][p->cls];
	struct relay_half *h = &f->half[dir];
	uint32_t edge = s->ack + ((uint32_t)s->window << h->scale), units;

	if (!(s->flags & 0x10) || !h->synced)
		return;
	if (h->edged && p->fate & 1 << RELAY_SQUEEZE && !h->left) {
		h->left = k->squeeze_n;
		h->due = now + k->squeeze_ms * MS;
		r->squeezing++;
	}
	if (!h->left) {
		if (!h->edged || (int32_t)(edge - h->edge) > 0)
			h->edge = edge;
		h->edged = true;
		return;
	}
	remember(h, p, s);
	if (!--h->left) {
		/* This one passes as it is, and opens the window. */
		r->squeezing--;
		if ((int32_t)(edge - h->edge) > 0)
			h->edge = edge;
		return;
	}
	units = (int32_t)(h->edge - s->ack) > 0
			? (h->edge - s->ack + (1u << h->scale) - 1) >> h->scale
			: 0;
	if (units >= s->window)
		return;
	/* Windows are in units of 1 << scale; rounded up, the edge moves with it. */
	if (units)
		h->edge = s->ack + (units << h->scale);
	p->data[s->l4 + 14] = (uint8_t)(units >> 8);
	p->data[s->l4 + 15] = (uint8_t)units;
	relay_fill_sums(p->data, s);
	r->dir[dir].count[p->cls][RELAY_N_SQUEEZED]++;
	if (!units)
		r->dir[dir].count[p->cls][RELAY_N_ZERO]++;
}

static void reopen(struct relay *r, unsigned int dir, struct relay_half *h, uint64_t now)
{
	struct relay_pkt *p;
	struct relay_seg s;
	uint32_t edge;

	end_episode(r, h);
	if (!h->last_len)
		return;
	p = relay_get(r);
	memcpy(p->data, h->last, h->last_len);
	p->len = h->last_len;
	p->cls = RELAY_ACK;
	p->draw = now;
	relay_parse(p, &s);
	relay_fill_sums(p->data, &s);
	edge = s.ack + ((uint32_t)s.window << h->scale);
	if ((int32_t)(edge - h->edge) > 0)
		h->edge = edge;
	h->last_len = 0;
	r->dir[dir].count[RELAY_ACK][RELAY_N_REOPENED]++;
	relay_forward(r, dir, p, now);
}

uint64_t relay_reopen(struct relay *r, uint64_t now)
{
	uint64_t next = RELAY_NEVER;

	for (unsigned int i = 0; i < RELAY_FLOWS; i++) {
		for (unsigned int d = 0; d < 2; d++) {
			struct relay_half *h = &r->flows[i].half[d];

			if (!h->left)
				continue;
			if (h->due <= now)
				reopen(r, d, h, now);
			else if (h->due < next)
				next = h->due;
		}
	}
	return next;
}
