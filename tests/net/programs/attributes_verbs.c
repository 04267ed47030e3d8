// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * attributes_verbs ADDRESS - each attribute of libibverbs and librdmacm, set by a program under `xiwarp run
 * --extended`, whose device has ADDRESS.
 */
#include <netdb.h>
#include <sys/mman.h>

#include "tests/net/programs/attributes.h"
#include "tests/net/programs/verbs_ends.h"

/* That of the device itself. */
const char *peer_host, *peer_port = "7000";
struct side listening;

static struct side s;
static uint8_t memory[4096];

static int no(bool done)
{
	return done ? 0 : errno ? errno : -1;
}

/* ---- regions and queues ---------------------------------------------------------------------------------- */

/* Memory that is not there yet. */
static int try_mr_later(uint64_t access)
{
	void *at = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(s.pd, at, 4096, (int)access | IBV_ACCESS_LOCAL_WRITE);
	const int rc = mr ? ibv_dereg_mr(mr) : errno;

	return munmap(at, 4096) ? errno : rc;
}

static int try_mr(uint64_t access)
{
	const uint64_t changes = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
	struct ibv_mr *mr;

	if (access & changes)
		access |= IBV_ACCESS_LOCAL_WRITE;
	mr = ibv_reg_mr(s.pd, memory, sizeof(memory), (int)access);
	return mr ? ibv_dereg_mr(mr) : errno;
}

/* What is not the default's place of a call with several. */
enum { CQE, CQ_CONTEXT, CQ_CHANNEL, CQ_VECTOR };

static int try_cq(uint64_t what)
{
	struct ibv_cq *cq = ibv_create_cq(s.id->verbs, what == CQE ? 1000 : 1,
					  what == CQ_CONTEXT ? &s : NULL,
					  what == CQ_CHANNEL ? s.told : NULL, what == CQ_VECTOR);

	return cq ? ibv_destroy_cq(cq) : errno;
}

static int try_cq_ex(uint64_t what)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 1, .wc_flags = what };

	return no(ibv_create_cq_ex(s.id->verbs, &attr));
}

static int try_srq(uint64_t what)
{
	struct ibv_srq_init_attr init = { .srq_context = what == 0 ? &s : NULL,
					  .attr = { .max_wr = what == 1 ? 100 : 1,
						    .max_sge = what == 2 ? 4 : 1,
						    .srq_limit = what == 3 ? 7 : 0 } };
	struct ibv_srq *srq = ibv_create_srq(s.pd, &init);

	return srq ? ibv_destroy_srq(srq) : errno;
}

static int try_srq_ex(uint64_t mask)
{
	struct ibv_srq_init_attr_ex init = { .attr = { .max_wr = 1, .max_sge = 1 },
					     .comp_mask = (uint32_t)mask | IBV_SRQ_INIT_ATTR_PD,
					     .srq_type = IBV_SRQT_BASIC,
					     .pd = s.pd };
	struct ibv_srq *srq;

	if (mask & IBV_SRQ_INIT_ATTR_TM)
		init.srq_type = IBV_SRQT_TM;
	if (mask & (IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ))
		init.srq_type = IBV_SRQT_XRC;
	if (mask & (IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM))
		init.comp_mask |= IBV_SRQ_INIT_ATTR_TYPE;
	srq = ibv_create_srq_ex(s.id->verbs, &init);
	return srq ? ibv_destroy_srq(srq) : errno;
}

static int try_modify_srq(uint64_t mask)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq_attr attr = { .max_wr = 16, .srq_limit = 1 };
	struct ibv_srq *srq = ibv_create_srq(s.pd, &init);
	int got;

	IS(srq);
	got = ibv_modify_srq(srq, &attr, (int)mask);
	IS(!ibv_destroy_srq(srq));
	return got;
}

/* ---- queue pairs -------------------------------------------------------------------------------------------- */

static struct ibv_qp_init_attr_ex plain(void)
{
	return (struct ibv_qp_init_attr_ex){
		.send_cq = s.cq,
		.recv_cq = s.cq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = s.pd,
	};
}

static struct ibv_qp *make(struct ibv_qp_init_attr_ex *init)
{
	return init->comp_mask == IBV_QP_INIT_ATTR_PD
		       ? ibv_create_qp(s.pd, (struct ibv_qp_init_attr *)init)
		       : ibv_create_qp_ex(s.id->verbs, init);
}

static int try_qp_with(struct ibv_qp_init_attr_ex init)
{
	struct ibv_qp *qp = make(&init);

	return qp ? ibv_destroy_qp(qp) : errno;
}

enum { QP_CONTEXT, QP_SEND_CQ, QP_SRQ, QP_SEND_WR, QP_RECV_WR, QP_SGE, QP_INLINE, QP_SIG_ALL };

static int try_qp(uint64_t what)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr_ex init = plain();
	int got;

	init.qp_context = what == QP_CONTEXT ? &s : NULL;
	if (what == QP_SRQ)
		IS(init.srq = ibv_create_srq(s.pd, &srq));
	init.cap.max_send_wr = what == QP_SEND_WR ? 100 : 8;
	init.cap.max_recv_wr = what == QP_RECV_WR ? 100 : 8;
	init.cap.max_send_sge = init.cap.max_recv_sge = what == QP_SGE ? 8 : 1;
	init.cap.max_inline_data = what == QP_INLINE ? 200 : 0;
	init.sq_sig_all = what == QP_SIG_ALL;
	got = try_qp_with(init);
	IS(!init.srq || !ibv_destroy_srq(init.srq));
	return got;
}

static int try_qp_type(uint64_t type)
{
	struct ibv_qp_init_attr_ex init = plain();

	init.qp_type = (enum ibv_qp_type)type;
	return try_qp_with(init);
}

static int try_qp_mask(uint64_t mask)
{
	struct ibv_qp_init_attr_ex init = plain();

	init.comp_mask |= (uint32_t)mask;
	return try_qp_with(init);
}

static int try_qp_ops(uint64_t ops)
{
	struct ibv_qp_init_attr_ex init = plain();

	init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	init.send_ops_flags = ops;
	return try_qp_with(init);
}

static int try_modify(uint64_t mask)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp_init_attr_ex init = plain();
	struct ibv_qp *qp = make(&init);
	int got;

	IS(qp);
	if (mask == (IBV_QP_STATE | IBV_QP_DEST_QPN))
		attr.qp_state = IBV_QPS_RTR;
	got = ibv_modify_qp(qp, &attr, (int)mask);
	IS(!ibv_destroy_qp(qp));
	return got;
}

/* ---- requests ------------------------------------------------------------------------------------------------ */

/* Where all is flushed that was taken. */
static int post_one(struct ibv_send_wr *wr)
{
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp_init_attr_ex init = plain();
	struct ibv_send_wr *bad;
	struct ibv_qp *qp;
	struct ibv_wc wc;
	int got;

	init.cap.max_inline_data = 64;
	IS(qp = make(&init));
	IS(!ibv_modify_qp(qp, &error, IBV_QP_STATE));
	got = ibv_post_send(qp, wr, &bad);
	IS(!ibv_destroy_qp(qp));
	while (ibv_poll_cq(s.cq, 1, &wc) > 0)
		;
	return got;
}

static struct ibv_sge words(void)
{
	return (struct ibv_sge){ .addr = (uintptr_t)s.memory, .length = 8, .lkey = s.mr->lkey };
}

static int try_opcode(uint64_t opcode)
{
	struct ibv_sge sge = words();
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = (enum ibv_wr_opcode)opcode };

	return post_one(&wr);
}

/* Of a Send, or where it is meant: an RDMA Read. */
#define OF_READ (1ull << 32)

static int try_send_flag(uint64_t flag)
{
	struct ibv_sge sge = words();
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = flag & OF_READ ? IBV_WR_RDMA_READ : IBV_WR_SEND,
				  .send_flags = (unsigned int)flag };

	return post_one(&wr);
}

/* ---- librdmacm ------------------------------------------------------------------------------------------------ */

enum {
	P_DATA,
	P_RESOURCES,
	P_DEPTH,
	P_FLOW,
	P_RETRY,
	P_RNR,
	P_SRQ,
	P_QP_NUM,
};

/* To a port where nobody listens; that is found out later. */
static int try_param(uint64_t what)
{
	struct rdma_conn_param p = {
		.private_data = what == P_DATA ? "data" : NULL,
		.private_data_len = what == P_DATA ? 4 : 0,
		.responder_resources = what == P_RESOURCES ? 3 : 0,
		.initiator_depth = what == P_DEPTH ? 3 : 0,
		.flow_control = what == P_FLOW,
		.retry_count = what == P_RETRY ? 7 : 0,
		.rnr_retry_count = what == P_RNR ? 7 : 0,
		.srq = what == P_SRQ,
	};
	struct ibv_qp_init_attr_ex init = plain();
	struct ibv_qp *qp = NULL;
	struct side other = {};
	int got;

	resolve(&other, peer_host, 2);
	init.pd = other.id->pd;
	if (what == P_QP_NUM) {
		IS(qp = make(&init));
		p.qp_num = qp->qp_num;
	} else {
		IS(!rdma_create_qp(other.id, s.pd, (struct ibv_qp_init_attr *)&init));
	}
	got = no(!rdma_connect(other.id, &p));
	if (!got)
		take_event(other.channel, RDMA_CM_EVENT_REJECTED);
	if (other.id->qp)
		rdma_destroy_qp(other.id);
	IS(!qp || !ibv_destroy_qp(qp));
	IS(!rdma_destroy_id(other.id));
	rdma_destroy_event_channel(other.channel);
	return got;
}

static int try_option(uint64_t name)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	const size_t len = name == RDMA_OPTION_ID_REUSEADDR || name == RDMA_OPTION_ID_AFONLY ? 4
											     : 1;
	struct rdma_cm_id *id;
	int value = 1, got;

	IS(channel && !rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	got = no(!rdma_set_option(id, name & OF_READ ? RDMA_OPTION_IB : RDMA_OPTION_ID, (int)name,
				  &value, len));
	IS(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
	return got;
}

static int try_space(uint64_t space)
{
	struct rdma_cm_id *id;
	int got = no(!rdma_create_id(NULL, &id, NULL, (enum rdma_port_space)space));

	IS(got || !rdma_destroy_id(id));
	return got;
}

static int try_hints(struct rdma_addrinfo hints)
{
	struct rdma_addrinfo *found;
	int got = rdma_getaddrinfo(hints.ai_flags & RAI_PASSIVE ? NULL : peer_host, "7000", &hints,
				   &found);

	if (!got)
		rdma_freeaddrinfo(found);
	return got;
}

static int try_ai_flag(uint64_t flag)
{
	return try_hints((struct rdma_addrinfo){ .ai_flags = (int)flag, .ai_family = AF_INET });
}

static int try_ai_type(uint64_t type)
{
	return try_hints((struct rdma_addrinfo){ .ai_qp_type = (int)type });
}

enum { AI_FAMILY, AI_SPACE, AI_SRC, AI_DST, AI_NAMES, AI_ROUTE };

static int try_ai(uint64_t what)
{
	struct sockaddr_storage addr;
	struct rdma_addrinfo h = { .ai_family = what == AI_FAMILY ? AF_INET : 0,
				   .ai_port_space = what == AI_SPACE ? RDMA_PS_TCP : 0 };

	IS(address_of(peer_host, 0, &addr));
	if (what == AI_SRC) {
		h.ai_src_addr = (void *)&addr;
		h.ai_src_len = sizeof(struct sockaddr_in);
	} else if (what == AI_DST) {
		h.ai_dst_addr = (void *)&addr;
		h.ai_dst_len = sizeof(struct sockaddr_in);
	} else if (what == AI_NAMES) {
		h.ai_src_canonname = h.ai_dst_canonname = "name";
	} else if (what == AI_ROUTE) {
		h.ai_route = h.ai_connect = &addr;
		h.ai_route_len = h.ai_connect_len = 1;
	}
	return try_hints(h);
}

static int try_listen(uint64_t backlog)
{
	struct sockaddr_storage addr;
	struct rdma_cm_id *id;
	int got;

	IS(address_of(peer_host, 0, &addr));
	IS(!rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	IS(!rdma_bind_addr(id, (struct sockaddr *)&addr));
	got = no(!rdma_listen(id, (int)backlog));
	IS(!rdma_destroy_id(id));
	return got;
}

static int try_resolve(uint64_t ms)
{
	struct sockaddr_storage addr;
	struct rdma_cm_id *id;
	int got;

	IS(address_of(peer_host, 7000, &addr));
	IS(!rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	got = no(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, (int)ms) &&
		 !rdma_resolve_route(id, (int)ms));
	IS(!rdma_destroy_id(id));
	return got;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

#define MR "ibv_reg_mr"
#define CQ "ibv_create_cq"
#define SRQ "ibv_create_srq"
#define QP "ibv_create_qp"
#define MODIFY "ibv_modify_qp"
#define SEND "ibv_post_send"
#define PARAM "rdma_connect"
#define OPTION "rdma_set_option"
#define HINTS "rdma_getaddrinfo"

static const struct attribute rows[] = {
	FLAG_DOES(MR, try_mr, IBV_ACCESS_LOCAL_WRITE),
	FLAG_DOES(MR, try_mr, IBV_ACCESS_REMOTE_WRITE),
	FLAG_DOES(MR, try_mr, IBV_ACCESS_REMOTE_READ),
	FLAG_DOES(MR, try_mr, IBV_ACCESS_REMOTE_ATOMIC),
	FLAG_DOES(MR, try_mr, IBV_ACCESS_ZERO_BASED),
	FLAG_NOTHING(MR, try_mr, IBV_ACCESS_HUGETLB),
	FLAG_NOTHING(MR, try_mr, IBV_ACCESS_RELAXED_ORDERING),
	FLAG_REFUSED(MR, try_mr, IBV_ACCESS_MW_BIND, EOPNOTSUPP),
	FLAG_DOES(MR, try_mr_later, IBV_ACCESS_ON_DEMAND),
	{ MR, "any other", REFUSED(try_mr, 1 << 8, EOPNOTSUPP) },

	{ CQ, "cqe", NOTHING(try_cq, CQE) },
	{ CQ, "cq_context", DOES(try_cq, CQ_CONTEXT) },
	{ CQ, "channel", DOES(try_cq, CQ_CHANNEL) },
	{ CQ, "comp_vector but 0", REFUSED(try_cq, CQ_VECTOR, EINVAL) },
	{ CQ "_ex", "all", REFUSED(try_cq_ex, 0, EOPNOTSUPP) },

	{ SRQ, "srq_context", DOES(try_srq, 0) },
	{ SRQ, "attr.max_wr", DOES(try_srq, 1) },
	{ SRQ, "attr.max_sge", DOES(try_srq, 2) },
	{ SRQ, "attr.srq_limit", NOTHING(try_srq, 3) },
	FLAG_DOES(SRQ "_ex", try_srq_ex, IBV_SRQ_INIT_ATTR_TYPE),
	FLAG_DOES(SRQ "_ex", try_srq_ex, IBV_SRQ_INIT_ATTR_PD),
	FLAG_REFUSED(SRQ "_ex", try_srq_ex, IBV_SRQ_INIT_ATTR_XRCD, EOPNOTSUPP),
	FLAG_REFUSED(SRQ "_ex", try_srq_ex, IBV_SRQ_INIT_ATTR_CQ, EOPNOTSUPP),
	FLAG_REFUSED(SRQ "_ex", try_srq_ex, IBV_SRQ_INIT_ATTR_TM, EOPNOTSUPP),
	FLAG_DOES("ibv_modify_srq", try_modify_srq, IBV_SRQ_LIMIT),
	FLAG_REFUSED("ibv_modify_srq", try_modify_srq, IBV_SRQ_MAX_WR, EOPNOTSUPP),
	{ "ibv_modify_srq", "any other", REFUSED(try_modify_srq, 1 << 5, EINVAL) },

	{ QP, "qp_context", DOES(try_qp, QP_CONTEXT) },
	{ QP, "send_cq, recv_cq", DOES(try_qp, QP_SEND_CQ) },
	{ QP, "srq", DOES(try_qp, QP_SRQ) },
	{ QP, "cap.max_send_wr", DOES(try_qp, QP_SEND_WR) },
	{ QP, "cap.max_recv_wr", DOES(try_qp, QP_RECV_WR) },
	{ QP, "cap.max_send_sge, max_recv_sge", DOES(try_qp, QP_SGE) },
	{ QP, "cap.max_inline_data", DOES(try_qp, QP_INLINE) },
	{ QP, "sq_sig_all", DOES(try_qp, QP_SIG_ALL) },
	FLAG_DOES(QP, try_qp_type, IBV_QPT_RC),
	FLAG_REFUSED(QP, try_qp_type, IBV_QPT_UC, EOPNOTSUPP),
	FLAG_REFUSED(QP, try_qp_type, IBV_QPT_UD, EOPNOTSUPP),
	FLAG_REFUSED(QP, try_qp_type, IBV_QPT_RAW_PACKET, EOPNOTSUPP),
	FLAG_REFUSED(QP, try_qp_type, IBV_QPT_XRC_SEND, EOPNOTSUPP),
	FLAG_REFUSED(QP, try_qp_type, IBV_QPT_XRC_RECV, EOPNOTSUPP),
	FLAG_REFUSED(QP, try_qp_type, IBV_QPT_DRIVER, EOPNOTSUPP),
	FLAG_DOES(QP "_ex", try_qp_mask, IBV_QP_INIT_ATTR_PD),
	{ QP "_ex", "IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, 0", NOTHING(try_qp_ops, 0) },
	{ QP "_ex", "IBV_QP_INIT_ATTR_SEND_OPS_FLAGS", REFUSED(try_qp_ops, 1, EOPNOTSUPP) },
	FLAG_REFUSED(QP "_ex", try_qp_mask, IBV_QP_INIT_ATTR_XRCD, EOPNOTSUPP),
	FLAG_REFUSED(QP "_ex", try_qp_mask, IBV_QP_INIT_ATTR_CREATE_FLAGS, EOPNOTSUPP),
	FLAG_REFUSED(QP "_ex", try_qp_mask, IBV_QP_INIT_ATTR_MAX_TSO_HEADER, EOPNOTSUPP),
	FLAG_REFUSED(QP "_ex", try_qp_mask, IBV_QP_INIT_ATTR_IND_TABLE, EOPNOTSUPP),
	FLAG_REFUSED(QP "_ex", try_qp_mask, IBV_QP_INIT_ATTR_RX_HASH, EOPNOTSUPP),

	FLAG_DOES(MODIFY, try_modify, IBV_QP_STATE),
	FLAG_DOES(MODIFY, try_modify, IBV_QP_ACCESS_FLAGS),
	FLAG_NOTHING(MODIFY, try_modify, IBV_QP_CUR_STATE),
	FLAG_NOTHING(MODIFY, try_modify, IBV_QP_PKEY_INDEX),
	FLAG_NOTHING(MODIFY, try_modify, IBV_QP_PORT),
	FLAG_NOTHING(MODIFY, try_modify, IBV_QP_QKEY),
	FLAG_NOTHING(MODIFY, try_modify, IBV_QP_AV),
	FLAG_NOTHING(MODIFY, try_modify, IBV_QP_PATH_MTU),
	FLAG_NOTHING(MODIFY, try_modify, IBV_QP_TIMEOUT),
	FLAG_NOTHING(MODIFY, try_modify, IBV_QP_RETRY_CNT),
	FLAG_NOTHING(MODIFY, try_modify, IBV_QP_RNR_RETRY),
	FLAG_NOTHING(MODIFY, try_modify, IBV_QP_RQ_PSN),
	FLAG_NOTHING(MODIFY, try_modify, IBV_QP_MAX_QP_RD_ATOMIC),
	FLAG_NOTHING(MODIFY, try_modify, IBV_QP_MIN_RNR_TIMER),
	FLAG_NOTHING(MODIFY, try_modify, IBV_QP_SQ_PSN),
	FLAG_NOTHING(MODIFY, try_modify, IBV_QP_MAX_DEST_RD_ATOMIC),
	FLAG_NOTHING(MODIFY, try_modify, IBV_QP_DEST_QPN),
	{ MODIFY, "IBV_QP_AV, IBV_QP_DEST_QPN to RTR",
	  REFUSED(try_modify, IBV_QP_STATE | IBV_QP_DEST_QPN, EINVAL) },
	FLAG_REFUSED(MODIFY, try_modify, IBV_QP_EN_SQD_ASYNC_NOTIFY, EOPNOTSUPP),
	FLAG_REFUSED(MODIFY, try_modify, IBV_QP_ALT_PATH, EOPNOTSUPP),
	FLAG_REFUSED(MODIFY, try_modify, IBV_QP_PATH_MIG_STATE, EOPNOTSUPP),
	FLAG_REFUSED(MODIFY, try_modify, IBV_QP_CAP, EOPNOTSUPP),
	FLAG_REFUSED(MODIFY, try_modify, IBV_QP_RATE_LIMIT, EOPNOTSUPP),

	FLAG_DOES(SEND, try_opcode, IBV_WR_SEND),
	FLAG_DOES(SEND, try_opcode, IBV_WR_SEND_WITH_INV),
	FLAG_DOES(SEND, try_opcode, IBV_WR_RDMA_WRITE),
	FLAG_DOES(SEND, try_opcode, IBV_WR_RDMA_READ),
	FLAG_DOES(SEND, try_opcode, IBV_WR_RDMA_WRITE_WITH_IMM),
	FLAG_DOES(SEND, try_opcode, IBV_WR_ATOMIC_CMP_AND_SWP),
	FLAG_DOES(SEND, try_opcode, IBV_WR_ATOMIC_FETCH_AND_ADD),
	FLAG_REFUSED(SEND, try_opcode, IBV_WR_SEND_WITH_IMM, EINVAL),
	FLAG_REFUSED(SEND, try_opcode, IBV_WR_LOCAL_INV, EINVAL),
	FLAG_REFUSED(SEND, try_opcode, IBV_WR_BIND_MW, EINVAL),
	FLAG_REFUSED(SEND, try_opcode, IBV_WR_TSO, EINVAL),
	FLAG_REFUSED(SEND, try_opcode, IBV_WR_DRIVER1, EINVAL),
	FLAG_REFUSED(SEND, try_opcode, IBV_WR_ATOMIC_WRITE, EINVAL),
	FLAG_DOES(SEND, try_send_flag, IBV_SEND_FENCE),
	FLAG_DOES(SEND, try_send_flag, IBV_SEND_SIGNALED),
	FLAG_DOES(SEND, try_send_flag, IBV_SEND_SOLICITED),
	{ SEND, "IBV_SEND_SOLICITED, RDMA Read",
	  NOTHING(try_send_flag, OF_READ | IBV_SEND_SOLICITED) },
	FLAG_DOES(SEND, try_send_flag, IBV_SEND_INLINE),
	{ SEND, "IBV_SEND_INLINE, RDMA Read",
	  REFUSED(try_send_flag, OF_READ | IBV_SEND_INLINE, EINVAL) },
	FLAG_REFUSED(SEND, try_send_flag, IBV_SEND_IP_CSUM, EINVAL),
	{ SEND, "any other flag", REFUSED(try_send_flag, 1 << 7, EINVAL) },

	FLAG_DOES("rdma_create_id", try_space, RDMA_PS_TCP),
	FLAG_DOES("rdma_create_id", try_space, RDMA_PS_IB),
	FLAG_REFUSED("rdma_create_id", try_space, RDMA_PS_UDP, EPROTONOSUPPORT),
	FLAG_REFUSED("rdma_create_id", try_space, RDMA_PS_IPOIB, EPROTONOSUPPORT),
	{ PARAM, "private_data", DOES(try_param, P_DATA) },
	{ PARAM, "responder_resources", DOES(try_param, P_RESOURCES) },
	{ PARAM, "initiator_depth", DOES(try_param, P_DEPTH) },
	{ PARAM, "flow_control", NOTHING(try_param, P_FLOW) },
	{ PARAM, "retry_count", NOTHING(try_param, P_RETRY) },
	{ PARAM, "rnr_retry_count", NOTHING(try_param, P_RNR) },
	{ PARAM, "srq", NOTHING(try_param, P_SRQ) },
	{ PARAM, "qp_num", DOES(try_param, P_QP_NUM) },
	FLAG_DOES(OPTION, try_option, RDMA_OPTION_ID_TOS),
	FLAG_DOES(OPTION, try_option, RDMA_OPTION_ID_AFONLY),
	FLAG_NOTHING(OPTION, try_option, RDMA_OPTION_ID_REUSEADDR),
	FLAG_NOTHING(OPTION, try_option, RDMA_OPTION_ID_ACK_TIMEOUT),
	{ OPTION, "RDMA_OPTION_IB_PATH", REFUSED(try_option, OF_READ | 1, ENOSYS) },
	{ OPTION, "any other", REFUSED(try_option, 9, ENOSYS) },
	{ "rdma_listen", "backlog", DOES(try_listen, 5) },
	{ "rdma_resolve_addr", "timeout_ms", NOTHING(try_resolve, 1) },
	{ HINTS, "RAI_PASSIVE", DOES(try_ai_flag, RAI_PASSIVE) },
	{ HINTS, "RAI_NUMERICHOST", DOES(try_ai_flag, RAI_NUMERICHOST) },
	{ HINTS, "RAI_NOROUTE", NOTHING(try_ai_flag, RAI_NOROUTE) },
	{ HINTS, "RAI_FAMILY", NOTHING(try_ai_flag, RAI_FAMILY) },
	{ HINTS, "ai_family", DOES(try_ai, AI_FAMILY) },
	{ HINTS, "ai_qp_type, IBV_QPT_RC", DOES(try_ai_type, IBV_QPT_RC) },
	{ HINTS, "ai_qp_type, any other", REFUSED(try_ai_type, IBV_QPT_UD, EAI_SOCKTYPE) },
	{ HINTS, "ai_port_space", DOES(try_ai, AI_SPACE) },
	{ HINTS, "ai_src_addr", DOES(try_ai, AI_SRC) },
	{ HINTS, "ai_dst_addr", DOES(try_ai, AI_DST) },
	{ HINTS, "ai_src_canonname, ai_dst_canonname", NOTHING(try_ai, AI_NAMES) },
	{ HINTS, "ai_route, ai_connect", NOTHING(try_ai, AI_ROUTE) },
};

int main(int argc, char **argv)
{
	unsigned int wrong;

	if (argc != 2)
		return 2;
	peer_host = argv[1];
	resolve(&s, peer_host, 7000);
	add_queues(&s);
	wrong = carry_out(rows, sizeof(rows) / sizeof(*rows));
	free_side(&s);
	return wrong ? 1 : 0;
}
