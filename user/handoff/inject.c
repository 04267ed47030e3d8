// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "handoff/inject.h"
#include "tcp/csum.h"
#include "tcp/segment.h"
#include "tcp/wire.h"

#define PIECES_MAX 8
#define LOOPBACK_IFINDEX 1 /* lo, in every network namespace */

/*
 * A segment older than the newest TSval injected, but by less than this, takes that one. All other values are newer, or
 * that one is so old that numbers have wrapped.
 */
#define TSVAL_AHEAD (1u << 16)

const struct xiw_injector xiw_injector_none = { .fd4 = -1, .fd6 = -1, .lo6 = -1 };

/*
 * A packet socket on lo, whose packets go there whatever the routes say. A raw IPv6 socket that is bound to lo finds no
 * route to another interface's address.
 */
static int open_lo6(void)
{
	struct sockaddr_ll lo = { .sll_family = AF_PACKET, .sll_ifindex = LOOPBACK_IFINDEX };
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&lo, sizeof(lo))) {
		close(fd);
		return -1;
	}
	return fd;
}

int xiw_injector_open(struct xiw_injector *in)
{
	int one = 1, size = 4 << 20;

	*in = xiw_injector_none;
	in->fd4 = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_RAW);
	if (in->fd4 < 0)
		return -errno;
	/*
	 * If the address has been removed meanwhile, a segment in the peer's name must not leave by the default route.
	 */
	if (setsockopt(in->fd4, SOL_SOCKET, SO_BINDTODEVICE, "lo", sizeof("lo"))) {
		int err = -errno;

		xiw_injector_close(in);
		return err;
	}
	in->lo6 = open_lo6();
	in->fd6 = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_RAW);
	if (in->fd6 >= 0 && setsockopt(in->fd6, IPPROTO_IPV6, IPV6_HDRINCL, &one, sizeof(one))) {
		close(in->fd6);
		in->fd6 = -1;
	}
	/* A fall-back injects a window's worth at once. Without privilege the default size must do. */
	setsockopt(in->fd4, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	if (in->fd6 >= 0)
		setsockopt(in->fd6, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	if (in->lo6 >= 0)
		setsockopt(in->lo6, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	return 0;
}

void xiw_injector_close(struct xiw_injector *in)
{
	if (in->fd4 >= 0)
		close(in->fd4);
	if (in->fd6 >= 0)
		close(in->fd6);
	if (in->lo6 >= 0)
		close(in->lo6);
	in->fd4 = in->fd6 = in->lo6 = -1;
}

/* The offset of TSval in a TCP header whose options have been found well-formed, or 0. */
static unsigned int find_tsval(const uint8_t *tcp, unsigned int hlen)
{
	unsigned int i = XIW_TCP_MIN;

	while (i + 1 < hlen && tcp[i] != XIW_TCPOPT_EOL) {
		if (tcp[i] == XIW_TCPOPT_NOP) {
			i++;
			continue;
		}
		if (tcp[i + 1] < 2 || i + tcp[i + 1] > hlen)
			break;
		if (tcp[i] == XIW_TCPOPT_TS && tcp[i + 1] == XIW_TCPOPT_TS_LEN)
			return i + 2;
		i += tcp[i + 1];
	}
	return 0;
}

/* A frame has neither IP options nor extension headers: xiw_ingress leaves such packets to the kernel. */
static uint32_t build_ip(uint8_t *out, const uint8_t *ip, uint32_t tcp_len)
{
	struct xiw_ip_header h = xiw_ip_read(ip);

	/* If this host is a router and the address has just been removed, the packet must not be forwarded. */
	if (h.version == 6)
		h.hops = 1;
	return xiw_ip_build(out, &h, tcp_len);
}

/*
 * A link-local address belongs to the socket on its own interface only, which a packet on lo does not arrive on. So the
 * routes decide where the packet goes, and if the address has been removed, they lead to the link. To prevent that, the
 * address is also named as the source, which the kernel refuses if the interface does not have it (unless
 * net.ipv6.ip_nonlocal_bind is set).
 */
static int send_link_local(struct xiw_injector *in, const uint8_t *ip, uint32_t ifindex,
			   struct msghdr *msg)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_scope_id = ifindex };
	struct in6_pktinfo from = { .ipi6_ifindex = ifindex };
	union {
		struct cmsghdr head;
		char octets[CMSG_SPACE(sizeof(from))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(from)),
				.cmsg_level = IPPROTO_IPV6,
				.cmsg_type = IPV6_PKTINFO } };

	memcpy(&to.sin6_addr, ip + XIW_IP6_OFF_DST, 16);
	from.ipi6_addr = to.sin6_addr;
	memcpy(CMSG_DATA(&control.head), &from, sizeof(from));
	msg->msg_name = &to;
	msg->msg_namelen = sizeof(to);
	msg->msg_control = &control;
	/* Without the padding: for a longer one the kernel allocates memory. */
	msg->msg_controllen = control.head.cmsg_len;
	return sendmsg(in->fd6, msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int send_to_self(struct xiw_injector *in, const uint8_t *ip, uint32_t ifindex,
			struct msghdr *msg)
{
	struct sockaddr_in a4 = { .sin_family = AF_INET };
	struct sockaddr_ll lo = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_IPV6),
		.sll_ifindex = LOOPBACK_IFINDEX,
		.sll_halen = ETH_ALEN,
	};
	int fd = in->lo6;

	if (ip[0] >> 4 != 4 &&
	    IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)(ip + XIW_IP6_OFF_DST)))
		return send_link_local(in, ip, ifindex, msg);
	msg->msg_name = &lo;
	msg->msg_namelen = sizeof(lo);
	if (ip[0] >> 4 == 4) {
		memcpy(&a4.sin_addr, ip + XIW_IP4_OFF_DST, 4);
		msg->msg_name = &a4;
		msg->msg_namelen = sizeof(a4);
		fd = in->fd4;
	}
	return sendmsg(fd, msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int xiw_inject(struct xiw_injector *in, const struct xiw_inject *what)
{
	uint8_t head[XIW_IP6_LEN + XIW_TCP_MAX], *tcp;
	struct iovec iov[1 + PIECES_MAX];
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 1 + what->pieces };
	uint32_t hlen = xiw_tcp_hlen(what->ip + what->l4_off), len = 0;
	unsigned int ip_len, ts, i;

	if (what->pieces > PIECES_MAX || hlen < XIW_TCP_MIN)
		return -EINVAL;
	for (i = 0; i < what->pieces; i++) {
		iov[1 + i].iov_base = (void *)(uintptr_t)what->payload[i].base;
		iov[1 + i].iov_len = what->payload[i].len;
		len += what->payload[i].len;
	}
	ip_len = build_ip(head, what->ip, hlen + len);
	tcp = head + ip_len;
	memcpy(tcp, what->ip + what->l4_off, hlen);
	xiw_put_be32(tcp + XIW_TCP_OFF_SEQ, what->seq);
	if (what->cut)
		tcp[XIW_TCP_OFF_FLAGS] &= (uint8_t) ~(XIW_TCP_FIN | XIW_TCP_PSH);
	ts = find_tsval(tcp, hlen);
	if (ts && what->tsval) {
		if (!*what->tsval || *what->tsval - xiw_get_be32(tcp + ts) >= TSVAL_AHEAD)
			*what->tsval = xiw_get_be32(tcp + ts);
		xiw_put_be32(tcp + ts, *what->tsval);
	}
	xiw_tcp_csum_fill(head, tcp, hlen, what->payload, what->pieces);
	iov[0] = (struct iovec){ head, ip_len + hlen };
	return send_to_self(in, head, what->ifindex, &msg);
}
