// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The port of a process that was killed is free some time after the process has ended. */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xiwarp/xiwarp.h>

static unsigned int binds,
	in_use; /* how often it was asked for, and how often it is still to fail */

int bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	binds++;
	if (in_use) {
		in_use--;
		errno = EADDRINUSE;
		return -1;
	}
	return (int)syscall(SYS_bind, fd, addr, len);
}

static struct xiw_group *make(void)
{
	const struct xiw_engine_opts eo = { .size = sizeof(eo), .path = XIW_USE_KERNEL };
	const struct xiw_group_opts go = { .size = sizeof(go), .engine = &eo, .engines = 1 };
	struct xiw_group *g;

	cr_assert_eq(xiw_group_create(&go, &g), 0);
	return g;
}

static int bind_to(struct xiw_group *g, uint16_t port, struct xiw_group_listener **l)
{
	const struct sockaddr_in at = { .sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
					.sin_port = htons(port) };
	const struct xiw_conn_opts opts = { .size = sizeof(opts) };

	binds = 0;
	return xiw_group_listener_bind(g, (const void *)&at, sizeof(at), &opts, l);
}

Test(group_listen, a_port_in_use_may_soon_be_free)
{
	struct xiw_group *g = make();
	struct xiw_group_listener *l;

	in_use = 3;
	cr_assert_eq(bind_to(g, 0, &l), 0);
	cr_expect_eq(binds, 4);
	xiw_group_listener_free(l);
	in_use = UINT32_MAX;
	cr_expect_eq(bind_to(g, 7, &l), -EADDRINUSE);
	cr_expect_gt(binds, 2);
	xiw_group_destroy(g);
}

Test(group_listen, its_own_port_is_not_waited_for)
{
	struct xiw_group_listener *l, *other;
	struct xiw_group *g = make();
	struct sockaddr_storage at;
	socklen_t len;

	cr_assert_eq(bind_to(g, 0, &l), 0);
	cr_assert_eq(xiw_group_listener_start(l, 0), 0);
	cr_assert_eq(xiw_group_listener_addr(l, &at, &len), 0);
	cr_expect_eq(bind_to(g, ntohs(((struct sockaddr_in *)&at)->sin_port), &other), -EADDRINUSE);
	cr_expect_eq(binds, 1);
	xiw_group_listener_free(l);
	xiw_group_destroy(g);
}
