// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What programs do because RNICs take it. */
#include "tests/net/programs/verbs_ends.h"

#include <rdma/rdma_verbs.h>

#include <dirent.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- identifiers ------------------------------------------------------------------------------------- */

/* An identifier's own addresses are arguments as good as any, also again after a first time. */
static void resolves_own(void)
{
	struct side s = {};
	struct rdma_addr *addr;
	struct sockaddr_storage to;

	resolve(&s, peer_host, (uint16_t)atoi(peer_port));
	addr = &s.id->route.addr;
	to = addr->dst_storage;
	IS(!rdma_resolve_addr(s.id, NULL, &addr->dst_addr, 2000));
	IS(!take_event(s.channel, RDMA_CM_EVENT_ADDR_RESOLVED));
	IS(!rdma_resolve_addr(s.id, &addr->src_addr, &addr->dst_addr, 2000));
	IS(!take_event(s.channel, RDMA_CM_EVENT_ADDR_RESOLVED));
	IS(!memcmp(&to, &addr->dst_storage, sizeof(to)));
	IS(!rdma_resolve_route(s.id, 2000));
	IS(!take_event(s.channel, RDMA_CM_EVENT_ROUTE_RESOLVED));
	add_queues(&s);
	IS(!rdma_connect(s.id, NULL));
	IS(!take_event(s.channel, RDMA_CM_EVENT_ESTABLISHED));
	/* They are the connection's now. */
	IS(rdma_resolve_addr(s.id, NULL, &addr->dst_addr, 2000) && errno == EINVAL);
	IS(rdma_listen(s.id, 1) && errno == EINVAL);
	IS(!memcmp(&to, &addr->dst_storage, sizeof(to)));
	IS(!rdma_disconnect(s.id));
	await_end(&s);
	free_side(&s);
}

/* The queues of an identifier are public, and may be one, with one channel. */
static void shares_queue(void)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct side s = {};
	struct rdma_cm_id *id;

	resolve(&s, peer_host, (uint16_t)atoi(peer_port));
	id = s.id;
	IS(id->send_cq_channel = id->recv_cq_channel = ibv_create_comp_channel(id->verbs));
	IS(id->send_cq = id->recv_cq = ibv_create_cq(id->verbs, 4, id, id->recv_cq_channel, 0));
	IS(!rdma_create_qp(id, NULL, &init));
	IS(id->qp->send_cq == id->send_cq && id->qp->recv_cq == id->send_cq);
	rdma_destroy_qp(id);
	IS(!id->qp && !id->send_cq && !id->recv_cq);
	IS(!id->send_cq_channel && !id->recv_cq_channel);
	free_side(&s);
}

/* Nothing is asked for by flags of 0; and what there is instead of what was asked for is told. */
static void extended_attributes(void)
{
	struct side s = {};
	struct ibv_qp_init_attr_ex init = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	};
	struct ibv_qp *qp;

	resolve(&s, peer_host, (uint16_t)atoi(peer_port));
	IS(init.pd = ibv_alloc_pd(s.id->verbs));
	IS(!rdma_create_qp_ex(s.id, &init) && s.id->qp && s.id->pd == init.pd);
	IS(init.cap.max_inline_data >= 16);
	init.send_cq = init.recv_cq = s.id->send_cq;
	init.cap.max_inline_data = 0;
	IS(qp = ibv_create_qp_ex(s.id->verbs, &init));
	IS(init.cap.max_inline_data >= 16 && !ibv_destroy_qp(qp));
	init.send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_IMM;
	IS(!ibv_create_qp_ex(s.id->verbs, &init) && errno == EOPNOTSUPP);
	rdma_destroy_qp(s.id);
	IS(rdma_create_qp_ex(s.id, &init) == -1 && errno == EOPNOTSUPP);
	IS(!ibv_dealloc_pd(init.pd));
	s.id->pd = NULL;
	free_side(&s);
}

/* ---- states ------------------------------------------------------------------------------------------ */

static int to_state(struct side *s, enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int asked;

	IS(!rdma_init_qp_attr(s->id, &attr, &asked));
	return ibv_modify_qp(s->id->qp, &attr, asked | mask);
}

