// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

#include "ref_parse.h"

#define MAX_WALK 512  /* FPDUs of one segment that are followed */
#define DEEP_STEPS 32 /* headers */

enum ref_verdict ref_classify(const uint8_t *payload, uint32_t len, uint32_t seq, bool markers,
			      uint32_t origin)
{
	uint32_t i, taken = 0, size = 0, start = 0, marker_at = 0, fpdus = 0;
	int in_marker = 0;

	/* Section 4.3: FPDUs begin at multiples of 4 from the origin. */
	if (markers && (seq - origin) % 4)
		return REF_V_MARKER;
	for (i = 0; i < len; i++) {
		if (!in_marker && !taken && fpdus == MAX_WALK)
			return REF_V_TOO_MANY;
		if (!in_marker && markers && (seq + i - origin) % 512 == 0) {
			in_marker = 4;
			marker_at = i;
		}
		if (in_marker) {
			if (--in_marker)
				continue;
			uint32_t ptr = be16(payload + i - 1) / 4 * 4;

			if (ptr != (taken ? marker_at - start : 0))
				return REF_V_MARKER;
			continue;
		}
		if (!taken)
			start = i;
		taken++;
		if (taken == 2) {
			size = 2 + be16(payload + i - 1);
			while (size % 4)
				size++;
			size += 4;
		}
		if (taken > 2 && taken == size) {
			fpdus++;
			taken = 0;
		}
	}
	return taken || in_marker ||
			       (len && marker_at + 4 == len && markers &&
				(seq + marker_at - origin) % 512 == 0)
		       ? REF_V_PARTIAL
		       : REF_V_ALIGNED;
}

static bool parse_ip4(const struct ref_case *c, uint32_t off, struct ref_parse *p)
{
	const uint8_t *ip = c->pkt + off;

	if (off + 20 > c->linear || ip[0] >> 4 != 4 || (ip[0] & 15) < 5 || ip[9] != 6 ||
	    be16(ip + 6) & 0x1fff)
		return false;
	p->fragment = ip[6] & 0x20;
	p->extended = (ip[0] & 15) > 5;
	p->l4 = off + (ip[0] & 15) * 4;
	p->ip_end = off + be16(ip + 2);
	p->key.remote_addr[2] = p->key.local_addr[2] = __builtin_bswap32(0xffff);
	memcpy(&p->key.remote_addr[3], ip + 12, 4);
	memcpy(&p->key.local_addr[3], ip + 16, 4);
	return true;
}

static bool parse_ip6(const struct ref_case *c, uint32_t off, struct ref_parse *p)
{
	static const uint8_t mapped[12] = { [10] = 0xff, 0xff };
	const uint8_t *ip = c->pkt + off;
	int next, headers = 0;

	if (off + 40 > c->linear || ip[0] >> 4 != 6)
		return false;
	next = ip[6];
	p->l4 = off + 40;
	while (next != 6) {
		const uint8_t *ext = c->pkt + p->l4;

		if (++headers > 6 || p->l4 + 8 > c->linear)
			return false;
		if (next == 44) {
			if (be16(ext + 2) >> 3)
				return false;
			p->fragment = true;
			p->l4 += 8;
		} else if (next == 0 || next == 60 || (next == 43 && !ext[3])) {
			p->l4 += 8 + 8 * ext[1];
		} else {
			return false;
		}
		next = ext[0];
	}
	p->extended = headers > 0;
	p->ip_end = off + 40 + be16(ip + 4);
	memcpy(p->key.remote_addr, ip + 8, 16);
	memcpy(p->key.local_addr, ip + 24, 16);
	return memcmp(ip + 8, mapped, sizeof(mapped)); /* not of an IPv4 flow */
}

