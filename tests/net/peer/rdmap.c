// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RDMAP (RFC 5040): a peer of plain sockets (rdmap.h) against an application on the library (rdmap_end.c), with every
 * message in both directions, and every error with its Terminate.
 *
 *   rdmap ADDRESS CONTROL-PORT kernel|direct [CASE]
 *
 * Prints PASS or FAIL for each case. Exit codes: 0 all passed, 1 some failed, 2 usage.
 */
#include "tests/net/peer/rdmap.h"

/* ---- one message that is wrong ------------------------------------------------------------------- */

struct bad {
	const char *name, *want;
	bool tagged;
	uint8_t ddp, control;
	uint32_t inv, qn, msn, mo, len; /* untagged */
	uint32_t stag;			/* tagged */
	uint64_t to;
	struct {
		uint32_t sink_stag;
		uint64_t sink_to;
		uint32_t size, src_stag;
		uint64_t src_to;
	} read;
};

#define LD (LAST | DV)
#define UNTAGGED(name, want, ddp, control, inv, qn, msn, mo, len)                                  \
	{                                                                                          \
		name, want, false, ddp, control, inv, qn, msn, mo, len, 0, 0,                      \
		{                                                                                  \
			0, 0, 0, 0, 0                                                              \
		}                                                                                  \
	}
#define TAGGED_(name, want, ddp, control, stag, to, len)                                           \
	{                                                                                          \
		name, want, true, ddp, control, 0, 0, 0, 0, len, stag, to,                         \
		{                                                                                  \
			0, 0, 0, 0, 0                                                              \
		}                                                                                  \
	}
#define READ(name, want, sink_to, size, src_stag, src_to)                                          \
	{                                                                                          \
		name, want, false, LD, READ_REQUEST, 0, 1, 1, 0, READ_LEN, 0, 0,                   \
		{                                                                                  \
			0x77, sink_to, size, src_stag, src_to                                      \
		}                                                                                  \
	}