/* As rping -q: the program moves its queue pair to the states that librdmacm names, before or after it connects. */
static void moves_itself(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct side s = {};
	int mask;

	resolve(&s, peer_host, (uint16_t)atoi(peer_port));
	add_queues(&s);
	IS(rdma_establish(s.id) == -1 && errno == EINVAL);
	IS(rdma_init_qp_attr(s.id, &attr, &mask) == -1 && errno == EINVAL);
	IS(!to_state(&s, IBV_QPS_INIT, 0) && !to_state(&s, IBV_QPS_RTR, 0));
	IS(!to_state(&s, IBV_QPS_RTS, 0));
	/* InfiniBand's way to connect names the peer's queue pair: that is not taken for the same. */
	IS(to_state(&s, IBV_QPS_RTR, IBV_QP_DEST_QPN) == EINVAL);
	IS(to_state(&s, IBV_QPS_RTR, IBV_QP_AV) == EINVAL);
	IS(!rdma_connect(s.id, NULL));
	IS(!take_event(s.channel, RDMA_CM_EVENT_ESTABLISHED));
	IS(!rdma_establish(s.id));
	IS(!to_state(&s, IBV_QPS_RTR, 0) && !to_state(&s, IBV_QPS_RTS, 0));
	/* The rights that librdmacm names let the peer read and write. */
	attr.qp_state = IBV_QPS_INIT;
	IS(!rdma_init_qp_attr(s.id, &attr, &mask) && mask & IBV_QP_ACCESS_FLAGS);
	IS(attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE);
	IS(attr.qp_access_flags & IBV_ACCESS_REMOTE_READ);
	IS(!rdma_disconnect(s.id));
	await_end(&s);
	IS(rdma_establish(s.id) == -1 && errno == EINVAL);
	free_side(&s);
}

/* ---- devices ----------------------------------------------------------------------------------------- */

int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
		       unsigned int *type);

static void says_what_it_is(void)
{
	struct ibv_device_attr_ex ex = {};
	struct ibv_device_attr plain;
	unsigned int type = 99;
	struct side s = {};

	resolve(&s, peer_host, (uint16_t)atoi(peer_port));
	IS(!ibv_query_device(s.id->verbs, &plain) && plain.vendor_id && plain.vendor_part_id);
	IS(!ibv_query_device_ex(s.id->verbs, NULL, &ex) && ex.phys_port_cnt_ex == 1);
	IS(!memcmp(&ex.orig_attr, &plain, sizeof(plain)));
	IS(ex.odp_caps.general_caps == IBV_ODP_SUPPORT);
	IS(ex.odp_caps.per_transport_caps.rc_odp_caps & IBV_ODP_SUPPORT_SRQ_RECV);
	IS(plain.max_sge >= 32 && plain.max_sge_rd >= 32 && plain.max_srq_sge >= 32);
	IS(!ibv_query_gid_type(s.id->verbs, 1, 0, &type) && type == 0);
	IS(ibv_query_gid_type(s.id->verbs, 1, 1, &type) == -1 && errno == EINVAL);
	free_side(&s);
}

/* Memory on demand is as all is: nothing of it is there before it is touched, or a program advises to. */
#define PAGES 16

static unsigned int resident(void *at, size_t page)
{
	unsigned char there[PAGES];
	unsigned int n = 0;

	IS(!mincore(at, PAGES * page, there));
	for (int i = 0; i < PAGES; i++)
		n += there[i] & 1;
	return n;
}

static void has_memory_on_demand(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), len = PAGES * page;
	uint8_t *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_sge sge = { (uintptr_t)at + page, (uint32_t)(2 * page), 0 };
	struct side s = {};
	struct ibv_mr *mr;

	IS(at != MAP_FAILED && !madvise(at, len, MADV_NOHUGEPAGE));
	connect_side(&s);
	IS(mr = ibv_reg_mr(s.pd, at, len, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND));
	IS(!resident(at, page));
	sge.lkey = mr->lkey;
	IS(!ibv_advise_mr(s.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH, &sge,
			  1));
	IS(!ibv_advise_mr(s.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0, &sge, 1));
	IS(resident(at, page) == 2);
	IS(!ibv_dereg_mr(mr) && !munmap(at, len));
	IS(!rdma_disconnect(s.id));
	await_end(&s);
	free_side(&s);
}

/* ---- work that only --extended has --------------------------------------------------------------- */

