// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "quota.h"

#include <netinet/in.h>
#include <string.h>

#define NS 1000000000ull

/* ---- memory -------------------------------------------------------------------------------------- */

/* An IPv4 address as one of IPv6, so that it is the same peer whatever socket accepted it. */
static void peer_of(const struct sockaddr_storage *addr, uint64_t peer[2])
{
	struct in6_addr in6 = {};

	if (addr->ss_family == AF_INET6) {
		in6 = ((const struct sockaddr_in6 *)addr)->sin6_addr;
		if (!IN6_IS_ADDR_V4MAPPED(&in6))
			memset(in6.s6_addr + 8, 0, 8);
	} else {
		in6.s6_addr[10] = in6.s6_addr[11] = 0xff;
		memcpy(in6.s6_addr + 12, &((const struct sockaddr_in *)addr)->sin_addr, 4);
	}
	memcpy(peer, &in6, sizeof(in6));
}

static bool fits(const struct xiw_quota *b, const uint64_t peer[2], uint64_t bytes, bool roomy)
{
	uint64_t own = 0, others = 0, most;

	for (const struct xiw_holding *h = b->all; h; h = h->next)
		*(memcmp(h->peer, peer, sizeof(h->peer)) ? &others : &own) += h->bytes;
	most = b->limit - others;
	if (own)
		most /= 2;
	if (roomy)
		most /= 2;
	return own <= most && bytes <= most - own;
}

bool xiw_quota_take(struct xiw_quota *b, struct xiw_holding *h, const struct sockaddr_storage *peer,
		    uint64_t bytes, bool roomy)
{
	bool taken;

	peer_of(peer, h->peer);
	pthread_mutex_lock(&b->lock);
	taken = fits(b, h->peer, bytes, roomy);
	if (taken) {
		h->bytes = bytes;
		h->next = b->all;
		b->all = h;
	}
	pthread_mutex_unlock(&b->lock);
	return taken;
}

void xiw_quota_give(struct xiw_quota *b, struct xiw_holding *h)
{
	struct xiw_holding **link = &b->all;

	pthread_mutex_lock(&b->lock);
	while (*link && *link != h)
		link = &(*link)->next;
	if (*link)
		*link = h->next;
	pthread_mutex_unlock(&b->lock);
	h->bytes = 0;
}

/* ---- time ---------------------------------------------------------------------------------------- */

void xiw_activity_note(struct xiw_activity *a, uint64_t octets, uint64_t now_ns)
{
	a->octets = octets;
	a->since_ns = now_ns;
}

bool xiw_activity_idle(struct xiw_activity *a, uint64_t octets, uint64_t now_ns, uint64_t least,
		       uint32_t limit_s)
{
	if (octets - a->octets >= least)
		xiw_activity_note(a, octets, now_ns);
	return now_ns - a->since_ns > limit_s * NS;
}
