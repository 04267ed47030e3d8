// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/net/lib/raw.h"

#define PAYLOAD_MAX (8 * RAW_HEADERS_MAX + 60 + RAW_DATA_MAX) /* of an IP packet */
#define PACKET_MAX (14 + 4 + 4 * RAW_HEADERS_MAX + 40 + 16 + PAYLOAD_MAX)
#define FRAGMENT_ID 0x5eed0000u

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

/* RFC 1071: 16-bit words in network order. */
static uint32_t sum(const uint8_t *p, size_t len, uint32_t acc)
{
	for (; len > 1; p += 2, len -= 2)
		acc += (uint32_t)(p[0] << 8 | p[1]);
	if (len)
		acc += (uint32_t)(p[0] << 8);
	while (acc >> 16)
		acc = (acc & 0xffff) + (acc >> 16);
	return acc;
}

static uint32_t pseudo(bool v6, const uint8_t *src, const uint8_t *dst, uint32_t len)
{
	size_t n = v6 ? 16 : 4;

	return sum(src, n, sum(dst, n, 6 + (len >> 16) + (len & 0xffff)));
}

/* ---- out ----------------------------------------------------------------------------------------- */

static uint8_t *build_headers(uint8_t *p, unsigned int n)
{
	for (; n; n--, p += 8)
		memcpy(p, n > 1 ? "\74\0\1\4\0\0\0\0" : "\6\0\1\4\0\0\0\0", 8); /* PadN */
	return p;
}

/* What IP carries. Returns its length. */
static uint32_t build_tcp(const struct raw *r, const struct raw_seg *s, uint8_t *p)
{
	uint32_t hlen = 20 + (s->opt_len + 3u) / 4 * 4, len = hlen + s->len;
	uint32_t headers = r->v6 ? 8u * s->headers : 0;
	uint16_t check;

	p = build_headers(p, headers / 8);
	memset(p, 0, hlen);
	put(p, r->sport, 2);
	put(p + 2, r->dport, 2);
	put(p + 4, s->seq, 4);
	put(p + 8, s->ack, 4);
	p[12] = (uint8_t)((s->data_offset ? s->data_offset : hlen / 4) << 4);
	p[13] = s->flags;
	put(p + 14, s->wnd, 2);
	put(p + 18, s->urgent, 2);
	memcpy(p + 20, s->opt, s->opt_len);
	if (s->len)
		memcpy(p + hlen, s->data, s->len);
	check = (uint16_t)~sum(p, len, pseudo(r->v6, r->src, r->dst, len));
	put(p + 16, s->bad_csum ? check ^ 0x0100u : check, 2);
	return headers + len;
}

static uint8_t *build_eth(const struct raw *r, const struct raw_seg *s, uint8_t *p)
{
	memcpy(p, r->dst_mac, 6);
	if (s->group)
		memset(p, 0xff, 6);
	if (s->foreign)
		p[5] ^= 0x55;
	memcpy(p + 6, r->src_mac, 6);
	if (s->spoofed)
		p[11] ^= 0x55;
	p += 12;
	if (s->vlan) {
		put(p, ETH_P_8021Q, 2);
		put(p + 2, s->vlan, 2);
		p += 4;
	}
	for (unsigned int i = 0; i < s->tags; i++, p += 4) {
		put(p, i % 2 ? ETH_P_8021AD : ETH_P_8021Q, 2);
		put(p + 2, i % 8 << 13, 2);
	}
	put(p, r->v6 ? ETH_P_IPV6 : ETH_P_IP, 2);
	return p + 2;
}

static const struct {
	const char *v4, *v6; /* of an extension header, what is behind the number of the next one */
	uint8_t v4_len, header;
} raw_ips[] = {
	[RAW_IP_PLAIN] = { "", "", 0, 0 },
	[RAW_IP_PADDED] = { "\1\1\1\1", "\0\1\4\0\0\0\0", 4, 60 },
	[RAW_IP_ROUTED] = { "\203\7\10\12\115\0\11\0", "\0\4\0\0\0\0\0", 8, 43 },
	[RAW_IP_UNKNOWN] = { "\7\7\3\0\0\0\0\0", "\0\136\4\0\0\0\0", 8, 60 },
	[RAW_IP_HOPS] = { "\224\0\1\1", "\0\136\4\0\0\0\0", 4, 0 },
};

