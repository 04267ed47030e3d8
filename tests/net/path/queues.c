// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * queues IFNAME QUEUE - other AF_XDP software: has a socket on the queue until it is ended. Nobody sends it anything.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "netif/xsk.h"
#include "tests/net/lib/common.h"

int main(int argc, char **argv)
{
	struct xiw_xsk_opts opts = { .frames = 256, .busy_ms = 200 };
	struct xiw_xsk xsk;
	int err;

	if (argc != 3)
		return 2;
	opts.ifname = argv[1];
	opts.queue = (uint32_t)strtoul(argv[2], NULL, 0);
	err = xiw_xsk_create(&xsk, &opts);
	if (err)
		die("%s queue %u: %s", opts.ifname, opts.queue, strerror(-err));
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
}
