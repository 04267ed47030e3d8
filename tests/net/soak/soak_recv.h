/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What soak_recv.c counts, and how it watches the process. */
#ifndef XIW_TESTS_NET_SOAK_RECV_H
#define XIW_TESTS_NET_SOAK_RECV_H

#include <signal.h>

#include "tests/net/soak/soak.h"
#include "tests/net/lib/borrowed.h"

struct conn {
	struct xiw_conn *xc;
	struct xiw_region *region;
	struct conn *next_free;
	uint8_t *tagged, *untagged;
	struct soak_plan plan, posts, answers; /* delivered; posted; answered */
	struct soak_msg want;
	bool more, live, over, eof, error, closing, sync_due;
	unsigned int extra;
	uint64_t back_off, last_ms;
	uint64_t octets; /* that had come at the last look */
	uint64_t clean_tagged, clean_untagged; /* delivered, and poisoned since */
};

struct recv_opt {
	unsigned int conns, warm_up;
	uint64_t grow_mib, stuck_ms;
	const char *ifname;
};

struct recv_sum {
	uint64_t opened, closed, kinds[SOAK_KINDS], messages, answers, octets;
	uint64_t direct, kernel, early, went_direct, went_kernel, crc, lost_resets, taken;
	uint64_t why[XIW_REASON__COUNT], drops[XIW_TCP_DROP_MAX];
	uint64_t wrong, stuck, live, most;
	uint64_t rss_base, rss_most, heap_base, heap_most, fds_base, fds_most, slots_most;
	uint64_t kept_most, ring_drops;
};

extern struct recv_opt recv_opt;
extern struct recv_sum recv_sum;
extern struct conn *recv_conns;
extern struct xiw_engine *recv_engine;
extern struct xiw_table recv_table;
extern volatile sig_atomic_t hurry;

void __attribute__((format(printf, 2, 3))) recv_wrong(const struct conn *c, const char *fmt, ...);
/* Slots of the flow table that are in use. */
uint64_t slots_in_use(void);
/* Notes what the process uses, and prints a line. */
void watch_process(uint64_t start, uint64_t now, bool print);
/* Gives up connections that do not go on. */
void look_for_stuck(uint64_t now);
/* With the last connection everything must have come back. */
void check_rest(void);
void recv_report(double seconds, uint64_t left_heap);

#endif
