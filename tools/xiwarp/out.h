/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A file that a command writes at its end: `sink --out`, `perf --plot`. */
#ifndef XIW_TOOL_OUT_H
#define XIW_TOOL_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct xiw_out {
	char path[4096];  /* behind symbolic links */
	char where[4096]; /* what must be writable: a regular file's directory, else the file */
	bool direct;	  /* it exists and is no regular file: it is written to, not replaced */
	bool is_stdout;
	mode_t mode; /* of the regular file that is replaced; 0: there is none */
};

/*
 * Looks once what is there, while the process has all its privileges. On failure prints a line that begins with
 * `option`, and returns an exit code: a directory can be neither.
 */
int xiw_out_look(const char *option, const char *file, struct xiw_out *out);
/*
 * A regular file appears complete or not at all; all others are written to as they are. On failure prints a line and
 * returns an exit code.
 */
int xiw_out_write(const struct xiw_out *out, const uint8_t *buf, uint64_t len);

#endif
