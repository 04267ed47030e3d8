// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Requests to connect that are neither accepted nor rejected. A program names one by info->handle, to a passive
 * endpoint that rejects it, or to an endpoint that accepts it, or rejects it as it is closed. The first one gets it.
 */
#include <stdlib.h>

#include "fabric/fabric.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct xiw_fi_request *requests;

struct xiw_fi_request *xiw_fi_request_new(struct xiw_host_request *host)
{
	struct xiw_fi_request *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->fid.fclass = FI_CLASS_CONNREQ;
	r->host = host;
	xiw_fi_request_give(r);
	return r;
}

/* Gives the place at which the list names it, or its end. With the lock. */
static struct xiw_fi_request **find(const void *handle)
{
	struct xiw_fi_request **at = &requests;

	while (*at && *at != handle)
		at = &(*at)->next;
	return at;
}

bool xiw_fi_request_is(const void *handle)
{
	bool is;

	pthread_mutex_lock(&lock);
	is = *find(handle);
	pthread_mutex_unlock(&lock);
	return is;
}

struct xiw_fi_request *xiw_fi_request_take(const void *handle)
{
	struct xiw_fi_request **at, *r;

	pthread_mutex_lock(&lock);
	at = find(handle);
	r = *at;
	if (r)
		*at = r->next;
	pthread_mutex_unlock(&lock);
	return r;
}

void xiw_fi_request_give(struct xiw_fi_request *r)
{
	pthread_mutex_lock(&lock);
	r->next = requests;
	requests = r;
	pthread_mutex_unlock(&lock);
}
