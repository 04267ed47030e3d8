// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/net/lib/mpa.h"

/* ---- startup frames ------------------------------------------------------------------------------ */

size_t make_frame(uint8_t *f, int which, uint8_t flags, uint8_t rev, const uint8_t *enhanced,
		  size_t pd)
{
	size_t at = 20;

	memcpy(f, which == REPLY ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16);
	f[16] = flags;
	f[17] = rev;
	put(f + 18, pd + (enhanced ? 4 : 0), 2);
	if (enhanced) {
		memcpy(f + at, enhanced, 4);
		at += 4;
	}
	for (size_t i = 0; i < pd; i++)
		f[at++] = octet(i);
	return at;
}

const char *send_frame(int which, uint8_t flags, uint8_t rev, const uint8_t *enhanced, size_t pd)
{
	uint8_t f[2048];

	return push(f, make_frame(f, which, flags, rev, enhanced, pd));
}

const char *expect_frame(int which, uint8_t flags, uint8_t rev, const uint8_t *enhanced, size_t pd)
{
	uint8_t want[2048];
	size_t len = make_frame(want, which, flags, rev, enhanced, pd);

	TRY(pull(peer.frame, len));
	for (size_t i = 0; i < len; i++)
		CHECK(peer.frame[i] == want[i], "octet %zu is %02x, not %02x", i, peer.frame[i],
		      want[i]);
	return NULL;
}

const uint8_t *enhanced(int p2p, int rtr, unsigned int ird, unsigned int ord)
{
	static uint8_t e[2][4], which;
	uint8_t *p = e[which ^= 1];

	put(p, (p2p ? 0x8000u : 0) | (rtr & RTR_SEND ? 0x4000u : 0) | ird, 2);
	put(p + 2, (rtr & RTR_WRITE ? 0x8000u : 0) | (rtr & RTR_READ ? 0x4000u : 0) | ord, 2);
	return p;
}

/* ---- FPDUs --------------------------------------------------------------------------------------- */

struct framing {
	uint8_t *to;
	uint32_t n, at, length_at; /* octets, stream position, where the length field is in `to` */
	bool markers, begun;
};

static void put_octets(struct framing *f, const uint8_t *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		if (f->markers && f->at % 512 == 0) {
			put(f->to + f->n, f->begun ? f->n - f->length_at : 0, 4);
			f->n += 4;
			f->at += 4;
		}
		if (!f->begun) {
			f->begun = true;
			f->length_at = f->n;
		}
		f->to[f->n++] = p[i];
		f->at++;
	}
}

uint32_t make_fpdu(uint8_t *to, const uint8_t *ulpdu, uint32_t len)
{
	struct framing f = { .to = to, .at = peer.out, .markers = peer.markers_out };
	uint8_t length[2], zero[4] = {}, crc[4] = { 0xde, 0xad, 0xbe, 0xef };
	uint32_t value;

	put(length, len, 2);
	put_octets(&f, length, 2);
	put_octets(&f, ulpdu, len);
	put_octets(&f, zero, (4 - (2 + len) % 4) % 4);
	/* A marker due here is covered by the CRC. */
	if (f.markers && f.at % 512 == 0) {
		put(f.to + f.n, f.n - f.length_at, 4);
		f.n += 4;
		f.at += 4;
	}
	value = crc32c(to, f.n);
	for (int i = 0; i < 4 && peer.crc; i++)
		crc[i] = (uint8_t)(value >> 8 * i);
	memcpy(f.to + f.n, crc, 4);
	peer.out = f.at + 4;
	return f.n + 4;
}

uint32_t make_tagged(uint8_t *u, uint8_t ddp, uint8_t rsvd, uint32_t stag, uint64_t to,
		     uint64_t first, uint32_t len)
{
	u[0] = TAGGED | ddp;
	u[1] = rsvd;
	put(u + 2, stag, 4);
	put(u + 6, to, 8);
	for (uint32_t i = 0; i < len; i++)
		u[14 + i] = octet(first + i);
	return 14 + len;
}

uint32_t make_untagged(uint8_t *u, uint8_t ddp, uint64_t rsvd, uint32_t qn, uint32_t msn,
		       uint32_t mo, uint32_t len)
{
	u[0] = ddp;
	put(u + 1, rsvd, 5);
	put(u + 6, qn, 4);
	put(u + 10, msn, 4);
	put(u + 14, mo, 4);
	for (uint32_t i = 0; i < len; i++)
		u[18 + i] = octet(mo + i);
	return 18 + len;
}

