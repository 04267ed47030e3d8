// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Limits the unstarted connections: those that a listener has accepted, and whose Request is not complete or
 * not answered by the application. Anybody can open them at no cost, so their number is limited: for each peer,
 * for each listener and for the engine. A connection that comes when a limit is reached takes the place of one
 * that has not sent its Request: the oldest of the peer that has the most of these. An honest Initiator sends its
 * Request at once, and needs no second place. A connection that waits for the application is never reset for
 * another one.
 */
#include "conn/unstarted.h"

#include <errno.h>
#include <sys/resource.h>

#include "core/agenda.h"
#include "core/peer.h"

#define MOST 4096u
#define GRACE_MS 1000u

unsigned int xiw_unstarted_default(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur / 2 > MOST)
		return MOST;
	return limit.rlim_cur < 4 ? 1 : (unsigned int)limit.rlim_cur / 2;
}

static struct xiw_conn **chain(struct xiw_engine *e, uint64_t key)
{
	return &e->unstarted.chains[xiw_peer_place(e->unstarted.secret, key)];
}

/* Has the connection no Request yet? Counts only at the listener, if one is given. */
static bool without(const struct xiw_conn *c, const struct xiw_listener *l)
{
	return c->state == XIW_LISTENING && (!l || c->unstarted.listener == l);
}

/* Returns the oldest connection without a Request whose peer's place has the most of them, or NULL. */
static struct xiw_conn *of_most(struct xiw_engine *e, const struct xiw_listener *l)
{
	unsigned int n[XIW_PEER_PLACES] = {}, most = 0;
	struct xiw_conn *c;

	for (c = e->unstarted.first; c; c = c->unstarted.next) {
		const uint8_t place = xiw_peer_place(e->unstarted.secret, c->unstarted.peer_key);

		if (without(c, l) && ++n[place] > most)
			most = n[place];
	}
	for (c = e->unstarted.first; c; c = c->unstarted.next)
		if (without(c, l) &&
		    n[xiw_peer_place(e->unstarted.secret, c->unstarted.peer_key)] == most)
			break;
	return c;
}

/*
 * Returns who makes way: the oldest connection without a Request of the peer that has the most of them, so that a host
 * with several addresses takes nobody else's. Peers may share a place, where the majority's is found by its votes.
 */
static struct xiw_conn *victim(struct xiw_engine *e, const struct xiw_listener *l)
{
	const struct xiw_conn *first = of_most(e, l);
	struct xiw_conn *found = NULL;
	unsigned int votes = 0;
	uint64_t key = 0;

	if (!first)
		return NULL;
	for (struct xiw_conn *c = *chain(e, first->unstarted.peer_key); c;
	     c = c->unstarted.chain_next) {
		if (!without(c, l))
			continue;
		if (!votes)
			key = c->unstarted.peer_key;
		votes += !votes || c->unstarted.peer_key == key ? 1 : -1u;
	}
	/* The last one of a chain is the oldest. */
	for (struct xiw_conn *c = *chain(e, key); c; c = c->unstarted.chain_next)
		if (without(c, l) && c->unstarted.peer_key == key)
			found = c;
	return found;
}

/*
 * Returns the oldest connection without a Request that a peer has at a listener, and sets `n` to the number of
 * all its unstarted connections there. The last one of a chain is the oldest.
 */
static struct xiw_conn *of_peer(struct xiw_engine *e, const struct xiw_listener *l, uint64_t key,
				unsigned int *n)
{
	struct xiw_conn *found = NULL;

	*n = 0;
	for (struct xiw_conn *c = *chain(e, key); c; c = c->unstarted.chain_next) {
		if (c->unstarted.peer_key != key || c->unstarted.listener != l)
			continue;
		++*n;
		if (c->state == XIW_LISTENING)
			found = c;
	}
	return found;
}

void xiw_unstarted_add(struct xiw_conn *c, struct xiw_listener *l)
{
	struct xiw_unstarted *u = &c->engine->unstarted;
	struct xiw_conn **at;

	c->unstarted.listener = l;
	c->unstarted.accepted_ms = c->engine->now_ms;
	c->unstarted.peer_key = xiw_peer_key(&c->addr.remote);
	c->unstarted.prev = u->last;
	c->unstarted.next = NULL;
	*(u->last ? &u->last->unstarted.next : &u->first) = c;
	u->last = c;
	at = chain(c->engine, c->unstarted.peer_key);
	c->unstarted.chain_at = at;
	c->unstarted.chain_next = *at;
	if (*at)
		(*at)->unstarted.chain_at = &c->unstarted.chain_next;
	*at = c;
	u->n++;
	l->unstarted++;
}

void xiw_unstarted_remove(struct xiw_conn *c)
{
	struct xiw_unstarted *u = &c->engine->unstarted;

	if (!c->unstarted.chain_at)
		return;
	*c->unstarted.chain_at = c->unstarted.chain_next;
	if (c->unstarted.chain_next)
		c->unstarted.chain_next->unstarted.chain_at = c->unstarted.chain_at;
	c->unstarted.chain_at = NULL;
	*(c->unstarted.prev ? &c->unstarted.prev->unstarted.next : &u->first) = c->unstarted.next;
	*(c->unstarted.next ? &c->unstarted.next->unstarted.prev : &u->last) = c->unstarted.prev;
	u->n--;
	if (c->unstarted.listener)
		c->unstarted.listener->unstarted--;
	c->unstarted.listener = NULL;
}

static void reset(struct xiw_conn *c)
{
	c->engine->unstarted.resets++;
	xiw_unstarted_remove(c);
	xiw_conn_ask_end(c, EUSERS, true);
}

void xiw_unstarted_orphan(struct xiw_listener *l)
{
	for (struct xiw_conn *c = l->engine->unstarted.first; c; c = c->unstarted.next)
		if (c->unstarted.listener == l)
			c->unstarted.listener = NULL;
}

/* Resets the connection, if there is one. */
static bool make_way(struct xiw_conn *c)
{
	if (!c)
		return false;
	reset(c);
	return true;
}

int xiw_unstarted_admit(struct xiw_listener *l, const struct sockaddr_storage *peer)
{
	struct xiw_engine *e = l->engine;
	struct xiw_conn *c;
	bool full = false;
	unsigned int n;

	c = of_peer(e, l, xiw_peer_key(peer), &n);
	if (n >= l->opts.max_unstarted_peer)
		full = true;
	else if (l->unstarted >= l->opts.max_unstarted)
		full = true, c = victim(e, l);
	else if (e->unstarted.n >= e->opts.max_unstarted)
		full = true, c = victim(e, NULL);
	if (!full)
		return 0;
	return make_way(c) ? -EUSERS : -EBUSY;
}

/*
 * A connection is spared while it has hardly had the time to send its Request. Otherwise, when descriptors are
 * exhausted, each new connection would replace the last one.
 */
bool xiw_unstarted_make_way(struct xiw_engine *e)
{
	struct xiw_conn *c = victim(e, NULL);

	if (c && c->unstarted.accepted_ms + GRACE_MS > e->now_ms)
		return false;
	return make_way(c);
}
