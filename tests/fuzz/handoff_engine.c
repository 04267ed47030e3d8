// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The engine's part of the hand-off: the sources that ship, with AF_XDP, the raw socket and io_uring replaced here.
 * Each access to a word that others write yields to the schedule.
 */
#include "tests/fuzz/handoff_engine.h"

#include <errno.h>
#include <liburing.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <xdp/xsk.h>

#include "handoff/inject.h"
#include "tcp/csum.h"

/* A macro is not expanded within itself. */
#define __atomic_load_n(p, order) (fiber_step(), __atomic_load_n(p, order))
#define __atomic_store_n(p, v, order) (fiber_step(), __atomic_store_n(p, v, order))
#define __atomic_fetch_add(p, v, order) (fiber_step(), __atomic_fetch_add(p, v, order))
#define __atomic_compare_exchange_n(p, from, to, weak, yes, no)                                    \
	(fiber_step(), __atomic_compare_exchange_n(p, from, to, weak, yes, no))
#define sendmsg handoff_sendmsg
#define xiw_inject(in, what) handoff_inject_built(in, what)

static ssize_t handoff_sendmsg(int fd, const struct msghdr *msg, int flags);
static int handoff_inject_built(struct xiw_injector *injector, const struct xiw_inject *what);

#include "user/handoff/inject.c"
#undef sendmsg
#undef xiw_inject

#include "conn/conn.h"
#include "conn/stop.h"
#include "core/agenda.h"
#include "core/cq.h"
#include "core/ring.h"
#include "core/srq.h"
#include "core/timer.h"
#include "path/arm.h"
#include "path/hold.h"
#include "path/inject.h"
#include "path/kernel.h"

#define BIDS 4
#define CQ 4096u

/* The sources in which other fibers are visible. Their static names do not collide. */
#include "user/path/direct.c"
#include "user/path/packet.c"
#include "user/path/inject.c"
#include "user/path/fallback.c"
#include "user/path/commit.c"

struct xiw_conn *conn;
uint32_t read_most;

struct xiw_engine *engine;
static struct xiw_netif port;
static struct xiw_rxq rxq;
static uint8_t frames[FRAMES][FRAME_SIZE + 256] __attribute__((aligned(64)));
static uint64_t frame_stack[FRAMES];
static uint8_t tx_frame[256];
uint8_t *memory;
static uint32_t tx_edge;    /* that the peer knew when the ACK was begun */
static uint32_t inject_pos; /* of the segment that xiw_inject() is at */
static struct {
	int res;
	uint16_t bid;
} cqes[BIDS];
static unsigned int ncqes;
static bool bid_out[BIDS], eof_told;

unsigned int xiw_xsk_receive(struct xiw_xsk *x, struct xiw_packet *packets, unsigned int max)
{
	unsigned int n = 0;

	fiber_step();
	world_lock();
	while (n < max && ring.n && x->nfree) {
		struct parcel *p = pull(&ring, 0);
		uint64_t addr = x->free[--x->nfree];
		uint8_t *at = frames[addr] + 256;

		CHECK(x->nfree < FRAMES && addr < FRAMES && p->has_meta);
		/* Octets of an earlier user of the buffer would be noticed. */
		memset(frames[addr], 0xdd, sizeof(frames[addr]));
		memcpy(at - sizeof(p->meta), &p->meta, sizeof(p->meta));
		memcpy(at, p->octets, p->octets_len);
		if (broken & BROKEN_CHECKSUMS)
			at[ETH + XIW_IP4_MIN + XIW_TCP_OFF_CSUM] ^= 0x55;
		packets[n++] = (struct xiw_packet){ .frag[0] = { at, p->octets_len },
						    .addr[0] = addr,
						    .len = p->octets_len,
						    .frags = 1 };
		free(p);
	}
	world_unlock();
	return n;
}

void xiw_xsk_refill(struct xiw_xsk *x, uint32_t at_least)
{
	(void)at_least;
	CHECK(x->nfree <= FRAMES, "a frame was given back twice");
}

/* Here an ACK is begun. */
uint8_t *xiw_xsk_tx_room(struct xiw_xsk *x)
{
	(void)x;
	fiber_step();
	world_lock();
	tx_edge = edge;
	world_unlock();
	return tx_frame;
}

/* A packet that is sent is on the wire at once. */
void xiw_acks_out(struct xiw_engine *e)
{
	(void)e;
}

