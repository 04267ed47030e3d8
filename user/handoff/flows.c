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

#define BATCH 1024u /* entries of the index that are read by one call */

/* Takes slots behind those of the list into it, except numbers that no slot has. */
static void take_slots(struct xiw_flow_list *list, uint32_t count)
{
	const uint32_t *slot = list->slots + list->n;

	for (; count--; slot++)
		if (*slot < list->nflows)
			list->slots[list->n++] = *slot;
}

/* Reads the slots in the index, which costs time for those that are in use. */
static int list_slots(int index_fd, struct xiw_flow_list *list)
{
	struct xiw_flow_key *keys = malloc(sizeof(*keys) * BATCH);
	uint32_t at, *more, count;
	bool begun = false;
	int err = 0;

	while (!err) {
		more = realloc(list->slots, sizeof(*more) * (list->n + BATCH));
		if (!keys || !more) {
			err = -ENOMEM;
			break;
		}
		list->slots = more;
		count = BATCH;
		err = bpf_map_lookup_batch(index_fd, begun ? &at : NULL, &at, keys, more + list->n,
					   &count, NULL);
		if (!err || err == -ENOENT)
			take_slots(list, count);
		begun = true;
	}
	free(keys);
	return err == -ENOENT ? 0 : err;
}

static int open_list(int *flows_fd, int *index_fd, struct xiw_flow_list *list)
{
	int err;

	*list = (struct xiw_flow_list){};
	err = *flows_fd = xiw_pins_check_flows(*flows_fd, &list->nflows);
	if (err >= 0)
		err = *index_fd = xiw_pins_check_map(*index_fd, sizeof(uint32_t), list->nflows);
	return err < 0 ? err : list_slots(*index_fd, list);
}

static void close_list(int flows_fd, int index_fd, struct xiw_flow_list *list)
{
	if (flows_fd >= 0)
		close(flows_fd);
	if (index_fd >= 0)
		close(index_fd);
	free(list->slots);
}

int xiw_flows_map(int flows_fd, int index_fd, struct xiw_flow_list *list)
{
	int err = open_list(&flows_fd, &index_fd, list);
	void *map = MAP_FAILED;

	if (!err) {
		map = mmap(NULL, sizeof(*list->flows) * list->nflows, PROT_READ | PROT_WRITE,
			   MAP_SHARED, flows_fd, 0);
		err = map == MAP_FAILED ? -errno : 0;
	}
	if (err) {
		close_list(flows_fd, index_fd, list);
		return err;
	}
	list->flows = map;
	close(flows_fd);
	close(index_fd);
	return 0;
}

void xiw_flows_unmap(struct xiw_flow_list *list)
{
	munmap(list->flows, sizeof(*list->flows) * list->nflows);
	free(list->slots);
}

/* A map that a process may only read cannot be mapped, not even for reading. */
int xiw_flows_read(const struct xiw_pins *pins,
		   int (*fn)(uint32_t index, const struct xiw_flow *flow, void *ctx), void *ctx)
{
	int flows_fd = xiw_pins_open(pins->dir, "xiw_flows", false);
	int index_fd = xiw_pins_open(pins->dir, "xiw_flow_index", false);
	struct xiw_flow_list list;
	struct xiw_flow flow;
	int ret = open_list(&flows_fd, &index_fd, &list);

	for (uint32_t i = 0; !ret && i < list.n; i++) {
		ret = bpf_map_lookup_elem(flows_fd, &list.slots[i], &flow);
		if (!ret && xiw_flow_in_use(&flow))
			ret = fn(list.slots[i], &flow, ctx);
	}
	close_list(flows_fd, index_fd, &list);
	return ret;
}

int xiw_flows_room(const struct xiw_pins *pins, uint32_t *nflows)
{
	int fd = xiw_pins_check_flows(xiw_pins_open(pins->dir, "xiw_flows", false), nflows);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* A process's number means nothing in another PID namespace, but the socket is the same in all of them. */
bool xiw_flow_in_use(const struct xiw_flow *flow)
{
	uint32_t pid = __atomic_load_n(&flow->pid, __ATOMIC_ACQUIRE);
	int live;

	if (!pid || pid > XIW_PID_LIMIT)
		return false;
	live = xiw_flow_socket_live(flow);
	if (live >= 0)
		return live;
	return kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}
