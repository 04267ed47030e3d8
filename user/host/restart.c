// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <signal.h>
#include <stdint.h>

#include "host/host.h"

/* What the thread's own instructions cause: their handlers do not run while it waits. */
static bool is_fault(int number)
{
	switch (number) {
	case SIGABRT:
	case SIGBUS:
	case SIGFPE:
	case SIGILL:
	case SIGSEGV:
	case SIGSYS:
	case SIGTRAP:
		return true;
	default:
		return false;
	}
}

/* Signals that have a handler, a bit for each: those with SA_RESTART, and the others. */
struct handlers {
	uint64_t restart, end;
};

static struct handlers look(void)
{
	struct handlers found = {};
	const int was = errno; /* glibc refuses its own signals */
	struct sigaction action;

	for (int i = 1; i <= SIGRTMAX; i++) {
		const uint64_t bit = 1ull << (i - 1);

		if (is_fault(i) || sigaction(i, NULL, &action) || action.sa_handler == SIG_DFL ||
		    action.sa_handler == SIG_IGN)
			continue;
		if (action.sa_flags & SA_RESTART)
			found.restart |= bit;
		else
			found.end |= bit;
	}
	errno = was;
	return found;
}

static uint64_t blocked_here(void)
{
	uint64_t bits = 0;
	sigset_t set;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	for (int i = 1; i <= SIGRTMAX; i++)
		if (sigismember(&set, i))
			bits |= 1ull << (i - 1);
	return bits;
}

static _Thread_local struct handlers before;
static _Thread_local bool looked;

/* Asks the kernel 60 questions, so not before every wait. */
void xiw_host_look_at_handlers(void)
{
	if (!looked)
		before = look();
	looked = true;
}

bool xiw_host_restarts(void)
{
	const struct handlers now = look();
	const uint64_t open = ~blocked_here(), restart = before.restart | now.restart,
		       end = before.end | now.end;

	before = now;
	/* A wait that ends gives the program time for other handlers, such as one that runs once, anew. */
	looked = restart & open && !(end & open);
	return looked;
}
