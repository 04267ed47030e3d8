/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A scripted TCP endpoint on an AF_PACKET socket: it sends segments with any fields, and parses those that come back.
 * Its address belongs to no interface, so that no kernel answers for it. Nothing here comes from the library.
 */
#ifndef XIW_TEST_NET_RAW_H
#define XIW_TEST_NET_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/net/lib/octets.h"

enum {
	RAW_FIN = 0x01,
	RAW_SYN = 0x02,
	RAW_RST = 0x04,
	RAW_PSH = 0x08,
	RAW_ACK = 0x10,
	RAW_URG = 0x20,
	RAW_ECE = 0x40,
	RAW_CWR = 0x80,
};

enum { RAW_NOT_ECT = 0, RAW_ECT0 = 2, RAW_CE = 3 };

/* What is between the IP header and TCP's. Linux refuses all but the first, as long as sysctl says nothing else. */
enum raw_ip {
	RAW_IP_PLAIN,	/* nothing */
	RAW_IP_PADDED,	/* No Operation; IPv6: Destination Options with padding */
	RAW_IP_ROUTED,	/* a source route that is used up; IPv6: Routing header 4, no segments left */
	RAW_IP_UNKNOWN, /* a Record Route that is malformed; IPv6: a destination option "discard" */
	RAW_IP_HOPS,	/* an option without length; IPv6: a hop-by-hop option "discard" */
};

#define RAW_DATA_MAX 9000
#define RAW_HEADERS_MAX 64 /* .tags and .headers */
#define RAW_SACKS 4

struct raw {
	int fd;
	bool v6;
	uint8_t src[16], dst[16]; /* as on the wire; IPv4: the first four */
	uint8_t src_mac[6], dst_mac[6];
	uint16_t sport, dport;
	uint32_t id; /* of the last packet that went in fragments */
};

/* A segment to send: numbers as on the wire. */
struct raw_seg {
	uint32_t seq, ack;
	uint8_t flags;
	uint16_t wnd, urgent;
	uint8_t opt[40]; /* options; opt_len need not be a multiple of 4 */
	uint8_t opt_len;
	uint8_t data_offset; /* instead of what is right; 0: right */
	uint8_t ecn;
	bool bad_csum, bad_ip_csum;
	enum raw_ip ip;
	bool group;	 /* to Ethernet's broadcast address */
	bool foreign;	 /* to another host's */
	bool spoofed;	 /* from another host's */
	uint16_t vlan;	 /* 802.1Q tag control information; 0: no tag */
	uint8_t tags;	 /* so many more, 802.1Q and 802.1ad in turn, which only say a priority */
	uint8_t headers; /* IPv6: so many Destination Options headers, behind a Fragment header */
	const uint8_t *data;
	uint32_t len;
};

/* A segment that came. */
struct raw_got {
	uint32_t seq, ack, len;
	uint8_t flags, ecn;
	uint16_t wnd;
	bool good;	      /* lengths and checksums are right */
	bool for_me;	      /* by its Ethernet address */
	uint8_t tclass, hops; /* without ECN */
	uint32_t label;
	bool has_ts, sack_ok;
	uint32_t tsval, tsecr;
	int wscale; /* -1: none */
	unsigned int nsack;
	uint32_t sack[RAW_SACKS][2];
	uint8_t data[64]; /* the first octets */
};

/* Binds to `ifname` of this thread's network namespace. False: errno. */
bool raw_open(struct raw *r, const char *ifname);
void raw_close(struct raw *r);
/* Segments that came and found no room in the socket's buffer, since the last call. */
unsigned int raw_lost(struct raw *r);

bool raw_send(struct raw *r, const struct raw_seg *s);
/* In fragments: `cut` octets of IP payload in the first (a multiple of 8). `only`: 0 both, else 1 or 2. */
bool raw_send_fragments(struct raw *r, const struct raw_seg *s, uint32_t cut, int only);
/* The next segment, or false after timeout_ms. */
bool raw_receive(struct raw *r, struct raw_got *got, int timeout_ms);

#endif
