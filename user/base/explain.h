/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The line of text in which a public function tells its caller the cause of an error and its remedy. */
#ifndef XIW_BASE_EXPLAIN_H
#define XIW_BASE_EXPLAIN_H

#include <stddef.h>

struct xiw_line {
	char *text; /* NULL: the caller does not want it */
	size_t len;
};

/* Writes the line, and returns `err`. */
__attribute__((format(printf, 3, 4))) int xiw_explain(struct xiw_line line, int err,
						      const char *fmt, ...);

#endif
