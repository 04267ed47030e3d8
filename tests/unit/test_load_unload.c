// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Unloading is refused while a connection needs the programs, also if it needs them only since the first look. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "handoff/diag.h"
#include "handoff/flows.h"
#include "handoff/owner.h"

#define SEQ 7000u
#define SKEW 400u

static struct xiw_flow flows[2];
static uint32_t slots[] = { 0, 1 };
static bool xdp_is_fast; /* a stretch begins, and is acknowledged, while the flows are given back */
static int live = 1;

static int map(int flows_fd, int index_fd, struct xiw_flow_list *list)
{
	(void)flows_fd, (void)index_fd;
	*list = (struct xiw_flow_list){ .flows = flows, .nflows = 2, .slots = slots, .n = 2 };
	return 0;
}

static void go_direct(struct xiw_flow *f)
{
	f->kernel_nxt = xiw_kernel_nxt_pack(SEQ, 8);
	f->owner = xiw_owner_pack(SEQ + SKEW, 8, XIW_PATH_DIRECT);
}

/* It is counted just before it is given back. */
static void count_reason(struct xiw_flow *f, enum xiw_reason why)
{
	(void)why;
	if (xdp_is_fast)
		go_direct(f);
}

static int socket_live(const struct xiw_flow *flow)
{
	(void)flow;
	return live;
}

#define xiw_flows_map map
#define xiw_flows_unmap(list) ((void)(list))
#define xiw_flow_count_reason count_reason
#define xiw_flow_socket_live socket_live
#include "load/unload.c"

/* No map of queues can be had, so none is held. */
static int no_map(const struct unload *unload, const char *name)
{
	(void)unload, (void)name;
	return -ENOENT;
}

static char why[128];
static struct unload u = { .ifname = "eth7", .open = no_map, .why = { why, sizeof(why) } };

/* One connection that is armed, and one on the kernel path, neither of them with a skew. */
static void setup(void)
{
	flows[0].pid = flows[1].pid = 1;
	flows[0].owner = xiw_owner_pack(0, 7, XIW_PATH_ARMED);
	flows[1].owner = xiw_owner_pack(0, 7, XIW_PATH_KERNEL);
}

TestSuite(load_unload, .init = setup);

static void expect_path(int i, uint32_t path, uint32_t skew)
{
	cr_expect_eq(xiw_owner_path(flows[i].owner), path);
	cr_expect_eq(xiw_owner_skew(flows[i].owner, flows[i].kernel_nxt), skew);
}

Test(load_unload, all_streams_are_given_back)
{
	cr_expect_eq(release_flows(&u), 0);
	expect_path(0, XIW_PATH_KERNEL, 0);
	expect_path(1, XIW_PATH_KERNEL, 0);
}

/* Its numbers must be translated from now on, and the others have lost no more than their direct path. */
Test(load_unload, a_stretch_that_begins_meanwhile_counts)
{
	xdp_is_fast = true;
	cr_expect_eq(release_flows(&u), -EBUSY);
	expect_path(0, XIW_PATH_KERNEL, SKEW);
	cr_expect_eq(strncmp(why, "1 connection on eth7 needs the programs: ", 41), 0, "%s", why);
}

/* It keeps the direct path, and so do the others. */
Test(load_unload, a_connection_that_needs_them_is_left_alone)
{
	go_direct(&flows[1]);
	cr_expect_eq(release_flows(&u), -EBUSY);
	expect_path(0, XIW_PATH_ARMED, 0);
	expect_path(1, XIW_PATH_DIRECT, SKEW);
}

Test(load_unload, an_ended_connection_does_not_count)
{
	go_direct(&flows[1]);
	live = 0;
	cr_expect_eq(release_flows(&u), 0);
	expect_path(1, XIW_PATH_KERNEL, SKEW);
}

Test(load_unload, force_asks_nobody)
{
	go_direct(&flows[1]);
	u.force = true;
	cr_expect_eq(release_flows(&u), 0);
	expect_path(1, XIW_PATH_KERNEL, SKEW);
}