/* An IPv4 header for `len` octets of payload; `frag`: flags and offset, as the field has them. */
static uint8_t *build_ip4(struct raw *r, const struct raw_seg *s, uint8_t *p, uint32_t len,
			  uint32_t frag)
{
	uint32_t hlen = 20u + raw_ips[s->ip].v4_len;
	uint16_t check;

	memset(p, 0, hlen);
	p[0] = (uint8_t)(0x40 | hlen / 4);
	p[1] = s->ecn;
	put(p + 2, hlen + len, 2);
	put(p + 4, r->id, 2);
	put(p + 6, frag, 2);
	p[8] = 64;
	p[9] = 6;
	memcpy(p + 12, r->src, 4);
	memcpy(p + 16, r->dst, 4);
	memcpy(p + 20, raw_ips[s->ip].v4, hlen - 20);
	check = (uint16_t)~sum(p, hlen, 0);
	put(p + 10, s->bad_ip_csum ? check ^ 0x0001u : check, 2);
	return p + hlen;
}

/* frag: bit 31 says that there is a Fragment header; the rest is its offset and M flag. */
static uint8_t *build_ip6(struct raw *r, const struct raw_seg *s, uint8_t *p, uint32_t len,
			  uint32_t frag)
{
	uint32_t ext = (s->ip ? 8 : 0) + (frag ? 8 : 0);
	uint8_t *next = p + 6;

	memset(p, 0, 40 + ext);
	put(p, 6u << 28 | (uint32_t)s->ecn << 20, 4);
	put(p + 4, ext + len, 2);
	p[7] = 64;
	memcpy(p + 8, r->src, 16);
	memcpy(p + 24, r->dst, 16);
	p += 40;
	if (s->ip) {
		*next = raw_ips[s->ip].header;
		next = p;
		memcpy(p + 1, raw_ips[s->ip].v6, 7);
		p += 8;
	}
	if (frag) {
		*next = 44;
		next = p;
		put(p + 2, frag & 0xffff, 2);
		put(p + 4, FRAGMENT_ID + r->id, 4);
		p += 8;
	}
	*next = s->headers ? 60 : 6;
	return p;
}

#define BUSY_MS 5000

static bool put_packet(struct raw *r, const struct raw_seg *s, const uint8_t *payload, uint32_t len,
		       uint32_t frag)
{
	uint8_t packet[PACKET_MAX], *p = build_eth(r, s, packet);

	p = r->v6 ? build_ip6(r, s, p, len, frag) : build_ip4(r, s, p, len, frag);
	memcpy(p, payload, len);
	/* A full ring at the wire's other end: nothing was sent, and soon there is room. */
	for (int i = 0; i < BUSY_MS; i++) {
		if (send(r->fd, packet, (size_t)(p + len - packet), 0) == p + len - packet)
			return true;
		if (errno != ENOBUFS)
			return false;
		usleep(1000);
	}
	return false;
}

bool raw_send(struct raw *r, const struct raw_seg *s)
{
	uint8_t tcp[PAYLOAD_MAX];
	uint32_t len = build_tcp(r, s, tcp);

	return put_packet(r, s, tcp, len, r->v6 ? 0 : 0x4000 /* DF */);
}

bool raw_send_fragments(struct raw *r, const struct raw_seg *s, uint32_t cut, int only)
{
	uint8_t tcp[PAYLOAD_MAX];
	uint32_t len = build_tcp(r, s, tcp);
	bool ok = true;

	r->id++;
	if (only != 2)
		ok = put_packet(r, s, tcp, cut, r->v6 ? 1u << 31 | 1 : 0x2000);
	if (only != 1)
		ok &= put_packet(r, s, tcp + cut, len - cut, r->v6 ? 1u << 31 | cut : cut / 8);
	return ok;
}

/* ---- in ------------------------------------------------------------------------------------------ */

