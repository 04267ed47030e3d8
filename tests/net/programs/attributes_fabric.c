// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* attributes_fabric ADDRESS - each attribute of libfabric, set by an application of the provider, which has ADDRESS. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "tests/net/programs/attributes_fabric.h"

const char *fabric_host;
static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_eq *eq;
static struct fid_cq *cq;
static uint8_t memory[4096];

/* ---- endpoints ---- */

enum { E_SAME, E_TX_SIZE, E_RX_SIZE, E_INJECT, E_TYPE };

static int try_ep(uint64_t what)
{
	struct fi_info *i = fi_dupinfo(info);
	struct fid_ep *ep;
	int got;

	if (what == E_TX_SIZE)
		i->tx_attr->size = 1 << 20;
	if (what == E_RX_SIZE)
		i->rx_attr->size = 1 << 20;
	if (what == E_INJECT)
		i->tx_attr->inject_size = 1 << 20;
	if (what == E_TYPE)
		i->ep_attr->type = FI_EP_RDM;
	got = -fi_endpoint(domain, i, &ep, NULL);
	if (!got)
		MUST(fi_close(&ep->fid));
	fi_freeinfo(i);
	return got;
}

static int try_srx(uint64_t size)
{
	struct fi_rx_attr attr = { .size = size };
	struct fid_ep *srx;
	int got = -fi_srx_context(domain, &attr, &srx, NULL);

	if (!got)
		MUST(fi_close(&srx->fid));
	return got;
}

static struct fid_ep *endpoint_of(struct fi_info *i)
{
	struct fid_ep *ep;

	MUST(fi_endpoint(domain, i, &ep, NULL));
	MUST(fi_ep_bind(ep, &eq->fid, 0));
	MUST(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	MUST(fi_enable(ep));
	return ep;
}

static struct fid_ep *endpoint(void)
{
	return endpoint_of(info);
}

/* The library's socket is somewhere among the descriptors. */
static int class_of_connection(in_port_t port)
{
	struct sockaddr_in peer;
	socklen_t len;
	int class;

	for (int fd = 0; fd < 1 << 17; fd++) {
		len = sizeof(peer);
		if (getpeername(fd, (struct sockaddr *)&peer, &len) || peer.sin_port != port)
			continue;
		len = sizeof(class);
		MUST(getsockopt(fd, IPPROTO_IP, IP_TOS, &class, &len));
		return class;
	}
	die("no connection");
}

/* A connection to a listener that says nothing has the class. */
static int try_class(uint64_t what)
{
	struct sockaddr_storage to;
	socklen_t len = sizeof(to);
	struct fi_info *h = fabric_hints(), *found;
	int listener = socket(AF_INET, SOCK_STREAM, 0), peer, class;
	struct fid_ep *ep;

	if (!address_of(fabric_host, 0, &to) ||
	    bind(listener, (struct sockaddr *)&to, sizeof(struct sockaddr_in)) ||
	    listen(listener, 1) || getsockname(listener, (struct sockaddr *)&to, &len))
		die_errno("listener");
	set_fabric_tx(h->tx_attr, what);
	h->domain_attr->tclass = what == D_TCLASS ? fi_tc_dscp_set(10) : 0;
	MUST(fi_getinfo(FI_VERSION(1, 17), fabric_host, NULL, FI_SOURCE, h, &found));
	ep = endpoint_of(found);
	MUST(fi_connect(ep, &to, NULL, 0));
	peer = accept(listener, NULL, NULL);
	class = class_of_connection(((struct sockaddr_in *)&to)->sin_port);
	close(peer);
	close(listener);
	MUST(fi_close(&ep->fid));
	fi_freeinfo(found);
	fi_freeinfo(h);
	return class == 10 << 2 ? 0 : -1;
}

enum { C_BIND_CQ, C_SELECTIVE, C_SETOPT, C_GETOPT, C_OPT_OTHER, C_ENABLE, C_BACKLOG, C_SHUTDOWN };

static int try_control(uint64_t what)
{
	struct fid_ep *ep = endpoint(), *other;
	size_t value = 64, len = sizeof(value);
	struct fid_pep *pep;
	int got = 0;

	MUST(fi_endpoint(domain, info, &other, NULL));
	MUST(fi_passive_ep(fabric, info, &pep, NULL));
	if (what == C_BIND_CQ)
		got = -fi_ep_bind(other, &cq->fid, FI_TRANSMIT | FI_RECV | FI_REMOTE_READ);
	else if (what == C_SELECTIVE)
		got = -fi_ep_bind(other, &cq->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION);
	else if (what == C_SETOPT)
		got = -fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, len);
	else if (what == C_GETOPT)
		got = -fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &value, &len);
	else if (what == C_OPT_OTHER)
		got = -fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, &len);
	else if (what == C_ENABLE)
		got = -fi_control(&ep->fid, FI_ENABLE, NULL);
	else if (what == C_BACKLOG)
		got = -fi_control(&pep->fid, FI_BACKLOG, &value);
	else if (what == C_SHUTDOWN)
		got = -fi_shutdown(ep, 1);
	MUST(fi_close(&pep->fid));
	MUST(fi_close(&other->fid));
	MUST(fi_close(&ep->fid));
	return got;
}

