// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "signals.h"

#include <signal.h>
#include <stdio.h>

#include "exit.h"

atomic_int xiw_stop_signal;

static bool caught; /* before xiw_uncatch_signals() */

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
	/* A file beyond the size limit (ulimit -f) is refused with EFBIG, as one beyond the disk is. */
	sigaction(SIGXFSZ, &ignore, NULL);
}

static const int stops[] = { SIGINT, SIGTERM, SIGHUP };

/* Those that are not caught, as SIGHUP under nohup(1), stay as they are. */
static void exchange(void (*from)(int), void (*to)(int))
{
	struct sigaction act = { .sa_handler = to }, was;

	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++)
		if (!sigaction(stops[i], NULL, &was) && was.sa_handler == from)
			sigaction(stops[i], &act, NULL);
}

bool xiw_uncatch_signals(void)
{
	struct sigaction was;

	caught = !sigaction(SIGINT, NULL, &was) && was.sa_handler == on_signal;
	exchange(on_signal, SIG_DFL);
	return !xiw_stop_signal;
}

void xiw_recatch_signals(void)
{
	if (caught)
		exchange(SIG_DFL, on_signal);
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
