/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host/eq.h - event queues: what their other files need of host.h's struct xiw_host_eq. */
#ifndef XIW_HOST_EQ_H
#define XIW_HOST_EQ_H

#include "host/host.h"

struct xiw_host_item {
	struct xiw_host_item *next;
	unsigned int rung; /* a bell: how many events it stands for; 0: it is not in the queue */
	bool bell;
};

/* An event that takes no memory when it comes: of a CQ, SRQ or QP. */
struct xiw_host_bell {
	struct xiw_host_item item;
	enum xiw_host_event_kind kind;
	void *context;
};

/* Something names the queue, or does so no more. -ECANCELED: it is not this process's. */
int xiw_host_eq_use(struct xiw_host_eq *eq);
void xiw_host_eq_leave(struct xiw_host_eq *eq);

/* xiw_host_eq_post(), and what is to be done if the event is removed before it is taken. */
int xiw_host_eq_put(struct xiw_host_eq *eq, const struct xiw_host_event *event,
		    void (*drop)(struct xiw_host_event *event));

/*
 * Takes the oldest event if it is wanted; `want` must not wait, as engines do for it. Returns 1, or 0 if there is none,
 * or -EAGAIN: the event is left. What is in *event of one that is left may be gone, so no pointer there is to be used.
 */
typedef bool xiw_host_want(const struct xiw_host_event *event, size_t arg);
int xiw_host_eq_take_if(struct xiw_host_eq *eq, struct xiw_host_event *event, xiw_host_want *want,
			size_t arg);

/*
 * Removes the event of a request, and drops nothing. The only event of a queue stays: a program that has seen the
 * descriptor readable finds an event and does not wait. Returns false if the program has the event, or finds it.
 */
bool xiw_host_eq_take_back(struct xiw_host_eq *eq, const struct xiw_host_request *request);

/* Memory for one event of any length, with which xiw_host_eq_put_spare() cannot fail. free() if it is not needed. */
struct xiw_host_item *xiw_host_eq_spare(void);
void xiw_host_eq_put_spare(struct xiw_host_eq *eq, const struct xiw_host_event *event,
			   struct xiw_host_item *spare);

void xiw_host_bell_ring(struct xiw_host_eq *eq, struct xiw_host_bell *bell);

/* Takes the bell's events out of the queue. */
void xiw_host_bell_remove(struct xiw_host_eq *eq, struct xiw_host_bell *bell);

#endif
