// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Event channels. */
#include <errno.h>
#include <stdlib.h>

#include "verbs/cm.h"
#include "verbs/theirs.h"
#include "verbs/verbs.h"

int xiw_cm_result(int rc)
{
	if (rc >= 0)
		return 0;
	errno = -rc;
	return -1;
}

/* Who destroys the identifier waits from now on. */
static void taken(const struct xiw_host_event *event)
{
	struct xiw_id *id = event->context;

	pthread_mutex_lock(&id->lock);
	id->told++;
	pthread_mutex_unlock(&id->lock);
}

void xiw_cm_acked(struct xiw_id *id)
{
	pthread_mutex_lock(&id->lock);
	id->told--;
	pthread_cond_broadcast(&id->acked);
	pthread_mutex_unlock(&id->lock);
}

XIW_INTERPOSE struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct xiw_cm_channel *c = calloc(1, sizeof(*c));
	int rc = c ? xiw_host_eq_create(&c->eq) : -ENOMEM;

	if (rc) {
		free(c);
		return xiw_refuse(rc);
	}
	xiw_host_eq_on_take(c->eq, taken);
	c->cm.fd = xiw_host_eq_fd(c->eq);
	rc = xiw_theirs_open(c);
	if (!rc)
		return &c->cm;
	xiw_host_eq_free(c->eq);
	free(c);
	return xiw_refuse(rc);
}

/*
 * The memory of those that were destroyed last stays: a thread that acknowledges the last event and asks for the next
 * one can come too late, as rping's does. With an RNIC such a thread waits until the process ends; so it does here.
 */
static void bury(struct xiw_cm_channel *c)
{
	static struct xiw_cm_channel *graves[4];
	static unsigned int next;
	unsigned int i = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % 4;

	c = __atomic_exchange_n(&graves[i], c, __ATOMIC_ACQ_REL);
	if (!c)
		return;
	xiw_theirs_free(c);
	xiw_host_eq_free(c->eq);
	free(c);
}

/* A channel that identifiers still use stays: they would touch it. */
XIW_INTERPOSE void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	struct xiw_cm_channel *c = (struct xiw_cm_channel *)channel;

	if (xiw_host_eq_close(c->eq))
		return;
	xiw_theirs_close(c);
	bury(c);
}

int xiw_cm_tell(struct xiw_id *id, enum rdma_cm_event_type event, int status)
{
	struct xiw_host_event e = {
		.kind = XIW_HOST_OTHER,
		.status = status,
		.context = id,
		.other = event,
	};

	return xiw_host_eq_post(xiw_id_eq(id), &e);
}

XIW_INTERPOSE int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct xiw_id *id;

	if (!event)
		return xiw_cm_result(-EINVAL);
	id = xiw_id(event->listen_id ? event->listen_id : event->id);
	if (xiw_theirs(&id->cm) == &id->cm)
		return XIW_REAL(rdma_ack_cm_event)(event);
	if (((struct xiw_told *)event)->real)
		XIW_REAL(rdma_ack_cm_event)(((struct xiw_told *)event)->real);
	free(event);
	xiw_cm_acked(id);
	return 0;
}
