// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What there is (fi_getinfo): one domain for each interface, and one entry for each of its addresses. */
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabric/fabric.h"
#include "netif/interface.h"

/* FI_MR_BASIC, FI_ORDER_STRICT and FI_ORDER_DATA of libfabric 1; libfabric 2 warns of these names. */
#define MR_BASIC 1
#define COMPLETION_ORDER 0x1ffu
#define DATA_ORDER (1u << 16)

#define LATER_MEMBERS 256 /* octets of zeros behind each part: more than any libfabric has added */

#define TX_CAPS (FI_MSG | FI_RMA | FI_SEND | FI_READ | FI_WRITE)
#define RX_CAPS (FI_MSG | FI_RMA | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define DOMAIN_CAPS (FI_LOCAL_COMM | FI_REMOTE_COMM)
#define CAPS (TX_CAPS | RX_CAPS | DOMAIN_CAPS)
#define MR_MODE (FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)
#define ORDER (FI_ORDER_SAS | FI_ORDER_WAW | FI_ORDER_WAS | FI_ORDER_SAW | FI_ORDER_RMA_WAW)
#define OP_FLAGS (FI_COMPLETION | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE)
#define DEPTH 256u /* if the application does not say */
#define MESSAGE_MAX UINT32_MAX

/* ---- copies ------------------------------------------------------------------------------------------------ */

static void *copy_of(const void *from, size_t size)
{
	void *to = from ? calloc(1, size + LATER_MEMBERS) : NULL;

	if (to)
		memcpy(to, from, size);
	return to;
}

static char *text_of(const char *text)
{
	return text ? strdup(text) : NULL;
}

int xiw_fi_info_set_addr(void **to, size_t *to_len, const void *addr, size_t len)
{
	void *copy = copy_of(addr, len);

	if (!copy)
		return -FI_ENOMEM;
	free(*to);
	*to = copy;
	*to_len = len;
	return 0;
}

struct fi_info *xiw_fi_info_copy(const struct fi_info *from)
{
	struct fi_info *info = copy_of(from, sizeof(*info));

	if (!info)
		return NULL;
	info->next = NULL;
	info->handle = NULL;
	info->nic = NULL;
	info->src_addr = copy_of(from->src_addr, from->src_addrlen);
	info->dest_addr = copy_of(from->dest_addr, from->dest_addrlen);
	info->tx_attr = copy_of(from->tx_attr, sizeof(*info->tx_attr));
	info->rx_attr = copy_of(from->rx_attr, sizeof(*info->rx_attr));
	info->ep_attr = copy_of(from->ep_attr, sizeof(*info->ep_attr));
	info->domain_attr = copy_of(from->domain_attr, sizeof(*info->domain_attr));
	info->fabric_attr = copy_of(from->fabric_attr, sizeof(*info->fabric_attr));
	if (info->ep_attr) {
		info->ep_attr->auth_key = NULL;
		info->ep_attr->auth_key_size = 0;
	}
	if (info->domain_attr) {
		info->domain_attr->auth_key = NULL;
		info->domain_attr->auth_key_size = 0;
		info->domain_attr->name = text_of(from->domain_attr->name);
	}
	if (info->fabric_attr) {
		info->fabric_attr->name = text_of(from->fabric_attr->name);
		info->fabric_attr->prov_name = text_of(from->fabric_attr->prov_name);
	}
	if (info->tx_attr && info->rx_attr && info->ep_attr && info->domain_attr &&
	    info->fabric_attr)
		return info;
	fi_freeinfo(info);
	return NULL;
}

/* ---- hints ------------------------------------------------------------------------------------------------- */

/* A number for IP, or a label, which names none and changes nothing. */
static bool tclass_fits(uint32_t tclass)
{
	return !(tclass & FI_TC_DSCP) ? tclass <= FI_TC_NETWORK_CTRL
				      : tclass <= fi_tc_dscp_set(XIW_FI_DSCP_MAX);
}

