/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The connections of the soak. The number of a connection alone decides what it does, so that both ends know which
 * messages come, what is in them, and how the connection ends.
 */
#ifndef XIW_TESTS_NET_SOAK_H
#define XIW_TESTS_NET_SOAK_H

#include "tests/net/lib/common.h"
#include "tests/net/lib/json.h"

#define SOAK_PORT 15045 /* and the next one, whose listener asks for markers */
#define SOAK_MAGIC 0x736f616bu
#define SOAK_MSG_MAX (256u << 10)
#define SOAK_TAGGED (512u << 10)   /* what one connection's STag names */
#define SOAK_UNTAGGED SOAK_MSG_MAX /* all buffers posted at a time */
#define SOAK_POSTED 16u
#define SOAK_BACK_MAX (16u << 10)
#define SOAK_BACK_STAG 0xbac0bac0u
#define SOAK_HALF_EXTRA 3u /* messages that go back behind the peer's half-close */

/* The two directions. */
#define SOAK_FORWARD 0x243f6a8885a308d3ull
#define SOAK_BACK 0x13198a2e03707344ull

/* How a connection ends. */
enum soak_kind {
	SOAK_GRACEFUL, /* the sender's FIN first */
	SOAK_RCLOSE,   /* the receiver's first */
	SOAK_HALF,     /* the sender's, and then data still goes back */
	SOAK_ABORT,    /* the sender resets, in the middle of a message */
	SOAK_RABORT,   /* the receiver does, between two */
	SOAK_REJECT,   /* at MPA startup */
	/* Garbage, each with the error that the RFCs have for it. */
	SOAK_TRUNCATED, /* the stream ends within an FPDU: RFC 5044 section 8, code 1 */
	SOAK_BAD_CRC,
	SOAK_BAD_LENGTH,
	SOAK_BAD_STAG,
	SOAK_BAD_BOUNDS,
	SOAK_BAD_QN,
	SOAK_NO_BUFFER,
	SOAK_BAD_VERSION,
	SOAK_NO_MPA,	 /* no Request, but something else */
	SOAK_NO_REQUEST, /* nothing, and then FIN */
	SOAK_KINDS,
};

struct soak_kind_row {
	const char *name;
	unsigned int weight; /* of 1000 */
};

extern const struct soak_kind_row soak_kinds[SOAK_KINDS];

struct soak_msg {
	bool tagged;
	uint32_t len;
	uint64_t at;   /* tagged: TO; untagged: where its buffer lies */
	uint64_t off;  /* of its octets in the forward stream */
	uint32_t back; /* octets of the message that answers it; 0: none */
	bool sync;     /* the sender waits for that answer: then all buffers are free again */
	bool last;
};

struct soak_plan {
	uint64_t id, rng;
	enum soak_kind kind;
	bool back; /* some messages are answered */
	bool markers;
	unsigned int think_ms; /* at most, between messages; 0: busy */
	unsigned int mixed;    /* how many of 8 messages are cut without regard to segments */
	unsigned int stop;     /* the message in front of which it ends, if it ends early */
	unsigned int left;     /* messages not generated yet, `ahead` included */
	unsigned int n;	       /* messages taken */
	uint64_t off;
	uint64_t tagged; /* used of the buffers since the last sync */
	uint64_t untagged;
	unsigned int posted;
	struct soak_msg ahead;
};

/* Each direction of connection `id` has a stream of its own. */
uint64_t soak_stream(uint64_t id, uint64_t way);
void soak_plan_init(struct soak_plan *p, uint64_t id);
/* The next message; false: there are no more. */
bool soak_plan_next(struct soak_plan *p, struct soak_msg *m);
bool soak_stops_early(enum soak_kind kind);
void soak_add_kinds(struct json_object *o, const uint64_t kinds[SOAK_KINDS]);

#endif
