// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cases of rdmap.c without an error of the peer: messages in both directions, and ends that are no error. */
#include "tests/net/peer/rdmap.h"

/* ---- Sends and Writes of ours ---------------------------------------------------------------- */

static const char *sends(int unused)
{
	(void)unused;
	TRY(open_responder(""));
	TRY(warm_up());
	TRY(push_send(SEND, 0, 1, 100));
	TRY(push_send(SEND_SE, 0, 2, 4096));
	/* The receiver ignores reserved bits, and the STag of a message that invalidates nothing (section 4.1). */
	TRY(push_send(SEND | 0x30, INV_STAG, 3, 0));
	TRY(push_send(SEND_SE_INV, INV_STAG, 4, 11));
	return finished("events=CrrrrEX status=0 sends=4/0 lengths=4207 solicited=2 invalidated=1 "
			"inv_stag=5555 writes=3/0 write_octets=3000 direct=%d",
			peer.direct);
}

static const char *invalidated(int unused)
{
	const struct ulpdu *m;

	(void)unused;
	TRY(open_responder(""));
	TRY(warm_up());
	TRY(push_ulpdu(tagged_ulpdu(DV | LAST, WRITE, INV_STAG, BASE, 500)));
	TRY(push_send(SEND_INV, INV_STAG, 1, 20));
	m = tagged_ulpdu(DV | LAST, WRITE, INV_STAG, BASE, 500);
	TRY(push_ulpdu(m));
	TRY(pull_terminate("1.1.0D", m));
	return ended("events=CreX sent=1.1.0MD writes=4/0 solicited=0 invalidated=1 inv_stag=5555");
}

/* Another region gets the same STag: freeing the old region does not affect the new one. */
static const char *invalidated_again(int unused)
{
	struct fpdu f;

	(void)unused;
	TRY(open_responder("on_send=i"));
	TRY(push_ulpdu(tagged_ulpdu(DV | LAST, WRITE, INV_STAG, BASE, 500)));
	TRY(push_send(SEND_INV, INV_STAG, 1, 20));
	/* The application confirms that it has done so. */
	TRY(pull_untagged(&f, SEND, 0, 0, 1, 100));
	TRY(push_ulpdu(tagged_ulpdu(DV | LAST, WRITE, INV_STAG, BASE, 500)));
	return finished("events=CrsEX status=0 writes=2/0 invalidated=1");
}

/* A Write of no octets: nothing of its header is checked (RFC 5041 section 5.2). Several segments. */
static const char *writes(int unused)
{
	(void)unused;
	TRY(open_responder(""));
	TRY(push_ulpdu(tagged_ulpdu(DV | LAST, WRITE, 0xdeadbeef, UINT64_MAX, 0)));
	TRY(push_ulpdu(tagged_ulpdu(DV, WRITE, WRITE_STAG, BASE, 1000)));
	TRY(push_ulpdu(tagged_ulpdu(DV | LAST, WRITE, WRITE_STAG, BASE + 1000, 17)));
	TRY(push_send(SEND, 0, 1, 1));
	return finished("events=CrEX status=0 writes=2/0 write_octets=1017 sends=1/0 direct=%d",
			peer.direct);
}

/* ---- Reads of ours ------------------------------------------------------------------------------- */

