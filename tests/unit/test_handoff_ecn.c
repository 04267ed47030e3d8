// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <linux/tcp.h>
#include <string.h>
#include <criterion/criterion.h>

#include "handoff/ecn.h"

/* struct tcp_info of Linux 7.0 after tcpi_snd_wnd: six words of 6.2 and 6.7, seven counters of AccECN, the mode. */
struct info {
	struct tcp_info known;
	unsigned char octets[128];
};

#define WORD(n) (offsetof(struct tcp_info, tcpi_snd_wnd) + 4 * (n))
enum { RCV_WND = 1, REHASH, TOTAL_RTO, TOTAL_RTO_TIME, RECEIVED_CE, RECEIVED_CE_BYTES = 11, MODE };

static struct info made(unsigned int options, unsigned int mode)
{
	struct info i;
	unsigned int word = mode | 0xabcdecu; /* the octet has other fields too */

	memset(&i, 0xff, sizeof(i));
	i.known.tcpi_options = (unsigned char)options;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = mode << 30 | 0x1234;
#endif
	memcpy((char *)&i + WORD(MODE), &word, sizeof(word));
	return i;
}

Test(handoff_ecn, accurate)
{
	struct info i;

	for (unsigned int mode = 0; mode < 4; mode++) {
		i = made(TCPI_OPT_ECN, mode);
		cr_expect_eq(xiw_ecn_read(&i, WORD(MODE + 1), "cubic"),
			     mode < 2 ? XIW_ECN_PLAIN : XIW_ECN_ACCECN, "mode %u", mode);
		/* A kernel that does not report AccECN does not have it. */
		cr_expect_eq(xiw_ecn_read(&i, WORD(MODE), "cubic"), XIW_ECN_PLAIN);
		cr_expect_eq(xiw_ecn_read(&i, WORD(RCV_WND), "cubic"), XIW_ECN_PLAIN);
	}
}

Test(handoff_ecn, congestion_control)
{
	static const struct {
		const char *name;
		enum xiw_ecn with, without;
	} cc[] = {
		{ "reno", XIW_ECN_PLAIN, XIW_ECN_PLAIN },
		{ "cubic", XIW_ECN_PLAIN, XIW_ECN_PLAIN },
		{ "bbr", XIW_ECN_PLAIN, XIW_ECN_PLAIN },
		{ "dctcp", XIW_ECN_DCTCP, XIW_ECN_PLAIN },
		{ "bpf_dctcp", XIW_ECN_DCTCP, XIW_ECN_PLAIN },
		{ "prague", XIW_ECN_DCTCP, XIW_ECN_PLAIN },
	};

	for (unsigned int n = 0; n < sizeof(cc) / sizeof(cc[0]); n++) {
		struct info with = made(TCPI_OPT_ECN, 1), without = made(TCPI_OPT_SACK, 0);

		cr_expect_eq(xiw_ecn_read(&with, WORD(MODE + 1), cc[n].name), cc[n].with, "%s",
			     cc[n].name);
		cr_expect_eq(xiw_ecn_read(&without, WORD(MODE + 1), cc[n].name), cc[n].without,
			     "%s", cc[n].name);
	}
}
