/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether an engine that has nothing to do looks on for a while before it sleeps. To sleep and to be woken takes longer
 * than to look, where one message goes to and fro. Where many come, the engine sleeps, and takes more of them at once.
 */
#ifndef XIW_CORE_PACE_H
#define XIW_CORE_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* A look takes so long. */
#define XIW_PACE_LOOK_NS 20000
/* Packets between two waits: who sends no more seems to wait for an answer. */
#define XIW_PACE_FEW 4
/* A sleep that is shorter was short: so may the next one be. */
#define XIW_PACE_SOON_NS 50000
/* The binary logarithm of how many waits at most go without a look, after looks that found nothing. */
#define XIW_PACE_SKIP_MAX 6
/* A look or a yield that takes so long gave the core to another thread for its time slice. So many go without one. */
#define XIW_PACE_LOST_NS 500000
#define XIW_PACE_LOST_SKIP 4096
/* An application that calls again within this time answers a message at once, if it answers. */
#define XIW_PACE_PROMPT_NS 50000
/* After an absence in which a peer may have sent again, so many calls come before one is relied on. */
#define XIW_PACE_LATE_NS 2000000
#define XIW_PACE_DOUBT 256
/* An engine that does not run for so long stands still: it is late, and what it sends is. */
#define XIW_PACE_STILL_NS 30000000
/* So long after that, what it sees of its peers may still come of it. */
#define XIW_PACE_AFTER_NS 2000000000

struct xiw_pace {
	uint32_t took;	  /* packets, and buffers of sockets, since the engine last waited */
	bool soon;	  /* its last sleep was short */
	bool prompt;	  /* the application's last absence was short, and none of late was long */
	uint16_t doubt;	  /* calls until it is relied on again */
	uint8_t misses;	  /* looks in a row in which nothing came */
	uint16_t skip;	  /* waits without a look before the next one */
	uint16_t keep;	  /* deliveries after which the core is not offered to others */
	uint64_t late_ns; /* when the engine last noticed that it had stood still; 0: never */
};

/* To be asked before each wait. If it returns true, tell xiw_pace_looked(). */
static inline bool xiw_pace_look(struct xiw_pace *p)
{
	const bool few = p->took <= XIW_PACE_FEW;

	p->took = 0;
	if (!few || !p->soon)
		return false;
	if (!p->skip)
		return true;
	p->skip--;
	return false;
}

/*
 * The look has taken so long. If that is longer than a short sleep, another thread had the core meanwhile, and would
 * have lost it to an engine that is woken.
 */
static inline void xiw_pace_looked(struct xiw_pace *p, bool came, uint64_t ns)
{
	if (came && ns < XIW_PACE_SOON_NS) {
		p->misses = 0;
		return;
	}
	p->misses += p->misses < XIW_PACE_SKIP_MAX;
	p->skip = ns < XIW_PACE_LOST_NS ? (uint16_t)(1u << p->misses) : XIW_PACE_LOST_SKIP;
}

static inline void xiw_pace_slept(struct xiw_pace *p, uint64_t ns)
{
	p->soon = ns < XIW_PACE_SOON_NS;
}

/* Is the core to be offered to a thread that may answer what was delivered? If so, tell xiw_pace_yielded(). */
static inline bool xiw_pace_yield(struct xiw_pace *p)
{
	if (!p->keep)
		return true;
	p->keep--;
	return false;
}

/*
 * It was away for so long. A thread that polls memory does not sleep, and keeps the core for its time slice. An engine
 * that sleeps instead gets the core back when something comes.
 */
static inline void xiw_pace_yielded(struct xiw_pace *p, uint64_t ns)
{
	if (ns >= XIW_PACE_LOST_NS)
		p->keep = XIW_PACE_LOST_SKIP;
}

/* The application has called again, after so long. `alone`: nobody else has taken turns meanwhile. */
static inline void xiw_pace_called(struct xiw_pace *p, uint64_t ns, bool alone)
{
	if (alone && ns >= XIW_PACE_LATE_NS)
		p->doubt = XIW_PACE_DOUBT;
	else if (p->doubt)
		p->doubt--;
	p->prompt = ns < XIW_PACE_PROMPT_NS && !p->doubt;
}

/* For so long the engine has not run, although it had or may have had something to do. */
static inline void xiw_pace_absent(struct xiw_pace *p, uint64_t ns, uint64_t now_ns)
{
	if (ns >= XIW_PACE_STILL_NS)
		p->late_ns = now_ns;
}

/* Says whether the engine has stood still lately: its thread or its application was late, as on a busy host. */
static inline bool xiw_pace_late(const struct xiw_pace *p, uint64_t now_ns)
{
	return p->late_ns && now_ns - p->late_ns < XIW_PACE_AFTER_NS;
}

#endif /* XIW_CORE_PACE_H */
