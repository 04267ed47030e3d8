// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "mpa/startup.h"
#include "tests/unit/mpa_ref.h"

#define SEED 0x6581u

static uint8_t buf[600], pd[600];

/* Decodes a heap copy of exactly @len octets, so that AddressSanitizer sees a read past them. */
static enum xiw_mpa_start decode(size_t len, bool reply, size_t *need)
{
	uint8_t *copy = malloc(len + !len);
	struct xiw_mpa_frame frame;
	enum xiw_mpa_start st;

	memcpy(copy, buf, len);
	st = xiw_mpa_frame_decode(copy, len, reply, &frame, need);
	free(copy);
	return st;
}

Test(mpa_startup, request_on_the_wire)
{
	static const uint8_t wire[] = {
		0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52, 0x65, 0x71, 0x20, 0x46,
		0x72, 0x61, 0x6d, 0x65, 0xc0, 0x01, 0x00, 0x03, 'a',  'b',  'c',
	};
	struct xiw_mpa_frame frame = {
		.markers = true,
		.crc = true,
		.rev = 1,
		.pd_len = 3,
		.pd = (const uint8_t *)"abc",
	};

	cr_assert_eq(xiw_mpa_frame_encode(&frame, buf, sizeof(buf)), sizeof(wire));
	cr_assert_arr_eq(buf, wire, sizeof(wire));
}

Test(mpa_startup, reply_on_the_wire)
{
	static const uint8_t wire[] = {
		0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52, 0x65, 0x70, 0x20, 0x46, 0x72,
		0x61, 0x6d, 0x65, 0x30, 0x02, 0x00, 0x05, 0x80, 0x07, 0x7f, 0xff, 'x',
	};
	struct xiw_mpa_frame frame = {
		.reply = true,
		.reject = true,
		.rev = 2,
		.has_enhanced = true,
		.enhanced = { .peer_to_peer = true, .ird = 7, .rtr_read = true, .ord = 0x3fff },
		.pd_len = 1,
		.pd = (const uint8_t *)"x",
	};

	cr_assert_eq(xiw_mpa_frame_encode(&frame, buf, sizeof(buf)), sizeof(wire));
	cr_assert_arr_eq(buf, wire, sizeof(wire));
}

static void round_trip(const struct xiw_mpa_frame *in)
{
	int len = xiw_mpa_frame_encode(in, buf, sizeof(buf));
	struct xiw_mpa_frame frame;
	size_t need;

	cr_assert_eq(len, 20 + 4 * in->has_enhanced + in->pd_len);
	for (int have = 0; have < len; have++) {
		cr_assert_eq(decode(have, in->reply, &need), XIW_MPA_START_MORE);
		cr_assert_eq(need, have < 20 ? 20 : len);
	}
	cr_assert_eq(decode(len, in->reply, &need), XIW_MPA_START_OK);
	/* Octets after the frame are FPDUs, which the decoder does not touch. */
	cr_assert_eq(xiw_mpa_frame_decode(buf, sizeof(buf), in->reply, &frame, &need),
		     XIW_MPA_START_OK);
	cr_assert_eq(need, len);
	cr_assert_eq(frame.reply, in->reply);
	cr_assert_eq(frame.markers, in->markers);
	cr_assert_eq(frame.crc, in->crc);
	cr_assert_eq(frame.reject, in->reject);
	cr_assert_eq(frame.rev, in->rev);
	cr_assert_eq(frame.has_enhanced, in->has_enhanced);
	cr_assert_eq(frame.pd_len, in->pd_len);
	cr_assert_eq(memcmp(frame.pd, in->pd, in->pd_len), 0);
	cr_assert_eq(frame.enhanced.peer_to_peer, in->enhanced.peer_to_peer);
	cr_assert_eq(frame.enhanced.rtr_send, in->enhanced.rtr_send);
	cr_assert_eq(frame.enhanced.rtr_write, in->enhanced.rtr_write);
	cr_assert_eq(frame.enhanced.rtr_read, in->enhanced.rtr_read);
	cr_assert_eq(frame.enhanced.ird, in->enhanced.ird);
	cr_assert_eq(frame.enhanced.ord, in->enhanced.ord);
}