static const struct bad bad[] = {
	/* RFC 5040 section 7.2: version and opcode. */
	UNTAGGED("version-0", "0.2.5D", LD, 0x03, 0, 0, 1, 0, 10),
	UNTAGGED("version-2", "0.2.5D", LD, 0x83, 0, 0, 1, 0, 10),
	UNTAGGED("version-3", "0.2.5D", LD, 0xc3, 0, 0, 1, 0, 10),
	TAGGED_("version-0-tagged", "0.2.5D", LD, 0x00, WRITE_STAG, BASE, 10),
	UNTAGGED("version-0-read", "0.2.5D", LD, 0x01, 0, 1, 1, 0, READ_LEN),
	UNTAGGED("opcode-8", "0.2.6D", LD, 0x48, 0, 0, 1, 0, 10),
	UNTAGGED("opcode-15", "0.2.6D", LD, 0x4f, 0, 0, 1, 0, 10),
	TAGGED_("opcode-8-tagged", "0.2.6D", LD, 0x48, WRITE_STAG, BASE, 10),
	TAGGED_("send-tagged", "0.2.6D", LD, SEND, WRITE_STAG, BASE, 10),
	TAGGED_("read-request-tagged", "0.2.6D", LD, READ_REQUEST, WRITE_STAG, BASE, 28),
	TAGGED_("terminate-tagged", "0.2.6D", LD, TERMINATE, WRITE_STAG, BASE, 4),
	UNTAGGED("write-untagged", "0.2.6D", LD, WRITE, 0, 0, 1, 0, 10),
	UNTAGGED("read-response-untagged", "0.2.6D", LD, READ_RESPONSE, 0, 0, 1, 0, 10),
	UNTAGGED("read-request-queue-0", "0.2.6D", LD, READ_REQUEST, 0, 0, 1, 0, READ_LEN),
	UNTAGGED("terminate-queue-0", "0.2.6D", LD, TERMINATE, 0, 0, 1, 0, 4),
	UNTAGGED("send-queue-1", "0.2.6D", LD, SEND, 0, 1, 1, 0, 10),
	UNTAGGED("terminate-queue-1", "0.2.6D", LD, TERMINATE, 0, 1, 1, 0, 4),
	UNTAGGED("send-queue-2", "0.2.6D", LD, SEND, 0, 2, 1, 0, 10),
	UNTAGGED("read-request-queue-2", "0.2.6D", LD, READ_REQUEST, 0, 2, 1, 0, READ_LEN),
	TAGGED_("read-response-unasked", "0.2.6D", LD, READ_RESPONSE, WRITE_STAG, BASE, 10),

	/* Read Requests: the source. */
	READ("read-stag", "0.1.0DR", 0x500, 100, 0x4321, BASE),
	READ("read-below", "0.1.1DR", 0x500, 100, READ_STAG, BASE - 1),
	READ("read-beyond", "0.1.1DR", 0x500, 100, READ_STAG, BASE + READ_SIZE - 99),
	READ("read-longer", "0.1.1DR", 0x500, READ_SIZE + 1, READ_STAG, BASE),
	READ("read-longest", "0.1.1DR", 0x500, UINT32_MAX, READ_STAG, BASE),
	READ("read-no-right", "0.1.2DR", 0x500, 100, WRITE_STAG, BASE),
	READ("read-no-rights-at-all", "0.1.2DR", 0x500, 100, NO_RIGHTS, BASE),
	READ("read-other-domain", "0.1.3DR", 0x500, 100, OTHER_PD, BASE),
	READ("read-wrap", "0.1.4DR", 0x500, 100, READ_STAG, UINT64_MAX - 98),
	READ("read-sink-wrap", "0.1.4DR", UINT64_MAX - 98, 100, READ_STAG, BASE),
	UNTAGGED("read-empty", "0.2.255D", LD, READ_REQUEST, 0, 1, 1, 0, 0),
	UNTAGGED("read-short", "0.2.255D", LD, READ_REQUEST, 0, 1, 1, 0, READ_LEN - 1),
	UNTAGGED("read-long", "1.2.5D", LD, READ_REQUEST, 0, 1, 1, 0, READ_LEN + 1),

	/* Section 5.3 */
	UNTAGGED("invalidate-unknown", "0.1.9D", LD, SEND_INV, 0x4321, 0, 1, 0, 10),
	UNTAGGED("invalidate-shared", "0.1.9D", LD, SEND_INV, WRITE_STAG, 0, 1, 0, 10),
	UNTAGGED("invalidate-other-domain", "0.1.9D", LD, SEND_INV, OTHER_PD, 0, 1, 0, 10),
	UNTAGGED("invalidate-se-unknown", "0.1.9D", LD, SEND_SE_INV, 0, 0, 1, 0, 0),

	/* Section 5.4 */
	UNTAGGED("terminate-empty", "0.2.255D", LD, TERMINATE, 0, 2, 1, 0, 0),
	UNTAGGED("terminate-short", "0.2.255D", LD, TERMINATE, 0, 2, 1, 0, 3),

	/* RFC 5041 section 7.2 */
	TAGGED_("ddp-write-stag", "1.1.0D", LD, WRITE, 0x4321, BASE, 10),
	TAGGED_("ddp-write-no-right", "1.1.0D", LD, WRITE, READ_STAG, BASE, 10),
	TAGGED_("ddp-write-below", "1.1.1D", LD, WRITE, WRITE_STAG, BASE - 1, 10),
	TAGGED_("ddp-write-beyond", "1.1.1D", LD, WRITE, WRITE_STAG, BASE + 65536 - 9, 10),
	TAGGED_("ddp-write-other-domain", "1.1.2D", LD, WRITE, OTHER_PD, BASE, 10),
	TAGGED_("ddp-write-wrap", "1.1.3D", LD, WRITE, WRITE_STAG, UINT64_MAX - 8, 10),
	TAGGED_("ddp-version-tagged", "1.1.4D", LAST | 2, WRITE, WRITE_STAG, BASE, 10),
	UNTAGGED("ddp-queue", "1.2.1D", LD, SEND, 0, 3, 1, 0, 10),
	UNTAGGED("ddp-no-buffer", "1.2.2D", LD, SEND, 0, 0, 5, 0, 10),
	UNTAGGED("ddp-msn-range", "1.2.3D", LD, SEND, 0, 0, 0, 0, 10),
	UNTAGGED("ddp-mo", "1.2.4D", LD, SEND, 0, 0, 1, 4097, 10),
	UNTAGGED("ddp-too-long", "1.2.5D", LD, SEND, 0, 0, 1, 4090, 10),
	UNTAGGED("ddp-version-untagged", "1.2.6D", LAST | 2, SEND, 0, 0, 1, 0, 10),
};

