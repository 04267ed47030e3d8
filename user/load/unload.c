// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <xiwarp/load.h>

#include <errno.h>
#include <linux/capability.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/caps.h"
#include "base/explain.h"
#include "handoff/diag.h"
#include "handoff/flows.h"
#include "handoff/owner.h"
#include "load/attach.h"
#include "netif/bpf_log.h"
#include "netif/bpffs.h"
#include "netif/pins.h"
#include "netif/query.h"
#include "netif/trust.h"

/* Hands the stream to the kernel's socket. Its octets still need translation. */
static void give_back(struct xiw_flow *flow)
{
	if (xiw_owner_path(xiw_flow_owner(flow)) > XIW_PATH_KERNEL)
		xiw_flow_count_why(flow, XIW_WHY_CLOSE);
	xiw_flow_settle(flow);
}

/*
 * Connections that some process has open and that need translation of sequence numbers to go on, also after the
 * library gave their socket away.
 */
static unsigned int count_skewed(const struct xiw_flow *flows)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < XIW_MAX_FLOWS; i++) {
		uint64_t owner = __atomic_load_n(&flows[i].owner, __ATOMIC_ACQUIRE);

		if (__atomic_load_n(&flows[i].pid, __ATOMIC_ACQUIRE) &&
		    xiw_owner_path(owner) != XIW_PATH_NONE &&
		    xiw_owner_skew(owner, flows[i].kernel_nxt) &&
		    xiw_flow_socket_held(&flows[i].key))
			n++;
	}
	return n;
}

/* `fd` is the table of flows; it is closed. */
static int release_flows(int fd, const char *ifname, bool force, char *why, size_t why_len)
{
	struct xiw_flow *flows;
	unsigned int n;
	int err = xiw_flows_map(fd, &flows);

	/* Pins of a load that was cut short, or of another version: nobody here can use them. */
	if (err == -ENOENT || err == -ESTALE)
		return 0;
	if (err)
		return xiw_explain(why, why_len, err, "cannot open the flows of %s: %s", ifname,
				   err == -EPERM ? xiw_caps_hint(CAP_DAC_OVERRIDE)
						 : strerror(-err));
	n = count_skewed(flows);
	if (n && !force)
		err = xiw_explain(why, why_len, -EBUSY,
				  "%u connection%s on %s need%s the programs: end "
				  "%s first, or break %s with --force",
				  n, n == 1 ? "" : "s", ifname, n == 1 ? "s" : "",
				  n == 1 ? "it" : "them", n == 1 ? "it" : "them");
	for (unsigned int i = 0; !err && i < XIW_MAX_FLOWS; i++)
		if (__atomic_load_n(&flows[i].pid, __ATOMIC_ACQUIRE))
			give_back(&flows[i]);
	xiw_flows_unmap(flows);
	return err;
}

/* Another tool may have attached xiw_egress in another place; without its maps it would be of no use there. */
static bool egress_elsewhere(const struct xiw_pins *pins, int ifindex)
{
	uint32_t id;

	if (xiw_pins_prog_id(pins, "xiw_egress", &id))
		return false;
	return ifindex && xiw_attach_tc_id(ifindex) != id && xiw_query_egress(ifindex, id) == 1;
}

/* What is to go. */
struct programs {
	const char *ifname;
	int ifindex;
	int xdp_fd, tc_fd; /* negative: none */
	uint32_t xdp_id, tc_id;
	char *why;
	size_t why_len;
};

#define SAY(p, err, ...) xiw_explain((p)->why, (p)->why_len, err, __VA_ARGS__)

static int detach(const struct programs *p)
{
	char upper[IF_NAMESIZE];
	int err = 0, tc_err = 0;

	if (p->ifindex) {
		/* XDP first: a segment that still went direct would be acknowledged untranslated. */
		err = xiw_detach_xdp(p->ifindex, p->xdp_id, p->xdp_fd);
		if (err == -EEXIST && xiw_attach_below(p->ifindex, xiw_bpf_log_line(), upper))
			return SAY(p, -EBUSY,
				   "%s is part of %s, which has an XDP program too: 'xiwarp unload "
				   "%s' "
				   "first, then %s",
				   p->ifname, upper, upper, p->ifname);
		tc_err = xiw_detach_tc(p->ifindex, p->tc_id);
	}
	err = err ? err : tc_err;
	if (!err)
		return 0;
	return SAY(p, err, "cannot detach from %s: %s (%s)", p->ifname,
		   err == -EPERM ? xiw_caps_hint(CAP_NET_ADMIN) : strerror(-err),
		   xiw_bpf_log_line());
}

static void close_programs(const struct programs *p)
{
	if (p->xdp_fd >= 0)
		close(p->xdp_fd);
	if (p->tc_fd >= 0)
		close(p->tc_fd);
}

/* The map of flows that a program uses, which needs no pin. */
static int flows_of(int prog_fd)
{
	struct bpf_prog_info info = {};
	uint32_t ids[64], len = sizeof(info);
	int fd, err;

	info.nr_map_ids = sizeof(ids) / sizeof(ids[0]);
	info.map_ids = (uintptr_t)ids;
	err = bpf_obj_get_info_by_fd(prog_fd, &info, &len);
	for (uint32_t i = 0; !err && i < info.nr_map_ids && i < sizeof(ids) / sizeof(ids[0]); i++) {
		struct bpf_map_info map = {};

		len = sizeof(map);
		fd = bpf_map_get_fd_by_id(ids[i]);
		if (fd < 0)
			return fd;
		if (!bpf_obj_get_info_by_fd(fd, &map, &len) && !strcmp(map.name, "xiw_flows"))
			return fd;
		close(fd);
	}
	return err ? err : -ENOENT;
}