/* Each is refused; test_habits.sh looks for the one line about it. */
static void posts_extended(void)
{
	struct side s = {};

	connect_side(&s);
	for (int i = 0; i < 2; i++) {
		IS(post_remote(&s, IBV_WR_RDMA_WRITE_WITH_IMM, 1, 0, 0) == EOPNOTSUPP);
		IS(post_remote(&s, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 0) == EINVAL);
	}
	IS(!rdma_disconnect(s.id));
	await_end(&s);
	free_side(&s);
}

/* ---- requests ---------------------------------------------------------------------------------------- */

#define GONE 40
#define QUIET 50 /* looks at the channel, each after 10 ms */

/* MPA's Request of revision 1, with CRC and 500 octets of Private Data. */
static int requests(const char *host, uint16_t port)
{
	uint8_t frame[20 + 500] = "MPA ID Req Frame";
	struct sockaddr_storage at;
	socklen_t len = address_of(host, port, &at);
	int fd = socket(at.ss_family, SOCK_STREAM, 0);

	frame[16] = 0x40;
	frame[17] = 1;
	frame[18] = 500 >> 8;
	frame[19] = 500 & 0xff;
	IS(fd >= 0 && !connect(fd, (struct sockaddr *)&at, len));
	IS(write(fd, frame, sizeof(frame)) == sizeof(frame));
	return fd;
}

/* Peers that ask for a connection and are gone, before the program looks. */
static void asks_and_goes(void)
{
	struct linger now = { .l_onoff = 1 };
	struct side s = {};
	int fds[GONE];

	meet();
	for (int i = 0; i < GONE; i++)
		fds[i] = requests(peer_host, (uint16_t)atoi(peer_port));
	meet(); /* the first is there */
	for (int i = 0; i < GONE; i++) {
		IS(!setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &now, sizeof(now)));
		close(fds[i]);
	}
	meet();
	meet(); /* all are gone */
	connect_side(&s);
	IS(!rdma_disconnect(s.id));
	await_end(&s);
	free_side(&s);
}

static unsigned int descriptors(void)
{
	unsigned int n = 0;
	DIR *dir;

	IS(dir = opendir("/proc/self/fd"));
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* A request of a peer that has gone: whoever has seen the channel readable gets an event at once. */
static void gets_late_request(void)
{
	struct side late = {};

	get_request(&late);
	IS(!rdma_reject(late.id, NULL, 0));
	IS(!rdma_destroy_id(late.id));
}

/* Requests that the program has not seen leave with their peers, but for the last one. A seen one may be answered. */
static void forgets_requests(void)
{
	const uint64_t until = now_ms() + WAIT_MS;
	const unsigned int had = descriptors();
	unsigned int late = 0;
	struct side s = {};

	meet();
	IS(readable(listening.channel->fd, WAIT_MS));
	get_request(&s);
	meet();
	meet();
	/* An engine that is late makes requests of peers that have gone. */
	for (int quiet = 0; quiet < QUIET; quiet++) {
		if (descriptors() > had)
			quiet = 0;
		IS(now_ms() < until);
		usleep(10000);
	}
	for (; readable(listening.channel->fd, 0); late++)
		gets_late_request();
	IS(late == 1);
	IS(!rdma_reject(s.id, NULL, 0));
	IS(!rdma_destroy_id(s.id));
	meet();
	only_waits();
}

/*
 * A listener on the wildcard address, and a peer that asks by an address of no device: it is refused, and whoever polls
 * the channel and then waits for an event is not woken for nothing.
 */
static void hears_of_devices_only(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	uint8_t reply;
	int fd;

	IS(channel = rdma_create_event_channel());
	IS(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	IS(!rdma_bind_addr(id, (struct sockaddr *)&any) && !rdma_listen(id, 0));
	fd = requests("127.0.0.1", ntohs(rdma_get_src_port(id)));
	while (read(fd, &reply, 1) == 1)
		;
	IS(!readable(channel->fd, 200));
	close(fd);
	IS(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

const struct verbs_case cases_of_habits[] = {
	{ "resolve-own", resolves_own, only_waits },
	{ "one-queue-for-both", shares_queue, NULL },
	{ "extended-attributes", extended_attributes, NULL },
	{ "moves-itself", moves_itself, only_waits },
	{ "what-it-is", says_what_it_is, NULL },
	{ "memory-on-demand", has_memory_on_demand, only_waits },
	{ "posts-extended", posts_extended, only_waits },
	{ "requests-gone", asks_and_goes, forgets_requests },
	{ "devices-only", hears_of_devices_only, NULL },
	{},
};