#define NBAD (int)(sizeof(bad) / sizeof(bad[0]))

static const struct ulpdu *bad_ulpdu(const struct bad *b)
{
	if (b->tagged)
		return tagged_ulpdu(b->ddp, b->control, b->stag, b->to, b->len);
	if (b->read.sink_stag)
		return read_ulpdu(b->msn, b->read.sink_stag, b->read.sink_to, b->read.size,
				  b->read.src_stag, b->read.src_to);
	return untagged_ulpdu(b->ddp, b->control, b->inv, b->qn, b->msn, b->mo, b->len);
}

/* "0.2.5D" is reported as 0.2.5MD. */
static void as_told(const char *want, char told[32])
{
	const char *d = strchr(want, 'D');

	if (d)
		snprintf(told, 32, "%.*sM%s", (int)(d - want), want, d);
	else
		snprintf(told, 32, "%s", want);
}

/* In the middle of a stream. The library ignores what follows. */
static const char *one_bad(int i)
{
	const struct ulpdu *m;
	char told[32];

	TRY(open_responder(""));
	TRY(warm_up());
	m = bad_ulpdu(&bad[i]);
	TRY(push_ulpdu(m));
	TRY(pull_terminate(bad[i].want, m));
	as_told(bad[i].want, told);
	return ended("events=CeX sent=%s received=none sends=0/0 writes=3/0 direct=%d", told,
		     peer.direct);
}

/* As the first FPDU, which permits a Responder to send (RFC 5044 section 7.1.2 rule 4). */
static const char *first_bad(int unused)
{
	const struct ulpdu *m;

	(void)unused;
	TRY(open_responder(""));
	m = untagged_ulpdu(LD, 0x83, 0, 0, 1, 0, 10);
	TRY(push_ulpdu(m));
	TRY(pull_terminate("0.2.5D", m));
	TRY(ended("events=CeX sent=0.2.5MD writes=0/0"));
	TRY(open_responder(""));
	m = tagged_ulpdu(LD, WRITE, 0x4321, BASE, 10);
	TRY(push_ulpdu(m));
	TRY(pull_terminate("1.1.0D", m));
	return ended("events=CeX sent=1.1.0MD");
}

/* The library has connected, and sends first. */
static const char *bad_reply(int unused)
{
	const struct ulpdu *m;
	struct fpdu f;

	(void)unused;
	TRY(open_initiator("ops=s"));
	TRY(pull_untagged(&f, SEND, 0, 0, 1, 100));
	TRY(warm_up());
	m = untagged_ulpdu(LD, 0x4b, 0, 0, 1, 0, 10);
	TRY(push_ulpdu(m));
	TRY(pull_terminate("0.2.6D", m));
	/* The Send may be lost or not (RFC 5040 section 6.2.1). */
	return ended("sent=0.2.6MD writes=3/0 direct=%d", peer.direct);
}

/* A message of several segments: the Terminate quotes the last one's header. */
static const char *last_segment(int unused)
{
	const struct ulpdu *m;

	(void)unused;
	TRY(open_responder(""));
	TRY(warm_up());
	TRY(push_ulpdu(untagged_ulpdu(DV, SEND_INV, 0x4321, 0, 1, 0, 1000)));
	TRY(push_ulpdu(untagged_ulpdu(DV, SEND_INV, 0x4321, 0, 1, 1000, 1000)));
	m = untagged_ulpdu(LD, SEND_INV, 0x4321, 0, 1, 2000, 7);
	TRY(push_ulpdu(m));
	TRY(pull_terminate("0.1.9D", m));
	return ended("events=CeX sent=0.1.9MD sends=0/0");
}

