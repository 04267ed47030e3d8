// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Buffers for the peer's Sends. */
#include <errno.h>
#include <stdlib.h>

#include "base/opts.h"
#include "conn/conn.h"
#include "core/agenda.h"
#include "core/srq.h"
#include "path/hold.h"
#include "ulp/rdma.h"

/* The size of a receive in the first release that had it. */
#define RECV_FIRST 32

XIW_OPTS_WHOLE(struct xiw_rdma_recv, flags);

/* Where a buffer is posted: a stream's own queue, or a queue that streams share. */
struct target {
	struct xiw_rdma *rdma;
	struct xiw_srq *srq; /* NULL: rdma */
};

int xiw_rdma_post_recv(struct xiw_rdma *r, void *buf, uint32_t len, uint64_t user_data)
{
	return xiw_post_recv(r->conn, XIW_RDMAP_QN_SEND, buf, len, user_data);
}

static int check_pieces(const struct xiw_rdma_recv *recv)
{
	uint64_t len = 0;

	if (recv->iov_count > XIW_RDMA_PIECES_MAX || (recv->iov_count && !recv->iov))
		return -EINVAL;
	for (unsigned int i = 0; i < recv->iov_count; i++) {
		if (recv->iov[i].iov_len > UINT32_MAX - len ||
		    (recv->iov[i].iov_len && !recv->iov[i].iov_base))
			return -EINVAL;
		len += recv->iov[i].iov_len;
	}
	return 0;
}

/*
 * The place for the pieces of the next buffer. Buffers are used up in order, and there is one place more than buffers
 * may be posted, so none that is posted has it.
 */
static int own_room(struct xiw_rdma *r, struct xiw_ddp_piece **room)
{
	const size_t places = r->conn->opts.recv_depth + 1;

	/* Its engine may be gone as well. */
	if (r->conn->state == XIW_DEAD)
		return -ESHUTDOWN;
	if (!r->recv_rooms) {
		if (!xiw_conn_charge(r->conn, places * sizeof(*r->recv_rooms)))
			return -ENOMEM;
		r->recv_rooms = malloc(places * sizeof(*r->recv_rooms));
		if (!r->recv_rooms)
			return -ENOMEM;
	}
	*room = r->recv_rooms[r->recv_scattered % places];
	return 0;
}

/*
 * Messages that wait for a buffer may be placed now: one of them, but it is not known which one. The one that has
 * waited longest is put last, and tried first (xiw_retry()), so that a stream with many Sends does not have all.
 */
static int post_shared(struct xiw_srq *srq, struct xiw_ddp_buf b)
{
	int err = xiw_srq_post_buf(srq, &b);

	if (err || !srq->ddp.missed)
		return err;
	srq->ddp.missed = srq->ddp.empty = false;
	for (struct xiw_conn *c = srq->conns; c; c = c->uses.share.next)
		xiw_hold_posted(c);
	return 0;
}

int xiw_srq_post(struct xiw_srq *srq, void *buf, uint32_t len, uint64_t user_data)
{
	return post_shared(srq,
			   (struct xiw_ddp_buf){ .base = buf, .len = len, .user_data = user_data });
}

static int post_buf(const struct target *to, struct xiw_ddp_buf b)
{
	struct xiw_rdma *r = to->rdma;
	int err;

	if (to->srq)
		return post_shared(to->srq, b);
	err = xiw_post_recv_buf(r->conn, XIW_RDMAP_QN_SEND, &b);
	r->recv_scattered += !err && b.npieces;
	return err;
}

/* Says where the pieces of the next buffer have their place. */
static int find_room(const struct target *to, struct xiw_ddp_piece **room)
{
	return to->srq ? xiw_srq_room(to->srq, room) : own_room(to->rdma, room);
}

/* Posts one buffer. Empty pieces are left out. */
static int post_pieces(const struct target *to, const struct xiw_rdma_recv *recv)
{
	struct xiw_ddp_buf b = { .user_data = recv->user_data };
	struct xiw_ddp_piece *keep;
	uint32_t n = 0;
	int err;

	for (unsigned int i = 0; i < recv->iov_count; i++) {
		if (!recv->iov[i].iov_len)
			continue;
		b.base = recv->iov[i].iov_base;
		b.len = (uint32_t)recv->iov[i].iov_len;
		n++;
	}
	if (n > 1) {
		err = find_room(to, &keep);
		if (err)
			return err;
		n = 0;
		for (unsigned int i = 0; i < recv->iov_count; i++)
			if (recv->iov[i].iov_len)
				keep[n++] = (struct xiw_ddp_piece){ recv->iov[i].iov_base,
								    recv->iov[i].iov_len };
		b = xiw_ddp_buf_of(keep, n, recv->user_data);
	}
	b.registered = recv->flags & XIW_RDMA_RECV_REGISTERED;
	return post_buf(to, b);
}

static int post_one(const struct target *to, const void *theirs, size_t size)
{
	struct xiw_rdma_recv recv;
	int err = xiw_opts_take(&recv, sizeof(recv), RECV_FIRST, theirs);

	/* The elements of an array have one size, by which the next one is found. */
	if (!err &&
	    (*(const size_t *)theirs != size || recv.flags & ~(uint32_t)XIW_RDMA_RECV_REGISTERED))
		err = -EINVAL;
	if (!err)
		err = check_pieces(&recv);
	return err ? err : post_pieces(to, &recv);
}

static int post_many(const struct target *to, const struct xiw_rdma_recv *recv, unsigned int count,
		     unsigned int *posted)
{
	const size_t size = count ? recv->size : 0;
	unsigned int n = 0;
	int err = 0;

	while (!err && n < count) {
		err = post_one(to, (const uint8_t *)recv + n * size, size);
		n += !err;
	}
	if (posted)
		*posted = n;
	return err;
}

int xiw_rdma_post_recv_many(struct xiw_rdma *r, const struct xiw_rdma_recv *recv,
			    unsigned int count, unsigned int *posted)
{
	return post_many(&(struct target){ .rdma = r }, recv, count, posted);
}

int xiw_srq_post_many(struct xiw_srq *srq, const struct xiw_rdma_recv *recv, unsigned int count,
		      unsigned int *posted)
{
	return post_many(&(struct target){ .srq = srq }, recv, count, posted);
}
