// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * verbs_stop CALL HOW PORT COUNT [FILE]: a program of librdmacm that accepts COUNT connections of stop_peer HOW, and
 * ends them by CALL: error, disconnect, destroy-qp, destroy-id; exit; disconnect-_exit; reject, which leaves by _exit()
 * as well; posted-_exit, -quick, -signal, -exec and -child, which leave right behind the Sends that they post.
 * From then on nothing of its memory may change. With FILE it waits for that before the call.
 *
 * CALL early: posts Sends and disconnects behind rdma_accept(), and checks that the Sends leave and nothing comes.
 * early-error, early-destroy-qp and early-destroy-id: makes that call behind it, and waits for what the peer does then.
 *
 * CALL wait-error or wait-disconnect: waits for DISCONNECTED, and says after how many seconds it came.
 */
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/net/lib/common.h"
#include "tests/net/stop/watched.h"

#define SENDS 10
#define SEND_LEN 1000
#define AFTER_EARLY_S 1 /* the peer says meanwhile that it is ready */

static struct {
	struct rdma_cm_id *id;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
} conns[MOST];

static unsigned int established;
static struct rdma_event_channel *channel;
static const char *call_name;

static bool call_is(const char *name)
{
	return !strcmp(call_name, name);
}

static void post_buffer(unsigned int i)
{
	struct ibv_sge sge = { (uintptr_t)watched_buffer(i), BUFFER, conns[i].mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	IS(!ibv_post_recv(conns[i].qp, &wr, &bad));
}

/* To `n` connections, from one on. */
static void post_sends(unsigned int first, unsigned int n)
{
	static uint8_t text[SEND_LEN];

	for (unsigned int k = first * SENDS; k < (first + n) * SENDS; k++) {
		struct rdma_cm_id *id = conns[k / SENDS].id;
		static struct ibv_mr *mr;
		struct ibv_sge sge = { (uintptr_t)text, SEND_LEN, 0 };
		struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND },
				   *bad;

		if (!mr)
			IS(mr = ibv_reg_mr(id->pd, text, SEND_LEN, 0));
		sge.lkey = mr->lkey;
		IS(!ibv_post_send(id->qp, &wr, &bad));
	}
}

static void carry_out(unsigned int i)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (strstr(call_name, "error"))
		IS(!ibv_modify_qp(conns[i].qp, &attr, IBV_QP_STATE));
	else if (strstr(call_name, "disconnect"))
		IS(!rdma_disconnect(conns[i].id));
	else if (strstr(call_name, "destroy-qp"))
		rdma_destroy_qp(conns[i].id);
	else if (strstr(call_name, "destroy-id"))
		IS(!rdma_destroy_id(conns[i].id));
	else
		die("no call %s", call_name);
}

/* Polls all completions, and counts those of what was not done. */
static unsigned int flushed(unsigned int i)
{
	struct ibv_wc wc;
	unsigned int n = 0;

	while (ibv_poll_cq(conns[i].cq, 1, &wc) == 1)
		n += wc.status == IBV_WC_WR_FLUSH_ERR;
	return n;
}

static void accept_one(struct rdma_cm_id *id)
{
	const unsigned int i = watched_new();
	struct param own = { .to = (uintptr_t)watched[i].octets };
	struct ibv_qp_init_attr init = { .cap = { SENDS, BUFFERS, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC };
	struct rdma_conn_param param = { .private_data = &own, .private_data_len = sizeof(own) };

	conns[i].id = id;
	IS(conns[i].cq = init.send_cq = init.recv_cq = ibv_create_cq(id->verbs, 64, NULL, NULL, 0));
	IS(!rdma_create_qp(id, NULL, &init));
	conns[i].qp = id->qp;
	IS(conns[i].mr = ibv_reg_mr(id->pd, watched[i].octets, WATCHED,
				    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					    IBV_ACCESS_REMOTE_READ));
	for (unsigned int n = 0; n < BUFFERS; n++)
		post_buffer(i);
	own.stag = conns[i].mr->rkey;
	IS(!rdma_accept(id, &param));
	if (strncmp(call_name, "early", 5))
		return;
	post_sends(i, 1);
	IS(!rdma_disconnect(id));
	if (call_is("early"))
		return;
	carry_out(i);
	/* The Sends, too: what is posted behind a disconnect that waits ends with it. */
	IS(!call_is("early-error") || flushed(i) == watched[i].posted + SENDS);
	sleep(AFTER_EARLY_S);
	exit(0);
}

static void accept_all(unsigned int count)
{
	while (established < count) {
		struct rdma_cm_event *e;
		struct rdma_cm_id *id;
		enum rdma_cm_event_type type;

		IS(!rdma_get_cm_event(channel, &e));
		type = e->event;
		id = e->id;
		IS(!rdma_ack_cm_event(e));
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST && call_is("reject")) {
			IS(!rdma_reject(id, "no, thanks", 10));
			_exit(0);
		}
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
			accept_one(id);
		else if (type == RDMA_CM_EVENT_ESTABLISHED)
			established++;
		else
			die("%s", rdma_event_str(type));
	}
}

