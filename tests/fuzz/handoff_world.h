/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The surroundings of the hand-off: a peer that sends a stream of FPDUs by TCP's rules, a wire that loses, doubles and
 * reorders, two CPUs that run the BPF programs, and a kernel's socket. Positions count the octets of the stream. Wire
 * sequence numbers are positions plus `isn`; the socket sees them translated.
 */
#ifndef XIW_TESTS_FUZZ_HANDOFF_WORLD_H
#define XIW_TESTS_FUZZ_HANDOFF_WORLD_H

#include "tcp/wire.h"
#include "tests/fuzz/fiber.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/xdp.h"

#define ROOM 4096u /* room after the stream, which is never sent */
#define MSS 512u
#define SCALE 2u
#define WINDOW 8192u /* that the engine offers */
#define KERNEL_WINDOW 6000u
#define SND 0x5000u /* our own next octet; we send no data */
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
	bool send; /* an untagged message, whose buffer is posted late or early */
	bool last; /* of its message; a Tagged one may have several */
};

/* A segment in flight. */
struct parcel {
	uint32_t pos, len; /* true position in the stream, whatever the segment's numbers are */
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
	struct queue_of backlog; /* passed, but not with the socket yet */
};

/* ---- the stream ---------------------------------------------------------------------------------- */

/* Length of the stream. A target may change these before world_begin(). */
extern uint32_t stream_max, fpdus_max;
extern uint8_t *stream;
extern struct fpdu *fpdus;
extern uint32_t nfpdus, stream_end;
extern uint32_t isn; /* wire seq of the stream's first octet */
extern bool timestamps, with_markers, with_sends;

/* What is broken, and stays so when the wire works again. */
#define BROKEN_FRAMES 1u    /* frames do not reach the ring */
#define BROKEN_CHECKSUMS 2u /* frames reach the ring with wrong checksums */
#define BROKEN_ACKS 4u	    /* the peer does not hear packets sent over AF_XDP */
#define BROKEN_LO 8u	    /* injected segments do not arrive */
extern unsigned int broken;

#define the_flow (&xdp_flows[FLOW])

/* The peer. */
extern uint32_t peer_una, peer_nxt, edge; /* positions */
extern bool fin_sent;
extern struct queue_of wire;

/* An octet is held if it is delivered, or if the socket has it in order. */
extern bool *held; /* the last one is for the FIN */
extern uint32_t held_upto;

extern struct cpu cpus[XDP_CPUS];
extern struct queue_of ring;	 /* of AF_XDP */
extern struct queue_of injected; /* on their way over lo */

/* The kernel's socket, by octets counted from the first that it got. */
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
 * tests/tsan uses threads instead of fibers. This function then locks the state of this file, but not the code under
 * test. With fibers it is NULL.
 */
extern void (*world_locks)(bool lock);
/* The application takes what is delivered: every message once, in order and whole (handoff_engine.c). */
void take_completions(void);

void world_lock(void);
void world_unlock(void);
uint32_t world_ms(void);

void push(struct queue_of *q, struct parcel *p);
struct parcel *pull(struct queue_of *q, uint32_t i);
void empty(struct queue_of *q);
struct parcel *new_parcel(void);
/* Does anybody hold the octet? */
void hold(uint32_t pos);
/* Sends at most `len` octets from `pos`, as far as the window allows, with the FIN after the last octet. */
uint32_t transmit(uint32_t pos, uint32_t len, bool fin);
/* The end of the FPDU in which `pos` lies. */
uint32_t fpdu_end(uint32_t pos);
/* The peer takes an acknowledgement, `tcp`, in wire numbers. */
void peer_ack(const uint8_t *tcp, size_t len, uint32_t edge_before);
void sock_open(uint32_t octets);
/* The socket gets an IP packet in its own numbers. Its checksum must be right, unless the wire damaged it. */
void sock_receive(const uint8_t *ip, uint32_t len, const struct parcel *p);
/* The socket sends an acknowledgement, through the egress program. */
struct parcel *sock_ack(void);
void cpu_run(void *arg);
/* Gives an idle CPU work. */
void cpu_start(struct cpu *c, struct parcel *p, bool egress);

#endif