static bool tx_fits(const struct fi_tx_attr *h)
{
	return !h || (!(h->caps & ~(TX_CAPS | DOMAIN_CAPS)) && !(h->op_flags & ~OP_FLAGS) &&
		      !(h->msg_order & ~ORDER) && !(h->comp_order & ~COMPLETION_ORDER) &&
		      tclass_fits(h->tclass) && h->inject_size <= XIW_HOST_INLINE_MAX &&
		      h->size <= XIW_HOST_DEPTH_MAX && h->iov_limit <= XIW_FI_IOV_MAX &&
		      h->rma_iov_limit <= 1);
}

bool xiw_fi_rx_fits(const struct fi_rx_attr *h)
{
	return !h ||
	       (!(h->caps & ~(RX_CAPS | DOMAIN_CAPS)) && !(h->op_flags & ~FI_COMPLETION) &&
		!(h->msg_order & ~ORDER) && !(h->comp_order & ~(COMPLETION_ORDER | DATA_ORDER)) &&
		!h->total_buffered_recv && h->size <= XIW_HOST_DEPTH_MAX &&
		h->iov_limit <= XIW_FI_IOV_MAX);
}

static bool ep_fits(const struct fi_ep_attr *h)
{
	return !h ||
	       ((h->type == FI_EP_UNSPEC || h->type == FI_EP_MSG) &&
		(h->protocol == FI_PROTO_UNSPEC || h->protocol == FI_PROTO_IWARP) &&
		h->protocol_version <= 1 && h->max_msg_size <= MESSAGE_MAX && !h->msg_prefix_size &&
		!h->max_order_raw_size && !h->max_order_war_size &&
		h->max_order_waw_size <= MESSAGE_MAX && h->tx_ctx_cnt <= 1 &&
		(h->rx_ctx_cnt <= 1 || h->rx_ctx_cnt == FI_SHARED_CONTEXT) && !h->auth_key_size);
}

bool xiw_fi_ep_fits(const struct fi_info *info)
{
	return tx_fits(info->tx_attr) && xiw_fi_rx_fits(info->rx_attr) && ep_fits(info->ep_attr);
}

/* Who does not transfer to or from regions of the peer does not see the modes of keys and addresses. */
static bool mr_mode_fits(int mode, uint64_t caps)
{
	if (caps && !(caps & FI_RMA))
		return true;
	return mode == MR_BASIC || (mode & MR_MODE) == MR_MODE;
}

/* No message of the RFCs has both octets for a buffer and Immediate Data: only Writes can have it. */
static bool data_fits(const struct fi_info *h)
{
	const bool writes = !h->caps || h->caps & FI_RMA;

	return h->domain_attr->cq_data_size <= (h->mode & FI_RX_CQ_DATA && writes ? 8 : 0);
}

static bool domain_fits(const struct fi_domain_attr *h, uint64_t caps)
{
	return !h ||
	       (!(h->caps & ~DOMAIN_CAPS) && h->mr_key_size <= 4 && h->mr_iov_limit <= 1 &&
		!h->auth_key_size && tclass_fits(h->tclass) && mr_mode_fits(h->mr_mode, caps));
}

static bool fits(const struct fi_info *h)
{
	return !(h->caps & ~CAPS) && xiw_fi_ep_fits(h) && domain_fits(h->domain_attr, h->caps) &&
	       (!h->domain_attr || data_fits(h)) &&
	       (h->addr_format == FI_FORMAT_UNSPEC || h->addr_format == FI_SOCKADDR ||
		h->addr_format == FI_SOCKADDR_IN || h->addr_format == FI_SOCKADDR_IN6) &&
	       (!h->fabric_attr || !h->fabric_attr->name ||
		!strcmp(h->fabric_attr->name, XIW_FI_FABRIC_NAME));
}

/* ---- an entry ------------------------------------------------------------------------------------------------ */

static uint64_t capabilities(const struct fi_info *hints)
{
	const uint64_t msg = FI_MSG | FI_SEND | FI_RECV;
	const uint64_t rma = FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
	uint64_t caps = hints ? hints->caps : 0;

	if (!(caps & (FI_MSG | FI_RMA)))
		return CAPS;
	if (caps & FI_MSG && !(caps & (FI_SEND | FI_RECV)))
		caps |= msg;
	if (caps & FI_RMA && !(caps & rma & ~FI_RMA))
		caps |= rma;
	return caps | DOMAIN_CAPS;
}

