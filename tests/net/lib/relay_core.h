/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An impairing wire, without its I/O: frames and time come in, frames come out.
 *
 * Every decision depends on the seed, the direction, the packet's class, and its index among the packets of that
 * direction and class, but not on time. Time only ends a wait: a held packet goes on when the packets that it waits
 * for do not come.
 */
#ifndef XIW_TESTS_RELAY_CORE_H
#define XIW_TESTS_RELAY_CORE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define RELAY_FRAME_MAX 9234u /* MTU 9216, and Ethernet's header */
#define RELAY_HDR_MAX 114u    /* Ethernet, IPv6, TCP with all its options */
#define RELAY_MERGE_MAX 8u
#define RELAY_FLOWS 1024u
#define RELAY_NEVER UINT64_MAX

enum relay_class {
	RELAY_DATA,  /* TCP that takes sequence space: payload or FIN */
	RELAY_ACK,   /* TCP that does not */
	RELAY_OTHER, /* SYN, RST, fragments, and what is not TCP: delayed, never else impaired */
	RELAY_CLASSES,
};

/* What can happen to a packet. The numbers choose the random draws: append only. */
enum relay_act {
	RELAY_LOSS,
	RELAY_DUP,
	RELAY_REORDER,
	RELAY_CORRUPT,	      /* payload; the checksum tells */
	RELAY_CORRUPT_FIXED,  /* payload, and the checksum is made to agree: only a CRC tells */
	RELAY_CORRUPT_HEADER, /* IP or TCP header; the checksum stays as it was */
	RELAY_SPLIT,
	RELAY_MERGE,
	RELAY_SQUEEZE,
	RELAY_CE,
	RELAY_CORRUPT_TSVAL, /* one of the upper bits of TSval; the checksum stays as it was */
	RELAY_ACTS,
};

/* What happened, of one direction and class. The first RELAY_ACTS are those of enum relay_act. */
enum relay_count {
	RELAY_N_PACKETS = RELAY_ACTS,
	RELAY_N_OCTETS, /* of TCP payload */
	RELAY_N_SENT,
	RELAY_N_REORDER_TIMEOUT,
	RELAY_N_MERGE_TIMEOUT,
	RELAY_N_PIECES,	  /* segments made by split and merge */
	RELAY_N_SQUEEZED, /* windows rewritten */
	RELAY_N_ZERO,	  /* of these, to 0 */
	RELAY_N_REOPENED, /* window updates of our own at the end of a squeeze */
	RELAY_COUNTS,
};

struct relay_knobs {
	uint64_t chance[RELAY_ACTS]; /* of 2^32 */
	uint32_t reorder_by;	     /* at most so many packets */
	uint32_t reorder_ms;
	uint32_t merge_n; /* at most so many segments */
	uint32_t merge_ms;
	uint32_t squeeze_n; /* segments that an episode lasts */
	uint32_t squeeze_ms;
};

struct relay_conf {
	uint64_t seed;
	uint32_t mtu;
	uint32_t spare; /* octets at a stream's beginning that CORRUPT_FIXED leaves alone */
	uint32_t after; /* packets of each class that pass untouched first */
	struct relay_knobs knobs[2][RELAY_CLASSES];
	uint64_t delay_ns[2], jitter_ns[2];
};

struct relay_pkt {
	struct relay_pkt *next;
	uint64_t due;
	uint64_t draw; /* for what its fate leaves open */
	uint32_t fate; /* set of enum relay_act */
	uint32_t left; /* packets to let by */
	uint32_t len;
	uint8_t cls;
	uint8_t data[RELAY_FRAME_MAX];
};

struct relay_list {
	struct relay_pkt *head, **end;
};

/* A TCP segment in a frame. */
struct relay_seg {
	bool v6;
	uint8_t flags;
	uint16_t l4, pay; /* offsets in the frame; the IP header is at 14 */
	uint32_t len;	  /* of the payload */
	uint32_t seq, ack;
	uint16_t window;
};