static const char *reads(int unused)
{
	(void)unused;
	TRY(open_responder(""));
	TRY(warm_up());
	TRY(push_ulpdu(read_ulpdu(1, 0x77, 0x500, 100, READ_STAG, BASE + 5)));
	TRY(pull_tagged(READ_RESPONSE, 0x77, 0x500, 100, 5));
	/* A Read of no octets: the source is not checked, and an answer comes (section 5.2.1). */
	TRY(push_ulpdu(read_ulpdu(2, 0xabcd, UINT64_MAX, 0, 0x4321, UINT64_MAX)));
	TRY(pull_tagged(READ_RESPONSE, 0xabcd, UINT64_MAX, 0, 0));
	/* Reads up to the region's end, as many at once as were agreed on: answers come in order. */
	TRY(push_ulpdu(read_ulpdu(3, 0x77, 0x500, 50000, READ_STAG, BASE + READ_SIZE - 50000)));
	TRY(push_ulpdu(read_ulpdu(4, 0, 0, 1, READ_STAG, BASE)));
	TRY(push_ulpdu(read_ulpdu(5, UINT32_MAX, UINT64_MAX - 20000, 20000, READ_STAG, BASE + 1)));
	TRY(push_ulpdu(read_ulpdu(6, 0x78, 7, 3000, READ_STAG, BASE + 2)));
	TRY(pull_tagged(READ_RESPONSE, 0x77, 0x500, 50000, READ_SIZE - 50000));
	TRY(pull_tagged(READ_RESPONSE, 0, 0, 1, 0));
	TRY(pull_tagged(READ_RESPONSE, UINT32_MAX, UINT64_MAX - 20000, 20000, 1));
	TRY(pull_tagged(READ_RESPONSE, 0x78, 7, 3000, 2));
	return finished("events=CEX status=0 reads=6/0 read_octets=0/73101 direct=%d", peer.direct);
}

/* Each Read comes as soon as the one before is answered, when the library may not know yet that its answer was sent. */
static const char *many_reads(int unused)
{
	(void)unused;
	TRY(begin("role=r ird=1"));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(0, 0, DEPTH, 1), 0));
	TRY(expect_frame(REPLY, C | S, 2, enhanced(0, 0, 1, DEPTH), 0));
	for (uint32_t i = 1; i <= 300; i++) {
		TRY(push_ulpdu(read_ulpdu(i, i, i, 600, READ_STAG, BASE + i)));
		TRY(pull_tagged(READ_RESPONSE, i, i, 600, i));
	}
	return finished("events=CEX status=0 reads=300/0");
}

#define MANY_AT_ONCE 60

/* The application sets other depths when it has the Request, before or after the stream is made: they are kept. */
static const char *set_depths(int first)
{
	TRY(begin("role=r setird=100 setord=3 setfirst=%d", first));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(0, 0, DEPTH, MANY_AT_ONCE), 0));
	TRY(expect_frame(REPLY, C | S, 2, enhanced(0, 0, 100, 3), 0));
	/* Until this peer reads on, the first answer cannot be sent, and all others wait. */
	TRY(push_ulpdu(read_ulpdu(1, 0x77, 0, READ_SIZE, READ_STAG, BASE)));
	for (uint32_t i = 2; i <= MANY_AT_ONCE; i++)
		TRY(push_ulpdu(read_ulpdu(i, 0x77, 0, 1, READ_STAG, BASE + i)));
	TRY(all_acknowledged());
	TRY(pull_tagged(READ_RESPONSE, 0x77, 0, READ_SIZE, 0));
	for (uint32_t i = 2; i <= MANY_AT_ONCE; i++)
		TRY(pull_tagged(READ_RESPONSE, 0x77, 0, 1, i));
	return finished("events=CEX status=0 reads=60/0 ird=100 ord=3");
}

static const char *reads_after_close(int unused)
{
	(void)unused;
	TRY(open_responder(""));
	TRY(warm_up());
	TRY(push_ulpdu(read_ulpdu(1, 0x77, 0, 200000, READ_STAG, BASE)));
	TRY(half_close());
	/* Our half is closed; the answers still come. */
	TRY(pull_tagged(READ_RESPONSE, 0x77, 0, 200000, 0));
	return ended("events=CEX status=0 reads=1/0 read_octets=0/200000");
}

/* ---- the library's operations -------------------------------------------------------------------- */

static const char *answer(uint32_t i)
{
	return push_ulpdu(tagged_ulpdu(DV | LAST, READ_RESPONSE, WRITE_STAG, BASE + 1000 * i, 100));
}

static const char *expect_read(uint32_t i, uint32_t msn)
{
	struct fpdu f;

	TRY(pull_untagged(&f, READ_REQUEST, 0, 1, msn, READ_LEN));
	CHECK(get(f.ulpdu + 18, 4) == WRITE_STAG && get(f.ulpdu + 22, 8) == BASE + 1000 * i);
	CHECK(get(f.ulpdu + 30, 4) == 100 && get(f.ulpdu + 34, 4) == OUR_STAG);
	CHECK(get(f.ulpdu + 38, 8) == 0x500000000ull + i);
	return NULL;
}

