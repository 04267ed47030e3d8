// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/net/lib/plain.h"

#include <linux/tcp.h>

#include "mpa/startup.h"

struct plain plain;

uint32_t plain_mss(void)
{
	socklen_t len = sizeof(int);
	int v = 1460;

	getsockopt(plain.sock, IPPROTO_TCP, TCP_MAXSEG, &v, &len);
	return (uint32_t)v;
}

void plain_connect(const char *host, uint16_t port, const uint32_t *isn)
{
	int on = 1, off = TCP_REPAIR_OFF_NO_WP, queue = TCP_SEND_QUEUE;
	struct sockaddr_storage ss;
	socklen_t len = address_of(host, port, &ss);

	if (!len)
		die("%s is no address", host);
	plain.sock = socket(ss.ss_family, SOCK_STREAM, 0);
	setsockopt(plain.sock, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	/* A send queue position set before connect() becomes the initial sequence number. */
	if (isn && (setsockopt(plain.sock, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)) ||
		    setsockopt(plain.sock, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue, sizeof(queue)) ||
		    setsockopt(plain.sock, IPPROTO_TCP, TCP_QUEUE_SEQ, isn, sizeof(*isn)) ||
		    setsockopt(plain.sock, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off))))
		die_errno("initial sequence number");
	if (connect(plain.sock, (struct sockaddr *)&ss, len))
		die_errno("connect");
}

struct xiw_mpa_tx plain_startup(void)
{
	struct xiw_mpa_frame f = { .rev = 1, .crc = true };
	uint8_t buf[XIW_MPA_FRAME_MAX];
	struct xiw_mpa_rx rx = { .crc = true };
	size_t need = XIW_MPA_FRAME_HDR, have = 0;
	int len = xiw_mpa_frame_encode(&f, buf, sizeof(buf));

	if (send(plain.sock, buf, (size_t)len, 0) != len)
		die_errno("send");
	do {
		ssize_t n = recv(plain.sock, buf + have, need - have, 0);

		if (n <= 0)
			die("no MPA Reply");
		have += (size_t)n;
	} while (xiw_mpa_frame_decode(buf, have, true, &f, &need) == XIW_MPA_START_MORE);
	xiw_mpa_stream_init(&plain.in, &rx);
	return (struct xiw_mpa_tx){ .crc = true, .markers = f.markers };
}
