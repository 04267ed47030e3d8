// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Engines: their options, creation, destruction and report. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/opts.h"
#include "conn/conn.h"
#include "conn/listener.h"
#include "conn/stage.h"
#include "conn/unstarted.h"
#include "path/packet.h"
#include "core/blocks.h"
#include "core/budget.h"
#include "core/clock.h"
#include "core/cq.h"
#include "core/inbox.h"
#include "core/policy.h"
#include "core/netif.h"
#include "core/news.h"
#include "core/region.h"
#include "core/ring.h"
#include "core/srq.h"
#include "engine/create.h"
#include "engine/fork.h"
#include "engine/ready.h"
#include "engine/turn.h"

#define XIW_ENGINE_FLAGS (XIW_ENGINE_TRUST_CHECKSUM | XIW_ENGINE_APP_RING)

/* ---- report --------------------------------------------------------------------------------------- */

static uint64_t queued(const struct xiw_cq *q)
{
	struct xiw_cq_info i;

	xiw_cq_info(q, &i, sizeof(i));
	return i.queued;
}

void xiw_engine_info(const struct xiw_engine *e, struct xiw_engine_info *info, size_t size)
{
	struct xiw_engine_info i = {
		.memory = e->budget.used,
		.memory_most = e->budget.most,
		.memory_limit = e->budget.limit,
		.memory_refused = e->budget.refused,
		.unstarted_reset = e->unstarted.resets,
		.connections = e->nconns,
		.unstarted = e->unstarted.n,
		.queued = queued(&e->cq),
		.share_refused = e->unstarted.refused,
		.share_peer = e->unstarted.refused_peer,
	};

	i.ring = xiw_ring_name(e);
	xiw_ring_why(e, i.ring_why, sizeof(i.ring_why));
	for (const struct xiw_conn *c = e->agenda.slotless; c; c = c->reg.next_slotless)
		i.slotless++;
	for (const struct xiw_cq *q = e->cqs.made; q; q = q->next)
		i.cqs++;
	for (const struct xiw_srq *q = e->srqs; q; q = q->next)
		i.srqs++;
	xiw_opts_give(info, size, &i, sizeof(i));
}

uint64_t xiw_engine_queues(const struct xiw_engine *e, const char *ifname)
{
	for (const struct xiw_netif *p = e->netifs; p; p = p->next)
		if (!strcmp(p->ifname, ifname))
			return p->served;
	return 0;
}

/* ---- creation ------------------------------------------------------------------------------------ */

static bool power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

/* The size of the options in the first release. */
#define ENGINE_OPTS_FIRST 48

XIW_OPTS_WHOLE(struct xiw_engine_opts, interface);

/* Zeroed options have descriptor 0, so a descriptor counts only if XIW_ENGINE_APP_RING is set. */
static int take_app_ring(struct xiw_engine *e)
{
	if (e->opts.flags & XIW_ENGINE_APP_RING)
		return 0;
	if (e->opts.app_ring_fd && e->opts.app_ring_fd != -1)
		return -EINVAL;
	e->opts.app_ring_fd = -1;
	return 0;
}

int xiw_engine_opts_take(struct xiw_engine_opts *own, const struct xiw_engine_opts *opts)
{
	return xiw_opts_take(own, sizeof(*own), ENGINE_OPTS_FIRST, opts);
}

static int take_opts(struct xiw_engine *e, const struct xiw_engine_opts *opts)
{
	int err = xiw_engine_opts_take(&e->opts, opts);

	if (err)
		return err;
	if (e->opts.path > XIW_USE_DIRECT || e->opts.flags & ~(unsigned int)XIW_ENGINE_FLAGS ||
	    e->opts.reserved || e->opts.reserved_end || e->opts.spin_us > XIW_SPIN_MAX_US ||
	    (e->opts.memory && e->opts.memory < XIW_MEMORY_MIN))
		return -EINVAL;
	if (!e->opts.memory)
		e->opts.memory = XIW_MEMORY_DEFAULT;
	if (!e->opts.max_unstarted)
		e->opts.max_unstarted = xiw_unstarted_default();
	e->budget.limit = e->opts.memory;
	if (!e->opts.cq_entries)
		e->opts.cq_entries = 8192;
	if (!e->opts.frames)
		e->opts.frames = 8192;
	if (!e->opts.window)
		e->opts.window = 1 << 20;
	if (!power_of_two(e->opts.cq_entries) || e->opts.cq_entries < 4096 ||
	    !power_of_two(e->opts.frames) || e->opts.frames < 256 || e->opts.window < 4096 ||
	    e->opts.window > 1u << 29)
		return -EINVAL;
	if (!e->opts.pin_dir)
		e->opts.pin_dir = XIW_PIN_DIR;
	if (strlen(e->opts.pin_dir) >= sizeof(e->texts.pin_dir))
		return -ENAMETOOLONG;
	e->opts.pin_dir = strcpy(e->texts.pin_dir, e->opts.pin_dir);
	if (e->opts.interface && strlen(e->opts.interface) >= sizeof(e->texts.interface))
		return -ENAMETOOLONG;
	if (e->opts.interface)
		e->opts.interface = strcpy(e->texts.interface, e->opts.interface);
	return take_app_ring(e);
}

