// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* xiw_load() checks, then loads, pins and attaches. When a step fails, the steps before it are undone in reverse. */
#include <xiwarp/load.h>

#include <errno.h>
#include <linux/capability.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/caps.h"
#include "base/opts.h"
#include "load/attach.h"
#include "load/dead.h"
#include "netif/bpf_log.h"
#include "netif/bpffs.h"
#include "netif/fit.h"
#include "netif/front.h"
#include "netif/interface.h"
#include "netif/offload.h"
#include "netif/pins.h"
#include "netif/query.h"
#include "netif/rings.h"
#include "netif/trust.h"
#include "xiwarp.skel.h"

#define XIW_KERNEL_MAJOR 6
#define XIW_KERNEL_MINOR 1
/* With so many descriptors, and so much address space, a load does not fail for want of them. */
#define FILES_ENOUGH 64
#define SPACE_ENOUGH (256ul << 20)

struct load {
	const char *ifname;
	int ifindex;
	uint32_t mtu;
	struct xiw_load_opts opts;
	struct xiw_pins pins;
	struct xiw_attach attach;
	struct xiw_line why;
};

static bool kernel_too_old(struct utsname *uts)
{
	unsigned int major = 0, minor = 0;

	if (uname(uts) || sscanf(uts->release, "%u.%u", &major, &minor) != 2)
		return false;
	return major < XIW_KERNEL_MAJOR || (major == XIW_KERNEL_MAJOR && minor < XIW_KERNEL_MINOR);
}

static int check_privilege(struct load *l)
{
	const char *missing;

	if (!xiw_caps_have(CAP_NET_ADMIN))
		missing = "CAP_NET_ADMIN";
	else if (xiw_caps_have(CAP_SYS_ADMIN))
		return 0;
	else if (!xiw_caps_have(CAP_BPF))
		missing = "CAP_BPF";
	else if (!xiw_caps_have(CAP_PERFMON))
		missing = "CAP_PERFMON";
	else
		return 0;
	return xiw_explain(l->why, -EPERM,
			   "loading on %s needs %s: run as root, or give the process "
			   "CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON",
			   l->ifname, missing);
}

/* No other user may control the pins that exist, nor the path to those that do not. */
static int check_trust(struct load *l)
{
	char why[XIW_PIN_PATH_MAX];
	int err = xiw_trust_dir(l->pins.dir, why, sizeof(why));

	if (!err || err == -ENOENT)
		return 0;
	if (err == -EPERM && strchr(l->pins.base, '.') && xiw_bpffs_at(l->pins.base))
		return xiw_explain(l->why, -EINVAL,
				   "%s: a BPF file system takes no dot in a name: use another "
				   "--pin-dir",
				   l->pins.base);
	return xiw_explain(l->why, err, "%s%s", why, err == -EPERM ? ": run as root" : "");
}

