// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The libraries whose functions are interposed. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "verbs/verbs.h"

void *xiw_real(const char *function)
{
	return dlsym(RTLD_NEXT, function);
}

bool xiw_verbs_extended(void)
{
	const char *extended = getenv("XIWARP_EXTENDED");

	return extended && *extended;
}

void *xiw_refuse(int rc)
{
	errno = -rc;
	return NULL;
}