bool ref_parse(const struct ref_case *c, struct ref_parse *p)
{
	uint32_t off = 12, tags = 0, type;
	bool ok;

	memset(p, 0, sizeof(*p));
	for (;;) {
		if (off + 2 > c->linear)
			return false;
		type = be16(c->pkt + off);
		if (type != 0x8100 && type != 0x88a8)
			break;
		if (++tags > 2 || off + 6 > c->linear)
			return false;
		p->vlan |= be16(c->pkt + off + 2) % 4096;
		off += 4;
	}
	p->l3 = off + 2;
	ok = type == 0x0800   ? parse_ip4(c, p->l3, p)
	     : type == 0x86dd ? parse_ip6(c, p->l3, p)
			      : false;
	if (!ok || p->l4 + 4 > c->len)
		return false;
	memcpy(&p->key.remote_port, c->pkt + p->l4, 2);
	memcpy(&p->key.local_port, c->pkt + p->l4 + 2, 2);
	return true;
}

/* Follows the headers from p->l4 on, of which `next` is the first; `left` is how many steps may go on. */
static enum ref_deep deep_headers(const struct ref_case *c, struct ref_parse *p, int next, int left)
{
	const enum ref_deep ends[] = { REF_DEEP_NONE, REF_DEEP_HEADLESS };

	for (;; left--) {
		const uint8_t *ext = c->pkt + p->l4;

		if (!left)
			return REF_DEEP_LONG;
		if (p->l4 + 8 > p->ip_end || p->l4 + 8 > c->len)
			return ends[p->fragment];
		if (next == 6)
			return REF_DEEP_SEGMENT;
		if (next == 44 && be16(ext + 2) >> 3)
			return REF_DEEP_NONE;
		if (next == 43 && ext[3]) {
			if (p->l4 + 24 > c->len)
				return REF_DEEP_NONE;
			memcpy(p->key.local_addr, ext + 8, 16);
		}
		if (next == 44)
			p->l4 += 8, p->fragment = true;
		else if (next == 0 || next == 43 || next == 60)
			p->l4 += 8 + 8 * ext[1];
		else if (next == 51)
			p->l4 += 8 + 4 * ext[1];
		else
			return REF_DEEP_NONE;
		next = ext[0];
	}
}

enum ref_deep ref_parse_deep(const struct ref_case *c, struct ref_parse *p)
{
	uint32_t off = 12;
	const uint8_t *ip;
	enum ref_deep found;
	int left = DEEP_STEPS;

	memset(p, 0, sizeof(*p));
	for (; off + 4 <= c->len; off += 4) {
		const uint32_t type = be16(c->pkt + off);

		if (type != 0x8100 && type != 0x88a8)
			break;
		if (!--left)
			return REF_DEEP_LONG;
		p->vlan |= be16(c->pkt + off + 2) % 4096;
	}
	ip = c->pkt + off + 2;
	if (off + 2 + 20 <= c->len && be16(ip - 2) == 0x0800 && ip[0] >> 4 == 4 &&
	    (ip[0] & 15) >= 5 && !(be16(ip + 6) & 0x1fff)) {
		p->l4 = off + 2 + (ip[0] & 15) * 4;
		p->ip_end = off + 2 + be16(ip + 2);
		p->key.remote_addr[2] = p->key.local_addr[2] = __builtin_bswap32(0xffff);
		memcpy(&p->key.remote_addr[3], ip + 12, 4);
		memcpy(&p->key.local_addr[3], ip + 16, 4);
		found = deep_headers(c, p, ip[9], left - 1);
	} else if (off + 2 + 40 <= c->len && be16(ip - 2) == 0x86dd && ip[0] >> 4 == 6 &&
		   memcmp(ip + 8, "\0\0\0\0\0\0\0\0\0\0\377\377", 12)) {
		p->l4 = off + 42;
		p->ip_end = off + 42 + be16(ip + 4);
		memcpy(p->key.remote_addr, ip + 8, 16);
		memcpy(p->key.local_addr, ip + 24, 16);
		found = deep_headers(c, p, ip[6], left - 1);
	} else {
		return REF_DEEP_NONE;
	}
	if (found == REF_DEEP_SEGMENT) {
		memcpy(&p->key.remote_port, c->pkt + p->l4, 2);
		memcpy(&p->key.local_port, c->pkt + p->l4 + 2, 2);
	}
	return found;
}
