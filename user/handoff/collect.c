// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Collecting slots that connections have left. An engine looks at those on its own lists, not at the whole table. */
#include <netinet/tcp.h>
#include <stddef.h>

#include "handoff/diag.h"
#include "handoff/slot.h"

#define ROOM_QUESTIONS 8       /* to the kernel, when the table is full */
#define COLLECT_QUESTIONS 1024 /* when an engine begins */
#define GATHER_MS 1000

/*
 * A peer may use the same addresses again at any time. Then its SYN, and all that follows, is translated by this slot,
 * which must stay. So the socket is looked up again when the slot is out of the index.
 */
static bool collect(struct xiw_table *t, uint32_t index, uint32_t from, bool (*done)(int state))
{
	struct xiw_flow *f = &t->flows[index];

	if (!done(xiw_flow_socket_state(f)))
		return false;
	/* Claimed first, so that nobody adopts what is being removed. */
	if (!xiw_slot_hand_over(f, from, t->me))
		return false;
	xiw_slot_forget(t, index);
	if (!done(xiw_flow_socket_state(f)) && !xiw_table_insert(t, index)) {
		xiw_slot_give_away(f, from);
		return false;
	}
	xiw_slot_release(t, index, 0);
	return true;
}

static bool is_gone(int state)
{
	return !state;
}

static bool is_over(int state)
{
	return !state || state == TCP_TIME_WAIT;
}

/* Lists the slots that no living engine has. An engine that lives may have them on its lists as well. */
static void gather(struct xiw_table *t)
{
	struct {
		uint32_t engine;
		bool lives;
	} known[16] = {}, *at;

	for (uint32_t i = xiw_table_next(t, 0); i < t->nflows; i = xiw_table_next(t, i + 1)) {
		uint32_t engine = xiw_slot_engine(t, i);

		at = &known[engine % 16];
		if (engine && at->engine != engine) {
			at->engine = engine;
			at->lives = xiw_engine_lives(t, engine);
		}
		if (!engine)
			xiw_slot_untake(t, i);
		else if (at->lives || xiw_slot_listed(&t->lists, i))
			continue;
		else if (engine == XIW_RETIRED)
			xiw_slot_add(&t->lists, XIW_SLOTS_RETIRED, i);
		else if (engine == XIW_ABANDONED ||
			 xiw_slot_hand_over(&t->flows[i], engine, XIW_ABANDONED))
			xiw_slot_add(&t->lists, XIW_SLOTS_LEFT, i);
	}
}

/* By now XDP and the rings hold none of their frames any more. */
static unsigned int collect_retired(struct xiw_table *t)
{
	unsigned int n = 0;
	uint32_t i;

	while ((i = xiw_slot_first(&t->lists, XIW_SLOTS_RETIRED)) < t->nflows) {
		xiw_slot_unlist(t, i);
		if (!xiw_slot_hand_over(&t->flows[i], XIW_RETIRED, 0))
			continue; /* another engine was first */
		xiw_slot_untake(t, i);
		n++;
	}
	return n;
}

/* Frees a slot of the list if its connection is `done`. True if it is not in the list any more. */
static bool collect_left(struct xiw_table *t, uint32_t index, bool (*done)(int state),
			 unsigned int *freed)
{
	if (xiw_slot_engine(t, index) == XIW_ABANDONED) {
		if (!collect(t, index, XIW_ABANDONED, done))
			return false;
		++*freed;
	}
	xiw_slot_unlist(t, index);
	return true;
}

/* Asks for connections whose slots were left, and frees those of connections that are gone. Returns how many. */
static unsigned int ask_all(struct xiw_table *t, unsigned int most)
{
	unsigned int freed = 0;
	uint32_t i,
		last = t->nflows; /* the first one that stays; the call ends when it comes again */

	while (most--) {
		if (t->next >= t->nflows)
			t->next = xiw_slot_first(&t->lists, XIW_SLOTS_LEFT);
		i = t->next;
		if (i >= t->nflows || i == last)
			break;
		if (collect_left(t, i, is_gone, &freed))
			continue;
		t->next = xiw_slot_next(&t->lists, i);
		if (last == t->nflows)
			last = i;
	}
	return freed;
}

bool xiw_table_make_room(struct xiw_table *t, uint64_t now_ms)
{
	uint32_t i = xiw_slot_first(&t->lists, XIW_SLOTS_LEFT), next;
	unsigned int freed = 0;

	for (int n = 0; n < ROOM_QUESTIONS && !freed && i < t->nflows; n++, i = next) {
		next = xiw_slot_next(&t->lists, i);
		collect_left(t, i, is_over, &freed);
	}
	if (!freed && t->gather_ms <= now_ms) {
		t->gather_ms = now_ms + GATHER_MS;
		gather(t);
		freed = ask_all(t, ROOM_QUESTIONS);
	}
	return freed;
}

unsigned int xiw_table_collect(struct xiw_table *t)
{
	unsigned int n;

	gather(t);
	n = collect_retired(t);
	return n + ask_all(t, COLLECT_QUESTIONS);
}

bool xiw_table_collect_some(struct xiw_table *t, unsigned int most)
{
	collect_retired(t);
	ask_all(t, most);
	return xiw_slot_first(&t->lists, XIW_SLOTS_LEFT) < t->nflows;
}
