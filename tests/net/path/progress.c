// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Puts an AF_XDP socket of another interface where XDP looks for the engine's: the kernel then refuses each redirected
 * frame, as it does with the ports of a bond. Repeats that until it is ended, because the engine restores its own.
 *
 *   progress PINS OTHER_INTERFACE
 */
#include <bpf/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "netif/xsk.h"

int main(int argc, char **argv)
{
	struct xiw_xsk_opts opts = { .ifname = argc > 2 ? argv[2] : "", .frames = 256 };
	struct xiw_xsk x;
	uint32_t queue = 0;
	char path[256];
	int map, err;

	if (argc != 3)
		return 2;
	snprintf(path, sizeof(path), "%s/xiw_xsks", argv[1]);
	map = bpf_obj_get(path);
	err = xiw_xsk_create(&x, &opts);
	if (map < 0 || err) {
		fprintf(stderr, "progress: %s, %s\n", path, strerror(-err));
		return 1;
	}
	printf("ready\n");
	fflush(stdout);
	while (!bpf_map_update_elem(map, &queue, &x.fd, BPF_ANY))
		usleep(1000);
	return 1;
}