/* The completions that are there; `good`: nothing else may be. */
static void poll_all(unsigned int i, bool good, bool again)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(conns[i].cq, 1, &wc) == 1) {
		IS(!good || wc.status == IBV_WC_SUCCESS);
		watched[i].told++;
		if (again)
			post_buffer(i);
	}
}

static void take(unsigned int i, bool again)
{
	poll_all(i, true, again);
}

static void leave_at_once(int signal)
{
	(void)signal;
	_exit(0);
}

/* There is no such program at first: the process is the same as before. */
static void become_another(void)
{
	char *const argv[] = { "true", NULL };

	IS(execv("/nowhere/true", argv) && errno == ENOENT);
	post_sends(0, nwatched);
	execlp("true", "true", NULL);
}

static void leave(void)
{
	const char *how = strchr(call_name, '-');

	post_sends(0, nwatched);
	if (call_is("exit"))
		exit(0);
	if (call_is("posted-_exit"))
		_exit(0);
	if (call_is("posted-quick"))
		quick_exit(0);
	if (call_is("posted-exec"))
		become_another();
	if (call_is("posted-signal")) {
		signal(SIGUSR1, leave_at_once);
		raise(SIGUSR1);
	}
	if (call_is("posted-child")) {
		if (!vfork())
			_exit(0);
		_exit(0);
	}
	IS(how && !strcmp(how, "-_exit"));
	for (unsigned int i = 0; i < nwatched; i++)
		IS(!rdma_disconnect(conns[i].id));
	_exit(0);
}

static bool destroys(void)
{
	return !strncmp(call_name, "destroy", 7);
}

/* Every buffer is back at once, and what is posted now comes back as well. */
static void check_flushed(unsigned int i)
{
	const struct watched *w = &watched[i];
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	poll_all(i, false, false);
	IS(w->told == w->posted);
	IS(!ibv_query_qp(conns[i].qp, &attr, IBV_QP_STATE, &init) && attr.qp_state == IBV_QPS_ERR);
	post_buffer(i);
	for (uint64_t end = now_ms() + 20000; w->told != w->posted && now_ms() < end;)
		poll_all(i, false, false);
	IS(w->told == w->posted);
}

static void await_disconnected(double since)
{
	for (unsigned int i = 0; i < nwatched; i++) {
		struct pollfd p = { .fd = channel->fd, .events = POLLIN };
		struct rdma_cm_event *e;

		if (poll(&p, 1, 60000) != 1)
			die("no DISCONNECTED");
		IS(!rdma_get_cm_event(channel, &e) && e->event == RDMA_CM_EVENT_DISCONNECTED);
		IS(!rdma_ack_cm_event(e));
	}
	printf("DISCONNECTED after %.1f s\n", now_s() - since);
}

/* All Sends have left, no buffer was filled, and no octet was written. */
static void check_early(unsigned int i)
{
	IS(flushed(i) == watched[i].posted);
	for (unsigned int k = 0; k < WATCHED; k++)
		IS(!watched[i].octets[k]);
}

static void listen_at(uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct rdma_cm_id *id;

	IS(channel = rdma_create_event_channel());
	IS(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	IS(!rdma_bind_addr(id, (struct sockaddr *)&at) && !rdma_listen(id, MOST));
}

int main(int argc, char **argv)
{
	unsigned int n;
	double since;

	if (argc < 5 || (n = (unsigned int)atoi(argv[4])) > MOST)
		die("verbs_stop CALL HOW PORT COUNT [FILE]");
	call_name = argv[1];
	listen_at((uint16_t)atoi(argv[3]));
	accept_all(n);
	if (call_is("early")) {
		await_disconnected(now_s());
		for (unsigned int i = 0; i < n; i++)
			check_early(i);
		return 0;
	}
	watched_await_traffic(!strcmp(argv[2], "writes"), take);
	if (argc > 5)
		await_file(argv[5]);
	if (strstr(call_name, "exit") || !strncmp(call_name, "posted", 6))
		leave();
	since = now_s();
	watched_end_all(carry_out);
	for (unsigned int i = 0; i < n && !destroys(); i++)
		check_flushed(i);
	watched_check();
	if (!strncmp(call_name, "wait", 4))
		await_disconnected(since);
	for (unsigned int i = 0; i < n; i++)
		IS(!ibv_dereg_mr(conns[i].mr));
	watched_unmap();
	return 0;
}
