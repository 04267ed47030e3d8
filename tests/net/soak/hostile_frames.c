// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/net/soak/hostile_frames.h"

#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <unistd.h>

#include "tests/net/lib/octets.h"

static uint64_t rng;

static uint32_t rnd(uint32_t below)
{
	return lcg(&rng, below);
}

static uint16_t checksum(const uint8_t *p, size_t len, uint32_t sum)
{
	for (size_t i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	if (len & 1)
		sum += (uint32_t)p[len - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* A TCP segment, mostly well formed, with random addresses, numbers and payload. */
static size_t forge(uint8_t *f, const uint8_t mac[6], const struct sockaddr_in *in)
{
	uint32_t dst = ntohl(in->sin_addr.s_addr), len = rnd(600), tcp_len = 20 + len;
	uint8_t *ip = f + 14, *t = ip + 20;

	for (int i = 0; i < 6; i++) {
		f[i] = rnd(8) ? mac[i] : (uint8_t)(rnd(256) & 0xfe);
		f[6 + i] = (uint8_t)(rnd(256) & 0xfe);
	}
	put(f + 12, ETH_P_IP, 2);
	memset(ip, 0, 40);
	ip[0] = 0x45;
	put(ip + 2, 20 + tcp_len, 2);
	put(ip + 6, rnd(20) ? 0 : rnd(65536), 2); /* fragments */
	ip[8] = 64;
	ip[9] = 6;
	/* Mostly from the peers, whose address is one below the target's. */
	put(ip + 12, rnd(4) ? dst - 1 : rnd(UINT32_MAX), 4);
	put(ip + 16, rnd(8) ? dst : dst + 10 + rnd(10), 4);
	put(ip + 10, checksum(ip, 20, 0), 2);
	put(t, 32768 + rnd(28232), 2);
	put(t + 2, ntohs(in->sin_port), 2);
	put(t + 4, rnd(UINT32_MAX), 4);
	put(t + 8, rnd(UINT32_MAX), 4);
	t[12] = (uint8_t)((rnd(10) ? 5 : rnd(16)) << 4);
	t[13] = (uint8_t)(rnd(3) ? 0x10 : rnd(256));
	put(t + 14, rnd(65536), 2);
	for (uint32_t i = 0; i < len; i++)
		t[20 + i] = (uint8_t)rnd(256);
	put(t + 16, rnd(8) ? checksum(t, tcp_len, checksum(ip + 12, 8, 6 + tcp_len) ^ 0xffff) : 0,
	    2);
	return 14 + 20 + tcp_len;
}

void send_frames(const char *interface, const uint8_t mac[6], const struct sockaddr_in *target,
		 uint64_t seed)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET,
				  .sll_ifindex = (int)if_nametoindex(interface) };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	uint8_t f[1600];

	rng = seed;
	if (fd < 0 || bind(fd, (struct sockaddr *)&to, sizeof(to)))
		die_errno("packet socket");
	for (;;) {
		for (int i = 0; i < 20; i++)
			send(fd, f, forge(f, mac, target), 0);
		usleep(5000);
	}
}
