// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What other threads ask of an engine. One word holds all of it, so that nothing falls between two reads: the newest
 * note, which leads to the older ones, and marks in the bits that a note's address does not use. Whoever finds the
 * word at ASLEEP and nothing else is the first to want something of an engine that sleeps, and rings its eventfd. The
 * engine cannot go to sleep over anything: it swaps the word from 0 to ASLEEP.
 *
 * The eventfd is never read. A multishot poll is with io_uring from the first sleep on, and completes for each write.
 * So neither sleeping nor waking up takes a system call of its own.
 *
 * An engine whose application waits by a descriptor is rung by a write to that descriptor itself. If the ring's poll
 * reported it, one eventfd would be written from within a write to another. Kernels put that off, and newer ones forget
 * it from the second time on.
 */
#include "core/inbox.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/ring.h"

#define WOKEN 1ull  /* xiw_engine_wake() was called */
#define ASLEEP 2ull /* the engine sleeps or is about to */
#define CLOSED 4ull /* the engine is being destroyed */
#define MARKS 7ull

_Static_assert(_Alignof(struct xiw_note) > MARKS, "a note's address has no room for the marks");

/*
 * Only a system call is made, and errno is kept, since a signal handler may wake the engine. write() would be a place
 * where a thread is cancelled, which must not be between the mark that the engine is rung and the ring.
 */
void xiw_inbox_ring_bell(int bell)
{
	const uint64_t one = 1;
	int saved = errno;

	/*
	 * If the engine sleeps by the other descriptor now, it has taken what this is for. The write fails only if the
	 * counter is full, and then the engine has been rung often enough.
	 */
	if (syscall(__NR_write, bell, &one, sizeof(one)) < 0)
		errno = saved;
}

static void ring(const struct xiw_engine *e)
{
	xiw_inbox_ring_bell(__atomic_load_n(&e->inbox.bell, __ATOMIC_RELAXED));
}

void xiw_inbox_ring(struct xiw_engine *e)
{
	xiw_inbox_ring_bell(e->inbox.fd);
}

bool xiw_inbox_put(struct xiw_engine *e, struct xiw_note *note)
{
	uint64_t word = __atomic_load_n(&e->inbox.word, __ATOMIC_RELAXED);

	do {
		if (word & CLOSED)
			return false;
		note->next = (struct xiw_note *)(uintptr_t)(word & ~MARKS);
	} while (!__atomic_compare_exchange_n(&e->inbox.word, &word,
					      (uintptr_t)note | (word & MARKS), true,
					      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	if (word == ASLEEP)
		ring(e);
	return true;
}

/* Always writes the word, so that the engine sees what the caller wrote before. */
void xiw_engine_wake(struct xiw_engine *e)
{
	if (__atomic_fetch_or(&e->inbox.word, WOKEN, __ATOMIC_ACQ_REL) == ASLEEP)
		ring(e);
}

static struct xiw_note *in_order_of_arrival(uint64_t word)
{
	struct xiw_note *note = (struct xiw_note *)(uintptr_t)(word & ~MARKS), *first = NULL;

	while (note) {
		struct xiw_note *older = note->next;

		note->next = first;
		first = note;
		note = older;
	}
	return first;
}

static void run_all(struct xiw_engine *e, uint64_t word)
{
	/* run() may free the note, or put it again. */
	for (struct xiw_note *note = in_order_of_arrival(word), *next; note; note = next) {
		next = note->next;
		note->run(e, note);
	}
}

static void run_call(struct xiw_engine *e, struct xiw_note *note)
{
	struct xiw_call *call = (void *)((char *)note - offsetof(struct xiw_call, note));

	call->run(e, call, e->destroying ? -ECANCELED : 0);
}

int xiw_engine_call(struct xiw_engine *e, struct xiw_call *call)
{
	call->note.run = run_call;
	return xiw_inbox_put(e, &call->note) ? 0 : -ECANCELED;
}

bool xiw_inbox_run(struct xiw_engine *e)
{
	uint64_t word = __atomic_load_n(&e->inbox.word, __ATOMIC_RELAXED);

	if (!(word & ~CLOSED))
		return false;
	word = __atomic_exchange_n(&e->inbox.word, word & CLOSED, __ATOMIC_ACQ_REL);
	run_all(e, word);
	return word & ~(ASLEEP | CLOSED);
}

bool xiw_inbox_waits(const struct xiw_engine *e)
{
	return __atomic_load_n(&e->inbox.word, __ATOMIC_SEQ_CST) & ~(ASLEEP | CLOSED);
}

bool xiw_inbox_sleep(struct xiw_engine *e, int bell)
{
	uint64_t word = 0;

	if (bell == e->inbox.fd && !e->inbox.polled) {
		io_uring_prep_poll_multishot(xiw_sqe(e, e, XIW_OP_WAKE), bell, POLLIN);
		e->inbox.polled = true;
	}
	__atomic_store_n(&e->inbox.bell, bell, __ATOMIC_RELAXED);
	return __atomic_compare_exchange_n(&e->inbox.word, &word, ASLEEP, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED) ||
	       word & CLOSED;
}

/* The kernel ends a multishot request when its completion queue is full. */
void xiw_inbox_rung(struct xiw_engine *e, uint32_t flags)
{
	e->inbox.polled = flags & IORING_CQE_F_MORE;
}

void xiw_inbox_close(struct xiw_engine *e)
{
	run_all(e, __atomic_exchange_n(&e->inbox.word, CLOSED, __ATOMIC_ACQ_REL));
}

int xiw_inbox_create(struct xiw_engine *e)
{
	e->inbox.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return e->inbox.fd < 0 ? -errno : 0;
}

void xiw_inbox_free(struct xiw_engine *e)
{
	if (e->inbox.fd >= 0)
		close(e->inbox.fd);
	e->inbox.fd = -1;
}
