// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Connections that end: by the death of a side, with work outstanding, before others, by both at once, often. */
#include "tests/net/programs/verbs_ends.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#define BUFFERS 8u
#define SENDS 16u

/* ---- one side is killed -------------------------------------------------------------------------- */

/*
 * It takes one Send, has no buffer for others, and dies. A Read of its memory cannot come back, either, which is behind
 * the Sends.
 */
static void dies(struct side *s)
{
	tell((uintptr_t)s->memory);
	tell(s->mr->rkey);
	completed(s->cq, 100, IBV_WC_SUCCESS);
	IS(told() == 1);
	raise(SIGKILL);
}

static void survives(struct side *s)
{
	uint64_t addr = told(), flushed = 0;
	uint32_t rkey = (uint32_t)told();
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	for (unsigned int i = 0; i < SENDS; i++)
		IS(!post(s, IBV_WR_SEND, i, 1024, IBV_SEND_SIGNALED));
	for (unsigned int i = 0; i < 4; i++)
		IS(!post_remote(s, IBV_WR_RDMA_READ, SENDS + i, addr, rkey));
	tell(1);
	IS(!take_event(s->channel, RDMA_CM_EVENT_DISCONNECTED));
	/* Each is complete when the event is there, in order; the Sends may have been given to TCP. */
	for (uint64_t next = 0, buffers = 100; next + buffers < SENDS + 4 + 100 + BUFFERS;) {
		struct ibv_wc wc;

		IS(ibv_poll_cq(s->cq, 1, &wc) == 1);
		IS(wc.wr_id == (wc.wr_id >= 100 ? buffers : next));
		IS(wc.qp_num == s->id->qp->qp_num);
		IS(wc.status == IBV_WC_WR_FLUSH_ERR || (wc.wr_id < SENDS && !flushed));
		flushed += wc.status != IBV_WC_SUCCESS && wc.wr_id < 100;
		next += wc.wr_id < 100;
		buffers += wc.wr_id >= 100;
	}
	IS(queue_is_empty(s->cq) && flushed >= 4);
	IS(!ibv_query_qp(s->id->qp, &attr, IBV_QP_STATE, &init) && attr.qp_state == IBV_QPS_ERR);
	/* What is posted now is flushed, too. */
	IS(!post(s, IBV_WR_SEND, 50, 16, 0));
	completed(s->cq, 50, IBV_WC_WR_FLUSH_ERR);
	post_buffers(s, 1);
	completed(s->cq, 100, IBV_WC_WR_FLUSH_ERR);
	IS(!readable(s->channel->fd, 0));
	free_side(s);
}

static void active_survives(void)
{
	struct side s = {};

	connect_side(&s);
	post_buffers(&s, BUFFERS);
	survives(&s);
}

static void passive_dies(void)
{
	struct side s = {};

	accept_side(&s, 1);
	dies(&s);
}

static void active_dies(void)
{
	struct side s = {};

	connect_side(&s);
	post_buffers(&s, 1);
	dies(&s);
}

static void passive_survives(void)
{
	struct side s = {};

	accept_side(&s, BUFFERS);
	survives(&s);
}

/* ---- queue pairs and identifiers, in each order -------------------------------------------------- */

static void waits_for_end(void)
{
	struct side s = {};

	accept_side(&s, 1);
	await_end(&s);
	free_side(&s);
}

static void destroys_qp(void)
{
	struct side s = {};

	connect_side(&s);
	post_buffers(&s, BUFFERS);
	for (unsigned int i = 0; i < SENDS; i++)
		IS(!post(&s, IBV_WR_SEND, i, 1024, IBV_SEND_SIGNALED));
	rdma_destroy_qp(s.id);
	IS(!s.id->qp);
	IS(queue_is_empty(s.cq));
	await_end(&s);
	free_side(&s);
}

/*
 * Who polls completions, and looks at events only when there are none, as libfabric's verbs provider does, sees the
 * last message before it hears that the peer has gone, and need not poll at all.
 */
#define LAST_MESSAGES 100

static void gets_last_messages(void)
{
	for (int i = 0; i <= LAST_MESSAGES; i++) {
		struct side s = {};
		struct ibv_wc wc;
		int got = 0;

		connect_side(&s);
		post_buffers(&s, 2);
		tell(1);
		while (i < LAST_MESSAGES) {
			int n = ibv_poll_cq(s.cq, 1, &wc);

			got += n && wc.status == IBV_WC_SUCCESS;
			if (!n && readable(s.channel->fd, 0))
				break;
		}
		await_end(&s);
		IS(got == 1 || i == LAST_MESSAGES);
		free_side(&s);
	}
}