void xiw_xsk_send(struct xiw_xsk *x, const uint8_t *packet, uint32_t len)
{
	struct xiw_csum sum = {};
	const uint8_t *ip = packet + ETH, *tcp = ip + XIW_IP4_MIN;

	(void)x;
	len -= ETH + XIW_IP4_MIN;
	xiw_csum_pseudo(&sum, ip, len);
	xiw_csum_add(&sum, tcp, len);
	CHECK(xiw_csum_good(&sum));
	world_lock();
	if (!(broken & BROKEN_ACKS))
		peer_ack(tcp, len, tx_edge);
	world_unlock();
}

/* The segment's true place, since the frame still has its wire number. */
int xiw_inject(struct xiw_injector *in, const struct xiw_inject *what)
{
	inject_pos = xiw_get_be32(what->ip + what->l4_off + XIW_TCP_OFF_SEQ) - isn;
	fiber_step();
	return handoff_inject_built(in, what);
}

static ssize_t handoff_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct parcel *p = new_parcel();
	size_t octets = 0;

	(void)fd;
	(void)flags;
	for (size_t i = 0; i < msg->msg_iovlen; i++) {
		CHECK(p->octets_len + msg->msg_iov[i].iov_len <= sizeof(p->octets));
		memcpy(p->octets + p->octets_len, msg->msg_iov[i].iov_base,
		       msg->msg_iov[i].iov_len);
		octets += msg->msg_iov[i].iov_len;
		p->octets_len = (uint32_t)octets;
	}
	p->pos = inject_pos;
	world_lock();
	the_flow->lo_segs++; /* as if it arrived: there are no probes here */
	if (broken & BROKEN_LO)
		free(p);
	else
		push(&injected, p);
	world_unlock();
	return (ssize_t)octets;
}

int xiw_sock_open_window(int fd, uint32_t window)
{
	(void)fd;
	fiber_step();
	world_lock();
	sock_open(window);
	world_unlock();
	return 0;
}

uint32_t xiw_sock_tsval(const struct xiw_sock_state *state, uint64_t now_ns)
{
	(void)state;
	(void)now_ns;
	return world_ms();
}

static struct io_uring_sqe sqe;

struct io_uring_sqe *xiw_sqe(struct xiw_engine *e, void *object, enum xiw_op op)
{
	(void)e;
	(void)object;
	(void)op;
	return &sqe;
}

void xiw_buf_taken(struct xiw_engine *e)
{
	e->io.bufs_out++;
}

void xiw_bufs_offer_all(struct xiw_engine *e)
{
	(void)e;
}

void xiw_buf_return(struct xiw_engine *e, uint16_t bid)
{
	CHECK(bid < BIDS && bid_out[bid]);
	bid_out[bid] = false;
	e->io.bufs_out--;
}

/* ---- one turn, as engine.c has it ---------------------------------------------------------------- */

static void turn_settle(void)
{
	while (engine->agenda.dirty) {
		struct xiw_conn *c = engine->agenda.dirty;

		xiw_stretch_resume(c);
		xiw_commit(c);
		engine->agenda.dirty = c->next_dirty;
		c->dirty = false;
		if (c->end.failing)
			xiw_conn_failed(c);
		/* The socket may be told later, and then of the next batch's news as well. */
		if (fuzz_pattern(c->counts.fpdus + engine->batch) & 1)
			xiw_feedback_flush(c);
		if (c->handoff.want_arm) {
			c->handoff.want_arm = false;
			xiw_try_arm(c, fuzz_pattern(c->counts.fpdus) & 1 ? XIW_RUN : 2);
		}
		xiw_counts_publish(c);
		/* The peer makes no errors, and checksums find the wire's: only a hold's time may end a stream. */
		CHECK((!c->rx_dead || c->counts.holds_expired) && !c->end.asked,
		      "the stream ends: MPA %d, DDP %x, FPDU %u", c->end.mpa_error,
		      c->end.ddp_error, next_fpdu);
	}
}

static bool turn_poll(void)
{
	__atomic_store_n(&rxq.shared->beat_ns, engine->now_ns, __ATOMIC_RELAXED);
	if (!xiw_direct_poll(engine, &rxq)) {
		__atomic_store_n(&rxq.shared->emptied_ns, engine->now_ns, __ATOMIC_RELEASE);
		return false;
	}
	turn_settle();
	return true;
}

