// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/fuzz/handoff_world.h"

#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include "tcp/csum.h"
#include "tcp/wire.h"

uint32_t stream_max = 24000, fpdus_max = 600;
uint8_t *stream;
struct fpdu *fpdus;
uint32_t nfpdus, stream_end, isn;
bool timestamps, with_markers, with_sends;
unsigned int broken;
uint32_t peer_una, peer_nxt, edge;
bool fin_sent;
bool *held;
uint32_t held_upto;
struct cpu cpus[XDP_CPUS];
struct queue_of wire, ring, injected;
struct sock sock;
void (*world_locks)(bool lock);

void world_lock(void)
{
	if (world_locks)
		world_locks(true);
}

void world_unlock(void)
{
	if (world_locks)
		world_locks(false);
}

uint32_t world_ms(void)
{
	return (uint32_t)(xdp_clock() / 1000000);
}

void push(struct queue_of *q, struct parcel *p)
{
	if (q->n == BACKLOG_MAX) {
		free(p);
		return;
	}
	q->item[q->n++] = p;
}

struct parcel *pull(struct queue_of *q, uint32_t i)
{
	struct parcel *p = q->item[i];

	q->n--;
	memmove(&q->item[i], &q->item[i + 1], (q->n - i) * sizeof(q->item[0]));
	return p;
}

void empty(struct queue_of *q)
{
	while (q->n)
		free(pull(q, q->n - 1));
}

struct parcel *new_parcel(void)
{
	struct parcel *p = calloc(1, sizeof(*p));

	CHECK(p);
	return p;
}

void hold(uint32_t pos)
{
	CHECK(pos <= stream_end);
	held[pos] = true;
	while (held_upto <= stream_end && held[held_upto])
		held_upto++;
}

/* ---- the peer -------------------------------------------------------------------------------- */

/* Ethernet, IPv4 and TCP around `len` octets of the stream at `pos`. */
static void build(struct parcel *p)
{
	uint8_t *ip = p->octets + ETH, *tcp = ip + XIW_IP4_MIN;
	uint32_t hlen = XIW_TCP_MIN + (timestamps ? XIW_TCPOPT_TS_ALIGNED : 0);
	uint16_t sum;

	xiw_put_be16(p->octets + XIW_ETH_OFF_TYPE, XIW_ETH_TYPE_IP4);
	ip[0] = 0x45;
	xiw_put_be16(ip + XIW_IP4_OFF_LEN, (uint16_t)(XIW_IP4_MIN + hlen + p->len));
	ip[XIW_IP4_OFF_TTL] = 64;
	ip[XIW_IP4_OFF_PROTO] = XIW_IP_PROTO_TCP;
	ip[XIW_IP4_OFF_SRC] = 1;
	ip[XIW_IP4_OFF_DST] = 2;
	memset(ip + XIW_IP4_OFF_CSUM, 0, sizeof(sum));
	sum = (uint16_t)~xiw_csum_fold(xiw_csum_partial(ip, XIW_IP4_MIN));
	memcpy(ip + XIW_IP4_OFF_CSUM, &sum, sizeof(sum));
	xiw_put_be16(tcp, 0x0300);
	xiw_put_be16(tcp + 2, 0x0400);
	xiw_put_be32(tcp + XIW_TCP_OFF_SEQ, isn + p->pos);
	xiw_put_be32(tcp + XIW_TCP_OFF_ACK, SND);
	tcp[XIW_TCP_OFF_DOFF] = (uint8_t)(hlen / 4 << 4);
	tcp[XIW_TCP_OFF_FLAGS] = (uint8_t)(XIW_TCP_ACK | (p->fin ? XIW_TCP_FIN : 0));
	xiw_put_be16(tcp + XIW_TCP_OFF_WND, 1000);
	if (timestamps) {
		xiw_put_be32(tcp + 20, 0x0101080a);
		xiw_put_be32(tcp + 24, world_ms());
	}
	memcpy(tcp + hlen, stream + p->pos, p->len);
	xiw_tcp_csum_fill(ip, tcp, hlen + p->len, NULL, 0);
	p->octets_len = ETH + XIW_IP4_MIN + hlen + p->len;
}

uint32_t transmit(uint32_t pos, uint32_t len, bool fin)
{
	struct parcel *p;

	if (pos > stream_end)
		return 0;
	if (len > MSS)
		len = MSS;
	if (len > stream_end - pos)
		len = stream_end - pos;
	if ((int32_t)(edge - pos) < (int32_t)len)
		len = (int32_t)(edge - pos) > 0 ? edge - pos : 0;
	fin = fin && pos + len == stream_end;
	if ((!len && !fin) || wire.n == WIRE_MAX)
		return 0;
	p = new_parcel();
	p->pos = pos;
	p->len = len;
	p->fin = fin;
	build(p);
	push(&wire, p);
	fin_sent |= fin;
	if (pos + len > peer_nxt)
		peer_nxt = pos + len;
	return len;
}

