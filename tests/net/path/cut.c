// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cut IF MAC SRC DST LEN MORE PORT - sends what hardware makes of an UDP datagram that it cuts in two: a frame of LEN
 * bytes to MAC, whose IP header says that MORE bytes follow, and then these. They look like a frame of their own, with
 * a datagram to PORT.
 */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/net/lib/common.h"

static uint8_t mac[6];
static struct in_addr src, dst;

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static uint32_t sum(const uint8_t *p, uint32_t len)
{
	uint32_t s = 0;

	for (uint32_t i = 0; i < len; i += 2)
		s += (uint32_t)p[i] << 8 | p[i + 1];
	s = (s & 0xffff) + (s >> 16);
	return (s & 0xffff) + (s >> 16);
}

/* A frame of `len` bytes whose headers speak of `said`. */
static void frame(uint8_t *p, uint32_t len, uint32_t said, uint32_t port)
{
	memset(p, 0, len);
	memcpy(p, mac, 6);
	p[6] = 2;
	put16(p + 12, 0x0800);
	p[14] = 0x45;
	put16(p + 16, said - 14);
	p[22] = 64;
	p[23] = IPPROTO_UDP;
	memcpy(p + 26, &src, 4);
	memcpy(p + 30, &dst, 4);
	put16(p + 24, ~sum(p + 14, 20));
	put16(p + 34, 5555);
	put16(p + 36, port);
	put16(p + 38, said - 34);
}

int main(int argc, char **argv)
{
	static uint8_t first[65536], rest[65536];
	struct sockaddr_ll to = { .sll_family = AF_PACKET };
	uint32_t len, more;
	int fd;

	if (argc != 8 ||
	    sscanf(argv[2], "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2], &mac[3],
		   &mac[4], &mac[5]) != 6 ||
	    !inet_aton(argv[3], &src) || !inet_aton(argv[4], &dst))
		return 2;
	len = (uint32_t)atoi(argv[5]);
	more = (uint32_t)atoi(argv[6]);
	frame(first, len, len + more, 9);
	frame(rest, more, more, (uint32_t)atoi(argv[7]));
	to.sll_ifindex = (int)if_nametoindex(argv[1]);
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&to, sizeof(to)))
		die_errno("socket");
	if (send(fd, first, len, 0) < 0 || send(fd, rest, more, 0) < 0)
		die_errno("send");
	return 0;
}
