// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* When the delay of an ACK is not waited for. */
#include <criterion/criterion.h>

#include "tests/unit/tcp_rig.h"

/* A segment has come, and nothing else for as long as its ACK may be delayed. */
static void delayed(struct rig *r)
{
	rig_data(r, 0, 100);
	xiw_tcp_rx_delayed(&r->rx, r->now);
	cr_assert_not(rig_due(r, true));
	r->now += XIW_TCP_DELACK_MS;
	xiw_tcp_rx_delayed(&r->rx, r->now);
	cr_assert(rig_due(r, true));
	rig_ack(r);
}

/* A NewReno sender repairs a loss by one segment for each ACK (RFC 6582 section 3.2). */
Test(tcp_prompt, segments_that_come_alone_are_not_delayed_again)
{
	RIG_EACH_BASE(b)
	{
		struct rig r;

		rig_init(&r, rig_bases[b], 0);
		delayed(&r);
		for (int i = 1; i < XIW_TCP_PROMPT; i++) {
			rig_data(&r, 0, 100);
			cr_assert_not(rig_due(&r, false));
			cr_assert(rig_due(&r, true), "segment %d", i);
			cr_assert_eq(xiw_tcp_rx_deadline(&r.rx), 0);
			rig_ack(&r);
		}
		/* An application may answer in time by now, and its answer acknowledges. */
		delayed(&r);
		/* Bursts of three: each one's last segment is alone. */
		for (int i = 1; i < XIW_TCP_PROMPT; i++) {
			rig_data(&r, 0, 100);
			rig_data(&r, 0, 100);
			rig_ack(&r);
			rig_data(&r, 0, 100);
			cr_assert(rig_due(&r, true), "burst %d", i);
			rig_ack(&r);
		}
	}
}
