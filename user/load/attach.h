/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attaching programs to an interface, and detaching them: XDP by netlink; on egress by tcx with a pinned link, or in
 * clsact. No other pins are read or written here.
 */
#ifndef XIW_LOAD_ATTACH_H
#define XIW_LOAD_ATTACH_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include <xiwarp/load.h>

#include "base/explain.h"

struct xiw_attach {
	const char *ifname;
	int ifindex;
	uint32_t mtu;
	enum xiw_xdp_mode mode;
	bool replace;
	struct xiw_line why;

	/* What has been done, and is undone when a later step fails. */
	int xdp_fd; /* ours, attached under xdp_flags; 0: not attached */
	uint32_t xdp_flags;
	int other_fd; /* the program that was replaced; 0: none */
	uint32_t other_flags;
	bool tc_attached;
	bool tc_hook_made;
};

/* -EBUSY: another XDP program is attached and may not be replaced. */
int xiw_attach_check(struct xiw_attach *a);
int xiw_attach_xdp(struct xiw_attach *a, int prog_fd);
/* By tcx, with a pin in this directory; in clsact where the kernel has no tcx. */
int xiw_attach_egress(struct xiw_attach *a, int prog_fd, const char *dir);
/* Puts the interface back into the state in which xiw_attach_check() found it. */
void xiw_attach_undo(struct xiw_attach *a);
void xiw_attach_release(struct xiw_attach *a);

/*
 * What xiw_load() and xiw_unload() return for an answer of the kernel that they do not expect: some numbers have
 * another meaning there (load.h), and exit codes are made from it.
 */
int xiw_kernel_error(int err);

/*
 * @id gets that of the program at xiwarp's place in clsact egress, 0 if there is none, no clsact or no interface.
 * Negative errno: the kernel did not say.
 */
int xiw_attach_query_tc(int ifindex, uint32_t *id);
/* The same; 0 also if the kernel did not say. */
uint32_t xiw_attach_tc_id(int ifindex);

/*
 * Does this line of the kernel's say that it refused because an interface above this one has an XDP program? Then
 * `upper` is that interface's name. The kernel wants programs attached from below and detached from above.
 */
bool xiw_attach_below(int ifindex, const char *line, char upper[IF_NAMESIZE]);

/* Detaches the program if it is the one with this id. 0 also if it is not attached; an errno if nobody knows. */
int xiw_detach_xdp(int ifindex, uint32_t id, int prog_fd);
int xiw_detach_egress(int ifindex, uint32_t id, const char *dir);

#endif
