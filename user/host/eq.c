// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Event queues: a list, and an eventfd that is 1 while there is something in the list. */
#include "host/eq.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/now.h"
#include "host/engines.h"
#include "host/life.h"

struct xiw_host_eq {
	struct xiw_host_life life;
	pthread_mutex_t lock;
	struct xiw_host_item *first, **end;
	int fd;
	bool lit;	      /* it is readable */
	bool freed;	      /* ... while threads wait; the last one frees the memory */
	unsigned int waiting; /* threads in xiw_host_eq_await() */
	unsigned int looking; /* those that look for events now, and need not be told of one */
	unsigned int users;
	void (*taken)(const struct xiw_host_event *event); /* or NULL */
};

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

/* Makes the descriptor tell what is so. */
static void light(struct xiw_host_eq *eq)
{
	const int cancel = xiw_cancel_off();
	eventfd_t one;

	if (eq->first && !eq->lit && !eq->looking) {
		eventfd_write(eq->fd, 1);
		eq->lit = true;
	} else if (!eq->first && eq->lit) {
		/* It is 1, so this does not block. */
		eventfd_read(eq->fd, &one);
		eq->lit = false;
	}
	xiw_cancel_restore(cancel);
}

static void append(struct xiw_host_eq *eq, struct xiw_host_item *item)
{
	item->next = NULL;
	*eq->end = item;
	eq->end = &item->next;
	light(eq);
}

static void take_out(struct xiw_host_eq *eq, struct xiw_host_item **at)
{
	struct xiw_host_item *item = *at;

	*at = item->next;
	if (!*at)
		eq->end = at;
	light(eq);
}

/* The first event with this context, from a place on. Bells are left, because their owners remove them. */
static struct xiw_host_item **find(struct xiw_host_item **at, const void *context)
{
	while (*at && ((*at)->bell || queued_of(*at)->event.context != context))
		at = &(*at)->next;
	return at;
}

/* ---- its end ------------------------------------------------------------------------------------------- */

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
		pthread_mutex_unlock(&eq->lock);
	}
	/* Nobody names the queue, so these are no bells. */
	for (; item; item = next) {
		next = item->next;
		drop(queued_of(item));
	}
	if (eq->fd >= 0)
		close(__atomic_exchange_n(&eq->fd, -1, __ATOMIC_RELAXED));
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

/* With the lock. */
static int take(struct xiw_host_eq *eq, struct xiw_host_event *event)
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

static int with_lock(struct xiw_host_eq *eq, struct xiw_host_event *event,
		     int (*get)(struct xiw_host_eq *eq, struct xiw_host_event *event))
{
	int got;

	if (xiw_host_dead(&eq->life))
		return 0;
	pthread_mutex_lock(&eq->lock);
	got = get(eq, event);
	pthread_mutex_unlock(&eq->lock);
	return got;
}

int xiw_host_eq_take(struct xiw_host_eq *eq, struct xiw_host_event *event)
{
	return with_lock(eq, event, take);
}

int xiw_host_eq_peek(struct xiw_host_eq *eq, struct xiw_host_event *event)
{
	return with_lock(eq, event, peek);
}

bool xiw_host_nonblocking(int fd)
{
	const int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && flags & O_NONBLOCK;
}

int xiw_host_eq_wait(struct xiw_host_eq *eq, struct xiw_host_event *event, int timeout_ms)
{
	const int64_t end = timeout_ms < 0 ? INT64_MAX : (int64_t)xiw_now_ms() + timeout_ms;

	if (xiw_host_dead(&eq->life))
		return -ECANCELED;
	/* Another thread may take what poll() has seen. */
	while (!xiw_host_eq_take(eq, event)) {
		const int64_t left = end == INT64_MAX ? -1 : end - (int64_t)xiw_now_ms();

		struct pollfd p = { .events = POLLIN };

		p.fd = __atomic_load_n(&eq->fd, __ATOMIC_RELAXED); /* -1, which poll() skips: closed */
		if (xiw_host_nonblocking(p.fd))
			return -EAGAIN;
		if (left <= 0 && end != INT64_MAX)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)left) < 0)
			return -errno;
	}
	return 1;
}

/* ---- waiting, and taking turns meanwhile ---------------------------------------------------------- */

struct awaited {
	struct xiw_host_eq *eq;
	struct xiw_host_event *event;
	int taken;
};

static void looks(void *ctx)
{
	struct xiw_host_eq *eq = ((struct awaited *)ctx)->eq;

	pthread_mutex_lock(&eq->lock);
	eq->looking++;
	pthread_mutex_unlock(&eq->lock);
}

/* A queue that is closed has no events any more. */
static bool ready(void *ctx)
{
	struct awaited *a = ctx;
	struct xiw_host_eq *eq = a->eq;
	bool closed;

	pthread_mutex_lock(&eq->lock);
	a->taken = take(eq, a->event);
	eq->looking--;
	light(eq);
	closed = __atomic_load_n(&eq->fd, __ATOMIC_RELAXED) < 0;
	pthread_mutex_unlock(&eq->lock);
	return a->taken || closed;
}

static void waits_no_more(void *ctx)
{
	struct xiw_host_eq *eq = ((struct awaited *)ctx)->eq;
	bool freed;

	pthread_mutex_lock(&eq->lock);
	freed = !--eq->waiting && eq->freed;
	pthread_mutex_unlock(&eq->lock);
	if (freed)
		free(eq);
}

/* For ever, as a thread does whose descriptor was closed. */
static int wait_in_vain(void)
{
	poll(NULL, 0, -1);
	return -EINTR;
}

int xiw_host_eq_await(struct xiw_host_eq *eq, struct xiw_host_event *event)
{
	struct awaited a = { .eq = eq, .event = event };
	const struct xiw_host_await how = {
		.looks = looks, .ready = ready, .cut = waits_no_more, .ctx = &a, .fd = eq->fd
	};
	int rc;

	if (xiw_host_dead(&eq->life))
		return -ECANCELED;
	if (xiw_host_eq_take(eq, event))
		return 1;
	if (xiw_host_nonblocking(how.fd))
		return -EAGAIN;
	pthread_mutex_lock(&eq->lock);
	eq->waiting++;
	pthread_mutex_unlock(&eq->lock);
	rc = xiw_host_await(&how);
	waits_no_more(&a);
	if (rc == -ENOSYS)
		return xiw_host_eq_wait(eq, event, -1);
	if (rc)
		return rc;
	return a.taken ? 1 : wait_in_vain();
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
