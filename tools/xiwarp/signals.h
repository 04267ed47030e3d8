/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What ends a command early: a signal, or a standard output that nobody reads. */
#ifndef XIW_TOOL_SIGNALS_H
#define XIW_TOOL_SIGNALS_H

#include <stdatomic.h>
#include <stdbool.h>

/* The number of the signal (SIGINT, SIGTERM or SIGHUP) that asked the command to stop; 0: none. */
extern atomic_int xiw_stop_signal;
/* From now on these three signals set xiw_stop_signal, and SIGPIPE is ignored. */
void xiw_catch_signals(void);
/*
 * Around a call that no handler ends, such as getaddrinfo(3): until the second call, the three signals end the process
 * as if they were not caught. The first one returns false if one of them came before.
 */
bool xiw_uncatch_signals(void);
void xiw_recatch_signals(void);
/* Blocks the three signals, for a command that must not stop half way. */
void xiw_hold_signals(void);
/* `code`, or 128 + N if signal N stopped the command. */
int xiw_exit_stopped(int code);

/*
 * True if standard output cannot be written any more. A command that reports repeatedly asks this after each report
 * and ends; main() prints the reason. A broken pipe shows only when it is written to.
 */
bool xiw_output_lost(void);
/* False if a signal or a lost output ends the command: the condition of every loop that may last. */
bool xiw_go_on(void);

#endif
