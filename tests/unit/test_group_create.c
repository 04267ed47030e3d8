// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Groups: how many engines there are, how they share queues and limits, and what is an engine's own. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <criterion/criterion.h>
#include <xiwarp/xiwarp.h>

#include "conn/listener.h"
#include "core/engine.h"
#include "group/listen.h"
#include "handoff/key.h"

static struct xiw_engine_opts eo;
static struct xiw_group_opts go;
static struct xiw_group *g;

static void set_up(void)
{
	eo = (struct xiw_engine_opts){ .size = sizeof(eo), .path = XIW_USE_KERNEL };
	go = (struct xiw_group_opts){ .size = sizeof(go), .engines = 4, .engine = &eo };
}

TestSuite(group, .init = set_up, .timeout = 60);

static const struct xiw_engine_opts *opts_of(unsigned int i)
{
	return &xiw_group_engine(g, i)->opts;
}

Test(group, queues_are_dealt_out)
{
	cr_assert(!xiw_group_create(&go, &g));
	cr_expect_eq(xiw_group_engines(g), 4);
	for (unsigned int i = 0; i < 4; i++)
		cr_expect_eq(opts_of(i)->queues, 0x1111111111111111ull << i);
	cr_expect_null(xiw_group_engine(g, 4));
	cr_expect(!xiw_group_destroy(g));
}

Test(group, queues_of_the_engines_options)
{
	eo.queues = 0xf0;
	go.engines = 2;
	cr_assert(!xiw_group_create(&go, &g));
	cr_expect_eq(opts_of(0)->queues, 0x50);
	cr_expect_eq(opts_of(1)->queues, 0xa0);
	cr_expect(!xiw_group_destroy(g));
}

Test(group, queues_given)
{
	const uint64_t queues[] = { 0x8, 0x7, 0xf0, 0x100 };

	go.queues = queues;
	cr_assert(!xiw_group_create(&go, &g));
	for (unsigned int i = 0; i < 4; i++)
		cr_expect_eq(opts_of(i)->queues, queues[i]);
	cr_expect(!xiw_group_destroy(g));
}

Test(group, one_engine_has_all)
{
	go.engines = 1;
	cr_assert(!xiw_group_create(&go, &g));
	cr_expect_eq(opts_of(0)->queues, 0);
	cr_expect(!xiw_group_destroy(g));
}

Test(group, limits_are_divided)
{
	const unsigned int limits[][2] = { { 10, 3 }, { UINT32_MAX, 1u << 30 } };

	for (int k = 0; k < 2; k++) {
		eo.max_unstarted = limits[k][0];
		cr_assert(!xiw_group_create(&go, &g));
		for (unsigned int i = 0; i < 4; i++)
			cr_expect_eq(opts_of(i)->max_unstarted, limits[k][1]);
		cr_expect(!xiw_group_destroy(g));
	}
}

Test(group, most_queues_are_divided)
{
	const unsigned int share[] = { 2, 2, 1, 1 };

	eo.max_queues = 6;
	cr_assert(!xiw_group_create(&go, &g));
	for (unsigned int i = 0; i < 4; i++)
		cr_expect_eq(opts_of(i)->max_queues, share[i]);
	/* The heir may have those of the one that has left, too. */
	cr_expect(!xiw_engine_destroy(xiw_group_engine(g, 3)));
	for (unsigned int i = 0; i < 3; i++)
		cr_expect(xiw_engine_run(xiw_group_engine(g, i), 0) >= 0);
	cr_expect_eq(opts_of(0)->max_queues + opts_of(1)->max_queues + opts_of(2)->max_queues, 6);
	cr_expect(!xiw_group_destroy(g));
}

Test(group, no_more_engines_than_queues_that_it_may_take)
{
	go.engines = 0;
	eo.queues = 0xff;
	eo.max_queues = 1;
	cr_assert(!xiw_group_create(&go, &g));
	cr_expect_eq(xiw_group_engines(g), 1);
	cr_expect_eq(opts_of(0)->max_queues, 1);
	cr_expect(!xiw_group_destroy(g));
}

