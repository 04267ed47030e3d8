// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rebind IF COUNT ROOM - for COUNT times has XDP believe that queue 0 of the interface is in zero-copy mode, with ROOM
 * bytes for a packet in each frame, until the engine that serves the queue has bound it anew. Prints a line each time,
 * "ready" when XDP believes it and "bound" afterwards.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include <xiwarp/abi.h>

#include "tests/net/lib/common.h"

static struct xiw_queue *queue_of(const char *ifname)
{
	char path[256];
	void *at;
	int fd;

	snprintf(path, sizeof(path), "/sys/fs/bpf/xiwarp/%s/xiw_queues", ifname);
	fd = bpf_obj_get(path);
	if (fd < 0)
		die_errno(path);
	at = mmap(NULL, sizeof(struct xiw_queue) * XIW_MAX_QUEUES, PROT_READ | PROT_WRITE,
		  MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		die_errno("mmap");
	return at;
}

int main(int argc, char **argv)
{
	struct xiw_queue *q;

	if (argc != 4)
		return 2;
	q = queue_of(argv[1]);
	for (int i = atoi(argv[2]); i; i--) {
		q->longest = 0;
		__atomic_store_n(&q->room, (uint32_t)atoi(argv[3]), __ATOMIC_RELEASE);
		printf("ready\n");
		fflush(stdout);
		while (__atomic_load_n(&q->room, __ATOMIC_ACQUIRE))
			usleep(1000);
		printf("bound, %u bytes at which it was cut\n", q->cut);
		fflush(stdout);
	}
	return 0;
}
