// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "handoff/flows.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "handoff/diag.h"

#define XIW_PID_LIMIT 0x400000u /* PID_MAX_LIMIT; a slot with a higher number has no process */

static int check_flows(int fd)
{
	return xiw_pins_check_map(fd, sizeof(struct xiw_flow), XIW_MAX_FLOWS);
}

int xiw_flows_map(int fd, struct xiw_flow **flows)
{
	int err = 0;
	void *map;

	fd = check_flows(fd);
	if (fd < 0)
		return fd;
	map = mmap(NULL, sizeof(struct xiw_flow) * XIW_MAX_FLOWS, PROT_READ | PROT_WRITE,
		   MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		err = -errno;
	else
		*flows = map;
	close(fd);
	return err;
}

/* A map that a process may only read cannot be mapped, not even for reading. */
int xiw_flows_copy(const struct xiw_pins *pins, struct xiw_flow **flows)
{
	uint32_t count = XIW_MAX_FLOWS, next, *keys;
	int err = -ENOMEM, fd;

	fd = check_flows(xiw_pins_open(pins->dir, "xiw_flows", false));
	if (fd < 0)
		return fd;
	keys = malloc(sizeof(*keys) * XIW_MAX_FLOWS);
	*flows = malloc(sizeof(**flows) * XIW_MAX_FLOWS);
	if (keys && *flows)
		err = bpf_map_lookup_batch(fd, NULL, &next, keys, *flows, &count, NULL);
	if (err == -ENOENT || (!err && count != XIW_MAX_FLOWS))
		err = count == XIW_MAX_FLOWS ? 0 : -ESTALE;
	if (err)
		free(*flows);
	free(keys);
	close(fd);
	return err;
}

void xiw_flows_unmap(struct xiw_flow *flows)
{
	munmap(flows, sizeof(*flows) * XIW_MAX_FLOWS);
}

/* A process's number means nothing in another PID namespace, but the socket is the same in all of them. */
bool xiw_flow_in_use(const struct xiw_flow *flow)
{
	uint32_t pid = __atomic_load_n(&flow->pid, __ATOMIC_ACQUIRE);
	int held;

	if (!pid || pid > XIW_PID_LIMIT)
		return false;
	held = xiw_flow_socket_held(&flow->key);
	if (held >= 0)
		return held;
	return kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}