Test(group, no_more_engines_than_cpus)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	cr_assert(!sched_setaffinity(0, sizeof(one), &one));
	go.engines = 0;
	eo.queues = 0xff;
	cr_assert(!xiw_group_create(&go, &g));
	cr_expect_eq(xiw_group_engines(g), 1);
	cr_expect(!xiw_group_destroy(g));
}

Test(group, mistakes)
{
	const uint64_t twice[] = { 1, 2, 4, 6 }, none[] = { 1, 2, 0, 4 };

	go.queues = twice;
	cr_expect_eq(xiw_group_create(&go, &g), -EINVAL);
	go.queues = none;
	cr_expect_eq(xiw_group_create(&go, &g), -EINVAL);
	go.engines = 0;
	cr_expect_eq(xiw_group_create(&go, &g), -EINVAL);
	set_up();
	go.engines = XIW_GROUP_ENGINES_MAX + 1;
	cr_expect_eq(xiw_group_create(&go, &g), -EINVAL);
	set_up();
	go.size = 0;
	cr_expect_eq(xiw_group_create(&go, &g), -EINVAL);
	set_up();
	go.reserved = 1;
	cr_expect_eq(xiw_group_create(&go, &g), -EINVAL);
	set_up();
	eo.size = 1;
	cr_expect_eq(xiw_group_create(&go, &g), -EINVAL);
	set_up();
	eo.queues = 3; /* fewer than engines */
	cr_expect_eq(xiw_group_create(&go, &g), -EINVAL);
	set_up();
	eo.max_queues = 3; /* the same */
	cr_expect_eq(xiw_group_create(&go, &g), -EINVAL);
	cr_expect(!xiw_group_destroy(NULL));
}

/* A TCP connection over loopback, from the side that accepts it. */
static int accepted_socket(int *other)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd;
	socklen_t len = sizeof(addr);

	*other = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert(!bind(listener, (struct sockaddr *)&addr, len) && !listen(listener, 1));
	cr_assert(!getsockname(listener, (struct sockaddr *)&addr, &len));
	cr_assert(!connect(*other, (struct sockaddr *)&addr, len));
	fd = accept(listener, NULL, NULL);
	cr_assert(fd >= 0);
	close(listener);
	return fd;
}

/* Notes, as XDP does, that the SYN of a connection has come on a queue. */
static void note_arrival(int map, int fd, uint32_t queue)
{
	struct sockaddr_storage local = {}, remote = {};
	socklen_t local_len = sizeof(local), remote_len = sizeof(remote);
	struct xiw_flow_key key;

	cr_assert(!getsockname(fd, (struct sockaddr *)&local, &local_len));
	cr_assert(!getpeername(fd, (struct sockaddr *)&remote, &remote_len));
	xiw_flow_key_set(&key, &remote, &local);
	cr_assert(!bpf_map_update_elem(map, &key, &queue, BPF_ANY));
}

/* No other engine could accept for it, whatever queue the SYN has come on. */
Test(group, an_engines_own_listener_keeps_its_connections)
{
	struct xiw_netif p = {};
	struct xiw_listener l = {};
	int fd, other;

	p.table.arrivals_fd = bpf_map_create(BPF_MAP_TYPE_LRU_HASH, "arrivals",
					     sizeof(struct xiw_flow_key), 4, 64, NULL);
	if (p.table.arrivals_fd < 0)
		cr_skip_test("no privilege for a map");
	go.engines = 2;
	cr_assert(!xiw_group_create(&go, &g));
	l.engine = xiw_group_engine(g, 0);
	l.engine->netifs = &p;
	fd = accepted_socket(&other);
	note_arrival(p.table.arrivals_fd, fd, 1);
	cr_expect_not(xiw_group_accepted(&l, fd));
	l.serial = 1;
	note_arrival(p.table.arrivals_fd, fd, 1);
	cr_expect(xiw_group_accepted(&l, fd), "a group's listener passes it on");
	l.engine->netifs = NULL;
	cr_expect(!xiw_group_destroy(g));
	close(other);
	close(p.table.arrivals_fd);
}