uint32_t fpdu_end(uint32_t pos)
{
	uint32_t lo = 0, hi = nfpdus;

	while (hi - lo > 1) {
		uint32_t mid = (lo + hi) / 2;

		if (fpdus[mid].start <= pos)
			lo = mid;
		else
			hi = mid;
	}
	return fpdus[lo].start + fpdus[lo].len;
}

void peer_ack(const uint8_t *tcp, size_t len, uint32_t edge_before)
{
	struct xiw_tcp_seg a = {};
	uint32_t ack, to;

	CHECK(xiw_tcp_parse(tcp, len, len, &a) > 0 && a.flags & XIW_TCP_ACK);
	ack = a.ack - isn;
	/* Committed octets are delivered: they are at least in the queue. */
	take_completions();
	to = ack + ((uint32_t)a.wnd << SCALE);
	CHECK((int32_t)ack >= 0 && ack <= peer_nxt + fin_sent, "acknowledges %u, sent were %u", ack,
	      peer_nxt);
	CHECK(ack <= held_upto, "acknowledges %u, but nobody holds %u", ack, held_upto);
	/* An old ACK changes nothing (RFC 9293 section 3.10.7.4). */
	if (ack < peer_una)
		return;
	/* Scaling may move the edge by less than one unit (RFC 7323 section 2.4). */
	CHECK((int32_t)(to + (1u << SCALE) - edge_before) > 0, "the right edge moved from %u to %u",
	      edge_before, to);
	for (int i = 0; i < a.nsack; i++) {
		uint32_t start = a.sack[i].start - isn, end = a.sack[i].end - isn;

		CHECK(start < end && end <= peer_nxt + fin_sent, "SACK %u..%u", start, end);
	}
	if (ack > peer_una)
		peer_una = ack;
	if ((int32_t)(to - edge) > 0)
		edge = to;
}

/* ---- the kernel's socket --------------------------------------------------------------------- */

static void sock_advance(void)
{
	while (sock.rcv_nxt < stream_max && sock.has[sock.rcv_nxt]) {
		hold(sock.pos[sock.rcv_nxt]);
		sock.rcv_nxt++;
	}
	if (sock.fin_known && !sock.fin && sock.rcv_nxt == sock.fin_at) {
		sock.fin = true;
		hold(stream_end);
	}
}

void sock_open(uint32_t octets)
{
	if ((int32_t)(sock.rcv_nxt + octets - sock.edge) > 0)
		sock.edge = sock.rcv_nxt + octets;
}

void sock_receive(const uint8_t *ip, uint32_t len, const struct parcel *p)
{
	const uint8_t *tcp = ip + XIW_IP4_MIN, *payload;
	struct xiw_tcp_seg s = {};
	struct xiw_csum sum = {};
	uint32_t at;
	int hlen;

	CHECK(xiw_get_be16(ip + XIW_IP4_OFF_LEN) == len);
	len -= XIW_IP4_MIN;
	xiw_csum_pseudo(&sum, ip, len);
	xiw_csum_add(&sum, tcp, len);
	if (!xiw_csum_good(&sum)) {
		CHECK(p->damaged, "the checksum is wrong");
		return;
	}
	hlen = xiw_tcp_parse(tcp, len, len, &s);
	CHECK(hlen > 0);
	payload = tcp + hlen;
	sock.owes_ack = true;
	at = s.seq - isn;
	/* PAWS (RFC 7323 section 5.3), and octets below rcv_nxt. */
	if (timestamps && s.has_ts && (int32_t)(s.tsval - sock.ts_recent) < 0)
		return;
	if ((int32_t)(at - sock.rcv_nxt) <= 0)
		sock.ts_recent = s.tsval;
	if ((int32_t)(at + s.len - sock.rcv_nxt) < 0 || (int32_t)(at - sock.edge) > 0)
		return;
	for (uint32_t i = 0; i < s.len; i++) {
		if ((int32_t)(at + i - sock.rcv_nxt) < 0 || at + i >= stream_max ||
		    sock.has[at + i])
			continue;
		sock.has[at + i] = true;
		sock.data[at + i] = payload[i];
		sock.pos[at + i] = p->pos + i;
	}
	if (s.flags & XIW_TCP_FIN) {
		sock.fin_known = true;
		sock.fin_at = at + s.len;
	}
	sock_advance();
}

