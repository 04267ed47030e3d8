// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Messages, and what all operations have in common. */
#include "fabric/fabric.h"

#define OP_FLAGS                                                                                   \
	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_MORE |         \
	 FI_FENCE | FI_REMOTE_CQ_DATA | XIW_FI_PRIORITY)

const char xiw_fi_silent;

/* ---- all operations ---------------------------------------------------------------------------------------- */

static ssize_t pieces(const struct iovec *iov, size_t count, bool in, struct xiw_host_sge *sge)
{
	unsigned int n = 0;

	if (count > XIW_FI_IOV_MAX)
		return -FI_EINVAL;
	for (size_t i = 0; i < count; i++) {
		/* Programs post buffers at NULL, of whatever length, for messages without octets. There is no room. */
		if (!iov[i].iov_len || (in && !iov[i].iov_base))
			continue;
		if (iov[i].iov_len > UINT32_MAX)
			return -FI_EMSGSIZE;
		sge[n++] = (struct xiw_host_sge){ .addr = iov[i].iov_base,
						  .len = (uint32_t)iov[i].iov_len };
	}
	return n;
}

static unsigned int wr_flags(const struct xiw_fi_ep *ep, const struct xiw_fi_op *op)
{
	const bool tell = !op->silent && (!ep->selective || op->flags & FI_COMPLETION);

	return (tell ? XIW_HOST_SIGNALED : 0) | (op->flags & FI_INJECT ? XIW_HOST_INLINE : 0) |
	       (op->flags & FI_FENCE ? XIW_HOST_FENCE : 0);
}

/* An operation that finds no place may be tried again when completions have been read. */
static int code(int err)
{
	return err == -FI_ENOMEM ? -FI_EAGAIN : err;
}

ssize_t xiw_fi_post(struct xiw_fi_ep *ep, const struct xiw_fi_op *op, const struct iovec *iov,
		    size_t count)
{
	const bool uses_buffer = op->kind == XIW_RDMA_SEND || op->kind == XIW_RDMA_WRITE_IMMEDIATE;
	struct xiw_host_sge sge[XIW_FI_IOV_MAX];
	const ssize_t n = pieces(iov, count, false, sge);
	const struct xiw_host_wr wr = {
		.wr_id = op->silent ? XIW_FI_SILENT : (uintptr_t)op->context,
		.kind = op->kind,
		.flags = wr_flags(ep, op),
		.sge = sge,
		.sge_count = (unsigned int)n,
		.stag = (uint32_t)op->key,
		.to = op->addr,
		.immediate = op->data,
	};
	int err;

	if (n < 0)
		return n;
	if (op->flags & ~OP_FLAGS || op->key > UINT32_MAX ||
	    (op->flags & FI_REMOTE_CQ_DATA && op->kind != XIW_RDMA_WRITE_IMMEDIATE))
		return -FI_EINVAL;
	if (!ep->qp)
		return -FI_EOPBADSTATE;
	if (uses_buffer && !xiw_fi_flow_take(ep, op->flags)) {
		xiw_fi_flow_posted(ep, 0);
		return -FI_EAGAIN;
	}
	err = xiw_host_post_send(ep->qp, &wr, 1, NULL);
	if (err && uses_buffer)
		xiw_fi_flow_return(ep);
	return code(err);
}

/* ---- Sends -------------------------------------------------------------------------------------------------- */

static ssize_t msg_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t dest, void *context)
{
	struct xiw_fi_ep *ep = (struct xiw_fi_ep *)fid;
	const struct xiw_fi_op op = { .kind = XIW_RDMA_SEND,
				      .flags = ep->op_flags,
				      .context = context };

	(void)desc;
	(void)dest;
	return xiw_fi_post(ep, &op, iov, count);
}

static ssize_t msg_send(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t dest,
			void *context)
{
	const struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };

	return msg_sendv(fid, &iov, &desc, 1, dest, context);
}

