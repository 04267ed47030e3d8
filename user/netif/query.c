// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "netif/query.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "netif/pins.h"

#define TCX_EGRESS 47 /* BPF_TCX_EGRESS: Linux 6.6, which older headers lack */
#define TCX_MAX 64

bool xiw_query_xdp_named(int ifindex, const char *name)
{
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info), id = 0;
	struct xiw_quiet quiet;
	bool same = false;
	int fd;

	/* Asked about 0, the kernel tells of all. */
	if (ifindex <= 0)
		return false;
	xiw_quiet_begin(&quiet);
	fd = bpf_xdp_query_id(ifindex, 0, &id) || !id ? -1 : bpf_prog_get_fd_by_id(id);
	if (fd >= 0) {
		same = !bpf_obj_get_info_by_fd(fd, &info, &len) && !strcmp(info.name, name);
		close(fd);
	}
	xiw_quiet_end(&quiet);
	return same;
}

static uint32_t attr_u32(const struct rtattr *a)
{
	uint32_t v = 0;

	if (RTA_PAYLOAD(a) >= sizeof(v))
		memcpy(&v, RTA_DATA(a), sizeof(v));
	return v;
}

static const struct rtattr *find_attr(const struct rtattr *a, int len, int type)
{
	for (; RTA_OK(a, len); a = RTA_NEXT(a, len))
		if ((a->rta_type & NLA_TYPE_MASK) == type)
			return a;
	return NULL;
}

/* The program that a filter of kind bpf runs; 0: none. */
static uint32_t filter_prog(const struct nlmsghdr *n)
{
	const struct tcmsg *t = NLMSG_DATA(n);
	int len = (int)n->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*t));
	const struct rtattr *o = find_attr(TCA_RTA(t), len, TCA_OPTIONS);

	if (o)
		o = find_attr(RTA_DATA(o), (int)RTA_PAYLOAD(o), TCA_BPF_ID);
	return o ? attr_u32(o) : 0;
}

/* One datagram of the dump. 1: found; 0: the end; -EAGAIN: there is more. */
static int search(const struct nlmsghdr *n, int len, uint32_t prog_id)
{
	int found = -EAGAIN;

	for (; NLMSG_OK(n, (unsigned int)len); n = NLMSG_NEXT(n, len)) {
		if (n->nlmsg_type == NLMSG_DONE)
			return found == 1;
		if (n->nlmsg_type == NLMSG_ERROR) {
			const struct nlmsgerr *e = NLMSG_DATA(n);

			return e->error == -ENODEV || e->error == -EINVAL ? 0 : e->error;
		}
		if (n->nlmsg_type == RTM_NEWTFILTER && filter_prog(n) == prog_id)
			found = 1;
	}
	return found;
}

/* Is the program one of those that the interface runs in XDP? An interface may have one per mode. */
static bool link_has(const struct nlmsghdr *n, uint32_t prog_id)
{
	const struct ifinfomsg *i = NLMSG_DATA(n);
	int len = (int)n->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*i));
	const struct rtattr *xdp = find_attr(IFLA_RTA(i), len, IFLA_XDP), *a;

	for (int type = IFLA_XDP_PROG_ID; xdp && type <= IFLA_XDP_HW_PROG_ID; type++) {
		a = find_attr(RTA_DATA(xdp), (int)RTA_PAYLOAD(xdp), type);
		if (a && attr_u32(a) == prog_id)
			return true;
	}
	return false;
}

bool xiw_query_xdp_left(const struct nlmsghdr *n, int ifindex, uint32_t prog_id)
{
	const struct ifinfomsg *i = NLMSG_DATA(n);
	int len = (int)n->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*i));

	if (len < 0 || i->ifi_family != AF_UNSPEC || i->ifi_index != ifindex)
		return false;
	if (n->nlmsg_type == RTM_DELLINK)
		return true;
	return n->nlmsg_type == RTM_NEWLINK && find_attr(IFLA_RTA(i), len, IFLA_XDP) &&
	       !link_has(n, prog_id);
}

union answer {
	struct nlmsghdr n;
	char octets[32768];
};

/* Sends a request; a socket to read the answer from, or negative errno. */
static int ask(const void *request, size_t size)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), err;

	if (fd < 0)
		return -errno;
	if (send(fd, request, size, 0) == (ssize_t)size)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/*
 * What rtnetlink says of an interface, by hand, as it is asked every second: libbpf's bpf_xdp_query_id() allocates.
 * 0, or negative errno; -ENODEV: no such interface.
 */
static int get_link(int ifindex, union answer *answer)
{
	const struct {
		struct nlmsghdr n;
		struct ifinfomsg i;
	} request = {
		.n = { .nlmsg_len = sizeof(request),
		       .nlmsg_type = RTM_GETLINK,
		       .nlmsg_flags = NLM_F_REQUEST },
		.i = { .ifi_index = ifindex },
	};
	int fd = ask(&request, sizeof(request)), err = 0;
	ssize_t len;

	if (fd < 0)
		return fd;
	len = recv(fd, answer, sizeof(*answer), 0);
	if (len < 0)
		err = -errno;
	else if (!NLMSG_OK(&answer->n, (size_t)len))
		err = -EPROTO;
	else if (answer->n.nlmsg_type == NLMSG_ERROR)
		err = ((const struct nlmsgerr *)NLMSG_DATA(&answer->n))->error;
	close(fd);
	return err;
}

int xiw_query_xdp(int ifindex, uint32_t prog_id)
{
	union answer answer;
	int err = get_link(ifindex, &answer);

	return err ? err == -ENODEV ? 0 : err : link_has(&answer.n, prog_id);
}

uint32_t xiw_query_master(int ifindex)
{
	const struct rtattr *a;
	union answer answer;

	if (get_link(ifindex, &answer))
		return 0;
	a = find_attr(IFLA_RTA((struct ifinfomsg *)NLMSG_DATA(&answer.n)),
		      (int)answer.n.nlmsg_len - (int)NLMSG_LENGTH(sizeof(struct ifinfomsg)),
		      IFLA_MASTER);
	return a ? attr_u32(a) : 0;
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
	union answer answer;
	int fd = ask(&request, sizeof(request)), err = -EAGAIN;
	ssize_t len;

	if (fd < 0)
		return fd;
	while (err == -EAGAIN) {
		len = recv(fd, &answer, sizeof(answer), 0);
		err = len < 0 ? -errno : search(&answer.n, (int)len, prog_id);
	}
	close(fd);
	return err;
}

/* Unlike the others this needs CAP_NET_ADMIN: who has it no more does not know. */
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

int xiw_query_egress(int ifindex, uint32_t prog_id)
{
	int there = query_clsact(ifindex, prog_id);

	return there ? there : query_tcx(ifindex, prog_id);
}

bool xiw_query_doubtful(const struct xiw_pins *pins, int ifindex)
{
	uint32_t xdp_id = 0, tc_id = 0;
	int xdp = xiw_pins_open_prog(pins, "xiw_ingress", &xdp_id);
	int tc = xiw_pins_open_prog(pins, "xiw_egress", &tc_id);
	bool here = ifindex && ((xdp >= 0 && xiw_query_xdp(ifindex, xdp_id) == 1) ||
				(tc >= 0 && xiw_query_egress(ifindex, tc_id) == 1));

	if (xdp >= 0)
		close(xdp);
	if (tc >= 0)
		close(tc);
	return !pins->marked && xdp >= 0 && !here;
}
