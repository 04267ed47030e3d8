// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Posting to queue pairs, from any thread: everything that can be wrong is found here. */
#include <errno.h>
#include <string.h>

#include "host/engines.h"
#include "host/qp.h"

/* ---- operations ------------------------------------------------------------------------------------------ */

static const struct {
	unsigned int flags;
	bool data, atomic, extended;
} kinds[] = {
	[XIW_RDMA_SEND] = { .flags = XIW_HOST_SOLICITED | XIW_HOST_INLINE | XIW_HOST_INVALIDATE,
			    .data = true },
	[XIW_RDMA_WRITE] = { .flags = XIW_HOST_INLINE, .data = true },
	[XIW_RDMA_READ] = { .data = true },
	[XIW_RDMA_IMMEDIATE] = { .flags = XIW_HOST_SOLICITED, .extended = true },
	[XIW_RDMA_WRITE_IMMEDIATE] = { .flags = XIW_HOST_SOLICITED | XIW_HOST_INLINE,
				       .data = true,
				       .extended = true },
	[XIW_RDMA_FETCH_ADD] = { .atomic = true, .extended = true },
	[XIW_RDMA_CMP_SWAP] = { .atomic = true, .extended = true },
};

static int check(const struct xiw_host_qp *qp, const struct xiw_host_wr *wr)
{
	if ((unsigned int)wr->kind >= sizeof(kinds) / sizeof(*kinds) ||
	    wr->flags & ~(kinds[wr->kind].flags | XIW_HOST_SIGNALED | XIW_HOST_FENCE))
		return -EINVAL;
	if (kinds[wr->kind].atomic ? wr->sge_count != 1 || wr->sge[0].len != 8
				   : wr->sge_count && !kinds[wr->kind].data)
		return -EINVAL;
	if (wr->sge_count > qp->sends.rules.max)
		return -EINVAL;
	if (kinds[wr->kind].extended && xiw_host_qp_state(qp) == XIW_HOST_OPEN && !qp->extended)
		return -EOPNOTSUPP;
	return 0;
}

/* Copies the octets of an inline operation. Returns how many, or -EINVAL. */
static int64_t copy(const struct xiw_host_wr *wr, uint8_t *bytes, size_t room, struct iovec *iov)
{
	size_t n = 0;

	for (unsigned int i = 0; i < wr->sge_count; i++) {
		if (wr->sge[i].len > room - n)
			return -EINVAL;
		if (wr->sge[i].len)
			memcpy(bytes + n, wr->sge[i].addr, wr->sge[i].len);
		n += wr->sge[i].len;
	}
	*iov = (struct iovec){ .iov_base = bytes, .iov_len = n };
	return (int64_t)n;
}

static unsigned int work_flags(unsigned int flags)
{
	return (flags & XIW_HOST_SOLICITED ? XIW_RDMA_SOLICITED : 0) |
	       (flags & XIW_HOST_FENCE ? XIW_RDMA_FENCE : 0) |
	       (flags & XIW_HOST_INVALIDATE ? XIW_RDMA_INVALIDATE : 0);
}

/*
 * A Read into one piece of a region has that region's STag as its sink, as an RNIC's has. All others get one of the
 * library for that Read.
 */
static void set_read(struct xiw_rdma_work *w, const struct xiw_host_sends *s,
		     const struct xiw_host_wr *wr)
{
	if (!s->rules.unchecked)
		w->flags |= XIW_RDMA_REGISTERED;
	if (wr->sge_count != 1 || s->rules.unchecked || !wr->sge->len)
		return;
	w->sink_stag = wr->sge->lkey;
	w->sink_to = (uintptr_t)wr->sge->addr;
	w->len = wr->sge->len;
	w->iov = NULL;
	w->iov_count = 0;
}

