// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Event queues: a list, and an eventfd that is 1 while there is something in the list. */
#include "host/eq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cancel.h"
#include "host/eq_inside.h"

struct queued {
	struct xiw_host_item item;
	void (*drop)(struct xiw_host_event *event); /* it is not to be taken any more; or NULL */
	struct xiw_host_event event;		    /* without what private_len leaves over */
};

static struct queued *queued_of(struct xiw_host_item *item)
{
	return (struct queued *)item;
}

static size_t event_size(const struct xiw_host_event *event)
{
	return offsetof(struct xiw_host_event, private_data) + event->private_len;
}

static void drop(struct queued *q)
{
	if (q->drop)
		q->drop(&q->event);
	free(q);
}

int xiw_host_eq_create(struct xiw_host_eq **eq)
{
	struct xiw_host_eq *q = calloc(1, sizeof(*q));
	int err;

	if (!q)
		return -ENOMEM;
	q->fd = eventfd(0, EFD_CLOEXEC);
	if (q->fd < 0) {
		err = -errno;
		free(q);
		return err;
	}
	xiw_host_born(&q->life);
	pthread_mutex_init(&q->lock, NULL);
	q->end = &q->first;
	q->kept = -1;
	*eq = q;
	return 0;
}

void xiw_host_eq_on_take(struct xiw_host_eq *eq, void (*taken)(const struct xiw_host_event *event))
{
	eq->taken = taken;
}

int xiw_host_eq_fd(const struct xiw_host_eq *eq)
{
	return eq->fd;
}

int xiw_host_eq_use(struct xiw_host_eq *eq)
{
	if (!eq)
		return 0;
	if (xiw_host_dead(&eq->life))
		return -ECANCELED;
	__atomic_fetch_add(&eq->users, 1, __ATOMIC_RELAXED);
	return 0;
}

void xiw_host_eq_leave(struct xiw_host_eq *eq)
{
	if (eq)
		__atomic_fetch_sub(&eq->users, 1, __ATOMIC_RELEASE);
}

/* ---- with the lock ---------------------------------------------------------------------------------- */

void xiw_host_eq_put_out(struct xiw_host_eq *eq)
{
	eventfd_t one;
	const struct iovec to = { .iov_base = &one, .iov_len = sizeof(one) };
	const int cancel = xiw_cancel_off();

	/* A counter that another reader has emptied is out as well. */
	(void)!preadv2(eq->fd, &to, 1, -1, RWF_NOWAIT);
	eq->lit = false;
	xiw_cancel_restore(cancel);
}

void xiw_host_eq_light(struct xiw_host_eq *eq)
{
	const int cancel = xiw_cancel_off();

	if (eq->first && !eq->lit && !eq->looking) {
		eventfd_write(eq->fd, 1);
		eq->lit = true;
	} else if (!eq->first && eq->lit) {
		xiw_host_eq_put_out(eq);
	}
	xiw_cancel_restore(cancel);
}

/* With an event more. Each is an edge to those who wait with EPOLLET, as with a channel of the kernel's. */
static void more(struct xiw_host_eq *eq)
{
	const bool lit = eq->lit;
	int cancel;

	xiw_host_eq_light(eq);
	if (!lit || !eq->lit)
		return;
	cancel = xiw_cancel_off();
	eventfd_write(eq->fd, 1);
	xiw_cancel_restore(cancel);
}

static void append(struct xiw_host_eq *eq, struct xiw_host_item *item)
{
	item->next = NULL;
	*eq->end = item;
	eq->end = &item->next;
	more(eq);
}

static void take_out(struct xiw_host_eq *eq, struct xiw_host_item **at)
{
	struct xiw_host_item *item = *at;

	*at = item->next;
	if (!*at)
		eq->end = at;
	xiw_host_eq_light(eq);
}

/* The first event with this context, from a place on. Bells are left, because their owners remove them. */
static struct xiw_host_item **find(struct xiw_host_item **at, const void *context)
{
	while (*at && ((*at)->bell || queued_of(*at)->event.context != context))
		at = &(*at)->next;
	return at;
}

