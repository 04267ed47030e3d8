// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connections, as the program asks for them and as the engines report them. What belongs to an engine is done in its
 * thread, by calls; whose a connection is changes with xiw_host_lock.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/now.h"
#include "host/engines.h"
#include "host/eq.h"
#include "host/files.h"
#include "host/link.h"
#include "host/listen.h"

/*
 * Programs tell their peer that they listen, and then do: an RNIC takes longer to connect than that. So a connection
 * that the peer's TCP refuses is tried again for a moment.
 */
#define DIAL_MS 200
#define DIAL_AGAIN_MS 10
#define SEND_DEPTH 64u /* messages that DDP has at a time; more are posted above it */

static struct xiw_host_request *link_of(uint64_t user_data)
{
	return (struct xiw_host_request *)(uintptr_t)user_data;
}

static uint16_t least(uint32_t a, uint32_t b)
{
	return (uint16_t)(a < b ? a : b);
}

/* RDMAP takes buffers for the peer's Reads out of the same number. */
static unsigned int recv_depth(const struct xiw_host_qp *qp)
{
	return qp->recvs.depth > XIW_HOST_READS_MAX ? qp->recvs.depth : XIW_HOST_READS_MAX;
}

/* ---- requests ------------------------------------------------------------------------------------------------ */

static void decide(struct xiw_engine *e, struct xiw_call *call, int status);

static void note_addresses(struct xiw_host_request *l, struct xiw_conn_info *info)
{
	xiw_conn_info(l->conn, info, sizeof(*info));
	pthread_mutex_lock(&xiw_host_lock);
	l->local = info->local;
	l->remote = info->remote;
	pthread_mutex_unlock(&xiw_host_lock);
}

static void drop(struct xiw_host_event *event)
{
	xiw_host_reject(event->request, NULL, 0);
}

static void requested(struct xiw_engine *e, struct xiw_conn *c, uint64_t user_data)
{
	struct xiw_host_event event = { .kind = XIW_HOST_REQUEST };
	struct xiw_host_request *l = xiw_host_link_new();
	struct xiw_conn_info info;
	struct xiw_host_eq *eq;
	int err = -ECONNREFUSED;
	bool wanted;

	if (!l) {
		xiw_conn_abort(c);
		return;
	}
	l->answer.run = decide;
	l->engine = e;
	l->conn = c;
	l->listener = user_data;
	xiw_conn_set_user_data(c, (uintptr_t)l);
	note_addresses(l, &info);
	l->peer_offers = event.extended = xiw_host_link_heard(c, &event);
	/* A peer that does not negotiate leaves the depths to us. */
	l->agreed_ird = info.enhanced ? info.peer_ord : XIW_DEPTH_ULP;
	l->agreed_ord = info.enhanced ? info.peer_ird : XIW_DEPTH_ULP;
	event.ird = least(l->agreed_ird, XIW_HOST_READS_MAX);
	event.ord = least(l->agreed_ord, XIW_HOST_READS_MAX);
	event.request = l;
	wanted = xiw_host_listener_wants(l);
	pthread_mutex_lock(&xiw_host_lock);
	if (wanted && xiw_host_listener_find(user_data, &eq, &event.context))
		err = xiw_host_eq_put(eq, &event, drop);
	pthread_mutex_unlock(&xiw_host_lock);
	if (err)
		xiw_host_reject(l, NULL, 0);
}

/* For both IP versions: a socket of IPv6 may carry IPv4. */
static int set_class(struct xiw_host_request *l)
{
	int err = xiw_conn_setsockopt(l->conn, IPPROTO_IP, IP_TOS, l->traffic_class);

	if (!err && l->local.ss_family == AF_INET6)
		err = xiw_conn_setsockopt(l->conn, IPPROTO_IPV6, IPV6_TCLASS, l->traffic_class);
	return err;
}

/* The answer, in the engine's thread. */
static void decide(struct xiw_engine *e, struct xiw_call *call, int status)
{
	struct xiw_host_request *l =
		(void *)((char *)call - offsetof(struct xiw_host_request, answer));
	struct xiw_host_qp *qp = l->qp;
	int err = l->conn ? 0 : -ECONNRESET;

	(void)e;
	(void)status;
	l->decided = true;
	if (!err && !l->accepts) {
		err = xiw_conn_reject(l->conn, l->private_data, l->private_len);
	} else if (!err) {
		err = xiw_conn_set_queues(l->conn, recv_depth(qp), SEND_DEPTH, qp->pd);
		if (!err && l->traffic_class)
			err = set_class(l);
		if (!err)
			err = xiw_host_link_attach(l);
		if (!err)
			err = xiw_conn_set_depths(l->conn, l->ird, l->ord);
		if (!err) {
			xiw_host_qp_pass(qp);
			err = xiw_conn_accept(l->conn, l->private_data, l->private_len);
			l->used = !err;
		}
	}
	if (err)
		xiw_host_link_end(l, err);
}

