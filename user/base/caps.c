// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/caps.h"

#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

bool xiw_caps_have(int cap)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};

	/* If this cannot be found out, the kernel decides when it is asked for something. */
	return syscall(SYS_capget, &header, data) || data[cap / 32].effective >> cap % 32 & 1;
}

bool xiw_caps_filtered(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	bool filtered = false;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		filtered |= !strncmp(line, "Seccomp:\t2", 10);
	if (f)
		fclose(f);
	return filtered;
}

/* Root and its capabilities count for what belongs to a user namespace. The first one maps all users to themselves. */
static bool elsewhere(void)
{
	FILE *f = fopen("/proc/self/uid_map", "re");
	unsigned int inside, outside, n;
	bool first = !f || (fscanf(f, "%u %u %u", &inside, &outside, &n) == 3 && !inside &&
			    !outside && n == UINT32_MAX);

	if (f)
		fclose(f);
	return !first;
}

const char *xiw_caps_why(int cap, const char *missing)
{
	if (!xiw_caps_have(cap))
		return missing;
	if (elsewhere())
		return "the capabilities are of a user namespace, not of the host";
	return xiw_caps_filtered() ? "a seccomp profile forbids it"
				   : "a security module forbids it";
}

const char *xiw_caps_hint(int cap)
{
	if (xiw_caps_have(cap) && elsewhere())
		return "the capabilities are of a user namespace: run as the host's root";
	if (xiw_caps_have(cap))
		return "the capabilities for that are in effect, so a security module or a "
		       "read-only file system forbids it";
	switch (cap) {
	case CAP_NET_ADMIN:
		return "CAP_NET_ADMIN is missing: run as root";
	case CAP_SYS_ADMIN:
		return "CAP_SYS_ADMIN is missing: run as root";
	default:
		return "CAP_DAC_OVERRIDE is missing: run as root";
	}
}
