/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is attached to an interface, whoever attached it and by which tool: for those who use the programs.
 */
#ifndef XIW_NETIF_QUERY_H
#define XIW_NETIF_QUERY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Is the program with this id at work there: as XDP program; on egress, as a filter of clsact or by tcx?
 * 1: yes; 0: no, or the interface is gone; negative errno: nobody knows.
 */
int xiw_query_xdp(int ifindex, uint32_t prog_id);
int xiw_query_egress(int ifindex, uint32_t prog_id);

/* A message of rtnetlink's: does it say that the interface was without the program when it was sent? */
struct nlmsghdr;
bool xiw_query_xdp_left(const struct nlmsghdr *n, int ifindex, uint32_t prog_id);

/* Does the interface run an XDP program of this name? There is no interface 0. */
bool xiw_query_xdp_named(int ifindex, const char *name);

/* Pins that do not say whose they are, of programs that are not on this interface: perhaps another namespace's. */
struct xiw_pins;
bool xiw_query_doubtful(const struct xiw_pins *pins, int ifindex);

/* The bridge, bond or the like that the interface is part of; 0: none. */
uint32_t xiw_query_master(int ifindex);

#endif
