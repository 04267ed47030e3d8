// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/listen.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "core/news.h"
#include "host/engines.h"
#include "host/eq.h"
#include "host/files.h"
#include "host/life.h"
#include "host/link.h"
#include "host/settings.h"

#define HOLD_MS 30000u /* how long a Send waits for a buffer, and if the peer has closed: */
#define HOLD_CLOSED_MS 1000u
#define BACKLOG 1024
#define CLOSE_MS 10000u
#define SEND_FIRST_MS 500u /* how long a peer may take to read the MPA Reply */

struct xiw_host_listener {
	struct xiw_host_life life;
	struct xiw_host_listener *next;
	struct xiw_group_listener *group;
	struct xiw_host_eq *eq;
	void *context;
	uint64_t number; /* odd */
	enum xiw_host_v6only v6only;
};

/* With xiw_host_lock. Listeners of a parent are in the list, and found by nobody. */
static struct xiw_host_listener *all;
static uint64_t last = 1;

void xiw_host_conn_opts(struct xiw_conn_opts *opts)
{
	*opts = (struct xiw_conn_opts){
		.size = sizeof(*opts),
		.hold_ms = HOLD_MS,
		.hold_closed_ms = HOLD_CLOSED_MS,
		.close_timeout_ms = CLOSE_MS,
	};
}

void *(*xiw_host_target)(const struct sockaddr *local, const struct ifaddrs *all);

bool xiw_host_listener_wants(struct xiw_host_request *request)
{
	const struct ifaddrs *addrs;
	int err;

	if (!xiw_host_target)
		return true;
	err = xiw_news_addresses(request->engine, &addrs);
	xiw_host_files_refused(err);
	if (!err)
		request->context = xiw_host_target((struct sockaddr *)&request->local, addrs);
	return request->context;
}

void *xiw_host_request_target(const struct xiw_host_request *request)
{
	return request->context;
}

bool xiw_host_listener_find(uint64_t user_data, struct xiw_host_eq **eq, void **context)
{
	const struct xiw_host_listener *l = all;

	while (l && l->number != user_data)
		l = l->next;
	if (!l)
		return false;
	*eq = l->eq;
	*context = l->context;
	return true;
}

static void add(struct xiw_host_listener *l)
{
	pthread_mutex_lock(&xiw_host_lock);
	l->number = last += 2;
	l->next = all;
	all = l;
	pthread_mutex_unlock(&xiw_host_lock);
}

static void take_out(struct xiw_host_listener *l)
{
	struct xiw_host_listener **at = &all;

	pthread_mutex_lock(&xiw_host_lock);
	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	pthread_mutex_unlock(&xiw_host_lock);
}

static int set_families(int fd, void *ctx)
{
	const struct xiw_host_listener *l = ctx;
	const int only = l->v6only == XIW_HOST_V6ONLY_ON;

	return setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only)) ? -errno : 0;
}

int xiw_host_bind(const struct sockaddr *addr, socklen_t len, enum xiw_host_v6only v6only,
		  struct xiw_host_eq *eq, void *context, struct xiw_host_listener **listener)
{
	struct xiw_host_listener *l;
	struct xiw_conn_opts opts;
	struct xiw_group *group;
	int err = xiw_host_engines(&group);

	if (!err)
		err = xiw_host_eq_use(eq);
	if (err)
		return err;
	l = calloc(1, sizeof(*l));
	if (!l) {
		xiw_host_eq_leave(eq);
		return -ENOMEM;
	}
	xiw_host_born(&l->life);
	l->eq = eq;
	l->context = context;
	l->v6only = v6only;
	add(l);
	xiw_host_conn_opts(&opts);
	opts.user_data = l->number;
	opts.send_first = xiw_host_send_first();
	opts.send_first_ms = SEND_FIRST_MS;
	if (addr->sa_family == AF_INET6 && v6only != XIW_HOST_V6ONLY_DEFAULT) {
		opts.prepare = set_families;
		opts.prepare_ctx = l;
	}
	err = xiw_group_listener_bind(group, addr, len, &opts, &l->group);
	if (err) {
		take_out(l);
		xiw_host_eq_leave(eq);
		free(l);
		return err;
	}
	*listener = l;
	return 0;
}

/* It is of another process, or this one exits. */
static bool is_gone(const struct xiw_host_listener *l)
{
	return xiw_host_dead(&l->life) || !l->group;
}

int xiw_host_listener_addr(const struct xiw_host_listener *l, struct sockaddr_storage *addr,
			   socklen_t *len)
{
	return is_gone(l) ? -ECANCELED : xiw_group_listener_addr(l->group, addr, len);
}

int xiw_host_listen(struct xiw_host_listener *l, int backlog)
{
	/* librdmacm has it so; a backlog that is named is a limit that is kept (max_unstarted). */
	if (backlog <= 0)
		backlog = BACKLOG;
	return is_gone(l) ? -ECANCELED : xiw_group_listener_start(l->group, backlog);
}

/*
 * A process that exits accepts nobody any more, and gives its ports back. The kernel ends its io_uring, which accepts,
 * later than the process.
 */
__attribute__((destructor)) static void stop_listening(void)
{
	pthread_mutex_lock(&xiw_host_lock);
	for (struct xiw_host_listener *l = all; l; l = l->next) {
		if (xiw_host_dead(&l->life))
			continue;
		xiw_group_listener_free(l->group);
		l->group = NULL;
	}
	pthread_mutex_unlock(&xiw_host_lock);
}

int xiw_host_listener_free(struct xiw_host_listener *l)
{
	if (!l)
		return 0;
	take_out(l);
	if (!xiw_host_dead(&l->life)) {
		xiw_group_listener_free(l->group);
		xiw_host_eq_leave(l->eq);
	}
	free(l);
	return 0;
}

int xiw_host_listener_move(struct xiw_host_listener *l, struct xiw_host_eq *eq)
{
	int err = xiw_host_dead(&l->life) ? -ECANCELED : xiw_host_eq_use(eq);

	if (err)
		return err;
	pthread_mutex_lock(&xiw_host_lock);
	xiw_host_eq_leave(l->eq);
	xiw_host_eq_hand_over(l->eq, eq, l->context);
	l->eq = eq;
	pthread_mutex_unlock(&xiw_host_lock);
	return 0;
}
