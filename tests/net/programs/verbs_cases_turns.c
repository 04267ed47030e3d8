// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who takes the frames: a thread that polls does so itself, and the engine's thread does when that one sleeps. */
#include "tests/net/programs/verbs_ends.h"

#include <pthread.h>
#include <unistd.h>

#define NAPS 400

struct writer {
	struct side *s;
	uint64_t addr;
	uint32_t rkey;
	_Atomic bool stop;
};

static void write_octets(const struct writer *w)
{
	struct ibv_sge sge = sge_of(w->s, 0, 64);
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .wr.rdma = { w->addr, w->rkey } },
			   *bad;
	int rc = ibv_post_send(w->s->id->qp, &wr, &bad);

	IS(!rc || rc == ENOMEM); /* so many are under way */
}

static void *keeps_writing(void *arg)
{
	struct writer *w = arg;

	while (!w->stop) {
		write_octets(w);
		usleep(150);
	}
	return NULL;
}

static void exchange_keys(struct writer *w)
{
	tell((uintptr_t)w->s->memory);
	tell(w->s->mr->rkey);
	w->addr = told();
	w->rkey = (uint32_t)told();
}

/*
 * A thread that polls in vain takes frames in the place of the engine's thread, which must have them again when the
 * program sleeps: so soon, or when it has slept already. Else the message does not come.
 */
static void polls_and_sleeps(struct side *s, unsigned int i)
{
	const uint64_t until = now_ms() + (i % 8 == 7 ? 5 : 0);
	struct ibv_cq *cq;
	void *context;

	post_buffers(s, 1);
	IS(!ibv_req_notify_cq(s->cq, 0));
	tell(i);
	for (unsigned int n = 0; n < i % 40 || now_ms() < until; n++) {
		IS(queue_is_empty(s->cq));
		if (i % 4 == 1) /* the others poll without a pause */
			usleep(10);
	}
	tell(i);
	IS(readable(s->told->fd, WAIT_MS) && !ibv_get_cq_event(s->told, &cq, &context));
	ibv_ack_cq_events(cq, 1);
	completed(s->cq, 100, IBV_WC_SUCCESS);
}

static void naps(void)
{
	struct side s = {};
	struct writer w = { .s = &s };
	pthread_t thread;

	connect_side(&s);
	exchange_keys(&w);
	IS(!pthread_create(&thread, NULL, keeps_writing, &w));
	for (unsigned int i = 0; i < NAPS; i++)
		polls_and_sleeps(&s, i);
	w.stop = true;
	IS(!pthread_join(thread, NULL));
	IS(!rdma_disconnect(s.id));
	await_end(&s);
	free_side(&s);
}

static void wakes_up(void)
{
	struct side s = {};
	struct writer w = { .s = &s };

	accept_side(&s, 0);
	exchange_keys(&w);
	for (unsigned int i = 0; i < NAPS; i++) {
		IS(told() == i);
		for (unsigned int n = 0; n < 12; n++) {
			write_octets(&w);
			usleep(n * 10);
		}
		IS(told() == i);
		usleep(i % 5 * 500);
		IS(!post(&s, IBV_WR_SEND, i, 16, IBV_SEND_SIGNALED));
		completed(s.cq, i, IBV_WC_SUCCESS);
	}
	await_end(&s);
	free_side(&s);
}

const struct verbs_case cases_of_turns[] = {
	{ "poll-and-sleep", naps, wakes_up },
	{},
};