/* A ULPDU that is shorter than its header: DDP has no error number for that, and there is no header to quote. */
static const char *short_segment(int unused)
{
	struct ulpdu *m;

	(void)unused;
	TRY(open_responder(""));
	TRY(warm_up());
	m = untagged_ulpdu(LD, SEND, 0, 0, 1, 0, 0);
	m->len = 17;
	TRY(push_ulpdu(m));
	TRY(pull_terminate("1.0.0", m));
	return ended("events=CeX sent=1.0.0");
}

/* ---- MPA ----------------------------------------------------------------------------------------- */

/* On the direct path such a segment is dropped, and TCP sends it again. After some times it is an error. */
static const char *crc(int unused)
{
	uint8_t f[2048];
	uint32_t n;

	(void)unused;
	TRY(open_responder(""));
	TRY(warm_up());
	n = make_fpdu(f, tagged_ulpdu(LD, WRITE, WRITE_STAG, BASE, 100)->u, 114);
	f[20] ^= 1;
	TRY(push(f, n));
	TRY(pull_terminate("2.0.2", NULL));
	return ended("events=CeX sent=2.0.2");
}

static const char *marker(int unused)
{
	static uint8_t f[16384];
	uint32_t n, sum;

	(void)unused;
	TRY(begin("role=r markers=1"));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(0, 0, DEPTH, DEPTH), 0));
	TRY(expect_frame(REPLY, M | C | S, 2, enhanced(0, 0, DEPTH, DEPTH), 0));
	peer.markers_out = true;
	TRY(warm_up());
	n = make_fpdu(f, tagged_ulpdu(LD, WRITE, WRITE_STAG, BASE, 1000)->u, 1014);
	/* Every Marker in it has a wrong distance. */
	for (uint32_t at = peer.out - n, i = 0; i < n; i++, at++)
		if (at % 512 == 0)
			f[i + 3] ^= 4;
	sum = crc32c(f, n - 4);
	for (int i = 0; i < 4; i++)
		f[n - 4 + (uint32_t)i] = (uint8_t)(sum >> 8 * i);
	TRY(push(f, n));
	TRY(pull_terminate("2.0.3", NULL));
	return ended("events=CeX sent=2.0.3");
}

/* A Responder that has received no valid FPDU must not send one. */
static const char *first_crc(int unused)
{
	uint8_t f[2048];
	uint32_t n;

	(void)unused;
	TRY(open_responder(""));
	n = make_fpdu(f, tagged_ulpdu(LD, WRITE, WRITE_STAG, BASE, 100)->u, 114);
	f[20] ^= 1;
	TRY(push(f, n));
	TRY(closed());
	return result("events=CeX sent=none");
}

/* ---- Reads that fail later ----------------------------------------------------------------------- */

/* One Read more at once than was agreed on. This peer has not read any answer yet. */
static const char *too_many_reads(int depth)
{
	const struct ulpdu *m;
	const uint32_t ird = (uint32_t)depth;

	if (ird == DEPTH) {
		TRY(open_responder(""));
	} else {
		/* The ORD in this peer's frame does not matter. */
		TRY(begin(ird ? "role=r ird=%u" : "role=r setird=%u", ird));
		TRY(send_frame(REQUEST, C | S, 2, enhanced(0, 0, DEPTH, DEPTH), 0));
		TRY(expect_frame(REPLY, C | S, 2, enhanced(0, 0, ird, DEPTH), 0));
	}
	for (uint32_t i = 1; i <= ird; i++)
		TRY(push_ulpdu(read_ulpdu(i, 0x77, 0, READ_SIZE, READ_STAG, BASE)));
	m = read_ulpdu(ird + 1, 0x77, 0, READ_SIZE, READ_STAG, BASE);
	TRY(push_ulpdu(m));
	TRY(pull_terminate("0.2.7D", m));
	return ended("events=CeX sent=0.2.7MD reads=0/0");
}

/*
 * The region is freed, or loses its rights, or another one gets its STag while it is read: the answer ends, and the
 * Terminate has the Read Request with the length that is left (RFC 5040 section 4.8).
 */
