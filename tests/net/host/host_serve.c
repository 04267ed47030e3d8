// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * host_serve HOW CONNS [MESSAGES]: takes CONNS connections and checks everything that comes.
 *
 *   own      each has buffers of its own
 *   shared   they share few
 *   late     buffers are posted a while after the connections are there
 *   refuse   no connection is wanted
 *
 * It sleeps while there is nothing to do.
 */
#include <unistd.h>

#include "party.h"

#define SHARED 12u

struct conn {
	struct xiw_host_qp *qp;
	uint32_t number;  /* as told to the peer */
	uint32_t seen;	  /* Sends, in their order */
	uint32_t flushed; /* buffers */
	uint32_t immediates;
	bool ended;
};

static struct party p;
static struct xiw_host_srq *srq;
static struct conn conns[64];
static uint32_t wanted, there, ended, messages = MESSAGES;
static uint64_t direct, kernel;
static bool late;
static unsigned int lows; /* how often the shared queue was low */

static uint8_t *bulk_of(uint32_t conn)
{
	return p.mem + 64 + (size_t)conn * ROUNDS * BULK;
}

static uint8_t *buffer(uint64_t i)
{
	return p.mem + 64 + (size_t)wanted * ROUNDS * BULK + i * LONGEST;
}

static void post_buffer(struct conn *c, uint64_t i)
{
	const struct xiw_host_sge sge[2] = {
		{ buffer(i), 100, p.lkey },
		{ buffer(i) + 100, LONGEST - 100, p.lkey },
	};
	const struct xiw_host_recv recv = { .wr_id = i, .sge = sge, .sge_count = 2 };

	MUST(srq ? xiw_host_srq_post(srq, &recv, 1, NULL)
		 : xiw_host_post_recv(c->qp, &recv, 1, NULL));
}

static void post_own(struct conn *c)
{
	for (uint64_t i = 0; !srq && i < DEPTH; i++)
		post_buffer(c, c->number * DEPTH + i);
}

static void take_request(struct xiw_host_request *request)
{
	struct conn *c = &conns[there];
	const struct place place = { (uintptr_t)bulk_of(there), (uintptr_t)p.mem, p.lkey, there };
	const struct xiw_host_conn_opts opts = {
		.eq = p.eq,
		.context = c,
		.ird = 8,
		.ord = 8,
		.extended = true,
		.private_data = &place,
		.private_len = sizeof(place),
	};

	c->number = there++;
	c->qp = party_qp(&p, srq, c);
	if (!late)
		post_own(c);
	MUST(xiw_host_accept(request, c->qp, &opts));
}

static void check_message(struct conn *c, const uint8_t *buf, uint32_t len)
{
	struct head h;

	if (len < sizeof(h))
		die("a message of %u octets", len);
	memcpy(&h, buf, sizeof(h));
	if (h.conn != c->number || h.number != c->seen)
		die("message %u of %u instead of %u of %u", h.number, h.conn, c->seen, c->number);
	if (len - sizeof(h) != message_len(h.number) ||
	    stream_wrong(message_stream(h.conn, h.number), 0, buf + sizeof(h), len - sizeof(h)) >=
		    0)
		die("message %u of %u is wrong", h.number, h.conn);
	c->seen++;
}

/* It comes behind the Write, whose octets are there. */
static void check_immediate(struct conn *c, uint64_t immediate)
{
	if (immediate != message_stream(c->number, c->immediates) ||
	    stream_wrong(immediate, 0, bulk_of(c->number) + c->immediates * BULK, BULK) >= 0)
		die("immediate %u of %u is wrong", c->immediates, c->number);
	c->immediates++;
}

static void take_completion(const struct xiw_host_wc *wc)
{
	struct conn *c = wc->context;

	if (wc->op != XIW_OPERATION_RECV)
		die("an operation that was not posted");
	if (wc->cause) {
		if (wc->cause != XIW_CAUSE_FLUSHED)
			die("a buffer has %s", xiw_cause_name(wc->cause));
		c->flushed++;
		return;
	}
	if (wc->flags & XIW_HOST_WC_IMMEDIATE)
		check_immediate(c, wc->immediate);
	else
		check_message(c, buffer(wc->wr_id), wc->length);
	post_buffer(c, wc->wr_id);
}

