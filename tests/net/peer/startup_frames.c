// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cases of startup.c: the frames of MPA startup, right and wrong (RFC 5044 section 7.1). */
#include "tests/net/peer/startup.h"

static const char *private_data_responder(int len)
{
	char want[64];

	TRY(begin("role=r apd=%d", 512 - len));
	TRY(send_frame(REQUEST, C, 1, NULL, (size_t)len));
	TRY(expect_frame(REPLY, C, 1, NULL, (size_t)(512 - len)));
	snprintf(want, sizeof(want), "pd=%d pdbad=0 rev=1", len);
	return stream_end(want);
}

static const char *private_data_initiator(int len)
{
	uint8_t f[64];
	char want[64];

	TRY(begin("role=i pd=%d send=1", 512 - len));
	TRY(expect_frame(REQUEST, C, 1, NULL, (size_t)(512 - len)));
	TRY(send_frame(REPLY, C, 1, NULL, (size_t)len));
	TRY(expect_message(1, 1));
	TRY(push(f, tagged(f, 0, 1)));
	snprintf(want, sizeof(want), "pd=%d pdbad=0 rev=1", len);
	return clean_end(want);
}

static const char *private_data_513(int role)
{
	uint8_t f[1024];
	size_t len = make_frame(f, role == 'i' ? REPLY : REQUEST, C, 1, NULL, 513);

	return refused(role, f, len, "-71");
}

static const char *revision_unknown(int i)
{
	static const uint8_t revs[] = { 0, 3, 255 };
	uint8_t f[64];
	size_t len = make_frame(f, i < 3 ? REQUEST : REPLY, C, revs[i % 3], NULL, 0);

	return refused(i < 3 ? 'r' : 'i', f, len, "-93");
}

static const char *wrong_key(int role)
{
	uint8_t f[64];
	size_t len = make_frame(f, role == 'i' ? REPLY : REQUEST, C, 1, NULL, 0);

	f[15] ^= 0x20;
	return refused(role, f, len, "-71");
}

/* RFC 5044 section 7.1.2 rule 8: a Request where a Reply is due, and a Reply where a Request is due. */
static const char *wrong_role(int role)
{
	uint8_t f[64];
	size_t len = make_frame(f, role == 'i' ? REQUEST : REPLY, C, 1, NULL, 0);

	return refused(role, f, len, "-91");
}

static const char *revision_2_plain(int unused)
{
	(void)unused;
	TRY(begin("role=r apd=512"));
	TRY(send_frame(REQUEST, C, 2, NULL, 512));
	TRY(expect_frame(REPLY, C, 2, NULL, 512));
	return stream_end("rev=2 enhanced=0 pd=512 pdbad=0");
}

/* The option `rev` restricts an endpoint to RFC 5044 (RFC 6581 section 10). */
static const char *revision_2_unwanted(int unused)
{
	(void)unused;
	TRY(begin("role=r rev=1"));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(0, 0, 1, 1), 0));
	TRY(closed());
	return result("events=CLOSED mpa=4 status=-93 rev=2");
}

/* The receiver ignores Res, and R in a Request, and in Rev 1 also S, which is part of Res there. */
static const char *reserved_bits(int unused)
{
	(void)unused;
	TRY(begin("role=r"));
	TRY(send_frame(REQUEST, C | R | S | 0x0f, 1, NULL, 7));
	TRY(expect_frame(REPLY, C, 1, NULL, 0));
	return stream_end("pd=7 pdbad=0 enhanced=0");
}

/* The frame comes in two pieces, cut at every octet in turn, and in single octets. */
static const char *split(int role)
{
	uint8_t f[64];
	size_t len =
		make_frame(f, role == 'i' ? REPLY : REQUEST, C | S, 2, enhanced(0, 0, 3, 3), 8);

	for (size_t cut = 0; cut < len; cut++) {
		TRY(begin("role=%c ird=3 ord=3 send=%d", role, role == 'i'));
		if (role == 'i')
			TRY(expect_frame(REQUEST, C | S, 2, enhanced(0, 0, 3, 3), 0));
		for (size_t i = 0; i < len && !cut; i++) {
			TRY(push(f + i, 1));
			wait_us(200);
		}
		if (cut) {
			TRY(push(f, cut));
			wait_us(2000);
			TRY(push(f + cut, len - cut));
		}
		if (role == 'r')
			TRY(expect_frame(REPLY, C | S, 2, enhanced(0, 0, 3, 3), 0));
		else
			TRY(expect_message(
				1, 1)); /* rule 4: a Responder's peer sends only after the Reply */
		TRY(stream_end("pd=8 pdbad=0"));
	}
	return NULL;
}

const struct test_case frame_cases[] = {
	{ "private-data-0-responder", private_data_responder, 0 },
	{ "private-data-1-responder", private_data_responder, 1 },
	{ "private-data-511-responder", private_data_responder, 511 },
	{ "private-data-512-responder", private_data_responder, 512 },
	{ "private-data-513-responder", private_data_513, 'r' },
	{ "private-data-0-initiator", private_data_initiator, 0 },
	{ "private-data-1-initiator", private_data_initiator, 1 },
	{ "private-data-511-initiator", private_data_initiator, 511 },
	{ "private-data-512-initiator", private_data_initiator, 512 },
	{ "private-data-513-initiator", private_data_513, 'i' },
	{ "revision-0-responder", revision_unknown, 0 },
	{ "revision-3-responder", revision_unknown, 1 },
	{ "revision-255-responder", revision_unknown, 2 },
	{ "revision-0-initiator", revision_unknown, 3 },
	{ "revision-3-initiator", revision_unknown, 4 },
	{ "revision-255-initiator", revision_unknown, 5 },
	{ "revision-2-plain", revision_2_plain, 0 },
	{ "revision-2-unwanted", revision_2_unwanted, 0 },
	{ "wrong-key-responder", wrong_key, 'r' },
	{ "wrong-key-initiator", wrong_key, 'i' },
	{ "initiator-initiator", wrong_role, 'i' },
	{ "reply-to-responder", wrong_role, 'r' },
	{ "reserved-bits", reserved_bits, 0 },
	{ "split-everywhere-responder", split, 'r' },
	{ "split-everywhere-initiator", split, 'i' },
	{},
};