static int mr_mode(const struct fi_info *hints)
{
	const int asked = hints && hints->domain_attr ? hints->domain_attr->mr_mode : MR_MODE;

	if (asked == MR_BASIC)
		return MR_BASIC;
	return hints && hints->caps && !(hints->caps & FI_RMA) ? asked & MR_MODE : MR_MODE;
}

static size_t size_or(size_t asked, size_t otherwise)
{
	return asked ? asked : otherwise;
}

static void set_queues(struct fi_tx_attr *tx, struct fi_rx_attr *rx, const struct fi_info *hints,
		       const struct fi_info *info)
{
	const struct fi_tx_attr *t = hints ? hints->tx_attr : NULL;
	const struct fi_rx_attr *r = hints ? hints->rx_attr : NULL;

	*tx = (struct fi_tx_attr){
		.caps = info->caps & TX_CAPS,
		.mode = info->mode,
		.op_flags = t ? t->op_flags : 0,
		.msg_order = ORDER,
		.comp_order = COMPLETION_ORDER,
		.inject_size = XIW_HOST_INLINE_MAX,
		.size = size_or(t ? t->size : 0, DEPTH),
		.iov_limit = XIW_FI_IOV_MAX,
		.rma_iov_limit = 1,
		.tclass = t && t->tclass		? t->tclass
			  : hints && hints->domain_attr ? hints->domain_attr->tclass
							: FI_TC_UNSPEC,
	};
	*rx = (struct fi_rx_attr){
		.caps = info->caps & RX_CAPS,
		.mode = info->mode,
		.op_flags = r ? r->op_flags : 0,
		.msg_order = ORDER,
		.comp_order = COMPLETION_ORDER | DATA_ORDER,
		.size = size_or(r ? r->size : 0, DEPTH),
		.iov_limit = XIW_FI_IOV_MAX,
	};
}

static enum fi_progress progress(enum fi_progress asked)
{
	return asked == FI_PROGRESS_UNSPEC ? FI_PROGRESS_AUTO : asked;
}

static void set_domain(struct fi_domain_attr *d, const struct fi_info *hints,
		       const struct fi_info *info)
{
	const struct fi_domain_attr *h = hints ? hints->domain_attr : NULL;

	*d = (struct fi_domain_attr){
		.threading = h && h->threading ? h->threading : FI_THREAD_SAFE,
		/* Who asks for manual progress drives what goes on by itself anyhow. */
		.control_progress = progress(h ? h->control_progress : FI_PROGRESS_UNSPEC),
		.data_progress = progress(h ? h->data_progress : FI_PROGRESS_UNSPEC),
		.resource_mgmt = FI_RM_ENABLED,
		.mr_mode = mr_mode(hints),
		.mr_key_size = 4,
		.cq_data_size = info->mode & FI_RX_CQ_DATA ? 8 : 0,
		.cq_cnt = 65536,
		.ep_cnt = 65536,
		.tx_ctx_cnt = 65536,
		.rx_ctx_cnt = 65536,
		.max_ep_tx_ctx = 1,
		.max_ep_rx_ctx = 1,
		.max_ep_srx_ctx = 65536,
		.mr_iov_limit = 1,
		.caps = DOMAIN_CAPS,
		.tclass = h ? h->tclass : FI_TC_UNSPEC,
		.max_err_data = XIW_FI_PARAM_MAX,
		.mr_cnt = 65536,
	};
}

