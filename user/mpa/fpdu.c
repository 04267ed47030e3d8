// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "mpa/fpdu.h"

#include "crc32c/crc32c.h"

#define XIW_MPA_LAST_MAX                                                                           \
	8u /* the bytes of a payload that are stored last: those in one aligned word */

/*
 * Checks every Marker of the FPDU, not only the first. Section 8 leaves it open whether further ones are checked, but
 * out-of-order placement relies on them. A Marker at the start has FPDUPTR 0; the others give the distance back to
 * ULPDU_Length (4.3). The reserved half is ignored (4.2).
 */
static bool markers_agree(const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n)
{
	uint32_t length_at = xiw_mpa_raw(f->lead, 0);
	uint32_t at;

	/* A lead of XIW_MPA_NO_MARKER is beyond every wire_len. */
	for (at = f->lead; at < f->wire_len; at += XIW_MPA_MARKER_INTERVAL) {
		uint32_t expected = at ? at - length_at : 0;
		uint8_t marker[XIW_MPA_MARKER_SIZE];

		if (!xiw_vec_copy_out(v, n, (size_t)f->start + at, marker, sizeof(marker)))
			return false;
		if ((xiw_get_be16(marker + XIW_MPA_FPDUPTR_OFF) & XIW_MPA_FPDUPTR_MASK) != expected)
			return false;
	}
	return true;
}

/* The general case: there are Markers, or the FPDU lies in more than one piece or is incomplete. */
static enum xiw_mpa_status parse_general(const struct xiw_mpa_rx *rx, const struct xiw_vec *v,
					 unsigned int n, uint32_t off, struct xiw_fpdu *f)
{
	uint32_t phase = rx->marker_phase % XIW_MPA_MARKER_INTERVAL;
	uint32_t lead = rx->markers ? xiw_mpa_lead(phase) : XIW_MPA_NO_MARKER;
	uint8_t field[XIW_MPA_LEN_SIZE];
	uint32_t ulpdu_len, wire_len;
	size_t total;

	f->wire_len = 0;
	if (!xiw_vec_copy_out(v, n, (size_t)off + xiw_mpa_raw(lead, 0), field, sizeof(field)))
		return XIW_MPA_MORE;
	ulpdu_len = xiw_get_be16(field);
	if (ulpdu_len > XIW_MPA_ULPDU_MAX)
		return XIW_MPA_BAD_LENGTH;

	wire_len = xiw_mpa_wire_len(lead, ulpdu_len);
	f->wire_len = wire_len;
	total = xiw_vec_total(v, n);
	if (total < off || total - off < wire_len)
		return XIW_MPA_MORE;

	f->start = off;
	f->phase = phase;
	f->lead = lead < wire_len ? lead : XIW_MPA_NO_MARKER;
	f->ulpdu_len = (uint16_t)ulpdu_len;
	f->flat = xiw_vec_flat(v, n, off, wire_len);
	return markers_agree(f, v, n) ? XIW_MPA_OK : XIW_MPA_BAD_MARKER;
}

enum xiw_mpa_status xiw_mpa_parse(const struct xiw_mpa_rx *rx, const struct xiw_vec *v,
				  unsigned int n, uint32_t off, struct xiw_fpdu *f)
{
	if (!rx->markers && n && off < v->len && v->len - off >= XIW_MPA_LEN_SIZE) {
		const uint8_t *p = v->base + off;
		uint32_t ulpdu_len = xiw_get_be16(p);
		uint32_t wire_len = xiw_mpa_data_len(ulpdu_len);

		if (wire_len <= v->len - off && ulpdu_len <= XIW_MPA_ULPDU_MAX) {
			f->start = off;
			f->wire_len = wire_len;
			f->phase = rx->marker_phase;
			f->lead = XIW_MPA_NO_MARKER;
			f->ulpdu_len = (uint16_t)ulpdu_len;
			f->flat = p;
			return XIW_MPA_OK;
		}
	}
	return parse_general(rx, v, n, off, f);
}

bool xiw_mpa_peek(const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n, void *dst,
		  uint32_t ulpdu_off, uint32_t len)
{
	uint32_t data = XIW_MPA_LEN_SIZE + ulpdu_off;
	struct xiw_vec_cur cur;
	uint8_t *out = dst;

	if (ulpdu_off > f->ulpdu_len || len > f->ulpdu_len - ulpdu_off)
		return false;
	if (!len)
		return true;
	if (f->flat && f->lead == XIW_MPA_NO_MARKER) {
		memcpy(dst, f->flat + data, len);
		return true;
	}

	cur = xiw_vec_at(v, n, (size_t)f->start + xiw_mpa_raw(f->lead, data));
	for (;;) {
		uint32_t run = xiw_mpa_run(f->lead, data);

		if (run > len)
			run = len;
		if (xiw_vec_take(&cur, out, run) != run)
			return false;
		out += run;
		data += run;
		len -= run;
		if (!len)
			return true;
		xiw_vec_skip(&cur, XIW_MPA_MARKER_SIZE);
	}
}

