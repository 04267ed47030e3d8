// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "load/dead.h"

#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "netif/bpffs.h"
#include "netif/egress.h"
#include "netif/pins.h"
#include "netif/query.h"
#include "netif/trust.h"

/* Somebody may have detached the link alone. Where this process can look, the interface shows that. */
static bool is_dead(const char *pin_dir, const char *entry, const char *dir)
{
	char why[XIW_PIN_PATH_MAX], ifname[IF_NAMESIZE];
	uint32_t id;

	if (xiw_trust_dir(dir, why, sizeof(why)) || !xiw_egress_dead(dir))
		return false;
	return !xiw_pins_ifname(entry, pin_dir, ifname) ||
	       xiw_pins_prog_id(dir, "xiw_ingress", &id) ||
	       xiw_query_xdp((int)if_nametoindex(ifname), id) != 1;
}

void xiw_dead_remove(const char *base, const char *pin_dir)
{
	/* It removes no base that has no name: this one is locked. */
	struct xiw_pins dead = { .base = "" };
	struct dirent *entry;
	DIR *dir = opendir(base);
	int lock;

	/* Who has the lock of one puts a new link in place of a dead one (xiw_front_take()). */
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || xiw_pins_path(base, entry->d_name, dead.dir))
			continue;
		lock = xiw_bpffs_try_lock(dead.dir);
		if (lock != -EBUSY && is_dead(pin_dir, entry->d_name, dead.dir))
			xiw_pins_remove(&dead);
		xiw_bpffs_unlock(lock);
	}
	if (dir)
		closedir(dir);
}
