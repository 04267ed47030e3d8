// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * verbs_ports passive|active ADDRESS PORT: a connection of librdmacm, whose sides print a line for each event that they
 * hear afterwards: of the device, with the state of its port, and of the identifiers. When the device is gone, and the
 * connection, everything is destroyed. Exit codes: 0 all was as it should, 1 not.
 *
 * ADDRESS is the passive side's, whose listener belongs to its device, too.
 */
#include "tests/net/lib/common.h"

#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>

#define WAIT_MS 20000
#define SOON_MS 5000 /* after the device has gone: long before TCP would find out */

static struct rdma_event_channel *channel;
static struct rdma_cm_id *listener, *id;
static unsigned int removed, disconnected, fatal;

static enum rdma_cm_event_type take_event(struct rdma_cm_id **of)
{
	enum rdma_cm_event_type type;
	struct rdma_cm_event *e;

	IS(!rdma_get_cm_event(channel, &e));
	type = e->event;
	*of = e->id;
	IS(!rdma_ack_cm_event(e));
	return type;
}

static struct rdma_cm_id *expect(enum rdma_cm_event_type type)
{
	struct rdma_cm_id *of;

	IS(take_event(&of) == type);
	return of;
}

static void add_queue_pair(void)
{
	struct ibv_qp_init_attr init = { .cap = { 1, 1, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	static uint8_t memory[64];
	struct ibv_sge sge = { (uintptr_t)memory, sizeof(memory), 0 };
	struct ibv_recv_wr wr = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_mr *mr;

	IS(init.send_cq = init.recv_cq = ibv_create_cq(id->verbs, 4, NULL, NULL, 0));
	IS(!rdma_create_qp(id, NULL, &init));
	IS(mr = ibv_reg_mr(id->pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE));
	sge.lkey = mr->lkey;
	IS(!ibv_post_recv(id->qp, &wr, &bad));
}

static void be_passive(struct sockaddr *at)
{
	IS(!rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP));
	IS(!rdma_bind_addr(listener, at) && !rdma_listen(listener, 1) && listener->verbs);
	id = expect(RDMA_CM_EVENT_CONNECT_REQUEST);
	add_queue_pair();
	IS(!rdma_accept(id, NULL));
}

static void be_active(struct sockaddr *at)
{
	struct rdma_conn_param param = {};

	IS(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	IS(!rdma_resolve_addr(id, NULL, at, WAIT_MS));
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	IS(!rdma_resolve_route(id, WAIT_MS));
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	add_queue_pair();
	IS(!rdma_connect(id, &param));
}

static void hear_of_device(void)
{
	struct ibv_async_event e;
	struct ibv_port_attr port;

	IS(!ibv_get_async_event(id->verbs, &e));
	IS(!ibv_query_port(id->verbs, 1, &port));
	printf("%s, the port is %s\n", ibv_event_type_str(e.event_type),
	       ibv_port_state_str(port.state));
	fatal += e.event_type == IBV_EVENT_DEVICE_FATAL;
	IS(fatal || e.element.port_num == 1);
	ibv_ack_async_event(&e);
}

static void hear_of_ids(void)
{
	struct rdma_cm_id *of;
	enum rdma_cm_event_type type = take_event(&of);

	printf("%s, of the %s\n", rdma_event_str(type), of == id ? "connection" : "listener");
	removed += type == RDMA_CM_EVENT_DEVICE_REMOVAL;
	if (type != RDMA_CM_EVENT_DISCONNECTED)
		return;
	IS(of == id);
	disconnected++;
}

static bool over(void)
{
	return fatal && disconnected && removed == (listener ? 2 : 1);
}

static void destroy_all(void)
{
	struct ibv_cq *cq = id->recv_cq ? id->recv_cq : id->qp->recv_cq;
	struct ibv_wc wc;

	IS(ibv_poll_cq(cq, 1, &wc) == 1 && wc.wr_id == 7 && wc.status == IBV_WC_WR_FLUSH_ERR);
	rdma_destroy_qp(id);
	IS(!rdma_destroy_id(id) && (!listener || !rdma_destroy_id(listener)));
	IS(!ibv_destroy_cq(cq));
	IS(fatal == 1 && disconnected == 1);
}

int main(int argc, char **argv)
{
	struct sockaddr_storage at;
	uint64_t gone = 0;

	if (argc != 4 || !address_of(argv[2], (uint16_t)atoi(argv[3]), &at))
		die("verbs_ports passive|active ADDRESS PORT");
	setvbuf(stdout, NULL, _IOLBF, 0);
	IS(channel = rdma_create_event_channel());
	if (!strcmp(argv[1], "passive"))
		be_passive((struct sockaddr *)&at);
	else
		be_active((struct sockaddr *)&at);
	expect(RDMA_CM_EVENT_ESTABLISHED);
	printf("established\n");
	while (!over()) {
		struct pollfd fds[] = { { .fd = id->verbs->async_fd, .events = POLLIN },
					{ .fd = channel->fd, .events = POLLIN } };

		IS(poll(fds, 2, WAIT_MS) > 0);
		if (fds[0].revents)
			hear_of_device();
		if (fds[1].revents)
			hear_of_ids();
		if ((fatal || removed) && !gone)
			gone = now_ms();
	}
	IS(now_ms() - gone < SOON_MS);
	destroy_all();
	return 0;
}
