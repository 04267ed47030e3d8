// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <xiwarp/load.h>

#include <errno.h>
#include <linux/capability.h>
#include <net/if.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/caps.h"
#include "handoff/diag.h"
#include "handoff/flows.h"
#include "handoff/owner.h"
#include "handoff/queues.h"
#include "handoff/slot.h"
#include "load/attach.h"
#include "netif/bpf_log.h"
#include "netif/bpffs.h"
#include "netif/egress.h"
#include "netif/offload.h"
#include "netif/pins.h"
#include "netif/query.h"
#include "netif/trust.h"

struct unload {
	const char *ifname, *pin_dir;
	int ifindex; /* 0: the interface is gone */
	bool force;
	struct xiw_pins pins;
	int xdp_fd, tc_fd; /* the programs; negative: none */
	uint32_t xdp_id, tc_id;
	int (*open)(const struct unload *u, const char *name); /* a map, for writing */
	struct xiw_queue *queues; /* NULL: not held, or not to be had */
	int hold;		  /* what xiw_queues_hold() has returned */
	struct xiw_line why;
};

/* Gives the stream to the kernel's socket. Its numbers must still be translated. */
static void give_back(struct xiw_flow *flow)
{
	if (xiw_owner_path(xiw_flow_owner(flow)) > XIW_PATH_KERNEL)
		xiw_flow_count_reason(flow, XIW_REASON_CLOSE);
	xiw_flow_to_kernel(flow);
}

/*
 * Counts the connections that cannot go on without translation of their numbers: those that a process has open, whether
 * or not the library still has their sockets, and those whose end the peer has not acknowledged.
 */
static unsigned int count_skewed(const struct xiw_flow_list *list)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < list->n; i++) {
		const struct xiw_flow *f = &list->flows[list->slots[i]];
		uint64_t owner = __atomic_load_n(&f->owner, __ATOMIC_ACQUIRE);

		if (__atomic_load_n(&f->pid, __ATOMIC_ACQUIRE) &&
		    xiw_owner_path(owner) != XIW_PATH_NONE &&
		    xiw_owner_skew(owner, f->kernel_nxt) && xiw_flow_socket_live(f))
			n++;
	}
	return n;
}

/* Holds the queues. Their map is missing, or of another size, if another version made it. */
static void hold_queues(struct unload *u)
{
	const size_t len = sizeof(*u->queues) * XIW_MAX_QUEUES;
	int fd = xiw_pins_check_map(u->open(u, "xiw_queues"), sizeof(*u->queues), XIW_MAX_QUEUES);
	void *map;

	if (fd < 0)
		return;
	map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return;
	u->queues = map;
	u->hold = xiw_queues_hold(u->queues, u->pins.dir);
}

/* @stay: the programs were not taken off after all. */
static void leave_queues(struct unload *u, bool stay)
{
	if (!u->queues)
		return;
	if (stay)
		xiw_queues_let_go(u->queues, u->hold);
	else
		xiw_unlock_at(u->hold, XIW_QUEUE_HELD);
	munmap(u->queues, sizeof(*u->queues) * XIW_MAX_QUEUES);
}

/* The flows that are in the index now. -ENOENT: their maps are of no use to anybody. */
static int list_flows(const struct unload *u, struct xiw_flow_list *list)
{
	int index_fd = u->open(u, "xiw_flow_index");
	int err = xiw_flows_map(u->open(u, "xiw_flows"), index_fd, list);

	/* The pins are of a load that was cut short, or of another version. */
	if (err == -ENOENT || err == -ESTALE)
		return -ENOENT;
	if (err)
		return xiw_explain(
			u->why, xiw_kernel_error(err), "cannot open the flows of %s: %s", u->ifname,
			err == -EPERM ? xiw_caps_hint(CAP_DAC_OVERRIDE) : strerror(-err));
	return 0;
}

static int busy(const struct unload *u, unsigned int n)
{
	return xiw_explain(u->why, -EBUSY,
			   "%u connection%s on %s need%s the programs: end %s first, or break %s "
			   "with --force",
			   n, n == 1 ? "" : "s", u->ifname, n == 1 ? "s" : "",
			   n == 1 ? "it" : "them", n == 1 ? "it" : "them");
}

/* Gives all streams to the kernel, unless one needs the programs. */
static int release_flows(struct unload *u)
{
	struct xiw_flow_list list;
	unsigned int n;
	int err = list_flows(u, &list);

	if (err)
		return err == -ENOENT ? 0 : err;
	/* Looked at first, so that no connection leaves the direct path for nothing. */
	n = u->force ? 0 : count_skewed(&list);
	xiw_flows_unmap(&list);
	if (n)
		return busy(u, n);
	/* Engines go on arming, but who is not in this list begins no stretch any more. */
	hold_queues(u);
	err = list_flows(u, &list);
	if (err)
		return err == -ENOENT ? 0 : err;
	for (uint32_t i = 0; i < list.n; i++)
		give_back(&list.flows[list.slots[i]]);
	/* One that was armed had no skew, and XDP may have begun its stretch before it was given back. */
	n = u->force ? 0 : count_skewed(&list);
	xiw_flows_unmap(&list);
	return n ? busy(u, n) : 0;
}

