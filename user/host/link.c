// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/eq.h"
#include "host/files.h"

/*
 * How long DISCONNECTED waits for the program to poll what came before. libfabric's verbs provider, for one, looks at
 * its events after its completions, and drops those that are behind.
 */
#define LAST_MS 20

/* As long as InfiniBand's timewait is, more or less: programs that are about to go are not troubled with the event. */
#define FORGET_MS 2000

/* Behind the Private Data of a peer that has this library and offers the extensions of RFC 7306. */
static const uint8_t offer_mark[8] = { 'x', 'i', 'w', 'a', 'r', 'p', 0x73, 0x06 };

_Static_assert(XIW_HOST_PRIVATE_MAX + sizeof(offer_mark) + 4 == XIW_PRIVATE_DATA_MAX,
	       "Private Data, the offer, and the depths of RFC 6581");

struct xiw_host_request *xiw_host_links;

struct xiw_host_request *xiw_host_link_new(void)
{
	struct xiw_host_request *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->last.item = xiw_host_eq_spare();
	if (!l->last.item) {
		free(l);
		return NULL;
	}
	xiw_host_born(&l->life);
	l->owners = 2;
	pthread_mutex_lock(&xiw_host_lock);
	l->all.at = &xiw_host_links;
	l->all.next = xiw_host_links;
	if (l->all.next)
		l->all.next->all.at = &l->all.next;
	xiw_host_links = l;
	pthread_mutex_unlock(&xiw_host_lock);
	return l;
}

/* With xiw_host_lock. */
static void take_out(struct xiw_host_request *l)
{
	*l->all.at = l->all.next;
	if (l->all.next)
		l->all.next->all.at = l->all.at;
}

static void release(struct xiw_host_request *l)
{
	free(l->last.item);
	free(l);
}

void xiw_host_link_free(struct xiw_host_request *l)
{
	pthread_mutex_lock(&xiw_host_lock);
	take_out(l);
	pthread_mutex_unlock(&xiw_host_lock);
	release(l);
}

/* With xiw_host_lock: how many connections of this process leave. */
static unsigned int leaving;
static struct xiw_host_life leaving_in;

void xiw_host_link_leave(struct xiw_host_request *l)
{
	if (xiw_host_dead(&leaving_in)) {
		xiw_host_born(&leaving_in);
		leaving = 0;
	}
	leaving += !l->leaving;
	l->leaving = true;
}

bool xiw_host_links_leave(void)
{
	return leaving && !xiw_host_dead(&leaving_in);
}

void xiw_host_link_drop(struct xiw_host_request *l)
{
	bool last;

	pthread_mutex_lock(&xiw_host_lock);
	last = !--l->owners;
	if (last)
		take_out(l);
	pthread_mutex_unlock(&xiw_host_lock);
	if (last)
		release(l);
}

int xiw_host_link_say(struct xiw_host_request *l, const void *data, size_t len, bool offer)
{
	if (len > XIW_HOST_PRIVATE_MAX || (len && !data))
		return -EINVAL;
	if (len)
		memcpy(l->private_data, data, len);
	l->private_len = (unsigned int)len;
	l->offered = offer;
	if (offer) {
		memcpy(l->private_data + len, offer_mark, sizeof(offer_mark));
		l->private_len += sizeof(offer_mark);
	}
	return 0;
}

bool xiw_host_link_heard(const struct xiw_conn *conn, struct xiw_host_event *event)
{
	size_t len = 0;
	const uint8_t *data = xiw_conn_private_data(conn, &len);
	bool offer = len >= sizeof(offer_mark) &&
		     !memcmp(data + len - sizeof(offer_mark), offer_mark, sizeof(offer_mark));

	if (offer)
		len -= sizeof(offer_mark);
	if (len)
		memcpy(event->private_data, data, len);
	event->private_len = (uint16_t)len;
	return offer;
}

int xiw_host_link_attach(struct xiw_host_request *l)
{
	struct xiw_host_qp *qp = l->qp;
	struct xiw_rdma_opts opts = {
		.size = sizeof(opts),
		.send_depth = 2 * qp->sends.depth, /* one with Immediate Data takes two places */
		.ird = l->ird,
		.ord = l->ord,
		.extended = l->offered,
		.immediate_apart = true,
	};
	int err = qp->srq ? xiw_host_srq_share(qp->srq, l->engine, &opts.srq) : 0;

	if (!err)
		err = xiw_rdma_attach(l->conn, &opts, &qp->rdma);
	if (!err)
		xiw_host_qp_apply_access(qp);
	return err;
}