static int try_pep_bind(uint64_t flags)
{
	struct fid_pep *pep;
	int got;

	MUST(fi_passive_ep(fabric, info, &pep, NULL));
	got = -fi_pep_bind(pep, &eq->fid, flags);
	MUST(fi_close(&pep->fid));
	return got;
}

/* ---- regions and queues ---- */

static int try_mr_with(struct fi_mr_attr attr, uint64_t flags)
{
	const struct iovec iov = { .iov_base = memory, .iov_len = sizeof(memory) };
	struct fid_mr *mr;
	int got;

	attr.mr_iov = &iov;
	attr.iov_count = attr.iov_count ? attr.iov_count : 1;
	got = -fi_mr_regattr(domain, &attr, flags, &mr);
	if (!got)
		MUST(fi_close(&mr->fid));
	return got;
}

static int try_access(uint64_t access)
{
	return try_mr_with((struct fi_mr_attr){ .access = access }, 0);
}

enum { M_OFFSET, M_KEY, M_CONTEXT, M_AUTH, M_IFACE, M_COUNT };

static int try_mr(uint64_t what)
{
	return try_mr_with((struct fi_mr_attr){ .access = FI_REMOTE_READ,
						.offset = what == M_OFFSET,
						.requested_key = what == M_KEY ? 77 : 0,
						.context = what == M_CONTEXT ? memory : NULL,
						.auth_key_size = what == M_AUTH ? 1 : 0,
						.auth_key = what == M_AUTH ? memory : NULL,
						.iface = what == M_IFACE ? FI_HMEM_CUDA
									 : FI_HMEM_SYSTEM,
						.iov_count = what == M_COUNT ? 2 : 1 },
			   0);
}

static int try_mr_flags(uint64_t flags)
{
	return try_mr_with((struct fi_mr_attr){ .access = FI_REMOTE_READ }, flags);
}

static int try_cq_with(struct fi_cq_attr attr)
{
	struct fid_cq *q;
	int got = -fi_cq_open(domain, &attr, &q, NULL);

	if (!got)
		MUST(fi_close(&q->fid));
	return got;
}

enum { Q_SIZE, Q_AFFINITY, Q_VECTOR, Q_FLAGS, Q_THRESHOLD, Q_SET };

static int try_cq(uint64_t what)
{
	return try_cq_with((struct fi_cq_attr){
		.size = what == Q_SIZE ? 1 << 20 : 0,
		.flags = what == Q_AFFINITY || what == Q_VECTOR ? FI_AFFINITY
			 : what == Q_FLAGS			? FI_READ
								: 0,
		.format = FI_CQ_FORMAT_DATA,
		.wait_obj = FI_WAIT_FD,
		.signaling_vector = what == Q_VECTOR,
		.wait_cond = what == Q_THRESHOLD ? FI_CQ_COND_THRESHOLD : FI_CQ_COND_NONE });
}

static int try_cq_format(uint64_t format)
{
	return try_cq_with((struct fi_cq_attr){ .format = (enum fi_cq_format)format });
}

