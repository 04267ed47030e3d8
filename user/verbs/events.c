// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the host layer's events mean to librdmacm's users. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/cm.h"
#include "verbs/objects.h"
#include "verbs/theirs.h"
#include "verbs/verbs.h"

/* ---- translation ---------------------------------------------------------------------------------------- */

/* As the kernel does it for RNICs (cma_iw_handler()). */
static enum rdma_cm_event_type failure(const struct xiw_id *id, int status)
{
	/* To be refused, or to reach nobody, is for the side that asks. */
	switch (id->passive ? -ECONNABORTED : status) {
	case -ECONNRESET:
	case -ECONNREFUSED:
		return RDMA_CM_EVENT_REJECTED;
	case -ETIMEDOUT:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
		return RDMA_CM_EVENT_UNREACHABLE;
	default:
		return RDMA_CM_EVENT_CONNECT_ERROR;
	}
}

static void set_kind(struct rdma_cm_event *to, const struct xiw_host_event *from)
{
	to->status = from->status;
	switch (from->kind) {
	case XIW_HOST_REQUEST:
		to->event = RDMA_CM_EVENT_CONNECT_REQUEST;
		break;
	case XIW_HOST_ESTABLISHED:
		to->event = RDMA_CM_EVENT_ESTABLISHED;
		break;
	case XIW_HOST_REFUSED:
		to->event = RDMA_CM_EVENT_REJECTED;
		to->status = -ECONNREFUSED;
		break;
	case XIW_HOST_FAILED:
		to->event = failure(from->context, from->status);
		break;
	case XIW_HOST_DISCONNECTED:
		to->event = RDMA_CM_EVENT_DISCONNECTED;
		to->status = 0; /* the kernel says nothing of how the connection ended, either */
		break;
	case XIW_HOST_FORGOTTEN:
		to->event = RDMA_CM_EVENT_TIMEWAIT_EXIT;
		break;
	default:
		to->event = (enum rdma_cm_event_type)from->other;
	}
}

static uint8_t depth(uint16_t n)
{
	return n > UINT8_MAX ? UINT8_MAX : (uint8_t)n;
}

static void set_addresses(struct xiw_id *id)
{
	struct xiw_host_qp_info info;

	if (!xiw_qp_info(id->qp_num, &info))
		return;
	if (info.local.ss_family)
		id->cm.route.addr.src_storage = info.local;
	if (info.remote.ss_family)
		id->cm.route.addr.dst_storage = info.remote;
}

/*
 * A queue pair that could not be connected may be connected again by another identifier. One that is the identifier's
 * own librdmacm puts into the error state.
 */
static void end_qp(struct xiw_id *id, enum xiw_host_event_kind kind)
{
	if (kind != XIW_HOST_REFUSED && kind != XIW_HOST_FAILED)
		return;
	/* Another thread may be about to destroy it (rdma_destroy_qp()). */
	pthread_mutex_lock(&id->lock);
	if (id->cm.qp)
		xiw_host_qp_finish(xiw_qp(id->cm.qp)->host);
	pthread_mutex_unlock(&id->lock);
}

/* Returns the identifier that the event counts for. NULL: there is no memory for a request's. */
static struct xiw_id *translate(struct xiw_told *to, const struct xiw_host_event *from)
{
	struct xiw_id *id = from->context, *new;

	set_kind(&to->cm, from);
	to->cm.id = &id->cm;
	if (from->kind == XIW_HOST_REQUEST) {
		new = xiw_id_of_request(id, from);
		if (!new) {
			xiw_host_reject(from->request, NULL, 0);
			return NULL;
		}
		to->cm.id = &new->cm;
		to->cm.listen_id = &id->cm;
	} else if (from->kind == XIW_HOST_ESTABLISHED) {
		set_addresses(id);
	} else if (from->kind != XIW_HOST_OTHER) {
		id->ended = true;
		end_qp(id, from->kind);
	}
	to->cm.param.conn.responder_resources = depth(from->ird);
	to->cm.param.conn.initiator_depth = depth(from->ord);
	if (from->kind != XIW_HOST_OTHER && from->private_len) {
		uint8_t len = depth(from->private_len);

		memcpy(to->private_data, from->private_data, len);
		to->cm.param.conn.private_data = to->private_data;
		to->cm.param.conn.private_data_len = len;
	}
	return id;
}

/* ---- events --------------------------------------------------------------------------------------------- */

/* Returns 1 if there is one for the program, 0 if it is to be looked again, or negative errno. */
static int get(struct xiw_cm_channel *c, struct xiw_told *to)
{
	struct xiw_host_event from;
	int rc = c->real ? xiw_theirs_wait(c, &from) : xiw_host_eq_wait(c->eq, &from, -1);

	if (rc < 0)
		return rc;
	if (!rc) {
		rc = xiw_theirs_take(c, to);
		return rc < 0 ? -errno : rc;
	}
	if (translate(to, &from))
		return 1;
	/* Whoever has seen the channel readable does not wait for another event. */
	xiw_cm_acked(from.context);
	return -ENOMEM;
}

XIW_INTERPOSE int rdma_get_cm_event(struct rdma_event_channel *channel,
				    struct rdma_cm_event **event)
{
	struct xiw_told *to = calloc(1, sizeof(*to));
	int rc = 0;

	if (!to)
		return xiw_cm_result(-ENOMEM);
	while (!rc)
		rc = get((struct xiw_cm_channel *)channel, to);
	if (rc < 0) {
		free(to);
		return xiw_cm_result(rc);
	}
	*event = &to->cm;
	return 0;
}

/* For a synchronous identifier. The events of RNICs may have positive statuses: what the peer's refusal says. */
static int outcome(const struct rdma_cm_event *event)
{
	if (event->status && event->event == RDMA_CM_EVENT_REJECTED)
		return -ECONNREFUSED;
	return event->status > 0 ? -event->status : event->status;
}

int xiw_cm_complete(struct xiw_id *id)
{
	if (!id->sync)
		return 0;
	if (id->cm.event) {
		rdma_ack_cm_event(id->cm.event);
		id->cm.event = NULL;
	}
	if (rdma_get_cm_event(id->cm.channel, &id->cm.event))
		return -1;
	return xiw_cm_result(outcome(id->cm.event));
}

int xiw_theirs_complete(struct rdma_cm_id *cm, int rc)
{
	xiw_theirs_done(cm, rc);
	return rc || xiw_theirs(cm) == cm ? rc : xiw_cm_complete(xiw_id(cm));
}
