// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How the sockets of connections are made: past what a program preloads, and with high descriptors. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <unistd.h>

#include "base/socket.h"
#include "conn/listener.h"
#include "conn/sockopts.h"
#include "core/engine.h"

static unsigned int intercepted;

/* As librspreload's, which makes a stream of RDMA. */
int socket(int domain, int type, int protocol)
{
	(void)domain, (void)type, (void)protocol;
	intercepted++;
	errno = ENODEV;
	return -1;
}

Test(conn_sockets, a_preloaded_socket_is_not_asked)
{
	const struct sockaddr_in any = { .sin_family = AF_INET };
	const struct xiw_conn_opts opts = { .size = sizeof(opts) };
	struct xiw_engine *e = calloc(1, sizeof(*e));
	struct xiw_sock_was was = {};
	int fd = xiw_listener_bound(e, &opts, (const void *)&any, sizeof(any), false, &was);

	cr_assert_geq(fd, 0);
	cr_expect_eq(intercepted, 0);
	close(fd);
	free(e);
}

/* select() has room for the descriptors below FD_SETSIZE, which are left to the program. */
Test(conn_sockets, descriptors_are_high_if_they_may_be)
{
	struct rlimit l;
	int fd;

	cr_assert(!getrlimit(RLIMIT_NOFILE, &l));
	l.rlim_cur = FD_SETSIZE;
	cr_assert(!setrlimit(RLIMIT_NOFILE, &l));
	fd = xiw_socket_tcp(AF_INET);
	cr_assert_eq(xiw_sock_raised(fd), fd);
	if (l.rlim_max > FD_SETSIZE) {
		l.rlim_cur = FD_SETSIZE + 1;
		cr_assert(!setrlimit(RLIMIT_NOFILE, &l));
		cr_assert_eq(xiw_sock_raised(fd), FD_SETSIZE);
		cr_expect_eq(close(fd), -1, "it has moved");
		/* The next finds no place there. */
		fd = xiw_socket_tcp(AF_INET);
		cr_expect_eq(xiw_sock_raised(fd), fd);
	}
	errno = EMFILE;
	cr_expect_eq(xiw_sock_raised(-1), -1);
	cr_expect_eq(errno, EMFILE);
}
