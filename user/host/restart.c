// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <signal.h>

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

static bool has_handler(int number, struct sigaction *action)
{
	return !sigaction(number, NULL, action) && action->sa_handler != SIG_DFL &&
	       action->sa_handler != SIG_IGN;
}

bool xiw_host_restarts(void)
{
	struct sigaction action;
	sigset_t blocked;
	bool any = false;

	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	for (int i = 1; i <= SIGRTMAX; i++) {
		if (is_fault(i) || sigismember(&blocked, i) || !has_handler(i, &action))
			continue;
		if (!(action.sa_flags & SA_RESTART))
			return false;
		any = true;
	}
	return any;
}
