// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "handoff/obstacles.h"

#include <string.h>

#define WAYS 8u /* entries in which a peer may be */
#define SETS ((XIW_OBSTACLES - XIW_REASON_MAX) / WAYS)
#define RECENT_NS XIW_OBSTACLE_NS

_Static_assert((XIW_OBSTACLES - XIW_REASON_MAX) % WAYS == 0, "whole sets");

static uint32_t get(const __u32 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static uint64_t time_of(const __u64 *ns)
{
	return __atomic_load_n(ns, __ATOMIC_RELAXED);
}

/* A time in the units of `carried` and `heard`, never 0. */
static uint32_t ticks(uint64_t ns)
{
	return (uint32_t)(ns >> 26) | !(uint32_t)(ns >> 26);
}

static uint32_t hash(const __be32 peer[4])
{
	uint32_t h = 1;

	for (int i = 0; i < 4; i++)
		h = (h ^ peer[i]) * 0x9e3779b1u, h ^= h >> 15;
	return h;
}

static struct xiw_obstacle *set_of(struct xiw_obstacle *all, const __be32 peer[4])
{
	return all + XIW_REASON_MAX + hash(peer) % SETS * WAYS;
}

/* Where it is noted when all was well with this peer, or with one of the same hash. */
static struct xiw_obstacle *well_of(struct xiw_obstacle *all, const __be32 peer[4])
{
	return &all[XIW_REASON_MAX + hash(peer) % (XIW_OBSTACLES - XIW_REASON_MAX)];
}

/* Two processes may have written different peers at once. Such an entry is nobody's. */
static bool whole(const struct xiw_obstacle *c)
{
	return c->reason > XIW_REASON_NONE && c->reason < XIW_REASON__COUNT &&
	       c->check == hash(c->peer);
}

static struct xiw_obstacle *find(struct xiw_obstacle *all, const __be32 peer[4])
{
	struct xiw_obstacle *set = set_of(all, peer);

	for (uint32_t i = 0; i < WAYS; i++)
		if (get(&set[i].reason) && !memcmp(set[i].peer, peer, sizeof(set[i].peer)) &&
		    whole(&set[i]))
			return &set[i];
	return NULL;
}

/* The entry of a set that nobody has, or else the one that was found the longest time ago. */
static struct xiw_obstacle *least(struct xiw_obstacle *set)
{
	struct xiw_obstacle *oldest = set;

	for (uint32_t i = 0; i < WAYS; i++) {
		if (!whole(&set[i]))
			return &set[i];
		if ((int64_t)(time_of(&set[i].last_ns) - time_of(&oldest->last_ns)) < 0)
			oldest = &set[i];
	}
	return oldest;
}

static struct xiw_obstacle *enter(struct xiw_obstacle *all, const __be32 peer[4],
				  enum xiw_reason reason)
{
	struct xiw_obstacle *c = least(set_of(all, peer));

	__atomic_store_n(&c->reason, XIW_REASON_NONE, __ATOMIC_RELEASE);
	c->count = c->holds = c->kept_off = c->failed = c->again = 0;
	c->tried_ns = 0;
	memcpy(c->peer, peer, sizeof(c->peer));
	c->check = hash(peer);
	__atomic_store_n(&c->reason, (__u32)reason, __ATOMIC_RELEASE);
	return c;
}

static void count(struct xiw_obstacle *c, uint64_t now_ns)
{
	__atomic_add_fetch(&c->count, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&c->last_ns, now_ns, __ATOMIC_RELAXED);
}

/* From here on connections are kept off. */
static void hold(struct xiw_obstacle *c, uint64_t now_ns)
{
	__atomic_store_n(&c->tried_ns, now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&c->kept_off, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&c->holds, 1, __ATOMIC_RELEASE);
}

/*
 * An IPv6 host has its whole /64, as far as others can tell, and one host of a network may have all of its addresses.
 * An IPv4 address is taken for a host.
 */
static bool independent(const __be32 a[4], const __be32 b[4])
{
	static const __be32 none[2];
	bool v4 = !memcmp(a, none, sizeof(none)) && !memcmp(b, none, sizeof(none));

	return v4 ? a[3] != b[3] : memcmp(a, b, 8) != 0;
}

/* Have independent peers met the cause lately, and nobody's stretch has carried since? */
static bool of_interface(const struct xiw_obstacle *all, enum xiw_reason reason, uint64_t now_ns)
{
	const struct xiw_obstacle *met[XIW_OBSTACLE_PEERS];
	uint64_t carried_ns = time_of(&all[XIW_REASON_NONE].last_ns);
	uint32_t n = 0;

	for (uint32_t i = XIW_REASON_MAX; i < XIW_OBSTACLES && n < XIW_OBSTACLE_PEERS; i++) {
		const struct xiw_obstacle *c = &all[i];
		uint64_t last_ns = time_of(&c->last_ns);
		uint32_t k = 0;

		if (!whole(c) || !c->holds || c->reason != (__u32)reason ||
		    now_ns - last_ns > RECENT_NS || (int64_t)(last_ns - carried_ns) <= 0)
			continue;
		while (k < n && independent(met[k]->peer, c->peer))
			k++;
		if (k == n)
			met[n++] = c;
	}
	return n == XIW_OBSTACLE_PEERS;
}

static bool since(uint32_t well, uint64_t ns)
{
	return well && (int32_t)(well - ticks(ns)) > 0;
}

/*
 * A socket whose segments do not leave may lack a route, or an address, for a moment, and so do all stretches that are
 * under way. Only one that has begun since shows that it comes back.
 */
static bool same_moment(const struct xiw_obstacle *c, const struct xiw_found *found)
{
	return found->reason == XIW_REASON_OUTPUT &&
	       (int64_t)(found->acked_ns - time_of(&c->last_ns)) <= 0;
}

/* Has the peer met a cause a short time ago, and has nothing been well with it since? */
static bool comes_back(struct xiw_obstacle *all, const struct xiw_obstacle *c,
		       const struct xiw_found *found)
{
	const struct xiw_obstacle *well = well_of(all, found->peer);
	const uint64_t last_ns = time_of(&c->last_ns);

	return found->now_ns - last_ns < RECENT_NS && !same_moment(c, found) &&
	       !since(get(&well->carried), last_ns) &&
	       !(found->reason == XIW_REASON_UNHEARD && since(get(&well->heard), last_ns));
}

/*
 * Once may be an accident where this host was late, where the peer has heard acknowledgements a short time ago, or
 * where what the socket sends does not leave.
 */
static bool is_certain(struct xiw_obstacle *all, const struct xiw_obstacle *c,
		       const struct xiw_found *found)
{
	const uint32_t heard = get(&well_of(all, found->peer)->heard);
	const bool heard_lately =
		heard && ticks(found->now_ns) - heard < ticks(XIW_OBSTACLE_HEARD);

	if (found->barred ||
	    !(found->doubtful || found->reason == XIW_REASON_OUTPUT ||
	      (found->reason == XIW_REASON_UNHEARD && heard_lately)))
		return true;
	return c && comes_back(all, c, found);
}

/* Remembers the cause for the peer. */
static void note_peer(struct xiw_obstacle *all, const struct xiw_found *found)
{
	struct xiw_obstacle *c = find(all, found->peer);
	const bool certain = is_certain(all, c, found);

	if (c)
		__atomic_store_n(&c->reason, (__u32)found->reason, __ATOMIC_RELEASE);
	else
		c = enter(all, found->peer, found->reason);
	if (certain && !c->holds && time_of(&c->tried_ns) && c->again < XIW_OBSTACLE_AGAIN)
		c->again++;
	if (found->tried && c->failed < XIW_OBSTACLE_DOUBLINGS)
		c->failed++;
	count(c, found->now_ns);
	if (certain)
		hold(c, found->now_ns);
}

/*
 * It is an accident of the connection where others of the peer are carried just now, or hear what it has not heard in
 * the same time.
 */
static bool accident(struct xiw_obstacle *all, const struct xiw_found *found)
{
	const struct xiw_obstacle *well = well_of(all, found->peer);
	const uint32_t carried = get(&well->carried);

	if (carried && ticks(found->now_ns) - carried < ticks(2 * XIW_OBSTACLE_SECOND))
		return true;
	return found->reason == XIW_REASON_UNHEARD && since(get(&well->heard), found->acked_ns);
}

void xiw_obstacle_note(struct xiw_obstacle *all, const struct xiw_found *found)
{
	struct xiw_obstacle *total = &all[found->reason];

	count(total, found->now_ns);
	__atomic_store_n(&total->reason, (__u32)found->reason, __ATOMIC_RELEASE);
	if (!found->stalled || accident(all, found))
		return;
	note_peer(all, found);
	/* Peers that go on failing do not put off the turn of those that try for all. */
	if (get(&total->holds) || !of_interface(all, found->reason, found->now_ns))
		return;
	hold(total, found->now_ns);
	__atomic_store_n(&all[XIW_REASON_NONE].holds, 1, __ATOMIC_RELEASE);
}

struct xiw_obstacle *xiw_obstacle_against(struct xiw_obstacle *all, const __be32 peer[4])
{
	struct xiw_obstacle *c = find(all, peer);

	/* A peer that has met a cause itself takes no other's turn to try again. */
	if (c && get(&c->holds))
		return c;
	if (!get(&all[XIW_REASON_NONE].holds))
		return NULL;
	for (uint32_t i = XIW_REASON_NONE + 1; i < XIW_REASON__COUNT; i++)
		if (get(&all[i].holds))
			return &all[i];
	return NULL;
}

bool xiw_obstacle_try(struct xiw_obstacle *c, bool first, uint64_t now_ns)
{
	uint32_t n = first ? __atomic_add_fetch(&c->kept_off, 1, __ATOMIC_RELAXED)
			   : get(&c->kept_off);
	uint32_t failed = c->failed < XIW_OBSTACLE_DOUBLINGS ? c->failed : XIW_OBSTACLE_DOUBLINGS;
	__u64 tried = time_of(&c->tried_ns);

	if (n <= XIW_OBSTACLE_EACH << failed && now_ns - tried < XIW_OBSTACLE_NS << failed)
		return false;
	if (!__atomic_compare_exchange_n(&c->tried_ns, &tried, now_ns, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&c->kept_off, 0, __ATOMIC_RELAXED);
	return true;
}

void xiw_obstacle_carries(struct xiw_obstacle *all, const __be32 peer[4], uint64_t now_ns)
{
	struct xiw_obstacle *interface = &all[XIW_REASON_NONE], *c = find(all, peer);

	__atomic_store_n(&interface->last_ns, now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&well_of(all, peer)->carried, ticks(now_ns), __ATOMIC_RELAXED);
	if (c && c->again < XIW_OBSTACLE_AGAIN &&
	    now_ns - time_of(&c->last_ns) >= XIW_OBSTACLE_SECOND)
		__atomic_store_n(&c->holds, 0, __ATOMIC_RELEASE);
	if (!get(&interface->holds))
		return;
	__atomic_store_n(&interface->holds, 0, __ATOMIC_RELEASE);
	for (uint32_t i = XIW_REASON_NONE + 1; i < XIW_REASON__COUNT; i++)
		__atomic_store_n(&all[i].holds, 0, __ATOMIC_RELEASE);
}

void xiw_obstacle_heard(struct xiw_obstacle *all, const __be32 peer[4], uint64_t now_ns)
{
	__atomic_store_n(&well_of(all, peer)->heard, ticks(now_ns), __ATOMIC_RELAXED);
}

void xiw_obstacle_gone(struct xiw_obstacle *all, const __be32 peer[4])
{
	struct xiw_obstacle *c;

	while ((c = find(all, peer)))
		__atomic_store_n(&c->reason, XIW_REASON_NONE, __ATOMIC_RELEASE);
}
