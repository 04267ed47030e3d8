// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "signals.h"

#include <signal.h>
#include <stdio.h>

#include "exit.h"

atomic_int xiw_stop_signal;

static void on_signal(int number)
{
	xiw_stop_signal = number;
}

void xiw_catch_signals(void)
{
	/* Without SA_RESTART, so that xiw_engine_run() returns. */
	struct sigaction stop = { .sa_handler = on_signal };
	struct sigaction ignore = { .sa_handler = SIG_IGN }, was;

	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	/* nohup(1) has SIGHUP ignored: it stays so. */
	if (!sigaction(SIGHUP, NULL, &was) && was.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &stop, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
}

void xiw_hold_signals(void)
{
	sigset_t held;

	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGHUP);
	sigprocmask(SIG_BLOCK, &held, NULL);
}

int xiw_exit_stopped(int code)
{
	return xiw_stop_signal ? XIW_EXIT_SIGNAL + xiw_stop_signal : code;
}

bool xiw_go_on(void)
{
	return !xiw_stop_signal && !ferror(stdout);
}

bool xiw_output_lost(void)
{
	/* An earlier flush may have failed and discarded what was buffered: the error flag remembers that. */
	return fflush(stdout) || ferror(stdout);
}