struct parcel *sock_ack(void)
{
	struct parcel *p = new_parcel();
	uint8_t *ip = p->octets + ETH, *tcp = ip + XIW_IP4_MIN, *opt = tcp + XIW_TCP_MIN;
	uint32_t hlen, start, end, limit = sock.rcv_nxt + 2 * KERNEL_WINDOW;

	sock.owes_ack = false;
	/* A segment that begins in the window is taken whole, so the buffer may hold more than the window. */
	sock_open(sock.rcv_nxt - sock.read < KERNEL_WINDOW
			  ? KERNEL_WINDOW - (sock.rcv_nxt - sock.read)
			  : 0);
	memset(p->octets, 2, XIW_ETH_OFF_TYPE);
	xiw_put_be16(p->octets + XIW_ETH_OFF_TYPE, XIW_ETH_TYPE_IP4);
	ip[0] = 0x45;
	ip[XIW_IP4_OFF_PROTO] = XIW_IP_PROTO_TCP;
	ip[XIW_IP4_OFF_SRC] = 2;
	ip[XIW_IP4_OFF_DST] = 1;
	xiw_put_be16(tcp, 0x0400);
	xiw_put_be16(tcp + 2, 0x0300);
	xiw_put_be32(tcp + XIW_TCP_OFF_SEQ, SND);
	xiw_put_be32(tcp + XIW_TCP_OFF_ACK, isn + sock.rcv_nxt + sock.fin);
	xiw_put_be16(tcp + XIW_TCP_OFF_WND,
		     (uint16_t)((sock.edge - sock.rcv_nxt + (1u << SCALE) - 1) >> SCALE));
	tcp[XIW_TCP_OFF_FLAGS] = XIW_TCP_ACK;
	if (timestamps) {
		xiw_put_be32(opt, 0x0101080a);
		xiw_put_be32(opt + 4, world_ms());
		xiw_put_be32(opt + 8, sock.ts_recent);
		opt += XIW_TCPOPT_TS_ALIGNED;
	}
	for (start = sock.rcv_nxt; start < stream_max && start < limit && !sock.has[start];)
		start++;
	if (start < stream_max && start < limit) {
		for (end = start; end < stream_max && sock.has[end];)
			end++;
		xiw_put_be32(opt, 0x0101050a);
		xiw_put_be32(opt + 4, isn + start);
		xiw_put_be32(opt + 8, isn + end);
		opt += 12;
	}
	hlen = (uint32_t)(opt - tcp);
	tcp[XIW_TCP_OFF_DOFF] = (uint8_t)(hlen / 4 << 4);
	xiw_put_be16(ip + XIW_IP4_OFF_LEN, (uint16_t)(XIW_IP4_MIN + hlen));
	xiw_tcp_csum_fill(ip, tcp, hlen, NULL, 0);
	p->octets_len = ETH + XIW_IP4_MIN + hlen;
	return p;
}

/* ---- CPUs ------------------------------------------------------------------------------------ */

static void cpu_ingress(struct cpu *c, struct parcel *p)
{
	struct xdp_packet x = { .octets = p->octets,
				.len = p->octets_len,
				.linear = p->octets_len };

	int action = xdp_ingress(&x, (unsigned int)(c - cpus));

	world_lock();
	switch (action) {
	case XDP_PASS:
		push(&c->backlog, p);
		break;
	case XDP_REDIRECT:
		if (broken & BROKEN_FRAMES) {
			free(p);
			break;
		}
		p->has_meta = x.has_meta;
		p->meta = x.meta;
		push(&ring, p);
		break;
	default:
		free(p);
		break;
	}
	world_unlock();
}

static void cpu_egress(struct cpu *c, struct parcel *p)
{
	struct xdp_packet x = { .octets = p->octets,
				.len = p->octets_len,
				.linear = p->octets_len };

	int action = xdp_egress(&x, (unsigned int)(c - cpus));

	world_lock();
	if (action == TC_ACT_UNSPEC)
		peer_ack(p->octets + ETH + XIW_IP4_MIN, p->octets_len - ETH - XIW_IP4_MIN,
			 c->edge_before);
	world_unlock();
	free(p);
}

void cpu_run(void *arg)
{
	struct cpu *c = arg;
	struct parcel *p = c->job;

	c->job = NULL;
	if (c->egress)
		cpu_egress(c, p);
	else
		cpu_ingress(c, p);
}

void cpu_start(struct cpu *c, struct parcel *p, bool egress)
{
	CHECK(!c->fiber.busy);
	c->job = p;
	c->egress = egress;
	c->edge_before = edge;
	c->fiber.busy = true;
}
