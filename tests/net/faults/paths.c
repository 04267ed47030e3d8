// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * paths - where injected segments go.
 *
 *   paths INTERFACE SOURCE DESTINATION
 *
 * Injects ten segments, and prints how many of them left by INTERFACE and how many arrived on lo. INTERFACE is also
 * the scope of link-local addresses.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "handoff/inject.h"
#include "tcp/wire.h"

#define SEGMENTS 10
#define PORT 42424

static int listen_on(const char *ifname)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET,
				  .sll_protocol = htons(ETH_P_ALL),
				  .sll_ifindex = (int)if_nametoindex(ifname) };
	int fd = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL));

	return fd >= 0 && at.sll_ifindex && !bind(fd, (struct sockaddr *)&at, sizeof(at)) ? fd : -1;
}

/* Going in, or out. */
static unsigned int count(int fd, bool out)
{
	struct sockaddr_ll from;
	uint8_t p[2048];
	unsigned int n = 0;
	ssize_t len;

	do {
		socklen_t size = sizeof(from);
		uint32_t tcp;

		len = recvfrom(fd, p, sizeof(p), MSG_DONTWAIT, (struct sockaddr *)&from, &size);
		tcp = p[0] >> 4 == 4 ? XIW_IP4_MIN : XIW_IP6_LEN;
		n += len >= tcp + XIW_TCP_MIN && (from.sll_pkttype == PACKET_OUTGOING) == out &&
		     xiw_get_be16(p + tcp + XIW_TCP_OFF_SPORT) == PORT;
	} while (len > 0);
	return n;
}

int main(int argc, char **argv)
{
	uint8_t head[XIW_IP6_LEN + XIW_TCP_MIN] = {}, octets[100] = "payload";
	struct xiw_vec payload = { octets, sizeof(octets) };
	struct xiw_inject what = {
		.ip = head, .seq = 1, .payload = &payload, .pieces = 1, .l4_off = XIW_IP6_LEN
	};
	struct xiw_injector in;
	int wire, lo;

	if (argc != 4)
		return 2;
	if (inet_pton(AF_INET, argv[2], head + XIW_IP4_OFF_SRC) == 1) {
		inet_pton(AF_INET, argv[3], head + XIW_IP4_OFF_DST);
		head[0] = 0x45;
		head[XIW_IP4_OFF_TTL] = 64;
		head[XIW_IP4_OFF_PROTO] = XIW_IP_PROTO_TCP;
		what.l4_off = XIW_IP4_MIN;
	} else {
		inet_pton(AF_INET6, argv[2], head + XIW_IP6_OFF_SRC);
		inet_pton(AF_INET6, argv[3], head + XIW_IP6_OFF_DST);
		head[0] = 0x60;
		head[XIW_IP6_OFF_HOPS] = 64;
		what.ifindex = if_nametoindex(argv[1]);
	}
	xiw_put_be16(head + what.l4_off + XIW_TCP_OFF_SPORT, PORT);
	xiw_put_be16(head + what.l4_off + XIW_TCP_OFF_DPORT, PORT);
	head[what.l4_off + XIW_TCP_OFF_DOFF] = XIW_TCP_MIN / 4 << 4;
	head[what.l4_off + XIW_TCP_OFF_FLAGS] = XIW_TCP_ACK;
	wire = listen_on(argv[1]);
	lo = listen_on("lo");
	if (wire < 0 || lo < 0 || xiw_injector_open(&in)) {
		perror("paths");
		return 1;
	}
	for (int i = 0; i < SEGMENTS; i++)
		xiw_inject(&in, &what);
	usleep(200000);
	printf("left %u, came by lo %u\n", count(wire, true), count(lo, false));
	xiw_injector_close(&in);
	return 0;
}
