// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "netif/query.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "netif/bpffs.h"
#include "netif/egress.h"
#include "netif/interface.h"
#include "netif/netlink.h"
#include "netif/pins.h"

#define TCX_EGRESS 47 /* BPF_TCX_EGRESS, which headers before Linux 6.6 lack */
#define TCX_MAX 64

/* An interface may run one XDP program per mode. */
static const struct {
	int attr;
	uint32_t flag;
} modes[] = {
	{ IFLA_XDP_DRV_PROG_ID, XDP_FLAGS_DRV_MODE },
	{ IFLA_XDP_HW_PROG_ID, XDP_FLAGS_HW_MODE },
	{ IFLA_XDP_SKB_PROG_ID, XDP_FLAGS_SKB_MODE },
};
#define MODES (sizeof(modes) / sizeof(modes[0]))

struct xdp {
	uint32_t ids[MODES]; /* 0: no program */
};

static void take_xdp(const struct nlmsghdr *n, void *ctx)
{
	const struct rtattr *nest = xiw_netlink_link_attr(n, IFLA_XDP);
	struct xdp *xdp = ctx;

	for (size_t i = 0; nest && i < MODES; i++)
		xdp->ids[i] = xiw_netlink_u32(xiw_netlink_nested(nest, modes[i].attr));
}

/* This is asked every second, and libbpf's bpf_xdp_query() allocates memory. */
static int read_xdp(int ifindex, struct xdp *xdp)
{
	*xdp = (struct xdp){};
	return xiw_if_ask(ifindex, take_xdp, xdp);
}

static bool runs(const struct xdp *xdp, uint32_t prog_id)
{
	for (size_t i = 0; i < MODES; i++)
		if (prog_id && xdp->ids[i] == prog_id)
			return true;
	return false;
}

int xiw_query_xdp_flag(int ifindex, uint32_t prog_id, uint32_t *flag)
{
	struct xdp xdp;
	int err = read_xdp(ifindex, &xdp);

	if (err)
		return err == -ENODEV ? 0 : err;
	for (size_t i = 0; i < MODES; i++) {
		if (!prog_id || xdp.ids[i] != prog_id)
			continue;
		*flag = modes[i].flag;
		return 1;
	}
	return 0;
}

int xiw_query_xdp(int ifindex, uint32_t prog_id)
{
	uint32_t flag;

	return xiw_query_xdp_flag(ifindex, prog_id, &flag);
}

bool xiw_query_xdp_left(const struct nlmsghdr *n, int ifindex, uint32_t prog_id)
{
	const struct ifinfomsg *i = NLMSG_DATA(n);
	struct xdp xdp = {};

	if (n->nlmsg_len < NLMSG_LENGTH(sizeof(*i)) || i->ifi_family != AF_UNSPEC ||
	    i->ifi_index != ifindex)
		return false;
	if (n->nlmsg_type == RTM_DELLINK)
		return true;
	if (n->nlmsg_type != RTM_NEWLINK || !xiw_netlink_link_attr(n, IFLA_XDP))
		return false;
	take_xdp(n, &xdp);
	return !runs(&xdp, prog_id);
}

uint32_t xiw_query_xdp_id(int ifindex, uint32_t *flags)
{
	struct xdp xdp;

	if (flags)
		*flags = 0;
	if (read_xdp(ifindex, &xdp))
		return 0;
	for (size_t i = 0; i < MODES; i++) {
		if (!xdp.ids[i])
			continue;
		if (flags)
			*flags = modes[i].flag;
		return xdp.ids[i];
	}
	return 0;
}

void xiw_query_name(uint32_t id, char name[BPF_OBJ_NAME_LEN])
{
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(id);

	snprintf(name, BPF_OBJ_NAME_LEN, "unknown");
	if (fd < 0)
		return;
	if (!bpf_obj_get_info_by_fd(fd, &info, &len) && info.name[0])
		memcpy(name, info.name, BPF_OBJ_NAME_LEN);
	close(fd);
}

bool xiw_query_xdp_named(int ifindex, const char *name)
{
	uint32_t id = ifindex > 0 ? xiw_query_xdp_id(ifindex, NULL) : 0;
	char its[BPF_OBJ_NAME_LEN];

	xiw_query_name(id, its);
	return id && !strcmp(its, name);
}

bool xiw_query_loaded(int ifindex, const char *pin_dir)
{
	uint32_t id = ifindex > 0 ? xiw_query_xdp_id(ifindex, NULL) : 0;
	char its[BPF_OBJ_NAME_LEN];

	xiw_query_name(id, its);
	return id && (!strcmp(its, "xiw_ingress") ||
		      (!strcmp(its, "unknown") && !xiw_bpffs_at(pin_dir)));
}

