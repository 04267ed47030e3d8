// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "netif/conntrack.h"

#include <stdio.h>

#define SYSCTL "/proc/sys/net/netfilter/nf_conntrack_tcp_"

static unsigned long seconds(const char *setting)
{
	unsigned long s = 0;
	char path[80];
	FILE *f;

	snprintf(path, sizeof(path), SYSCTL "%s", setting);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%lu", &s) != 1)
		s = 0;
	fclose(f);
	return s;
}

/* The second and the third hold while data are unacknowledged, and after segments that conntrack takes for repeated. */
uint64_t xiw_conntrack_forgets_ms(void)
{
	static const char *const limits[] = { "timeout_established", "timeout_unacknowledged",
					      "timeout_max_retrans" };
	unsigned long least = 0, s;

	for (unsigned int i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		s = seconds(limits[i]);
		if (s && (!least || s < least))
			least = s;
	}
	return least * 1000ull;
}
