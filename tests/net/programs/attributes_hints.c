// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Of attributes_fabric.c: what an application asks fi_getinfo() for. */
#include "tests/net/programs/attributes_fabric.h"

#define DATA_ORDER (1u << 16) /* FI_ORDER_DATA of libfabric 1; libfabric 2 warns of the name */

struct fi_info *fabric_hints(void)
{
	struct fi_info *h = fi_allocinfo();

	if (!h)
		die("no memory");
	h->caps = FI_MSG | FI_RMA;
	h->mode = FI_RX_CQ_DATA;
	h->ep_attr->type = FI_EP_MSG;
	h->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	h->fabric_attr->prov_name = strdup("xiwarp");
	return h;
}

void set_fabric_tx(struct fi_tx_attr *a, uint64_t what)
{
	a->op_flags = what == TX_OP_FLAGS   ? FI_TRANSMIT_COMPLETE
		      : what == TX_OP_OTHER ? FI_FENCE
					    : 0;
	a->msg_order = what == TX_MSG_ORDER ? FI_ORDER_SAS : what == TX_RAR ? FI_ORDER_RAR : 0;
	a->comp_order = what == TX_COMP_ORDER ? 0x1ff : what == TX_COMP_OTHER ? DATA_ORDER : 0;
	a->inject_size = what == TX_INJECT ? 100 : what == TX_INJECT_MORE ? 100000 : 0;
	a->size = what == TX_SIZE ? 100 : what == TX_SIZE_MORE ? 1 << 20 : 0;
	a->iov_limit = what == TX_IOV ? 4 : what == TX_IOV_MORE ? 100 : 0;
	a->rma_iov_limit = what == TX_RMA_IOV ? 2 : 0;
	a->tclass = what == TX_TCLASS	      ? fi_tc_dscp_set(10)
		    : what == TX_LABEL	      ? (uint32_t)FI_TC_BULK_DATA
		    : what == TX_TCLASS_OTHER ? fi_tc_dscp_set(64)
					      : 0;
}

static void set_rx(struct fi_rx_attr *a, uint64_t what)
{
	a->op_flags = what == RX_OP_FLAGS ? FI_COMPLETION : what == RX_OP_OTHER ? FI_MULTI_RECV : 0;
	a->msg_order = what == RX_MSG_ORDER ? FI_ORDER_SAS : 0;
	a->comp_order = what == RX_COMP_ORDER ? DATA_ORDER : 0;
	a->total_buffered_recv = what == RX_BUFFERED;
	a->size = what == RX_SIZE ? 100 : what == RX_SIZE_MORE ? 1 << 20 : 0;
	a->iov_limit = what == RX_IOV_MORE ? 100 : 0;
}

static void set_ep(struct fi_ep_attr *a, uint64_t what)
{
	a->type = what == EP_OTHER ? FI_EP_DGRAM : FI_EP_MSG;
	a->protocol = what == EP_PROTOCOL ? FI_PROTO_RDMA_CM_IB_RC : FI_PROTO_IWARP;
	a->protocol_version = what == EP_VERSION ? 2 : 1;
	a->max_msg_size = what == EP_SIZE ? 1ull << 32 : 1 << 20;
	a->msg_prefix_size = what == EP_PREFIX;
	a->max_order_raw_size = what == EP_RAW;
	a->max_order_war_size = what == EP_WAR;
	a->mem_tag_format = what == EP_TAG;
	a->tx_ctx_cnt = what == EP_TX_CTX ? 2 : 1;
	a->rx_ctx_cnt = what == EP_RX_SHARED ? FI_SHARED_CONTEXT : 1;
	a->auth_key_size = what == EP_KEY ? 1 : 0;
	a->auth_key = what == EP_KEY ? calloc(1, 8) : NULL;
}

static void set_domain(struct fi_domain_attr *a, uint64_t what)
{
	a->name = what == D_NAME ? strdup("no-such-interface") : NULL;
	a->threading = what == D_THREADING ? FI_THREAD_DOMAIN : FI_THREAD_UNSPEC;
	a->control_progress = what == D_PROGRESS ? FI_PROGRESS_MANUAL : FI_PROGRESS_UNSPEC;
	a->data_progress = what == D_DATA_PROGRESS ? FI_PROGRESS_MANUAL : FI_PROGRESS_UNSPEC;
	a->resource_mgmt = what == D_RM ? FI_RM_DISABLED : FI_RM_UNSPEC;
	a->av_type = what == D_AV ? FI_AV_MAP : FI_AV_UNSPEC;
	if (what == D_MR)
		a->mr_mode |= FI_MR_LOCAL;
	if (what == D_MR_OTHER)
		a->mr_mode = 0;
	a->mr_key_size = what == D_KEY_SIZE ? 8 : 4;
	a->cq_data_size = what == D_CQ_DATA ? 4 : what == D_CQ_DATA_MORE ? 9 : 0;
	a->cq_cnt = a->ep_cnt = a->tx_ctx_cnt = a->rx_ctx_cnt = a->mr_cnt =
		what == D_COUNTS ? 1 << 20 : 0;
	a->mr_iov_limit = what == D_IOV ? 2 : 1;
	a->tclass = what == D_TCLASS ? fi_tc_dscp_set(10) : 0;
	a->caps = what == D_CAPS ? FI_SHARED_AV : 0;
}

int try_fabric_hint(uint64_t what)
{
	struct fi_info *h = fabric_hints(), *found = NULL;
	int got;

	h->addr_format = what == H_FORMAT ? FI_SOCKADDR_IN : FI_FORMAT_UNSPEC;
	h->caps |= what == H_CAPS ? FI_TAGGED : 0;
	set_fabric_tx(h->tx_attr, what);
	set_rx(h->rx_attr, what);
	set_ep(h->ep_attr, what);
	set_domain(h->domain_attr, what);
	h->fabric_attr->name = what == F_NAME ? strdup("another") : NULL;
	got = -fi_getinfo(FI_VERSION(1, 17), fabric_host, NULL, FI_SOURCE, h, &found);
	/* What was asked for is what there is. */
	if (what == TX_SIZE && (got || found->tx_attr->size != 100))
		got = -1;
	fi_freeinfo(found);
	fi_freeinfo(h);
	return got;
}
