/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How our TCP answers a peer that sends what a real TCP never would. Each script runs twice, at the same time: against
 * a receiver on the kernel path, where Linux's TCP is the reference, and against one on the direct path. A script
 * checks what the RFCs demand, and the answers must be the same on both paths.
 *
 * A script's peer has a stream of FPDUs of FPDU octets each, with one tagged message in each. Numbers are relative to
 * the next new octet when the script begins; negative numbers are octets that brought the flow to the direct path.
 * SEND() makes a segment with that stream's octets at .seq; numbers of the receiver's own octets are relative to the
 * next one that it will send.
 */
#ifndef XIW_TEST_NET_CONDUCT_H
#define XIW_TEST_NET_CONDUCT_H

#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <xiwarp/xiwarp.h>

#include "tests/net/lib/common.h"
#include "tests/net/lib/raw.h"

#define FPDU 256
#define PAYLOAD 236 /* of an FPDU */
#define PREAMBLE 16 /* FPDUs before the script */
#define REPLIES 64
#define PATIENCE_MS 20000 /* for what must come: as much as a loaded machine may take */
#define QUIET_MS 400	  /* how long to wait for further answers, which without SACK look alike */

/* ---- the application: conduct_end.c -------------------------------------------------------------- */

enum app_want {
	APP_INFO = 1,
	APP_CLOSE = 2,
	APP_SEND = 4,
	APP_ABORT = 8,
	APP_KEEPALIVE = 16,
	APP_CLASS = 32
};

#define APP_TCLASS 0x48 /* with APP_CLASS, from the next octet that it sends on */
#define APP_HOPS 33

struct app {
	_Atomic(struct xiw_conn *) conn;
	struct xiw_conn *before; /* by the same port, if conn is the second */
	_Atomic unsigned int want;
	_Atomic unsigned int messages;
	_Atomic bool eof, closed, error;
	_Atomic int status;
	struct xiw_conn_info info; /* after APP_INFO, and at the end */
	struct xiw_region *region;
	uint8_t *mem;
	int fd;
	uint16_t port;
};

#define APP_MEM (32u << 20)
#define KERNEL_PORT 15001
#define DIRECT_PORT 15002
#define FIRST_PORT 20000
#define PORTS 1024

extern struct app apps[PORTS];
/* app_deaf: the application takes no completions. app_hangs: it does not run the engine. */
extern _Atomic bool app_deaf, app_hangs;
/* Frames that its AF_XDP sockets lost. */
extern _Atomic uint64_t app_lost;

bool end_start(void);
void end_stop(void);

/* ---- the peer: conduct_peer.c -------------------------------------------------------------------- */

enum {
	V46 = 1,	  /* over IPv6 as well */
	NO_SACK = 1 << 1, /* not offered on the SYN */
	NO_TS = 1 << 2,
	ECN = 1 << 3,
	WRAP = 1 << 4,	/* the sequence numbers wrap after 600 octets */
	ALONE = 1 << 5, /* not while other scripts run */
	LOUD = 1 << 6,	/* the receiver sends on its own: its segments are not compared */
	NO_WSCALE = 1 << 8,
	WIDE = 1 << 9, /* the peer's windows are scaled by 14 */
};

struct peer;
struct script {
	const char *name;
	void (*run)(struct peer *p);
	unsigned int flags;
};

enum { NONE = 0x1000 }; /* as .flags: none at all */

/* A segment of a script. */
struct seg {
	int32_t seq;
	uint32_t len;
	unsigned int flags; /* 0: ACK */
	int32_t ack;	    /* relative to the next octet of the receiver's */
	int32_t ts;	    /* added to the clock */
	bool no_ts;
	bool evil;	 /* other octets, in good FPDUs */
	bool bad_length; /* begins with an invalid ULPDU_Length */
	bool zero_window;
	uint16_t window; /* 0: 65535 */
	uint8_t ecn;
	uint16_t urgent;
	const char *opt; /* behind the timestamp */
	uint8_t opt_len;
	bool bad_csum, bad_ip_csum, group, foreign, spoofed;
	enum raw_ip ip;
	uint16_t vlan;
	uint8_t tags, headers; /* as in struct raw_seg */
	uint8_t data_offset;
	uint32_t cut;	/* in two fragments, the first with so many octets of IP payload */
	int only;	/* 1, 2: this fragment only */
	struct raw *by; /* another interface */
};

