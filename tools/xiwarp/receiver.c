// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "receiver.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "endpoint.h"
#include "ends.h"
#include "exit.h"
#include "receiver_opts.h"
#include "report.h"
#include "signals.h"
#include "telling.h"
#include "text.h"

#define TURN_MS 500 /* a turn waits no longer, so that timers of the commands run */

const struct xiw_word xiw_path_words[] = {
	{ "auto", XIW_USE_AUTO },
	{ "kernel", XIW_USE_KERNEL },
	{ "direct", XIW_USE_DIRECT },
	{},
};
const struct xiw_word xiw_crc_words[] = { { "on", false }, { "off", true }, {} };

/* ---- listening ----------------------------------------------------------------------------------- */

static int listen_failed(const char *where, int err)
{
	char shown[256];

	return xiw_fail(err == -EACCES ? XIW_EXIT_PRIVILEGE : XIW_EXIT_FAILURE,
			"cannot listen on %s: %s%s", xiw_printable(where, shown, sizeof(shown)),
			strerror(-err),
			err == -EACCES ? ": CAP_NET_BIND_SERVICE is missing for a port below 1024"
				       : xiw_remedy(err));
}

/*
 * Listens when every engine has its queues: a connection that came before would find nobody on the queue of its SYN,
 * and would belong to some other engine for good, which never gets its frames.
 */
static int open_all(struct xiw_receiver *r, const struct xiw_conn_opts *opts,
		    const struct addrinfo *list, const char *where)
{
	struct xiw_receivers *all = r->all;
	int err, code = xiw_endpoint_open_group(r->args, &all->group);
	bool direct;

	if (code)
		return code;
	r->engine = xiw_group_engine(all->group, 0);
	err = xiw_group_listener_bind(all->group, list->ai_addr, list->ai_addrlen, opts,
				      &all->listener);
	if (err && xiw_stop_signal)
		return xiw_exit_stopped(0);
	if (err)
		return listen_failed(where, err);
	code = xiw_endpoint_ready_group(r->args, all->group, list->ai_addr, r->output_dir, &direct);
	if (code)
		return code;
	err = xiw_group_listener_start(all->listener, 0);
	if (err)
		return listen_failed(where, err);
	return xiw_endpoint_drop(r->args, direct, r->output_dir);
}

/*
 * For how many connections there are descriptors, if each takes so many. An eighth of all is for what a process needs
 * besides.
 */
static unsigned int capacity(unsigned int each)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur > INT_MAX)
		return INT_MAX / each;
	return (unsigned int)(files.rlim_cur - files.rlim_cur / 8) / each;
}

int xiw_receiver_open(struct xiw_receiver *r, const struct xiw_conn_opts *given)
{
	struct xiw_conn_opts opts = *given;
	const char *where = r->listen ? r->listen : "";
	struct addrinfo *list;
	int code = xiw_resolve(where, true, &list);

	if (code)
		return code;
	r->all = calloc(1, sizeof(*r->all));
	if (!r->all) {
		freeaddrinfo(list);
		return xiw_fail(XIW_EXIT_FAILURE, "no memory");
	}
	pthread_mutex_init(&r->all->lock, NULL);
	xiw_endpoint_limits(r->args, &opts);
	opts.capacity = capacity(r->ops->with_file ? 2 : 1);
	code = open_all(r, &opts, list, *where ? where : "port " XIW_PORT);
	freeaddrinfo(list);
	if (code)
		xiw_receiver_close(r);
	return code;
}

const char *xiw_receiver_addr(const struct xiw_receiver *r, char buf[80])
{
	struct sockaddr_storage addr = {};
	socklen_t len = sizeof(addr);

	xiw_group_listener_addr(r->all->listener, &addr, &len);
	return xiw_addr_name(&addr, buf);
}

void xiw_receiver_accept_no_more(struct xiw_receiver *r)
{
	pthread_mutex_lock(&r->all->lock);
	xiw_group_listener_free(r->all->listener);
	r->all->listener = NULL;
	pthread_mutex_unlock(&r->all->lock);
}

