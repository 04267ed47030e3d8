// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "conn/crowd.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/random.h>

#include "core/peer.h"

struct xiw_crowd_peer {
	struct xiw_crowd *crowd;
	struct xiw_crowd_peer *next, **at;
	uint64_t key;
	unsigned int conns;
};

struct xiw_crowd {
	pthread_mutex_t lock;
	unsigned int capacity, users, conns;
	uint64_t secret; /* of xiw_peer_place() */
	struct xiw_crowd_peer *chains[XIW_PEER_PLACES];
};

struct xiw_crowd *xiw_crowd_new(unsigned int capacity)
{
	struct xiw_crowd *crowd = calloc(1, sizeof(*crowd));

	if (!crowd)
		return NULL;
	pthread_mutex_init(&crowd->lock, NULL);
	crowd->capacity = capacity;
	crowd->users = 1;
	if (getrandom(&crowd->secret, sizeof(crowd->secret), GRND_NONBLOCK) < 0)
		crowd->secret = (uintptr_t)crowd;
	return crowd;
}

struct xiw_crowd *xiw_crowd_share(struct xiw_crowd *crowd)
{
	if (!crowd)
		return NULL;
	pthread_mutex_lock(&crowd->lock);
	crowd->users++;
	pthread_mutex_unlock(&crowd->lock);
	return crowd;
}

/* Gives the lock back. Nobody can find a crowd without users and connections any more. */
static void unlock(struct xiw_crowd *crowd)
{
	const bool last = !crowd->users && !crowd->conns;

	pthread_mutex_unlock(&crowd->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&crowd->lock);
	free(crowd);
}

void xiw_crowd_leave(struct xiw_crowd *crowd)
{
	if (!crowd)
		return;
	pthread_mutex_lock(&crowd->lock);
	crowd->users--;
	unlock(crowd);
}

static struct xiw_crowd_peer **chain(struct xiw_crowd *crowd, uint64_t key)
{
	return &crowd->chains[xiw_peer_place(crowd->secret, key)];
}

static struct xiw_crowd_peer *add_peer(struct xiw_crowd *crowd, uint64_t key)
{
	struct xiw_crowd_peer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->crowd = crowd;
	p->key = key;
	p->at = chain(crowd, key);
	p->next = *p->at;
	if (p->next)
		p->next->at = &p->next;
	*p->at = p;
	return p;
}

static int enter(struct xiw_crowd *crowd, uint64_t key, struct xiw_crowd_peer **peer)
{
	struct xiw_crowd_peer *p = *chain(crowd, key);
	unsigned int others;

	while (p && p->key != key)
		p = p->next;
	others = crowd->conns - (p ? p->conns : 0);
	if (p && (others >= crowd->capacity || p->conns >= (crowd->capacity - others) / 2))
		return -EDQUOT;
	if (!p)
		p = add_peer(crowd, key);
	if (!p)
		return -ENOMEM;
	p->conns++;
	crowd->conns++;
	*peer = p;
	return 0;
}

int xiw_crowd_enter(struct xiw_crowd *crowd, uint64_t peer_key, struct xiw_crowd_peer **peer)
{
	int err;

	pthread_mutex_lock(&crowd->lock);
	err = enter(crowd, peer_key, peer);
	pthread_mutex_unlock(&crowd->lock);
	return err;
}

void xiw_crowd_exit(struct xiw_crowd_peer *peer)
{
	struct xiw_crowd *crowd = peer ? peer->crowd : NULL;

	if (!crowd)
		return;
	pthread_mutex_lock(&crowd->lock);
	crowd->conns--;
	if (!--peer->conns) {
		*peer->at = peer->next;
		if (peer->next)
			peer->next->at = peer->at;
		free(peer);
	}
	unlock(crowd);
}