static ssize_t msg_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	const struct xiw_fi_op op = { .kind = XIW_RDMA_SEND,
				      .flags = flags,
				      .context = msg->context };

	/* No message of the RFCs has both octets for a buffer and Immediate Data. */
	if (flags & FI_REMOTE_CQ_DATA)
		return -FI_ENOSYS;
	return xiw_fi_post((struct xiw_fi_ep *)fid, &op, msg->msg_iov, msg->iov_count);
}

static ssize_t msg_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest)
{
	const struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };
	const struct xiw_fi_op op = { .kind = XIW_RDMA_SEND, .silent = true, .flags = FI_INJECT };

	(void)dest;
	return xiw_fi_post((struct xiw_fi_ep *)fid, &op, &iov, 1);
}

/* ---- buffers ------------------------------------------------------------------------------------------------ */

static ssize_t post_recv(struct fid_ep *fid, const struct iovec *iov, size_t count, uint64_t flags,
			 void *context)
{
	struct xiw_fi_ep *ep = (struct xiw_fi_ep *)fid;
	struct xiw_host_sge sge[XIW_FI_IOV_MAX];
	const ssize_t n = pieces(iov, count, true, sge);
	const struct xiw_host_recv recv = {
		.wr_id = (uintptr_t)context,
		.sge = sge,
		.sge_count = (unsigned int)n,
		.signaled = flags & FI_COMPLETION,
	};
	int err;

	if (n < 0)
		return n;
	if (flags & ~(FI_COMPLETION | FI_MORE))
		return -FI_EINVAL;
	if (fid->fid.fclass == FI_CLASS_SRX_CTX)
		return code(xiw_host_srq_post(((struct xiw_fi_srx *)fid)->host, &recv, 1, NULL));
	if (!ep->qp)
		return -FI_EOPBADSTATE;
	err = xiw_host_post_recv(ep->qp, &recv, 1, NULL);
	if (!err)
		xiw_fi_flow_posted(ep, 1);
	return code(err);
}

static uint64_t default_flags(const struct fid_ep *fid)
{
	const uint64_t flags = fid->fid.fclass == FI_CLASS_SRX_CTX
				       ? ((const struct xiw_fi_srx *)fid)->recv_flags
				       : ((const struct xiw_fi_ep *)fid)->recv_flags;

	return flags & FI_COMPLETION;
}

static ssize_t msg_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
			void *context)
{
	const struct iovec iov = { .iov_base = buf, .iov_len = len };

	(void)desc;
	(void)src;
	return post_recv(fid, &iov, 1, default_flags(fid), context);
}

static ssize_t msg_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t src, void *context)
{
	(void)desc;
	(void)src;
	return post_recv(fid, iov, count, default_flags(fid), context);
}

static ssize_t msg_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	return post_recv(fid, msg->msg_iov, msg->iov_count, flags, msg->context);
}

struct fi_ops_msg xiw_fi_msg_ops = {
	.size = sizeof(xiw_fi_msg_ops),
	.recv = msg_recv,
	.recvv = msg_recvv,
	.recvmsg = msg_recvmsg,
	.send = msg_send,
	.sendv = msg_sendv,
	.sendmsg = msg_sendmsg,
	.inject = msg_inject,
	.senddata = XIW_FI_NONE,
	.injectdata = XIW_FI_NONE,
};

struct fi_ops_msg xiw_fi_srx_msg_ops = {
	.size = sizeof(xiw_fi_srx_msg_ops),
	.recv = msg_recv,
	.recvv = msg_recvv,
	.recvmsg = msg_recvmsg,
	.send = XIW_FI_NONE,
	.sendv = XIW_FI_NONE,
	.sendmsg = XIW_FI_NONE,
	.inject = XIW_FI_NONE,
	.senddata = XIW_FI_NONE,
	.injectdata = XIW_FI_NONE,
};
