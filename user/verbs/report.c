// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `xiwarp run --report`: what the program received by which path, when it ends. */
#include "host/host.h"

__attribute__((destructor)) static void report(void)
{
	xiw_host_report();
}
