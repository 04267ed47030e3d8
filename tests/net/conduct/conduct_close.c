// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* FIN, half-close and simultaneous close (RFC 9293 sections 3.6 and 3.10.7.4) while the flow is DIRECT. */
#include <errno.h>

#include "tests/net/conduct/conduct.h"

static bool acks_all(struct peer *p, const struct raw_got *g)
{
	return acked(p, g) == p->nxt;
}

static bool is_fin(struct peer *p, const struct raw_got *g)
{
	return g->flags & RAW_FIN && g->seq == p->theirs;
}

static bool is_rst(struct peer *p, const struct raw_got *g)
{
	(void)p;
	return g->flags & RAW_RST;
}

/* Our FIN is at p->nxt - 1: the application is told, closes as well, and the connection ends orderly. */
static void last_ack(struct peer *p)
{
	awaits(p, &p->app->eof, "end of the stream");
	p->app->want |= APP_CLOSE;
	await(p, is_fin);
	REQUIRE(p, acked(p, &p->got[0]) == p->nxt);
	p->theirs++;
	SEND(p, .seq = p->nxt);
	ends(p, 0);
	/* The messages are all there. */
	p->nxt--;
	intact(p);
}

static void fin(struct peer *p)
{
	SEND(p, .seq = 0, .flags = RAW_FIN | RAW_ACK);
	p->nxt = 1;
	await(p, acks_all);
	last_ack(p);
}

static void fin_with_data(struct peer *p)
{
	SEND(p, .seq = 0, .len = 2 * FPDU, .flags = RAW_FIN | RAW_ACK | RAW_PSH);
	p->nxt = 2 * FPDU + 1;
	await(p, acks_all);
	last_ack(p);
}

static void fin_retransmitted(struct peer *p)
{
	SEND(p, .seq = 0, .flags = RAW_FIN | RAW_ACK);
	p->nxt = 1;
	await(p, acks_all);
	awaits(p, &p->app->eof, "end of the stream");
	SEND(p, .seq = 0, .flags = RAW_FIN | RAW_ACK);
	one(p);
	REQUIRE(p, acked(p, &p->got[0]) == 1);
	SEND(p, .seq = -FPDU, .len = FPDU, .flags = RAW_FIN | RAW_ACK);
	one(p);
	last_ack(p);
}

static void fin_out_of_order(struct peer *p)
{
	SEND(p, .seq = FPDU, .flags = RAW_FIN | RAW_ACK);
	answered(p);
	REQUIRE(p, p->n == 1 && acked(p, &p->got[0]) == 0 && !p->app->eof);
	SEND(p, .seq = 0, .len = FPDU);
	p->nxt = FPDU + 1;
	await(p, acks_all);
	last_ack(p);
}

static void fin_out_of_order_with_data(struct peer *p)
{
	SEND(p, .seq = 2 * FPDU, .len = FPDU, .flags = RAW_FIN | RAW_ACK);
	answered(p);
	REQUIRE(p, p->n == 1 && acked(p, &p->got[0]) == 0 && !p->app->eof);
	SEND(p, .seq = FPDU, .len = FPDU);
	one(p);
	SEND(p, .seq = 0, .len = FPDU);
	p->nxt = 3 * FPDU + 1;
	await(p, acks_all);
	last_ack(p);
}

/*
 * Data behind the FIN does not belong to the stream ("ignore the segment text", section 3.10.7.4, seventh check).
 * Linux merges it with the FIN that waits in front of it and acknowledges it, so that it is no reference here.
 */
static void data_behind_fin(struct peer *p)
{
	if (!p->direct)
		return;
	SEND(p, .seq = FPDU, .flags = RAW_FIN | RAW_ACK);
	SEND(p, .seq = FPDU + 1, .len = FPDU, .evil = true);
	quietly(p);
	REQUIRE(p, acked(p, &p->last) == 0);
	SEND(p, .seq = 0, .len = FPDU);
	p->nxt = FPDU + 1;
	await(p, acks_all);
	awaits(p, &p->app->eof, "end of the stream");
	SEND(p, .seq = FPDU + 1, .len = FPDU, .evil = true);
	pause_ms(50);
	REQUIRE(p, p->app->messages == p->begun + 1);
	p->app->want |= APP_CLOSE;
	await(p, is_fin);
	p->theirs++;
	SEND(p, .seq = p->nxt);
	awaits(p, &p->app->closed, "closed");
	REQUIRE(p, p->app->status == 0);
	p->nxt--;
	intact(p);
}