struct peer {
	struct raw raw;
	const struct script *script;
	struct app *app;
	bool direct, v6;
	unsigned int flags;
	uint32_t origin;	/* wire seq of relative 0 */
	uint32_t begun;		/* FPDUs in front of it */
	uint32_t theirs;	/* wire seq of the next octet of the receiver's */
	uint32_t edge;		/* furthest right edge seen, wire */
	bool edge_back;		/* it was seen to move back */
	int wscale;		/* of windows that come */
	uint32_t clock, clock0; /* TSval */
	bool clock_stands;
	uint32_t fences;
	int32_t nxt; /* the next new octet */
	struct raw_got got[REPLIES], last;
	unsigned int n;
	char *trace;
	size_t trace_len;
	char why[512];
	uint32_t stag;
	jmp_buf end;
};

#define TRACE_MAX 65536

/* Makes a connection, brings it to where the script begins, and runs the script. False: p->why says why. */
bool peer_run(struct peer *p);

void peer_send(struct peer *p, const struct seg *s);
/* Appends a timestamp option. */
void put_ts(const struct peer *p, struct raw_seg *r, uint32_t tsval);
#define SEND(p, ...) peer_send(p, &(struct seg){ __VA_ARGS__ })

__attribute__((noreturn, format(printf, 3, 4))) void peer_fail(struct peer *p, int line,
							       const char *fmt, ...);
#define FAIL(p, ...) peer_fail(p, __LINE__, __VA_ARGS__)
#define REQUIRE(p, cond)                                                                           \
	do {                                                                                       \
		if (!(cond))                                                                       \
			FAIL(p, "%s; %u answers, %d acknowledged", #cond, (p)->n,                  \
			     acked(p, &(p)->last));                                                \
	} while (0)

/* A line for the comparison of the paths. */
__attribute__((format(printf, 2, 3))) void note(struct peer *p, const char *fmt, ...);

/*
 * Collects all answers so far in p->got and p->n. It sends an old duplicate of a special length as a fence, whose
 * answer (RFC 2883) is the last one: p->last. The number of answers may differ between the paths.
 */
void quietly(struct peer *p);
/* The same where an answer is due: the fence follows the first one, so that TCP cannot merge the two. */
void answered(struct peer *p);
/* As quietly(), and the last is noted. */
void answers(struct peer *p);
/* Exactly one answer, an ACK without data, which is noted; or none. */
struct raw_got *one(struct peer *p);
void none(struct peer *p);
/* Waits until everything below p->nxt is acknowledged. */
void caught_up(struct peer *p);
/* Sends n FPDUs in order, and awaits their acknowledgement. */
void deliver(struct peer *p, unsigned int n);
/* The next segment that came and `match`es, without a fence; waits for it. */
struct raw_got *await(struct peer *p, bool (*match)(struct peer *p, const struct raw_got *g));
bool has_data(struct peer *p, const struct raw_got *g);
/* Waits until all that the receiver has sent is acknowledged. */
void until_acked(struct peer *p);
/* So many FPDUs are delivered, and the application has exactly the octets of the stream. */
void goes_on(struct peer *p);
void intact(struct peer *p);
/*
 * Sends aligned FPDUs until the flow is DIRECT, and a few on the kernel path as well. Every script begins behind them,
 * and numbers are relative to their end.
 */
void go_direct(struct peer *p);
/* Another connection by the same port: its handshake, and later its startup. */
void connect_again(struct peer *p);
void startup(struct peer *p);
/* On the direct path the flow is still DIRECT. */
void still_direct(struct peer *p);
/* Waits until the application was told of the end, and notes that. */
void ends(struct peer *p, int status);
void awaits(struct peer *p, _Atomic bool *flag, const char *what);
const struct xiw_conn_info *info(struct peer *p);

/* Relative numbers of a reply. */
int32_t acked(const struct peer *p, const struct raw_got *g);
int32_t sack_edge(const struct peer *p, const struct raw_got *g, unsigned int block,
		  unsigned int side);
int32_t edge(const struct peer *p); /* right edge, relative */
bool sacks(const struct peer *p, const struct raw_got *g, unsigned int block, int32_t from,
	   int32_t to);
int32_t echoed(const struct peer *p, const struct raw_got *g);
void pause_ms(int ms);

/* ---- scripts ------------------------------------------------------------------------------------- */

extern const struct script conduct_recv[], conduct_sack[], conduct_secure[], conduct_close[],
	conduct_odd[], conduct_ip[], conduct_window[], conduct_edge[], conduct_share[];

/* An endpoint on the other interface between the namespaces, for .by: to be closed and freed. */
struct raw *other_interface(struct peer *p);

/* Another peer, of which the script `s` is run at once, and which stays until it leaves. */
struct peer *another(struct peer *p, const struct script *s, bool v6);
void leave(struct peer *q);

#endif
