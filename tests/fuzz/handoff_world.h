/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is around the hand-off: a peer that sends a stream of FPDUs by TCP's rules, a wire that loses, doubles and
 * reorders, two CPUs that run the BPF programs, and a kernel's socket. Positions count the octets of the stream; wire
 * sequence numbers are `isn` more, and the socket's what translation makes of them.
 */
#ifndef XIW_TESTS_FUZZ_HANDOFF_WORLD_H
#define XIW_TESTS_FUZZ_HANDOFF_WORLD_H

#include "tcp/wire.h"
#include "tests/fuzz/fiber.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/xdp.h"

#define ROOM 4096u /* behind it: what is built there is never sent */
#define MSS 512u
#define SCALE 2u
#define WINDOW 8192u /* that the engine offers */
#define KERNEL_WINDOW 6000u
#define SND 0x5000u /* our own next octet: we send none */
#define FLOW 1u
#define ETH XIW_ETH_LEN
#define HDR (XIW_ETH_LEN + XIW_IP4_MIN + XIW_TCP_MIN + XIW_TCPOPT_TS_ALIGNED)
#define WIRE_MAX 48
#define BACKLOG_MAX 64
#define FRAMES 64u
#define FRAME_SIZE 2048u

struct fpdu {
	uint32_t start, len; /* raw, in the stream */
	uint32_t payload, to;
};

/* A segment under way. */
struct parcel {
	uint32_t pos, len; /* of the stream, true whatever the numbers in it say */
	bool fin, damaged;
	uint32_t octets_len;
	uint8_t octets[FRAME_SIZE];
	bool has_meta;
	struct xiw_meta meta;
};

struct queue_of {
	struct parcel *item[BACKLOG_MAX];
	uint32_t n;
};

struct cpu {
	struct fiber fiber;
	struct parcel *job;
	bool egress;
	uint32_t edge_before;	 /* that the peer knew when the job began */
	struct queue_of backlog; /* passed, not yet with the socket */
};

/* ---- the stream ---------------------------------------------------------------------------------- */

/* How long it may be. A target may change them before world_begin(). */
extern uint32_t stream_max, fpdus_max;
extern uint8_t *stream;
extern struct fpdu *fpdus;
extern uint32_t nfpdus, stream_end;
extern uint32_t isn; /* wire seq of the stream's first octet */
extern bool timestamps, with_markers;

/* What does not work, when the wire is good again as well. */
#define BROKEN_FRAMES 1u    /* frames do not get to the ring */
#define BROKEN_CHECKSUMS 2u /* they do, and their checksums are wrong there */
#define BROKEN_ACKS 4u	    /* the peer does not hear what goes out by AF_XDP */
#define BROKEN_LO 8u	    /* injected segments do not arrive */
extern unsigned int broken;

#define the_flow (&xdp_flows[FLOW])

/* The peer. */
extern uint32_t peer_una, peer_nxt, edge; /* positions */
extern bool fin_sent;
extern struct queue_of wire;

/* An octet counts as held when it is delivered, or when the socket has it in order. */
extern bool *held; /* the last one is for the FIN */
extern uint32_t held_upto;

extern struct cpu cpus[XDP_CPUS];
extern struct queue_of ring;	 /* of AF_XDP */
extern struct queue_of injected; /* on their way over lo */

/* The kernel's socket, by octets from the first it was given. */
struct sock {
	uint32_t rcv_nxt, read, edge;
	uint32_t ts_recent;
	bool fin_known, fin;
	uint32_t fin_at;
	bool owes_ack;
	bool *has;
	uint8_t *data;
	uint32_t *pos;
};

extern struct sock sock;

/*
 * tests/tsan has threads in place of fibers. Then what is here, but not what is under test, is locked by this function;
 * else it is NULL.
 */
extern void (*world_locks)(bool lock);
/* The application takes what is delivered: every message once, in order, whole (handoff_engine.c). */
void take_completions(void);

void world_lock(void);
void world_unlock(void);
uint32_t world_ms(void);

void push(struct queue_of *q, struct parcel *p);
struct parcel *pull(struct queue_of *q, uint32_t i);
void empty(struct queue_of *q);
struct parcel *new_parcel(void);
/* Somebody holds the octet. */
void hold(uint32_t pos);
/* At most `len` octets from `pos`, as far as the window allows, and the FIN behind the last of them. */
uint32_t transmit(uint32_t pos, uint32_t len, bool fin);
/* The end of the FPDU in which `pos` lies. */
uint32_t fpdu_end(uint32_t pos);
/* What the peer makes of an acknowledgement: `tcp` in wire numbers. */
void peer_ack(const uint8_t *tcp, size_t len, uint32_t edge_before);
void sock_open(uint32_t octets);
/* An IP packet in the socket's numbers. It must have a good checksum, or have come damaged. */
void sock_receive(const uint8_t *ip, uint32_t len, const struct parcel *p);
/* An acknowledgement of the socket's, as the egress program gets it. */
struct parcel *sock_ack(void);
void cpu_run(void *arg);
/* Gives an idle CPU work. */
void cpu_start(struct cpu *c, struct parcel *p, bool egress);

#endif
