// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * verbs_stop CALL HOW PORT COUNT [FILE]: a program of librdmacm that accepts COUNT connections of stop_peer HOW, and
 * ends them by CALL: error, disconnect, destroy-qp, destroy-id; exit; disconnect-_exit; reject, which leaves by _exit()
 * as well; posted-_exit, -quick, -signal, -exec and -child, which leave right behind the Sends that they post.
 * From then on nothing of its memory may change. With FILE it waits for that before the call.
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

#define MOST 256u
#define SENDS 10
#define SEND_LEN 1000
#define FAST_MS 300 /* a call, on the average, however busy the machine: it waits for no peer */

#define IS(cond)                                                                                   \
	do {                                                                                       \
		if (!(cond))                                                                       \
			die("%s:%d: not so: %s (errno %d)", __FILE__, __LINE__, #cond, errno);     \
	} while (0)

struct conn {
	struct rdma_cm_id *id;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	unsigned int posted, told;
};

static struct conn conns[MOST];
static uint8_t *memory[MOST];
static unsigned int nconns, established;
static struct rdma_event_channel *channel;
static const char *call_name;

static bool call_is(const char *name)
{
	return !strcmp(call_name, name);
}

static void post_buffer(struct conn *c)
{
	const unsigned int at = WATCHED / 2 + c->posted % BUFFERS * BUFFER;
	struct ibv_sge sge = { (uintptr_t)memory[c - conns] + at, BUFFER, c->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	IS(!ibv_post_recv(c->qp, &wr, &bad));
	c->posted++;
}

static void accept_one(struct rdma_cm_id *id)
{
	struct { uint64_t to; uint32_t stag, unused; } own = {};
	struct conn *c = &conns[nconns];
	struct ibv_qp_init_attr init = { .cap = { SENDS, BUFFERS, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC };
	struct rdma_conn_param param = { .private_data = &own, .private_data_len = sizeof(own) };

	c->id = id;
	memory[nconns++] = watched_new();
	IS(c->cq = init.send_cq = init.recv_cq = ibv_create_cq(id->verbs, 64, NULL, NULL, 0));
	IS(!rdma_create_qp(id, NULL, &init));
	c->qp = id->qp;
	IS(c->mr = ibv_reg_mr(id->pd, memory[nconns - 1], WATCHED,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				      IBV_ACCESS_REMOTE_READ));
	for (unsigned int i = 0; i < BUFFERS; i++)
		post_buffer(c);
	own.to = (uintptr_t)memory[nconns - 1];
	own.stag = c->mr->rkey;
	IS(!rdma_accept(id, &param));
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
		else
			established++;
	}
}

/* The completions that are there; `good`: nothing else may be. */
static void poll_one(struct conn *c, bool good, bool again)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(c->cq, 1, &wc) == 1) {
		IS(!good || wc.status == IBV_WC_SUCCESS);
		c->told++;
		if (again)
			post_buffer(c);
	}
}

/* Each peer has sent, and has written if it writes. */
static void await_traffic(bool writes)
{
	const unsigned int enough = writes ? 20 : 1;
	const uint64_t end = now_ms() + 20000;

	for (unsigned int i = 0; i < nconns; i++) {
		while (conns[i].told < enough) {
			for (unsigned int k = 0; k < nconns; k++)
				poll_one(&conns[k], true, writes);
			if (now_ms() > end)
				die("nothing comes");
		}
		if (writes)
			watched_await(memory[i]);
	}
}

static void post_sends(struct conn *c)
{
	static uint8_t text[SEND_LEN];
	struct ibv_mr *mr = ibv_reg_mr(c->id->pd, text, SEND_LEN, 0);

	IS(mr);
	for (unsigned int i = 0; i < SENDS; i++) {
		struct ibv_sge sge = { (uintptr_t)text, SEND_LEN, mr->lkey };
		struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND },
				   *bad;

		IS(!ibv_post_send(c->qp, &wr, &bad));
	}
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
	for (unsigned int i = 0; i < nconns; i++)
		post_sends(&conns[i]);
	execlp("true", "true", NULL);
}

static void leave(void)
{
	const char *how = strchr(call_name, '-');

	for (unsigned int i = 0; i < nconns; i++)
		post_sends(&conns[i]);
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
	for (unsigned int i = 0; i < nconns; i++)
		IS(!rdma_disconnect(conns[i].id));
	_exit(0);
}

static void carry_out(struct conn *c)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (strstr(call_name, "error"))
		IS(!ibv_modify_qp(c->qp, &attr, IBV_QP_STATE));
	else if (strstr(call_name, "disconnect"))
		IS(!rdma_disconnect(c->id));
	else if (call_is("destroy-qp"))
		rdma_destroy_qp(c->id);
	else if (call_is("destroy-id"))
		IS(!rdma_destroy_id(c->id));
	else
		die("no call %s", call_name);
}

static bool destroys(void)
{
	return !strncmp(call_name, "destroy", 7);
}

/* Every buffer is back at once, and what is posted now comes back as well. */
static void check_flushed(struct conn *c)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	poll_one(c, false, false);
	IS(c->told == c->posted);
	IS(!ibv_query_qp(c->qp, &attr, IBV_QP_STATE, &init) && attr.qp_state == IBV_QPS_ERR);
	post_buffer(c);
	for (uint64_t end = now_ms() + 20000; c->told != c->posted && now_ms() < end;)
		poll_one(c, false, false);
	IS(c->told == c->posted);
}

static void await_disconnected(double since)
{
	for (unsigned int i = 0; i < nconns; i++) {
		struct pollfd p = { .fd = channel->fd, .events = POLLIN };
		struct rdma_cm_event *e;

		if (poll(&p, 1, 60000) != 1)
			die("no DISCONNECTED");
		IS(!rdma_get_cm_event(channel, &e) && e->event == RDMA_CM_EVENT_DISCONNECTED);
		IS(!rdma_ack_cm_event(e));
	}
	printf("DISCONNECTED after %.1f s\n", now_s() - since);
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
	double since, took;
	unsigned int n;

	if (argc < 5 || (n = (unsigned int)atoi(argv[4])) > MOST)
		die("verbs_stop CALL HOW PORT COUNT [FILE]");
	call_name = argv[1];
	listen_at((uint16_t)atoi(argv[3]));
	accept_all(n);
	await_traffic(!strcmp(argv[2], "writes"));
	if (argc > 5)
		await_file(argv[5]);
	if (strstr(call_name, "exit") || !strncmp(call_name, "posted", 6))
		leave();
	since = now_s();
	for (unsigned int i = 0; i < n; i++)
		carry_out(&conns[i]);
	took = now_s() - since;
	printf("%u calls in %.2f ms\n", n, took * 1e3);
	for (unsigned int i = 0; i < n && !destroys(); i++)
		check_flushed(&conns[i]);
	watched_reuse(memory, n);
	watched_check(memory, n);
	if (!strncmp(call_name, "wait", 4))
		await_disconnected(since);
	for (unsigned int i = 0; i < n; i++)
		IS(!ibv_dereg_mr(conns[i].mr));
	watched_unmap(memory, n);
	if (took * 1e3 > n * FAST_MS)
		die("each call takes %.1f ms", took * 1e3 / n);
	return 0;
}
