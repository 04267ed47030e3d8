// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The server of `xiwarp perf`: it does what each connection's Request asks for, within bounds. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "exit.h"
#include "perf.h"
#include "receiver.h"
#include "report.h"
#include "quota.h"
#include "signals.h"
#include "telling.h"
#include "text.h"
#include "worker.h"

/* How often idle clients are looked for, and what a client's connection has to bring within --idle. */
#define LOOK_NS 250000000ull
#define LEAST 4096u
/* So much memory is written to at a time: some milliseconds. */
#define STEP (4u << 20)

struct perf_server {
	struct xiw_receiver receiver;
	struct xiw_quota *memory; /* for all clients; the threads share it */
	struct xiw_worker worker;
	uint64_t looked_ns;
};

struct perf_peer {
	struct xiw_peer peer;
	struct xiw_perf_stream stream;
	struct xiw_holding holding; /* its memory */
	struct xiw_job fill;
	atomic_bool filled;
	bool accepted;
	struct xiw_activity activity;
	enum xiw_perf_state seen;
};

static struct perf_peer *perf_of(struct xiw_peer *peer)
{
	return (struct perf_peer *)peer;
}

static struct perf_server *server_of(const struct perf_peer *p)
{
	return (struct perf_server *)p->peer.receiver;
}

/* ---- startup ------------------------------------------------------------------------------------- */

static bool take_memory(struct perf_peer *p)
{
	struct xiw_conn_info info;

	xiw_conn_info(p->peer.conn, &info, sizeof(info));
	return xiw_quota_take(server_of(p)->memory, &p->holding, &info.remote,
			      xiw_perf_memory(&p->stream.params, true), false);
}

static unsigned int thread_of(const struct xiw_receiver *r)
{
	unsigned int i = 0;

	while (i < xiw_group_engines(r->all->group) &&
	       xiw_group_engine(r->all->group, i) != r->engine)
		i++;
	return i;
}

/* Tells the client why, who shows that to its user. */
static int refuse(struct perf_peer *p, const char *why)
{
	if (xiw_may_tell())
		xiw_fail(0, "%s: refused: %s", p->peer.name, why);
	snprintf(p->stream.why, sizeof(p->stream.why), "refused: %s", why);
	p->stream.code = XIW_EXIT_PEER;
	p->stream.state = XIW_PERF_CLOSING;
	return xiw_conn_reject(p->peer.conn, why, strlen(why));
}

/* In the worker's thread, as a GiB takes longer than other clients should wait. */
static bool fill_step(struct xiw_job *job)
{
	struct perf_peer *p = job->owner;
	const bool more = xiw_perf_fill(&p->stream, STEP);

	if (!more)
		atomic_store(&p->filled, true);
	return more;
}

static int prepare_client(struct perf_peer *p)
{
	struct xiw_perf_stream *s = &p->stream;
	int err = xiw_conn_set_queues(s->conn, xiw_perf_recv_depth(&s->params),
				      xiw_perf_send_depth(&s->params), 0);

	if (!err)
		err = xiw_perf_stream_open(s, p->peer.receiver->engine);
	if (err)
		return err;
	p->fill = (struct xiw_job){ .step = fill_step, .owner = p };
	xiw_worker_add(&server_of(p)->worker, &p->fill);
	return 0;
}

static void accept_client(struct perf_peer *p)
{
	const struct xiw_perf_stream *s = &p->stream;
	uint8_t grant[XIW_PERF_GRANT_LEN];

	p->accepted = true;
	xiw_perf_put_grant(s->region ? xiw_region_stag(s->region) : 0, grant);
	/* If the connection has ended already, XIW_EV_CLOSED is on its way. */
	xiw_conn_accept(s->conn, grant, sizeof(grant));
}

static int on_request(struct xiw_peer *peer)
{
	struct perf_peer *p = perf_of(peer);
	struct xiw_perf_stream *s = &p->stream;
	const char *why;
	size_t len;
	const void *data = xiw_conn_private_data(peer->conn, &len);

	s->conn = peer->conn;
	s->server = true;
	s->thread = thread_of(peer->receiver);
	s->spins = peer->receiver->args->perf.spin;
	s->threads = xiw_group_engines(peer->receiver->all->group);
	why = xiw_perf_get_request(data, len, &s->params);
	if (!why && !take_memory(p))
		why = "that is more than this client may have of what the server has left for "
		      "clients (its option --memory)";
	if (why)
		return refuse(p, why);
	xiw_activity_note(&p->activity, 0, xiw_now_ns());
	s->peer_stag = s->params.stag;
	return prepare_client(p);
}

/* ---- reports ------------------------------------------------------------------------------------- */

static void report_json(const struct perf_peer *p, const struct xiw_conn_info *i,
			const struct xiw_rdma_info *r)
{
	struct json_object *o = json_object_new_object();

	xiw_json_str(o, "role", "server");
	xiw_json_str(o, "peer", p->peer.name);
	xiw_json_str(o, "op", xiw_perf_op_name(p->stream.params.op));
	xiw_json_bool(o, "latency", p->stream.params.latency);
	xiw_json_octets(o, i->octets_direct, i->octets_kernel);
	xiw_json_u64(o, "octets_sent", i->octets_sent);
	xiw_json_u64(o, "sends_in", r->sends_in);
	xiw_json_u64(o, "writes_in", r->writes_in);
	xiw_json_u64(o, "reads_in", r->reads_in);
	xiw_json_direct(o, i);
	xiw_json_hand_offs(o, i);
	xiw_json_u64(o, "thread", p->stream.thread);
	xiw_json_str(o, "error", p->stream.why);
	xiw_json_print(o);
}

