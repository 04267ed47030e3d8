/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the functions of xiwarp/load.h share: the pins of one interface, and what the interface itself
 * says. Interfaces are asked by ioctl and netlink, never through /sys: a process may sit in another
 * network namespace than the one its /sys was mounted in.
 */
#ifndef XIW_NETIF_PINS_H
#define XIW_NETIF_PINS_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/libbpf.h>

#include <xiwarp/abi.h>
#include <xiwarp/load.h>

#define XIW_PIN_PATH_MAX 512
#define XIW_PIN_BASE_MAX 432 /* of DIR, so that every pin's path fits */

/*
 * Where xiw_egress sits in clsact egress. A filter that ends the classification before ours would
 * hide segments from it, so the priority is low in number; 1 is left to those who take it by default.
 */
#define XIW_TC_HANDLE 1
#define XIW_TC_PRIORITY 10

struct xiw_pins {
	char base[XIW_PIN_PATH_MAX]; /* DIR */
	char dir[XIW_PIN_PATH_MAX];  /* of this interface in this network namespace */
	bool marked; /* it says so itself; else another tool, or nobody yet, has made it */
};

/* place.c. -EINVAL: a name that is no interface name; -ENAMETOOLONG; -EMFILE and its like. */
int xiw_pins_init(struct xiw_pins *pins, const char *pin_dir, const char *ifname);
/* Writes down whose the directory is. */
int xiw_pins_mark(const struct xiw_pins *pins);
/* The interface of this network namespace whose pins a name in DIR stands for; false: of none. */
bool xiw_pins_ifname(const char *entry, const char *pin_dir, char ifname[IFNAMSIZ]);
int xiw_pins_path(const struct xiw_pins *pins, const char *name, char path[XIW_PIN_PATH_MAX]);

/* Is the path, or what of it is there, on a BPF file system? */
bool xiw_pins_on_bpffs(const char *path);
/*
 * Would pins there end with this process, as nobody else sees its mounts? `ip netns exec` makes it so. A shell that
 * has mounted itself a BPF file system knows what it does; one that this process had to mount (`mounted`) is nobody's.
 */
bool xiw_pins_fleeting(const char *path, bool mounted);
/* Is there no BPF file system for this process, but another one for whoever started it? */
bool xiw_pins_hidden(const char *path);

/* Opens a pin. -ENOENT: not there; -EPERM: not allowed. */
int xiw_pins_open(const struct xiw_pins *pins, const char *name, bool writable);
/* A program; says in `id` which one it is. */
int xiw_pins_open_prog(const struct xiw_pins *pins, const char *name, uint32_t *id);
bool xiw_pins_exist(const struct xiw_pins *pins);
/* Removes every pin and the directory; the base directory too, if it is empty then. */
int xiw_pins_remove(const struct xiw_pins *pins);

/* The table of flows, mapped, or as it is now, to be freed; -ESTALE: made by another version. */
int xiw_flows_map(int fd, struct xiw_flow **flows); /* closes `fd`, or returns it if negative */
void xiw_flows_unmap(struct xiw_flow *flows);
int xiw_flows_copy(const struct xiw_pins *pins, struct xiw_flow **flows);
/* True if a process, of whichever PID namespace, has the connection open. */
bool xiw_flow_in_use(const struct xiw_flow *flow);

/* Is this capability in effect? */
bool xiw_caps_have(int cap);
/* A few words for -EPERM where this capability should have helped. */
const char *xiw_caps_hint(int cap);

int xiw_if_mtu(const char *ifname, uint32_t *mtu);
/* RX queues; 1 where the driver does not say. */
uint32_t xiw_if_queues(const char *ifname);
/* `request` is a struct of linux/ethtool.h, with its command in front. */
int xiw_if_ethtool(const char *ifname, void *request);
void xiw_if_driver(const char *ifname, char *name, size_t len);

/* rings.c: after an XDP program was attached in the driver. Says in `why` what cannot be had. */
void xiw_rings_anew(const char *ifname, uint32_t mtu, char *why, size_t len);

/* libbpf's and the kernel's words go to `line` instead of the terminal, the last ones are kept. */
struct xiw_quiet {
	libbpf_print_fn_t old;
};

void xiw_quiet_begin(struct xiw_quiet *quiet);
void xiw_quiet_end(struct xiw_quiet *quiet);
const char *xiw_quiet_line(void);
void xiw_quiet_clear(void);

/* Writes one line and returns `err`. */
__attribute__((format(printf, 4, 5))) int xiw_why(char *why, size_t len, int err, const char *fmt,
						  ...);

#endif