static void sends_last_messages(void)
{
	for (int i = 0; i <= LAST_MESSAGES; i++) {
		struct side s = {};

		accept_side(&s, 0);
		IS(told() == 1);
		IS(!post(&s, IBV_WR_SEND, 1, 16, 0));
		IS(!rdma_disconnect(s.id));
		/* The next request may be behind it. */
		IS(!take_event(s.channel, RDMA_CM_EVENT_DISCONNECTED));
		free_side(&s);
	}
}

/* No event comes for an identifier that is gone, and the channel is the program's alone. */
static void destroys_id(void)
{
	struct side s = {};
	struct ibv_qp *qp;
	int fd;

	connect_side(&s);
	qp = s.id->qp;
	IS(!rdma_destroy_id(s.id));
	s.id = NULL;
	IS(!ibv_destroy_qp(qp));
	IS(!readable(s.channel->fd, 0));
	fd = s.channel->fd;
	rdma_destroy_event_channel(s.channel);
	IS(fcntl(fd, F_GETFD) < 0 && errno == EBADF);
	s.channel = NULL;
	free_side(&s);
}

/* Connects a queue pair that is not the identifier's own: parameters name its number. */
static struct ibv_qp *connect_by_number(struct side *s)
{
	struct rdma_conn_param param = {};
	struct ibv_qp *qp;

	resolve(s, peer_host, (uint16_t)atoi(peer_port));
	add_queues(s);
	qp = s->id->qp;
	s->id->qp = NULL;
	param.qp_num = qp->qp_num;
	IS(!rdma_connect(s->id, &param));
	IS(!take_event(s->channel, RDMA_CM_EVENT_ESTABLISHED));
	IS(rdma_get_src_port(s->id));
	return qp;
}

static void destroys_id_by_number(void)
{
	struct side s = {};
	struct ibv_qp *qp = connect_by_number(&s);

	IS(!rdma_destroy_id(s.id));
	s.id = NULL;
	meet(); /* the other side has got its event */
	IS(!readable(s.channel->fd, 0));
	IS(!ibv_destroy_qp(qp));
	IS(!readable(s.channel->fd, 0));
	free_side(&s);

	qp = connect_by_number(&s);
	IS(!rdma_disconnect(s.id));
	await_end(&s);
	IS(!ibv_destroy_qp(qp));
	free_side(&s);
}

static void waits_for_two_ends(void)
{
	struct side s = {};

	accept_side(&s, 1);
	await_end(&s);
	meet();
	free_side(&s);
	waits_for_end();
}

/* ---- another attempt ----------------------------------------------------------------------------- */

static enum ibv_qp_state state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	IS(!ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	return attr.qp_state;
}

/* An identifier of its own for each attempt, and one queue pair for all. */
static void attempt(struct side *s, struct ibv_qp *qp, int port, enum rdma_cm_event_type outcome)
{
	struct rdma_conn_param param = { .qp_num = qp->qp_num };

	s->id->qp = NULL;
	IS(!rdma_destroy_id(s->id));
	resolve(s, peer_host, (uint16_t)port);
	IS(!rdma_connect(s->id, &param));
	take_event(s->channel, outcome);
}

/* Nobody listens, then the program there says no: the queue pair stays as it is, with its buffer, until it is taken. */
static void connects_again(void)
{
	struct side s = {};
	struct ibv_qp *qp;

	resolve(&s, peer_host, (uint16_t)atoi(peer_port));
	add_queues(&s);
	qp = s.id->qp;
	post_buffers(&s, 1);
	for (int i = 0; i < 2; i++) {
		attempt(&s, qp, atoi(peer_port) + 2, RDMA_CM_EVENT_REJECTED);
		IS(state_of(qp) == IBV_QPS_INIT && queue_is_empty(s.cq));
	}
	attempt(&s, qp, atoi(peer_port), RDMA_CM_EVENT_REJECTED);
	IS(state_of(qp) == IBV_QPS_INIT && queue_is_empty(s.cq));
	attempt(&s, qp, atoi(peer_port), RDMA_CM_EVENT_ESTABLISHED);
	completed(s.cq, 100, IBV_WC_SUCCESS);
	await_end(&s);
	IS(state_of(qp) == IBV_QPS_ERR && !ibv_destroy_qp(qp));
	free_side(&s);
}

/* librdmacm puts the identifier's own one into the error state. */
static void errs_when_refused(void)
{
	struct rdma_conn_param param = {};
	struct side s = {};

	resolve(&s, peer_host, (uint16_t)(atoi(peer_port) + 2));
	add_queues(&s);
	post_buffers(&s, 1);
	IS(!rdma_connect(s.id, &param));
	take_event(s.channel, RDMA_CM_EVENT_REJECTED);
	IS(state_of(s.id->qp) == IBV_QPS_ERR);
	completed(s.cq, 100, IBV_WC_WR_FLUSH_ERR);
	free_side(&s);
}

