// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which interfaces have RDMA devices of the kernel, as sysfs says. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "verbs/devices.h"

#define DEVICES "/sys/class/infiniband"

/* The first line of a file, without its end. False: it cannot be read, as entries that are not in use cannot. */
static bool first_line(const char *path, char line[64])
{
	FILE *f = fopen(path, "re");
	const bool got = f && fgets(line, 64, f);

	if (f)
		fclose(f);
	if (got)
		line[strcspn(line, "\n")] = '\0';
	return got;
}

/* Calls look() for each entry of a directory, until it says yes. */
static bool any(const char *dir, bool (*look)(const char *path, const char *ifname),
		const char *ifname)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	bool found = false;
	char path[512];

	while (d && !found && (entry = readdir(d)))
		if (entry->d_name[0] != '.' &&
		    snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name) < (int)sizeof(path))
			found = look(path, ifname);
	if (d)
		closedir(d);
	return found;
}

static bool is_named(const char *path, const char *ifname)
{
	char line[64];

	return first_line(path, line) && !strcmp(line, ifname);
}

/* The first GID of an RNIC begins with the MAC address, in groups of four digits. */
static bool has_mac(const char *port, const char *ifname)
{
	unsigned int gid[6], mac[6];
	char path[512], line[64];

	if (snprintf(path, sizeof(path), "%s/gids/0", port) >= (int)sizeof(path) ||
	    !first_line(path, line) ||
	    sscanf(line, "%2x%2x:%2x%2x:%2x%2x", &gid[0], &gid[1], &gid[2], &gid[3], &gid[4],
		   &gid[5]) != 6)
		return false;
	snprintf(path, sizeof(path), "/sys/class/net/%s/address", ifname);
	return first_line(path, line) &&
	       sscanf(line, "%2x:%2x:%2x:%2x:%2x:%2x", &mac[0], &mac[1], &mac[2], &mac[3], &mac[4],
		      &mac[5]) == 6 &&
	       !memcmp(gid, mac, sizeof(mac));
}

static bool port_is_on(const char *port, const char *ifname)
{
	char path[512];

	if (snprintf(path, sizeof(path), "%s/gid_attrs/ndevs", port) >= (int)sizeof(path))
		return false;
	return any(path, is_named, ifname) || has_mac(port, ifname);
}

static bool device_is_on(const char *device, const char *ifname)
{
	char path[512];

	return snprintf(path, sizeof(path), "%s/ports", device) < (int)sizeof(path) &&
	       any(path, port_is_on, ifname);
}

bool xiw_rnic_on(const char *ifname)
{
	return any(DEVICES, device_is_on, ifname);
}

static bool is_there(const char *path, const char *ifname)
{
	(void)path, (void)ifname;
	return true;
}

bool xiw_devices_real(void)
{
	return any(DEVICES, is_there, NULL);
}
