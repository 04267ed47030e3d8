// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The real librdmacm's events, as events of our identifiers. */
#include <errno.h>
#include <string.h>

#include "verbs/theirs.h"

/* The identifier of a request, which librdmacm has made with the context of its listener. */
static struct xiw_id *of_request(struct xiw_id *listener, struct rdma_cm_id *real)
{
	struct rdma_cm_id *cm;
	struct xiw_id *id;

	if (rdma_create_id(listener->sync ? NULL : listener->cm.channel, &cm, listener->cm.context,
			   listener->cm.ps))
		return NULL;
	id = xiw_id(cm);
	id->real = real;
	real->context = id;
	if (!listener->sync)
		return id;
	if (!XIW_REAL(rdma_migrate_id)(real, ((struct xiw_cm_channel *)cm->channel)->real))
		return id;
	id->real = NULL;
	rdma_destroy_id(cm);
	return NULL;
}

int xiw_theirs_take(struct xiw_cm_channel *c, struct xiw_told *to)
{
	struct rdma_cm_event *event;
	struct xiw_id *counted, *id;

	if (XIW_REAL(rdma_get_cm_event)(c->real, &event))
		return errno == EAGAIN ? 0 : -1;
	counted = id = event->id->context;
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		struct rdma_cm_id *real = event->id;

		id = of_request(counted, real);
		if (!id) {
			XIW_REAL(rdma_ack_cm_event)(event);
			XIW_REAL(rdma_destroy_id)(real);
			return 0;
		}
	}
	xiw_theirs_done(&id->cm, 0);
	to->cm = *event;
	to->real = event;
	to->cm.id = &id->cm;
	to->cm.listen_id = counted == id ? NULL : &counted->cm;
	pthread_mutex_lock(&counted->lock);
	counted->told++;
	pthread_mutex_unlock(&counted->lock);
	return 1;
}
