// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * matrix_send - the plain end of a cell of the fault matrix: an Initiator on the kernel's TCP, which makes the
 * segments. Its FPDUs are aligned to segments, or by turns aligned and not. Checks what flows back.
 *
 *   matrix_send [-b MiB] [-s SEED] [-t TURNS] ADDR    TURNS 0: aligned throughout
 *
 * Prints one line of JSON.
 */
#include <getopt.h>
#include <linux/tcp.h>

#include "tests/net/matrix/matrix.h"

#include "tests/net/lib/turns.h"

static struct {
	uint64_t octets, seed;
	unsigned int turns;
} opt = { .octets = 16u << 20, .seed = 1 };

static uint64_t back_wrong, back_messages;
static uint64_t msg, msgs;	  /* under way; in all */
static uint32_t msg_off, msg_len; /* in it; of it */

static void on_back(const uint8_t *payload, uint32_t len, bool last)
{
	back_wrong += matrix_wrong(opt.seed ^ MATRIX_BACK_SALT, turns.back_seen / MATRIX_BACK_MSG,
				   payload, turns.back_seen % MATRIX_BACK_MSG, len);
	back_messages += last;
}

static void put(uint32_t ulpdu)
{
	static uint8_t payload[65536];
	struct xiw_ddp_hdr h = { .tagged = !matrix_untagged(msg), .dv = 1 };
	uint32_t len = ulpdu - (h.tagged ? XIW_DDP_TAGGED_LEN : XIW_DDP_UNTAGGED_LEN);

	if (len > msg_len - msg_off)
		len = msg_len - msg_off;
	h.last = msg_off + len == msg_len;
	if (h.tagged) {
		h.stag = MATRIX_STAG;
		h.to = msg % MATRIX_SLOTS * MATRIX_MSG_MAX + msg_off;
	} else {
		h.msn = matrix_msn(msg);
		h.mo = msg_off;
	}
	stream_octets(matrix_stream(opt.seed, msg), msg_off, payload, len);
	put_segment(&h, payload, len);
	msg_off += len;
	if (h.last) {
		turns.done = ++msg == msgs;
		msg_off = 0;
		msg_len = matrix_len(opt.seed, msg);
	}
}

static void report(void)
{
	struct tcp_info ti = {};
	socklen_t len = sizeof(ti);

	getsockopt(plain.sock, IPPROTO_TCP, TCP_INFO, &ti, &len);
	printf("{\"sent\":%llu,\"messages\":%llu,\"octets_back\":%llu,\"back_messages\":%llu,"
	       "\"back_wrong\":%llu,\"retransmissions\":%u,\"segments\":%u,\"ce_echoed\":%u}\n",
	       (unsigned long long)turns.sent, (unsigned long long)msg,
	       (unsigned long long)turns.back_seen, (unsigned long long)back_messages,
	       (unsigned long long)back_wrong, ti.tcpi_total_retrans, ti.tcpi_data_segs_out,
	       ti.tcpi_delivered_ce);
}

int main(int argc, char **argv)
{
	int o;

	while ((o = getopt(argc, argv, "b:s:t:")) != -1) {
		switch (o) {
		case 'b':
			opt.octets = strtoull(optarg, NULL, 0) << 20;
			break;
		case 's':
			opt.seed = strtoull(optarg, NULL, 0);
			break;
		case 't':
			opt.turns = (unsigned int)strtoul(optarg, NULL, 0);
			break;
		default:
			die("usage: matrix_send [-b MiB] [-s SEED] [-t TURNS] ADDR");
		}
	}
	if (argc - optind != 1)
		die("usage: matrix_send [-b MiB] [-s SEED] [-t TURNS] ADDR");
	msgs = matrix_count(opt.seed, opt.octets);
	msg_len = matrix_len(opt.seed, 0);
	turns.put = put;
	turns.on_back = on_back;
	turns.stag = MATRIX_STAG;
	plain_connect(argv[optind], MATRIX_PORT, NULL);
	send_by_turns(opt.octets, opt.turns, opt.seed);
	report();
	close(plain.sock);
	xiw_mpa_stream_free(&plain.in);
	return 0;
}
