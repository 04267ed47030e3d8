// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What `xiwarp status` says where there is nothing to show: each cause has a line of its own. */
#include "missing.h"

#include <errno.h>
#include <linux/capability.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/caps.h"
#include "exit.h"
#include "netif/bpffs.h"
#include "netif/pins.h"
#include "netif/query.h"
#include "report.h"

bool xiw_pins_left(const char *ifname, const char *dir)
{
	char own[IF_NAMESIZE];
	struct xiw_pins pins;

	return !xiw_pins_of(&pins, dir, ifname, own) && xiw_pins_exist(&pins) &&
	       (pins.marked || if_nametoindex(own));
}

/* There are no pins of that interface, or not all: says why that may be. */
static int not_loaded(const char *ifname, const char *dir)
{
	int ifindex = (int)if_nametoindex(ifname);

	if (xiw_pins_left(ifname, dir))
		return xiw_fail(XIW_EXIT_NOT_FOUND,
				"the pins of %s in %s are not complete, as a load that was killed "
				"leaves them: 'xiwarp unload %s', and load again",
				ifname, dir, ifname);
	if (!ifindex)
		return xiw_fail(XIW_EXIT_NOT_FOUND,
				"no interface %s in this network namespace: see 'ip link'", ifname);
	if (xiw_bpffs_hidden(dir))
		return xiw_fail(XIW_EXIT_NOT_FOUND,
				"%s cannot be seen from here ('ip netns exec' hides it): 'nsenter "
				"--net=/run/netns/NAME xiwarp status %s'",
				dir, ifname);
	if (xiw_bpffs_wrong(dir))
		return xiw_fail(XIW_EXIT_NOT_FOUND, "there are no pins of %s: %s %s", ifname, dir,
				xiw_bpffs_wrong(dir));
	if (xiw_query_loaded(ifindex, dir) && !xiw_bpffs_at(dir))
		return xiw_fail(XIW_EXIT_NOT_FOUND,
				"%s runs an XDP program, but /sys/fs/bpf is no BPF file system "
				"here, so that no pins can be seen: give the container the "
				"host's",
				ifname);
	if (xiw_query_xdp_named(ifindex, "xiw_ingress"))
		return xiw_fail(
			XIW_EXIT_NOT_FOUND,
			"%s runs xiw_ingress, but its pins are not in %s. Unless another --pin-dir "
			"has them, 'xiwarp unload %s' takes it off, and 'xiwarp load %s --replace' "
			"puts another in its place; both end the connections that use it",
			ifname, dir, ifname, ifname);
	return xiw_fail(XIW_EXIT_NOT_FOUND, "xiwarp is not loaded on %s: 'xiwarp load %s'", ifname,
			ifname);
}

int xiw_status_failed(const char *ifname, const char *dir, int err)
{
	if (err == -ENOENT)
		return not_loaded(ifname, dir);
	if (err == -EPERM)
		return xiw_fail(XIW_EXIT_PRIVILEGE, "%s cannot be read: %s", dir,
				xiw_caps_why(CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH is missing: "
								  "run as root"));
	if (err == -EUCLEAN)
		return xiw_fail(XIW_EXIT_FAILURE,
				"%s, or what is in it, is or can be changed by somebody else: "
				"remove it, and load again",
				dir);
	if (err == -ESTALE)
		return xiw_fail(XIW_EXIT_FAILURE,
				"%s holds pins of another version of xiwarp for %s: unload and "
				"load again",
				dir, ifname);
	if (err == -EINVAL)
		return xiw_fail(XIW_EXIT_USAGE, "'%s' cannot be an interface", ifname);
	return xiw_fail(XIW_EXIT_FAILURE, "cannot read %s: %s", dir, strerror(-err));
}

int xiw_status_hidden(const char *dir)
{
	if (!xiw_bpffs_hidden(dir))
		return 0;
	return xiw_fail(XIW_EXIT_NOT_FOUND,
			"%s cannot be seen from here ('ip netns exec' hides it): 'nsenter "
			"--net=/run/netns/NAME xiwarp status'",
			dir);
}

int xiw_status_none(const char *dir)
{
	struct if_nameindex *all = if_nameindex();
	const char *wrong = xiw_bpffs_wrong(dir);
	int code = 0;

	for (struct if_nameindex *i = all; i && i->if_index && !code; i++)
		if (xiw_query_loaded((int)i->if_index, dir))
			code = not_loaded(i->if_name, dir);
	if (all)
		if_freenameindex(all);
	if (!code && wrong)
		printf("xiwarp is not loaded on any interface: %s %s\n", dir, wrong);
	else if (!code)
		printf("xiwarp is not loaded on any interface: 'xiwarp load IF'\n");
	return code;
}