/* Another tool may have attached xiw_egress in another place, where it is of no use without its maps. */
static bool egress_elsewhere(const struct unload *u)
{
	int link_fd = xiw_egress_open(u->pins.dir);
	uint32_t id;

	if (link_fd >= 0) {
		close(link_fd);
		return false;
	}
	return u->ifindex && u->tc_fd >= 0 && !xiw_attach_query_tc(u->ifindex, &id) &&
	       id != u->tc_id && xiw_query_egress(u->ifindex, u->tc_id) == 1;
}

static int detach(const struct unload *u)
{
	char upper[IF_NAMESIZE];
	int err = 0;

	if (u->ifindex) {
		/* XDP first: otherwise segments would still go direct, and be acknowledged untranslated. */
		err = xiw_detach_xdp(u->ifindex, u->xdp_id, u->xdp_fd);
		if (err == -EEXIST && xiw_attach_below(u->ifindex, xiw_bpf_log_line(), upper))
			return xiw_explain(u->why, -EBUSY,
					   "%s is part of %s, which has an XDP program too: "
					   "'xiwarp unload %s' first, then %s",
					   u->ifname, upper, upper, u->ifname);
		if (!err)
			err = xiw_detach_egress(u->ifindex, u->tc_id, u->pins.dir);
	}
	if (!err)
		return 0;
	return xiw_explain(u->why, xiw_kernel_error(err), "cannot detach from %s: %s%s", u->ifname,
			   err == -EPERM ? xiw_caps_hint(CAP_NET_ADMIN) : strerror(-err),
			   xiw_bpf_log_remark());
}

/* A map that a program uses, found without its pin. */
static int map_of(int prog_fd, const char *name)
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
		if (!bpf_obj_get_info_by_fd(fd, &map, &len) && !strcmp(map.name, name))
			return fd;
		close(fd);
	}
	return err ? err : -ENOENT;
}

static int open_unpinned(const struct unload *u, const char *name)
{
	return map_of(u->xdp_fd, name);
}

/* Where the pins are lost, the programs are found by their names, at the places where xiwarp attaches them. */
static int unload_unpinned(struct unload *u)
{
	int err = 0;

	if (!u->ifindex)
		return xiw_explain(u->why, -ENODEV,
				   "no interface %s in this network namespace: see 'ip link'",
				   u->ifname);
	/* Pins are removed together with their programs, so this process must see them. */
	if (xiw_bpffs_hidden(u->pins.base))
		return xiw_explain(u->why, -ENOENT,
				   "%s cannot be seen from here ('ip netns exec' hides it): "
				   "'nsenter --net=/run/netns/NAME xiwarp unload %s'",
				   u->pins.base, u->ifname);
	u->xdp_id = xiw_query_xdp_id(u->ifindex, NULL);
	u->tc_id = xiw_attach_tc_id(u->ifindex);
	u->xdp_fd = xiw_query_open(u->xdp_id, "xiw_ingress");
	u->tc_fd = xiw_query_open(u->tc_id, "xiw_egress");
	if (u->xdp_fd == -EPERM || u->tc_fd == -EPERM)
		err = xiw_explain(u->why, -EPERM,
				  "%s has no pins in %s, and to find out which programs it runs: "
				  "%s",
				  u->ifname, u->pins.base, xiw_caps_hint(CAP_SYS_ADMIN));
	else if (u->xdp_fd < 0 && u->tc_fd < 0)
		err = xiw_explain(u->why, -ENOENT,
				  "xiwarp is not loaded on %s (no pins of it in %s)", u->ifname,
				  u->pins.base);
	if (u->xdp_fd < 0)
		u->xdp_id = 0;
	if (u->tc_fd < 0)
		u->tc_id = 0;
	u->open = open_unpinned;
	if (!err && u->xdp_fd >= 0)
		err = release_flows(u);
	return err ? err : detach(u);
}

/* Is one of the pinned programs there? */
static bool runs_on(const struct unload *u, int ifindex)
{
	return (u->xdp_fd >= 0 && xiw_query_xdp(ifindex, u->xdp_id) == 1) ||
	       (u->tc_fd >= 0 && xiw_query_egress_in(u->pins.dir, ifindex, u->tc_id) == 1);
}

/* The interface may have another name by now, and another interface may have its name. */
static void find_renamed(struct unload *u)
{
	struct if_nameindex *all;

	if (u->ifindex && runs_on(u, u->ifindex))
		return;
	all = if_nameindex();
	if (!all)
		return;
	for (struct if_nameindex *i = all; i->if_index; i++) {
		if (!runs_on(u, (int)i->if_index))
			continue;
		u->ifindex = (int)i->if_index;
		break;
	}
	if_freenameindex(all);
}

