// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * MPA Request and Reply Frames (RFC 5044 section 7.1.1, RFC 6581 section 9). The decoder, fed octet by octet, is
 * compared with a table of the frame. The decoder must read what the encoder writes. Two endpoints must agree.
 */
#include <errno.h>

#include "mpa/enhanced.h"
#include "mpa/startup.h"
#include "tests/fuzz/fuzz.h"

static uint32_t be16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

/* Reads the first @len octets in wire order. */
static enum xiw_mpa_start reference(const uint8_t *p, size_t len, bool reply, size_t *need)
{
	const char *own = reply ? "MPA ID Rep Frame" : "MPA ID Req Frame";
	const char *other = reply ? "MPA ID Req Frame" : "MPA ID Rep Frame";
	bool is_own = true, is_other = true;

	*need = 20;
	for (size_t i = 0; i < len && i < 16; i++) {
		is_own &= p[i] == (uint8_t)own[i];
		is_other &= p[i] == (uint8_t)other[i];
	}
	if (!is_own)
		return is_other ? XIW_MPA_START_WRONG_ROLE : XIW_MPA_START_BAD_KEY;
	if (len >= 18 && p[17] != 1 && p[17] != 2)
		return XIW_MPA_START_BAD_REV;
	if (len < 20)
		return XIW_MPA_START_MORE;
	if (be16(p + 18) > 512 || (p[17] == 2 && p[16] & 0x10 && be16(p + 18) < 4))
		return XIW_MPA_START_BAD_PD_LENGTH;
	*need = 20 + be16(p + 18);
	return len < *need ? XIW_MPA_START_MORE : XIW_MPA_START_OK;
}

static void check_frame(const struct xiw_mpa_frame *f, const uint8_t *p, size_t need, bool reply)
{
	bool s = p[17] == 2 && p[16] & 0x10;
	uint8_t out[XIW_MPA_FRAME_MAX];
	int len;

	CHECK(f->reply == reply && f->rev == p[17] && f->has_enhanced == s);
	REACHES(s && f->pd_len,
		"a whole frame with enhanced RDMA connection data and private data");
	REACHES(f->reject, "a Reply that rejects");
	CHECK(f->markers == !!(p[16] & 0x80) && f->crc == !!(p[16] & 0x40));
	CHECK(f->reject == (reply && p[16] & 0x20));
	CHECK(f->pd == p + 20 + 4 * s && f->pd + f->pd_len == p + need);
	if (s) {
		CHECK(f->enhanced.peer_to_peer == p[20] >> 7);
		CHECK(f->enhanced.rtr_send == (p[20] >> 6 & 1));
		CHECK(f->enhanced.rtr_write == p[22] >> 7);
		CHECK(f->enhanced.rtr_read == (p[22] >> 6 & 1));
		CHECK(f->enhanced.ird == (be16(p + 20) & 0x3fff));
		CHECK(f->enhanced.ord == (be16(p + 22) & 0x3fff));
	}
	CHECK(xiw_mpa_frame_encode(f, out, need - 1) == -ENOSPC);
	len = xiw_mpa_frame_encode(f, out, sizeof(out));
	CHECK(len == (int)need);
	/* Equal except for reserved bits: R in a Request, S in Rev 1, and four without a meaning. */
	for (size_t i = 0; i < need; i++) {
		uint8_t mask = i != 16 ? 0xff : (reply ? 0xe0 : 0xc0) | (p[17] == 2 ? 0x10 : 0);

		CHECK(out[i] == (p[i] & mask), "octet %zu", i);
	}
}

/* RFC 6581 section 9: neither side uses more than the other said, or asks for what it did not offer. */
static void agree(struct fuzz_in *in)
{
	struct xiw_mpa_terms a = { .ird = fuzz_u16(in) & 0x3fff, .ord = fuzz_u16(in) & 0x3fff };
	struct xiw_mpa_terms b = { .ird = fuzz_u16(in) & 0x3fff, .ord = fuzz_u16(in) & 0x3fff };
	struct xiw_mpa_terms a0, b0;
	struct xiw_mpa_enhanced request, reply, wire;
	bool reject = fuzz_u8(in) & 1;
	enum xiw_mpa_error err;
	uint8_t four[4];

	a.rtr = fuzz_u8(in) & 7;
	a.peer_to_peer = a.rtr;
	b.rtr = 1 + fuzz_below(in, 7);
	a0 = a;
	b0 = b;
	xiw_mpa_offer(&a, &request);
	xiw_mpa_enhanced_encode(&request, four);
	xiw_mpa_enhanced_decode(&wire, four);
	CHECK(!memcmp(&wire, &request, sizeof(wire)));
	xiw_mpa_respond(&b, &request, reject, &reply);
	CHECK(reply.ird <= 0x3fff && reply.ord <= 0x3fff);
	CHECK(reply.peer_to_peer == request.peer_to_peer);
	CHECK(reply.peer_to_peer || !(reply.rtr_send | reply.rtr_write | reply.rtr_read));
	CHECK(!reply.peer_to_peer || (reply.rtr_send | reply.rtr_write | reply.rtr_read));
	if (reject)
		return;
	CHECK(b.ord <= b0.ord && b.ird == b0.ird);
	if (request.ird != 0x3fff)
		CHECK(reply.ord <= request.ird && b.ord <= request.ird);
	err = xiw_mpa_conclude(&a, &reply);
	if (err) {
		CHECK(err == XIW_MPA_ERR_RTR);
		REACHES(true, "no RTR that both support");
		CHECK(a0.peer_to_peer && !(a0.rtr & b0.rtr));
		return;
	}
	CHECK(a.ord <= a0.ord && a.ird == a0.ird);
	if (reply.ird != 0x3fff && a0.ord != 0x3fff)
		CHECK(a.ord <= reply.ird);
	/* One kind of RTR that both support. */
	CHECK(!a.rtr == !a0.peer_to_peer && !(a.rtr & (a.rtr - 1)));
	CHECK((a.rtr & a0.rtr) == a.rtr && (!a.rtr || a.rtr & b0.rtr));
	REACHES(a.rtr, "an RTR that both support");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	uint8_t how = fuzz_u8(&in);
	bool reply = how & 1;
	uint8_t *p;
	size_t len, step;

	if (how & 2) {
		agree(&in);
		return 0;
	}
	/* A fuzzer hardly guesses the key. Bit 2 puts the right key there; the input continues after it. */
	len = in.left < 600 ? in.left : 600;
	if (how & 4) {
		len += 16;
		p = malloc(len);
		CHECK(p);
		memcpy(p, reply ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16);
		if (len > 16)
			memcpy(p + 16, in.p, len - 16);
	} else {
		p = fuzz_take(&in, len);
	}
	step = 1 + (how >> 3);
	for (size_t n = 0;; n = n + step < len ? n + step : len) {
		uint8_t *here = fuzz_dup(p, n);
		struct xiw_mpa_frame frame;
		size_t need = 0, want;
		enum xiw_mpa_start expected = reference(here, n, reply, &want), st;

		st = xiw_mpa_frame_decode(here, n, reply, &frame, &need);
		CHECK(st == expected, "%d, not %d, of %zu octets", st, expected, n);
		if (st == XIW_MPA_START_OK || st == XIW_MPA_START_MORE)
			CHECK(need == want);
		if (st == XIW_MPA_START_OK)
			check_frame(&frame, here, need, reply);
		free(here);
		if (n == len)
			break;
	}
	free(p);
	return 0;
}