void xiw_receiver_close(struct xiw_receiver *r)
{
	if (!r->all)
		return;
	xiw_group_listener_free(r->all->listener);
	xiw_group_destroy(r->all->group);
	pthread_mutex_destroy(&r->all->lock);
	free(r->all);
	r->all = NULL;
	r->engine = NULL;
}

/* ---- connections --------------------------------------------------------------------------------- */

void xiw_receiver_fail(struct xiw_receiver *r, int code)
{
	int none = 0;

	__atomic_compare_exchange_n(&r->all->code, &none, code, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

static void refuse(struct xiw_receiver *r, struct xiw_conn *conn, struct xiw_peer *p, int err)
{
	/* The end of a connection that has ended by itself is reported with its last event. */
	if (err != -ENOTCONN && err != -ESHUTDOWN && err != -EBUSY && xiw_may_tell())
		xiw_fail(0, "a connection was not accepted: %s", strerror(-err));
	if (err == -EBUSY)
		xiw_conn_free(conn);
	else
		xiw_conn_abort(
			conn); /* freed with its last event, which may be in the queue already */
	if (p)
		r->ops->release(p);
	free(p);
}

static void on_request(struct xiw_receiver *r, struct xiw_conn *conn)
{
	struct xiw_peer *p = calloc(1, r->ops->peer_size);
	struct xiw_conn_info info;
	int err = -ENOMEM;

	if (p) {
		p->receiver = r;
		p->conn = conn;
		xiw_conn_info(conn, &info, sizeof(info));
		xiw_addr_name(&info.remote, p->name);
		err = r->ops->request(p);
	}
	if (err) {
		refuse(r, conn, p, err);
		return;
	}
	p->next = r->peers;
	r->peers = p;
	xiw_conn_set_user_data(conn, (uintptr_t)p);
	pthread_mutex_lock(&r->all->lock);
	r->all->open++;
	pthread_mutex_unlock(&r->all->lock);
}

/* Its report is not mixed with those of other threads. */
static void report_end(struct xiw_receiver *r, struct xiw_peer *p, bool stopped)
{
	struct xiw_conn_info info;

	xiw_conn_info(p->conn, &info, sizeof(info));
	r->connections++;
	r->direct += info.octets_direct;
	r->kernel += info.octets_kernel;
	pthread_mutex_lock(&r->all->lock);
	r->ops->ended(p, stopped);
	r->all->open--;
	r->all->ended++;
	pthread_mutex_unlock(&r->all->lock);
}

static void end_peer(struct xiw_receiver *r, struct xiw_peer *p, bool stopped)
{
	struct xiw_peer **link = &r->peers;

	report_end(r, p, stopped);
	while (*link != p)
		link = &(*link)->next;
	*link = p->next;
	xiw_conn_free(p->conn);
	r->ops->release(p);
	free(p);
}

static void on_completion(struct xiw_receiver *r, const struct xiw_completion *c)
{
	struct xiw_peer *p;

	if (c->event == XIW_EV_REQUEST) {
		on_request(r, c->conn);
		return;
	}
	p = c->conn ? (struct xiw_peer *)(uintptr_t)xiw_conn_user_data(c->conn) : NULL;
	if (p) {
		r->ops->completion(p, c);
		if (c->event == XIW_EV_CLOSED)
			end_peer(r, p, false);
	} else if (xiw_unaccepted_ended(r->engine, c) && r->ops->count_failed_startups) {
		xiw_receiver_fail(r, XIW_EXIT_PEER);
		pthread_mutex_lock(&r->all->lock);
		r->all->ended++;
		pthread_mutex_unlock(&r->all->lock);
	}
}

/* ---- the loop ------------------------------------------------------------------------------------ */

/* Is this thread to end? The one that finds the reason tells the others. */
static bool done(struct xiw_receiver *r, int code)
{
	struct xiw_receivers *all = r->all;
	bool was, stop;

	pthread_mutex_lock(&all->lock);
	if (code && !all->failed)
		all->failed = code;
	was = all->stop;
	stop = all->stop |= code || !xiw_go_on() || (r->once && all->ended && !all->open);
	pthread_mutex_unlock(&all->lock);
	for (unsigned int i = 0; stop && !was && i < xiw_group_engines(all->group); i++)
		xiw_engine_wake(xiw_group_engine(all->group, i));
	return stop;
}

static void run_one(struct xiw_receiver *r)
{
	const int failed = r->ops->begin ? r->ops->begin(r) : 0;
	struct xiw_completion c;
	int code = failed;

	while (!done(r, code)) {
		code = xiw_endpoint_turn(r->engine, TURN_MS);
		for (struct xiw_peer *p = r->peers; p && r->ops->turned; p = p->next)
			r->ops->turned(p);
		while (xiw_engine_next(r->engine, &c) > 0)
			on_completion(r, &c);
		if (r->ops->after)
			r->ops->after(r);
		xiw_tell_rest(false);
	}
	while (r->peers)
		end_peer(r, r->peers, true);
	if (r->ops->finish && !failed)
		r->ops->finish(r);
}

/* ---- several threads ----------------------------------------------------------------------------- */

struct thread {
	struct xiw_receiver *receiver;
	pthread_t id;
	bool runs;
};

/* Signals are for the first thread. */
static void *run_thread(void *arg)
{
	struct thread *t = arg;

	xiw_hold_signals();
	run_one(t->receiver);
	return NULL;
}

/* A copy of the command's structure, with another engine. */
static bool start(struct thread *t, const struct xiw_receiver *first, unsigned int i)
{
	t->receiver = malloc(first->ops->receiver_size);
	if (!t->receiver)
		return false;
	memcpy(t->receiver, first, first->ops->receiver_size);
	t->receiver->engine = xiw_group_engine(first->all->group, i);
	t->runs = !pthread_create(&t->id, NULL, run_thread, t);
	return t->runs;
}

static void report_text(const struct xiw_receiver *r, unsigned int i)
{
	char direct[32], kernel[32];

	printf("thread %u: %u connections, direct %s, kernel %s (%.2f %% direct)\n", i,
	       r->connections, xiw_octets(r->direct, direct), xiw_octets(r->kernel, kernel),
	       100 * xiw_share(r->direct, r->kernel));
}

static struct json_object *report_json(const struct xiw_receiver *r)
{
	struct json_object *o = json_object_new_object();

	xiw_json_u64(o, "connections", r->connections);
	xiw_json_octets(o, r->direct, r->kernel);
	return o;
}

/* What each thread has received, and all of them together. */
static void report_threads(const struct xiw_receiver *first, const struct thread *t, unsigned int n)
{
	struct json_object *o, *list = json_object_new_array();
	struct xiw_receiver sum = {};

	for (unsigned int i = 0; i < n; i++) {
		const struct xiw_receiver *r = i ? t[i].receiver : first;

		if (!r)
			continue;
		sum.connections += r->connections;
		sum.direct += r->direct;
		sum.kernel += r->kernel;
		if (first->args->json)
			json_object_array_add(list, report_json(r));
		else
			report_text(r, i);
	}
	o = report_json(&sum);
	json_object_object_add(o, "threads", list);
	if (first->args->json)
		xiw_json_print(o);
	else
		json_object_put(o);
	fflush(stdout);
}

int xiw_receiver_run(struct xiw_receiver *r)
{
	const unsigned int n = xiw_group_engines(r->all->group);
	struct thread threads[XIW_GROUP_ENGINES_MAX] = {};
	int code = 0;

	for (unsigned int i = 1; i < n && !code; i++)
		if (!start(&threads[i], r, i))
			code = xiw_fail(XIW_EXIT_FAILURE, "cannot start thread %u", i);
	if (code)
		done(r, code);
	run_one(r);
	for (unsigned int i = 1; i < n; i++)
		if (threads[i].runs)
			pthread_join(threads[i].id, NULL);
	xiw_tell_rest(true);
	if (n > 1)
		report_threads(r, threads, n);
	for (unsigned int i = 1; i < n; i++)
		free(threads[i].receiver);
	return r->all->failed ? r->all->failed : r->once ? r->all->code : XIW_EXIT_OK;
}