/* ---- its end ------------------------------------------------------------------------------------------- */

/*
 * The descriptor is open until the last thread that waits is away: a read() that begins anew after a signal would else
 * find what the program has opened under this number since.
 */
static void close_fd(struct xiw_host_eq *eq, bool waiting)
{
	const int fd = __atomic_exchange_n(&eq->fd, -1, __ATOMIC_RELAXED);

	if (waiting)
		eq->kept = fd;
	else
		close(fd);
}

int xiw_host_eq_close(struct xiw_host_eq *eq)
{
	struct xiw_host_item *item = NULL, *next;

	/* What a child finds may be bells, which are not its own. */
	if (!xiw_host_dead(&eq->life)) {
		if (__atomic_load_n(&eq->users, __ATOMIC_ACQUIRE))
			return -EBUSY;
		pthread_mutex_lock(&eq->lock);
		item = eq->first;
		while (eq->first)
			take_out(eq, &eq->first);
		if (eq->fd >= 0)
			close_fd(eq, eq->waiting);
		pthread_mutex_unlock(&eq->lock);
	}
	/* Nobody names the queue, so these are no bells. */
	for (; item; item = next) {
		next = item->next;
		drop(queued_of(item));
	}
	if (eq->fd >= 0)
		close_fd(eq, false);
	return 0;
}

int xiw_host_eq_free(struct xiw_host_eq *eq)
{
	int rc = eq ? xiw_host_eq_close(eq) : 0;
	bool waiting = false;

	if (rc || !eq)
		return rc;
	/* Those that a child finds are not there. */
	if (!xiw_host_dead(&eq->life)) {
		pthread_mutex_lock(&eq->lock);
		waiting = eq->waiting;
		eq->freed = true;
		pthread_mutex_unlock(&eq->lock);
	}
	if (!waiting)
		free(eq);
	return 0;
}

/* ---- any thread --------------------------------------------------------------------------------------- */

static void put(struct xiw_host_eq *eq, const struct xiw_host_event *event, struct queued *q)
{
	q->item = (struct xiw_host_item){};
	memcpy(&q->event, event, event_size(event));
	pthread_mutex_lock(&eq->lock);
	append(eq, &q->item);
	pthread_mutex_unlock(&eq->lock);
}

int xiw_host_eq_put(struct xiw_host_eq *eq, const struct xiw_host_event *event,
		    void (*drop_it)(struct xiw_host_event *event))
{
	struct queued *q;

	if (xiw_host_dead(&eq->life))
		return -ECANCELED;
	q = malloc(offsetof(struct queued, event) + event_size(event));
	if (!q)
		return -ENOMEM;
	q->drop = drop_it;
	put(eq, event, q);
	return 0;
}

struct xiw_host_item *xiw_host_eq_spare(void)
{
	struct queued *q = calloc(1, sizeof(*q));

	return q ? &q->item : NULL;
}

void xiw_host_eq_put_spare(struct xiw_host_eq *eq, const struct xiw_host_event *event,
			   struct xiw_host_item *spare)
{
	put(eq, event, queued_of(spare));
}

int xiw_host_eq_post(struct xiw_host_eq *eq, const struct xiw_host_event *event)
{
	return xiw_host_eq_put(eq, event, NULL);
}

void xiw_host_bell_ring(struct xiw_host_eq *eq, struct xiw_host_bell *bell)
{
	pthread_mutex_lock(&eq->lock);
	bell->item.bell = true;
	if (!bell->item.rung++)
		append(eq, &bell->item);
	else
		more(eq);
	pthread_mutex_unlock(&eq->lock);
}

void xiw_host_bell_remove(struct xiw_host_eq *eq, struct xiw_host_bell *bell)
{
	pthread_mutex_lock(&eq->lock);
	if (bell->item.rung) {
		struct xiw_host_item **at = &eq->first;

		while (*at != &bell->item)
			at = &(*at)->next;
		take_out(eq, at);
		bell->item.rung = 0;
	}
	pthread_mutex_unlock(&eq->lock);
}