static const char *operations(int unused)
{
	struct fpdu f;

	(void)unused;
	TRY(open_initiator("ops=sSvVwr"));
	TRY(pull_untagged(&f, SEND, 0, 0, 1, 100));
	TRY(pull_untagged(&f, SEND_SE, 0, 0, 2, 100));
	TRY(pull_untagged(&f, SEND_INV, 0x12345678, 0, 3, 100));
	TRY(pull_untagged(&f, SEND_SE_INV, 0x12345678, 0, 4, 100));
	TRY(pull_tagged(WRITE, OUR_STAG, 0x500000004, 100, 0));
	TRY(expect_read(5, 1));
	TRY(warm_up());
	TRY(answer(5));
	return finished("events=CsssssdEX status=0 sends=0/4 writes=3/1 reads=0/1 "
			"read_octets=100/0 post=0 direct=%d",
			peer.direct);
}

/* Without depths set, both ends can read, also where depths are negotiated. With depths of 0 they cannot. */
static const char *default_depths(int how)
{
	static const char *const more[] = { "", "setird=0 setord=0",
					    "setird=0 setord=0 setfirst=1" };
	const bool none = how > 0;

	TRY(begin("role=r ird=0 ord=0 ops=r %s", more[how]));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(0, 0, 8, 9), 0));
	TRY(expect_frame(REPLY, C | S, 2, none ? enhanced(0, 0, 0, 0) : enhanced(0, 0, 16, 8), 0));
	TRY(warm_up());
	if (none)
		return finished("events=CEX reads=0/0 ird=0 ord=0 post=-95");
	TRY(expect_read(0, 1));
	TRY(answer(0));
	return finished("events=CdEX reads=0/1 ird=16 ord=8 post=0");
}

static const char *default_depths_initiator(int unused)
{
	(void)unused;
	TRY(begin("role=i ird=0 ord=0 ops=r"));
	TRY(expect_frame(REQUEST, C | S, 2, enhanced(0, 0, 16, 16), 0));
	TRY(send_frame(REPLY, C | S, 2, enhanced(0, 0, 8, 9), 0));
	TRY(expect_read(0, 1));
	TRY(answer(0));
	return finished("events=CdEX reads=0/1 ird=16 ord=8 post=0");
}

/* Never more Reads than were agreed on. Operations behind them wait, and complete after them (section 5.5). */
static const char *depth(int unused)
{
	struct fpdu f;

	(void)unused;
	TRY(open_initiator("ops=rrrrrsrw"));
	for (uint32_t i = 0; i < DEPTH; i++)
		TRY(expect_read(i, i + 1));
	TRY(silent(100));
	TRY(answer(0));
	TRY(expect_read(4, 5));
	TRY(pull_untagged(&f, SEND, 0, 0, 1, 100));
	TRY(silent(100));
	TRY(answer(1));
	TRY(expect_read(6, 6));
	TRY(pull_tagged(WRITE, OUR_STAG, 0x500000007, 100, 0));
	for (uint32_t i = 2; i < 7; i++)
		if (i != 5)
			TRY(answer(i));
	return finished("events=CdddddsdsEX status=0 reads=0/6 sends=0/1 writes=0/1");
}

static const char *fence(int unused)
{
	struct fpdu f;

	(void)unused;
	TRY(open_initiator("ops=rfs"));
	TRY(expect_read(0, 1));
	TRY(silent(100));
	TRY(answer(0));
	TRY(pull_untagged(&f, SEND, 0, 0, 1, 100));
	TRY(pull_untagged(&f, SEND, 0, 0, 2, 100));
	return finished("events=CdssEX status=0");
}