void xiw_host_request_addr(const struct xiw_host_request *request, struct sockaddr_storage *local,
			   struct sockaddr_storage *remote)
{
	*local = request->local;
	*remote = request->remote;
}

/* ---- in the engine's thread: what the engine reports ------------------------------------------------------- */

static void arrived(struct xiw_host_request *l, struct xiw_conn *c)
{
	int err;

	xiw_host_link_take_qp(l);
	err = xiw_host_link_attach(l);
	if (!err) {
		xiw_host_qp_pass(l->qp); /* the buffers */
		err = xiw_conn_accept(c, NULL, 0);
	}
	if (err)
		xiw_host_link_end(l, err);
}

static void connected(struct xiw_host_request *l)
{
	struct xiw_host_event event = { .kind = XIW_HOST_ESTABLISHED };
	struct xiw_rdma_info rdma;
	struct xiw_conn_info info;

	note_addresses(l, &info);
	xiw_rdma_info(l->qp->rdma, &rdma, sizeof(rdma));
	if (l->initiator) {
		l->peer_offers = xiw_host_link_heard(l->conn, &event);
		l->qp->extended = l->offered && l->peer_offers;
	} else {
		l->qp->extended = l->offered;
	}
	event.extended = l->qp->extended;
	event.ird = l->agreed_ird = rdma.ird;
	event.ord = l->agreed_ord = rdma.ord;
	l->established = l->used = l->qp->open = true;
	__atomic_store_n(&l->qp->state, XIW_HOST_OPEN, __ATOMIC_RELEASE);
	if (xiw_host_link_tell(l, &event))
		xiw_rdma_terminate(l->qp->rdma);
	xiw_host_qp_pass(l->qp);
	if (l->drains)
		xiw_host_link_drain(l);
}

static void dial_again(struct xiw_engine *e, struct xiw_host_later *later);

/* Has the TCP of the peer refused, which may be over in a moment? dial_again() hears of an end that comes later. */
static bool refused_too_early(const struct xiw_host_request *l)
{
	return l->initiator && !__atomic_load_n(&l->end_asked, __ATOMIC_ACQUIRE) && !l->qp->rdma &&
	       l->refused == -ECONNREFUSED && xiw_now_ms() < l->dial_until;
}

/*
 * Requests that nobody has taken are at most one more than their connections, which a listener limits: a request that
 * waits behind another event goes with its connection. Returns false if the program has the request, or finds it.
 */
static bool take_back(const struct xiw_host_request *l)
{
	struct xiw_host_eq *eq;
	void *context;
	bool unseen;

	pthread_mutex_lock(&xiw_host_lock);
	unseen = xiw_host_listener_find(l->listener, &eq, &context) &&
		 xiw_host_eq_take_back(eq, l);
	pthread_mutex_unlock(&xiw_host_lock);
	return unseen;
}

static void closed(struct xiw_host_request *l, const struct xiw_completion *c)
{
	if (refused_too_early(l)) {
		xiw_conn_free(l->conn);
		l->conn = NULL;
		l->refused = 0;
		l->dial.run = dial_again;
		xiw_host_do_later(&l->dial, DIAL_AGAIN_MS);
		return;
	}
	if (l->initiator || l->decided) {
		xiw_host_link_end(l, c->status);
		return;
	}
	/* A Request that the program has not answered. If it has seen it, the answer will find no connection. */
	xiw_conn_free(l->conn);
	l->conn = NULL;
	if (take_back(l))
		xiw_host_link_free(l);
}

/* Nobody waits for this connection. REFUSED is its last event if there is none. */
static void not_wanted(struct xiw_host_request *l, const struct xiw_completion *c)
{
	if (c->event == XIW_EV_REFUSED && c->conn)
		return;
	xiw_conn_free(c->conn);
	xiw_host_link_drop(l);
}

