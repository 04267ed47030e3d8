// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "receiver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "endpoint.h"
#include "ends.h"
#include "exit.h"
#include "receiver_opts.h"
#include "signals.h"
#include "text.h"

#define LISTEN_TRIES 50 /* for one second */
#define LISTEN_PAUSE_NS 20000000
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

	return xiw_fail(
		err == -EACCES ? XIW_EXIT_PRIVILEGE : XIW_EXIT_FAILURE, "cannot listen on %s: %s%s",
		xiw_printable(where, shown, sizeof(shown)), strerror(-err),
		err == -EACCES ? ": CAP_NET_BIND_SERVICE is missing for a port below 1024" : "");
}

/*
 * Tries again while the port is in use: the kernel ends the io_uring of a killed process some time after the process is
 * gone, and until then the accept request in it holds the port.
 */
static int listen_patiently(struct xiw_engine *engine, const struct addrinfo *ai,
			    const struct xiw_conn_opts *opts, struct xiw_listener **listener)
{
	const struct timespec pause = { .tv_nsec = LISTEN_PAUSE_NS };
	int err;

	for (int i = 0; i < LISTEN_TRIES; i++) {
		err = xiw_listen(engine, ai->ai_addr, ai->ai_addrlen, opts, listener);
		if (err != -EADDRINUSE || !xiw_go_on())
			break;
		nanosleep(&pause, NULL);
	}
	return err;
}

int xiw_receiver_open(struct xiw_receiver *r, const struct xiw_conn_opts *given)
{
	struct xiw_conn_opts opts = *given;
	const char *where = r->listen ? r->listen : "";
	struct addrinfo *list;
	int err, code = xiw_resolve(where, true, &list);

	if (code)
		return code;
	code = xiw_endpoint_open(r->args, r->args->receiver.path, &r->engine);
	if (!code) {
		xiw_endpoint_limits(r->args, &opts);
		err = listen_patiently(r->engine, list, &opts, &r->listener);
		if (err)
			code = listen_failed(*where ? where : "port " XIW_PORT, err);
		else
			code = xiw_endpoint_prepare(r->args, r->engine, list->ai_addr,
						    r->output_dir);
	}
	freeaddrinfo(list);
	if (code)
		xiw_receiver_close(r);
	return code;
}

const char *xiw_receiver_addr(const struct xiw_receiver *r, char buf[80])
{
	struct sockaddr_storage addr = {};
	socklen_t len = sizeof(addr);

	xiw_listener_addr(r->listener, &addr, &len);
	return xiw_addr_name(&addr, buf);
}

void xiw_receiver_close(struct xiw_receiver *r)
{
	xiw_listener_free(r->listener);
	xiw_engine_destroy(r->engine);
	r->listener = NULL;
	r->engine = NULL;
}

/* ---- connections --------------------------------------------------------------------------------- */

void xiw_receiver_fail(struct xiw_receiver *r, int code)
{
	if (!r->code)
		r->code = code;
}

static void refuse(struct xiw_receiver *r, struct xiw_conn *conn, struct xiw_peer *p, int err)
{
	/* The end of a connection that has ended by itself is reported with its last event. */
	if (err != -ENOTCONN && err != -ESHUTDOWN && err != -EBUSY)
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
}

static void end_peer(struct xiw_receiver *r, struct xiw_peer *p, bool stopped)
{
	struct xiw_peer **link = &r->peers;

	r->ops->ended(p, stopped);
	while (*link != p)
		link = &(*link)->next;
	*link = p->next;
	xiw_conn_free(p->conn);
	r->ops->release(p);
	free(p);
	r->ended++;
}

static void on_completion(struct xiw_receiver *r, const struct xiw_completion *c)
{
	struct xiw_peer *p = r->peers;

	if (c->event == XIW_EV_REQUEST) {
		on_request(r, c->conn);
		return;
	}
	while (p && p->conn != c->conn)
		p = p->next;
	if (p) {
		r->ops->completion(p, c);
		if (c->event == XIW_EV_CLOSED)
			end_peer(r, p, false);
	} else if (xiw_unaccepted_ended(c) && r->ops->count_failed_startups) {
		r->ended++;
		xiw_receiver_fail(r, XIW_EXIT_PEER);
	}
}

/* ---- the loop ------------------------------------------------------------------------------------ */

static bool done(const struct xiw_receiver *r)
{
	return r->once && r->ended && !r->peers;
}

int xiw_receiver_run(struct xiw_receiver *r)
{
	struct xiw_completion c;
	int code = 0;

	while (!code && xiw_go_on() && !done(r)) {
		code = xiw_endpoint_turn(r->engine, r->busy ? 0 : TURN_MS);
		for (struct xiw_peer *p = r->peers; p && r->ops->turned; p = p->next)
			r->ops->turned(p);
		while (xiw_engine_next(r->engine, &c) > 0)
			on_completion(r, &c);
		if (r->ops->after)
			r->ops->after(r);
	}
	while (r->peers)
		end_peer(r, r->peers, true);
	return code ? code : r->once ? r->code : XIW_EXIT_OK;
}