/* RFC 5044 section 8: the stream ends within an FPDU, and both ends are told of it. */
static void fin_within_fpdu(struct peer *p)
{
	SEND(p, .seq = 0, .len = 100, .flags = RAW_FIN | RAW_ACK);
	p->nxt = 101;
	await(p, is_rst);
	ends(p, -ECONNRESET);
	REQUIRE(p, p->app->info.mpa_error == XIW_MPA_ERR_CLOSED);
	REQUIRE(p, p->app->messages == p->begun);
}

/* The application closes its half; the peer goes on, on the direct path, and closes later. */
static void half_close(struct peer *p)
{
	p->app->want |= APP_CLOSE;
	await(p, is_fin);
	p->theirs++;
	deliver(p, 4);
	still_direct(p);
	goes_on(p);
	SEND(p, .seq = p->nxt, .flags = RAW_FIN | RAW_ACK);
	p->nxt++;
	await(p, acks_all);
	ends(p, 0);
	p->nxt--;
	intact(p);
}

/* The same, where only data acknowledges our FIN, which is lost once. */
static void half_close_fin_lost(struct peer *p)
{
	p->app->want |= APP_CLOSE;
	await(p, is_fin);
	deliver(p, 2);
	await(p, is_fin);
	p->theirs++;
	deliver(p, 2);
	still_direct(p);
	goes_on(p);
	SEND(p, .seq = p->nxt, .len = FPDU, .flags = RAW_FIN | RAW_ACK);
	p->nxt += FPDU + 1;
	await(p, acks_all);
	ends(p, 0);
	p->nxt--;
	intact(p);
}

/* Section 3.6 case 3: the FINs cross. */
static void simultaneous(struct peer *p)
{
	struct raw_got g;

	p->app->want |= APP_CLOSE;
	await(p, is_fin);
	SEND(p, .seq = 0, .flags = RAW_FIN | RAW_ACK);
	p->nxt = 1;
	await(p, acks_all);
	p->theirs++;
	SEND(p, .seq = p->nxt);
	ends(p, 0);
	/* If this thread did not run for 200 ms, our FIN came again before it was acknowledged. */
	while (raw_receive(&p->raw, &g, 0))
		;
	/* That was the last acknowledgement: our FIN is not sent again, as it would be in CLOSING. */
	pause_ms(1000);
	while (raw_receive(&p->raw, &g, 0))
		REQUIRE(p, !(g.flags & RAW_FIN));
	p->nxt--;
	intact(p);
}

static void simultaneous_with_data(struct peer *p)
{
	p->app->want |= APP_CLOSE;
	await(p, is_fin);
	SEND(p, .seq = FPDU, .len = FPDU, .flags = RAW_FIN | RAW_ACK);
	SEND(p, .seq = 0, .len = FPDU);
	p->nxt = 2 * FPDU + 1;
	await(p, acks_all);
	p->theirs++;
	SEND(p, .seq = p->nxt);
	ends(p, 0);
	p->nxt--;
	intact(p);
}

/* TIME-WAIT answers a retransmitted FIN (section 3.10.7.4), although no engine owns the flow any more. */
static void time_wait(struct peer *p)
{
	half_close(p);
	pause_ms(600);
	SEND(p, .seq = p->nxt, .flags = RAW_FIN | RAW_ACK);
	p->nxt++;
	await(p, acks_all);
	REQUIRE(p, p->got[0].flags == RAW_ACK);
	REQUIRE(p, p->got[0].seq == p->theirs);
}

static void rst_after_fin(struct peer *p)
{
	SEND(p, .seq = 0, .flags = RAW_FIN | RAW_ACK);
	p->nxt = 1;
	await(p, acks_all);
	awaits(p, &p->app->eof, "end of the stream");
	SEND(p, .seq = 1, .flags = RAW_RST);
	/* Nothing is read or written any more: the application learns of it when it closes. */
	pause_ms(50);
	p->app->want |= APP_CLOSE;
	awaits(p, &p->app->closed, "closed");
	p->nxt--;
	intact(p);
}

