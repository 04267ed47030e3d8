// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A side has too few buffers for the Sends that have come, and the other one ends the connection behind them. */
#include "tests/net/programs/verbs_ends.h"

#include <signal.h>
#include <unistd.h>

#define SENDS 16u
#define SOON_MS                                                                                    \
	8000 /* before the other side gives up a close that does not move, and long before a hold is over */

/* TCP has all Sends, and the program knows. */
static void send_all(struct side *s)
{
	connect_side(s);
	post_buffers(s, 1);
	for (unsigned int i = 0; i < SENDS; i++)
		IS(!post(s, IBV_WR_SEND, i, 1024, IBV_SEND_SIGNALED));
	for (unsigned int i = 0; i < SENDS; i++)
		completed(s->cq, i, IBV_WC_SUCCESS);
}

static void ends(bool destroys)
{
	struct side s = {};

	send_all(&s);
	if (destroys)
		rdma_destroy_qp(s.id);
	else
		IS(!rdma_disconnect(s.id));
	tell(1);
	IS(told() == 1);
	await_end(&s);
	free_side(&s);
}

static void destroys_qp(void)
{
	ends(true);
}

static void disconnects(void)
{
	ends(false);
}

static void exits(void)
{
	struct side s = {};

	send_all(&s);
	tell(1);
	exit(0);
}

static void is_killed(void)
{
	struct side s = {};

	send_all(&s);
	tell(1);
	raise(SIGKILL);
}

/* What had a buffer is there when it hears of the end, and what is posted later comes back. */
static void hears_soon(void)
{
	struct side s = {};
	uint64_t begin;

	accept_side(&s, 1);
	IS(told() == 1);
	begin = now_ms();
	IS(readable(s.channel->fd, SOON_MS));
	IS(!take_event(s.channel, RDMA_CM_EVENT_DISCONNECTED));
	IS(now_ms() - begin < SOON_MS);
	completed(s.cq, 100, IBV_WC_SUCCESS);
	IS(queue_is_empty(s.cq));
	post_buffers(&s, 1);
	completed(s.cq, 100, IBV_WC_WR_FLUSH_ERR);
	free_side(&s);
}

static void hears_soon_and_says(void)
{
	hears_soon();
	tell(1);
}

/* Buffers come when the other side has ended: nothing of what it was told to be sent is lost. */
static void gets_all(void)
{
	struct side s = {};

	accept_side(&s, 1);
	IS(told() == 1);
	completed(s.cq, 100, IBV_WC_SUCCESS);
	for (unsigned int i = 1; i < SENDS; i++) {
		post_buffers(&s, 1);
		completed(s.cq, 100, IBV_WC_SUCCESS);
	}
	post_buffers(&s, 1);
	await_end(&s);
	completed(s.cq, 100, IBV_WC_WR_FLUSH_ERR);
	tell(1);
	free_side(&s);
}

/* ---- what is behind that which has failed -------------------------------------------------------- */

/* The peer answers no Read, as it is stopped. TCP has taken the Writes behind the Read. */
static void fails_in_order(void)
{
	const struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct side s = {};
	uint64_t addr, key;
	pid_t peer;

	connect_side(&s);
	addr = told();
	key = told();
	peer = (pid_t)told();
	IS(peer > 1 && !kill(peer, SIGSTOP));
	usleep(20000);
	IS(!post_remote(&s, IBV_WR_RDMA_READ, 0, addr, (uint32_t)key));
	for (uint64_t i = 1; i < 5; i++)
		IS(!post_remote(&s, IBV_WR_RDMA_WRITE, i, addr, (uint32_t)key));
	usleep(100000);
	IS(!ibv_modify_qp(s.id->qp, (struct ibv_qp_attr *)&error, IBV_QP_STATE));
	for (uint64_t i = 0; i < 5; i++)
		completed(s.cq, i, IBV_WC_WR_FLUSH_ERR);
	IS(!kill(peer, SIGCONT));
	await_end(&s);
	free_side(&s);
	meet();
}

static void is_stopped(void)
{
	struct side s = {};

	accept_side(&s, 0);
	tell((uintptr_t)s.memory);
	tell(s.mr->rkey);
	tell((uint64_t)getpid());
	await_end(&s);
	free_side(&s);
	meet();
}

const struct verbs_case cases_of_holds[] = {
	{ "held-qp-destroyed", destroys_qp, hears_soon_and_says },
	{ "held-disconnected", disconnects, hears_soon_and_says },
	{ "held-exited", exits, hears_soon },
	{ "held-active-killed", is_killed, hears_soon },
	{ "held-buffers-come", destroys_qp, gets_all },
	{ "held-buffers-come-disconnected", disconnects, gets_all },
	{ "fails-in-order", fails_in_order, is_stopped },
	{},
};