int xiw_host_link_tell(struct xiw_host_request *l, struct xiw_host_event *event)
{
	int err;

	pthread_mutex_lock(&xiw_host_lock);
	event->context = l->context;
	err = l->eq ? xiw_host_eq_post(l->eq, event) : 0;
	pthread_mutex_unlock(&xiw_host_lock);
	return err;
}

static struct xiw_host_totals totals; /* with xiw_host_lock */

void xiw_host_totals(struct xiw_host_totals *to)
{
	pthread_mutex_lock(&xiw_host_lock);
	*to = totals;
	pthread_mutex_unlock(&xiw_host_lock);
}

/* With xiw_host_lock. What a connection receives after it was stopped does not count. */
static void add(struct xiw_host_request *l, const struct xiw_conn_info *info)
{
	if (l->octets.counted)
		return;
	l->octets.direct = info->octets_direct;
	l->octets.kernel = info->octets_kernel;
	if (!l->established)
		return;
	l->octets.counted = true;
	totals.connections++;
	totals.octets_direct += info->octets_direct;
	totals.octets_kernel += info->octets_kernel;
	if (info->no_direct[0])
		memcpy(totals.no_direct, info->no_direct, sizeof(totals.no_direct));
}

void xiw_host_link_count(struct xiw_host_request *l)
{
	struct xiw_conn_info info = {};

	xiw_conn_info(l->conn, &info, sizeof(info));
	pthread_mutex_lock(&xiw_host_lock);
	add(l, &info);
	pthread_mutex_unlock(&xiw_host_lock);
}

/* What the last event says. */
static void set_last(struct xiw_host_request *l, int status, struct xiw_host_event *event)
{
	struct xiw_conn_info info = {};

	if (l->conn)
		xiw_conn_info(l->conn, &info, sizeof(info));
	pthread_mutex_lock(&xiw_host_lock);
	add(l, &info);
	pthread_mutex_unlock(&xiw_host_lock);
	event->status = status;
	if (l->established) {
		event->kind = XIW_HOST_DISCONNECTED;
	} else if (info.rejected && l->initiator) {
		event->kind = XIW_HOST_REFUSED;
		event->status = -ECONNREFUSED;
		xiw_host_link_heard(l->conn, event);
	} else {
		event->kind = XIW_HOST_FAILED;
		if (l->end_asked)
			event->status = -ECANCELED;
		else if (l->refused)
			event->status = l->refused;
		else if (!status)
			event->status = -ECONNRESET;
		xiw_host_files_refused(event->status);
	}
}