/* The octets that the kernel has put into buffers by the end of the last turn. */
static void turn_reap(void)
{
	for (unsigned int i = 0; i < ncqes; i++)
		xiw_recv_done(conn, cqes[i].res,
			      cqes[i].res > 0
				      ? IORING_CQE_F_MORE | IORING_CQE_F_BUFFER |
						(uint32_t)cqes[i].bid << IORING_CQE_BUFFER_SHIFT
				      : 0);
	ncqes = 0;
}

static void submit(void)
{
	uint16_t bid;

	while (ncqes < BIDS && conn->recv.posted) {
		uint32_t n = sock.rcv_nxt - sock.read;

		for (bid = 0; bid < BIDS && bid_out[bid]; bid++)
			;
		/* The receive is cancelled, now or after some more octets. */
		if (sqe.opcode == IORING_OP_ASYNC_CANCEL && (!n || fuzz_pattern(sock.read) & 3)) {
			sqe.opcode = IORING_OP_NOP;
			cqes[ncqes++].res = -ECANCELED;
			return;
		}
		if (!n && sock.fin && !eof_told) {
			eof_told = true;
			cqes[ncqes++].res = 0;
			return;
		}
		if (!n || bid == BIDS)
			return;
		n = n < read_most ? n : read_most;
		memcpy(engine->io.buf_area + (size_t)bid * XIW_BUF_SIZE, sock.data + sock.read, n);
		sock.read += n;
		bid_out[bid] = true;
		cqes[ncqes].res = (int)n;
		cqes[ncqes++].bid = bid;
	}
}

static void turn_submit(void)
{
	fiber_step();
	world_lock();
	take_completions();
	submit();
	world_unlock();
}

/* As xiw_conn_limit_hold() does for a socket that lives. */
static void look_at_hold(struct xiw_conn *c)
{
	c->timer.hold_ms = XIW_NEVER;
	xiw_patience_end(c);
	if (!c->hold.waits)
		return;
	if (xiw_srq_has(c))
		xiw_hold_posted(c);
	else if (c->hold.until_ms <= engine->now_ms)
		xiw_hold_expire(c);
	else
		xiw_hold_watch(c);
}

static void turn_timers(void)
{
	struct xiw_conn *c;

	while ((c = xiw_timer_due(engine))) {
		if (c->progress.due_ms <= engine->now_ms)
			xiw_progress_due(c);
		if (c->timer.ack_ms <= engine->now_ms) {
			xiw_commit(c);
			xiw_dirty(c);
		}
		if (c->timer.hold_ms <= engine->now_ms)
			look_at_hold(c);
		xiw_timer(c);
	}
}

void engine_turn(void *arg)
{
	(void)arg;
	engine->now_ns = xdp_clock();
	engine->now_ms = engine->now_ns / 1000000;
	post_those_due();
	xiw_cqs_refill(engine);
	turn_poll();
	take_for_another();
	turn_reap();
	turn_timers();
	if (engine->agenda.holders)
		xiw_stream_resume(conn);
	turn_settle();
	for (int i = 0; engine->agenda.falling_back && i < 8; i++)
		if (!turn_poll())
			break;
	while (engine->agenda.falling_back)
		xiw_fall_back_finish(engine->agenda.falling_back);
	turn_settle();
	/* Else the time of a hold would never be up, nor would a buffer be looked for that comes without notice. */
	CHECK((!conn->hold.waits && !conn->keeps.hand) || conn->keeps.go_on ||
		      conn->timer.hold_ms != XIW_NEVER,
	      "what waits for a buffer has no time");
	turn_submit();
}

/* ---- beginning and end --------------------------------------------------------------------------- */

static void open_engine(void)
{
	engine = aligned_alloc(64, (sizeof(*engine) + 63) & ~63ul);
	conn = aligned_alloc(64, (sizeof(*conn) + 63) & ~63ul);
	memory = calloc(1, stream_max);
	CHECK(engine && conn && memory);
	memset(engine, 0, sizeof(*engine));
	memset(conn, 0, sizeof(*conn));
	engine->opts = (struct xiw_engine_opts){ .app_ring_fd = -1, .frames = FRAMES };
	CHECK(!xiw_cq_init(&engine->cq, engine, CQ));
	engine->pools.kept = calloc(FRAMES / 2, sizeof(*engine->pools.kept));
	engine->io.buf_area = malloc((size_t)BIDS * XIW_BUF_SIZE);
	CHECK(engine->pools.kept && engine->io.buf_area);
	for (uint32_t i = 0; i < FRAMES / 2; i++) {
		engine->pools.kept[i].next_free = engine->pools.kept_free;
		engine->pools.kept_free = &engine->pools.kept[i];
	}
	engine->wheel.next_ms = engine->wheel.collect_ms = engine->watch.look_ms = XIW_NEVER;
	engine->now_ms = xdp_now / 1000000;
	engine->conns = conn;
}

