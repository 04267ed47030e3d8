/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The plain end of a stream: an Initiator on the kernel's TCP, which makes the segments. */
#ifndef XIW_TESTS_NET_PLAIN_H
#define XIW_TESTS_NET_PLAIN_H

#include <linux/tcp.h>
#include <unistd.h>

#include "ddp/hdr.h"
#include "mpa/startup.h"
#include "mpa/stream.h"
#include "mpa/tx.h"
#include "tests/net/lib/common.h"

static int sock;
static struct xiw_mpa_stream in; /* what flows back */

static inline uint32_t mss(void)
{
	socklen_t len = sizeof(int);
	int v = 1460;

	getsockopt(sock, IPPROTO_TCP, TCP_MAXSEG, &v, &len);
	return (uint32_t)v;
}

/* isn: an initial sequence number, or NULL. */
static inline void connect_to(const char *host, uint16_t port, const uint32_t *isn)
{
	int on = 1, off = TCP_REPAIR_OFF_NO_WP, queue = TCP_SEND_QUEUE;
	struct sockaddr_storage ss;
	socklen_t len = address_of(host, port, &ss);

	if (!len)
		die("%s is no address", host);
	sock = socket(ss.ss_family, SOCK_STREAM, 0);
	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	/* A send queue position set before connect() becomes the initial sequence number. */
	if (isn && (setsockopt(sock, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)) ||
		    setsockopt(sock, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue, sizeof(queue)) ||
		    setsockopt(sock, IPPROTO_TCP, TCP_QUEUE_SEQ, isn, sizeof(*isn)) ||
		    setsockopt(sock, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off))))
		die_errno("initial sequence number");
	if (connect(sock, (struct sockaddr *)&ss, len))
		die_errno("connect");
}

static inline struct xiw_mpa_tx startup(void)
{
	struct xiw_mpa_frame f = { .rev = 1, .crc = true };
	uint8_t buf[XIW_MPA_FRAME_MAX];
	struct xiw_mpa_rx rx = { .crc = true };
	size_t need = XIW_MPA_FRAME_HDR, have = 0;
	int len = xiw_mpa_frame_encode(&f, buf, sizeof(buf));

	if (send(sock, buf, (size_t)len, 0) != len)
		die_errno("send");
	do {
		ssize_t n = recv(sock, buf + have, need - have, 0);

		if (n <= 0)
			die("no MPA Reply");
		have += (size_t)n;
	} while (xiw_mpa_frame_decode(buf, have, true, &f, &need) == XIW_MPA_START_MORE);
	xiw_mpa_stream_init(&in, &rx);
	return (struct xiw_mpa_tx){ .crc = true, .markers = f.markers };
}

#endif
