// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Flow control for ofi_rxm, which trusts the endpoint not to lose a Send for which the peer has no buffer. Against
 * other implementations of iWARP, which end the stream then, each side tells the other one in messages of ofi_rxm's how
 * many buffers it has posted. The table of functions is libfabric's own, and private to its providers ("ofix").
 *
 * By its rules both sides begin with one credit, which is kept for the message about credits: the last one is used for
 * such messages only, and one buffer is never told of.
 */
#include <strings.h>

#include "fabric/fabric.h"

#define OPS_NAME "ofix_flow_ctrl_v1"

struct ops {
	size_t size;
	bool (*available)(struct fid_ep *ep);
	int (*enable)(struct fid_ep *ep, uint64_t threshold);
	void (*add_credits)(struct fid_ep *ep, uint64_t credits);
	void (*set_send_handler)(struct fid_domain *domain,
				 ssize_t (*handler)(struct fid_ep *ep, uint64_t credits));
};

void xiw_fi_flow_init(struct xiw_fi_flow *flow)
{
	pthread_mutex_init(&flow->lock, NULL);
	flow->fresh = -1;
}

bool xiw_fi_flow_take(struct xiw_fi_ep *ep, uint64_t flags)
{
	struct xiw_fi_flow *flow = &ep->flow;
	bool there;

	if (!__atomic_load_n(&flow->enabled, __ATOMIC_ACQUIRE))
		return true;
	pthread_mutex_lock(&flow->lock);
	there = flow->peer > (flags & XIW_FI_PRIORITY ? 0 : 1);
	if (there)
		flow->peer--;
	pthread_mutex_unlock(&flow->lock);
	return there;
}

void xiw_fi_flow_return(struct xiw_fi_ep *ep)
{
	struct xiw_fi_flow *flow = &ep->flow;

	if (!__atomic_load_n(&flow->enabled, __ATOMIC_ACQUIRE))
		return;
	pthread_mutex_lock(&flow->lock);
	flow->peer++;
	pthread_mutex_unlock(&flow->lock);
}

void xiw_fi_flow_posted(struct xiw_fi_ep *ep, unsigned int posted)
{
	struct xiw_fi_flow *flow = &ep->flow;
	int64_t tell = 0;

	pthread_mutex_lock(&flow->lock);
	flow->fresh += posted;
	if (flow->enabled && flow->fresh > 0 && (uint64_t)flow->fresh >= flow->threshold) {
		tell = flow->fresh;
		flow->fresh = 0;
	}
	pthread_mutex_unlock(&flow->lock);
	/* The handler sends by this endpoint. If it cannot, the next call tries again. */
	if (tell && ep->domain->send_credits(&ep->fid, (uint64_t)tell)) {
		pthread_mutex_lock(&flow->lock);
		flow->fresh += tell;
		pthread_mutex_unlock(&flow->lock);
	}
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static bool available(struct fid_ep *fid)
{
	return !((struct xiw_fi_ep *)fid)->srx;
}

static int enable(struct fid_ep *fid, uint64_t threshold)
{
	struct xiw_fi_ep *ep = (struct xiw_fi_ep *)fid;

	if (ep->srx || !ep->domain->send_credits)
		return -FI_ENOSYS;
	pthread_mutex_lock(&ep->flow.lock);
	ep->flow.threshold = threshold;
	ep->flow.peer++;
	__atomic_store_n(&ep->flow.enabled, true, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&ep->flow.lock);
	xiw_fi_flow_posted(ep, 0);
	return 0;
}

static void add_credits(struct fid_ep *fid, uint64_t credits)
{
	struct xiw_fi_flow *flow = &((struct xiw_fi_ep *)fid)->flow;

	pthread_mutex_lock(&flow->lock);
	flow->peer += credits;
	pthread_mutex_unlock(&flow->lock);
}

static void set_send_handler(struct fid_domain *fid,
			     ssize_t (*handler)(struct fid_ep *ep, uint64_t credits))
{
	((struct xiw_fi_domain *)fid)->send_credits = handler;
}

static struct ops table = {
	.size = sizeof(table),
	.available = available,
	.enable = enable,
	.add_credits = add_credits,
	.set_send_handler = set_send_handler,
};

int xiw_fi_flow_open(const char *name, uint64_t flags, void **ops)
{
	if (flags)
		return -FI_EBADFLAGS;
	if (strcasecmp(name, OPS_NAME))
		return -FI_ENOSYS;
	*ops = &table;
	return 0;
}