/* With the lock. */
static int peek(struct xiw_host_eq *eq, struct xiw_host_event *event)
{
	struct xiw_host_item *item = eq->first;

	if (item && item->bell) {
		const struct xiw_host_bell *bell = (const void *)item;

		*event = (struct xiw_host_event){ .kind = bell->kind, .context = bell->context };
	} else if (item) {
		memcpy(event, &queued_of(item)->event, event_size(&queued_of(item)->event));
	}
	return item ? 1 : 0;
}

int xiw_host_eq_take_locked(struct xiw_host_eq *eq, struct xiw_host_event *event)
{
	struct xiw_host_item *item = eq->first;

	if (!peek(eq, event))
		return 0;
	take_out(eq, &eq->first);
	if (!item->bell)
		free(queued_of(item));
	else if (--item->rung)
		append(eq, item);
	if (eq->taken)
		eq->taken(event);
	return 1;
}

int xiw_host_eq_take(struct xiw_host_eq *eq, struct xiw_host_event *event)
{
	return xiw_host_eq_take_if(eq, event, NULL, 0);
}

int xiw_host_eq_take_if(struct xiw_host_eq *eq, struct xiw_host_event *event, xiw_host_want *want,
			size_t arg)
{
	int got = 0;

	if (xiw_host_dead(&eq->life))
		return 0;
	pthread_mutex_lock(&eq->lock);
	if (want && peek(eq, event) && !want(event, arg))
		got = -EAGAIN;
	else
		got = xiw_host_eq_take_locked(eq, event);
	pthread_mutex_unlock(&eq->lock);
	return got;
}

void xiw_host_eq_purge(struct xiw_host_eq *eq, const void *context)
{
	struct xiw_host_item **at = &eq->first, *gone = NULL;

	if (xiw_host_dead(&eq->life))
		return;
	pthread_mutex_lock(&eq->lock);
	while (*(at = find(at, context))) {
		struct xiw_host_item *item = *at;

		take_out(eq, at);
		item->next = gone;
		gone = item;
	}
	pthread_mutex_unlock(&eq->lock);
	while (gone) {
		struct queued *q = queued_of(gone);

		gone = gone->next;
		drop(q);
	}
}

static bool is_request(const struct xiw_host_item *item, const struct xiw_host_request *request)
{
	const struct xiw_host_event *event = &((const struct queued *)item)->event;

	return !item->bell && event->kind == XIW_HOST_REQUEST && event->request == request;
}

bool xiw_host_eq_take_back(struct xiw_host_eq *eq, const struct xiw_host_request *request)
{
	struct xiw_host_item **at = &eq->first, *found;

	if (xiw_host_dead(&eq->life))
		return false;
	pthread_mutex_lock(&eq->lock);
	while (*at && !is_request(*at, request))
		at = &(*at)->next;
	found = eq->first && eq->first->next ? *at : NULL;
	if (found)
		take_out(eq, at);
	pthread_mutex_unlock(&eq->lock);
	free(found);
	return found;
}

/* Whoever calls this keeps new events of the context from coming meanwhile. */
void xiw_host_eq_hand_over(struct xiw_host_eq *from, struct xiw_host_eq *to, const void *context)
{
	struct xiw_host_item **at = &from->first, *moved = NULL, **end = &moved;

	pthread_mutex_lock(&from->lock);
	while (*(at = find(at, context))) {
		struct xiw_host_item *item = *at;

		take_out(from, at);
		*end = item;
		end = &item->next;
	}
	*end = NULL;
	pthread_mutex_unlock(&from->lock);
	pthread_mutex_lock(&to->lock);
	while (moved) {
		struct xiw_host_item *item = moved;

		moved = item->next;
		append(to, item);
	}
	pthread_mutex_unlock(&to->lock);
}