Test(mpa_startup, round_trip_and_truncation)
{
	static const uint16_t lens[] = { 0, 1, 508, 511, 512 };
	uint64_t rng = SEED;

	ref_fill(&rng, pd, sizeof(pd));
	for (unsigned int bits = 0; bits < 512; bits++) {
		struct xiw_mpa_frame frame = {
			.reply = bits & 1,
			.markers = bits & 2,
			.crc = bits & 4,
			.reject = (bits & 8) && (bits & 1),
			.rev = 1 + !!(bits & 16),
			.pd_len = lens[bits % 5],
			.pd = pd,
		};

		round_trip(&frame);
		if (frame.rev == 1 || frame.pd_len > 508)
			continue;
		frame.has_enhanced = true;
		frame.enhanced = (struct xiw_mpa_enhanced){
			.peer_to_peer = bits & 32,
			.rtr_send = bits & 64,
			.rtr_write = bits & 128,
			.rtr_read = bits & 256,
			.ird = ref_random(&rng) & 0x3fff,
			.ord = ref_random(&rng) & 0x3fff,
		};
		round_trip(&frame);
	}
}

Test(mpa_startup, encode_refuses)
{
	struct xiw_mpa_frame good = { .rev = 2, .pd_len = 508, .pd = pd, .has_enhanced = true };
	struct xiw_mpa_frame f = good;

	cr_assert_eq(xiw_mpa_frame_encode(&f, buf, 532), 532);
	cr_assert_eq(xiw_mpa_frame_encode(&f, buf, 531), -ENOSPC);
	f.pd_len = 509;
	cr_assert_eq(xiw_mpa_frame_encode(&f, buf, sizeof(buf)), -EMSGSIZE);
	f.has_enhanced = false;
	f.pd_len = 513;
	cr_assert_eq(xiw_mpa_frame_encode(&f, buf, sizeof(buf)), -EMSGSIZE);

	f = good;
	f.rev = 1;
	cr_assert_eq(xiw_mpa_frame_encode(&f, buf, sizeof(buf)), -EINVAL);
	f = good;
	f.reject = true;
	cr_assert_eq(xiw_mpa_frame_encode(&f, buf, sizeof(buf)), -EINVAL);
	f = good;
	f.enhanced.ird = 0x4000;
	cr_assert_eq(xiw_mpa_frame_encode(&f, buf, sizeof(buf)), -EINVAL);
	f = good;
	f.enhanced.ord = 0x4000;
	cr_assert_eq(xiw_mpa_frame_encode(&f, buf, sizeof(buf)), -EINVAL);
	f = (struct xiw_mpa_frame){ .rev = 0 };
	cr_assert_eq(xiw_mpa_frame_encode(&f, buf, sizeof(buf)), -EINVAL);
	f.rev = 3;
	cr_assert_eq(xiw_mpa_frame_encode(&f, buf, sizeof(buf)), -EINVAL);
}

/* A wrong octet of the key is found as soon as it has come. */
Test(mpa_startup, wrong_key)
{
	struct xiw_mpa_frame frame = { .rev = 1 };
	size_t need;

	for (int reply = 0; reply < 2; reply++) {
		frame.reply = reply;
		xiw_mpa_frame_encode(&frame, buf, sizeof(buf));
		for (unsigned int at = 0; at < 16; at++) {
			buf[at] ^= 0x80;
			for (unsigned int have = 0; have <= at; have++)
				cr_assert_eq(decode(have, reply, &need), XIW_MPA_START_MORE);
			for (unsigned int have = at + 1; have <= 20; have++)
				cr_assert_eq(decode(have, reply, &need), XIW_MPA_START_BAD_KEY);
			buf[at] ^= 0x80;
		}
	}
}

