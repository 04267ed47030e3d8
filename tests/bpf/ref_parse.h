/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How the reference in ref.c reads a packet. */
#ifndef XIW_TESTS_BPF_REF_PARSE_H
#define XIW_TESTS_BPF_REF_PARSE_H

#include "ref.h"

struct ref_parse {
	struct xiw_flow_key key;
	uint32_t l3, l4, ip_end;
	bool fragment, extended, vlan;
};

static inline uint32_t be16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

static inline uint32_t be32(const uint8_t *p)
{
	return (uint32_t)be16(p) << 16 | be16(p + 2);
}

/* Finds the TCP segment in a packet and its flow's key. Returns false if there is none. */
bool ref_parse(const struct ref_case *c, struct ref_parse *p);

/* The same behind more headers. */
enum ref_deep {
	REF_DEEP_NONE,
	REF_DEEP_SEGMENT,  /* p->key, p->l4 and p->vlan are set */
	REF_DEEP_HEADLESS, /* a first fragment without the TCP header */
	REF_DEEP_LONG,	   /* too many headers */
};

enum ref_deep ref_parse_deep(const struct ref_case *c, struct ref_parse *p);

#endif
