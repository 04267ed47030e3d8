/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a driver may do to packets before XDP sees them, and can be told not to do: ethtool's features. Loading turns
 * them off, and a note among the pins tells unloading which of them to turn on again.
 */
#ifndef XIW_NETIF_OFFLOAD_H
#define XIW_NETIF_OFFLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	XIW_OFFLOAD_TAGS = 1,  /* takes 802.1Q tags out of frames: rxvlan */
	XIW_OFFLOAD_STAGS = 2, /* takes 802.1ad tags out of frames: rx-vlan-stag-hw-parse */
	XIW_OFFLOAD_LRO = 4,   /* joins packets: lro */
};

/* Masks of XIW_OFFLOAD_*. */
struct xiw_offloads {
	uint32_t active;
	uint32_t requested; /* somebody has asked for it; it may be inactive at the moment */
	uint32_t fixed;	    /* the driver does not let it be changed */
};

/* Zeros for what the driver does not know. Returns 0, or a negative errno if the kernel does not say. */
int xiw_offloads_read(const char *ifname, struct xiw_offloads *o);
/*
 * Does the interface take tags out of frames? XDP then takes the segments of any VLAN for untagged ones. Interfaces
 * without hardware do not: they carry a tag beside its frame if the other end puts it there.
 */
bool xiw_offloads_strip(const char *ifname);
/*
 * Turns off what is on and can be turned off, and notes that in @dir, the interface's pins. The note comes first, so
 * that whoever is killed in between leaves it. Returns the mask of what is on nevertheless, or a negative errno.
 */
int xiw_offloads_off(const char *ifname, const char *dir);
/* Turns on again what the note in @dir names. */
void xiw_offloads_restore(const char *ifname, const char *dir);

#endif