/* Are the pins of this name those of the interface's XDP program? Then they are the ones to work with. */
static int take_if_its(const char *ifname, void *ctx)
{
	struct unload *u = ctx;
	struct xiw_pins pins;
	uint32_t id;

	if (xiw_pins_init(&pins, u->pin_dir, ifname) ||
	    xiw_pins_prog_id(pins.dir, "xiw_ingress", &id) || xiw_query_xdp(u->ifindex, id) != 1)
		return 0;
	u->pins = pins;
	return 1;
}

static int open_pinned(const struct unload *u, const char *name)
{
	return xiw_pins_open(u->pins.dir, name, true);
}

static int detach_pinned(struct unload *u)
{
	char now[IF_NAMESIZE]; /* its name */
	/* Nobody attaches xiw_egress anew meanwhile (xiw_front_take()). */
	int err, lock = xiw_bpffs_lock(u->pins.dir);

	err = detach(u);
	if (!err && u->ifindex && if_indextoname((unsigned int)u->ifindex, now))
		xiw_offloads_restore(now, u->pins.dir);
	if (!err && (err = xiw_pins_remove(&u->pins)))
		err = xiw_explain(u->why, xiw_kernel_error(err),
				  "detached from %s, but cannot remove %s: %s", u->ifname,
				  u->pins.dir, strerror(-err));
	xiw_bpffs_unlock(lock);
	return err;
}

static int unload_pinned(struct unload *u)
{
	int err;

	u->xdp_fd = xiw_pins_open_prog(u->pins.dir, "xiw_ingress", &u->xdp_id);
	u->tc_fd = xiw_pins_open_prog(u->pins.dir, "xiw_egress", &u->tc_id);
	if (u->xdp_fd == -EPERM)
		return xiw_explain(u->why, -EPERM, "%s cannot be read: %s", u->pins.dir,
				   xiw_caps_hint(CAP_DAC_OVERRIDE));
	/* Checked first, so that no connection leaves the direct path for nothing. */
	if (!xiw_caps_have(CAP_NET_ADMIN))
		return xiw_explain(u->why, -EPERM,
				   "unloading from %s needs CAP_NET_ADMIN: run as root", u->ifname);
	find_renamed(u);
	if (egress_elsewhere(u))
		return xiw_explain(u->why, -EBUSY,
				   "%s has xiw_egress where xiwarp did not put it ('tc filter show "
				   "dev %s egress'): detach it there first",
				   u->ifname, u->ifname);
	if (!u->force && xiw_query_doubtful(&u->pins, u->ifindex))
		return xiw_explain(u->why, -EBUSY,
				   "the programs of %s are not on %s, and no pin says where they "
				   "are: if not in another network namespace, remove the pins with "
				   "--force",
				   u->pins.dir, u->ifname);
	u->open = open_pinned;
	err = release_flows(u);
	return err ? err : detach_pinned(u);
}

static int unload_locked(struct unload *u)
{
	char why[XIW_PIN_PATH_MAX];
	int err = xiw_trust_dir(u->pins.dir, why, sizeof(why));

	if (err && err != -ENOENT)
		return xiw_explain(u->why, err, "%s%s", why, err == -EPERM ? ": run as root" : "");
	err = xiw_pins_exist(&u->pins) ? unload_pinned(u) : unload_unpinned(u);
	leave_queues(u, err);
	if (u->xdp_fd >= 0)
		close(u->xdp_fd);
	if (u->tc_fd >= 0)
		close(u->tc_fd);
	return err;
}

static int unload_quietly(struct unload *u)
{
	int err, lock = xiw_bpffs_lock(u->pins.base);

	if (lock == -EBUSY)
		return xiw_explain(u->why, lock, XIW_BPFFS_BUSY, u->pins.base);
	/* Whose pins there are may have changed meanwhile. */
	err = xiw_pins_again(&u->pins, u->pin_dir, u->ifname, u->why);
	/* Those of an interface that was renamed have its former name. */
	if (!err && u->ifindex && !xiw_pins_exist(&u->pins))
		xiw_status_each(u->pin_dir, take_if_its, u);
	if (!err)
		err = unload_locked(u);
	xiw_bpffs_unlock(lock);
	return err;
}

int xiw_unload(const char *ifname, const char *pin_dir, bool force, char *why, size_t why_len)
{
	char own[IF_NAMESIZE];
	struct unload u = {
		.ifname = own,
		.pin_dir = pin_dir,
		.force = force,
		.xdp_fd = -1,
		.tc_fd = -1,
		.why = { why, why_len },
	};
	struct xiw_bpf_log log;
	int err;

	xiw_explain(u.why, 0, "%s", "");
	err = xiw_pins_find(&u.pins, pin_dir, ifname, own, u.why);
	if (err)
		return err;
	u.ifindex = (int)if_nametoindex(own);
	xiw_bpf_log_begin(&log);
	err = unload_quietly(&u);
	xiw_bpf_log_end(&log);
	return err;
}