/* Whoever has lost the pins finds the programs by their names, where xiwarp puts them. */
static int unload_unpinned(struct programs *p, const struct xiw_pins *pins, bool force)
{
	int err = 0;

	if (!p->ifindex)
		return SAY(p, -ENODEV, "no interface %s in this network namespace: see 'ip link'",
			   p->ifname);
	/* Its pins are to go with the programs, and so they must be seen. */
	if (xiw_bpffs_hidden(pins->base))
		return SAY(p, -ENOENT,
			   "%s cannot be seen from here ('ip netns exec' hides it): 'nsenter "
			   "--net=/run/netns/NAME xiwarp unload %s'",
			   pins->base, p->ifname);
	p->xdp_id = xiw_query_xdp_id(p->ifindex, NULL);
	p->tc_id = xiw_attach_tc_id(p->ifindex);
	p->xdp_fd = xiw_query_open(p->xdp_id, "xiw_ingress");
	p->tc_fd = xiw_query_open(p->tc_id, "xiw_egress");
	if (p->xdp_fd == -EPERM || p->tc_fd == -EPERM)
		err = SAY(p, -EPERM, "%s has no pins in %s, and to see whose programs it runs: %s",
			  p->ifname, pins->base, xiw_caps_hint(CAP_SYS_ADMIN));
	else if (p->xdp_fd < 0 && p->tc_fd < 0)
		err = SAY(p, -ENOENT, "xiwarp is not loaded on %s (no pins of it in %s)", p->ifname,
			  pins->base);
	if (p->xdp_fd < 0)
		p->xdp_id = 0;
	if (p->tc_fd < 0)
		p->tc_id = 0;
	if (!err && p->xdp_fd >= 0)
		err = release_flows(flows_of(p->xdp_fd), p->ifname, force, p->why, p->why_len);
	if (!err)
		err = detach(p);
	close_programs(p);
	return err;
}

static int unload_pinned(struct programs *p, const struct xiw_pins *pins, bool force)
{
	int err;

	/* Before a connection is taken off the direct path for nothing. */
	if (!xiw_caps_have(CAP_NET_ADMIN))
		return SAY(p, -EPERM, "unloading from %s needs CAP_NET_ADMIN: run as root",
			   p->ifname);
	if (egress_elsewhere(pins, p->ifindex))
		return SAY(p, -EBUSY,
			   "%s has xiw_egress where xiwarp did not put it ('tc filter show dev "
			   "%s egress'): take it off there first",
			   p->ifname, p->ifname);
	if (!force && xiw_query_doubtful(pins, p->ifindex))
		return SAY(p, -EBUSY,
			   "the programs of %s are not on %s, and no pin says where they are: if "
			   "not in "
			   "another network namespace, remove the pins with --force",
			   pins->dir, p->ifname);
	err = release_flows(xiw_pins_open(pins, "xiw_flows", true), p->ifname, force, p->why,
			    p->why_len);
	if (!err)
		err = detach(p);
	if (err)
		return err;
	err = xiw_pins_remove(pins);
	if (err)
		return SAY(p, err, "detached from %s, but cannot remove %s: %s", p->ifname,
			   pins->dir, strerror(-err));
	return 0;
}

static int unload_quietly(const struct xiw_pins *pins, const char *ifname, bool force, char *why,
			  size_t why_len)
{
	struct programs p = { .ifname = ifname,
			      .ifindex = (int)if_nametoindex(ifname),
			      .why = why,
			      .why_len = why_len };
	char line[XIW_PIN_PATH_MAX];
	int err = xiw_trust_dir(pins->dir, line, sizeof(line));

	if (err && err != -ENOENT)
		return SAY(&p, err, "%s%s", line, err == -EPERM ? ": run as root" : "");
	if (!xiw_pins_exist(pins))
		return unload_unpinned(&p, pins, force);
	p.xdp_fd = xiw_pins_open_prog(pins, "xiw_ingress", &p.xdp_id);
	p.tc_fd = xiw_pins_open_prog(pins, "xiw_egress", &p.tc_id);
	if (p.xdp_fd == -EPERM)
		err = SAY(&p, -EPERM, "%s cannot be read: %s", pins->dir,
			  xiw_caps_hint(CAP_DAC_OVERRIDE));
	else
		err = unload_pinned(&p, pins, force);
	close_programs(&p);
	return err;
}

int xiw_unload(const char *ifname, const char *pin_dir, bool force, char *why, size_t why_len)
{
	struct xiw_bpf_log log;
	struct xiw_pins pins;
	int err;

	if (why && why_len)
		why[0] = '\0';
	err = xiw_pins_init(&pins, pin_dir, ifname);
	if (err)
		return xiw_explain(why, why_len, -EINVAL,
				   "'%s' cannot be an interface, or the pin directory's name is "
				   "too long",
				   ifname ? ifname : "");
	xiw_bpf_log_begin(&log);
	err = unload_quietly(&pins, ifname, force, why, why_len);
	xiw_bpf_log_end(&log);
	return err;
}
