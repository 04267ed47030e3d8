// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "handoff/ecn.h"

/* tcpi_ecn_mode, since Linux 7.0: the two low bits of the word behind the counters. */
#define ECN_MODE_AT (offsetof(struct tcp_info, tcpi_snd_wnd) + 48)
#define ECN_MODE_ACCECN 2
#define ECN_MODE_PENDING 3

#define CC_NAME_MAX 16

enum xiw_ecn xiw_ecn_read(const void *info, size_t len, const char *cc)
{
	const struct tcp_info *known = info;
	uint32_t mode = 0;

	if (len >= ECN_MODE_AT + sizeof(mode))
		memcpy(&mode, (const char *)info + ECN_MODE_AT, sizeof(mode));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	mode >>= 30; /* the compiler begins bit-fields with the highest bits */
#endif
	mode &= 3;
	if (mode == ECN_MODE_ACCECN || mode == ECN_MODE_PENDING)
		return XIW_ECN_ACCECN;
	/* dctcp, and BPF congestion controls named after it or after Prague. Without ECN they act as Reno. */
	if (known->tcpi_options & TCPI_OPT_ECN && (strstr(cc, "dctcp") || strstr(cc, "prague")))
		return XIW_ECN_DCTCP;
	return XIW_ECN_PLAIN;
}

int xiw_ecn_of(int fd)
{
	/* Newer kernels return more than the headers declare. */
	union {
		struct tcp_info info;
		char octets[512];
	} tcp = {};
	char cc[CC_NAME_MAX + 1] = "";
	socklen_t len = sizeof(tcp), cc_len = CC_NAME_MAX;

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &tcp, &len) ||
	    getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, &cc_len))
		return -errno;
	return (int)xiw_ecn_read(&tcp, len, cc);
}

const char *xiw_ecn_why(enum xiw_ecn ecn)
{
	switch (ecn) {
	case XIW_ECN_DCTCP:
		return "its congestion control (DCTCP) wants each packet's ECN mark echoed";
	case XIW_ECN_ACCECN:
		return "AccECN was negotiated, which only the kernel's TCP knows "
		       "(net.ipv4.tcp_ecn)";
	default:
		return "";
	}
}
