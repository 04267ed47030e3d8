/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * librdmacm's identifiers and event channels. An identifier is used by one thread at a time, as librdmacm demands, but
 * its events may be taken and acknowledged by another.
 */
#ifndef XIW_VERBS_CM_H
#define XIW_VERBS_CM_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "host/host.h"

struct xiw_device;
struct xiw_qp;

struct xiw_cm_channel {
	struct rdma_event_channel
		cm; /* its descriptor is that of eq, or of both, if there is a real one */
	struct xiw_host_eq *eq;
	struct rdma_event_channel *real; /* NULL: this host has no RNIC */
};

#define XIW_ID_OPTIONS (RDMA_OPTION_ID_ACK_TIMEOUT + 1)

struct xiw_id_option {
	size_t len; /* 0: it was not set */
	char value[sizeof(int)];
};

struct xiw_id {
	struct rdma_cm_id cm;
	const struct xiw_id
		*self; /* librdmacm's own identifiers have something else behind the public part */
	struct rdma_cm_id
		*real; /* of an RNIC (theirs.h); NULL: it is ours, or has no address yet */
	bool sync; /* made without a channel: functions wait for their event, and the channel is its own */
	bool ended;			    /* the last event of its connection was taken */
	bool passive;			    /* it came with a request */
	uint32_t qp_num;		    /* of the queue pair that has its connection; 0: none */
	enum xiw_host_v6only v6only;	    /* of what it binds */
	/*
	 * By their numbers. What is set before it has an address an RNIC's identifier gets, too. The traffic class
	 * counts for connections that begin, and for those that come to a listener, afterwards.
	 */
	struct xiw_id_option options[XIW_ID_OPTIONS];
	struct xiw_host_listener *listener; /* bound; it listens after rdma_listen() */
	/* One that came with a request, until that is answered; and what the peer offers. */
	struct xiw_host_request *request;
	uint16_t ird, ord;

	/* Of an endpoint (rdma_create_ep()) that listens: what each connection gets. */
	bool has_init;
	struct ibv_qp_init_attr init;

	struct xiw_id *next; /* of all (ports.c) */

	pthread_mutex_t lock;
	pthread_cond_t acked;
	unsigned int told; /* events that the program has and has not acknowledged; under lock */
};

static inline struct xiw_id *xiw_id(struct rdma_cm_id *id)
{
	return (struct xiw_id *)id;
}

static inline struct xiw_host_eq *xiw_id_eq(const struct xiw_id *id)
{
	return ((struct xiw_cm_channel *)id->cm.channel)->eq;
}

/* What the program gets of an event. */
struct xiw_told {
	struct rdma_cm_event cm;
	struct rdma_cm_event *real;	 /* librdmacm's own, which this one is a copy of; or NULL */
	uint8_t private_data[UINT8_MAX]; /* librdmacm's length has 8 bits */
};

/* Returns 0, or -1 with errno for a negative one. */
int xiw_cm_result(int rc);

/* Makes an event that is not the peer's doing. */
int xiw_cm_tell(struct xiw_id *id, enum rdma_cm_event_type event, int status);

/* The program has done with an event. */
void xiw_cm_acked(struct xiw_id *id);

/* For a synchronous identifier: takes its next event, which becomes id->event. Returns 0, or -1 with errno. */
int xiw_cm_complete(struct xiw_id *id);

/* An identifier for a request that has come to `listener`. NULL: no memory. */
struct xiw_id *xiw_id_of_request(struct xiw_id *listener, const struct xiw_host_event *event);

/* What an address is reached from belongs to this device, whose context is opened once. */
int xiw_cm_set_device(struct xiw_id *id, struct xiw_device *device);
struct ibv_pd *xiw_cm_default_pd(const struct ibv_context *context);

#endif
