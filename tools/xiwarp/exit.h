/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Exit codes, and the one line that says why a command failed. */
#ifndef XIW_TOOL_EXIT_H
#define XIW_TOOL_EXIT_H

#include <stdatomic.h>
#include <stdbool.h>

enum xiw_exit {
	XIW_EXIT_OK = 0,
	XIW_EXIT_FAILURE = 1,
	XIW_EXIT_USAGE = 2,
	XIW_EXIT_PRIVILEGE = 3,
	XIW_EXIT_NOT_FOUND = 4,
	XIW_EXIT_BUSY = 5,
	XIW_EXIT_UNSUPPORTED = 6,
	XIW_EXIT_PEER = 7,
	XIW_EXIT_VERIFY = 8,
	XIW_EXIT_NOT_EXECUTED = 126, /* `run`, as env(1) */
	XIW_EXIT_NO_COMMAND = 127,
	XIW_EXIT_SIGNAL = 128,
};

/* Standard error shows a line without its end, as of progress: xiw_fail() ends it first. */
extern atomic_bool xiw_line_open;

/* Prints "xiwarp: ..." as one line on standard error and returns `code`. */
__attribute__((format(printf, 2, 3))) int xiw_fail(int code, const char *fmt, ...);
/* The exit code for a negative errno of the functions that load programs or open them. */
int xiw_exit_code(int err);
/* What helps against a negative errno, as the end of a line; empty if the errno says enough. */
const char *xiw_remedy(int err);

#endif