static void report_text(const struct perf_peer *p, const struct xiw_conn_info *i)
{
	char octets[32], sent[32], why[128];

	if (*p->stream.why && !xiw_may_tell())
		return;
	printf("client %s: %s%s, received %s, %.2f %% direct, sent %s%s\n", p->peer.name,
	       xiw_perf_op_name(p->stream.params.op), p->stream.params.latency ? " latency" : "",
	       xiw_octets(i->octets_direct + i->octets_kernel, octets),
	       100 * xiw_share(i->octets_direct, i->octets_kernel),
	       xiw_octets(i->octets_sent, sent), xiw_no_direct_text(i, why));
	fflush(stdout);
	if (*p->stream.why)
		xiw_fail(0, "%s: %s", p->peer.name, p->stream.why);
}

static void on_ended(struct xiw_peer *peer, bool stopped)
{
	struct perf_peer *p = perf_of(peer);
	struct xiw_rdma_info rdma = {};
	struct xiw_conn_info info;

	(void)stopped;
	xiw_receiver_fail(peer->receiver, p->stream.code);
	if (!p->stream.rdma) /* it was refused, which has been said */
		return;
	xiw_conn_info(peer->conn, &info, sizeof(info));
	xiw_rdma_info(p->stream.rdma, &rdma, sizeof(rdma));
	if (peer->receiver->args->json)
		report_json(p, &info, &rdma);
	else
		report_text(p, &info);
}

static void on_completion(struct xiw_peer *peer, const struct xiw_completion *c)
{
	if (perf_of(peer)->stream.rdma)
		xiw_perf_completion(&perf_of(peer)->stream, c);
}

static void release(struct xiw_peer *peer)
{
	struct perf_peer *p = perf_of(peer);

	if (p->fill.step)
		xiw_worker_drop(&server_of(p)->worker, &p->fill);
	xiw_perf_stream_free(&p->stream);
	xiw_quota_give(server_of(p)->memory, &p->holding);
}

/* ---- turns --------------------------------------------------------------------------------------- */

/* Ends a client that holds memory and brings too little for it, also if it trickles; a step of a run counts as well. */
static void end_idle(struct perf_peer *p, uint64_t now, uint32_t idle)
{
	struct xiw_conn_info info;
	uint64_t octets;

	xiw_conn_info(p->peer.conn, &info, sizeof(info));
	octets = info.octets_direct + info.octets_kernel;
	if (p->stream.state != p->seen)
		xiw_activity_note(&p->activity, octets, now);
	p->seen = p->stream.state;
	if (p->stream.state >= XIW_PERF_CLOSING ||
	    !xiw_activity_idle(&p->activity, octets, now, LEAST, idle))
		return;
	p->stream.code = XIW_EXIT_PEER;
	snprintf(p->stream.why, sizeof(p->stream.why), "sent too little for too long (--idle)");
	p->stream.state = XIW_PERF_CLOSING;
	xiw_conn_abort(p->peer.conn);
}

static void after_turn(struct xiw_receiver *r)
{
	struct perf_server *s = (struct perf_server *)r;
	const uint64_t now = xiw_now_ns();
	const bool look = now - s->looked_ns >= LOOK_NS;

	for (struct xiw_peer *peer = r->peers; peer; peer = peer->next) {
		struct perf_peer *p = perf_of(peer);

		if (!p->accepted && atomic_load(&p->filled))
			accept_client(p);
		if (look)
			end_idle(p, now, r->args->perf.idle);
	}
	if (look)
		s->looked_ns = now;
}

static int begin(struct xiw_receiver *r)
{
	return xiw_worker_begin(&((struct perf_server *)r)->worker, r->engine);
}

static void finish(struct xiw_receiver *r)
{
	xiw_worker_stop(&((struct perf_server *)r)->worker);
}

static const struct xiw_receiver_ops ops = {
	.receiver_size = sizeof(struct perf_server),
	.peer_size = sizeof(struct perf_peer),
	.request = on_request,
	.completion = on_completion,
	.ended = on_ended,
	.release = release,
	.after = after_turn,
	.begin = begin,
	.finish = finish,
};

int xiw_perf_server(const struct xiw_args *args)
{
	struct xiw_conn_opts opts = {
		.size = sizeof(opts),
		.no_crc = args->mpa.crc_off,
		.hold_ms = XIW_PERF_HOLD_MS,
	};
	struct xiw_quota memory = { .lock = PTHREAD_MUTEX_INITIALIZER, .limit = args->perf.memory };
	struct perf_server s = { .memory = &memory,
				 .receiver = { .args = args,
					       .ops = &ops,
					       .listen = args->receiver.listen,
					       .once = args->perf.once } };
	struct xiw_receiver *r = &s.receiver;
	char name[80];
	int code = xiw_receiver_open(r, &opts);

	if (code)
		return code;
	for (unsigned int i = 0; i < xiw_group_engines(r->all->group); i++)
		xiw_engine_set_spin(xiw_group_engine(r->all->group, i), args->perf.spin);
	fprintf(stderr, "xiwarp: perf server on %s\n", xiw_receiver_addr(r, name));
	code = xiw_receiver_run(r);
	xiw_receiver_close(r);
	return code;
}
