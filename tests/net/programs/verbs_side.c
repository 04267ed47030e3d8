// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the cases of verbs_ends.c have in common. */
#include "tests/net/programs/verbs_ends.h"

#include <poll.h>

bool readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

/* ---- connections --------------------------------------------------------------------------------- */

struct rdma_cm_event *get_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	if (!readable(channel->fd, WAIT_MS))
		die("no event comes: %s", rdma_event_str(type));
	IS(!rdma_get_cm_event(channel, &event));
	if (event->event != type)
		die("not %s: %s, status %d", rdma_event_str(type), rdma_event_str(event->event),
		    event->status);
	return event;
}

int take_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = get_event(channel, type);
	int status = event->status;

	IS(!rdma_ack_cm_event(event));
	return status;
}

void add_queues(struct side *s)
{
	struct ibv_qp_init_attr init = {
		.qp_context = s,
		.srq = s->srq,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 2,
			 .max_recv_sge = 2,
			 .max_inline_data = INLINE },
		.qp_type = IBV_QPT_RC,
	};

	IS(s->pd || (s->pd = ibv_alloc_pd(s->id->verbs)));
	IS(s->told = ibv_create_comp_channel(s->id->verbs));
	IS(s->cq = ibv_create_cq(s->id->verbs, 2 * DEPTH, s, s->told, 0));
	IS(s->memory = calloc(1, OCTETS));
	IS(s->mr = ibv_reg_mr(s->pd, s->memory, OCTETS,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				      IBV_ACCESS_REMOTE_READ));
	init.send_cq = init.recv_cq = s->cq;
	IS(!rdma_create_qp(s->id, s->pd, &init));
}

void resolve(struct side *s, const char *host, uint16_t port)
{
	struct sockaddr_storage to;

	IS(address_of(host, port, &to));
	IS(s->channel || (s->channel = rdma_create_event_channel()));
	IS(!rdma_create_id(s->channel, &s->id, s, RDMA_PS_TCP));
	IS(!rdma_resolve_addr(s->id, NULL, (struct sockaddr *)&to, 2000));
	IS(!take_event(s->channel, RDMA_CM_EVENT_ADDR_RESOLVED));
	IS(!rdma_resolve_route(s->id, 2000));
	IS(!take_event(s->channel, RDMA_CM_EVENT_ROUTE_RESOLVED));
}

static struct rdma_conn_param depths = { .responder_resources = 4, .initiator_depth = 4 };

void connect_side(struct side *s)
{
	resolve(s, peer_host, (uint16_t)atoi(peer_port));
	add_queues(s);
	IS(!rdma_connect(s->id, &depths));
	IS(!take_event(s->channel, RDMA_CM_EVENT_ESTABLISHED));
}

void connect_notified(struct side *s)
{
	connect_side(s);
	post_buffers(s, 1);
	IS(!ibv_req_notify_cq(s->cq, 0));
}

void get_request(struct side *s)
{
	struct rdma_cm_event *event = get_event(listening.channel, RDMA_CM_EVENT_CONNECT_REQUEST);

	IS(event->listen_id == listening.id && event->id->verbs);
	s->id = event->id;
	s->channel = listening.channel;
	IS(!rdma_ack_cm_event(event));
}

void accept_side(struct side *s, unsigned int buffers)
{
	get_request(s);
	add_queues(s);
	post_buffers(s, buffers);
	IS(!rdma_accept(s->id, &depths));
	IS(!take_event(s->channel, RDMA_CM_EVENT_ESTABLISHED));
}

void free_side(struct side *s)
{
	if (s->id && s->id->qp)
		rdma_destroy_qp(s->id);
	if (s->id)
		IS(!rdma_destroy_id(s->id));
	if (s->srq)
		IS(!ibv_destroy_srq(s->srq));
	if (s->cq)
		IS(!ibv_destroy_cq(s->cq) && !ibv_destroy_comp_channel(s->told));
	if (s->mr)
		IS(!ibv_dereg_mr(s->mr));
	if (s->pd)
		IS(!ibv_dealloc_pd(s->pd));
	if (s->channel && s->channel != listening.channel)
		rdma_destroy_event_channel(s->channel);
	free(s->memory);
	*s = (struct side){};
}

/* ---- work ---------------------------------------------------------------------------------------- */

struct ibv_sge sge_of(const struct side *s, size_t from, uint32_t len)
{
	return (struct ibv_sge){ (uintptr_t)s->memory + from, len, s->mr->lkey };
}

/* Each has 1 KiB of the second half of the memory, and a number from 100 on. */
void post_buffers(struct side *s, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct ibv_sge sge = sge_of(s, OCTETS / 2 + i * 1024, 1024);
		struct ibv_recv_wr wr = { .wr_id = 100 + i, .sg_list = &sge, .num_sge = 1 }, *bad;

		IS(!(s->srq ? ibv_post_srq_recv(s->srq, &wr, &bad)
			    : ibv_post_recv(s->id->qp, &wr, &bad)));
	}
}

int post(struct side *s, enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t len,
	 unsigned int flags)
{
	struct ibv_sge sge = sge_of(s, 0, len);
	struct ibv_send_wr wr = { .wr_id = wr_id,
				  .opcode = opcode,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .send_flags = flags },
			   *bad = NULL;
	int rc = ibv_post_send(s->id->qp, &wr, &bad);

	IS(!rc || bad == &wr);
	return rc;
}

int post_remote(struct side *s, enum ibv_wr_opcode opcode, uint64_t wr_id, uint64_t addr,
		uint32_t rkey)
{
	struct ibv_sge sge = sge_of(s, 0, 64);
	struct ibv_send_wr wr = { .wr_id = wr_id,
				  .opcode = opcode,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { addr, rkey } },
			   *bad = NULL;

	return ibv_post_send(s->id->qp, &wr, &bad);
}

struct ibv_wc completion(struct ibv_cq *cq)
{
	const uint64_t until = now_ms() + WAIT_MS;
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		if (now_ms() > until)
			die("no completion comes");
	IS(n == 1);
	return wc;
}

void completed(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc = completion(cq);

	if (wc.wr_id != wr_id || wc.status != status)
		die("completion %llu, not %llu: %s, not %s", (unsigned long long)wc.wr_id,
		    (unsigned long long)wr_id, ibv_wc_status_str(wc.status),
		    ibv_wc_status_str(status));
}

bool queue_is_empty(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	return !ibv_poll_cq(cq, 1, &wc);
}

void await_end(struct side *s)
{
	IS(!take_event(s->channel, RDMA_CM_EVENT_DISCONNECTED));
	while (readable(s->channel->fd, 0))
		IS(!take_event(s->channel, RDMA_CM_EVENT_TIMEWAIT_EXIT)); /* on a busy machine */
}

void only_waits(void)
{
	struct side s = {};

	accept_side(&s, 0);
	await_end(&s);
	free_side(&s);
}
