/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_BASE_EXPLAIN_H
#define XIW_BASE_EXPLAIN_H

#include <stddef.h>

/* Writes one line for the caller of a public function, who may not want it (NULL), and returns `err`. */
__attribute__((format(printf, 4, 5))) int xiw_explain(char *why, size_t len, int err,
						      const char *fmt, ...);

#endif