static void open_region(void)
{
	struct xiw_ddp_rx_opts ddp = { .pd = 0, .stream = 1, .nqueues = 1, .depth = fpdus_max };
	struct xiw_ddp_region_opts r = { .ptr = memory,
					 .len = stream_max,
					 .access = XIW_DDP_REMOTE_WRITE,
					 .fixed = true,
					 .stag = 7 };
	uint32_t stag;

	xiw_ddp_table_init(&engine->regions, NULL, NULL);
	CHECK(!xiw_ddp_region_register(&engine->regions, &r, &stag));
	ddp.table = &engine->regions;
	CHECK(!xiw_ddp_rx_create(&conn->ddp, &ddp));
}

static void open_port(void)
{
	memset(&port, 0, sizeof(port));
	port.table.nflows = FLOW + 1;
	port.by_flow = calloc(port.table.nflows, sizeof(*port.by_flow));
	CHECK(port.by_flow);
	port.by_flow[FLOW] = conn;
	memset(&rxq, 0, sizeof(rxq));
	rxq.netif = &port;
	rxq.shared = &xdp_queue;
	rxq.out = &rxq.xsk;
	xdp_queue.takes = 16384;
	rxq.batch = 16;
	rxq.xsk.free = frame_stack;
	for (uint64_t i = 0; i < FRAMES; i++)
		frame_stack[rxq.xsk.nfree++] = i;
	engine->injector.fd4 = 0; /* sendmsg() is replaced here */
}

static void open_conn(void)
{
	struct xiw_mpa_rx rx = { .markers = with_markers, .crc = true };

	conn->engine = engine;
	conn->netif = &port;
	conn->flow = the_flow;
	conn->reg.index = FLOW;
	conn->fd = -1;
	conn->state = XIW_OPEN;
	conn->send.allowed = conn->crc = true;
	conn->reg.window = WINDOW;
	conn->timer.deadline_ms = conn->timer.ack_ms = conn->timer.hold_ms = XIW_NEVER;
	conn->timer.ulp_ms = conn->progress.due_ms = conn->progress.output.look_ms = XIW_NEVER;
	conn->progress.inject_works = true;
	conn->reg.ip_version = 4;
	conn->reg.remote_ip[0] = 1;
	conn->reg.local_ip[0] = 2;
	conn->reg.marker_origin = conn->recv.nxt = isn;
	conn->reg.sock = (struct xiw_sock_state){
		.rcv_mss = MSS, .rcv_wscale = SCALE, .timestamps = timestamps, .sack = true
	};
	xiw_mpa_stream_init(&conn->mpa, &rx);
}

static void open_flow(void)
{
	the_flow->flags = (timestamps ? XIW_FLOW_TIMESTAMPS : 0) | XIW_FLOW_SACK | XIW_FLOW_CRC |
			  (with_markers ? XIW_FLOW_MARKERS : 0);
	the_flow->rcv_wscale = SCALE;
	the_flow->window = WINDOW;
	the_flow->marker_origin = the_flow->kernel_high = isn;
	the_flow->kernel_edge = the_flow->direct_edge = isn + edge;
	the_flow->socket_edge = isn + edge;
	the_flow->snd_nxt = SND;
	memset(the_flow->out_mac, 2, sizeof(the_flow->out_mac));
	the_flow->kernel_nxt = ~0ull;
	xiw_flow_publish(the_flow, 0);
}

void engine_open(uint8_t how)
{
	open_engine();
	open_region();
	open_port();
	open_conn();
	application_begins(how);
	sqe.opcode = IORING_OP_NOP;
	ncqes = 0;
	eof_told = false;
	memset(bid_out, 0, sizeof(bid_out));
	open_flow();
	xiw_try_arm(conn, 1);
	xiw_recv_post(conn);
}

void engine_close(void)
{
	application_ends();
	xiw_hold_forget(conn);
	xiw_mpa_stream_free(&conn->mpa);
	xiw_ddp_rx_free(conn->ddp);
	xiw_ddp_table_free(&engine->regions);
	free(port.by_flow);
	free(conn->recv.held);
	free(engine->cq.overflow);
	free(engine->io.buf_area);
	free(engine->pools.kept);
	free(engine->cq.entries);
	free(conn);
	free(engine);
	free(memory);
}
