/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attaching to an interface: XDP by netlink, TC by clsact egress. Nothing here reads pins.
 */
#ifndef XIW_LOAD_ATTACH_H
#define XIW_LOAD_ATTACH_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xiwarp/load.h>

struct xiw_attach {
	const char *ifname;
	int ifindex;
	uint32_t mtu;
	enum xiw_xdp_mode mode;
	bool replace;

	/* What was done, to be undone. */
	int xdp_fd; /* ours, attached under xdp_flags; 0: not attached */
	uint32_t xdp_flags;
	int other_fd; /* the program that was replaced; 0: none */
	uint32_t other_flags;
	bool tc_attached;
	bool tc_hook_made;
};

/* -EBUSY: another XDP program is there and may not be replaced. */
int xiw_attach_check(struct xiw_attach *a, char *why, size_t why_len);
int xiw_attach_xdp(struct xiw_attach *a, int prog_fd, char *why, size_t why_len);
int xiw_attach_tc(struct xiw_attach *a, int prog_fd, char *why, size_t why_len);
/* Back to how the interface was. */
void xiw_attach_undo(struct xiw_attach *a);
void xiw_attach_release(struct xiw_attach *a);

/* Id of the program at our place in clsact egress, 0 if none. */
uint32_t xiw_attach_tc_id(int ifindex);
/*
 * Did the kernel refuse, in these words, because an interface above this one has an XDP program? Says which. It wants
 * programs attached from below and taken off from above.
 */
bool xiw_attach_below(int ifindex, const char *line, char upper[IF_NAMESIZE]);

/* Take the program away if it is the one with this id. 0 also if it was not there. */
int xiw_detach_xdp(int ifindex, uint32_t id, int prog_fd);
int xiw_detach_tc(int ifindex, uint32_t id);

#endif
