/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The connections of soak_send.c: how they begin and end, and the report about them. */
#ifndef XIW_TESTS_NET_SOAK_PEER_H
#define XIW_TESTS_NET_SOAK_PEER_H

#include "ddp/tx.h"
#include "mpa/startup.h"
#include "mpa/stream.h"
#include "mpa/tx.h"
#include "tests/net/soak/soak.h"

#define OUT (48u << 10)
#define QUEUES 3

enum state {
	FREE,
	CONNECTING,
	REPLY, /* the Request is out */
	RUN,
	ENDING, /* all is sent; the receiver's end is awaited */
};

struct conn {
	enum state state;
	int fd;
	bool writable, shut;
	bool said;			/* the garbage is out */
	struct soak_plan plan, answers; /* sent; answered */
	struct soak_msg msg;
	bool sending; /* msg is under way */
	bool whole;   /* its length disregards segments */
	uint32_t run; /* of out: with MSG_EOR at its end */
	uint64_t due_ms, last_ms;
	int unacked;
	uint32_t stag;
	struct xiw_mpa_tx tx;
	struct xiw_ddp_tx ddp;
	struct xiw_ddp_tx_msg cut;
	struct xiw_mpa_stream in;
	uint64_t back_off, back_len; /* octets that came; of the message under way */
	uint32_t back_msn;
	unsigned int extra;
	uint8_t reply[XIW_MPA_FRAME_MAX];
	size_t reply_len;
	uint32_t out_len, out_off;
	uint8_t out[OUT + 70000];
};

struct send_opt {
	unsigned int conns;
	uint64_t seconds;
	const char *address[2];
	unsigned int addresses;
};

struct send_sum {
	uint64_t opened, kinds[SOAK_KINDS], messages, octets, answers, octets_back;
	uint64_t wrong, stuck, open, starting, least, connect_again, lost_resets;
};

extern struct send_opt send_opt;
extern struct send_sum send_sum;
extern int poller;
extern uint64_t now;

void __attribute__((format(printf, 2, 3))) send_wrong(const struct conn *c, const char *fmt, ...);
/* Starts a connection. */
void begin_conn(struct conn *c);
void finish_conn(struct conn *c);
void reset_conn(struct conn *c);
void watch_socket(struct conn *c, bool writable);
/* The length of the next message that the receiver sends. */
uint32_t next_answer(struct conn *c);
/* The receiver ends the connection by a reset, or may do so. */
bool ends_by_reset(const struct conn *c);
/* The receiver's end was awaited, and came as EOF (0) or an errno. */
void ended(struct conn *c, int err);
void send_report(void);

#endif