static int try_cq_wait(uint64_t wait)
{
	return try_cq_with((struct fi_cq_attr){ .wait_obj = (enum fi_wait_obj)wait });
}

static int try_eq_with(struct fi_eq_attr attr, bool write, uint64_t write_flags)
{
	const struct fi_eq_entry entry = {};
	struct fid_eq *q;
	int got = -fi_eq_open(fabric, &attr, &q, NULL);

	if (got)
		return got;
	if (write) {
		got = (int)-fi_eq_write(q, FI_NOTIFY, &entry, sizeof(entry), write_flags);
		got = got < 0 ? 0 : got;
	}
	MUST(fi_close(&q->fid));
	return got;
}

enum { V_SIZE, V_WRITE, V_NO_WRITE, V_WRITE_FLAGS, V_AFFINITY, V_VECTOR, V_FLAGS };

static int try_eq(uint64_t what)
{
	const bool writes = what == V_WRITE || what == V_NO_WRITE || what == V_WRITE_FLAGS;

	return try_eq_with(
		(struct fi_eq_attr){
			.size = what == V_SIZE ? 1 << 20 : 0,
			.flags = (what == V_WRITE || what == V_WRITE_FLAGS ? FI_WRITE : 0) |
				 (what == V_AFFINITY || what == V_VECTOR ? FI_AFFINITY : 0) |
				 (what == V_FLAGS ? FI_READ : 0),
			.signaling_vector = what == V_VECTOR },
		writes, what == V_WRITE_FLAGS);
}

static int try_eq_wait(uint64_t wait)
{
	return try_eq_with((struct fi_eq_attr){ .wait_obj = (enum fi_wait_obj)wait }, false, 0);
}

static int try_av(uint64_t type)
{
	struct fi_av_attr attr = { .type = (enum fi_av_type)type };
	struct fid_av *av;

	return -fi_av_open(domain, &attr, &av, NULL);
}

static int try_cntr(uint64_t what)
{
	struct fi_cntr_attr attr = { .flags = what };
	struct fid_cntr *cntr;

	return -fi_cntr_open(domain, &attr, &cntr, NULL);
}

/* ---- flags of operations ---- */

/*
 * An endpoint without a connection takes no operation, and says so. What is wrong with the operation it says before.
 */
static int of_operation(ssize_t rc)
{
	return rc == -FI_ENOTCONN ? 0 : (int)-rc;
}

enum { SENDS = 1, READS, WRITES, RECVS };

static int try_operation(unsigned int kind, uint64_t flags)
{
	const struct iovec iov = { .iov_base = memory, .iov_len = 8 };
	const struct fi_rma_iov there = { .addr = 1, .len = 8, .key = 2 };
	const struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = memory };
	const struct fi_msg_rma rma = {
		.msg_iov = &iov, .iov_count = 1, .rma_iov = &there, .rma_iov_count = 1
	};
	struct fid_ep *ep = endpoint();
	struct fi_cq_err_entry err = {};
	ssize_t rc = kind == SENDS    ? fi_sendmsg(ep, &msg, flags)
		     : kind == READS  ? fi_readmsg(ep, &rma, flags)
		     : kind == WRITES ? fi_writemsg(ep, &rma, flags)
				      : fi_recvmsg(ep, &msg, flags);

	MUST(fi_close(&ep->fid));
	if (kind == RECVS && !rc)
		while (fi_cq_readerr(cq, &err, 0) > 0)
			;
	return of_operation(rc);
}

static int try_send(uint64_t flags)
{
	return try_operation(SENDS, flags);
}

static int try_read(uint64_t flags)
{
	return try_operation(READS, flags);
}

static int try_write(uint64_t flags)
{
	return try_operation(WRITES, flags);
}

static int try_recv(uint64_t flags)
{
	return try_operation(RECVS, flags);
}

/* ---- the table ---- */

#define INFO "fi_getinfo"