typedef uint64_t __attribute__((may_alias)) word64;
typedef uint32_t __attribute__((may_alias)) word32;
typedef uint16_t __attribute__((may_alias)) word16;

/*
 * Stores bytes in ascending order, in words that are aligned and so become visible as a whole, each behind all stores
 * before it.
 */
static void store_ascending(uint8_t *dst, const uint8_t *src, uint32_t len)
{
	word64 w64;
	word32 w32;
	word16 w16;

	for (uint32_t size; len; dst += size, src += size, len -= size) {
		const uint32_t aligned = (uint32_t)(uintptr_t)dst | XIW_MPA_LAST_MAX;
		const uint32_t most = aligned & -aligned;

		for (size = XIW_MPA_LAST_MAX; size > most || size > len;)
			size /= 2;
		switch (size) {
		case 8:
			memcpy(&w64, src, sizeof(w64));
			__atomic_store_n((word64 *)dst, w64, __ATOMIC_RELEASE);
			break;
		case 4:
			memcpy(&w32, src, sizeof(w32));
			__atomic_store_n((word32 *)dst, w32, __ATOMIC_RELEASE);
			break;
		case 2:
			memcpy(&w16, src, sizeof(w16));
			__atomic_store_n((word16 *)dst, w16, __ATOMIC_RELEASE);
			break;
		default:
			__atomic_store_n(dst, *src, __ATOMIC_RELEASE);
		}
	}
}

/* memcpy() stores in any order, so it copies all but the bytes in the aligned word that the payload ends in. */
bool xiw_mpa_place_part(const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n,
			uint8_t *dst, uint32_t ulpdu_off, uint32_t len)
{
	const uint32_t in_word = ((uint32_t)((uintptr_t)dst + len) - 1) % XIW_MPA_LAST_MAX + 1;
	const uint32_t last = in_word < len ? in_word : len, rest = len - last;
	uint8_t octets[XIW_MPA_LAST_MAX];

	if (!xiw_mpa_peek(f, v, n, octets, ulpdu_off + rest, last) ||
	    !xiw_mpa_peek(f, v, n, dst, ulpdu_off, rest))
		return false;
	store_ascending(dst + rest, octets, last);
	return true;
}

bool xiw_mpa_place(const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n,
		   uint32_t ulpdu_off, void *dst)
{
	if (ulpdu_off > f->ulpdu_len)
		return false;
	return xiw_mpa_place_part(f, v, n, dst, ulpdu_off, f->ulpdu_len - ulpdu_off);
}

/* The CRC of the next @len octets. If there are fewer, the CRC field behind them is missing too. */
static uint32_t crc_run(struct xiw_vec_cur *cur, uint32_t crc, uint32_t len)
{
	const uint8_t *p;
	size_t run;

	while ((run = xiw_vec_run(cur, len, &p))) {
		crc = xiw_crc32c(crc, p, run);
		len -= (uint32_t)run;
	}
	return crc;
}

static uint32_t crc_copy_run(struct xiw_vec_cur *cur, uint32_t crc, uint8_t *dst, uint32_t len)
{
	const uint8_t *p;
	size_t run;

	while ((run = xiw_vec_run(cur, len, &p))) {
		crc = xiw_crc32c_place(crc, dst, p, run);
		dst += run;
		len -= (uint32_t)run;
	}
	return crc;
}

static uint32_t crc_copy_sum(uint32_t crc, uint8_t *dst, const uint8_t *p, size_t len,
			     struct xiw_csum *sum)
{
	return sum ? xiw_crc32c_copy_sum(crc, dst, p, len, sum)
		   : xiw_crc32c_place(crc, dst, p, len);
}

static bool crc_matches(struct xiw_vec_cur *cur, uint32_t crc)
{
	uint8_t field[XIW_MPA_CRC_SIZE];

	return xiw_vec_take(cur, field, sizeof(field)) == sizeof(field) &&
	       crc == xiw_mpa_get_crc(field);
}

/*
 * The CRC covers all raw octets from the FPDU's start to the CRC field, including a Marker in front of ULPDU_Length,
 * those inside, and one between PAD and CRC (4.4).
 */
