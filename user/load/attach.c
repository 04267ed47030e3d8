// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "load/attach.h"

#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "netif/bpf_log.h"
#include "netif/egress.h"
#include "netif/interface.h"
#include "netif/pins.h"
#include "netif/query.h"

/*
 * Where xiw_egress sits in clsact egress. A filter that ends the classification before xiw_egress would hide segments
 * from it, so the number of its priority is low; 1 is left to those who take it by default.
 */
#define TC_HANDLE 1
#define TC_PRIORITY 10

int xiw_kernel_error(int err)
{
	switch (err) {
	case -EACCES:
		return -EPERM;
	case -EALREADY:
	case -EINVAL:
	case -ENOBUFS:
	case -ENOENT:
	case -ERANGE:
	case -EUCLEAN:
		return -EIO;
	default:
		return err;
	}
}

static void tc_place(struct bpf_tc_hook *hook, struct bpf_tc_opts *opts, int ifindex)
{
	memset(hook, 0, sizeof(*hook));
	hook->sz = sizeof(*hook);
	hook->ifindex = ifindex;
	hook->attach_point = BPF_TC_EGRESS;
	memset(opts, 0, sizeof(*opts));
	opts->sz = sizeof(*opts);
	opts->handle = TC_HANDLE;
	opts->priority = TC_PRIORITY;
}

int xiw_attach_query_tc(int ifindex, uint32_t *id)
{
	struct bpf_tc_hook hook;
	struct bpf_tc_opts opts;
	int err;

	*id = 0;
	tc_place(&hook, &opts, ifindex);
	err = bpf_tc_query(&hook, &opts);
	if (!err)
		*id = opts.prog_id;
	return err == -ENOENT || err == -EINVAL || err == -ENODEV ? 0 : err;
}

uint32_t xiw_attach_tc_id(int ifindex)
{
	uint32_t id;

	xiw_attach_query_tc(ifindex, &id);
	return id;
}

/*
 * Has the XDP program lost what belongs to it? The link of xiw_egress goes with the last mount of the BPF file system
 * that had the pins, such as that of a container, and what XDP runs stays: nobody can use it any more.
 */
static bool left_over(const struct xiw_attach *a, const char *name)
{
	return !strcmp(name, "xiw_ingress") && xiw_query_egress_lacks(a->ifindex, "xiw_egress") &&
	       !xiw_attach_tc_id(a->ifindex);
}

int xiw_attach_check(struct xiw_attach *a)
{
	char name[BPF_OBJ_NAME_LEN];
	uint32_t id = xiw_query_xdp_id(a->ifindex, &a->other_flags);
	int fd;

	if (!id)
		return 0;
	xiw_query_name(id, name);
	a->replace |= left_over(a, name);
	if (!a->replace && !strcmp(name, "xiw_ingress"))
		return xiw_explain(a->why, -EBUSY,
				   "%s runs %s (id %u), but its pins are gone, or elsewhere: "
				   "'xiwarp unload %s' first, or --replace, which ends the "
				   "connections that use it",
				   a->ifname, name, id, a->ifname);
	if (!a->replace)
		return xiw_explain(a->why, -EBUSY,
				   "%s runs another XDP program (%s, id %u): unload that first, or "
				   "replace it with --replace",
				   a->ifname, name, id);
	fd = bpf_prog_get_fd_by_id(id);
	if (fd < 0)
		return xiw_explain(a->why, fd == -EACCES ? -EPERM : fd,
				   "cannot replace XDP program %s, id %u (%s): CAP_SYS_ADMIN is "
				   "needed",
				   name, id, strerror(-fd));
	a->other_fd = fd;
	return 0;
}

static int try_xdp(struct xiw_attach *a, int fd, uint32_t mode_flag)
{
	int err;

	xiw_bpf_log_clear();
	err = bpf_xdp_attach(a->ifindex, fd, mode_flag | XDP_FLAGS_UPDATE_IF_NOEXIST, NULL);
	if (!err) {
		a->xdp_fd = fd;
		a->xdp_flags = mode_flag;
	}
	return err;
}

bool xiw_attach_below(int ifindex, const char *line, char upper[IF_NAMESIZE])
{
	uint32_t master = strstr(line, "upper device") ? xiw_if_master(ifindex) : 0;

	return master && if_indextoname(master, upper);
}

