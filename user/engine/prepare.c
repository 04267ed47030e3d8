// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * xiw_engine_prepare(): opens interfaces while the process still has the privilege for it, instead of at the first
 * connection.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "core/engine.h"
#include "core/serve.h"
#include "netif/bpffs.h"
#include "netif/fit.h"
#include "netif/interface.h"
#include "netif/query.h"

static bool wildcard(const struct sockaddr *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;

	if (!addr)
		return true;
	return addr->sa_family == AF_INET ? in->sin_addr.s_addr == htonl(INADDR_ANY)
					  : IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr);
}

/* That of e->unready.ifname. */
static int open_netif(struct xiw_engine *e, char why[96])
{
	struct xiw_netif *netif;
	int err = xiw_netif_by_name(e, e->unready.ifname, &netif, why, 96);

	if (!err)
		xiw_queues_say(e, netif, why, 96);
	return err;
}

static int prepare_only(struct xiw_engine *e, char why[96])
{
	char own[IF_NAMESIZE];
	const char *name = xiw_if_name(e->opts.interface, own);

	if (!if_nametoindex(name)) {
		snprintf(why, 96, "there is no interface %s", name);
		return -ENODEV;
	}
	snprintf(e->unready.ifname, sizeof(e->unready.ifname), "%s", name);
	return open_netif(e, why);
}

static int prepare_one(struct xiw_engine *e, const struct sockaddr *addr, char why[96])
{
	struct sockaddr_storage local = {};

	memcpy(&local, addr,
	       addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
					  : sizeof(struct sockaddr_in6));
	int err = xiw_netif_find(e, &local, e->unready.ifname);

	if (err) {
		snprintf(why, 96, "%s",
			 err == -ENODEV ? "no interface has the address" : strerror(-err));
		return err;
	}
	return open_netif(e, why);
}

static void say_none(const struct xiw_engine *e, char why[96])
{
	const char *wrong = xiw_bpffs_wrong(e->opts.pin_dir);

	if (wrong)
		snprintf(why, 96, "the pin directory %.40s %s", e->opts.pin_dir, wrong);
	else
		snprintf(why, 96, "xiwarp is not loaded on any interface: 'xiwarp load IF'");
}

/*
 * Opens every interface that has the programs. One that works is enough. `why` tells of the first one that has the
 * programs and cannot be used; else of one with queues that others have.
 */
static int prepare_all(struct xiw_engine *e, char why[96])
{
	struct if_nameindex *all = if_nameindex();
	struct xiw_netif *netif;
	char line[96], queues[96] = "";
	bool ready = false;
	int err = -ENOENT;

	if (!all) {
		err = -errno;
		snprintf(why, 96, "interfaces cannot be asked: %s", strerror(-err));
		return err;
	}
	say_none(e, why);
	for (struct if_nameindex *i = all; i->if_index; i++) {
		int one;

		if (xiw_fit_name(i->if_name, line, sizeof(line)))
			continue;
		line[0] = '\0';
		one = xiw_netif_by_name(e, i->if_name, &netif, line, sizeof(line));
		ready |= !one;
		if (!one && !*queues)
			xiw_queues_say(e, netif, queues, sizeof(queues));
		/* It has the programs, and their pins are elsewhere. */
		if (one == -ENOENT && err == -ENOENT &&
		    xiw_query_loaded((int)i->if_index, e->opts.pin_dir))
			snprintf(why, 96, "%s", line);
		if (!one || one == -ENOENT || (err != -ENOENT && err != -ENXIO))
			continue;
		err = one;
		snprintf(e->unready.ifname, sizeof(e->unready.ifname), "%s", i->if_name);
		snprintf(why, 96, "%s", line);
	}
	if_freenameindex(all);
	if (!ready)
		return err;
	/* What this engine does not serve, another one of its group does. */
	if (err == -ENOENT || (err == -ENXIO && e->group))
		snprintf(why, 96, "%s", queues);
	return 0;
}

int xiw_engine_prepare(struct xiw_engine *e, const struct sockaddr *addr, char *why, size_t len)
{
	char *line = e->unready.why;
	int err;

	line[0] = e->unready.ifname[0] = '\0';
	if (e->opts.path == XIW_USE_KERNEL) {
		snprintf(line, sizeof(e->unready.why), "the kernel path was asked for");
		err = -EOPNOTSUPP;
	} else if (wildcard(addr)) {
		err = e->opts.interface ? prepare_only(e, line) : prepare_all(e, line);
	} else {
		err = prepare_one(e, addr, line);
	}
	e->unready.prepared = true;
	if (why && len)
		snprintf(why, len, "%s", line);
	/* Connections try again an interface without programs, as they may have been loaded since. */
	if (err == -ENOENT || (!err && xiw_engine_queues(e, e->unready.ifname)) || !line[0])
		e->unready.ifname[0] = '\0';
	return err;
}