void xiw_host_link_take_qp(struct xiw_host_request *l)
{
	pthread_mutex_lock(&xiw_host_lock);
	__atomic_store_n(&l->qp->engine, l->engine, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&xiw_host_lock);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* With xiw_host_lock. */
static void put_last(struct xiw_host_request *l, struct xiw_host_event *event)
{
	if (!l->eq)
		return;
	event->context = l->context;
	xiw_host_eq_put_spare(l->eq, event, l->last.item);
	l->last.item = NULL;
	if (l->last.forgets && event->kind == XIW_HOST_DISCONNECTED)
		l->last.item = xiw_host_eq_spare();
	l->last.forgets = l->last.item;
	if (l->last.forgets)
		return;
	xiw_host_eq_leave(l->eq);
	l->eq = NULL;
}

void xiw_host_link_tell_last(struct xiw_host_request *l)
{
	struct xiw_host_event event = { .kind = XIW_HOST_DISCONNECTED, .status = l->last.status };

	if (l->last.waits)
		put_last(l, &event);
	l->last.waits = false;
}

void xiw_host_link_part(struct xiw_host_request *l)
{
	struct xiw_host_event event = { .kind = XIW_HOST_DISCONNECTED };

	xiw_host_link_tell_last(l);
	if (l->established && !l->ended)
		put_last(l, &event);
	xiw_host_eq_leave(l->eq);
	l->eq = NULL;
	l->qp = NULL;
}

/*
 * Has the program still to poll what was done before the peer ended the connection? With an RNIC it had time for that,
 * as the event comes by way of the kernel.
 */
static bool owes(const struct xiw_host_request *l)
{
	return l->established && l->eq && !l->end_asked &&
	       (xiw_host_cq_owes(l->qp->recv_cq, l->qp) || xiw_host_cq_owes(l->qp->send_cq, l->qp));
}

static struct xiw_host_request *link_of(struct xiw_host_later *later)
{
	return (void *)((char *)later - offsetof(struct xiw_host_request, dial));
}

static void forget(struct xiw_engine *e, struct xiw_host_later *later)
{
	struct xiw_host_event event = { .kind = XIW_HOST_FORGOTTEN };
	struct xiw_host_request *l = link_of(later);

	(void)e;
	pthread_mutex_lock(&xiw_host_lock);
	put_last(l, &event);
	pthread_mutex_unlock(&xiw_host_lock);
	xiw_host_link_drop(l);
}

static void look(struct xiw_engine *e, struct xiw_host_later *later);

/* The engines have the connection until its last event has come. */
static void await_last(struct xiw_host_request *l)
{
	bool waits, forgets;

	pthread_mutex_lock(&xiw_host_lock);
	waits = l->last.waits;
	forgets = l->eq;
	pthread_mutex_unlock(&xiw_host_lock);
	l->dial.run = waits ? look : forget;
	if (waits || forgets)
		xiw_host_do_later(&l->dial, waits ? 1 : FORGET_MS);
	else
		xiw_host_link_drop(l);
}

static void look(struct xiw_engine *e, struct xiw_host_later *later)
{
	struct xiw_host_request *l = link_of(later);

	(void)e;
	pthread_mutex_lock(&xiw_host_lock);
	/* If it does not wait any more, the QP may be gone. */
	if (!l->last.waits || !owes(l) || ++l->last.looks == LAST_MS)
		xiw_host_link_tell_last(l);
	pthread_mutex_unlock(&xiw_host_lock);
	await_last(l);
}

/*
 * A connection that the peer has refused, or that does not reach it, is no use of the QP. It is idle when the program
 * hears of that, which then knows no connection. With xiw_host_lock.
 */
static void give_qp_back(struct xiw_host_request *l)
{
	xiw_host_qp_rewind(l->qp);
	l->qp->link = NULL;
	l->qp = NULL;
	l->owners--;
}

static void finish(struct xiw_host_request *l, int status)
{
	struct xiw_host_event event = {};
	bool back;

	set_last(l, status, &event);
	pthread_mutex_lock(&xiw_host_lock);
	back = l->qp && !l->used && !l->end_asked;
	pthread_mutex_unlock(&xiw_host_lock);
	if (l->qp)
		xiw_host_link_take_qp(l);
	if (l->qp && !back)
		xiw_host_qp_end(l->qp);
	xiw_conn_free(l->conn);
	l->conn = NULL;
	pthread_mutex_lock(&xiw_host_lock);
	if (back)
		give_qp_back(l);
	l->last.waits = owes(l);
	l->last.status = event.status;
	if (!l->last.waits)
		put_last(l, &event);
	l->ended = true;
	leaving -= l->leaving;
	pthread_cond_broadcast(&xiw_host_link_ended);
	pthread_mutex_unlock(&xiw_host_lock);
}

/* One that has not been established: nothing waits. */
void xiw_host_link_finish(struct xiw_host_request *l, int status)
{
	finish(l, status);
}

void xiw_host_link_end(struct xiw_host_request *l, int status)
{
	finish(l, status);
	await_last(l);
}

struct xiw_engine *xiw_host_link_settle(struct xiw_host_request *l, struct xiw_engine *e,
					struct xiw_conn *c)
{
	struct xiw_engine *was;

	pthread_mutex_lock(&xiw_host_lock);
	was = l->engine;
	if (!was) {
		l->conn = c;
		l->engine = e;
	}
	pthread_mutex_unlock(&xiw_host_lock);
	return was;
}

bool xiw_host_link_given_up(struct xiw_host_request *l)
{
	bool ended;

	pthread_mutex_lock(&xiw_host_lock);
	ended = l->ended;
	pthread_mutex_unlock(&xiw_host_lock);
	return ended;
}