static bool read_options(const uint8_t *p, const uint8_t *end, struct raw_got *g)
{
	while (p < end && *p) {
		if (*p == 1) {
			p++;
			continue;
		}
		if (end - p < 2 || p[1] < 2 || p[1] > end - p)
			return false;
		if (p[0] == 3) {
			g->wscale = p[2];
		} else if (p[0] == 4) {
			g->sack_ok = true;
		} else if (p[0] == 5) {
			for (int i = 2; i + 8 <= p[1] && g->nsack < RAW_SACKS; i += 8) {
				g->sack[g->nsack][0] = (uint32_t)get(p + i, 4);
				g->sack[g->nsack++][1] = (uint32_t)get(p + i + 4, 4);
			}
		} else if (p[0] == 8) {
			g->has_ts = true;
			g->tsval = (uint32_t)get(p + 2, 4);
			g->tsecr = (uint32_t)get(p + 6, 4);
		}
		p += p[1];
	}
	return true;
}

static void read_packet(const struct raw *r, const uint8_t *p, size_t n, struct raw_got *g)
{
	size_t ip_len, hlen;

	*g = (struct raw_got){ .wscale = -1, .for_me = !memcmp(p, r->src_mac, 6) };
	p += 14;
	n -= 14;
	if (r->v6) {
		ip_len = get(p + 4, 2);
		g->ecn = p[1] >> 4 & 3;
		g->tclass = (uint8_t)(get(p, 2) >> 4 & 0xfc);
		g->label = (uint32_t)get(p, 4) & 0xfffff;
		g->hops = p[7];
		p += 40;
		n -= 40;
	} else {
		if (p[0] != 0x45 || sum(p, 20, 0) != 0xffff || get(p + 2, 2) < 20)
			return;
		ip_len = get(p + 2, 2) - 20;
		g->ecn = p[1] & 3;
		g->tclass = p[1] & 0xfc;
		g->hops = p[8];
		p += 20;
		n -= 20;
	}
	hlen = (size_t)(p[12] >> 4) * 4;
	if (ip_len > n || ip_len < 20 || hlen < 20 || hlen > ip_len)
		return;
	g->seq = (uint32_t)get(p + 4, 4);
	g->ack = (uint32_t)get(p + 8, 4);
	g->flags = p[13];
	g->wnd = (uint16_t)get(p + 14, 2);
	g->len = (uint32_t)(ip_len - hlen);
	memcpy(g->data, p + hlen, g->len < sizeof(g->data) ? g->len : sizeof(g->data));
	g->good = read_options(p + 20, p + hlen, g) &&
		  sum(p, ip_len, pseudo(r->v6, r->dst, r->src, (uint32_t)ip_len)) == 0xffff;
}

bool raw_receive(struct raw *r, struct raw_got *got, int timeout_ms)
{
	struct pollfd pfd = { .fd = r->fd, .events = POLLIN };
	uint8_t packet[PACKET_MAX];
	ssize_t n;

	if (poll(&pfd, 1, timeout_ms) != 1)
		return false;
	n = recv(r->fd, packet, sizeof(packet), MSG_DONTWAIT);
	if (n < 14 + (r->v6 ? 40 : 20) + 20)
		return false;
	read_packet(r, packet, (size_t)n, got);
	return true;
}

/* TCP to our port; headers in front of it have no options. */
static bool set_filter(int fd, bool v6, uint16_t port)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, v6 ? ETH_P_IPV6 : ETH_P_IP, 0, 5),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, v6 ? 20 : 23),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 6, 0, 3),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, v6 ? 56 : 36),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	return !setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
}

bool raw_open(struct raw *r, const char *ifname)
{
	struct sockaddr_ll ll = { .sll_family = AF_PACKET,
				  .sll_protocol = htons(ETH_P_ALL),
				  .sll_ifindex = (int)if_nametoindex(ifname) };
	int one = 1, size = 4 << 20;

	/* Protocol 0: nothing is received until there is a filter, and the interface. */
	r->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (r->fd < 0)
		return false;
	setsockopt(r->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	return ll.sll_ifindex &&
	       !setsockopt(r->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) &&
	       set_filter(r->fd, r->v6, r->sport) &&
	       !bind(r->fd, (struct sockaddr *)&ll, sizeof(ll));
}

unsigned int raw_lost(struct raw *r)
{
	struct tpacket_stats stats = {};
	socklen_t len = sizeof(stats);

	return getsockopt(r->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len) ? 0 : stats.tp_drops;
}

void raw_close(struct raw *r)
{
	close(r->fd);
}
