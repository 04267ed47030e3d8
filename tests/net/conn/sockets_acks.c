// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cases of sockets.c: the ACKs of the direct path have the class and the hop limit of the socket's packets. */
#include "tests/net/conn/sockets.h"

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>

#include "tests/net/lib/plain.h"

#define PLACES (SIZE / PIECE)
#define MOST 50000u /* messages to the last of the packets that are waited for */
#define ENOUGH 5u   /* such packets */
#define NEW_TOS 0x48
#define NEW_HOPS 33

static int mark(int fd, void *ctx)
{
	const int tos = TOS, hops = HOPS;

	(void)ctx;
	return setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)) ||
			       setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof(tos)) ||
			       setsockopt(fd, IPPROTO_IP, IP_TTL, &hops, sizeof(hops)) ||
			       setsockopt(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &hops, sizeof(hops))
		       ? -errno
		       : 0;
}

/* The application changes its mind in the middle, while the socket sends nothing. */
static bool change(struct xiw_conn *c)
{
	struct xiw_conn_info i;
	bool v4;

	xiw_conn_info(c, &i, sizeof(i));
	v4 = IN6_IS_ADDR_V4MAPPED(&((struct sockaddr_in6 *)&i.remote)->sin6_addr);
	printf("before: %llu octets by the direct path, %llu ACKs of the engine\n",
	       (unsigned long long)i.octets_direct, (unsigned long long)i.acks_sent);
	CHECK(i.acks_sent);
	CHECK(!xiw_conn_setsockopt(c, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TOS : IPV6_TCLASS,
				   NEW_TOS));
	CHECK(!xiw_conn_setsockopt(c, v4 ? IPPROTO_IP : IPPROTO_IPV6,
				   v4 ? IP_TTL : IPV6_UNICAST_HOPS, NEW_HOPS));
	return true;
}

static bool receive(uint16_t port)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct xiw_conn_opts opts = { .size = sizeof(opts), .prepare = mark };
	struct xiw_conn *c = NULL;
	struct xiw_conn_info i;
	struct xiw_listener *l;
	struct xiw_region *r;

	CHECK(begin(&r));
	CHECK(!xiw_listen(engine, (struct sockaddr *)&any, sizeof(any), &opts, &l));
	UNTIL(last.event == XIW_EV_CONNECTED);
	c = last.conn;
	UNTIL(written >= 100);
	CHECK(change(c));
	UNTIL(last.event == XIW_EV_EOF);
	xiw_conn_close(c);
	UNTIL(last.event == XIW_EV_CLOSED);
	xiw_conn_info(c, &i, sizeof(i));
	printf("after: %llu octets by the direct path, %llu ACKs of the engine\n",
	       (unsigned long long)i.octets_direct, (unsigned long long)i.acks_sent);
	for (uint32_t k = 0; k < PLACES * PIECE && k < written * PIECE; k++)
		CHECK(memory[k] == octet(k));
	xiw_conn_free(c);
	xiw_listener_free(l);
	xiw_region_free(r);
	xiw_engine_destroy(engine);
	return true;
}

static int watch_interface(const char *ifname)
{
	struct sockaddr_ll ll = { .sll_family = AF_PACKET,
				  .sll_protocol = htons(ETH_P_ALL),
				  .sll_ifindex = (int)if_nametoindex(ifname) };
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK, htons(ETH_P_ALL));

	if (fd < 0 || bind(fd, (struct sockaddr *)&ll, sizeof(ll)))
		die_errno("packet socket");
	return fd;
}

static struct {
	unsigned int old, new, wrong;
} seen;

/* One packet from the peer's port. A SYN-ACK is not the connection's yet. */
static void look_at(const uint8_t *p, ssize_t len, uint16_t port)
{
	const bool v4 = p[0] >> 4 == 4;
	const size_t tcp = v4 ? (size_t)(p[0] & 15) * 4 : 40;
	uint8_t class, hops;

	if (len < (ssize_t)tcp + 20 || (v4 ? p[9] : p[6]) != IPPROTO_TCP ||
	    (p[tcp] << 8 | p[tcp + 1]) != port || p[tcp + 13] & 2)
		return;
	class = v4 ? p[1] : (uint8_t)(p[0] << 4 | p[1] >> 4);
	hops = v4 ? p[8] : p[7];
	if (class == NEW_TOS && hops == NEW_HOPS)
		seen.new ++;
	else if (class == TOS && hops == HOPS && !seen.new)
		seen.old++;
	else if (!seen.new && (class == NEW_TOS || hops == NEW_HOPS))
		; /* between the two calls */
	else
		seen.wrong++;
}

static void look(int fd, uint16_t port)
{
	struct sockaddr_ll from;
	socklen_t len = sizeof(from);
	uint8_t p[2048];
	ssize_t n;

	while ((n = recvfrom(fd, p, sizeof(p), 0, (struct sockaddr *)&from, &len)) > 0)
		if (from.sll_pkttype != PACKET_OUTGOING)
			look_at(p, n, port);
}

int send_and_watch(const char *host, uint16_t port, const char *ifname)
{
	struct xiw_ddp_hdr h = { .tagged = true, .last = true, .dv = 1, .stag = STAG };
	uint8_t header[XIW_DDP_HDR_MAX], fpdu[2048], payload[PIECE];
	int fd = watch_interface(ifname);
	struct xiw_mpa_tx tx;

	plain_connect(host, port, NULL);
	tx = plain_startup();
	for (unsigned int k = 0; k < MOST && seen.new < ENOUGH; k++) {
		h.to = (uint64_t)(k % PLACES) * PIECE;
		for (uint32_t i = 0; i < PIECE; i++)
			payload[i] = octet(h.to + i);
		if (send(plain.sock, fpdu,
			 xiw_mpa_build(&tx, fpdu, header, xiw_ddp_hdr_encode(&h, header), payload,
				       PIECE),
			 MSG_EOR | MSG_NOSIGNAL) < 0)
			die_errno("send");
		poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 20);
		look(fd, port);
	}
	shutdown(plain.sock, SHUT_WR);
	while (recv(plain.sock, fpdu, sizeof(fpdu), 0) > 0)
		;
	look(fd, port);
	printf("%u packets as first set, %u as set later, %u otherwise\n", seen.old, seen.new,
	       seen.wrong);
	return !seen.old || seen.new < ENOUGH || seen.wrong;
}

int receive_marked(uint16_t port)
{
	if (receive(port))
		return 0;
	printf("%s\n", why);
	return 1;
}
