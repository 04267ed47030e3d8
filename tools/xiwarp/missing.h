/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why `xiwarp status` has nothing to show. What returns an int says it, and returns an exit code. */
#ifndef XIW_TOOLS_MISSING_H
#define XIW_TOOLS_MISSING_H

#include <stdbool.h>

/* Has a load begun to pin there? Directories of others may have any name. */
bool xiw_pins_left(const char *ifname, const char *dir);
/* One interface cannot be read: a negative errno. */
int xiw_status_failed(const char *ifname, const char *dir, int err);
/* Nothing was found: perhaps because this process does not see where to look. 0: it does. */
int xiw_status_hidden(const char *dir);
/* No interface has its pins there. */
int xiw_status_none(const char *dir);

#endif
