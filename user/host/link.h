/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * host/link.h - connections. A link lies between a connection of the library and a queue pair, because neither lives
 * as long as the other: an Initiator's connection is there only when it has arrived at its engine, and a Responder's
 * QP only when the Request is answered. It has two owners: the engines, until the connection has ended, and the
 * program, which has it as a Request or as that of a QP.
 */
#ifndef XIW_HOST_LINK_H
#define XIW_HOST_LINK_H

#include "host/engines.h"
#include "host/life.h"
#include "host/qp.h"

struct xiw_host_request {
	struct xiw_host_life life;
	bool initiator;
	uint16_t ird, ord;	   /* the program's */
	bool offered, peer_offers; /* the extensions of RFC 7306 */
	uint8_t traffic_class;
	unsigned int private_len;
	uint8_t private_data[XIW_PRIVATE_DATA_MAX]; /* for the peer */
	/* Initiator: where to, and from where; family 0 if that does not matter */
	struct sockaddr_storage to, bind;
	socklen_t to_len, bind_len;
	unsigned int timeout_ms;
	uint64_t dial_until; /* xiw_now_ms() when a refusal by the peer's TCP counts */

	/* With xiw_host_lock. */
	unsigned int owners;
	struct xiw_host_qp *qp;
	struct xiw_engine *engine; /* NULL until it has one */
	struct xiw_host_eq *eq;	   /* NULL: there are no more events */
	void *context;	   /* of its events; a Request's, until it is answered: xiw_host_target()'s answer */
	uint64_t listener; /* a Request's: its number */
	struct {
		struct xiw_host_item *item; /* memory for it, as it must come */
		bool waits;   /* DISCONNECTED does, for the program to poll what was done before */
		unsigned int looks; /* of the engine's thread: whether it need not wait any more */
		int status;   /* its status */
		bool forgets; /* FORGOTTEN follows it */
	} last;		      /* event */
	bool end_asked, ended;
	bool used;    /* the QP is this connection's for good: the peer may have had something of it */
	bool leaving; /* the program has done with it, and need not wait */
	struct {
		struct xiw_host_request *next, **at;
	} all;
	struct sockaddr_storage local, remote;
	uint16_t agreed_ird, agreed_ord;
	struct {
		bool counted; /* in the totals */
		uint64_t direct, kernel;
	} octets;

	struct xiw_call answer;
	bool accepts; /* the answer */

	/* The engine's own. */
	struct xiw_conn *conn;
	struct xiw_host_later dial; /* also for the last event */
	bool decided, established;
	bool drains; /* the program has disconnected before it was established */
	int refused; /* status of XIW_EV_REFUSED */
};

/* With xiw_host_lock: all that there are. Those of a parent are dead. */
extern struct xiw_host_request *xiw_host_links;

/* xiw_host_link_free() is for one that nobody else knows. */
struct xiw_host_request *xiw_host_link_new(void);
void xiw_host_link_free(struct xiw_host_request *link);

/*
 * The program has done with the connection: it waits for the end of what it has asked for when it exits, but not longer
 * than a second. With xiw_host_lock.
 */
void xiw_host_link_leave(struct xiw_host_request *link);

/* One owner less. */
void xiw_host_link_drop(struct xiw_host_request *link);

/* Takes Private Data for the peer, with the offer behind it. -EINVAL: too long. */
int xiw_host_link_say(struct xiw_host_request *link, const void *data, size_t len, bool offer);

/* The peer's Private Data for an event, without the offer. Returns whether that was there. */
bool xiw_host_link_heard(const struct xiw_conn *conn, struct xiw_host_event *event);

/* Makes an RDMAP Stream of the connection, with what its QP says. In the engine's thread. */
int xiw_host_link_attach(struct xiw_host_request *link);

/* Adds an event of the link that is not the last one, if it has still events. Returns 0 or -ENOMEM. */
int xiw_host_link_tell(struct xiw_host_request *link, struct xiw_host_event *event);

/* If it has no engine yet, it is this one's from now on. In its thread. Returns which engine it had. */
struct xiw_engine *xiw_host_link_settle(struct xiw_host_request *link, struct xiw_engine *engine,
					struct xiw_conn *conn);

/*
 * Its QP, and what is posted there, are its engine's from now on: for good, since calls of the QP may be under way.
 * Until then another engine may still try the connection.
 */
void xiw_host_link_take_qp(struct xiw_host_request *link);

/* The program does not want it any more, since before it was there. */
bool xiw_host_link_given_up(struct xiw_host_request *link);

/* Stops one that the program has disconnected before it was established, and now is. In the engine's thread. */
void xiw_host_link_drain(struct xiw_host_request *link);

/*
 * The end, in the engine's thread: the QP's work completes, the connection is freed, and the last event comes.
 * xiw_host_link_end() is for a connection that there has been, and drops it for the engines.
 */
void xiw_host_link_finish(struct xiw_host_request *link, int status);
void xiw_host_link_end(struct xiw_host_request *link, int status);

/* The last event does not wait any more, if it does. With xiw_host_lock. */
void xiw_host_link_tell_last(struct xiw_host_request *link);

/*
 * The QP goes, and leaves the connection to the engines: the program hears now that it has ended, if it has not, and
 * nothing later. With xiw_host_lock.
 */
void xiw_host_link_part(struct xiw_host_request *link);

/* Notes what it has received, for the totals. In its engine's thread. */
void xiw_host_link_count(struct xiw_host_request *link);

/* Are there connections that the program has done with, and that have not ended? With xiw_host_lock. */
bool xiw_host_links_leave(void);

#endif