static int xdp_failed(const struct xiw_attach *a, int err)
{
	const char *line = xiw_bpf_log_line();
	char driver[64], upper[IF_NAMESIZE];
	bool mtu = err == -ERANGE || strcasestr(line, "mtu");

	xiw_if_driver(a->ifname, driver, sizeof(driver));
	if (!*line)
		line = strerror(-err);
	if (mtu)
		return xiw_explain(a->why, -ERANGE,
				   "%s has MTU %u, more than %s takes with XDP (%s): 'ip link set "
				   "%s mtu 1500', on a veth pair at both ends, or --mode generic",
				   a->ifname, a->mtu, driver, line, a->ifname);
	if (err == -EEXIST && xiw_attach_below(a->ifindex, line, upper))
		return xiw_explain(a->why, -EBUSY,
				   "%s is part of %s, which has an XDP program: 'xiwarp unload "
				   "%s', load on %s, and then on %s again",
				   a->ifname, upper, upper, a->ifname, upper);
	if (err == -EEXIST && strstr(line, "upper device"))
		return xiw_explain(
			a->why, -EBUSY,
			"an interface on top of %s, such as a macvlan, maybe of another network "
			"namespace, has an XDP program (%s): 'xiwarp unload' there, load on %s, "
			"and then there again",
			a->ifname, line, a->ifname);
	if (err == -EBUSY || err == -EEXIST)
		return xiw_explain(a->why, -EBUSY,
				   "%s has another XDP program, which was attached meanwhile or is "
				   "held by a BPF link (%s): unload that first",
				   a->ifname, line);
	if (err == -EPERM)
		return xiw_explain(a->why, err,
				   "attaching to %s needs CAP_NET_ADMIN in the network namespace's "
				   "user namespace (%s)",
				   a->ifname, line);
	return xiw_explain(a->why, -EOPNOTSUPP, "%s: %s does not take XDP in %s mode (%s): %s",
			   a->ifname, driver, a->mode == XIW_XDP_GENERIC ? "generic" : "native",
			   line,
			   a->mode == XIW_XDP_NATIVE
				   ? "use --mode generic, or load on the lower device"
				   : "load on another interface");
}

int xiw_attach_xdp(struct xiw_attach *a, int prog_fd)
{
	char reason[256], driver[64];
	int err = 0, native;

	/* The kernel does not run native and generic programs together, so the other one must go first. */
	if (a->other_fd > 0)
		err = bpf_xdp_detach(a->ifindex, a->other_flags, NULL);
	if (err)
		return xdp_failed(a, err);
	if (a->mode == XIW_XDP_GENERIC) {
		err = try_xdp(a, prog_fd, XDP_FLAGS_SKB_MODE);
		return err ? xdp_failed(a, err) : 0;
	}
	native = try_xdp(a, prog_fd, XDP_FLAGS_DRV_MODE);
	if (!native)
		return 0;
	if (a->mode == XIW_XDP_NATIVE || native == -EPERM || native == -EBUSY || native == -EEXIST)
		return xdp_failed(a, native);
	snprintf(reason, sizeof(reason), "%s",
		 *xiw_bpf_log_line() ? xiw_bpf_log_line() : strerror(-native));
	err = try_xdp(a, prog_fd, XDP_FLAGS_SKB_MODE);
	if (err)
		return xdp_failed(a, err);
	xiw_if_driver(a->ifname, driver, sizeof(driver));
	return xiw_explain(a->why, 0, "%s: generic mode, slower, because %s refuses native (%s)",
			   a->ifname, driver, reason);
}

/*
 * The older qdisc `ingress` has the handle of clsact, takes filters for any parent, and runs all of them on ingress. A
 * filter meant for egress then shows at the ingress hook.
 */
static bool tc_on_ingress(int ifindex, uint32_t id)
{
	struct bpf_tc_hook hook;
	struct bpf_tc_opts opts;

	tc_place(&hook, &opts, ifindex);
	hook.attach_point = BPF_TC_INGRESS;
	return id && !bpf_tc_query(&hook, &opts) && opts.prog_id == id;
}