bool xiw_mpa_verify(const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n)
{
	uint32_t covered = f->wire_len - XIW_MPA_CRC_SIZE;
	struct xiw_vec_cur cur;
	uint32_t crc;

	if (f->flat)
		return xiw_crc32c(0, f->flat, covered) == xiw_mpa_get_crc(f->flat + covered);

	cur = xiw_vec_at(v, n, f->start);
	crc = crc_run(&cur, 0, covered);
	return crc_matches(&cur, crc);
}

static bool place_verify_general(const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n,
				 uint32_t ulpdu_off, uint8_t *dst)
{
	struct xiw_vec_cur cur = xiw_vec_at(v, n, f->start);
	uint32_t data = XIW_MPA_LEN_SIZE + ulpdu_off;
	uint32_t left = f->ulpdu_len - ulpdu_off;
	uint32_t raw = xiw_mpa_raw(f->lead, data);
	uint32_t crc = crc_run(&cur, 0, raw);

	while (left) {
		uint32_t run = xiw_mpa_run(f->lead, data);

		if (run > left)
			run = left;
		crc = crc_copy_run(&cur, crc, dst, run);
		dst += run;
		data += run;
		raw += run;
		left -= run;
		if (left) {
			crc = crc_run(&cur, crc, XIW_MPA_MARKER_SIZE);
			raw += XIW_MPA_MARKER_SIZE;
		}
	}
	crc = crc_run(&cur, crc, f->wire_len - XIW_MPA_CRC_SIZE - raw);
	return crc_matches(&cur, crc);
}

bool xiw_mpa_place_verify_flat(const uint8_t *fpdu, uint32_t wire_len, uint32_t ulpdu_len,
			       uint32_t ulpdu_off, void *dst, struct xiw_csum *sum)
{
	const uint8_t *payload = fpdu + XIW_MPA_LEN_SIZE + ulpdu_off;
	const uint8_t *trailer = fpdu + wire_len - XIW_MPA_CRC_SIZE, *pad;
	uint32_t len = ulpdu_len - ulpdu_off;
	uint32_t crc = xiw_crc32c(0, fpdu, XIW_MPA_LEN_SIZE + ulpdu_off);

	if (len)
		crc = crc_copy_sum(crc, dst, payload, len, sum);
	pad = payload + len;
	if (pad != trailer)
		crc = xiw_crc32c(crc, pad, (size_t)(trailer - pad));
	if (sum)
		xiw_csum_add(sum, pad, (size_t)(trailer - pad) + XIW_MPA_CRC_SIZE);
	return crc == xiw_mpa_get_crc(trailer);
}

bool xiw_mpa_place_verify_pieces(const struct xiw_vec *v, unsigned int n, uint32_t ulpdu_len,
				 uint32_t ulpdu_off, uint8_t *dst, struct xiw_csum *sum)
{
	const uint8_t *at = v->base + XIW_MPA_LEN_SIZE + ulpdu_off, *end = v->base + v->len;
	uint32_t crc = xiw_crc32c(0, v->base, XIW_MPA_LEN_SIZE + ulpdu_off);
	uint32_t left = ulpdu_len - ulpdu_off, pad = xiw_mpa_pad(ulpdu_len);
	uint8_t rest[XIW_MPA_PAD_MAX + XIW_MPA_CRC_SIZE];

	while (left > (size_t)(end - at)) {
		crc = crc_copy_sum(crc, dst, at, (size_t)(end - at), sum);
		dst += end - at;
		left -= (uint32_t)(end - at);
		v++;
		n--;
		at = v->base;
		end = at + v->len;
	}
	crc = crc_copy_sum(crc, dst, at, left, sum);
	at += left;
	if (end - at < pad + XIW_MPA_CRC_SIZE) {
		struct xiw_vec_cur cur = xiw_vec_at(v, n, (size_t)(at - v->base));

		if (xiw_vec_take(&cur, rest, pad + XIW_MPA_CRC_SIZE) != pad + XIW_MPA_CRC_SIZE)
			return false;
		at = rest;
	}
	if (pad)
		crc = xiw_crc32c(crc, at, pad);
	if (sum)
		xiw_csum_add(sum, at, pad + XIW_MPA_CRC_SIZE);
	return crc == xiw_mpa_get_crc(at + pad);
}

bool xiw_mpa_place_verify(const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n,
			  uint32_t ulpdu_off, void *dst)
{
	if (ulpdu_off > f->ulpdu_len)
		return false;
	if (!f->flat || f->lead != XIW_MPA_NO_MARKER)
		return place_verify_general(f, v, n, ulpdu_off, dst);
	return xiw_mpa_place_verify_flat(f->flat, f->wire_len, f->ulpdu_len, ulpdu_off, dst, NULL);
}
