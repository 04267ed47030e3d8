/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What ends.c, its table and its peers share. A cell is one connection: a state of it, and what its peer does then.
 */
#ifndef XIW_TESTS_NET_ENDS_H
#define XIW_TESTS_NET_ENDS_H

#include <fcntl.h>

#include <xiwarp/xiwarp.h>

#include "tests/net/lib/mpa.h"

#define WRITES 20 /* arrive before the peer's act */
#define WRITE_LEN 1000
#define STAG 0x1234u
#define SOURCE_LEN (4u << 20)

/* How far the library's end of the connection has come. */
enum state {
	CONNECTING, /* nobody answers the SYN */
	REQUESTED,  /* no Reply */
	LISTENING,  /* half a Request */
	DECIDING,   /* the application does not answer the Request */
	REVIEWING,  /* the application does not answer the Reply */
	REJECTED,   /* behind a long last streaming message */
	REPLYING,   /* likewise, accepted */
	RTR,	    /* no indication that the Initiator is ready */
	RTR_CLOSED, /* likewise, and the application closes */
	IDLE,
	HALF,	     /* half an FPDU has come */
	SENDING,     /* the application has much to send */
	CLOSING,     /* it has closed */
	CLOSING_ALL, /* it has closed, and has much to send */
	FAILED,	     /* the peer's FPDU was wrong: the application closes */
	FAILED_ALL,  /* likewise, with much to send before */
	ANSWERS,     /* RDMAP: Reads are answered */
	ANSWERS_BAD, /* likewise, and then comes a bad message */
	READING,     /* RDMAP: the application has closed, and a Read is unanswered */
	STATES
};

/* What the peer does in that state. */
enum act {
	SILENT,	   /* nothing, but it reads */
	UNREAD,	   /* it does not read either */
	VANISH,	   /* the host is gone */
	HALFCLOSE, /* FIN; it reads on */
	RESET,
	TERMINATE_FIN, /* RDMAP's Terminate, then as HALFCLOSE */
	TRICKLE,       /* an octet of its frame or FPDU now and then, or an empty Write */
	ACTS
};

/* When CLOSED is due, counted from the act. */
enum bound {
	NEVER, /* no such cell, or nothing that the library ends */
	ONCE,
	STARTUP,
	CLOSE,
	CLOSES, /* three times as long, whatever moves */
	USER,
	KEEP,
	APPLICATION, /* the connection lives: the application closes after IDLE_MS; then as CLOSE */
};

enum phase { P_CONNECT, P_STARTUP, P_TRAFFIC, P_READY, P_ACTED, P_GONE };

struct cell {
	enum state state;
	enum act act;
	bool initiator, rdmap; /* of the library */
	enum bound bound;

	/* The peer's end. */
	int listener, fd;
	enum phase phase;
	bool greeted; /* the peer's frame is out */
	size_t got;   /* octets of the library's frame */
	unsigned int reads;
	uint32_t writes; /* that the peer has sent */
	uint32_t trickled;
	uint64_t since, acted, acted_had; /* had: by ends.had_ms */
	bool calm; /* all that it sent has arrived */

	/* The library's. */
	struct xiw_conn *conn;
	struct xiw_rdma *rdma;
	bool ready, app_closed, never_direct;
	unsigned int written, closed, after; /* after: events behind CLOSED */
	int status;
	uint64_t ended, ended_had;
};

/* ---- the table ----------------------------------------------------------------------------------- */

struct state_row {
	const char *name;
	const char *roles; /* i, r: DDP; I, R: RDMAP */
	enum bound bound[ACTS];
};

extern const struct state_row states[STATES];
extern const char *const acts[ACTS];

static inline bool rejects(const struct cell *c)
{
	return c->state == REJECTED || c->state == REPLYING;
}

static inline bool is_open(const struct cell *c)
{
	return c->state >= IDLE;
}

/* ---- the peers ------------------------------------------------------------------------------- */

struct ends {
	int ns_here, ns_there;
	const char *here;
	const char *there[2]; /* the second address is taken away when its host is to vanish */
	bool vanished;
	uint64_t had_ms; /* how long this thread has run, or waited because it had nothing to do */
};

extern struct ends ends;

uint16_t cell_port(const struct cell *c);
struct sockaddr_in address(const char *host, uint16_t port);
int peer_socket(const struct cell *c, uint16_t port);
void peer_step(struct cell *c);

#endif
