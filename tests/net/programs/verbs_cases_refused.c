// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a device of ours does not have is refused in the way that the manual of each function names, whether it is a
 * function of the libraries or one of those that the header makes of the context's operations.
 */
#include "tests/net/programs/verbs_ends.h"

#include <sys/mman.h>
#include <unistd.h>

#include <rdma/rdma_verbs.h>
#include <rdma/rsocket.h>

/* The three ways in which functions of these libraries tell of an error. */
#define NULL_FOR(why, call) IS((errno = 0, !(call)) && errno == (why))
#define MINUS_FOR(why, call) IS((errno = 0, (call)) == -1 && errno == (why))
#define CODE(why, call) IS((call) == (why))

static void addresses(struct side *s)
{
	struct ibv_ah_attr attr = { .port_num = 1 };
	union ibv_gid gid = {};
	struct ibv_wc wc = {};
	uint8_t mac[6];
	uint16_t vid;

	NULL_FOR(EOPNOTSUPP, ibv_create_ah(s->pd, &attr));
	NULL_FOR(EOPNOTSUPP, ibv_create_ah_from_wc(s->pd, &wc, NULL, 1));
	MINUS_FOR(EOPNOTSUPP, ibv_init_ah_from_wc(s->id->verbs, 1, &wc, NULL, &attr));
	CODE(EOPNOTSUPP, ibv_attach_mcast(s->id->qp, &gid, 0));
	CODE(EOPNOTSUPP, ibv_detach_mcast(s->id->qp, &gid, 0));
	CODE(EOPNOTSUPP, ibv_resolve_eth_l2_from_gid(s->id->verbs, &attr, mac, &vid));
}

/* As the kernel does it for an RNIC, which would have to pin the memory. */
static void unmapped(struct side *s)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *at = mmap(NULL, 4 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	IS(at != MAP_FAILED && !munmap(at + 2 * page, page));
	NULL_FOR(EFAULT, ibv_reg_mr(s->pd, at + 2 * page, 1, IBV_ACCESS_REMOTE_READ));
	NULL_FOR(EFAULT, ibv_reg_mr(s->pd, at, 4 * page, IBV_ACCESS_REMOTE_READ));
	NULL_FOR(EFAULT, ibv_reg_mr(s->pd, at, page, IBV_ACCESS_LOCAL_WRITE));
	NULL_FOR(EFAULT, ibv_reg_mr_iova(s->pd, at, page, 0, IBV_ACCESS_LOCAL_WRITE));
	IS(mr = ibv_reg_mr(s->pd, at, 2 * page, IBV_ACCESS_REMOTE_READ));
	IS(!ibv_dereg_mr(mr));
	IS(mr = ibv_reg_mr(s->pd, at, 4 * page, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND));
	IS(!ibv_dereg_mr(mr) && !munmap(at, 4 * page));
}

static void memory(struct side *s)
{
	struct ibv_alloc_dm_attr dm = { .length = 64 };
	struct ibv_sge sge = sge_of(s, 0, 64);

	NULL_FOR(EOPNOTSUPP, ibv_import_pd(s->id->verbs, 1));
	NULL_FOR(EOPNOTSUPP, ibv_import_mr(s->pd, 1));
	NULL_FOR(EOPNOTSUPP, ibv_import_dm(s->id->verbs, 1));
	NULL_FOR(EOPNOTSUPP, ibv_reg_dmabuf_mr(s->pd, 0, 64, 0, 0, IBV_ACCESS_LOCAL_WRITE));
	NULL_FOR(EINVAL, ibv_reg_mr(s->pd, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND));
	NULL_FOR(EOPNOTSUPP, ibv_reg_mr(s->pd, s->memory, 64, IBV_ACCESS_MW_BIND));
	NULL_FOR(EINVAL, ibv_reg_mr(s->pd, s->memory, 64, IBV_ACCESS_REMOTE_WRITE));
	NULL_FOR(EOPNOTSUPP, ibv_alloc_null_mr(s->pd));
	NULL_FOR(EOPNOTSUPP, ibv_alloc_mw(s->pd, IBV_MW_TYPE_1));
	NULL_FOR(EOPNOTSUPP, ibv_alloc_dm(s->id->verbs, &dm));
	IS((errno = 0, ibv_rereg_mr(s->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0)) ==
		   IBV_REREG_MR_ERR_INPUT &&
	   errno == EOPNOTSUPP);
	CODE(EOPNOTSUPP, ibv_advise_mr(s->pd, (enum ibv_advise_mr_advice)77, 0, &sge, 1));
	CODE(EINVAL, ibv_advise_mr(s->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 2, &sge, 1));
	CODE(EINVAL, ibv_advise_mr(s->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 0));
	sge.length = OCTETS + 1;
	CODE(EINVAL, ibv_advise_mr(s->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1));
	sge = (struct ibv_sge){ (uintptr_t)s->memory, 64, s->mr->lkey + 1 };
	CODE(EINVAL, ibv_advise_mr(s->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1));
}