static const struct attribute rows[] = {
	{ INFO, "caps but FI_MSG, FI_RMA and theirs",
	  REFUSED(try_fabric_hint, H_CAPS, FI_ENODATA) },
	{ INFO, "addr_format", DOES(try_fabric_hint, H_FORMAT) },
	{ INFO, "nic", NOTHING(try_fabric_hint, H_NIC) },
	{ INFO, "tx_attr.op_flags", DOES(try_fabric_hint, TX_OP_FLAGS) },
	{ INFO, "tx_attr.op_flags, any other", REFUSED(try_fabric_hint, TX_OP_OTHER, FI_ENODATA) },
	{ INFO, "tx_attr.msg_order", DOES(try_fabric_hint, TX_MSG_ORDER) },
	{ INFO, "tx_attr.msg_order, behind Reads", REFUSED(try_fabric_hint, TX_RAR, FI_ENODATA) },
	{ INFO, "tx_attr.comp_order", DOES(try_fabric_hint, TX_COMP_ORDER) },
	{ INFO, "tx_attr.comp_order, FI_ORDER_DATA",
	  REFUSED(try_fabric_hint, TX_COMP_OTHER, FI_ENODATA) },
	{ INFO, "tx_attr.inject_size", DOES(try_fabric_hint, TX_INJECT) },
	{ INFO, "tx_attr.inject_size over 256",
	  REFUSED(try_fabric_hint, TX_INJECT_MORE, FI_ENODATA) },
	{ INFO, "tx_attr.size", DOES(try_fabric_hint, TX_SIZE) },
	{ INFO, "tx_attr.size over 16,384", REFUSED(try_fabric_hint, TX_SIZE_MORE, FI_ENODATA) },
	{ INFO, "tx_attr.iov_limit", DOES(try_fabric_hint, TX_IOV) },
	{ INFO, "tx_attr.iov_limit over 4", REFUSED(try_fabric_hint, TX_IOV_MORE, FI_ENODATA) },
	{ INFO, "tx_attr.rma_iov_limit over 1", REFUSED(try_fabric_hint, TX_RMA_IOV, FI_ENODATA) },
	{ INFO, "tx_attr.tclass, FI_TC_DSCP", DOES(try_class, TX_TCLASS) },
	{ INFO, "tx_attr.tclass, a label", NOTHING(try_fabric_hint, TX_LABEL) },
	{ INFO, "tx_attr.tclass, any other",
	  REFUSED(try_fabric_hint, TX_TCLASS_OTHER, FI_ENODATA) },
	{ INFO, "rx_attr.op_flags", DOES(try_fabric_hint, RX_OP_FLAGS) },
	{ INFO, "rx_attr.op_flags, any other", REFUSED(try_fabric_hint, RX_OP_OTHER, FI_ENODATA) },
	{ INFO, "rx_attr.msg_order", DOES(try_fabric_hint, RX_MSG_ORDER) },
	{ INFO, "rx_attr.comp_order", DOES(try_fabric_hint, RX_COMP_ORDER) },
	{ INFO, "rx_attr.total_buffered_recv", REFUSED(try_fabric_hint, RX_BUFFERED, FI_ENODATA) },
	{ INFO, "rx_attr.size", DOES(try_fabric_hint, RX_SIZE) },
	{ INFO, "rx_attr.size over 16,384", REFUSED(try_fabric_hint, RX_SIZE_MORE, FI_ENODATA) },
	{ INFO, "rx_attr.iov_limit over 4", REFUSED(try_fabric_hint, RX_IOV_MORE, FI_ENODATA) },
	{ INFO, "ep_attr.type but FI_EP_MSG", REFUSED(try_fabric_hint, EP_OTHER, FI_ENODATA) },
	{ INFO, "ep_attr.protocol but FI_PROTO_IWARP",
	  REFUSED(try_fabric_hint, EP_PROTOCOL, FI_ENODATA) },
	{ INFO, "ep_attr.protocol_version over 1",
	  REFUSED(try_fabric_hint, EP_VERSION, FI_ENODATA) },
	{ INFO, "ep_attr.max_msg_size over 4294967295",
	  REFUSED(try_fabric_hint, EP_SIZE, FI_ENODATA) },
	{ INFO, "ep_attr.msg_prefix_size", REFUSED(try_fabric_hint, EP_PREFIX, FI_ENODATA) },
	{ INFO, "ep_attr.max_order_raw_size", REFUSED(try_fabric_hint, EP_RAW, FI_ENODATA) },
	{ INFO, "ep_attr.max_order_war_size", REFUSED(try_fabric_hint, EP_WAR, FI_ENODATA) },
	{ INFO, "ep_attr.mem_tag_format", NOTHING(try_fabric_hint, EP_TAG) },
	{ INFO, "ep_attr.tx_ctx_cnt over 1", REFUSED(try_fabric_hint, EP_TX_CTX, FI_ENODATA) },
	{ INFO, "ep_attr.rx_ctx_cnt, shared", DOES(try_fabric_hint, EP_RX_SHARED) },
	{ INFO, "ep_attr.auth_key", REFUSED(try_fabric_hint, EP_KEY, FI_ENODATA) },
	{ INFO, "domain_attr.name of no interface", REFUSED(try_fabric_hint, D_NAME, FI_ENODATA) },
	{ INFO, "domain_attr.threading", NOTHING(try_fabric_hint, D_THREADING) },
	{ INFO, "domain_attr.control_progress", NOTHING(try_fabric_hint, D_PROGRESS) },
	{ INFO, "domain_attr.data_progress", NOTHING(try_fabric_hint, D_DATA_PROGRESS) },
	{ INFO, "domain_attr.resource_mgmt", NOTHING(try_fabric_hint, D_RM) },
	{ INFO, "domain_attr.av_type", NOTHING(try_fabric_hint, D_AV) },
	{ INFO, "domain_attr.mr_mode", DOES(try_fabric_hint, D_MR) },
	{ INFO, "domain_attr.mr_mode without these",
	  REFUSED(try_fabric_hint, D_MR_OTHER, FI_ENODATA) },
	{ INFO, "domain_attr.mr_key_size over 4",
	  REFUSED(try_fabric_hint, D_KEY_SIZE, FI_ENODATA) },
	{ INFO, "domain_attr.cq_data_size", DOES(try_fabric_hint, D_CQ_DATA) },
	{ INFO, "domain_attr.cq_data_size over 8",
	  REFUSED(try_fabric_hint, D_CQ_DATA_MORE, FI_ENODATA) },
	{ INFO, "domain_attr.cq_cnt and other counts", NOTHING(try_fabric_hint, D_COUNTS) },
	{ INFO, "domain_attr.mr_iov_limit over 1", REFUSED(try_fabric_hint, D_IOV, FI_ENODATA) },
	{ INFO, "domain_attr.tclass", DOES(try_class, D_TCLASS) },
	{ INFO, "domain_attr.caps, any other", REFUSED(try_fabric_hint, D_CAPS, FI_ENODATA) },
	{ INFO, "fabric_attr.name of another", REFUSED(try_fabric_hint, F_NAME, FI_ENODATA) },

	{ "fi_endpoint", "info", DOES(try_ep, E_SAME) },
	{ "fi_endpoint", "tx_attr, out of bounds", REFUSED(try_ep, E_TX_SIZE, FI_EINVAL) },
	{ "fi_endpoint", "rx_attr, out of bounds", REFUSED(try_ep, E_RX_SIZE, FI_EINVAL) },
	{ "fi_endpoint", "tx_attr.inject_size over 256", REFUSED(try_ep, E_INJECT, FI_EINVAL) },
	{ "fi_endpoint", "ep_attr.type but FI_EP_MSG", REFUSED(try_ep, E_TYPE, FI_EINVAL) },
	{ "fi_srx_context", "size", DOES(try_srx, 100) },
	{ "fi_srx_context", "size over 16,384", REFUSED(try_srx, 1 << 20, FI_EINVAL) },
	{ "fi_ep_bind", "FI_SELECTIVE_COMPLETION", DOES(try_control, C_SELECTIVE) },
	{ "fi_ep_bind", "any other flag for a CQ", REFUSED(try_control, C_BIND_CQ, FI_EBADFLAGS) },
	{ "fi_pep_bind", "flags but 0", REFUSED(try_pep_bind, 1, FI_EINVAL) },
	{ "fi_getopt", "FI_OPT_CM_DATA_SIZE", DOES(try_control, C_GETOPT) },
	{ "fi_getopt", "any other", REFUSED(try_control, C_OPT_OTHER, FI_ENOPROTOOPT) },
	{ "fi_setopt", "all", REFUSED(try_control, C_SETOPT, FI_ENOSYS) },
	{ "fi_control", "FI_ENABLE", DOES(try_control, C_ENABLE) },
	{ "fi_control", "FI_BACKLOG", DOES(try_control, C_BACKLOG) },
	{ "fi_shutdown", "flags but 0", REFUSED(try_control, C_SHUTDOWN, FI_EINVAL) },

	{ "fi_mr_regattr", "access, FI_RECV and FI_READ", DOES(try_access, FI_RECV | FI_READ) },
	{ "fi_mr_regattr", "access, FI_SEND and FI_WRITE",
	  NOTHING(try_access, FI_SEND | FI_WRITE) },
	{ "fi_mr_regattr", "access, FI_REMOTE_READ", DOES(try_access, FI_REMOTE_READ) },
	{ "fi_mr_regattr", "access, FI_REMOTE_WRITE", DOES(try_access, FI_REMOTE_WRITE) },
	{ "fi_mr_regattr", "access, any other", REFUSED(try_access, FI_TAGGED, FI_EINVAL) },
	{ "fi_mr_regattr", "offset but 0", REFUSED(try_mr, M_OFFSET, FI_EINVAL) },
	{ "fi_mr_regattr", "requested_key", NOTHING(try_mr, M_KEY) },
	{ "fi_mr_regattr", "context", DOES(try_mr, M_CONTEXT) },
	{ "fi_mr_regattr", "iov_count but 1", REFUSED(try_mr, M_COUNT, FI_EINVAL) },
	{ "fi_mr_regattr", "auth_key", REFUSED(try_mr, M_AUTH, FI_EINVAL) },
	{ "fi_mr_regattr", "iface, device", NOTHING(try_mr, M_IFACE) },
	{ "fi_mr_regattr", "flags", REFUSED(try_mr_flags, FI_RMA_EVENT, FI_EBADFLAGS) },

	{ "fi_cq_open", "size", NOTHING(try_cq, Q_SIZE) },
	FLAG_DOES("fi_cq_open", try_cq_format, FI_CQ_FORMAT_CONTEXT),
	FLAG_DOES("fi_cq_open", try_cq_format, FI_CQ_FORMAT_MSG),
	FLAG_DOES("fi_cq_open", try_cq_format, FI_CQ_FORMAT_DATA),
	FLAG_DOES("fi_cq_open", try_cq_format, FI_CQ_FORMAT_TAGGED),
	FLAG_DOES("fi_cq_open", try_cq_wait, FI_WAIT_NONE),
	FLAG_DOES("fi_cq_open", try_cq_wait, FI_WAIT_UNSPEC),
	FLAG_DOES("fi_cq_open", try_cq_wait, FI_WAIT_FD),
	{ "fi_cq_open", "wait_obj, any other",
	  REFUSED(try_cq_wait, FI_WAIT_MUTEX_COND, FI_ENOSYS) },
	{ "fi_cq_open", "wait_cond, FI_CQ_COND_THRESHOLD",
	  REFUSED(try_cq, Q_THRESHOLD, FI_ENOSYS) },
	{ "fi_cq_open", "FI_AFFINITY, signaling_vector 0", NOTHING(try_cq, Q_AFFINITY) },
	{ "fi_cq_open", "FI_AFFINITY, any other", REFUSED(try_cq, Q_VECTOR, FI_EINVAL) },
	{ "fi_cq_open", "any other flag", REFUSED(try_cq, Q_FLAGS, FI_EINVAL) },

	{ "fi_eq_open", "size", NOTHING(try_eq, V_SIZE) },
	{ "fi_eq_open", "FI_WRITE", DOES(try_eq, V_WRITE) },
	{ "fi_eq_open", "FI_AFFINITY, signaling_vector 0", NOTHING(try_eq, V_AFFINITY) },
	{ "fi_eq_open", "FI_AFFINITY, any other", REFUSED(try_eq, V_VECTOR, FI_EINVAL) },
	{ "fi_eq_open", "any other flag", REFUSED(try_eq, V_FLAGS, FI_EINVAL) },
	{ "fi_eq_open", "wait_obj, any other",
	  REFUSED(try_eq_wait, FI_WAIT_MUTEX_COND, FI_ENOSYS) },
	{ "fi_eq_write", "without FI_WRITE", REFUSED(try_eq, V_NO_WRITE, FI_EINVAL) },
	{ "fi_eq_write", "flags but 0", REFUSED(try_eq, V_WRITE_FLAGS, FI_EINVAL) },
	{ "fi_av_open", "all", REFUSED(try_av, FI_AV_TABLE, FI_ENOSYS) },
	{ "fi_cntr_open", "all", REFUSED(try_cntr, 0, FI_ENOSYS) },

	FLAG_DOES("fi_sendmsg", try_send, FI_COMPLETION),
	FLAG_DOES("fi_sendmsg", try_send, FI_INJECT),
	FLAG_DOES("fi_sendmsg", try_send, FI_FENCE),
	FLAG_NOTHING("fi_sendmsg", try_send, FI_INJECT_COMPLETE),
	FLAG_NOTHING("fi_sendmsg", try_send, FI_TRANSMIT_COMPLETE),
	FLAG_NOTHING("fi_sendmsg", try_send, FI_MORE),
	FLAG_REFUSED("fi_sendmsg", try_send, FI_REMOTE_CQ_DATA, FI_ENOSYS),
	FLAG_REFUSED("fi_sendmsg", try_send, FI_DELIVERY_COMPLETE, FI_EINVAL),
	{ "fi_sendmsg", "any other", REFUSED(try_send, FI_MULTICAST, FI_EINVAL) },
	FLAG_DOES("fi_writemsg", try_write, FI_COMPLETION),
	FLAG_DOES("fi_writemsg", try_write, FI_INJECT),
	FLAG_DOES("fi_writemsg", try_write, FI_FENCE),
	FLAG_DOES("fi_writemsg", try_write, FI_REMOTE_CQ_DATA),
	FLAG_REFUSED("fi_writemsg", try_write, FI_DELIVERY_COMPLETE, FI_EINVAL),
	FLAG_DOES("fi_readmsg", try_read, FI_COMPLETION),
	FLAG_DOES("fi_readmsg", try_read, FI_FENCE),
	FLAG_REFUSED("fi_readmsg", try_read, FI_REMOTE_CQ_DATA, FI_EINVAL),
	FLAG_DOES("fi_recvmsg", try_recv, FI_COMPLETION),
	FLAG_NOTHING("fi_recvmsg", try_recv, FI_MORE),
	FLAG_REFUSED("fi_recvmsg", try_recv, FI_MULTI_RECV, FI_EINVAL),
	{ "fi_recvmsg", "any other", REFUSED(try_recv, FI_CLAIM, FI_EINVAL) },
};

int main(int argc, char **argv)
{
	struct fi_eq_attr eq_attr = {};
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_DATA };
	struct fi_info *h = fabric_hints();
	unsigned int wrong;

	if (argc != 2)
		return 2;
	fabric_host = argv[1];
	MUST(fi_getinfo(FI_VERSION(1, 17), fabric_host, NULL, FI_SOURCE, h, &info));
	fi_freeinfo(h);
	MUST(fi_fabric(info->fabric_attr, &fabric, NULL));
	MUST(fi_domain(fabric, info, &domain, NULL));
	MUST(fi_eq_open(fabric, &eq_attr, &eq, NULL));
	MUST(fi_cq_open(domain, &cq_attr, &cq, NULL));
	wrong = carry_out(rows, sizeof(rows) / sizeof(*rows));
	MUST(fi_close(&cq->fid));
	MUST(fi_close(&eq->fid));
	MUST(fi_close(&domain->fid));
	MUST(fi_close(&fabric->fid));
	fi_freeinfo(info);
	return wrong ? 1 : 0;
}
