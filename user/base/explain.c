// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/explain.h"

#include <stdarg.h>
#include <stdio.h>

int xiw_explain(char *why, size_t len, int err, const char *fmt, ...)
{
	va_list args;

	if (why && len) {
		va_start(args, fmt);
		vsnprintf(why, len, fmt, args);
		va_end(args);
	}
	return err;
}