int xiw_query_open(uint32_t id, const char *name)
{
	char its[BPF_OBJ_NAME_LEN];
	int fd = id ? bpf_prog_get_fd_by_id(id) : -ENOENT;

	if (fd < 0)
		return fd == -EACCES ? -EPERM : fd;
	xiw_query_name(id, its);
	if (!strcmp(its, name))
		return fd;
	close(fd);
	return -ENOENT;
}

struct filters {
	uint32_t prog_id;
	bool found;
};

static void take_filter(const struct nlmsghdr *n, void *ctx)
{
	const struct tcmsg *t = NLMSG_DATA(n);
	int len = (int)n->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*t));
	const struct rtattr *options = xiw_netlink_attr(TCA_RTA(t), len, TCA_OPTIONS);
	struct filters *f = ctx;

	if (options && n->nlmsg_type == RTM_NEWTFILTER)
		f->found |= xiw_netlink_u32(xiw_netlink_nested(options, TCA_BPF_ID)) == f->prog_id;
}

static int query_clsact(int ifindex, uint32_t prog_id)
{
	const struct {
		struct nlmsghdr n;
		struct tcmsg t;
	} request = {
		.n = { .nlmsg_len = sizeof(request),
		       .nlmsg_type = RTM_GETTFILTER,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.t = { .tcm_ifindex = ifindex,
		       .tcm_parent = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS) },
	};
	struct filters f = { .prog_id = prog_id };
	int err = xiw_netlink_ask(NETLINK_ROUTE, &request.n, take_filter, &f);

	/* There is no interface, or no clsact. */
	if (err == -ENODEV || err == -EINVAL)
		return 0;
	return err ? err : f.found;
}

/* Unlike the other queries this needs CAP_NET_ADMIN; without it the kernel does not answer. */
static int query_tcx(int ifindex, uint32_t prog_id)
{
	uint32_t ids[TCX_MAX], n = TCX_MAX;
	int err = bpf_prog_query(ifindex, (enum bpf_attach_type)TCX_EGRESS, 0, NULL, ids, &n);

	if (err)
		return err == -EPERM ? err : 0;
	for (uint32_t i = 0; i < n && i < TCX_MAX; i++)
		if (ids[i] == prog_id)
			return 1;
	return 0;
}

int xiw_query_egress_first(int ifindex, uint32_t prog_id, uint32_t *first)
{
	uint32_t ids[TCX_MAX] = {}, n = TCX_MAX;
	int err = bpf_prog_query(ifindex, (enum bpf_attach_type)TCX_EGRESS, 0, NULL, ids, &n);

	if (err)
		return err;
	if (first)
		*first = n ? ids[0] : 0;
	return n && ids[0] == prog_id;
}

bool xiw_query_egress_lacks(int ifindex, const char *name)
{
	uint32_t ids[TCX_MAX] = {}, n = TCX_MAX;
	int err = bpf_prog_query(ifindex, (enum bpf_attach_type)TCX_EGRESS, 0, NULL, ids, &n);
	char its[BPF_OBJ_NAME_LEN];

	for (uint32_t i = 0; !err && i < n && i < TCX_MAX; i++) {
		xiw_query_name(ids[i], its);
		if (!strcmp(its, name) || !strcmp(its, "unknown"))
			return false;
	}
	return !err;
}

int xiw_query_egress(int ifindex, uint32_t prog_id)
{
	int there = query_clsact(ifindex, prog_id);

	return there ? there : query_tcx(ifindex, prog_id);
}

int xiw_query_egress_by(int link_fd, int ifindex, uint32_t prog_id)
{
	uint32_t its = 0;
	int at = link_fd >= 0 ? xiw_egress_ifindex(link_fd, &its) : -ENOENT;

	if (at < 0)
		return xiw_query_egress(ifindex, prog_id);
	/* If somebody has detached it, another tool may have made a filter of it. */
	return at && at == ifindex && its == prog_id ? 1 : query_clsact(ifindex, prog_id);
}

int xiw_query_egress_in(const char *dir, int ifindex, uint32_t prog_id)
{
	int fd = xiw_egress_open(dir), there = xiw_query_egress_by(fd, ifindex, prog_id);

	if (fd >= 0)
		close(fd);
	return there;
}

bool xiw_query_doubtful(const struct xiw_pins *pins, int ifindex)
{
	uint32_t xdp_id, tc_id;
	bool pinned = !xiw_pins_prog_id(pins->dir, "xiw_ingress", &xdp_id);

	if (pins->marked || !pinned)
		return false;
	if (!ifindex)
		return true;
	return xiw_query_xdp(ifindex, xdp_id) != 1 &&
	       (xiw_pins_prog_id(pins->dir, "xiw_egress", &tc_id) ||
		xiw_query_egress(ifindex, tc_id) != 1);
}