/* The peer closes and leaves Reads unanswered: they fail, and operations behind them do not. */
static const char *unanswered(int unused)
{
	struct fpdu f;

	(void)unused;
	TRY(open_initiator("ops=rrrrrrsr"));
	for (uint32_t i = 0; i < DEPTH; i++)
		TRY(expect_read(i, i + 1));
	TRY(answer(0));
	TRY(expect_read(4, 5));
	TRY(half_close());
	TRY(pull_untagged(&f, SEND, 0, 0, 1, 100));
	return ended("events=CdfffffEsfX status=0 reads=0/1 sends=0/1");
}

/* ---- startup ------------------------------------------------------------------------------------- */

/* RFC 6581 section 9.2: a Read as the first message, without an operation of either application. */
static const char *rtr_read(int initiator)
{
	const uint8_t *want = enhanced(1, RTR_READ, DEPTH, DEPTH);
	struct fpdu f;

	if (initiator) {
		TRY(begin("role=i rtr=4 ops=s"));
		TRY(expect_frame(REQUEST, C | S, 2, want, 0));
		TRY(send_frame(REPLY, C | S, 2, want, 0));
		TRY(pull_untagged(&f, READ_REQUEST, 0, 1, 1, READ_LEN));
		CHECK(!get(f.ulpdu + 30, 4), "it reads something");
		TRY(pull_untagged(&f, SEND, 0, 0, 1, 100));
		TRY(push_ulpdu(tagged_ulpdu(DV | LAST, READ_RESPONSE, 0, 0, 0)));
		return finished("events=CsEX status=0 reads=0/0 sends=0/1");
	}
	TRY(begin("role=r ops=s"));
	TRY(send_frame(REQUEST, C | S, 2, want, 0));
	/* With RDMAP the library takes all kinds. */
	TRY(expect_frame(REPLY, C | S, 2,
			 enhanced(1, RTR_SEND | RTR_WRITE | RTR_READ, DEPTH, DEPTH), 0));
	TRY(push_ulpdu(read_ulpdu(1, 1, 2, 0, 3, 4)));
	TRY(pull_tagged(READ_RESPONSE, 1, 2, 0, 0));
	TRY(pull_untagged(&f, SEND, 0, 0, 1, 100));
	return finished("events=CsEX status=0 reads=1/0 sends=0/1");
}

/* Section 5.1: Writes are issued in the order submitted, whatever is between them. */
static const char *writes_out(int unused)
{
	struct fpdu f;

	(void)unused;
	TRY(open_initiator("ops=wwswfw"));
	for (uint32_t i = 0; i < 6; i++) {
		if (i == 2 || i == 4)
			TRY(pull_untagged(&f, SEND, 0, 0, i / 2, 100));
		else
			TRY(pull_tagged(WRITE, OUR_STAG, 0x500000000 + i, 100, 0));
	}
	return finished("events=CssssssEX status=0 writes=0/4 sends=0/2");
}

/* RFC 6581 section 9.1: the smaller of what both say. Without it, what the application says. */
static const char *limits(int rev)
{
	struct fpdu f;

	if (rev == 1) {
		TRY(begin("role=i rev=1 ird=3 ord=1 ops=rrs"));
		TRY(expect_frame(REQUEST, C, 1, NULL, 0));
		TRY(send_frame(REPLY, C, 1, NULL, 0));
		TRY(expect_read(0, 1));
		TRY(silent(100));
		TRY(answer(0));
		TRY(expect_read(1, 2));
		TRY(pull_untagged(&f, SEND, 0, 0, 1, 100));
		TRY(answer(1));
		return finished("events=CddsEX status=0 ird=3 ord=1");
	}
	TRY(begin("role=r ird=5 ord=3"));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(0, 0, 2, 9), 0));
	TRY(expect_frame(REPLY, C | S, 2, enhanced(0, 0, 5, 2), 0));
	TRY(push_send(SEND, 0, 1, 1));
	TRY(finished("events=CrEX status=0 ird=5 ord=2"));
	/* The peer takes no Reads. */
	TRY(begin("role=r ord=3 ops=rs"));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(0, 0, 0, 1), 0));
	TRY(expect_frame(REPLY, C | S, 2, enhanced(0, 0, DEPTH, 0), 0));
	TRY(push_send(SEND, 0, 1, 1));
	TRY(pull_untagged(&f, SEND, 0, 0, 1, 100));
	return finished("events=CrsEX status=0 ord=0 post=-95");
}