static int make_dirs(const char *path)
{
	char at[XIW_PIN_PATH_MAX];

	snprintf(at, sizeof(at), "%s", path);
	for (char *slash = strchr(at + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(at, 0700) && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(at, 0700) && errno != EEXIST ? -errno : 0;
}

/*
 * Programs and maps live as long as their pins and attachments. Were the pins lost with this command, what is attached
 * would stay, and nobody could use it.
 */
static int check_bpffs(struct load *l)
{
	bool mounted = false;

	if (!xiw_bpffs_at(l->pins.base) && !strncmp(l->pins.base, "/sys/fs/bpf/", 12))
		mounted = !mount("bpf", "/sys/fs/bpf", "bpf", 0, "mode=0700");
	if (!xiw_bpffs_at(l->pins.base))
		return xiw_explain(l->why, -EOPNOTSUPP,
				   "%s is not on a BPF file system: mount -t bpf bpf /sys/fs/bpf",
				   l->pins.base);
	if (!xiw_bpffs_private(l->pins.base, mounted))
		return 0;
	if (mounted)
		umount2("/sys/fs/bpf", MNT_DETACH);
	return xiw_explain(l->why, -EOPNOTSUPP,
			   "pins in %s would be lost when this command ends, since no other "
			   "process sees its mounts (because of 'ip netns exec'): 'nsenter "
			   "--net=/run/netns/NAME xiwarp load %s'",
			   l->pins.base, l->ifname);
}

/* Makes the directory. Of two loads at once, mkdir(2) of the last name succeeds for one alone. */
static int make_pin_dir(struct load *l)
{
	int err = make_dirs(l->pins.base), untrusted;

	/* Again: another user may have made one of them meanwhile. */
	if (!err && (untrusted = check_trust(l)))
		return untrusted;
	if (!err && mkdir(l->pins.dir, 0700))
		err = -errno;
	if (err == -EEXIST)
		return xiw_explain(l->why, -EALREADY,
				   "%s holds pins, but their programs are not on %s: they were "
				   "detached, or the interface was made anew%s: 'xiwarp unload %s' "
				   "first",
				   l->pins.dir, l->ifname,
				   l->pins.marked ? ""
						  : ", or they are another network namespace's",
				   l->ifname);
	if (!err) {
		err = xiw_pins_mark(&l->pins);
		if (!err)
			err = xiw_pins_note(l->pins.dir, XIW_PINS_MTU, l->mtu);
		if (err)
			rmdir(l->pins.dir);
	}
	if (err == -EACCES || err == -EPERM)
		return xiw_explain(l->why, -EPERM, "cannot make %s: %s", l->pins.dir,
				   xiw_caps_hint(CAP_DAC_OVERRIDE));
	if (err)
		return xiw_explain(l->why, xiw_kernel_error(err), "cannot make %s: %s", l->pins.dir,
				   strerror(-err));
	return 0;
}

static int check_loaded(struct load *l)
{
	int link_fd = -1;
	uint32_t id;

	if (xiw_pins_prog_id(l->pins.dir, "xiw_ingress", &id) ||
	    xiw_query_xdp_id(l->ifindex, NULL) != id)
		return 0;
	if (!xiw_pins_prog_id(l->pins.dir, "xiw_egress", &id) &&
	    !xiw_query_egress_in(l->pins.dir, l->ifindex, id))
		return xiw_explain(l->why, -EALREADY,
				   "%s has xiw_ingress, but xiw_egress was detached: 'xiwarp "
				   "unload %s' first",
				   l->ifname, l->ifname);
	if (!xiw_query_egress_first(l->ifindex, id, NULL) &&
	    xiw_front_take(&l->pins, l->ifindex, id, &link_fd) > 0) {
		close(link_fd); /* the pin holds it */
		return xiw_explain(l->why, -EALREADY,
				   "xiwarp is loaded on %s already; xiw_egress, which was not the "
				   "first program of tcx any more, is so again",
				   l->ifname);
	}
	return xiw_explain(l->why, -EALREADY,
			   "xiwarp is loaded on %s already: nothing to do, or 'xiwarp unload %s' "
			   "first",
			   l->ifname, l->ifname);
}

/* Is a limit so low that the library has failed for it, whatever the errno that it has returned? */
static bool few(enum __rlimit_resource resource, rlim_t enough)
{
	struct rlimit limit;

	return !getrlimit(resource, &limit) && limit.rlim_cur < enough;
}

static int load_failed(struct load *l, int err)
{
	const char *remark = xiw_bpf_log_remark();
	struct utsname uts;

	if (kernel_too_old(&uts))
		return xiw_explain(l->why, -EOPNOTSUPP,
				   "kernel %s cannot run the BPF programs (%s): %d.%d or newer is "
				   "needed",
				   uts.release, strerror(-err), XIW_KERNEL_MAJOR, XIW_KERNEL_MINOR);
	if (err == -EPERM || err == -EACCES)
		return xiw_explain(l->why, -EPERM,
				   "the kernel refuses to load BPF programs%s: %s, or the "
				   "capabilities are those of a user namespace",
				   remark,
				   xiw_caps_filtered() ? "a seccomp profile forbids bpf()"
						       : "it may be locked down");
	if (err == -EMFILE || few(RLIMIT_NOFILE, FILES_ENOUGH))
		return xiw_explain(l->why, -EMFILE,
				   "cannot load the BPF programs: %s: raise the limit on open "
				   "files (ulimit -n)",
				   strerror(EMFILE));
	if (few(RLIMIT_AS, SPACE_ENOUGH))
		return xiw_explain(l->why, -ENOMEM,
				   "cannot load the BPF programs: raise the limit on address "
				   "space (ulimit -v)");
	if (err == -ENOMEM)
		return xiw_explain(l->why, err,
				   "no memory for the BPF maps%s: raise the memory limit of the "
				   "control group, or RLIMIT_MEMLOCK",
				   remark);
	return xiw_explain(l->why, -EOPNOTSUPP, "the kernel does not accept the BPF programs: %s%s",
			   strerror(-err), remark);
}

static int pin_all(struct load *l, struct xiwarp_bpf *skel)
{
	char path[XIW_PIN_PATH_MAX];
	struct bpf_program *prog;
	struct bpf_map *map;
	int err;

	bpf_object__for_each_program(prog, skel->obj)
	{
		err = xiw_pins_path(l->pins.dir, bpf_program__name(prog), path);
		if (!err)
			err = bpf_program__pin(prog, path);
		if (err)
			return err;
	}
	bpf_object__for_each_map(map, skel->obj)
	{
		if (bpf_map__is_internal(map))
			continue;
		err = xiw_pins_path(l->pins.dir, bpf_map__name(map), path);
		if (!err)
			err = bpf_map__pin(map, path);
		if (err)
			return err;
	}
	return 0;
}

/* The maps that have an entry, or a bit, for each flow. */
static int size_maps(const struct xiwarp_bpf *skel, uint32_t flows)
{
	int err = bpf_map__set_max_entries(skel->maps.xiw_flows, flows);

	if (!err)
		err = bpf_map__set_max_entries(skel->maps.xiw_taken, flows / 64);
	if (!err)
		err = bpf_map__set_max_entries(skel->maps.xiw_flow_index, flows);
	return err;
}

static int load_pin_attach(struct load *l, struct xiwarp_bpf *skel)
{
	int err = size_maps(skel, l->opts.flows);

	if (!err)
		err = xiwarp_bpf__load(skel);
	if (err)
		return load_failed(l, err);
	err = pin_all(l, skel);
	if (err)
		return xiw_explain(l->why, xiw_kernel_error(err), "cannot pin in %s: %s",
				   l->pins.dir, strerror(-err));
	err = xiw_attach_xdp(&l->attach, bpf_program__fd(skel->progs.xiw_ingress));
	if (err)
		return err;
	/* Last, because a TC filter that was replaced cannot be put back. */
	err = xiw_attach_egress(&l->attach, bpf_program__fd(skel->progs.xiw_egress), l->pins.dir);
	if (!err && l->attach.xdp_flags == XDP_FLAGS_DRV_MODE)
		xiw_rings_anew(l->ifname, l->mtu, l->why);
	return err;
}

/* XDP must see each packet as it was on the wire: with its tag, and not joined with others. */
static int offloads_off(struct load *l)
{
	int on = xiw_offloads_off(l->ifname, l->pins.dir);
	char driver[64];

	xiw_if_driver(l->ifname, driver, sizeof(driver));
	if (on < 0)
		return xiw_explain(l->why, xiw_kernel_error(on),
				   "cannot turn rxvlan and lro off on %s: %s", l->ifname,
				   strerror(-on));
	if (on & (XIW_OFFLOAD_TAGS | XIW_OFFLOAD_STAGS))
		return xiw_explain(l->why, -EOPNOTSUPP,
				   "%s strips VLAN tags, and %s does not let that be turned off: "
				   "segments of other VLANs would count as its own",
				   l->ifname, driver);
	if (on & XIW_OFFLOAD_LRO)
		xiw_explain(l->why, 0,
			    "%s: %s does not let lro be turned off: packets that it joins may not "
			    "go direct",
			    l->ifname, driver);
	return 0;
}

static void remove_pins(const struct load *l)
{
	xiw_offloads_restore(l->ifname, l->pins.dir);
	xiw_pins_remove(&l->pins);
}

/* Does an interface of this network namespace run one of the pinned programs? It may have had another name. */
static bool run_somewhere(const struct xiw_pins *pins)
{
	struct if_nameindex *all = if_nameindex();
	uint32_t xdp = 0, tc = 0;
	bool runs = !all;

	xiw_pins_prog_id(pins->dir, "xiw_ingress", &xdp);
	xiw_pins_prog_id(pins->dir, "xiw_egress", &tc);
	for (struct if_nameindex *i = all; i && i->if_index && !runs; i++)
		runs = (xdp && xiw_query_xdp((int)i->if_index, xdp)) ||
		       (tc && xiw_query_egress((int)i->if_index, tc));
	if (all)
		if_freenameindex(all);
	return runs;
}

/*
 * Removes pins that are of no use to anybody: the interface is made anew, as when its driver was bound again, or the
 * programs were detached, or a load was killed. No connection can go on by them.
 */
static void remove_left_over(const struct load *l)
{
	if (l->pins.marked && xiw_pins_exist(&l->pins) && !run_somewhere(&l->pins))
		remove_pins(l);
}

static int load_locked(struct load *l)
{
	struct xiwarp_bpf *skel;
	int err = check_loaded(l);

	if (err)
		return err;
	l->attach = (struct xiw_attach){ .ifname = l->ifname,
					 .ifindex = l->ifindex,
					 .mtu = l->mtu,
					 .mode = l->opts.mode,
					 .replace = l->opts.replace,
					 .why = l->why };
	err = xiw_attach_check(&l->attach);
	if (err)
		return err;
	if (l->opts.replace && xiw_pins_exist(&l->pins) &&
	    !xiw_query_doubtful(&l->pins, l->ifindex))
		remove_pins(l);
	remove_left_over(l);
	err = make_pin_dir(l);
	if (err) {
		xiw_attach_release(&l->attach);
		return err;
	}
	skel = xiwarp_bpf__open();
	err = offloads_off(l);
	if (!err && !skel)
		err = xiw_explain(l->why, -EIO, "the BPF object inside the library is damaged%s",
				  xiw_bpf_log_remark());
	else if (!err)
		err = load_pin_attach(l, skel);
	if (err)
		xiw_attach_undo(&l->attach);
	xiwarp_bpf__destroy(skel);
	/* Takes descriptors, which may have been all in use. */
	if (err)
		remove_pins(l);
	xiw_attach_release(&l->attach);
	return err;
}

static int load_quietly(struct load *l)
{
	int lock, err = check_trust(l);
	bool made = false;

	if (!err)
		err = check_bpffs(l);
	if (err)
		return err;
	/* The last unload removes the directory. */
	do
		lock = xiw_bpffs_lock(l->pins.base);
	while (lock == -ENOENT && (made = !make_dirs(l->pins.base)));
	if (lock == -EBUSY)
		return xiw_explain(l->why, lock, XIW_BPFFS_BUSY, l->pins.base);
	/* Whose pins there are may have changed meanwhile. */
	xiw_dead_remove(l->pins.base, l->opts.pin_dir);
	err = xiw_pins_again(&l->pins, l->opts.pin_dir, l->ifname, l->why);
	if (!err)
		err = check_trust(l);
	if (!err)
		err = load_locked(l);
	if (err && made)
		rmdir(l->pins.base);
	xiw_bpffs_unlock(lock);
	return err;
}

/* The size of the first release. */
#define LOAD_OPTS_FIRST 24

XIW_OPTS_WHOLE(struct xiw_load_opts, reserved2);

static int take_opts(struct load *l, const struct xiw_load_opts *opts)
{
	if (xiw_opts_take(&l->opts, sizeof(l->opts), LOAD_OPTS_FIRST, opts))
		return xiw_explain(l->why, -EINVAL,
				   "xiw_load_opts has the size of no version, or sets members that "
				   "this version of the library does not know");
	if (l->opts.mode > XIW_XDP_GENERIC || l->opts.reserved2 ||
	    !xiw_all_zero(l->opts.reserved, sizeof(l->opts.reserved)))
		return xiw_explain(l->why, -EINVAL, "xiw_load_opts has a mode that does not exist");
	if (!l->opts.flows)
		l->opts.flows = XIW_DEFAULT_FLOWS;
	if (l->opts.flows > XIW_MAX_FLOWS)
		return xiw_explain(l->why, -EINVAL, "a table has at most %u flows", XIW_MAX_FLOWS);
	l->opts.flows = xiw_flows_round(l->opts.flows);
	return 0;
}

int xiw_load(const char *ifname, const struct xiw_load_opts *opts, char *why, size_t why_len)
{
	struct load l = { .ifname = ifname, .why = { why, why_len } };
	struct xiw_bpf_log log;
	char own[IF_NAMESIZE];
	int err;

	xiw_explain(l.why, 0, "%s", "");
	err = take_opts(&l, opts);
	if (!err)
		err = xiw_pins_find(&l.pins, l.opts.pin_dir, ifname, own, l.why);
	if (err)
		return err;
	ifname = l.ifname = own;
	l.ifindex = if_nametoindex(ifname);
	if (!l.ifindex || xiw_if_mtu(ifname, &l.mtu))
		return xiw_explain(l.why, -ENODEV,
				   "no interface %s in this network namespace: see 'ip link'",
				   ifname);
	/* Otherwise the programs would run, and no connection could be direct. */
	err = xiw_fit(l.ifindex, ifname, why, why_len);
	if (err)
		return err;
	err = check_privilege(&l);
	if (err)
		return err;
	xiw_bpf_log_begin(&log);
	err = load_quietly(&l);
	xiw_bpf_log_end(&log);
	return err;
}
