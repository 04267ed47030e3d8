// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The list of the slots in the index, which is read in batches. The kernel's answers are made up here. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#define ENTRIES 1500u /* two batches */

/* Entry i of the index has slot i. */
static int lookup_batch(int fd, void *in, void *out, void *keys, void *values, __u32 *count,
			const struct bpf_map_batch_opts *opts)
{
	uint32_t at = in ? *(uint32_t *)in : 0, *slots = values, n = 0;

	(void)fd;
	(void)keys;
	(void)opts;
	for (; at < ENTRIES && n < *count; n++)
		slots[n] = at++;
	*count = n;
	memcpy(out, &at, sizeof(at));
	return at < ENTRIES ? 0 : -ENOENT;
}

#define bpf_map_lookup_batch lookup_batch
#include "handoff/flows.c"

Test(handoff_flows, slots_that_the_table_has)
{
	struct xiw_flow_list list = { .nflows = 2048 };

	cr_assert(!list_slots(-1, &list));
	cr_assert_eq(list.n, ENTRIES);
	for (uint32_t i = 0; i < ENTRIES; i++)
		cr_assert_eq(list.slots[i], i);
	free(list.slots);
}

Test(handoff_flows, entries_that_are_no_slots)
{
	struct xiw_flow_list list = { .nflows = 64 };

	cr_assert(!list_slots(-1, &list));
	cr_assert_eq(list.n, 64);
	cr_expect_eq(list.slots[63], 63);
	free(list.slots);
}
