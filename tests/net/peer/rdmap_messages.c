// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/net/peer/rdmap.h"

/* ---- messages of our own --------------------------------------------------------------------- */

struct ulpdu *tagged_ulpdu(uint8_t ddp, uint8_t control, uint32_t stag, uint64_t to, uint32_t len)
{
	static struct ulpdu m;

	m.len = make_tagged(m.u, ddp, control, stag, to, control == READ_RESPONSE ? 7 : to - BASE,
			    len);
	return &m;
}

struct ulpdu *untagged_ulpdu(uint8_t ddp, uint8_t control, uint32_t inv, uint32_t qn, uint32_t msn,
			     uint32_t mo, uint32_t len)
{
	static struct ulpdu m;

	m.len = make_untagged(m.u, ddp, (uint64_t)control << 32 | inv, qn, msn, mo, len);
	return &m;
}

struct ulpdu *read_ulpdu(uint32_t msn, uint32_t sink_stag, uint64_t sink_to, uint32_t size,
			 uint32_t src_stag, uint64_t src_to)
{
	struct ulpdu *m = untagged_ulpdu(DV | LAST, READ_REQUEST, 0, 1, msn, 0, READ_LEN);

	put(m->u + 18, sink_stag, 4);
	put(m->u + 22, sink_to, 8);
	put(m->u + 30, size, 4);
	put(m->u + 34, src_stag, 4);
	put(m->u + 38, src_to, 8);
	return m;
}

const char *push_ulpdu(const struct ulpdu *m)
{
	static uint8_t f[16384];

	return push(f, make_fpdu(f, m->u, m->len));
}

const char *push_send(uint8_t control, uint32_t inv, uint32_t msn, uint32_t len)
{
	return push_ulpdu(untagged_ulpdu(DV | LAST, control, inv, 0, msn, 0, len));
}

/* ---- startup --------------------------------------------------------------------------------- */

const char *open_responder(const char *more)
{
	TRY(begin("role=r %s", more));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(0, 0, DEPTH, DEPTH), 0));
	TRY(expect_frame(REPLY, C | S, 2, enhanced(0, 0, DEPTH, DEPTH), 0));
	return NULL;
}

const char *warm_up(void)
{
	for (uint32_t i = 0; i < 3; i++)
		TRY(push_ulpdu(tagged_ulpdu(DV | LAST, WRITE, WRITE_STAG, BASE + i * 1000, 1000)));
	return NULL;
}

const char *open_initiator(const char *more)
{
	TRY(begin("role=i %s", more));
	TRY(expect_frame(REQUEST, C | S, 2, enhanced(0, 0, DEPTH, DEPTH), 0));
	return send_frame(REPLY, C | S, 2, enhanced(0, 0, DEPTH, DEPTH), 0);
}

/* ---- what the library says ------------------------------------------------------------------- */

const char *pull_untagged(struct fpdu *f, uint8_t control, uint32_t inv, uint32_t qn, uint32_t msn,
			  uint32_t len)
{
	TRY(pull_fpdu(f));
	CHECK(f->ulpdu[0] == (LAST | DV), "DDP control %02x", f->ulpdu[0]);
	CHECK(f->ulpdu[1] == control, "control %02x, not %02x", f->ulpdu[1], control);
	CHECK(f->len == 18 + len, "%u octets", f->len);
	CHECK(get(f->ulpdu + 2, 4) == inv && get(f->ulpdu + 6, 4) == qn &&
		      get(f->ulpdu + 10, 4) == msn && !get(f->ulpdu + 14, 4),
	      "QN %u MSN %u", (unsigned int)get(f->ulpdu + 6, 4),
	      (unsigned int)get(f->ulpdu + 10, 4));
	return NULL;
}

const char *pull_tagged(uint8_t control, uint32_t stag, uint64_t to, uint32_t len, uint64_t first)
{
	uint32_t done = 0;
	struct fpdu f;

	do {
		TRY(pull_fpdu(&f));
		CHECK((f.ulpdu[0] & ~LAST) == (TAGGED | DV), "DDP control %02x", f.ulpdu[0]);
		CHECK(f.ulpdu[1] == control, "control %02x, not %02x", f.ulpdu[1], control);
		CHECK(get(f.ulpdu + 2, 4) == stag && get(f.ulpdu + 6, 8) == to + done);
		for (uint32_t i = 14; i < f.len; i++, done++)
			CHECK(f.ulpdu[i] == octet(first + done), "octet %u", done);
	} while (!(f.ulpdu[0] & LAST));
	CHECK(done == len, "%u octets", done);
	return NULL;
}

const char *pull_terminate(const char *want, const struct ulpdu *m)
{
	unsigned int layer, etype, code, dlen = m && m->u[0] & TAGGED ? 14 : 18, at = 22;
	const bool d = strchr(want, 'D'), r = strchr(want, 'R');
	struct fpdu f;

	sscanf(want, "%u.%u.%u", &layer, &etype, &code);
	do
		TRY(pull_fpdu(&f));
	while (f.ulpdu[0] & TAGGED || f.ulpdu[9] != 2);
	CHECK(f.ulpdu[0] == (LAST | DV) && f.ulpdu[1] == TERMINATE, "control %02x %02x", f.ulpdu[0],
	      f.ulpdu[1]);
	CHECK(!get(f.ulpdu + 2, 4) && get(f.ulpdu + 10, 4) == 1 && !get(f.ulpdu + 14, 4));
	CHECK(f.ulpdu[18] == (layer << 4 | etype) && f.ulpdu[19] == code,
	      "layer and type %02x, code %02x, not %s", f.ulpdu[18], f.ulpdu[19], want);
	CHECK(f.ulpdu[20] == ((d ? 0xc0 : 0) | (r ? 0x20 : 0)) && !f.ulpdu[21], "HdrCt %02x%02x",
	      f.ulpdu[20], f.ulpdu[21]);
	if (d) {
		CHECK(get(f.ulpdu + at, 2) == m->len, "length %u",
		      (unsigned int)get(f.ulpdu + at, 2));
		CHECK(!memcmp(f.ulpdu + at + 2, m->u, dlen), "the DDP header");
		at += 2 + dlen;
	}
	if (r) {
		CHECK(!memcmp(f.ulpdu + at, m->u + 18, READ_LEN), "the Read Request");
		at += READ_LEN;
	}
	CHECK(f.len == at, "%u octets, not %u", f.len, at);
	return NULL;
}

const char *ended(const char *fmt, ...)
{
	char want[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(want, sizeof(want), fmt, ap);
	va_end(ap);
	TRY(closed_orderly());
	return result(want);
}
