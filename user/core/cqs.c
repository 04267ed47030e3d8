// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Completion queues that the application makes, and the outlets of connections that lead to them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <xiwarp/cq.h>

#include "base/opts.h"
#include "core/cq.h"
#include "core/orphan.h"
#include "core/ring.h"

/* The size of the options in the first release. */
#define CQ_OPTS_FIRST 24

XIW_OPTS_WHOLE(struct xiw_cq_opts, reserved);

#define ENTRIES_DEFAULT 256u

/* ---- queues -------------------------------------------------------------------------------------- */

int xiw_cq_init(struct xiw_cq *q, struct xiw_engine *e, uint32_t entries)
{
	q->engine = e;
	q->fd = q->app_ring_fd = -1;
	q->mask = entries - 1;
	q->entries = calloc(entries, sizeof(*q->entries));
	return q->entries ? 0 : -ENOMEM;
}

static uint32_t power_of_two_from(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

static int take_opts(const struct xiw_engine *e, struct xiw_cq_opts *o,
		     const struct xiw_cq_opts *opts)
{
	int err = xiw_opts_take(o, sizeof(*o), CQ_OPTS_FIRST, opts);

	if (err)
		return err;
	if (o->entries > XIW_CQ_ENTRIES_MAX || o->flags & ~(XIW_CQ_APP_RING | XIW_CQ_NOTIFY) ||
	    o->reserved)
		return -EINVAL;
	if (!o->entries)
		o->entries = ENTRIES_DEFAULT;
	if (o->flags & XIW_CQ_APP_RING)
		return xiw_ring_can_announce_in(e, o->app_ring_fd);
	if (o->app_ring_fd && o->app_ring_fd != -1)
		return -EINVAL;
	o->app_ring_fd = -1;
	return 0;
}

static void release(struct xiw_cq *q)
{
	if (q->fd >= 0)
		close(q->fd);
	free(q->entries);
	free(q);
}

static int make(struct xiw_engine *e, const struct xiw_cq_opts *o, struct xiw_cq *q)
{
	int err;

	memset(q, 0, sizeof(*q));
	err = xiw_cq_init(q, e, power_of_two_from(o->entries));
	if (err)
		return err;
	q->app_ring_fd = o->app_ring_fd;
	if (o->flags & XIW_CQ_NOTIFY) {
		q->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (q->fd < 0)
			return -errno;
	}
	return 0;
}

int xiw_cq_create(struct xiw_engine *e, const struct xiw_cq_opts *opts, struct xiw_cq **cq)
{
	struct xiw_cq_opts o;
	struct xiw_cq *q;
	size_t memory;
	int err = take_opts(e, &o, opts);

	if (err)
		return err;
	memory = sizeof(*q) + power_of_two_from(o.entries) * sizeof(*q->entries);
	if (!xiw_budget_take(&e->budget, memory))
		return -ENOMEM;
	q = aligned_alloc(64, (sizeof(*q) + 63) & ~63ul);
	err = q ? make(e, &o, q) : -ENOMEM;
	if (err) {
		xiw_budget_give(&e->budget, memory);
		if (q)
			release(q);
		return err;
	}
	q->memory = memory;
	q->at = &e->cqs.made;
	q->next = e->cqs.made;
	if (q->next)
		q->next->at = &q->next;
	e->cqs.made = q;
	*cq = q;
	return 0;
}

/* Completions are forgotten before the overflow is freed, as another thread may be taking them. */
static void leave_engine(struct xiw_cq *q)
{
	struct xiw_cq **at = &q->engine->cqs.overflowing;

	xiw_cq_forget(q, NULL);
	while (*at && *at != q)
		at = &(*at)->next_overflowing;
	if (*at)
		*at = q->next_overflowing;
	xiw_overflow_free(q);
	xiw_budget_give(&q->engine->budget, q->memory);
	*q->at = q->next;
	if (q->next)
		q->next->at = q->at;
	q->engine = NULL;
}

int xiw_cq_free(struct xiw_cq *q)
{
	if (!q)
		return 0;
	if (q->users)
		return -EBUSY;
	if (q->engine)
		leave_engine(q);
	else
		xiw_orphan_remove(&q->orphan);
	release(q);
	return 0;
}

void xiw_cqs_detach(struct xiw_engine *e)
{
	struct xiw_cq *q;

	while ((q = e->cqs.made)) {
		leave_engine(q);
		xiw_orphan_add(&q->orphan);
	}
}

int xiw_cq_fd(const struct xiw_cq *q)
{
	return q->fd >= 0 ? q->fd : -ENOENT;
}

int xiw_cq_arm(struct xiw_cq *q, bool solicited_only)
{
	if (q->fd < 0)
		return -ENOENT;
	__atomic_fetch_or(&q->armed, solicited_only ? XIW_CQ_SOLICITED : XIW_CQ_ANY,
			  __ATOMIC_ACQ_REL);
	return 0;
}

void xiw_cq_info(const struct xiw_cq *q, struct xiw_cq_info *info, size_t size)
{
	const struct xiw_cq_info i = {
		.entries = q->mask + 1,
		.streams = q->users,
		.queued = q->mask + 1 - xiw_cq_room_in(q) + q->overflow_n,
		.beyond = q->overflow_n,
		.total = q->told,
	};

	xiw_opts_give(info, size, &i, sizeof(i));
}

/* ---- outlets ------------------------------------------------------------------------------------- */

static void lead(struct xiw_outlet *o, struct xiw_cq *q)
{
	if (q)
		q->users++;
	if (o->cq)
		o->cq->users--;
	*o = (struct xiw_outlet){ .cq = q };
}

int xiw_outlets_set(struct xiw_conn *c, struct xiw_cq *sends, struct xiw_cq *recvs)
{
	if ((sends && sends->engine != c->engine) || (recvs && recvs->engine != c->engine))
		return -EINVAL;
	lead(&c->uses.outlets[XIW_OUTLET_SENDS], sends);
	lead(&c->uses.outlets[XIW_OUTLET_RECVS], recvs);
	return 0;
}

void xiw_outlets_leave(struct xiw_conn *c)
{
	xiw_outlets_set(c, NULL, NULL);
}
