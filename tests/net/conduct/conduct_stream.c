// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a script's peer sends: its stream of FPDUs, and segments of it; and what the receiver must deliver. */
#include <string.h>

#include "tests/net/conduct/conduct.h"

/* ---- the stream ---------------------------------------------------------------------------------- */

static uint8_t content(uint64_t to, bool evil)
{
	return evil ? 0xee : (uint8_t)(1 + (to * 167 + (to >> 8)) % 255);
}

/* FPDU k of the stream: a tagged message of its own (RFC 5041 section 4.1, RFC 5044 section 4). */
static void make_fpdu(const struct peer *p, uint32_t k, bool evil, uint8_t f[FPDU])
{
	uint64_t to = (uint64_t)k * PAYLOAD;
	uint32_t crc;

	put(f, FPDU - 6, 2);
	f[2] = 0xc1; /* tagged, last, DV 1 */
	f[3] = 0x40;
	put(f + 4, p->stag, 4);
	put(f + 8, to, 8);
	for (uint32_t i = 0; i < PAYLOAD; i++)
		f[16 + i] = content(to + i, evil);
	crc = crc32c(f, FPDU - 4);
	for (int i = 0; i < 4; i++)
		f[FPDU - 4 + i] = (uint8_t)(crc >> 8 * i);
}

static void make_stream(const struct peer *p, uint32_t at, bool evil, uint8_t *to, uint32_t len)
{
	uint8_t f[FPDU];

	while (len) {
		uint32_t off = at % FPDU, run = FPDU - off < len ? FPDU - off : len;

		make_fpdu(p, at / FPDU, evil, f);
		memcpy(to, f + off, run);
		to += run;
		at += run;
		len -= run;
	}
}

/* ---- segments ------------------------------------------------------------------------------------ */

void put_ts(const struct peer *p, struct raw_seg *r, uint32_t tsval)
{
	uint8_t *o = r->opt + r->opt_len;

	o[0] = o[1] = 1;
	o[2] = 8;
	o[3] = 10;
	put(o + 4, tsval, 4);
	put(o + 8, p->last.tsval, 4);
	r->opt_len += 12;
}

void peer_send(struct peer *p, const struct seg *s)
{
	struct raw *by = s->by ? s->by : &p->raw;
	uint8_t data[RAW_DATA_MAX];
	struct raw_seg r = {
		.seq = p->origin + (uint32_t)s->seq,
		.ack = p->theirs + (uint32_t)s->ack,
		.flags = s->flags == NONE ? 0
			 : s->flags	  ? (uint8_t)s->flags
					  : RAW_ACK,
		.wnd = s->zero_window ? 0
		       : s->window    ? s->window
				      : 65535,
		.urgent = s->urgent,
		.ecn = s->ecn,
		.bad_csum = s->bad_csum,
		.bad_ip_csum = s->bad_ip_csum,
		.ip = s->ip,
		.group = s->group,
		.foreign = s->foreign,
		.spoofed = s->spoofed,
		.vlan = s->vlan,
		.tags = s->tags,
		.headers = s->headers,
		.data_offset = s->data_offset,
		.data = data,
		.len = s->len,
	};

	p->clock += !p->clock_stands;
	if (!(p->flags & NO_TS) && !s->no_ts)
		put_ts(p, &r, p->clock + (uint32_t)s->ts);
	if (s->opt_len)
		memcpy(r.opt + r.opt_len, s->opt, s->opt_len);
	r.opt_len += s->opt_len;
	make_stream(p, p->begun * FPDU + (uint32_t)s->seq, s->evil, data, s->len);
	if (s->bad_length)
		put(data, 0xffff, 2);
	if (!(s->cut ? raw_send_fragments(by, &r, s->cut, s->only) : raw_send(by, &r)))
		FAIL(p, "send: %m");
}

/* ---- the application's octets --------------------------------------------------------------------- */

void intact(struct peer *p)
{
	unsigned int n = p->begun + (unsigned int)(p->nxt / FPDU);
	uint64_t len = (uint64_t)n * PAYLOAD;

	for (uint64_t end = now_ms() + PATIENCE_MS; p->app->messages < n; pause_ms(2))
		if (now_ms() > end)
			FAIL(p, "%u messages of %u", p->app->messages, n);
	if (p->app->messages != n)
		FAIL(p, "%u messages, not %u", p->app->messages, n);
	for (uint64_t i = 0; i < len + (1u << 18) && i < APP_MEM; i++)
		if (p->app->mem[i] != (i < len ? content(i, false) : 0))
			FAIL(p, "octet %ju of %ju is %#x", (uintmax_t)i, (uintmax_t)len,
			     p->app->mem[i]);
}
