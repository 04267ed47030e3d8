/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What both programs need: the objects of one side, and waiting for events and completions. */
#ifndef XIW_TESTS_NET_PARTY_H
#define XIW_TESTS_NET_PARTY_H

#include "host/host.h"
#include "tests/net/lib/common.h"

#define PORT 15090
#define CONNS 4u
#define MESSAGES 300u /* of each connection */
#define DEPTH 32u
#define LONGEST 6000u
#define BULK 20000u /* octets of a Write and of the Read of the same place */
#define ROUNDS 10u  /* of these, for each connection */

/* What the server tells in its Private Data: a region for each connection, and a word that all count in. */
struct place {
	uint64_t to, word;
	uint32_t stag, number;
};

/* The first octets of a message. */
struct head {
	uint32_t conn, number;
};

struct party {
	struct xiw_host_eq *eq, *cq_eq;
	struct xiw_host_cq *cq;
	struct xiw_host_mr *mr;
	uint32_t pd, lkey;
	uint8_t *mem;
	size_t size;
};

#define MUST(call)                                                                                 \
	do {                                                                                       \
		int _err = (call);                                                                 \
		if (_err)                                                                          \
			die("%s:%d: %s: %s", __FILE__, __LINE__, #call, strerror(-_err));          \
	} while (0)

void party_make(struct party *p, size_t size);
void party_free(struct party *p);

/* A QP of the party, whose completions carry `context`. */
struct xiw_host_qp *party_qp(struct party *p, struct xiw_host_srq *srq, void *context);

/* The next event, of this kind if `kind` is not -1. */
void party_event(struct party *p, struct xiw_host_event *event, int kind);

/* The next completion: waits for an event of the CQ if `sleeps`, else spins. */
void party_completion(struct party *p, struct xiw_host_wc *wc, bool sleeps);

/* The octets of a message behind its head, and their number. */
uint32_t message_len(uint32_t number);
uint64_t message_stream(uint32_t conn, uint32_t number);

#endif
