// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The application of the hand-off: it posts buffers and takes messages. */
#include "tests/fuzz/handoff_engine.h"

#include "path/hold.h"

uint32_t next_fpdu;

static uint32_t next_post; /* no buffer is posted for FPDUs from here on */
static uint32_t posts_due; /* by the application, before the next turn */

void application_begins(void)
{
	next_fpdu = next_post = posts_due = 0;
}

void take_completions(void)
{
	struct xiw_completion done;

	while (xiw_engine_next(engine, &done)) {
		const struct fpdu *f = &fpdus[next_fpdu];

		CHECK(next_fpdu < nfpdus &&
		      done.event == (f->send ? XIW_EV_RECEIVED : XIW_EV_WRITTEN));
		CHECK(done.length == f->payload &&
			      (!f->payload ||
			       (f->send ? done.user_data == next_fpdu : done.to == f->to)) &&
			      done.rsvdulp[0] == (uint8_t)next_fpdu,
		      "message %u", next_fpdu);
		for (uint32_t i = 0; i < f->payload; i++)
			CHECK(memory[f->to + i] == fuzz_pattern(f->to + i), "octet %u of %u", i,
			      next_fpdu);
		for (uint32_t i = 0; i < f->len; i++)
			hold(f->start + i);
		next_fpdu++;
	}
}

void post_buffers(uint32_t n)
{
	posts_due += n;
}

/* The buffer of a Send is where a Write with its octets would have gone. */
void post_those_due(void)
{
	for (; posts_due && next_post < nfpdus; next_post++) {
		const struct fpdu *f = &fpdus[next_post];

		if (!f->send)
			continue;
		CHECK(!xiw_ddp_rx_post(conn->ddp, 0, memory + f->to, f->payload, next_post));
		xiw_hold_posted(conn);
		posts_due--;
	}
}
