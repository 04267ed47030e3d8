// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Cases of rdmap.c about RDMA Reads into plain memory: the library makes an STag for each, with which this peer may do
 * nothing but answer that Read, once. No octet goes anywhere else (strays), or there when the Read is complete.
 */
#include "tests/net/peer/rdmap.h"

#define LD (LAST | DV)
#define SIZE 200u

struct sink {
	uint32_t stag;
	uint64_t to;
};

static const char *expect_read(uint32_t msn, struct sink *s)
{
	struct fpdu f;

	TRY(pull_untagged(&f, READ_REQUEST, 0, 1, msn, READ_LEN));
	s->stag = (uint32_t)get(f.ulpdu + 18, 4);
	s->to = get(f.ulpdu + 22, 8);
	CHECK(get(f.ulpdu + 30, 4) == SIZE);
	return NULL;
}

static const char *open_reads(const char *more, struct sink *s, uint32_t reads)
{
	char line[64];

	snprintf(line, sizeof(line), "len=%u %s", SIZE, more);
	TRY(open_initiator(line));
	for (uint32_t i = 0; i < reads; i++)
		TRY(expect_read(i + 1, &s[i]));
	return warm_up();
}

/* Octets `from` and so on of an answer. */
static struct ulpdu *answer(uint8_t ddp, const struct sink *s, uint32_t from, uint32_t len)
{
	static struct ulpdu m;

	m.len = make_tagged(m.u, ddp, READ_RESPONSE, s->stag, s->to + from, 7 + from, len);
	return &m;
}

static const char *whole(const struct sink *s)
{
	return push_ulpdu(answer(LD, s, 0, SIZE));
}

/* This message ends the stream; nothing of it is placed. */
static const char *refused(const struct ulpdu *m, const char *want, int reads)
{
	char told[16];

	TRY(push_ulpdu(m));
	TRY(pull_terminate(want, m));
	snprintf(told, sizeof(told), "%.5sMD", want);
	return ended("sent=%s%s strays=0 touched=0 reads=0/%d direct=%d", told,
		     strchr(want, 'R') ? "R" : "", reads, peer.direct);
}

/* In pieces, the last of them of no octets. */
static const char *in_pieces(int unused)
{
	struct sink s;

	(void)unused;
	TRY(open_reads("ops=p", &s, 1));
	for (uint32_t i = 0; i < SIZE; i += 50)
		TRY(push_ulpdu(answer(DV, &s, i, 50)));
	TRY(push_ulpdu(answer(LD, &s, SIZE, 0)));
	return finished("events=CdEX status=0 strays=0 touched=0 reads=0/1 direct=%d", peer.direct);
}

static const char *longer(int how)
{
	struct sink s;

	TRY(open_reads("ops=p", &s, 1));
	if (!how)
		return refused(answer(LD, &s, 0, SIZE + 1), "1.1.1D", 0);
	TRY(push_ulpdu(answer(DV, &s, 0, SIZE)));
	if (how == 1)
		return refused(answer(LD, &s, SIZE, 1), "1.1.1D", 0);
	/* The answer starts anew. */
	return refused(answer(LD, &s, 0, SIZE), "0.2.7D", 0);
}

/* An answer after the completion, when the memory is the application's again. */
static const char *twice(int later)
{
	struct sink s;

	TRY(open_reads("ops=p", &s, 1));
	TRY(whole(&s));
	if (later) {
		TRY(all_acknowledged());
		usleep(50000);
	}
	return refused(answer(LD, &s, 0, SIZE), "1.1.0D", 1);
}

/* Two Reads: the second one is answered first, or where the first one was. */
static const char *of_another(int how)
{
	struct sink s[2];

	TRY(open_reads("ops=pp", s, 2));
	CHECK(s[0].stag != s[1].stag);
	if (!how)
		return refused(answer(LD, &s[1], 0, SIZE), "0.2.7D", 0);
	TRY(whole(&s[0]));
	return refused(answer(LD, &s[0], 0, SIZE), "1.1.0D", 1);
}

/* The application reads to the same memory again, and this peer knows the STag of before. */
static const char *of_before(int unused)
{
	struct sink s[2];

	(void)unused;
	TRY(open_reads("ops=p on_send=p", s, 1));
	TRY(whole(&s[0]));
	TRY(push_send(SEND, 0, 1, 10));
	TRY(expect_read(2, &s[1]));
	CHECK(s[0].stag != s[1].stag);
	return refused(answer(LD, &s[0], 0, SIZE), "1.1.0D", 1);
}

/* Anything but an answer, while the Read is under way, and when it is complete. */
static const char *other_use(int complete)
{
	static const char *const want[][2] = { { "1.1.0D", "1.1.0D" }, { "0.1.2DR", "0.1.0DR" } };
	const struct ulpdu *m;
	struct sink s;

	for (int what = 0; what < 2; what++) {
		TRY(open_reads("ops=p", &s, 1));
		if (complete)
			TRY(whole(&s));
		if (what == 0) {
			static struct ulpdu write;

			write.len = make_tagged(write.u, LD, WRITE, s.stag, s.to, 0, SIZE);
			m = &write;
		} else {
			m = read_ulpdu(1, 0x77, 0, SIZE, s.stag, s.to);
		}
		TRY(refused(m, want[what][complete], complete));
	}
	return NULL;
}

/* RFC 5040 section 5.3 lets this peer invalidate the STag. It has then no way to answer the Read. */
static const char *invalidated(int complete)
{
	struct sink s;

	TRY(open_reads("ops=p", &s, 1));
	if (complete) {
		TRY(whole(&s));
		return refused(untagged_ulpdu(LD, SEND_INV, s.stag, 0, 1, 0, 10), "0.1.9D", 1);
	}
	TRY(push_send(SEND_INV, s.stag, 1, 10));
	return refused(answer(LD, &s, 0, SIZE), "1.1.0D", 0);
}

/* The end comes within the answer: the Read fails, and nothing is written later. */
static const char *cut(int reset)
{
	const struct linger linger = { .l_onoff = 1 };
	struct sink s;

	TRY(open_reads("ops=p", &s, 1));
	TRY(push_ulpdu(answer(DV, &s, 0, SIZE / 2)));
	if (!reset) {
		TRY(half_close());
		return ended("strays=0 touched=0 reads=0/0");
	}
	TRY(all_acknowledged());
	setsockopt(peer.fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(peer.fd);
	peer.fd = -1;
	return result("status=-104 strays=0 touched=0 reads=0/0");
}

const struct test_case sink_cases[] = {
	{ "sink-pieces", in_pieces, 0 },
	{ "sink-longer", longer, 0 },
	{ "sink-longer-in-pieces", longer, 1 },
	{ "sink-anew", longer, 2 },
	{ "sink-twice", twice, 0 },
	{ "sink-after-completion", twice, 1 },
	{ "sink-second-first", of_another, 0 },
	{ "sink-first-again", of_another, 1 },
	{ "sink-of-before", of_before, 0 },
	{ "sink-other-use", other_use, 0 },
	{ "sink-other-use-complete", other_use, 1 },
	{ "sink-invalidated", invalidated, 0 },
	{ "sink-invalidated-complete", invalidated, 1 },
	{ "sink-cut-fin", cut, 0 },
	{ "sink-cut-reset", cut, 1 },
	{},
};