static void of_link(struct xiw_engine *e, struct xiw_host_request *l,
		    const struct xiw_completion *c)
{
	struct xiw_engine *had = xiw_host_link_settle(l, e, c->conn);

	if ((had && had != e) || xiw_host_link_given_up(l)) {
		not_wanted(l, c);
		return;
	}
	switch (c->event) {
	case XIW_EV_ARRIVED:
		arrived(l, c->conn);
		break;
	case XIW_EV_CONNECTED:
		connected(l);
		break;
	case XIW_EV_REFUSED:
		l->refused = c->status;
		if (!c->conn)
			xiw_host_link_end(l, c->status);
		break;
	case XIW_EV_ERROR:
	case XIW_EV_TERMINATED:
		if (l->qp)
			xiw_host_qp_failed(l->qp, c->event == XIW_EV_TERMINATED);
		break;
	case XIW_EV_EOF:
		if (l->qp && l->qp->rdma)
			xiw_rdma_close(l->qp->rdma);
		break;
	case XIW_EV_CLOSED:
		closed(l, c);
		break;
	default:
		break;
	}
}

/* Of a QP that has left the connection, everything is complete. And one that has none yet keeps its buffers. */
static void completed(struct xiw_host_request *l, const struct xiw_completion *c)
{
	if (l->qp && (l->established || l->qp->srq || c->op != XIW_OPERATION_RECV))
		xiw_host_qp_complete(l->qp, c);
}

static void take(struct xiw_engine *e, const struct xiw_completion *c)
{
	if (c->op != XIW_OPERATION_NONE) {
		completed(link_of(xiw_conn_user_data(c->conn)), c);
	} else if (c->event == XIW_EV_SRQ_LOW) {
		xiw_host_srq_low(c->user_data);
	} else if (!xiw_host_is_new(c->user_data)) {
		of_link(e, link_of(c->user_data), c);
	} else if (c->event == XIW_EV_REQUEST) {
		requested(e, c->conn, c->user_data);
	} else if (c->event == XIW_EV_CLOSED) {
		xiw_conn_free(c->conn);
	} else if (c->event == XIW_EV_NOT_ACCEPTED) {
		xiw_host_files_refused(c->status);
	}
}

__attribute__((constructor)) static void begin(void)
{
	xiw_host_take = take;
}

/* ---- what the program asks for ------------------------------------------------------------------------------- */

/* Gives a QP its link, whose second owner it is. With xiw_host_lock. */
static int join(struct xiw_host_qp *qp, struct xiw_host_request *l,
		const struct xiw_host_conn_opts *opts)
{
	int err = xiw_host_eq_use(opts->eq);

	if (err)
		return err;
	if (qp->link || xiw_host_qp_state(qp) != XIW_HOST_IDLE) {
		xiw_host_eq_leave(opts->eq);
		return -EISCONN;
	}
	qp->link = l;
	l->qp = qp;
	l->eq = opts->eq;
	l->last.forgets = opts->forgets;
	l->context = opts->context;
	__atomic_store_n(&qp->engine, l->engine, __ATOMIC_SEQ_CST);
	__atomic_store_n(&qp->state, XIW_HOST_CONNECTING, __ATOMIC_RELEASE);
	return 0;
}

/* The QP is as it was. */
static void part(struct xiw_host_qp *qp, struct xiw_host_request *l)
{
	qp->link = NULL;
	__atomic_store_n(&qp->state, XIW_HOST_IDLE, __ATOMIC_RELEASE);
	xiw_host_eq_leave(l->eq);
}

/* Before TCP's handshake. */
static int prepare(int fd, void *ctx)
{
	const struct xiw_host_request *l = ctx;
	const int one = 1, class = l->traffic_class;

	if (class && setsockopt(fd, IPPROTO_IP, IP_TOS, &class, sizeof(class)))
		return -errno;
	if (class && l->to.ss_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &class, sizeof(class)))
		return -errno;
	if (l->bind.ss_family == AF_UNSPEC)
		return 0;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	return bind(fd, (const struct sockaddr *)&l->bind, l->bind_len) ? -errno : 0;
}

static int dial(struct xiw_host_request *l, struct xiw_group *group)
{
	struct xiw_conn_opts opts;

	xiw_host_conn_opts(&opts);
	opts.user_data = (uintptr_t)l;
	opts.recv_depth = recv_depth(l->qp);
	opts.send_depth = SEND_DEPTH;
	opts.pd = l->qp->pd;
	opts.ird = l->ird;
	opts.ord = l->ord;
	opts.enhanced = opts.fall_back = true;
	opts.rtr = XIW_RTR_WRITE;
	opts.private_data = l->private_data;
	opts.private_data_len = l->private_len;
	opts.startup_timeout_ms = l->timeout_ms;
	opts.prepare = prepare;
	opts.prepare_ctx = l;
	return xiw_group_connect(group, (const struct sockaddr *)&l->to, l->to_len, &opts);
}

