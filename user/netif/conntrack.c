// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "netif/conntrack.h"

#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_conntrack_tcp.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "netif/netlink.h"
#include "netif/sysctl.h"

/* The second and the third hold while data are unacknowledged, and after segments that conntrack takes for repeated. */
uint64_t xiw_conntrack_forgets_ms(void)
{
	static const char *const limits[] = {
		"netfilter/nf_conntrack_tcp_timeout_established",
		"netfilter/nf_conntrack_tcp_timeout_unacknowledged",
		"netfilter/nf_conntrack_tcp_timeout_max_retrans",
	};
	unsigned long least = 0, s;

	for (unsigned int i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		s = xiw_sysctl_net(limits[i]);
		if (s && (!least || s < least))
			least = s;
	}
	return least * 1000ull;
}

struct request {
	struct nlmsghdr n;
	struct nfgenmsg g;
	uint8_t attrs[128];
};

static void nested(struct request *r, struct rtattr *a)
{
	a->rta_type |= NLA_F_NESTED;
	a->rta_len = (uint16_t)((uint8_t *)r + r->n.nlmsg_len - (uint8_t *)a);
}

static void put_addresses(struct request *r, const struct xiw_conntrack_tuple *t)
{
	struct rtattr *ip = xiw_netlink_put(&r->n, CTA_TUPLE_IP, NULL, 0);

	if (t->ip_version == 4) {
		xiw_netlink_put(&r->n, CTA_IP_V4_SRC, &t->local[3], sizeof(t->local[3]));
		xiw_netlink_put(&r->n, CTA_IP_V4_DST, &t->remote[3], sizeof(t->remote[3]));
	} else {
		xiw_netlink_put(&r->n, CTA_IP_V6_SRC, t->local, sizeof(t->local));
		xiw_netlink_put(&r->n, CTA_IP_V6_DST, t->remote, sizeof(t->remote));
	}
	nested(r, ip);
}

static void put_tuple(struct request *r, const struct xiw_conntrack_tuple *t)
{
	struct rtattr *tuple = xiw_netlink_put(&r->n, CTA_TUPLE_REPLY, NULL, 0), *proto;
	const uint8_t tcp = IPPROTO_TCP;

	put_addresses(r, t);
	proto = xiw_netlink_put(&r->n, CTA_TUPLE_PROTO, NULL, 0);
	xiw_netlink_put(&r->n, CTA_PROTO_NUM, &tcp, sizeof(tcp));
	xiw_netlink_put(&r->n, CTA_PROTO_SRC_PORT, &t->local_port, sizeof(t->local_port));
	xiw_netlink_put(&r->n, CTA_PROTO_DST_PORT, &t->remote_port, sizeof(t->remote_port));
	nested(r, proto);
	nested(r, tuple);
}

static uint8_t state_of(const struct rtattr *first, int len)
{
	const struct rtattr *info = xiw_netlink_attr(first, len, CTA_PROTOINFO);
	const struct rtattr *tcp = info ? xiw_netlink_nested(info, CTA_PROTOINFO_TCP) : NULL;
	const struct rtattr *state = tcp ? xiw_netlink_nested(tcp, CTA_PROTOINFO_TCP_STATE) : NULL;

	return state ? *(const uint8_t *)RTA_DATA(state) : TCP_CONNTRACK_NONE;
}

/* A SYN that was seen before conntrack ended leaves an entry that is not established. */
static void take_entry(const struct nlmsghdr *n, void *ctx)
{
	const struct nfgenmsg *g = NLMSG_DATA(n);
	const struct rtattr *first = (const void *)((const uint8_t *)g + NLMSG_ALIGN(sizeof(*g)));
	const int len = (int)NLMSG_PAYLOAD(n, sizeof(*g));
	const uint32_t status = ntohl(xiw_netlink_u32(xiw_netlink_attr(first, len, CTA_STATUS)));
	enum xiw_conntrack *found = ctx;

	if (status & IPS_SEEN_REPLY)
		*found = XIW_CONNTRACK_BOTH;
	else if (state_of(first, len) == TCP_CONNTRACK_ESTABLISHED)
		*found = XIW_CONNTRACK_ONE_WAY;
}

/* What this host sends has the addresses of the reply, or of the original direction, also behind a translation. */
enum xiw_conntrack xiw_conntrack_ask(const struct xiw_conntrack_tuple *t)
{
	enum xiw_conntrack found = XIW_CONNTRACK_NOTHING;
	struct request r = {
		.n = {
			.nlmsg_len = NLMSG_LENGTH(sizeof(struct nfgenmsg)),
			.nlmsg_type = NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET,
			.nlmsg_flags = NLM_F_REQUEST,
		},
		.g = { .nfgen_family = t->ip_version == 4 ? AF_INET : AF_INET6 },
	};

	put_tuple(&r, t);
	return xiw_netlink_ask(NETLINK_NETFILTER, &r.n, take_entry, &found)
		       ? XIW_CONNTRACK_NOTHING
		       : found;
}
