// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * DDP headers (RFC 5041 section 4) in a ULPDU of any length, of which any part has arrived; and messages cut into
 * segments.
 */
#include <errno.h>

#include "ddp/hdr.h"
#include "ddp/tx.h"
#include "tests/fuzz/fuzz.h"

static uint64_t be(const uint8_t *p, int n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | *p++;
	return v;
}

/* Section 5.2: the segments of a message are all of it, in order, each within the MULPDU; the last has the L bit. */
static void cut(struct fuzz_in *in)
{
	static const uint8_t ulp[XIW_DDP_UNTAGGED_RSVDULP_LEN] = { 1, 2, 3, 4, 5 };
	bool tagged = fuzz_u8(in) & 1, long_one = fuzz_u8(in) & 1;
	uint64_t to = (uint64_t)fuzz_u32(in) << 32 | fuzz_u32(in), at = 0;
	uint64_t len = long_one ? (uint64_t)fuzz_u8(in) << 27 : fuzz_u16(in);
	uint32_t qn = fuzz_below(in, 4), mulpdu, msn;
	struct xiw_ddp_tx_msg m;
	struct xiw_ddp_seg seg;
	struct xiw_ddp_tx tx;
	bool last = false;
	int err;

	msn = fuzz_u8(in) & 1 ? UINT32_MAX : 1;
	CHECK(!xiw_ddp_tx_init(&tx, 3, msn));
	err = tagged ? xiw_ddp_tx_tagged(&m, 7, to, len, 9)
		     : xiw_ddp_tx_untagged(&tx, &m, qn, len, ulp);
	if (len > UINT32_MAX)
		CHECK(err == -EMSGSIZE);
	else
		CHECK(err == ((tagged ? to + len < to : qn >= 3) ? -EINVAL : 0));
	if (!err && !tagged)
		CHECK(tx.next_msn[qn] == msn + 1);
	for (int i = 0; !err && !last && i < 300; i++) {
		mulpdu = i < 200 ? fuzz_u16(in) : UINT32_MAX;
		err = xiw_ddp_tx_next(&m, mulpdu, &seg);
		if (err == -EMSGSIZE) {
			CHECK(mulpdu < m.hdr.len || (mulpdu == m.hdr.len && at < len));
			err = 0;
			continue;
		}
		CHECK(err == 1 && seg.off == at && m.hdr.len + (uint64_t)seg.len <= mulpdu);
		CHECK(seg.len || at == len);
		CHECK(tagged ? seg.hdr.to == to + at : seg.hdr.mo == at && seg.hdr.msn == msn);
		at += seg.len;
		last = seg.hdr.last;
		CHECK(last == (at == len));
		err = 0;
	}
	if (!err && last)
		CHECK(!xiw_ddp_tx_next(&m, 1000, &seg));
	xiw_ddp_tx_free(&tx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	uint32_t ulpdu_len = fuzz_u8(&in), len = fuzz_below(&in, 30), here, want;
	uint8_t *p, out[XIW_DDP_HDR_MAX], mask;
	struct xiw_ddp_hdr h;
	int err;

	if (ulpdu_len & 0x80) {
		cut(&in);
		return 0;
	}
	ulpdu_len %= 40;
	here = len < ulpdu_len ? len : ulpdu_len;
	p = fuzz_take(&in, len);

	memset(&h, 0xee, sizeof(h));
	err = xiw_ddp_hdr_decode(&h, p, len, ulpdu_len);
	want = here && p[0] & 0x80 ? 14 : 18;
	CHECK(err == (here < want ? -EBADMSG : 0));
	if (!err) {
		CHECK(h.len == want && h.tagged == (want == 14));
		CHECK(h.last == !!(p[0] & 0x40) && h.dv == (p[0] & 3));
		if (h.tagged) {
			CHECK(h.stag == be(p + 2, 4) && h.to == be(p + 6, 8));
			CHECK(h.rsvdulp[0] == p[1] && !be(h.rsvdulp + 1, 4));
			CHECK(!h.qn && !h.msn && !h.mo);
		} else {
			CHECK(!memcmp(h.rsvdulp, p + 1, 5) && !h.stag && !h.to);
			CHECK(h.qn == be(p + 6, 4) && h.msn == be(p + 10, 4) &&
			      h.mo == be(p + 14, 4));
		}
		/* Writing the header again gives the same octets, except that the four reserved bits are 0. */
		CHECK(xiw_ddp_hdr_encode(&h, out) == want);
		for (uint32_t i = 0; i < want; i++) {
			mask = i ? 0xff : 0xc3;
			CHECK(out[i] == (p[i] & mask), "octet %u", i);
		}
	}
	free(p);
	return 0;
}