/* What is known of one direction of a connection: of what its sender has said. */
struct relay_half {
	bool synced; /* isn and scale are known */
	uint8_t scale;
	uint32_t isn;
	bool edged;
	uint32_t edge; /* highest right edge of a window that was let through */
	uint32_t left; /* of an episode of squeezing */
	uint64_t due;
	uint32_t last_len; /* the last one squeezed, without payload, its window as it was */
	uint8_t last[RELAY_HDR_MAX];
};

struct relay_flow {
	bool used;
	uint8_t key[37]; /* addresses and ports as direction 0 has them, IP version */
	struct relay_half half[2];
};

struct relay_dir {
	uint64_t index[RELAY_CLASSES];
	uint64_t digest; /* of all decisions */
	uint64_t count[RELAY_CLASSES][RELAY_COUNTS];
	struct relay_pkt *held; /* reordered */
	struct relay_pkt *merge[RELAY_MERGE_MAX];
	uint32_t merge_n, merge_want;
	uint64_t merge_due;
	struct relay_list delayed;
	uint64_t last_due;
	struct relay_list out; /* to be sent */
};

struct relay {
	struct relay_conf conf;
	struct relay_dir dir[2];
	struct relay_pkt *pool;
	struct relay_flow flows[RELAY_FLOWS];
	uint32_t squeezing; /* halves in an episode */
	bool track;	    /* flows are to be known */
};

void relay_conf_default(struct relay_conf *conf);
/* Parses "loss=1,ack-loss=2:..." for one direction. False: it is wrong, and a message was printed. */
bool relay_conf_parse(struct relay_conf *conf, unsigned int dir, const char *text);
void relay_print(const struct relay *r, FILE *out, const char *extra);
extern const char *const relay_count_names[RELAY_COUNTS];

void relay_init(struct relay *r, const struct relay_conf *conf);
/* Frees all packets and clears the rest, so that an empty relay may be freed again. */
void relay_free(struct relay *r);
struct relay_pkt *relay_get(struct relay *r);
void relay_put(struct relay *r, struct relay_pkt *p);
/* Takes the packet. */
void relay_input(struct relay *r, unsigned int dir, struct relay_pkt *p, uint64_t now);
/* Ends waits; returns when to be called again at the latest. */
uint64_t relay_tick(struct relay *r, uint64_t now);
struct relay_pkt *relay_output(struct relay *r, unsigned int dir);

/* relay_tcp.c */
bool relay_parse(const struct relay_pkt *p, struct relay_seg *s);
enum relay_class relay_classify(const struct relay_pkt *p, struct relay_seg *s, bool *tcp);
bool relay_continues(const struct relay_pkt *a, const struct relay_pkt *b);
void relay_fill_sums(uint8_t *frame, const struct relay_seg *s);
void relay_corrupt(struct relay_pkt *p);
bool relay_mark_ce(struct relay_pkt *p, const struct relay_seg *s);
/* Cuts the payloads of n segments that follow each other into `pieces`, 0: as few as can be moved. */
unsigned int relay_recut(struct relay *r, struct relay_pkt **src, unsigned int n,
			 unsigned int pieces, struct relay_list *out);
uint32_t relay_rnd(uint64_t *state, uint32_t below);

/* relay_flow.c */
struct relay_flow *relay_flow(struct relay *r, unsigned int dir, const struct relay_pkt *p,
			      const struct relay_seg *s, bool make);
void relay_flow_syn(struct relay_flow *f, unsigned int dir, const struct relay_pkt *p,
		    const struct relay_seg *s);
void relay_squeeze(struct relay *r, unsigned int dir, struct relay_flow *f, struct relay_pkt *p,
		   const struct relay_seg *s, uint64_t now);
uint64_t relay_reopen(struct relay *r, uint64_t now);

static inline void relay_list_add(struct relay_list *l, struct relay_pkt *p)
{
	p->next = NULL;
	*l->end = p;
	l->end = &p->next;
}

static inline struct relay_pkt *relay_list_take(struct relay_list *l)
{
	struct relay_pkt *p = l->head;

	if (p) {
		l->head = p->next;
		if (!l->head)
			l->end = &l->head;
	}
	return p;
}

/* relay_core.c: after resegmentation; squeezing's window updates begin here too. */
void relay_forward(struct relay *r, unsigned int dir, struct relay_pkt *p, uint64_t now);

#endif
