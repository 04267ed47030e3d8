/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is around the hand-off: a peer that sends a stream of FPDUs by TCP's rules, a wire that loses, doubles and
 * reorders, two CPUs that run the BPF programs, and a kernel's socket. Positions count the octets of the stream; wire
 * sequence numbers are `isn` more, and the socket's what translation makes of them.
 */
#ifndef XIW_TESTS_FUZZ_HANDOFF_WORLD_H
#define XIW_TESTS_FUZZ_HANDOFF_WORLD_H

#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include "tcp/csum.h"
#include "tcp/wire.h"
#include "tests/fuzz/fiber.h"
#include "tests/fuzz/xdp.h"

/* tests/tsan has threads in place of fibers: then what is here, but not what is under test, is locked. */
#ifndef WORLD_LOCK
#define WORLD_LOCK() ((void)0)
#define WORLD_UNLOCK() ((void)0)
#endif

#ifndef STREAM_MAX
#define STREAM_MAX 24000u
#define FPDUS_MAX 600
#endif
#define ROOM 4096u /* behind it: what is built there is never sent */
#define MSS 512u
#define SCALE 2u
#define WINDOW 8192u /* that the engine offers */
#define KERNEL_WINDOW 6000u
#define SND 0x5000u /* our own next octet: we send none */
#define FLOW 1u
#define ETH XIW_ETH_LEN
#define HDR (XIW_ETH_LEN + XIW_IP4_MIN + XIW_TCP_MIN + XIW_TCPOPT_TS_ALIGNED)
#define WIRE_MAX 48
#define BACKLOG_MAX 64
#define FRAMES 64u
#define FRAME_SIZE 2048u

struct fpdu {
	uint32_t start, len; /* raw, in the stream */
	uint32_t payload, to;
};

/* A segment under way. */
struct parcel {
	uint32_t pos, len; /* of the stream, true whatever the numbers in it say */
	bool fin, damaged;
	uint32_t octets_len;
	uint8_t octets[FRAME_SIZE];
	bool has_meta;
	struct xiw_meta meta;
};

struct queue_of {
	struct parcel *item[BACKLOG_MAX];
	uint32_t n;
};

struct cpu {
	struct fiber fiber;
	struct parcel *job;
	bool egress;
	uint32_t edge_before;	 /* that the peer knew when the job began */
	struct queue_of backlog; /* passed, not yet with the socket */
};

static uint8_t stream[STREAM_MAX + ROOM];
static struct fpdu fpdus[FPDUS_MAX];
static uint32_t nfpdus, stream_end;
static uint32_t isn; /* wire seq of the stream's first octet */
static bool timestamps, with_markers, friendly;

/* What does not work, when the wire is good again as well. */
#define BROKEN_FRAMES 1u    /* frames do not get to the ring */
#define BROKEN_CHECKSUMS 2u /* they do, and their checksums are wrong there */
#define BROKEN_ACKS 4u	    /* the peer does not hear what goes out by AF_XDP */
#define BROKEN_LO 8u	    /* injected segments do not arrive */
static unsigned int broken;
static struct xiw_flow *const the_flow = &xdp_flows[FLOW];

/* The peer. */
static uint32_t peer_una, peer_nxt, edge; /* positions */
static bool fin_sent;
static struct queue_of wire;

/* Who has what: an octet counts as held when it is delivered, or with the socket in order. */
static bool held[STREAM_MAX + 1]; /* the last is for the FIN */
static uint32_t held_upto;

static struct cpu cpus[XDP_CPUS];
static struct queue_of ring;	 /* AF_XDP's */
static struct queue_of injected; /* on their way over lo */

/* The kernel's socket, by octets from the first it was given. */
static struct {
	uint32_t rcv_nxt, read, edge;
	uint32_t ts_recent;
	bool fin_known, fin;
	uint32_t fin_at;
	bool owes_ack;
	bool has[STREAM_MAX + 1];
	uint8_t data[STREAM_MAX];
	uint32_t pos[STREAM_MAX];
} sock;

static uint32_t now_ms(void)
{
	return (uint32_t)(xdp_clock() / 1000000);
}

static void push(struct queue_of *q, struct parcel *p)
{
	if (q->n == BACKLOG_MAX) {
		free(p);
		return;
	}
	q->item[q->n++] = p;
}

static struct parcel *pull(struct queue_of *q, uint32_t i)
{
	struct parcel *p = q->item[i];

	q->n--;
	memmove(&q->item[i], &q->item[i + 1], (q->n - i) * sizeof(q->item[0]));
	return p;
}

static void empty(struct queue_of *q)
{
	while (q->n)
		free(pull(q, q->n - 1));
}

static struct parcel *new_parcel(void)
{
	struct parcel *p = calloc(1, sizeof(*p));

	CHECK(p);
	return p;
}

static void hold(uint32_t pos)
{
	CHECK(pos <= stream_end);
	held[pos] = true;
	while (held_upto <= stream_end && held[held_upto])
		held_upto++;
}

/* ---- the peer ------------------------------------------------------------------------------------ */

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
		xiw_put_be32(tcp + 24, now_ms());
	}
	memcpy(tcp + hlen, stream + p->pos, p->len);
	xiw_tcp_csum_fill(ip, tcp, hlen + p->len, NULL, 0);
	p->octets_len = ETH + XIW_IP4_MIN + hlen + p->len;
}

/* At most `len` octets from `pos`, as far as the window allows, and the FIN behind the last of them. */
static uint32_t transmit(uint32_t pos, uint32_t len, bool fin)
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