static void domains_and_flows(struct side *s)
{
	struct ibv_parent_domain_init_attr parent = { .pd = s->pd };
	struct ibv_counters_init_attr counters = {};
	struct ibv_xrcd_init_attr xrcd = {};
	struct ibv_td_init_attr td = {};
	struct ibv_values_ex values = {};
	struct ibv_flow_attr flow = {};

	NULL_FOR(EOPNOTSUPP, ibv_open_xrcd(s->id->verbs, &xrcd));
	NULL_FOR(EOPNOTSUPP, ibv_alloc_td(s->id->verbs, &td));
	NULL_FOR(EOPNOTSUPP, ibv_alloc_parent_domain(s->id->verbs, &parent));
	NULL_FOR(EOPNOTSUPP, ibv_create_counters(s->id->verbs, &counters));
	NULL_FOR(EOPNOTSUPP, ibv_create_flow(s->id->qp, &flow));
	CODE(EOPNOTSUPP, ibv_query_rt_values_ex(s->id->verbs, &values));
}

static void queues(struct side *s)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET,
						  IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV };
	struct ibv_qp_init_attr init = { .send_cq = s->cq, .recv_cq = s->cq };
	struct ibv_qp_init_attr_ex extended = { .send_cq = s->cq,
						.recv_cq = s->cq,
						.qp_type = IBV_QPT_RC,
						.pd = s->pd,
						.send_ops_flags = IBV_QP_EX_WITH_SEND,
						.comp_mask = IBV_QP_INIT_ATTR_PD |
							     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS };
	struct ibv_srq_init_attr_ex shared = { .attr = { .max_wr = 1, .max_sge = 1 },
					       .comp_mask = IBV_SRQ_INIT_ATTR_TYPE |
							    IBV_SRQ_INIT_ATTR_PD,
					       .srq_type = IBV_SRQT_XRC,
					       .pd = s->pd };
	struct ibv_cq_init_attr_ex cq = { .cqe = 1 };
	struct ibv_wq_init_attr wq = { .pd = s->pd, .cq = s->cq };
	struct ibv_modify_cq_attr moderation = {};
	struct ibv_ece ece = {};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		init.qp_type = types[i];
		NULL_FOR(EOPNOTSUPP, ibv_create_qp(s->pd, &init));
	}
	NULL_FOR(EOPNOTSUPP, ibv_create_qp_ex(s->id->verbs, &extended));
	NULL_FOR(EOPNOTSUPP, ibv_create_srq_ex(s->id->verbs, &shared));
	NULL_FOR(EOPNOTSUPP, ibv_create_cq_ex(s->id->verbs, &cq));
	NULL_FOR(EOPNOTSUPP, ibv_create_wq(s->id->verbs, &wq));
	CODE(EOPNOTSUPP, ibv_modify_cq(s->cq, &moderation));
	NULL_FOR(EOPNOTSUPP, ibv_qp_to_qp_ex(s->id->qp));
	CODE(0, ibv_query_qp_data_in_order(s->id->qp, IBV_WR_RDMA_WRITE, 0));
	CODE(EOPNOTSUPP, ibv_query_ece(s->id->qp, &ece));
	CODE(EOPNOTSUPP, ibv_set_ece(s->id->qp, &ece));
}

static void identifiers(struct side *s)
{
	struct rdma_cm_join_mc_attr_ex join = {};
	struct ibv_qp_init_attr_ex qp = { .comp_mask = IBV_QP_INIT_ATTR_XRCD };
	struct ibv_srq_init_attr_ex srq = { .comp_mask = IBV_SRQ_INIT_ATTR_XRCD };
	struct rdma_cm_id *other = NULL;
	struct ibv_ece ece = {};
	uint8_t path = 0;

	MINUS_FOR(EPROTONOSUPPORT, rdma_create_id(s->channel, &other, NULL, RDMA_PS_UDP));
	MINUS_FOR(EPROTONOSUPPORT, rdma_create_id(s->channel, &other, NULL, RDMA_PS_IPOIB));
	IS(!other);
	MINUS_FOR(EOPNOTSUPP, rdma_create_qp_ex(s->id, &qp));
	MINUS_FOR(EOPNOTSUPP, rdma_create_srq_ex(s->id, &srq));
	MINUS_FOR(EOPNOTSUPP, rdma_join_multicast(s->id, &s->id->route.addr.src_addr, NULL));
	MINUS_FOR(EOPNOTSUPP, rdma_join_multicast_ex(s->id, &join, NULL));
	MINUS_FOR(EOPNOTSUPP, rdma_leave_multicast(s->id, &s->id->route.addr.src_addr));
	MINUS_FOR(EOPNOTSUPP, rdma_set_local_ece(s->id, &ece));
	MINUS_FOR(EOPNOTSUPP, rdma_get_remote_ece(s->id, &ece));
	MINUS_FOR(ENOSYS, rdma_set_option(s->id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &path, 1));
	MINUS_FOR(ENODEV, rsocket(AF_INET, SOCK_STREAM, 0));
}

/* And the connection has not noticed. */
static void is_refused(void)
{
	struct side s = {};

	connect_side(&s);
	addresses(&s);
	memory(&s);
	unmapped(&s);
	domains_and_flows(&s);
	queues(&s);
	identifiers(&s);
	IS(!post(&s, IBV_WR_SEND, 1, 16, IBV_SEND_SIGNALED));
	completed(s.cq, 1, IBV_WC_SUCCESS);
	IS(!rdma_disconnect(s.id));
	await_end(&s);
	free_side(&s);
}

static void takes_one(void)
{
	struct side s = {};

	accept_side(&s, 1);
	completed(s.cq, 100, IBV_WC_SUCCESS);
	await_end(&s);
	free_side(&s);
}

const struct verbs_case cases_of_refusals[] = {
	{ "refused", is_refused, takes_one },
	{},
};
