// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "party.h"

#define PATIENCE_MS 30000

void party_make(struct party *p, size_t size)
{
	const unsigned int all = XIW_HOST_LOCAL_WRITE | XIW_HOST_REMOTE_WRITE |
				 XIW_HOST_REMOTE_READ | XIW_HOST_REMOTE_ATOMIC;

	*p = (struct party){ .size = size, .pd = xiw_host_pd() };
	p->mem = aligned_alloc(64, (size + 63) & ~63ul);
	if (!p->mem)
		die("no memory");
	memset(p->mem, 0, size);
	MUST(xiw_host_eq_create(&p->eq));
	MUST(xiw_host_eq_create(&p->cq_eq));
	MUST(xiw_host_cq_create(p->cq_eq, p, &p->cq));
	MUST(xiw_host_mr_register(p->pd, p->mem, size, (uintptr_t)p->mem, all, &p->mr));
	p->lkey = xiw_host_mr_stag(p->mr);
}

void party_free(struct party *p)
{
	MUST(xiw_host_mr_free(p->mr));
	MUST(xiw_host_cq_free(p->cq));
	MUST(xiw_host_eq_free(p->cq_eq));
	MUST(xiw_host_eq_free(p->eq));
	free(p->mem);
}

struct xiw_host_qp *party_qp(struct party *p, struct xiw_host_srq *srq, void *context)
{
	const struct xiw_host_qp_opts opts = {
		.pd = p->pd,
		.send_cq = p->cq,
		.recv_cq = p->cq,
		.srq = srq,
		.send_depth = DEPTH,
		.recv_depth = DEPTH,
		.send_sge = 3,
		.recv_sge = 2,
		.inline_max = 200,
		.context = context,
	};
	struct xiw_host_qp *qp;

	MUST(xiw_host_qp_create(&opts, &qp));
	return qp;
}

void party_event(struct party *p, struct xiw_host_event *event, int kind)
{
	int got = xiw_host_eq_wait(p->eq, event, PATIENCE_MS);

	if (got != 1)
		die("no event: %s", strerror(-got));
	if (kind >= 0 && event->kind != (enum xiw_host_event_kind)kind)
		die("event %d (%s) instead of %d", event->kind, strerror(-event->status), kind);
}

void party_completion(struct party *p, struct xiw_host_wc *wc, bool sleeps)
{
	const uint64_t end = now_ms() + PATIENCE_MS;
	struct xiw_host_event event;

	while (!xiw_host_cq_poll(p->cq, wc, 1)) {
		if (now_ms() > end)
			die("no completion");
		if (!sleeps)
			continue;
		MUST(xiw_host_cq_arm(p->cq, false));
		if (xiw_host_cq_poll(p->cq, wc, 1))
			return;
		if (xiw_host_eq_wait(p->cq_eq, &event, PATIENCE_MS) != 1)
			die("no completion, for which the queue was armed");
		if (event.kind != XIW_HOST_COMPLETION || event.context != p)
			die("not the queue's event");
	}
}

uint32_t message_len(uint32_t number)
{
	return number % 7 ? number * 977 % (LONGEST - sizeof(struct head)) : 0;
}

uint64_t message_stream(uint32_t conn, uint32_t number)
{
	return (uint64_t)conn << 32 | number;
}
