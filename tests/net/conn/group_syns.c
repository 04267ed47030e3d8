// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * group_syns - sends SYNs to a port from addresses that nobody has, and ports of all kinds, and answers nothing.
 *
 *   group_syns INTERFACE MAC FROM TO PORT COUNT
 *
 * FROM is an IPv4 address; the SYNs come from the 64 addresses behind it. Exit codes: 0, 1 they could not be sent, 2
 * usage.
 */
#include <arpa/inet.h>
#include <unistd.h>

#include "tests/net/lib/common.h"
#include "tests/net/lib/raw.h"

#define AT_ONCE 100
#define PAUSE_US 20000

int main(int argc, char **argv)
{
	const struct raw_seg syn = { .flags = RAW_SYN, .wnd = 65535 };
	struct raw r = {};
	uint8_t first;
	int count;

	if (argc != 7 ||
	    sscanf(argv[2], "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &r.dst_mac[0], &r.dst_mac[1],
		   &r.dst_mac[2], &r.dst_mac[3], &r.dst_mac[4], &r.dst_mac[5]) != 6 ||
	    inet_pton(AF_INET, argv[3], r.src) != 1 || inet_pton(AF_INET, argv[4], r.dst) != 1)
		return 2;
	r.dport = (uint16_t)atoi(argv[5]);
	count = atoi(argv[6]);
	if (!raw_open(&r, argv[1]))
		die_errno("packet socket");
	first = r.src[3];
	for (int i = 0; i < count; i++) {
		struct raw_seg s = syn;

		s.seq = (uint32_t)i * 2654435761u;
		r.src[3] = (uint8_t)(first + i % 64);
		r.sport = (uint16_t)(1024 + i);
		if (!raw_send(&r, &s))
			die_errno("send");
		if (i % AT_ONCE == AT_ONCE - 1)
			usleep(PAUSE_US);
	}
	printf("sent %d\n", count);
	raw_close(&r);
	return 0;
}