static struct fi_info *entry(const struct fi_info *hints, const char *ifname,
			     const struct sockaddr *src, const struct sockaddr_storage *dest)
{
	struct fi_tx_attr tx;
	struct fi_rx_attr rx;
	struct fi_ep_attr ep = {
		.type = FI_EP_MSG,
		.protocol = FI_PROTO_IWARP,
		.protocol_version = 1,
		.max_msg_size = MESSAGE_MAX,
		.max_order_waw_size = MESSAGE_MAX,
		.tx_ctx_cnt = 1,
		.rx_ctx_cnt = hints && hints->ep_attr &&
					      hints->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT
				      ? FI_SHARED_CONTEXT
				      : 1,
	};
	struct fi_domain_attr domain;
	struct fi_fabric_attr fabric = { .name = (char *)XIW_FI_FABRIC_NAME,
					 .prov_version = FI_VERSION(0, 1) };
	struct fi_info info = {
		.caps = capabilities(hints),
		.mode = hints ? hints->mode & FI_RX_CQ_DATA : FI_RX_CQ_DATA,
		.addr_format = src->sa_family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN,
		.src_addr = (void *)src,
		.src_addrlen = xiw_fi_addr_len(src),
		.dest_addr = dest->ss_family ? (void *)dest : NULL,
		.dest_addrlen = dest->ss_family ? xiw_fi_addr_len(dest) : 0,
		.tx_attr = &tx,
		.rx_attr = &rx,
		.ep_attr = &ep,
		.domain_attr = &domain,
		.fabric_attr = &fabric,
	};
	struct fi_info *copy;

	set_queues(&tx, &rx, hints, &info);
	set_domain(&domain, hints, &info);
	domain.name = (char *)ifname;
	copy = xiw_fi_info_copy(&info);
	/* A passive endpoint whose address the active one is to take over (fabric/ep.c). */
	if (copy && hints)
		copy->handle = hints->handle;
	return copy;
}

/* ---- addresses ------------------------------------------------------------------------------------------------- */

/* From where to where. Family 0: anywhere. */
struct ends {
	struct sockaddr_storage src, dest;
};

static uint16_t *port_of(struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET6 ? &((struct sockaddr_in6 *)a)->sin6_port
					: &((struct sockaddr_in *)a)->sin_port;
}

static bool is_any(const struct sockaddr_storage *a)
{
	static const struct sockaddr_in any4 = { .sin_family = AF_INET };
	static const struct sockaddr_in6 any6 = { .sin6_family = AF_INET6 };

	return !a->ss_family || xiw_if_same_ip((const void *)a, (const void *)&any4) ||
	       xiw_if_same_ip((const void *)a, (const void *)&any6);
}

static void take(struct sockaddr_storage *to, const void *addr, size_t len)
{
	if (!to->ss_family && addr && len && len <= sizeof(*to))
		memcpy(to, addr, len);
}

/* The address from which the kernel reaches a destination; the port is 0. */
static int route(const struct sockaddr_storage *dest, struct sockaddr_storage *src)
{
	socklen_t len = sizeof(*src);
	int fd = socket(dest->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool found = fd >= 0 && !connect(fd, (const void *)dest, xiw_fi_addr_len(dest)) &&
		     !getsockname(fd, (void *)src, &len);

	if (fd >= 0)
		close(fd);
	if (!found)
		return -FI_ENODATA;
	*port_of(src) = 0;
	return 0;
}

static int resolve(const char *node, const char *service, uint64_t flags,
		   const struct fi_info *hints, struct ends *ends)
{
	const uint32_t format = hints ? hints->addr_format : FI_FORMAT_UNSPEC;
	const struct addrinfo ask = {
		.ai_flags = (flags & FI_SOURCE ? AI_PASSIVE : 0) |
			    (flags & FI_NUMERICHOST ? AI_NUMERICHOST : 0),
		.ai_family = format == FI_SOCKADDR_IN	 ? AF_INET
			     : format == FI_SOCKADDR_IN6 ? AF_INET6
							 : AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *found;

	if (node || service) {
		if (getaddrinfo(node, service, &ask, &found))
			return -FI_ENODATA;
		take(flags & FI_SOURCE ? &ends->src : &ends->dest, found->ai_addr,
		     found->ai_addrlen);
		freeaddrinfo(found);
	}
	if (hints) {
		take(&ends->src, hints->src_addr, hints->src_addrlen);
		take(&ends->dest, hints->dest_addr, hints->dest_addrlen);
	}
	return ends->dest.ss_family && is_any(&ends->src) ? route(&ends->dest, &ends->src) : 0;
}

static const char *asked_domain(const struct fi_info *hints)
{
	return hints && hints->domain_attr ? hints->domain_attr->name : NULL;
}

/* Is a listener asked for that takes connections by every interface? */
static bool is_wildcard(const struct fi_info *hints, const struct ends *ends)
{
	return ends->src.ss_family && is_any(&ends->src) && !ends->dest.ss_family &&
	       !asked_domain(hints);
}

static bool usable(const struct ifaddrs *i, const struct ifaddrs *all, const struct fi_info *hints,
		   struct ends *ends)
{
	const uint32_t format = hints ? hints->addr_format : FI_FORMAT_UNSPEC;
	const char *name = asked_domain(hints);
	const struct sockaddr *a = i->ifa_addr;

	if (!a || !(i->ifa_flags & IFF_UP) || (name && strcmp(name, i->ifa_name)))
		return false;
	if (!is_any(&ends->src))
		return xiw_if_same_ip(a, (const void *)&ends->src);
	if (a->sa_family == AF_INET6 &&
	    IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)a)->sin6_addr))
		return false;
	if (i->ifa_flags & IFF_LOOPBACK && !xiw_if_loopback_alone(all))
		return false;
	return (a->sa_family == AF_INET && format != FI_SOCKADDR_IN6) ||
	       (a->sa_family == AF_INET6 && format != FI_SOCKADDR_IN);
}

