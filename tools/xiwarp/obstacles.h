/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What `xiwarp status` says of the causes that an interface's connections have found against the direct path. */
#ifndef XIW_TOOLS_OBSTACLES_H
#define XIW_TOOLS_OBSTACLES_H

struct json_object;

/* Prints lines, or adds an array to the interface's object if that is not NULL. Returns 0 or a negative errno. */
int xiw_show_obstacles(const char *ifname, const char *pin_dir, struct json_object *interface);

#endif