static void dial_again(struct xiw_engine *e, struct xiw_host_later *later)
{
	struct xiw_host_request *l =
		(void *)((char *)later - offsetof(struct xiw_host_request, dial));
	struct xiw_group *group;
	int err = xiw_host_engines(&group);

	if (xiw_host_link_given_up(l)) {
		xiw_host_link_drop(l);
		return;
	}
	/* As before: it has no engine until it arrives at one. Without the lock, it and its QP might end now. */
	pthread_mutex_lock(&xiw_host_lock);
	if (l->end_asked)
		err = -ECANCELED;
	if (!err) {
		l->engine = NULL;
		err = dial(l, group);
		if (err)
			l->engine = e;
	}
	pthread_mutex_unlock(&xiw_host_lock);
	if (err)
		xiw_host_link_end(l, err);
}

int xiw_host_connect(struct xiw_host_qp *qp, const struct sockaddr *remote, socklen_t remote_len,
		     const struct sockaddr *local, socklen_t local_len,
		     const struct xiw_host_conn_opts *opts)
{
	struct xiw_host_request *l;
	struct xiw_group *group;
	int err = xiw_host_dead(&qp->life) ? -ECANCELED : xiw_host_engines(&group);

	if (err)
		return err;
	if (!opts->eq || local_len > sizeof(l->bind) || remote_len > sizeof(l->to))
		return -EINVAL;
	l = xiw_host_link_new();
	if (!l)
		return -ENOMEM;
	l->initiator = true;
	l->ird = least(opts->ird, XIW_HOST_READS_MAX);
	l->ord = least(opts->ord, XIW_HOST_READS_MAX);
	memcpy(&l->to, remote, remote_len);
	l->to_len = remote_len;
	l->timeout_ms = opts->timeout_ms;
	l->traffic_class = opts->traffic_class;
	l->dial_until = xiw_now_ms() + DIAL_MS;
	if (local) {
		memcpy(&l->bind, local, local_len);
		l->bind_len = local_len;
	}
	err = xiw_host_link_say(l, opts->private_data, opts->private_len, opts->extended);
	pthread_mutex_lock(&xiw_host_lock);
	if (!err)
		err = join(qp, l, opts);
	if (!err) {
		err = dial(l, group);
		if (err)
			part(qp, l);
	}
	pthread_mutex_unlock(&xiw_host_lock);
	if (err)
		xiw_host_link_free(l);
	return err;
}

int xiw_host_accept(struct xiw_host_request *l, struct xiw_host_qp *qp,
		    const struct xiw_host_conn_opts *opts)
{
	int err;

	if (xiw_host_dead(&l->life) || xiw_host_dead(&qp->life))
		return -ECANCELED;
	if (!opts->eq)
		return -EINVAL;
	err = xiw_host_link_say(l, opts->private_data, opts->private_len,
				opts->extended && l->peer_offers);
	if (err)
		return err;
	l->ird = least(least(opts->ird, XIW_HOST_READS_MAX), l->agreed_ird);
	l->ord = least(least(opts->ord, XIW_HOST_READS_MAX), l->agreed_ord);
	l->traffic_class = opts->traffic_class;
	pthread_mutex_lock(&xiw_host_lock);
	err = join(qp, l, opts);
	l->accepts = !err;
	if (!err)
		xiw_engine_call(l->engine, &l->answer);
	pthread_mutex_unlock(&xiw_host_lock);
	return err;
}

static void refuse(void *ctx)
{
	struct xiw_host_request *l = ctx;

	decide(l->engine, &l->answer, 0);
}

int xiw_host_reject(struct xiw_host_request *l, const void *private_data, size_t private_len)
{
	int err = xiw_host_dead(&l->life) ? -ECANCELED : 0;

	if (!err)
		err = xiw_host_link_say(l, private_data, private_len, false);
	if (err)
		return err;
	pthread_mutex_lock(&xiw_host_lock);
	xiw_host_link_leave(l);
	pthread_mutex_unlock(&xiw_host_lock);
	/* With its data in TCP's hands, the Reply leaves whatever becomes of the process. */
	if (xiw_host_inside())
		xiw_engine_call(l->engine, &l->answer);
	else
		xiw_host_ask(l->engine, refuse, l);
	xiw_host_link_drop(l);
	return 0;
}