static int place(struct xiw_host_qp *qp, const struct xiw_host_wr *wr)
{
	struct xiw_host_sends *s = &qp->sends;
	const uint32_t at = s->head & s->mask;
	struct iovec *iov = &s->iov[at * s->rules.max];
	struct xiw_rdma_work *w = &s->work[at];
	struct xiw_host_sent *o = &s->sent[at];
	const bool copied = wr->flags & XIW_HOST_INLINE;
	const bool writes = wr->kind == XIW_RDMA_READ || wr->kind >= XIW_RDMA_FETCH_ADD;
	const uint64_t since = xiw_host_era();
	int64_t len = check(qp, wr);

	if (len)
		return (int)len;
	if (__atomic_load_n(&s->used, __ATOMIC_ACQUIRE) >= s->depth)
		return -ENOMEM;
	len = copied ? copy(wr, &s->bytes[(size_t)at * s->inline_max], s->inline_max, iov)
		     : xiw_host_pieces(wr->sge, wr->sge_count, &s->rules, writes, &s->seen, iov);
	if (len < 0)
		return (int)len;
	*w = (struct xiw_rdma_work){
		.size = sizeof(*w),
		.kind = wr->kind,
		.flags = work_flags(wr->flags),
		.iov = iov,
		.iov_count = copied ? 1 : wr->sge_count,
		.stag = wr->stag,
		.to = wr->to,
		.immediate = wr->immediate,
		.invalidate = wr->flags & XIW_HOST_INVALIDATE ? wr->invalidate : 0,
	};
	*o = (struct xiw_host_sent){
		.wr_id = wr->wr_id,
		.era = since,
		.length = (uint32_t)len,
		.kind = wr->kind,
		.signaled = qp->signal_all || wr->flags & XIW_HOST_SIGNALED,
	};
	if (wr->kind == XIW_RDMA_READ)
		set_read(w, s, wr);
	if (kinds[wr->kind].atomic) {
		o->atomic = wr->atomic;
		w->atomic = &o->atomic;
		w->iov_count = 0;
	}
	__atomic_fetch_add(&s->used, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&s->head, s->head + 1, __ATOMIC_SEQ_CST);
	return 0;
}

int xiw_host_post_send(struct xiw_host_qp *qp, const struct xiw_host_wr *wr, unsigned int count,
		       unsigned int *posted)
{
	unsigned int i = 0;
	int err = 0;

	if (xiw_host_dead(&qp->life)) {
		err = -ECANCELED;
	} else {
		pthread_mutex_lock(&qp->sends.lock);
		/* A connection that is refused makes the QP idle again with this lock (xiw_host_qp_rewind()). */
		if (xiw_host_qp_state(qp) == XIW_HOST_IDLE)
			err = -ENOTCONN;
		while (!err && i < count && !(err = place(qp, &wr[i])))
			i++;
		pthread_mutex_unlock(&qp->sends.lock);
	}
	if (i) {
		xiw_host_qp_call(qp);
		/* Behind other operations it would not leave at once, either. */
		if (__atomic_load_n(&qp->sends.used, __ATOMIC_RELAXED) == i)
			xiw_host_posted(__atomic_load_n(&qp->engine, __ATOMIC_RELAXED));
	}
	if (posted)
		*posted = i;
	return err;
}

/* ---- buffers --------------------------------------------------------------------------------------------- */

static int place_recv(struct xiw_host_recvs *r, const struct xiw_host_recv *recv)
{
	const uint32_t at = r->head & r->mask;
	struct iovec *iov = &r->iov[at * r->rules.max];
	const uint64_t since = xiw_host_era();
	int64_t len;

	if (__atomic_load_n(&r->used, __ATOMIC_ACQUIRE) >= r->depth)
		return -ENOMEM;
	len = xiw_host_pieces(recv->sge, recv->sge_count, &r->rules, true, &r->seen, iov);
	if (len < 0)
		return (int)len;
	r->recv[at] = (struct xiw_rdma_recv){
		.size = sizeof(*r->recv),
		.user_data = recv->wr_id,
		.iov = iov,
		.iov_count = recv->sge_count,
		.flags = r->rules.unchecked ? 0 : XIW_RDMA_RECV_REGISTERED,
	};
	r->buffers[at] = (struct xiw_host_buffer){ .era = since, .signaled = recv->signaled };
	__atomic_fetch_add(&r->used, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&r->head, r->head + 1, __ATOMIC_SEQ_CST);
	return 0;
}

int xiw_host_post_recv(struct xiw_host_qp *qp, const struct xiw_host_recv *recv, unsigned int count,
		       unsigned int *posted)
{
	unsigned int i = 0;
	int err = 0;

	if (xiw_host_dead(&qp->life))
		err = -ECANCELED;
	else if (qp->srq)
		err = -EINVAL;
	if (!err) {
		pthread_mutex_lock(&qp->recvs.lock);
		while (i < count && !(err = place_recv(&qp->recvs, &recv[i])))
			i++;
		pthread_mutex_unlock(&qp->recvs.lock);
	}
	if (i)
		xiw_host_qp_call(qp);
	if (posted)
		*posted = i;
	return err;
}
