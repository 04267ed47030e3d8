/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The pins of one interface, through which processes share its programs and maps. */
#ifndef XIW_NETIF_PINS_H
#define XIW_NETIF_PINS_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include <xiwarp/load.h>

#include "base/explain.h"

#define XIW_PIN_PATH_MAX 512
#define XIW_PIN_BASE_MAX 432 /* of DIR, so that the path of every pin fits */

struct xiw_pins {
	char base[XIW_PIN_PATH_MAX]; /* DIR */
	char dir[XIW_PIN_PATH_MAX];  /* of this interface in this network namespace */
	bool marked; /* dir says to which network namespace it belongs; else another tool, or nobody yet, has made it */
};

/* -EINVAL: no valid name of an interface; -ENAMETOOLONG; or the errno of socket(2). */
int xiw_pins_init(struct xiw_pins *pins, const char *pin_dir, const char *ifname);
/* The same for what users call an interface: @own gets its name, of which @name may be an alternative. */
int xiw_pins_of(struct xiw_pins *pins, const char *pin_dir, const char *name,
		char own[IF_NAMESIZE]);
/* The same with one line in @why, and -EINVAL for a name that is too long. */
int xiw_pins_find(struct xiw_pins *pins, const char *pin_dir, const char *name,
		  char own[IF_NAMESIZE], struct xiw_line why);
/* As xiw_pins_init(), with one line in @why. */
int xiw_pins_again(struct xiw_pins *pins, const char *pin_dir, const char *ifname,
		   struct xiw_line why);
/* Writes into the directory to which network namespace it belongs. */
int xiw_pins_mark(const struct xiw_pins *pins);
/* The interface of this network namespace whose pins are in this entry of DIR; false: there is none. */
bool xiw_pins_ifname(const char *entry, const char *pin_dir, char ifname[IFNAMSIZ]);
bool xiw_pins_exist(const struct xiw_pins *pins);
/* Removes every pin and the directory; the base directory too, if it is empty then. */
int xiw_pins_remove(const struct xiw_pins *pins);

/*
 * A number that stands among the pins, as a symbolic link: nothing else holds text in a BPF file system. Noting it
 * returns 0 or a negative errno; xiw_pins_noted() is 0 if there is none.
 */
int xiw_pins_note(const char *dir, const char *name, uint32_t value);
uint32_t xiw_pins_noted(const char *dir, const char *name);
#define XIW_PINS_MTU "mtu" /* the interface's when the programs were loaded */

int xiw_pins_path(const char *dir, const char *name, char path[XIW_PIN_PATH_MAX]);
/* Opens a pin. -ENOENT: there is none; -EPERM. */
int xiw_pins_open(const char *dir, const char *name, bool writable);
/*
 * Returns @fd; but closes a map of another size, which another version made, and returns -ESTALE. Returns a negative
 * @fd as it is.
 */
int xiw_pins_check_map(int fd, uint32_t value_size, uint32_t entries);
/* How many flows a table has if room for so many is asked for: a power of two, and at least 64. */
uint32_t xiw_flows_round(uint32_t nflows);
/* The same for the map of flows, whose size was chosen when it was loaded. */
int xiw_pins_check_flows(int fd, uint32_t *nflows);
/* As xiw_pins_open() for a program, with its id. */
int xiw_pins_open_prog(const char *dir, const char *name, uint32_t *id);
/* The program's id alone. */
int xiw_pins_prog_id(const char *dir, const char *name, uint32_t *id);

#endif
