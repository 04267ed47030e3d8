/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which programs are attached to an interface, by any process and any tool. */
#ifndef XIW_NETIF_QUERY_H
#define XIW_NETIF_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/bpf.h>

/*
 * Is the program with this id attached there: in XDP; on egress, as a filter of clsact or by tcx? 1: yes; 0: no, or the
 * interface is gone; negative errno: the kernel did not say.
 */
int xiw_query_xdp(int ifindex, uint32_t prog_id);
/* The same; 1: @flag gets the XDP_FLAGS_*_MODE in which it is attached. */
int xiw_query_xdp_flag(int ifindex, uint32_t prog_id, uint32_t *flag);
int xiw_query_egress(int ifindex, uint32_t prog_id);
/*
 * The same as xiw_query_egress(), where a link (negative: none) or a directory of pins is known. A link that holds the
 * program there says so without any capability.
 */
int xiw_query_egress_by(int link_fd, int ifindex, uint32_t prog_id);
int xiw_query_egress_in(const char *dir, int ifindex, uint32_t prog_id);

/* Is it the first program of tcx? @first (may be NULL) gets the id of that one. Needs CAP_NET_ADMIN. */
int xiw_query_egress_first(int ifindex, uint32_t prog_id, uint32_t *first);

/* Is it certain that tcx has no program of this name on egress? Needs CAP_SYS_ADMIN, if there are others. */
bool xiw_query_egress_lacks(int ifindex, const char *name);

/* Does this message of rtnetlink say that the interface was without the program when the message was sent? */
struct nlmsghdr;
bool xiw_query_xdp_left(const struct nlmsghdr *n, int ifindex, uint32_t prog_id);

/* The id of the XDP program on an interface, 0 if none; its XDP_FLAGS_*_MODE in @flags (may be NULL). */
uint32_t xiw_query_xdp_id(int ifindex, uint32_t *flags);
/* Does the interface run an XDP program of this name? */
bool xiw_query_xdp_named(int ifindex, const char *name);

/*
 * Does the interface run xiw_ingress? A process that may not ask for names, and sees no BPF file system that could have
 * the pins, as in a container, takes any XDP program for that.
 */
bool xiw_query_loaded(int ifindex, const char *pin_dir);

/* The name of a program; "unknown" if the program is gone, or this process may not ask. */
void xiw_query_name(uint32_t id, char name[BPF_OBJ_NAME_LEN]);
/* Opens the program with this id if it has this name. -ENOENT: it has another name, or there is none; -EPERM. */
int xiw_query_open(uint32_t id, const char *name);

/*
 * Do the pins not say to which network namespace they belong, and are their programs not on this interface? Then they
 * may be those of an interface of the same name in another network namespace.
 */
struct xiw_pins;
bool xiw_query_doubtful(const struct xiw_pins *pins, int ifindex);

#endif
