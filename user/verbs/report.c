// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `xiwarp run --report`: what the program received by which path, when it ends. */
#include <stdlib.h>

#include "host/host.h"
#include "verbs/objects.h"

__attribute__((destructor)) static void report(void)
{
	const char *wanted = getenv("XIWARP_REPORT");

	if (!wanted || !*wanted)
		return;
	/* The connections that the program has left open count, too. */
	xiw_qps_end();
	xiw_host_report();
}