static void active_connects_again(void)
{
	connects_again();
	errs_when_refused();
}

static void refuses_once(void)
{
	struct side s = {};

	get_request(&s);
	IS(!rdma_reject(s.id, NULL, 0));
	free_side(&s);
	accept_side(&s, 1);
	IS(!post(&s, IBV_WR_SEND, 1, 16, 0));
	IS(!rdma_disconnect(s.id));
	await_end(&s);
	free_side(&s);
}

/* ---- disconnection ------------------------------------------------------------------------------- */

static void both_disconnect(struct side *s)
{
	meet();
	IS(!rdma_disconnect(s->id));
	await_end(s);
	/* Once more is no error and no event. */
	IS(!rdma_disconnect(s->id));
	meet();
	IS(!readable(s->channel->fd, 0));
	completed(s->cq, 100, IBV_WC_WR_FLUSH_ERR);
	free_side(s);
}

static void active_disconnects(void)
{
	struct side s = {};

	connect_side(&s);
	post_buffers(&s, 1);
	both_disconnect(&s);
}

static void passive_disconnects(void)
{
	struct side s = {};

	accept_side(&s, 1);
	both_disconnect(&s);
}

static void disconnects_twice(void)
{
	struct side s = {};

	connect_side(&s);
	IS(!rdma_disconnect(s.id) && !rdma_disconnect(s.id));
	await_end(&s);
	free_side(&s);
	/* There is nothing to be disconnected. */
	resolve(&s, peer_host, (uint16_t)atoi(peer_port));
	add_queues(&s);
	IS(rdma_disconnect(s.id) == -1 && errno == EINVAL);
	free_side(&s);
}

/* ---- a thousand ---------------------------------------------------------------------------------- */

#define MANY 1000
#define WARM 50 /* connections after which a process has what it needs */

static long entries(const char *path)
{
	DIR *dir = opendir(path);
	long n = 0;

	IS(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static long resident(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long all, pages;

	IS(f && fscanf(f, "%ld %ld", &all, &pages) == 2);
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

static void many(void (*once)(void))
{
	long fds = 0, threads = 0, octets = 0;

	for (int i = 0; i < MANY; i++) {
		if (i == WARM) {
			fds = entries("/proc/self/fd");
			threads = entries("/proc/self/task");
			octets = resident();
		}
		once();
	}
	IS(entries("/proc/self/task") == threads);
	/* The engine closes sockets when the kernel has given them back. */
	for (int i = 0; entries("/proc/self/fd") > fds && i < WAIT_MS / 10; i++)
		usleep(10000);
	IS(entries("/proc/self/fd") <= fds);
	if (resident() > octets + (4 << 20))
		die("%ld KiB more than at the start", (resident() - octets) >> 10);
}

static void connects_once(void)
{
	struct side s = {};

	connect_side(&s);
	IS(!rdma_disconnect(s.id));
	await_end(&s);
	free_side(&s);
}

static void accepts_once(void)
{
	struct side s = {};

	accept_side(&s, 1);
	IS(!take_event(s.channel, RDMA_CM_EVENT_DISCONNECTED));
	free_side(&s);
}

/* Identifiers that are gone before their queue pairs leave nothing, either. */
static void connects_and_leaves(void)
{
	struct side s = {};
	struct ibv_qp *qp;

	connect_side(&s);
	qp = s.id->qp;
	IS(!rdma_destroy_id(s.id) && !ibv_destroy_qp(qp));
	s.id = NULL;
	free_side(&s);
	meet();
}

static void many_active(void)
{
	many(connects_once);
	meet();
	many(connects_and_leaves);
	meet();
}

/* The end of a connection may come behind the request for the next one, as nobody waits for it. */
static void accepts_and_meets(void)
{
	accepts_once();
	meet();
}

static void many_passive(void)
{
	many(accepts_once);
	meet();
	many(accepts_and_meets);
	meet();
}

const struct verbs_case cases_of_ends[] = {
	{ "passive-killed", active_survives, passive_dies },
	{ "active-killed", active_dies, passive_survives },
	{ "qp-destroyed", destroys_qp, waits_for_end },
	{ "last-message", gets_last_messages, sends_last_messages },
	{ "id-destroyed-first", destroys_id, waits_for_end },
	{ "qp-by-number", destroys_id_by_number, waits_for_two_ends },
	{ "connect-again", active_connects_again, refuses_once },
	{ "both-disconnect", active_disconnects, passive_disconnects },
	{ "disconnect-twice", disconnects_twice, waits_for_end },
	{ "thousand", many_active, many_passive },
	{},
};
