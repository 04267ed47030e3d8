// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who takes the frames: a thread that polls or waits for an event does so itself, and the engine's thread does when
 * that one is elsewhere.
 */
#include "tests/net/programs/verbs_ends.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define NAPS 400
#define TRIPS 500u

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

/* ---- waiting --------------------------------------------------------------------------------------- */

static bool line_of(const char *tid, const char *file, const char *format, void *to)
{
	char path[64], line[128];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%.16s/%s", tid, file);
	f = fopen(path, "r");
	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, format, to) == 1;
	if (f)
		fclose(f);
	return found;
}

/* How often the engine's thread has gone to sleep. */
static unsigned long engine_sleeps(void)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned long n = 0;
	unsigned int number;
	bool found = false;

	IS(tasks);
	for (struct dirent *d; !found && (d = readdir(tasks));)
		found = line_of(d->d_name, "comm", "xiwarp/%u", &number) &&
			line_of(d->d_name, "status", "voluntary_ctxt_switches: %lu", &n);
	closedir(tasks);
	IS(found);
	return n;
}

/* Sleeps until the next message is there. */
static void wait_message(struct side *s)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	while (true) {
		IS(!ibv_req_notify_cq(s->cq, 0));
		if (ibv_poll_cq(s->cq, 1, &wc) == 1)
			break;
		IS(!ibv_get_cq_event(s->told, &cq, &context) && cq == s->cq && context == s);
		ibv_ack_cq_events(cq, 1);
	}
	IS(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV);
	post_buffers(s, 1);
}

/* Nobody looks, and yet what the peer writes is there. */
static void does_without(struct side *s)
{
	const uint64_t until = now_ms() + WAIT_MS;
	_Atomic uint8_t *octet = (_Atomic uint8_t *)s->memory;

	while (*octet != 0xa5) {
		IS(now_ms() < until);
		usleep(100);
	}
	*octet = 0;
}

/*
 * On the direct path the thread that waits is the only one that wakes up for a message, if these come fast enough,
 * which is up to the machine.
 */
static void answers(void)
{
	const char *path = getenv("XIWARP_PATH");
	const bool direct = path && !strcmp(path, "direct");
	const uint64_t until = now_ms() + WAIT_MS;
	struct side s = {};
	struct writer w = { .s = &s };
	bool alone = !direct, last = false;

	accept_side(&s, 1);
	exchange_keys(&w);
	while (!last) {
		const unsigned long before = engine_sleeps();

		for (unsigned int i = 0; i < TRIPS; i++) {
			wait_message(&s);
			IS(!post(&s, IBV_WR_SEND, i, 16, 0));
		}
		alone |= engine_sleeps() - before < TRIPS / 4;
		does_without(&s);
		last = alone || now_ms() > until;
		tell(last);
	}
	IS(alone);
	await_end(&s);
	free_side(&s);
}

static void asks(void)
{
	struct side s = {};
	struct writer w = { .s = &s };

	connect_side(&s);
	post_buffers(&s, 1);
	exchange_keys(&w);
	do {
		for (unsigned int i = 0; i < TRIPS; i++) {
			IS(!post(&s, IBV_WR_SEND, i, 16, 0));
			wait_message(&s);
		}
		s.memory[0] = 0xa5;
		write_octets(&w);
	} while (!told());
	IS(!rdma_disconnect(s.id));
	await_end(&s);
	free_side(&s);
}

const struct verbs_case cases_of_turns[] = {
	{ "poll-and-sleep", naps, wakes_up },
	{ "wait-and-answer", asks, answers },
	{},
};