static const char *source_goes(int how)
{
	static const char *const lines[] = { "on_send=r", "on_send=n", "on_send=C", "on_send=R" };
	static const char *const codes[] = { "0.1.0", "0.1.2", "0.1.0", "0.1.0" };
	struct ulpdu *m;
	uint64_t done = 0;
	struct fpdu f;

	TRY(open_responder(lines[how]));
	TRY(push_ulpdu(read_ulpdu(1, 0x77, 0x500, READ_SIZE, READ_STAG, BASE)));
	TRY(pull_fpdu(&f));
	TRY(push_send(SEND, 0, 1, 10));
	/* The answer has begun, but cannot be sent until this peer reads on. */
	TRY(all_acknowledged());
	usleep(100000);
	do {
		for (uint32_t i = 14; i < f.len; i++, done++)
			CHECK(f.ulpdu[i] == octet(done), "octet %u", (unsigned int)done);
		TRY(pull_fpdu(&f));
	} while (f.ulpdu[0] & TAGGED);
	CHECK(done < READ_SIZE && done > 1000);
	m = read_ulpdu(1, 0x77, 0x500 + done, (uint32_t)(READ_SIZE - done), READ_STAG, BASE + done);
	CHECK(f.ulpdu[18] == 1 && f.ulpdu[19] == (how == 1 ? 2 : 0) && f.ulpdu[20] == 0xe0 &&
		      f.len == 22 + 2 + 18 + READ_LEN,
	      "%02x %02x %02x, %u octets", f.ulpdu[18], f.ulpdu[19], f.ulpdu[20], f.len);
	CHECK(get(f.ulpdu + 22, 2) == 18 + READ_LEN && !memcmp(f.ulpdu + 24, m->u, 18));
	CHECK(!memcmp(f.ulpdu + 42, m->u + 18, READ_LEN), "%u octets left, not %u",
	      (unsigned int)get(f.ulpdu + 54, 4), (unsigned int)(READ_SIZE - done));
	return ended("events=CreX sent=%sMDR reads=0/0", codes[how]);
}

/* An answer with another place or length than the request. */
static const char *wrong_answer(int how)
{
	const struct ulpdu *m;
	struct fpdu f;

	TRY(open_initiator("ops=r"));
	TRY(pull_untagged(&f, READ_REQUEST, 0, 1, 1, READ_LEN));
	TRY(warm_up());
	m = tagged_ulpdu(LD, READ_RESPONSE, WRITE_STAG, BASE + (how == 0), 100 - (how == 1));
	TRY(push_ulpdu(m));
	TRY(pull_terminate("0.2.7D", m));
	return ended("events=CefX sent=0.2.7MD reads=0/0 direct=%d", peer.direct);
}

/* The answer's segments overlap or leave a gap, so that a part of the sink is not written (RFC 5041 section 5.2). */
static const char *answer_in_pieces(int how)
{
	const struct ulpdu *m;
	struct fpdu f;

	TRY(open_initiator("ops=r len=200"));
	TRY(pull_untagged(&f, READ_REQUEST, 0, 1, 1, READ_LEN));
	TRY(warm_up());
	TRY(push_ulpdu(tagged_ulpdu(DV, READ_RESPONSE, WRITE_STAG, BASE, 100)));
	m = tagged_ulpdu(LD, READ_RESPONSE, WRITE_STAG, BASE + (how ? 150 : 0), 100);
	TRY(push_ulpdu(m));
	TRY(pull_terminate("0.2.7D", m));
	return ended("events=CefX sent=0.2.7MD reads=0/0 direct=%d", peer.direct);
}

/* Another region gets the sink's STag before the answer comes: no octet of the answer is written to that region. */
static const char *sink_is_another(int unused)
{
	const struct ulpdu *m;
	struct fpdu f;

	(void)unused;
	TRY(open_initiator("ops=rs on_send=W len=100"));
	TRY(pull_untagged(&f, READ_REQUEST, 0, 1, 1, READ_LEN));
	TRY(pull_untagged(&f, SEND, 0, 0, 1, 100));
	TRY(push_send(SEND, 0, 1, 10));
	TRY(pull_untagged(&f, SEND, 0, 0, 2, 100)); /* it is so */
	m = tagged_ulpdu(LD, READ_RESPONSE, WRITE_STAG, BASE, 100);
	TRY(push_ulpdu(m));
	TRY(pull_terminate("0.2.7D", m));
	return ended("sent=0.2.7MD reads=0/0 touched=0");
}