/* ---- ends ---------------------------------------------------------------------------------------- */

static const char *terminated(const uint8_t *body, uint32_t len, const char *want)
{
	struct ulpdu *m;

	TRY(open_initiator("ops=r"));
	TRY(expect_read(0, 1));
	TRY(warm_up());
	m = untagged_ulpdu(DV | LAST, TERMINATE, 0, 2, 1, 0, len);
	memcpy(m->u + 18, body, len);
	TRY(push_ulpdu(m));
	/* No Terminate in answer to one: the end. */
	return ended("events=CtfX sent=none received=%s status=-71 direct=%d", want, peer.direct);
}

/* In the order of Figure 8, and in that of Linux's siw; with every header that it may have. */
static const char *terminate(int which)
{
	static const uint8_t plain[] = { 0x02, 0x05, 0, 0 };
	static const uint8_t siw_crc[] = { 0x02, 0x02, 0, 0 };
	uint8_t full[4 + 2 + 18 + READ_LEN] = { 0x01, 0x01, 0xe0, 0 };
	uint8_t siw[4 + 2 + 14] = { 0x11, 0x01, 0x03, 0 };

	put(full + 4, 18 + READ_LEN, 2);
	full[6] = LAST | DV;
	full[7] = READ_REQUEST;
	put(siw + 4, 114, 2);
	siw[6] = TAGGED | LAST | DV;
	switch (which) {
	case 0:
		return terminated(plain, sizeof(plain), "0.2.5");
	case 1:
		return terminated(full, sizeof(full), "0.1.1MDR");
	case 2:
		return terminated(siw_crc, sizeof(siw_crc), "2.0.2-siw");
	default:
		return terminated(siw, sizeof(siw), "1.1.1MD-siw");
	}
}

/* The application's own Terminate: a local catastrophic error without quoted headers (section 7.1 rule 1). */
static const char *own_terminate(int unused)
{
	(void)unused;
	TRY(open_responder("on_send=T"));
	TRY(warm_up());
	TRY(push_send(SEND, 0, 1, 5));
	TRY(pull_terminate("0.0.0", NULL));
	return ended("events=CreX sent=0.0.0 received=none direct=%d", peer.direct);
}

static const char *own_close(int unused)
{
	(void)unused;
	TRY(open_responder("on_send=c"));
	TRY(push_send(SEND, 0, 1, 5));
	TRY(closed_orderly());
	return result("events=CrX status=0 sent=none");
}

const struct test_case good_cases[] = {
	{ "sends", sends, 0 },
	{ "invalidated", invalidated, 0 },
	{ "invalidated-stag-again", invalidated_again, 0 },
	{ "writes", writes, 0 },
	{ "reads", reads, 0 },
	{ "many-reads", many_reads, 0 },
	{ "set-depths", set_depths, 0 },
	{ "set-depths-first", set_depths, 1 },
	{ "default-depths", default_depths, 0 },
	{ "no-depths", default_depths, 1 },
	{ "no-depths-first", default_depths, 2 },
	{ "default-depths-initiator", default_depths_initiator, 0 },
	{ "reads-after-close", reads_after_close, 0 },
	{ "writes-out", writes_out, 0 },
	{ "operations", operations, 0 },
	{ "depth", depth, 0 },
	{ "fence", fence, 0 },
	{ "unanswered", unanswered, 0 },
	{ "rtr-read-responder", rtr_read, 0 },
	{ "rtr-read-initiator", rtr_read, 1 },
	{ "limits-rev-1", limits, 1 },
	{ "limits-rev-2", limits, 2 },
	{ "terminate-received", terminate, 0 },
	{ "terminate-received-headers", terminate, 1 },
	{ "terminate-received-siw", terminate, 2 },
	{ "terminate-received-siw-headers", terminate, 3 },
	{ "own-terminate", own_terminate, 0 },
	{ "own-close", own_close, 0 },
	{},
};