static bool is_listed(const struct fi_info *info, const char *ifname)
{
	while (info && strcmp(info->domain_attr->name, ifname))
		info = info->next;
	return info;
}

/* With a wildcard, each interface's one entry has that as its source: a listener takes connections by all of them. */
static int list(const struct ifaddrs *all, const struct fi_info *hints, struct ends *ends,
		struct fi_info **info)
{
	const bool wildcard = is_wildcard(hints, ends);
	struct fi_info **end = info;

	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		struct sockaddr_storage src = {};

		if (!usable(i, all, hints, ends) || (wildcard && is_listed(*info, i->ifa_name)))
			continue;
		if (wildcard) {
			src = ends->src;
		} else {
			memcpy(&src, i->ifa_addr, xiw_fi_addr_len(i->ifa_addr));
			*port_of(&src) = ends->src.ss_family ? *port_of(&ends->src) : 0;
		}
		*end = entry(hints, i->ifa_name, (const void *)&src, &ends->dest);
		if (!*end) {
			fi_freeinfo(*info);
			*info = NULL;
			return -FI_ENOMEM;
		}
		end = &(*end)->next;
	}
	return *info ? 0 : -FI_ENODATA;
}

int xiw_fi_info_set_domain(struct fi_info *info, const struct sockaddr_storage *local)
{
	struct ifaddrs *all;
	char *name = NULL;

	if (info->src_addr && !is_any(info->src_addr))
		return 0;
	if (xiw_if_addresses(&all))
		return -FI_ENODATA;
	for (const struct ifaddrs *i = all; i && !name; i = i->ifa_next)
		if (i->ifa_addr && xiw_if_same_ip(i->ifa_addr, (const void *)local))
			name = strdup(i->ifa_name);
	freeifaddrs(all);
	if (name) {
		free(info->domain_attr->name);
		info->domain_attr->name = name;
	}
	return 0;
}

int xiw_fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		   const struct fi_info *hints, struct fi_info **info)
{
	struct ends ends = {};
	struct ifaddrs *all;
	int err;

	*info = NULL;
	/* Memory registration modes, and errors with data, are of version 1.5. */
	if (FI_VERSION_LT(version, FI_VERSION(1, 5)) || (hints && !fits(hints)))
		return -FI_ENODATA;
	err = resolve(node, service, flags, hints, &ends);
	if (err)
		return err;
	if (xiw_if_addresses(&all))
		return -FI_ENODATA;
	err = list(all, hints, &ends, info);
	freeifaddrs(all);
	return err;
}
