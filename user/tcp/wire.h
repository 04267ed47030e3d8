/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Headers of Ethernet, IPv4, IPv6 and TCP: offsets and values in wire order, read with base/be.h, and the parser of
 * TCP headers. Only the parser checks bounds.
 */
#ifndef XIW_TCP_WIRE_H
#define XIW_TCP_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/be.h"

/* Ethernet II */
enum {
	XIW_ETH_OFF_DST = 0,
	XIW_ETH_OFF_SRC = 6,
	XIW_ETH_OFF_TYPE = 12,
	XIW_ETH_LEN = 14,
	XIW_ETH_ADDR_LEN = 6,

	XIW_ETH_TYPE_IP4 = 0x0800,
	XIW_ETH_TYPE_IP6 = 0x86dd,
	XIW_ETH_TYPE_VLAN = 0x8100,
	XIW_VLAN_LEN = 4,
	XIW_VLAN_ID = 0x0fff,
	XIW_VLANS_MAX = 2, /* tags of a packet that xiw_ingress follows */
};

/* IPv4 (RFC 791) */
enum {
	XIW_IP4_OFF_VER_IHL = 0,
	XIW_IP4_OFF_TOS = 1,
	XIW_IP4_OFF_LEN = 2,
	XIW_IP4_OFF_ID = 4,
	XIW_IP4_OFF_FRAG = 6,
	XIW_IP4_OFF_TTL = 8,
	XIW_IP4_OFF_PROTO = 9,
	XIW_IP4_OFF_CSUM = 10,
	XIW_IP4_OFF_SRC = 12,
	XIW_IP4_OFF_DST = 16,
	XIW_IP4_MIN = 20,

	XIW_IP4_DF = 0x4000,
	XIW_IP4_MF = 0x2000,
};

/* IPv6 (RFC 8200) */
enum {
	XIW_IP6_OFF_LEN = 4,
	XIW_IP6_OFF_NEXT = 6,
	XIW_IP6_OFF_HOPS = 7,
	XIW_IP6_OFF_SRC = 8,
	XIW_IP6_OFF_DST = 24,
	XIW_IP6_LEN = 40,
};

enum {
	XIW_IP_PROTO_TCP = 6,
	/* RFC 3168 section 5: the ECN field of the IP header */
	XIW_ECN_NOT_ECT = 0,
	XIW_ECN_ECT0 = 2,
	XIW_ECN_CE = 3,
};

/* TCP (RFC 9293 section 3.1) */
enum {
	XIW_TCP_OFF_SPORT = 0,
	XIW_TCP_OFF_DPORT = 2,
	XIW_TCP_OFF_SEQ = 4,
	XIW_TCP_OFF_ACK = 8,
	XIW_TCP_OFF_DOFF = 12,
	XIW_TCP_OFF_FLAGS = 13,
	XIW_TCP_OFF_WND = 14,
	XIW_TCP_OFF_CSUM = 16,
	XIW_TCP_OFF_URG = 18,
	XIW_TCP_MIN = 20,
	XIW_TCP_MAX = 60,
};

enum {
	XIW_TCP_FIN = 0x01,
	XIW_TCP_SYN = 0x02,
	XIW_TCP_RST = 0x04,
	XIW_TCP_PSH = 0x08,
	XIW_TCP_ACK = 0x10,
	XIW_TCP_URG = 0x20,
	XIW_TCP_ECE = 0x40,
	XIW_TCP_CWR = 0x80,
};

enum {
	XIW_TCPOPT_EOL = 0,
	XIW_TCPOPT_NOP = 1,
	XIW_TCPOPT_SACK = 5, /* RFC 2018 section 3 */
	XIW_TCPOPT_TS = 8,   /* RFC 7323 section 3.2 */

	XIW_TCPOPT_TS_LEN = 10,
	XIW_TCPOPT_TS_ALIGNED = 12, /* NOP, NOP, TS */
	/* The options of nearly every segment begin with NOP, NOP, TS, 10 (RFC 7323 appendix A). */
	XIW_TCPOPT_TS_ALIGNED_HEAD = 0x0101080a,
	XIW_TCPOPT_SACK_BLOCK = 8,
	XIW_TCP_MAX_SACK = 4,
};

static inline unsigned int xiw_ip4_hlen(const uint8_t *ip)
{
	return (ip[XIW_IP4_OFF_VER_IHL] & 0x0f) * 4u;
}

static inline uint8_t xiw_ip4_ecn(const uint8_t *ip)
{
	return ip[XIW_IP4_OFF_TOS] & 3;
}

static inline uint8_t xiw_ip6_ecn(const uint8_t *ip)
{
	return (ip[1] >> 4) & 3;
}

static inline unsigned int xiw_tcp_hlen(const uint8_t *tcp)
{
	return (tcp[XIW_TCP_OFF_DOFF] >> 4) * 4u;
}

struct xiw_tcp_sack {
	uint32_t start, end;
};

/* A segment as the receiver sees it: wire numbers, host byte order. */
struct xiw_tcp_seg {
	uint32_t seq;
	uint32_t len; /* payload octets */
	uint32_t ack;
	uint16_t wnd;  /* the field, unscaled */
	uint8_t flags; /* XIW_TCP_* */
	uint8_t ecn;   /* XIW_ECN_*, from the IP header */
	bool has_ts;
	uint8_t nsack;
	uint32_t tsval, tsecr;
	struct xiw_tcp_sack sack[XIW_TCP_MAX_SACK];
};

/*
 * Parses `len` octets of options into the has_ts, tsval, tsecr, nsack and sack members of seg. NOP is stepped over, EOL
 * ends, and an unknown kind is skipped by its length. A length below 2, past the end, or wrong for the kind stops the
 * parsing; what came before it stays. Returns 0, or -EBADMSG when a length was wrong.
 */
int xiw_tcp_parse_options(const uint8_t *opt, size_t len, struct xiw_tcp_seg *seg);

/*
 * Parses the TCP header that begins at tcp. `avail` octets can be read there; `tcp_len` is the length of the whole
 * segment by the IP header, and may be longer, as the payload may be in other pieces. seg->ecn is not changed.
 * Malformed options do not fail the header: what was parsed before them counts. Returns the header's length, or
 * -EBADMSG when the header is cut or its data offset is wrong.
 */
int xiw_tcp_parse(const uint8_t *tcp, size_t avail, size_t tcp_len, struct xiw_tcp_seg *seg);

#endif