/* We reset: with a number that the peer accepts (RFC 5961 section 3), so that it learns of it. */
static void abort_ours(struct peer *p)
{
	struct raw_got *g;

	deliver(p, 3);
	p->app->want |= APP_ABORT;
	g = await(p, is_rst);
	REQUIRE(p, g->seq == p->theirs);
	REQUIRE(p, !(g->flags & RAW_ACK) || acked(p, g) == p->nxt);
	ends(p, -ECONNABORTED);
}

/* Data for a connection that no longer exists. */
static void data_after_abort(struct peer *p)
{
	struct raw_got *g;

	p->app->want |= APP_ABORT;
	await(p, is_rst);
	ends(p, -ECONNABORTED);
	pause_ms(50);
	SEND(p, .seq = 0, .len = FPDU);
	g = await(p, is_rst);
	note(p, "reset %#x seq %+d\n", g->flags, (int32_t)(g->seq - p->theirs));
}

/*
 * After an MPA error nothing more is received (RFC 5044 section 8), also where frames wait until the socket has been
 * read: a correct retransmission by the peer is not taken.
 */
static void error_while_frames_wait(struct peer *p)
{
	SEND(p, .seq = 0, .len = 100);
	SEND(p, .seq = 100, .len = FPDU - 100);
	p->nxt = FPDU;
	quietly(p);
	caught_up(p);
	app_hangs = true;
	pause_ms(10);
	/* Enough for the direct path, and most of them in the socket. */
	for (int i = 0; i < 12; i++, p->nxt += FPDU)
		SEND(p, .seq = p->nxt, .len = FPDU);
	SEND(p, .seq = p->nxt, .len = FPDU, .bad_length = true);
	SEND(p, .seq = p->nxt, .len = FPDU);
	app_hangs = false;
	awaits(p, &p->app->error, "error");
	REQUIRE(p, p->app->messages == p->begun + (unsigned int)(p->nxt / FPDU));
}

/* After an error on the kernel path the socket takes all further segments, aligned or not, and the FIN. */
static void error_then_aligned(struct peer *p)
{
	SEND(p, .seq = 0, .len = 100);
	SEND(p, .seq = 100, .len = FPDU - 100);
	p->nxt = FPDU;
	quietly(p);
	caught_up(p);
	SEND(p, .seq = p->nxt, .len = 100, .bad_length = true);
	awaits(p, &p->app->error, "error");
	SEND(p, .seq = p->nxt + 100, .len = FPDU - 100);
	p->nxt += FPDU;
	for (int i = 0; i < 3; i++)
		deliver(p, 12);
	SEND(p, .seq = p->nxt++, .flags = RAW_FIN | RAW_ACK);
	await(p, acks_all);
}

const struct script conduct_close[] = {
	{ "rfc9293-fin", fin, V46 },
	{ "rfc9293-fin-with-data", fin_with_data, V46 },
	{ "rfc9293-fin-retransmitted", fin_retransmitted, 0 },
	{ "rfc9293-fin-out-of-order", fin_out_of_order, V46 },
	{ "rfc9293-fin-out-of-order-wrap", fin_out_of_order, WRAP },
	{ "rfc9293-fin-out-of-order-with-data", fin_out_of_order_with_data, 0 },
	{ "rfc9293-data-behind-fin", data_behind_fin, 0 },
	{ "rfc5044-fin-within-fpdu", fin_within_fpdu, 0 },
	{ "rfc9293-half-close", half_close, V46 },
	{ "rfc9293-half-close-fin-lost", half_close_fin_lost, 0 },
	{ "rfc9293-simultaneous-close", simultaneous, V46 },
	{ "rfc9293-simultaneous-close-with-data", simultaneous_with_data, 0 },
	{ "rfc9293-time-wait", time_wait, 0 },
	{ "rfc9293-rst-after-fin", rst_after_fin, 0 },
	{ "rfc9293-abort", abort_ours, 0 },
	{ "rfc9293-data-after-abort", data_after_abort, 0 },
	{ "rfc5044-error-while-frames-wait", error_while_frames_wait, ALONE },
	{ "rfc5044-error-then-aligned", error_then_aligned, 0 },
	{},
};