static int attach_clsact(struct xiw_attach *a, int prog_fd)
{
	struct bpf_tc_hook hook;
	struct bpf_tc_opts opts;
	uint32_t other;
	int err;

	tc_place(&hook, &opts, a->ifindex);
	xiw_bpf_log_clear();
	err = bpf_tc_hook_create(&hook);
	a->tc_hook_made = !err;
	if (err && err != -EEXIST)
		return xiw_explain(a->why, err == -ENOENT ? -EOPNOTSUPP : xiw_kernel_error(err),
				   "cannot add qdisc clsact to %s: %s%s: the kernel needs "
				   "CONFIG_NET_CLS_ACT, NET_SCH_INGRESS and NET_CLS_BPF",
				   a->ifname, strerror(-err), xiw_bpf_log_remark());
	opts.prog_fd = prog_fd;
	xiw_bpf_log_clear(); /* of a clsact that was there */
	err = bpf_tc_attach(&hook, &opts);
	if (err == -EEXIST && a->replace) {
		opts.flags = BPF_TC_F_REPLACE;
		opts.prog_id = 0;
		err = bpf_tc_attach(&hook, &opts);
	}
	a->tc_attached = !err;
	if (!err && tc_on_ingress(a->ifindex, opts.prog_id))
		return xiw_explain(a->why, -EBUSY,
				   "%s has qdisc ingress where clsact is needed: 'tc qdisc del dev "
				   "%s ingress', and load again",
				   a->ifname, a->ifname);
	if (!err)
		return 0;
	other = xiw_attach_tc_id(a->ifindex);
	if (other)
		return xiw_explain(a->why, -EBUSY,
				   "%s has another TC egress filter at priority %d (program id "
				   "%u): remove it, or replace it with --replace",
				   a->ifname, TC_PRIORITY, other);
	return xiw_explain(a->why, xiw_kernel_error(err), "cannot attach xiw_egress to %s: %s%s",
			   a->ifname, strerror(-err), xiw_bpf_log_remark());
}

/*
 * By tcx, programs that others put behind xiw_egress cannot hide segments from it, whatever they return, nor can any
 * filter of clsact. It needs no qdisc, and nothing of it is left when the link is gone.
 */
int xiw_attach_egress(struct xiw_attach *a, int prog_fd, const char *dir)
{
	char path[XIW_PIN_PATH_MAX];
	int err = xiw_pins_path(dir, XIW_EGRESS_LINK, path), fd;

	fd = err ? err : xiw_egress_attach(a->ifindex, prog_fd);
	if (fd == -EOPNOTSUPP)
		return attach_clsact(a, prog_fd);
	if (fd >= 0) {
		err = bpf_obj_pin(fd, path);
		close(fd); /* the pin holds it */
		fd = err;
	}
	return fd < 0 ? xiw_explain(a->why, xiw_kernel_error(fd),
				    "cannot attach xiw_egress to %s: %s", a->ifname, strerror(-fd))
		      : 0;
}

void xiw_attach_undo(struct xiw_attach *a)
{
	struct bpf_tc_hook hook;
	struct bpf_tc_opts opts;

	if (a->xdp_fd > 0)
		bpf_xdp_detach(a->ifindex, a->xdp_flags, NULL);
	a->xdp_fd = 0;
	if (a->other_fd > 0)
		bpf_xdp_attach(a->ifindex, a->other_fd,
			       a->other_flags | XDP_FLAGS_UPDATE_IF_NOEXIST, NULL);
	tc_place(&hook, &opts, a->ifindex);
	if (a->tc_attached)
		bpf_tc_detach(&hook, &opts);
	a->tc_attached = false;
	if (a->tc_hook_made) {
		hook.attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS;
		bpf_tc_hook_destroy(&hook);
	}
	a->tc_hook_made = false;
}

void xiw_attach_release(struct xiw_attach *a)
{
	if (a->other_fd > 0)
		close(a->other_fd);
	a->other_fd = 0;
}

int xiw_detach_xdp(int ifindex, uint32_t id, int prog_fd)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts, .old_prog_fd = prog_fd);
	uint32_t flags;
	int there = xiw_query_xdp_flag(ifindex, id, &flags);

	if (there != 1)
		return there;
	/* As the old program is named, the kernel refuses if another one has replaced it meanwhile. */
	return bpf_xdp_detach(ifindex, flags | XDP_FLAGS_REPLACE, &opts);
}

int xiw_detach_egress(int ifindex, uint32_t id, const char *dir)
{
	struct bpf_tc_hook hook;
	struct bpf_tc_opts opts;
	uint32_t now;
	int err = xiw_attach_query_tc(ifindex, &now), link_fd = xiw_egress_open(dir);

	/* Processes may have the link open. */
	if (link_fd >= 0) {
		if (xiw_egress_ifindex(link_fd, NULL) == ifindex)
			err = bpf_link_detach(link_fd);
		close(link_fd);
		return err;
	}
	if (err || !id || now != id)
		return err;
	tc_place(&hook, &opts, ifindex);
	return bpf_tc_detach(&hook, &opts);
}