static void finish_conn(struct conn *c)
{
	struct xiw_host_qp_info info;
	struct xiw_host_wc wc;

	/* All work has completed when the last event comes; a buffer that is posted now does so soon. */
	while (xiw_host_cq_poll(p.cq, &wc, 1))
		take_completion(&wc);
	while (!srq && c->flushed < DEPTH) {
		party_completion(&p, &wc, true);
		take_completion(&wc);
	}
	if (c->seen != messages || (!srq && c->flushed != DEPTH))
		die("%u messages, %u buffers flushed", c->seen, c->flushed);
	xiw_host_qp_info(c->qp, &info);
	direct += info.octets_direct;
	kernel += info.octets_kernel;
	MUST(xiw_host_qp_free(c->qp));
	ended++;
}

static void take_event(const struct xiw_host_event *ev)
{
	switch (ev->kind) {
	case XIW_HOST_REQUEST:
		take_request(ev->request);
		break;
	case XIW_HOST_ESTABLISHED:
		if (late) {
			usleep(300000);
			post_own(ev->context);
		}
		break;
	case XIW_HOST_DISCONNECTED:
		if (ev->status)
			die("disconnected: %s", strerror(-ev->status));
		finish_conn(ev->context);
		break;
	case XIW_HOST_SRQ_LOW:
		if (ev->context != &lows || xiw_host_srq_limit(srq))
			die("not the event of the limit");
		lows++;
		break;
	default:
		die("event %d: %s", ev->kind, strerror(-ev->status));
	}
}

/* One thread looks at two queues: the events of connections come by a short wait. */
static void serve(void)
{
	struct xiw_host_event ev;
	struct xiw_host_wc wc;

	while (ended < wanted) {
		while (xiw_host_eq_take(p.eq, &ev))
			take_event(&ev);
		while (xiw_host_cq_poll(p.cq, &wc, 1))
			take_completion(&wc);
		MUST(xiw_host_cq_arm(p.cq, false));
		if (!xiw_host_cq_count(p.cq))
			xiw_host_eq_wait(p.cq_eq, &ev, 5);
	}
}

static void refuse(void)
{
	struct xiw_host_event ev;

	while (ended++ < wanted) {
		party_event(&p, &ev, XIW_HOST_REQUEST);
		if (ev.private_len != 5 || memcmp(ev.private_data, "hello", 5))
			die("not the Private Data of the peer");
		MUST(xiw_host_reject(ev.request, "no, thanks", 10));
	}
}

int main(int argc, char **argv)
{
	const struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	const bool shared = argc > 2 && !strcmp(argv[1], "shared");
	struct xiw_host_listener *listener;

	if (argc < 3)
		die("usage: host_serve HOW CONNS [MESSAGES]");
	wanted = (uint32_t)atoi(argv[2]);
	if (argc > 3)
		messages = (uint32_t)atoi(argv[3]);
	late = !strcmp(argv[1], "late");
	party_make(&p, 64 + (size_t)wanted * (ROUNDS * BULK + DEPTH * LONGEST));
	if (shared) {
		const struct xiw_host_srq_opts so = {
			.pd = p.pd, .depth = SHARED, .sge = 2, .eq = p.eq, .context = &lows
		};

		MUST(xiw_host_srq_create(&so, &srq));
		for (uint64_t i = 0; i < SHARED; i++)
			post_buffer(NULL, i);
		/* It is full, so the event comes with the first message. */
		MUST(xiw_host_srq_set_limit(srq, SHARED));
	}
	MUST(xiw_host_bind((void *)&any, sizeof(any), XIW_HOST_V6ONLY_DEFAULT, p.eq, NULL,
			   &listener));
	MUST(xiw_host_listen(listener, 0));
	if (!strcmp(argv[1], "refuse"))
		refuse();
	else
		serve();
	MUST(xiw_host_listener_free(listener));
	MUST(xiw_host_srq_free(srq));
	printf("{\"direct\": %llu, \"kernel\": %llu, \"word\": %llu, \"lows\": %u}\n",
	       (unsigned long long)direct, (unsigned long long)kernel,
	       (unsigned long long)*(uint64_t *)p.mem, lows);
	party_free(&p);
	return 0;
}