int xiw_engine_create(const struct xiw_engine_opts *opts, struct xiw_engine **engine)
{
	struct xiw_engine *e = aligned_alloc(64, (sizeof(*e) + 63) & ~63ul);
	char why[256];
	int err;

	if (!e)
		return -ENOMEM;
	memset(e, 0, sizeof(*e));
	e->injector = xiw_injector_none;
	e->watch.fd = e->inbox.fd = e->ready.fd = e->ready.share.bell = -1;
	e->wheel.next_ms = e->wheel.collect_ms = e->watch.look_ms = XIW_NEVER;
	e->ready.timer_ms = XIW_NEVER;
	e->agenda.starved_end = &e->agenda.starved;
	e->agenda.slotless_end = &e->agenda.slotless;
	e->agenda.stageless_end = &e->agenda.stageless;
	xiw_clock_update(e);
	err = take_opts(e, opts);
	if (!err)
		err = xiw_ring_create(e);
	if (!err && e->opts.flags & XIW_ENGINE_APP_RING)
		err = xiw_ring_can_announce_in(e, e->opts.app_ring_fd);
	if (!err)
		err = xiw_inbox_create(e);
	if (err)
		goto fail;
	err = xiw_cq_init(&e->cq, e, e->opts.cq_entries);
	if (err)
		goto fail;
	e->cq.app_ring_fd = e->opts.app_ring_fd;
	err = -ENOMEM;
	e->pools.kept_total = e->opts.frames / 2;
	e->pools.kept = xiw_budget_alloc(&e->budget, e->pools.kept_total * sizeof(*e->pools.kept));
	if (!e->pools.kept)
		goto fail;
	for (uint32_t i = 0; i < e->pools.kept_total; i++) {
		e->pools.kept[i].next_free = e->pools.kept_free;
		e->pools.kept_free = &e->pools.kept[i];
	}
	xiw_ddp_table_init(&e->regions, xiw_random, NULL);
	e->crc_policy = xiw_policy_crc(why, sizeof(why));
	if (getrandom(&e->unstarted.secret, sizeof(e->unstarted.secret), 0) < 0)
		e->unstarted.secret = e->now_ns;
	xiw_fork_add(e);
	*engine = e;
	return 0;
fail:
	xiw_engine_destroy(e);
	return err;
}

/*
 * No thread runs the engine: none ever did, or the one that did has ended, and the kernel ended its requests. What was
 * completed before is handled. All other requests are forgotten, as they will never complete.
 */
static void forget_requests(struct xiw_engine *e)
{
	xiw_turn_reap(e);
	for (struct xiw_listener *l = e->listeners; l; l = l->next)
		l->armed = false;
	e->accepts = 0;
	e->agenda.sending = 0;
	for (struct xiw_conn *c = e->conns, *next; c; c = next) {
		next = c->next;
		c->ops = 0;
		c->send.busy = false;
		xiw_conn_op_done(c);
	}
}

/* True while requests of connections or listeners are with io_uring. */
static bool requests(const struct xiw_engine *e)
{
	for (const struct xiw_conn *c = e->conns; c; c = c->next)
		if (c->ops)
			return true;
	return e->accepts;
}

/* The kernel must have ended all requests before the memory that they use is freed. */
static void wait_for_requests(struct xiw_engine *e)
{
	for (int i = 0; requests(e) && i < 1000; i++)
		xiw_engine_run(e, 1);
}

static void end_all(struct xiw_engine *e)
{
	e->destroying = true;
	xiw_inbox_close(e);
	xiw_listeners_end(e);
	xiw_conns_end(e);
	/* Nobody takes these completions, and xiw_engine_run() would not wait while some are in the queue. */
	e->cq.head = e->cq.tail;
	e->cq.overflow_n = 0;
}

/* Detaches the objects that the application has not freed yet. */
static void detach_all(struct xiw_engine *e)
{
	xiw_listeners_detach(e);
	xiw_conns_detach(e);
	xiw_regions_detach(e);
	xiw_cqs_detach(e);
	xiw_srqs_detach(e);
}

static void close_all(struct xiw_engine *e)
{
	detach_all(e);
	xiw_netifs_free(e);
	xiw_ring_free(e);
	xiw_inbox_free(e);
	xiw_ready_free(e);
	xiw_news_forget(e);
	if (e->watch.fd >= 0)
		close(e->watch.fd);
	xiw_injector_close(&e->injector);
}

int xiw_engine_destroy(struct xiw_engine *e)
{
	enum xiw_ring_runner owner = e ? xiw_ring_runner(e) : XIW_RUNNER_NONE;
	struct xiw_group *left = NULL;

	if (!e)
		return 0;
	if (owner == XIW_RUNNER_OTHER)
		return -EEXIST;
	if (e->group)
		left = e->group_ops->leave(e);
	if (owner == XIW_RUNNER_NONE && e->io.ready)
		forget_requests(e);
	end_all(e);
	if (left)
		e->group_ops->left(left);
	if (owner == XIW_RUNNER_SELF)
		wait_for_requests(e);
	xiw_fork_remove(e, close_all);
	xiw_ddp_table_free(&e->regions);
	xiw_stages_free(e);
	xiw_blocks_free(e);
	xiw_overflow_free(&e->cq);
	xiw_budget_free(&e->budget, e->pools.kept, e->pools.kept_total * sizeof(*e->pools.kept));
	free(e->cq.entries);
	free(e);
	return 0;
}
