/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the functions of xiwarp/load.h share: the pins of one interface, and what the interface itself
 * says. Interfaces are asked by ioctl and netlink, never through /sys: a process may sit in another
 * network namespace than the one its /sys was mounted in.
 */
#ifndef XIW_LOAD_PINS_H
#define XIW_LOAD_PINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/libbpf.h>

#include <xiwarp/abi.h>
#include <xiwarp/load.h>

#define XIW_PIN_PATH_MAX 512

/*
 * Where xiw_egress sits in clsact egress. A filter that ends the classification before ours would
 * hide segments from it, so the priority is low in number; 1 is left to those who take it by default.
 */
#define XIW_TC_HANDLE 1
#define XIW_TC_PRIORITY 10

struct xiw_pins {
	char base[XIW_PIN_PATH_MAX]; /* DIR */
	char dir[XIW_PIN_PATH_MAX];  /* DIR/IFNAME */
};

/* -EINVAL: a name that is no interface name; -ENAMETOOLONG. */
int xiw_pins_init(struct xiw_pins *pins, const char *pin_dir, const char *ifname);
int xiw_pins_path(const struct xiw_pins *pins, const char *name, char path[XIW_PIN_PATH_MAX]);

/* Opens a pin. -ENOENT: not there; -EPERM: not allowed. */
int xiw_pins_open(const struct xiw_pins *pins, const char *name, bool writable);
/* A program; says in `id` which one it is. */
int xiw_pins_open_prog(const struct xiw_pins *pins, const char *name, uint32_t *id);
bool xiw_pins_exist(const struct xiw_pins *pins);
/* Removes every pin and the directory; the base directory too, if it is empty then. */
int xiw_pins_remove(const struct xiw_pins *pins);

/* The table of flows, mapped, or as it is now, to be freed; -ESTALE: made by another version. */
int xiw_flows_map(const struct xiw_pins *pins, struct xiw_flow **flows);
void xiw_flows_unmap(struct xiw_flow *flows);
int xiw_flows_copy(const struct xiw_pins *pins, struct xiw_flow **flows);
/* True if the slot is claimed by a process that lives. */
bool xiw_flow_in_use(const struct xiw_flow *flow);

/* Is this capability in effect? */
bool xiw_caps_have(int cap);

int xiw_if_mtu(const char *ifname, uint32_t *mtu);
/* RX queues; 1 where the driver does not say. */
uint32_t xiw_if_queues(const char *ifname);
void xiw_if_driver(const char *ifname, char *name, size_t len);

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