uint32_t tagged_segment(uint8_t *to, uint8_t control, uint32_t stag, uint64_t offset, uint32_t len)
{
	static uint8_t u[ROOM];

	return make_fpdu(to, u, make_tagged(u, control, 0x5a, stag, offset, offset, len));
}

uint32_t untagged_segment(uint8_t *to, uint8_t control, uint32_t qn, uint32_t msn, uint32_t mo,
			  uint32_t len)
{
	static uint8_t u[ROOM];

	return make_fpdu(to, u, make_untagged(u, control, 0xa1a2a3a4a5, qn, msn, mo, len));
}

uint32_t tagged(uint8_t *to, uint64_t offset, uint32_t len)
{
	uint8_t u[2048];
	uint32_t stag = len ? 0x1234 : 0;

	return make_fpdu(to, u, make_tagged(u, LAST | DV, 0x40, stag, offset, offset, len));
}

uint32_t untagged(uint8_t *to, uint8_t opcode, uint32_t qn, uint32_t msn, uint32_t len)
{
	uint8_t u[2048];
	uint64_t rsvd = (uint64_t)opcode << 32;

	return make_fpdu(to, u, make_untagged(u, LAST | DV, rsvd, qn, msn, 0, len));
}

/*
 * `count` octets of the library's stream, with the markers that are due before them: all of it to
 * `raw`, and to `to` without the markers. `to` may be NULL.
 */
static const char *next_octets(uint8_t *raw, uint32_t *n, uint32_t *length_at, uint8_t *to,
			       uint32_t count)
{
	while (count) {
		uint32_t some = count;

		if (peer.markers_in && peer.in % 512 == 0) {
			TRY(pull(raw + *n, 4));
			CHECK(get(raw + *n, 4) == (*length_at == UINT32_MAX ? 0 : *n - *length_at),
			      "a marker");
			*n += 4;
			peer.in += 4;
		}
		if (peer.markers_in && some > 512 - peer.in % 512)
			some = 512 - peer.in % 512;
		if (*length_at == UINT32_MAX)
			*length_at = *n;
		TRY(pull(raw + *n, some));
		if (to)
			to = (uint8_t *)mempcpy(to, raw + *n, some);
		*n += some;
		peer.in += some;
		count -= some;
	}
	return NULL;
}

const char *pull_fpdu(struct fpdu *f)
{
	static uint8_t raw[8192];
	uint32_t n = 0, length_at = UINT32_MAX, crc;
	uint8_t length[2];

	TRY(next_octets(raw, &n, &length_at, length, 2));
	f->len = get(length, 2);
	CHECK(f->len >= 14 && f->len <= sizeof(f->ulpdu), "ULPDU of %u octets", f->len);
	TRY(next_octets(raw, &n, &length_at, f->ulpdu, f->len));
	TRY(next_octets(raw, &n, &length_at, NULL, (4 - (2 + f->len) % 4) % 4));
	if (peer.markers_in && peer.in % 512 == 0) {
		TRY(pull(raw + n, 4));
		CHECK(get(raw + n, 4) == n - length_at, "the marker in front of the CRC");
		n += 4;
		peer.in += 4;
	}
	TRY(pull(raw + n, 4));
	peer.in += 4;
	crc = (uint32_t)raw[n] | (uint32_t)raw[n + 1] << 8 | (uint32_t)raw[n + 2] << 16 |
	      (uint32_t)raw[n + 3] << 24;
	CHECK(!peer.crc || crc == crc32c(raw, n), "CRC %08x", crc);
	return NULL;
}

const char *expect_message(uint32_t msn, uint32_t len)
{
	uint32_t mo = 0;
	struct fpdu f;

	do {
		TRY(pull_fpdu(&f));
		CHECK((f.ulpdu[0] & 0x83) == DV && f.len >= 18, "control %02x", f.ulpdu[0]);
		CHECK(get(f.ulpdu + 6, 4) == 0 && get(f.ulpdu + 10, 4) == msn, "QN, MSN %u",
		      (unsigned int)get(f.ulpdu + 10, 4));
		CHECK(get(f.ulpdu + 14, 4) == mo, "MO");
		for (uint32_t i = 18; i < f.len; i++, mo++)
			CHECK(f.ulpdu[i] == octet(mo), "octet %u", mo);
	} while (!(f.ulpdu[0] & LAST));
	CHECK(mo == len, "%u octets", mo);
	return NULL;
}
