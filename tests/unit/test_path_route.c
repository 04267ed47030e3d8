// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* When does a connection end because its packets go around our programs, and when is it only barred? */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static int socket_says(int fd, int level, int option, void *value, socklen_t *len);

#define getsockopt socket_says
#include "path/route.c"
#undef getsockopt

#define LOOK_MS 1000 /* between two checks */

static struct xiw_engine *e;
static struct xiw_conn *c;
static struct xiw_flow *flow;
static struct xiw_netif netif = { .ifname = "eth7", .table.egress_fd = -1 };
static uint32_t sent; /* by the socket */

static int socket_says(int fd, int level, int option, void *value, socklen_t *len)
{
	struct tcp_info info = { .tcpi_segs_out = sent };

	(void)fd, (void)level, (void)option;
	memcpy(value, &info, *len);
	return 0;
}

/* On the kernel path, by numbers that differ from the wire's. */
static void setup(void)
{
	e = calloc(1, sizeof(*e));
	c = aligned_alloc(64, (sizeof(*c) + 63) & ~63ul);
	flow = aligned_alloc(64, (sizeof(*flow) + 63) & ~63ul);
	cr_assert(e && c && flow);
	memset(c, 0, sizeof(*c));
	memset(flow, 0, sizeof(*flow));
	e->now_ms = 100000;
	c->engine = e;
	c->netif = &netif;
	c->flow = flow;
	flow->owner = xiw_owner_pack(4000, 7, XIW_PATH_KERNEL);
	flow->egress_segs = flow->kernel_segs = sent = 20;
	xiw_route_begin(c);
}

static void teardown(void)
{
	free(flow);
	free(c);
	free(e);
}

TestSuite(path_route, .init = setup, .fini = teardown);

static bool check(void)
{
	e->now_ms += LOOK_MS;
	return xiw_route_check(c);
}

/* Returns after how many ms of checks the connection ends; 0: not within a minute. */
static uint64_t ends_after(void)
{
	const uint64_t since = e->now_ms;

	while (e->now_ms - since < 60000)
		if (!check())
			return e->now_ms - since;
	return 0;
}

/* The socket's packets are not seen from the next check on. */
static void goes_unseen(void)
{
	sent++;
	cr_assert(check());
	cr_assert_neq(c->route.unseen_ms, 0);
}

/*
 * A probe, and an answer to it, may come although nothing leaves. The third segment that comes shows that the link is
 * up, and that the peer waits.
 */
Test(path_route, unseen_packets_end_it_when_the_peer_has_sent_thrice)
{
	goes_unseen();
	flow->kernel_segs += 2;
	cr_expect_eq(ends_after(), 0);
	flow->kernel_segs++;
	cr_expect_not(check());
	cr_expect_neq(strstr(c->no_direct, "do not leave by eth7"), NULL);
}

/* A firewall, or a neighbour that is not known yet, holds packets back for a while. */
Test(path_route, unseen_packets_have_ten_seconds)
{
	goes_unseen();
	flow->kernel_segs += 3;
	cr_expect_eq(ends_after(), 10000);
}

Test(path_route, one_packet_that_is_seen_takes_it_back)
{
	goes_unseen();
	flow->kernel_segs += 3;
	for (int i = 0; i < 9; i++)
		cr_expect(check());
	flow->egress_segs++;
	cr_expect_eq(ends_after(), 0);
}

/* What the socket has sent while xiw_egress saw packets says nothing, and neither does a socket that is silent. */
Test(path_route, a_silent_socket_is_not_unseen)
{
	sent += 3;
	flow->egress_segs += 3;
	cr_expect(check());
	cr_expect(check());
	flow->kernel_segs += 10;
	cr_expect_eq(ends_after(), 0);
	cr_expect_eq(flow->barred, 0);
}

/* What the socket has just sent may be on its way, and without a segment that comes the link may be down. */
Test(path_route, unseen_packets_keep_it_off_until_one_is_seen)
{
	goes_unseen();
	cr_expect(check());
	const uint64_t floor = flow->egress_floor;
	flow->egress_segs = floor;
	c->route.left = (uint32_t)floor;
	flow->kernel_segs++;
	cr_expect(check());
	cr_expect_eq(flow->barred, 0);
	cr_expect_eq(flow->egress_floor, floor + 1);
	cr_expect_neq(strstr(c->no_direct, "xiw_egress does not see them"), NULL);
	flow->egress_segs++;
	cr_expect(check());
	cr_expect_eq(c->no_direct[0], '\0');
}

/* One segment may have been on its way by the other interface. The second one begins the time. */
Test(path_route, segments_that_come_elsewhere_end_it_after_three_seconds)
{
	flow->elsewhere_segs = 1;
	cr_expect_eq(ends_after(), 0);
	flow->elsewhere_segs++;
	cr_expect_eq(ends_after(), LOOK_MS + 3000);
	cr_expect_neq(strstr(c->no_direct, "do not come by eth7"), NULL);
}

Test(path_route, one_segment_by_our_interface_takes_it_back)
{
	flow->elsewhere_segs = 2;
	for (int i = 0; i < 3; i++)
		cr_expect(check());
	flow->kernel_segs++;
	cr_expect_eq(ends_after(), 0);
	flow->elsewhere_segs++;
	cr_expect_eq(ends_after(), 0);
}

/* The wire's numbers need no translation: plain TCP copes with all of that. */
Test(path_route, without_skew_it_is_only_barred)
{
	flow->owner = xiw_owner_pack(0, 7, XIW_PATH_KERNEL);
	goes_unseen();
	flow->elsewhere_segs = 9;
	flow->kernel_segs += 3;
	cr_expect_eq(ends_after(), 0);
	cr_expect_eq(flow->barred, XIW_REASON_ELSEWHERE);
}

/* A stream may be over before the first check. It tells what it has seen by then. */
Test(path_route, a_short_stream_says_that_its_packets_leave_elsewhere)
{
	char why[96] = "";

	sent += UNSEEN_SEGS - 1;
	xiw_route_why(c, why, sizeof(why));
	cr_expect_str_empty(why);
	sent++;
	xiw_route_why(c, why, sizeof(why));
	cr_expect_neq(strstr(why, "do not leave by eth7"), NULL);
	cr_expect_eq(c->no_direct[0], '\0');
	flow->egress_segs++;
	why[0] = '\0';
	xiw_route_why(c, why, sizeof(why));
	cr_expect_str_empty(why);
}

/* To ask bars nothing, because the segment may be a single one. */
Test(path_route, a_short_stream_says_that_its_segments_come_elsewhere)
{
	char why[96] = "";

	flow->elsewhere_segs = 1;
	xiw_route_why(c, why, sizeof(why));
	cr_expect_neq(strstr(why, "do not come by eth7"), NULL);
	cr_expect_eq(flow->barred, 0);
	flow->went_direct = 1;
	why[0] = '\0';
	xiw_route_why(c, why, sizeof(why));
	cr_expect_str_empty(why);
}
