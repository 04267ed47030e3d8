// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tap_steer OBJECT TAP QUEUE... - a tap device of several queues sends packets from source port N to the queue that
 * stands at place N modulo 8. OBJECT is tap_steer.bpf.o; eight queues are given. It holds until it is called again, or
 * until the device's other end sets its number of queues: qemu then removes the program.
 */
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <bpf/libbpf.h>

#include "tests/net/lib/common.h"

#define PLACES 8

/* While this descriptor is open, the device has a queue more, to which nothing is steered. */
static int open_tap(const char *name)
{
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE | IFF_VNET_HDR };
	int fd = open("/dev/net/tun", O_RDWR);

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &ifr))
		die("%s: %s", name, strerror(errno));
	return fd;
}

int main(int argc, char **argv)
{
	uint32_t queues[PLACES];
	struct bpf_object *object;
	struct bpf_map *map;
	int tap, prog;

	if (argc != 3 + PLACES)
		return 2;
	for (int i = 0; i < PLACES; i++)
		queues[i] = (uint32_t)strtoul(argv[3 + i], NULL, 0);
	object = bpf_object__open_file(argv[1], NULL);
	map = object ? bpf_object__find_map_by_name(object, ".rodata") : NULL;
	if (!map || bpf_map__set_initial_value(map, queues, sizeof(queues)) ||
	    bpf_object__load(object))
		die("%s: %s", argv[1], strerror(errno));
	prog = bpf_program__fd(bpf_object__find_program_by_name(object, "steer"));
	tap = open_tap(argv[2]);
	if (ioctl(tap, TUNSETSTEERINGEBPF, &prog))
		die("%s: %s", argv[2], strerror(errno));
	return 0;
}