static int dial(const struct sockaddr_storage *addr, socklen_t len)
{
	int fd = socket(addr->ss_family, SOCK_STREAM, 0);
	int err = connect(fd, (const struct sockaddr *)addr, len) ? -errno : 0;

	close(fd);
	return err;
}

Test(group, bound_before_it_listens)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct sockaddr_storage addr;
	struct xiw_group_listener *l, *other;
	socklen_t len;

	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (go.engines = 1; go.engines <= 4; go.engines += 3) {
		cr_assert(!xiw_group_create(&go, &g));
		cr_assert(!xiw_group_listener_bind(g, (void *)&any, sizeof(any), NULL, &l));
		cr_assert(!xiw_group_listener_addr(l, &addr, &len));
		cr_expect(((struct sockaddr_in *)&addr)->sin_port != 0);
		cr_expect_eq(dial(&addr, len), -ECONNREFUSED);
		cr_expect(!xiw_group_listener_start(l, 5));
		cr_expect_eq(xiw_group_listener_start(l, 5), -EALREADY);
		cr_expect_eq(dial(&addr, len), 0);
		/* The address is taken when somebody listens. */
		cr_expect_eq(xiw_group_listen(g, (void *)&addr, len, NULL, &other), -EADDRINUSE);
		xiw_group_listener_free(l);
		cr_expect_eq(dial(&addr, len), -ECONNREFUSED);
		/* One that is bound alone is freed before or after its group. */
		cr_assert(!xiw_group_listener_bind(g, (void *)&any, sizeof(any), NULL, &l));
		xiw_group_listener_free(l);
		cr_assert(!xiw_group_listener_bind(g, (void *)&any, sizeof(any), NULL, &l));
		cr_expect(!xiw_group_destroy(g));
		cr_expect_eq(xiw_group_listener_start(l, 5), -ESHUTDOWN);
		xiw_group_listener_free(l);
	}
}

/* What was in the way may be gone. */
Test(group, starts_to_listen_again)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct xiw_group_listener *l, *other;
	struct sockaddr_storage addr, again;
	struct rlimit most, few;
	socklen_t len;
	int fd;

	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert(!getrlimit(RLIMIT_NOFILE, &most));
	for (go.engines = 1; go.engines <= 4; go.engines += 3) {
		cr_assert(!xiw_group_create(&go, &g));
		cr_assert(!xiw_group_listener_bind(g, (void *)&any, sizeof(any), NULL, &l));
		cr_assert(!xiw_group_listener_addr(l, &addr, &len));
		cr_assert(!xiw_group_listener_bind(g, (void *)&addr, len, NULL, &other));
		/* With several engines there is room for one of the sockets that are missing. */
		few = most;
		cr_assert((fd = dup(0)) >= 0 && !close(fd));
		few.rlim_cur = (rlim_t)fd + 1;
		cr_assert(!setrlimit(RLIMIT_NOFILE, &few));
		cr_expect_eq(xiw_group_listener_start(l, 5), go.engines > 1 ? -EMFILE : 0);
		cr_assert(!setrlimit(RLIMIT_NOFILE, &most));
		if (go.engines > 1) {
			cr_expect_eq(dial(&addr, len), -ECONNREFUSED);
			cr_assert(!xiw_group_listener_addr(l, &again, &len));
			cr_expect(!memcmp(&again, &addr, len));
			cr_expect(!xiw_group_listener_start(l, 5));
		}
		cr_expect_eq(dial(&addr, len), 0);
		cr_expect_eq(xiw_group_listener_start(other, 5), -EADDRINUSE);
		cr_expect_eq(xiw_group_listener_start(other, 5), -EADDRINUSE);
		xiw_group_listener_free(l);
		cr_expect_eq(dial(&addr, len), -ECONNREFUSED);
		cr_expect(!xiw_group_listener_start(other, 5));
		cr_expect_eq(dial(&addr, len), 0);
		xiw_group_listener_free(other);
		cr_expect(!xiw_group_destroy(g));
	}
}
