// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/explain.h"

#include <stdarg.h>
#include <stdio.h>

int xiw_explain(struct xiw_line line, int err, const char *fmt, ...)
{
	va_list args;

	if (line.text && line.len) {
		va_start(args, fmt);
		vsnprintf(line.text, line.len, fmt, args);
		va_end(args);
	}
	return err;
}
