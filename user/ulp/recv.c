// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Buffers for the peer's Sends. */
#include <errno.h>
#include <stdlib.h>

#include "base/opts.h"
#include "conn/conn.h"
#include "core/agenda.h"
#include "ulp/rdma.h"

/* The size of a receive in the first release that had it. */
#define RECV_FIRST 32

XIW_OPTS_WHOLE(struct xiw_rdma_recv, reserved);

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
 * may be posted, so none that is posted has it. NULL: no memory.
 */
static struct xiw_ddp_piece *room(struct xiw_rdma *r)
{
	const size_t places = r->conn->opts.recv_depth + 1;

	if (!r->recv_rooms) {
		if (!xiw_conn_charge(r->conn, places * sizeof(*r->recv_rooms)))
			return NULL;
		r->recv_rooms = malloc(places * sizeof(*r->recv_rooms));
	}
	return r->recv_rooms ? r->recv_rooms[r->recv_scattered % places] : NULL;
}

/* Posts one buffer. Empty pieces are left out. */
static int post_pieces(struct xiw_rdma *r, const struct xiw_rdma_recv *recv)
{
	const struct iovec *one = NULL;
	struct xiw_ddp_piece *keep;
	uint32_t n = 0;
	int err;

	for (unsigned int i = 0; i < recv->iov_count; i++) {
		if (!recv->iov[i].iov_len)
			continue;
		one = &recv->iov[i];
		n++;
	}
	if (n < 2)
		return xiw_rdma_post_recv(r, one ? one->iov_base : NULL,
					  one ? (uint32_t)one->iov_len : 0, recv->user_data);
	keep = room(r);
	if (!keep)
		return -ENOMEM;
	n = 0;
	for (unsigned int i = 0; i < recv->iov_count; i++)
		if (recv->iov[i].iov_len)
			keep[n++] = (struct xiw_ddp_piece){ recv->iov[i].iov_base,
							    recv->iov[i].iov_len };
	err = xiw_post_recv_pieces(r->conn, XIW_RDMAP_QN_SEND, keep, n, recv->user_data);
	r->recv_scattered += !err;
	return err;
}

static int post_one(struct xiw_rdma *r, const void *theirs, size_t size)
{
	struct xiw_rdma_recv recv;
	int err = xiw_opts_take(&recv, sizeof(recv), RECV_FIRST, theirs);

	/* The elements of an array have one size, by which the next one is found. */
	if (!err && (*(const size_t *)theirs != size || recv.reserved))
		err = -EINVAL;
	if (!err)
		err = check_pieces(&recv);
	return err ? err : post_pieces(r, &recv);
}

int xiw_rdma_post_recv_many(struct xiw_rdma *r, const struct xiw_rdma_recv *recv,
			    unsigned int count, unsigned int *posted)
{
	const size_t size = count ? recv->size : 0;
	unsigned int n = 0;
	int err = 0;

	while (!err && n < count) {
		err = post_one(r, (const uint8_t *)recv + n * size, size);
		n += !err;
	}
	if (posted)
		*posted = n;
	return err;
}
