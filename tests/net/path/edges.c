// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * edges - what a receiver acknowledges and offers, as the wire shows it: every segment from PORT, whether the engine
 * or the kernel sent it, is compared with the furthest acknowledgement and the furthest right edge of the window
 * before it (RFC 9293 section 3.8.6.2.1: a receiver does not shrink the window).
 *
 *   edges [-v] IF PORT
 *
 * Watches IF until SIGTERM, one IPv4 connection at a time. Prints "ready", and at the end one line of JSON: segments,
 * and those without data; how often an acknowledgement went back, and how often that was the engine's; how often the
 * edge went back, and how far; SACK blocks; acknowledgements of octets that were never sent; segments that the capture
 * lost. -v: prints each such step on standard error. Exit codes: 0, 2 usage.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/net/lib/octets.h"

enum { FIN = 1, SYN = 2, RST = 4, ACK = 16 };

static volatile sig_atomic_t ended;
static bool verbose;

static struct {
	unsigned long long segments, empty, acks_back, engines_back, edges_back, farthest;
	unsigned long long blocks, unsent;
	uint32_t ack, edge, seq, sent;
	unsigned int wscale;
	bool open;
} w;

static void on_term(int sig)
{
	(void)sig;
	ended = 1;
}

/* The option's data; NULL: there is none. */
static const uint8_t *option(const uint8_t *opt, size_t len, uint8_t kind, size_t *octets)
{
	for (size_t i = 0; i < len && opt[i]; i += opt[i] == 1 ? 1 : opt[i + 1]) {
		if (opt[i] == 1)
			continue;
		if (i + 1 >= len || opt[i + 1] < 2 || i + opt[i + 1] > len)
			break;
		*octets = opt[i + 1] - 2u;
		if (opt[i] == kind)
			return opt + i + 2;
	}
	return NULL;
}

/* RFC 2018 section 3: a block covers octets that were received. */
static void sack(const uint8_t *opt, size_t len)
{
	size_t octets = 0;
	const uint8_t *block = option(opt, len, 5, &octets);

	for (; octets >= 8 && block; octets -= 8, block += 8) {
		uint32_t start = (uint32_t)get(block, 4), end = (uint32_t)get(block + 4, 4);

		w.blocks++;
		if ((int32_t)(end - w.sent) <= 0 && (int32_t)(end - start) > 0)
			continue;
		w.unsent++;
		if (verbose)
			fprintf(stderr, "SACK of %u octets, to %+d of what was sent, %+d of ack\n",
				end - start, (int32_t)(end - w.sent), (int32_t)(end - w.ack));
	}
}

/* What the peer sends. */
static void other_way(const uint8_t *tcp, size_t len)
{
	size_t header = (tcp[12] >> 4) * 4u;
	uint32_t end = (uint32_t)get(tcp + 4, 4) + (uint32_t)(len - header) +
		       (tcp[13] & (SYN | FIN) ? 1 : 0);

	if (tcp[13] & SYN || (!(tcp[13] & RST) && (int32_t)(end - w.sent) > 0))
		w.sent = end;
}

static void segment(const uint8_t *ip, const uint8_t *tcp, size_t len)
{
	uint32_t seq = (uint32_t)get(tcp + 4, 4), ack = (uint32_t)get(tcp + 8, 4), edge;
	size_t header = (tcp[12] >> 4) * 4u;
	size_t octets;
	const uint8_t *scale;
	uint8_t flags = tcp[13];
	bool back;

	if (len < header || flags & RST || !(flags & ACK))
		return;
	if (flags & SYN) {
		scale = option(tcp + 20, header - 20, 3, &octets);
		w.wscale = scale ? *scale : 0;
		w.ack = ack;
		w.edge = ack + (uint32_t)get(tcp + 14, 2);
		w.open = true;
		return;
	}
	if (!w.open)
		return;
	edge = ack + ((uint32_t)get(tcp + 14, 2) << w.wscale);
	w.segments++;
	sack(tcp + 20, header - 20);
	w.unsent += (int32_t)(ack - w.sent) > 0;
	w.empty += len == header;
	back = (int32_t)(ack - w.ack) < 0;
	if (verbose && (back || (int32_t)(edge - w.edge) < 0))
		fprintf(stderr, "id %u seq %+d len %zu: ack %+d, edge %+d\n",
			(unsigned int)get(ip + 4, 2), (int32_t)(seq - w.seq), len - header,
			(int32_t)(ack - w.ack), (int32_t)(edge - w.edge));
	w.seq = seq;
	w.acks_back += back;
	/* Linux numbers the packets of a connection, and the engine does not. */
	w.engines_back += back && !get(ip + 4, 2);
	if ((int32_t)(edge - w.edge) < 0) {
		w.edges_back++;
		if (w.edge - edge > w.farthest)
			w.farthest = w.edge - edge;
	} else {
		w.edge = edge;
	}
	if ((int32_t)(ack - w.ack) > 0)
		w.ack = ack;
}

static int capture(const char *ifname)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK, htons(ETH_P_ALL)), size = 128 << 20;

	at.sll_ifindex = (int)if_nametoindex(ifname);
	if (fd < 0 || !at.sll_ifindex || bind(fd, (struct sockaddr *)&at, sizeof(at)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size))) {
		fprintf(stderr, "edges: %s: %s\n", ifname, strerror(errno));
		exit(2);
	}
	return fd;
}

static void look(int fd, unsigned int port)
{
	static uint8_t packet[65536];
	struct sockaddr_ll from;
	socklen_t size = sizeof(from);
	ssize_t n;

	while ((n = recvfrom(fd, packet, sizeof(packet), 0, (struct sockaddr *)&from, &size)) > 0) {
		size_t ip = (packet[0] & 15) * 4u, len = (size_t)n;

		if (len < ip + 20 || packet[0] >> 4 != 4 || packet[9] != IPPROTO_TCP)
			continue;
		if (get(packet + 2, 2) < len)
			len = get(packet + 2, 2);
		if (from.sll_pkttype == PACKET_OUTGOING && get(packet + ip + 2, 2) == port)
			other_way(packet + ip, len - ip);
		else if (from.sll_pkttype == PACKET_HOST && get(packet + ip, 2) == port)
			segment(packet, packet + ip, len - ip);
	}
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_term };
	struct tpacket_stats st = { 0 };
	socklen_t len = sizeof(st);
	struct pollfd p;

	if (argc == 4 && !strcmp(argv[1], "-v")) {
		verbose = true;
		argv++, argc--;
	}
	if (argc != 3)
		return 2;
	sigaction(SIGTERM, &act, NULL);
	p = (struct pollfd){ .fd = capture(argv[1]), .events = POLLIN };
	puts("ready");
	fflush(stdout);
	do {
		poll(&p, 1, 50);
		look(p.fd, (unsigned int)atoi(argv[2]));
	} while (!ended);
	getsockopt(p.fd, SOL_PACKET, PACKET_STATISTICS, &st, &len);
	printf("{\"segments\":%llu,\"empty\":%llu,\"acks_back\":%llu,\"engines_back\":%llu,"
	       "\"edges_back\":%llu,\"farthest\":%llu,\"blocks\":%llu,\"unsent\":%llu,"
	       "\"lost\":%u}\n",
	       w.segments, w.empty, w.acks_back, w.engines_back, w.edges_back, w.farthest, w.blocks,
	       w.unsent, st.tp_drops);
	return 0;
}