/* An error of every segment is found at the first one, and nothing is placed. */
static const char *first_segment(int how)
{
	static const uint8_t control[] = { 0x00, 0x83, 0x4f, SEND, READ_RESPONSE };
	static const char *const want[] = { "0.2.5D", "0.2.5D", "0.2.6D", "0.2.6D", "0.2.6D" };
	static const char *const told[] = { "0.2.5MD", "0.2.5MD", "0.2.6MD", "0.2.6MD", "0.2.6MD" };
	struct ulpdu *m;

	TRY(open_responder(""));
	TRY(warm_up());
	m = tagged_ulpdu(DV, control[how], WRITE_STAG, BASE + 5000, 1000);
	for (uint32_t i = 14; i < m->len; i++)
		m->u[i] = (uint8_t)~m->u[i];
	TRY(push_ulpdu(m));
	TRY(pull_terminate(want[how], m));
	return ended("events=CeX sent=%s writes=3/0 touched=0 direct=%d", told[how], peer.direct);
}

/* The library does not wait for a peer that does not read the Terminate: it resets some seconds later. */
static const char *unread(int unused)
{
	const struct ulpdu *m;
	int small = 4096, err = 0;
	socklen_t len = sizeof(err);
	struct pollfd p;

	(void)unused;
	TRY(open_responder(""));
	setsockopt(peer.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	TRY(push_ulpdu(read_ulpdu(1, 0x77, 0x500, READ_SIZE, READ_STAG, BASE)));
	TRY(all_acknowledged());
	usleep(200000);
	m = untagged_ulpdu(LD, 0x4f, 0, 0, 1, 0, 10);
	TRY(push_ulpdu(m));
	p = (struct pollfd){ .fd = peer.fd, .events = POLLRDHUP };
	CHECK(poll(&p, 1, 10000) == 1 && p.revents & POLLERR, "%x", p.revents);
	getsockopt(peer.fd, SOL_SOCKET, SO_ERROR, &err, &len);
	CHECK(err == ECONNRESET, "%s", strerror(err));
	return result("events=CeX sent=0.2.6MD status=-71");
}

/* ---- run ----------------------------------------------------------------------------------------- */

static const struct test_case cases[] = {
	{ "first-fpdu", first_bad, 0 },
	{ "bad-reply", bad_reply, 0 },
	{ "last-segment", last_segment, 0 },
	{ "short-segment", short_segment, 0 },
	{ "mpa-crc", crc, 0 },
	{ "mpa-marker", marker, 0 },
	{ "mpa-first-crc", first_crc, 0 },
	{ "too-many-reads", too_many_reads, DEPTH },
	{ "too-many-reads-none", too_many_reads, 0 },
	{ "too-many-reads-one", too_many_reads, 1 },
	{ "too-many-reads-more", too_many_reads, 9 },
	{ "region-goes", source_goes, 0 },
	{ "region-loses-rights", source_goes, 1 },
	{ "region-goes-closing", source_goes, 2 },
	{ "region-is-another", source_goes, 3 },
	{ "sink-is-another", sink_is_another, 0 },
	{ "answer-twice", answer_in_pieces, 0 },
	{ "answer-gap", answer_in_pieces, 1 },
	{ "first-segment-version-0", first_segment, 0 },
	{ "first-segment-version-2", first_segment, 1 },
	{ "first-segment-opcode", first_segment, 2 },
	{ "first-segment-send", first_segment, 3 },
	{ "first-segment-unasked", first_segment, 4 },
	{ "answer-elsewhere", wrong_answer, 0 },
	{ "answer-too-short", wrong_answer, 1 },
	{},
};

/* Depends only on the library's sending, and takes time. */
static const struct test_case kernel_cases[] = {
	{ "terminate-unread", unread, 0 },
	{},
};

int main(int argc, char **argv)
{
	open_control(argc, argv);
	run_cases(good_cases);
	run_cases(first_cases);
	run_cases(sink_cases);
	for (int i = 0; i < NBAD; i++)
		run_case(bad[i].name, one_bad, i);
	run_cases(cases);
	if (!peer.direct)
		run_cases(kernel_cases);
	return failures > 0;
}