/* Section 7.1.2 rule 8: two Initiators, or a Reply that answers no Request. */
Test(mpa_startup, wrong_role)
{
	struct xiw_mpa_frame frame = { .rev = 1 };
	size_t need;

	for (int reply = 0; reply < 2; reply++) {
		frame.reply = reply;
		xiw_mpa_frame_encode(&frame, buf, sizeof(buf));
		for (unsigned int have = 0; have <= 20; have++)
			cr_assert_eq(decode(have, !reply, &need),
				     have > 9 ? XIW_MPA_START_WRONG_ROLE : XIW_MPA_START_MORE);
	}
}

Test(mpa_startup, revisions)
{
	struct xiw_mpa_frame frame = { .rev = 1 };
	size_t need;

	xiw_mpa_frame_encode(&frame, buf, sizeof(buf));
	for (int rev = 0; rev < 256; rev++) {
		bool known = rev == 1 || rev == 2;

		buf[17] = (uint8_t)rev;
		cr_assert_eq(decode(17, false, &need), XIW_MPA_START_MORE);
		cr_assert_eq(decode(18, false, &need),
			     known ? XIW_MPA_START_MORE : XIW_MPA_START_BAD_REV);
		cr_assert_eq(decode(20, false, &need),
			     known ? XIW_MPA_START_OK : XIW_MPA_START_BAD_REV);
	}
}

/* Section 7.1.1: neither Res nor R in a Request is checked; in Rev 1 S is part of Res. */
Test(mpa_startup, reserved_bits_are_ignored)
{
	struct xiw_mpa_frame frame = { .rev = 1, .pd_len = 5, .pd = (const uint8_t *)"12345" };
	size_t need;

	for (int reply = 0; reply < 2; reply++) {
		frame = (struct xiw_mpa_frame){
			.reply = reply,
			.rev = 1,
			.pd_len = 5,
			.pd = (const uint8_t *)"12345",
		};
		xiw_mpa_frame_encode(&frame, buf, sizeof(buf));
		buf[16] = 0x3f;
		cr_assert_eq(xiw_mpa_frame_decode(buf, 25, reply, &frame, &need), XIW_MPA_START_OK);
		cr_assert_not(frame.markers);
		cr_assert_not(frame.crc);
		cr_assert_eq(frame.reject, reply);
		cr_assert_not(frame.has_enhanced);
		cr_assert_eq(frame.pd_len, 5);

		buf[17] = 2;
		buf[16] = 0x1f;
		cr_assert_eq(xiw_mpa_frame_decode(buf, 25, reply, &frame, &need), XIW_MPA_START_OK);
		cr_assert(frame.has_enhanced);
		cr_assert_eq(frame.pd_len, 1);
		cr_assert_eq(frame.pd[0], '5');
	}
}

Test(mpa_startup, private_data_length)
{
	struct xiw_mpa_frame frame = { .rev = 2 };
	size_t need;

	xiw_mpa_frame_encode(&frame, buf, sizeof(buf));
	buf[18] = 513 >> 8;
	buf[19] = 513 & 255;
	cr_assert_eq(decode(20, false, &need), XIW_MPA_START_BAD_PD_LENGTH);
	buf[19]--;
	cr_assert_eq(decode(20, false, &need), XIW_MPA_START_MORE);
	cr_assert_eq(need, 532);
	buf[18] = 0xff;
	cr_assert_eq(decode(sizeof(buf), false, &need), XIW_MPA_START_BAD_PD_LENGTH);

	/* RFC 6581 section 6: if S is set, the Private Data must begin with 4 octets of IRD and ORD. */
	buf[16] = 0x10;
	buf[18] = 0;
	for (uint8_t len = 0; len < 4; len++) {
		buf[19] = len;
		cr_assert_eq(decode(sizeof(buf), false, &need), XIW_MPA_START_BAD_PD_LENGTH);
	}
	buf[19] = 4;
	cr_assert_eq(decode(24, false, &need), XIW_MPA_START_OK);
}
