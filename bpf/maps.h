/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The maps. xiw_load() sets the number of flows. They are weak, so that each program's object can define all of them;
 * `bpftool gen object` merges the definitions.
 */
#ifndef XIW_BPF_MAPS_H
#define XIW_BPF_MAPS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <xiwarp/abi.h>

/* An array that user space maps into its memory. */
#define XIW_MAPPED(name, entry, entries)                                                           \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(map_flags, BPF_F_MMAPABLE);                                                 \
		__uint(max_entries, entries);                                                      \
		__type(key, __u32);                                                                \
		__type(value, entry);                                                              \
	} name SEC(".maps") __weak

/* Its number of entries is all that counts: the library looks for programs of its own version. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, XIW_ABI_VERSION);
	__type(key, __u32);
	__type(value, __u32);
} xiw_abi SEC(".maps") __weak;

XIW_MAPPED(xiw_flows, struct xiw_flow, XIW_DEFAULT_FLOWS);

/* Which slots of xiw_flows are taken: bit i of entry w is for slot 64 * w + i. For user space alone. */
XIW_MAPPED(xiw_taken, __u64, XIW_DEFAULT_FLOWS / 64);

/* What speaks against the direct path. For user space alone. */
XIW_MAPPED(xiw_obstacles, struct xiw_obstacle, XIW_OBSTACLES);

/* Only user space adds entries, so their memory need not be there before. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, XIW_DEFAULT_FLOWS);
	__type(key, struct xiw_flow_key);
	__type(value, __u32);
} xiw_flow_index SEC(".maps") __weak;

XIW_MAPPED(xiw_queues, struct xiw_queue, XIW_MAX_QUEUES);

/* The kernel accepts no BTF for the key and value of an XSKMAP. */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, XIW_MAX_QUEUES);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} xiw_xsks SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, XIW_ARRIVALS);
	__type(key, struct xiw_flow_key);
	__type(value, __u32);
} xiw_arrivals SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, XIW_STAT__COUNT);
	__type(key, __u32);
	__type(value, __u64);
} xiw_stats SEC(".maps") __weak;

static __always_inline void xiw_count(__u32 stat)
{
	__u64 *n = bpf_map_lookup_elem(&xiw_stats, &stat);

	if (n)
		(*n)++;
}

/* The queue on which the packet came, or NULL if there are not so many. */
static __always_inline struct xiw_queue *xiw_queue_of(const struct xdp_md *ctx)
{
	__u32 q = ctx->rx_queue_index;

	return bpf_map_lookup_elem(&xiw_queues, &q);
}

/* The flow that has this key, or NULL. Its fields may be half written as long as its path is XIW_PATH_NONE. */
static __always_inline struct xiw_flow *xiw_flow_find(const struct xiw_flow_key *key, __u32 *index)
{
	__u32 *at = bpf_map_lookup_elem(&xiw_flow_index, key);

	if (!at)
		return NULL;
	*index = *at;
	return bpf_map_lookup_elem(&xiw_flows, index);
}

#endif /* XIW_BPF_MAPS_H */
