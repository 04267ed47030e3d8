// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* RDMA Reads and Writes. With FI_REMOTE_CQ_DATA, Immediate Data follows the Write (RFC 7306 section 6). */
#include "fabric/fabric.h"

static ssize_t rma_readv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t src, uint64_t addr, uint64_t key, void *context)
{
	struct xiw_fi_ep *ep = (struct xiw_fi_ep *)fid;
	/* Where a Read goes is not known to have arrived before it completes: nothing can be injected. */
	const struct xiw_fi_op op = { .kind = XIW_RDMA_READ,
				      .flags = ep->op_flags & FI_COMPLETION,
				      .context = context,
				      .addr = addr,
				      .key = key };

	(void)desc;
	(void)src;
	return xiw_fi_post(ep, &op, iov, count);
}

static ssize_t rma_read(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
			uint64_t addr, uint64_t key, void *context)
{
	const struct iovec iov = { .iov_base = buf, .iov_len = len };

	return rma_readv(fid, &iov, &desc, 1, src, addr, key, context);
}

static ssize_t rma_msg(struct fid_ep *fid, const struct fi_msg_rma *msg, struct xiw_fi_op *op)
{
	if (msg->rma_iov_count != 1)
		return -FI_EINVAL;
	op->context = msg->context;
	op->addr = msg->rma_iov->addr;
	op->key = msg->rma_iov->key;
	op->data = msg->data;
	return xiw_fi_post((struct xiw_fi_ep *)fid, op, msg->msg_iov, msg->iov_count);
}

static ssize_t rma_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct xiw_fi_op op = { .kind = XIW_RDMA_READ, .flags = flags };

	return rma_msg(fid, msg, &op);
}

static ssize_t rma_writev(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			  fi_addr_t dest, uint64_t addr, uint64_t key, void *context)
{
	struct xiw_fi_ep *ep = (struct xiw_fi_ep *)fid;
	const struct xiw_fi_op op = { .kind = XIW_RDMA_WRITE,
				      .flags = ep->op_flags,
				      .context = context,
				      .addr = addr,
				      .key = key };

	(void)desc;
	(void)dest;
	return xiw_fi_post(ep, &op, iov, count);
}

static ssize_t rma_write(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			 fi_addr_t dest, uint64_t addr, uint64_t key, void *context)
{
	const struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };

	return rma_writev(fid, &iov, &desc, 1, dest, addr, key, context);
}

static ssize_t rma_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct xiw_fi_op op = { .kind = flags & FI_REMOTE_CQ_DATA ? XIW_RDMA_WRITE_IMMEDIATE
								  : XIW_RDMA_WRITE,
				.flags = flags };

	return rma_msg(fid, msg, &op);
}

static ssize_t rma_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest,
			  uint64_t addr, uint64_t key)
{
	const struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };
	const struct xiw_fi_op op = {
		.kind = XIW_RDMA_WRITE, .silent = true, .flags = FI_INJECT, .addr = addr, .key = key
	};

	(void)dest;
	return xiw_fi_post((struct xiw_fi_ep *)fid, &op, &iov, 1);
}

static ssize_t rma_writedata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			     uint64_t data, fi_addr_t dest, uint64_t addr, uint64_t key,
			     void *context)
{
	const struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct xiw_fi_ep *ep = (struct xiw_fi_ep *)fid;
	const struct xiw_fi_op op = { .kind = XIW_RDMA_WRITE_IMMEDIATE,
				      .flags = ep->op_flags,
				      .context = context,
				      .addr = addr,
				      .key = key,
				      .data = data };

	(void)desc;
	(void)dest;
	return xiw_fi_post(ep, &op, &iov, 1);
}

static ssize_t rma_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			      fi_addr_t dest, uint64_t addr, uint64_t key)
{
	const struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };
	const struct xiw_fi_op op = { .kind = XIW_RDMA_WRITE_IMMEDIATE,
				      .silent = true,
				      .flags = FI_INJECT,
				      .addr = addr,
				      .key = key,
				      .data = data };

	(void)dest;
	return xiw_fi_post((struct xiw_fi_ep *)fid, &op, &iov, 1);
}

struct fi_ops_rma xiw_fi_rma_ops = {
	.size = sizeof(xiw_fi_rma_ops),
	.read = rma_read,
	.readv = rma_readv,
	.readmsg = rma_readmsg,
	.write = rma_write,
	.writev = rma_writev,
	.writemsg = rma_writemsg,
	.inject = rma_inject,
	.writedata = rma_writedata,
	.injectdata = rma_injectdata,
};