/* The end of the FPDU in which `pos` lies. */
static uint32_t fpdu_end(uint32_t pos)
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

/* The application takes what is delivered. */
static void take_completions(void);

/* What the peer makes of an acknowledgement: `tcp` in wire numbers. */
static void peer_ack(const uint8_t *tcp, size_t len, uint32_t edge_before)
{
	struct xiw_tcp_seg a = {};
	uint32_t ack, to;

	CHECK(xiw_tcp_parse(tcp, len, len, &a) > 0 && a.flags & XIW_TCP_ACK);
	ack = a.ack - isn;
	/* What is committed is delivered: it is in the queue at least. */
	take_completions();
	to = ack + ((uint32_t)a.wnd << SCALE);
	CHECK((int32_t)ack >= 0 && ack <= peer_nxt + fin_sent, "acknowledges %u, sent were %u", ack,
	      peer_nxt);
	CHECK(ack <= held_upto, "acknowledges %u, but %u is with nobody", ack, held_upto);
	/* An old one changes nothing (RFC 9293 section 3.10.7.4). */
	if (ack < peer_una)
		return;
	/* Less than a unit is what scaling takes (RFC 7323 section 2.4). */
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

/* ---- the kernel's socket ------------------------------------------------------------------------- */

static void sock_advance(void)
{
	while (sock.rcv_nxt < STREAM_MAX && sock.has[sock.rcv_nxt]) {
		hold(sock.pos[sock.rcv_nxt]);
		sock.rcv_nxt++;
	}
	if (sock.fin_known && !sock.fin && sock.rcv_nxt == sock.fin_at) {
		sock.fin = true;
		hold(stream_end);
	}
}

static void sock_open(uint32_t octets)
{
	if ((int32_t)(sock.rcv_nxt + octets - sock.edge) > 0)
		sock.edge = sock.rcv_nxt + octets;
}

/* An IP packet in the socket's numbers. It must have a good checksum, or have come damaged. */
static void sock_receive(const uint8_t *ip, uint32_t len, const struct parcel *p)
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
	/* PAWS (RFC 7323 section 5.3), and what lies behind rcv_nxt. */
	if (timestamps && s.has_ts && (int32_t)(s.tsval - sock.ts_recent) < 0)
		return;
	if ((int32_t)(at - sock.rcv_nxt) <= 0)
		sock.ts_recent = s.tsval;
	if ((int32_t)(at + s.len - sock.rcv_nxt) < 0 || (int32_t)(at - sock.edge) > 0)
		return;
	for (uint32_t i = 0; i < s.len; i++) {
		if ((int32_t)(at + i - sock.rcv_nxt) < 0 || at + i >= STREAM_MAX ||
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

/* An acknowledgement of the socket's, as the egress program gets it. */
static struct parcel *sock_ack(void)
{
	struct parcel *p = new_parcel();
	uint8_t *ip = p->octets + ETH, *tcp = ip + XIW_IP4_MIN, *opt = tcp + XIW_TCP_MIN;
	uint32_t hlen, start, end, limit = sock.rcv_nxt + 2 * KERNEL_WINDOW;

	sock.owes_ack = false;
	/* A segment that began in the window was taken whole: it may be full, and a bit more. */
	sock_open(sock.rcv_nxt - sock.read < KERNEL_WINDOW
			  ? KERNEL_WINDOW - (sock.rcv_nxt - sock.read)
			  : 0);
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
		xiw_put_be32(opt + 4, now_ms());
		xiw_put_be32(opt + 8, sock.ts_recent);
		opt += XIW_TCPOPT_TS_ALIGNED;
	}
	for (start = sock.rcv_nxt; start < STREAM_MAX && start < limit && !sock.has[start];)
		start++;
	if (start < STREAM_MAX && start < limit) {
		for (end = start; end < STREAM_MAX && sock.has[end];)
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

/* ---- CPUs ---------------------------------------------------------------------------------------- */

static void cpu_ingress(struct cpu *c, struct parcel *p)
{
	struct xdp_packet x = { .octets = p->octets,
				.len = p->octets_len,
				.linear = p->octets_len };

	int action = xdp_ingress(&x, (unsigned int)(c - cpus));

	WORLD_LOCK();
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
	WORLD_UNLOCK();
}

static void cpu_egress(struct cpu *c, struct parcel *p)
{
	struct xdp_packet x = { .octets = p->octets,
				.len = p->octets_len,
				.linear = p->octets_len };

	int action = xdp_egress(&x, (unsigned int)(c - cpus));

	WORLD_LOCK();
	if (action == TC_ACT_UNSPEC)
		peer_ack(p->octets + ETH + XIW_IP4_MIN, p->octets_len - ETH - XIW_IP4_MIN,
			 c->edge_before);
	WORLD_UNLOCK();
	free(p);
}

static void cpu_run(void *arg)
{
	struct cpu *c = arg;
	struct parcel *p = c->job;

	c->job = NULL;
	if (c->egress)
		cpu_egress(c, p);
	else
		cpu_ingress(c, p);
}

/* Gives an idle CPU work. */
static inline void cpu_start(struct cpu *c, struct parcel *p, bool egress)
{
	CHECK(!c->fiber.busy);
	c->job = p;
	c->egress = egress;
	c->edge_before = edge;
	c->fiber.busy = true;
}

#endif /* XIW_TESTS_FUZZ_HANDOFF_WORLD_H */
