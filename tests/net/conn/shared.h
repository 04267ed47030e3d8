/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What shared_recv.c and shared_send.c have in common: the cases, and what each message is. */
#ifndef XIW_TESTS_NET_SHARED_H
#define XIW_TESTS_NET_SHARED_H

#include <xiwarp/xiwarp.h>

#include "tests/net/lib/common.h"

#define PORT 15078
#define CONNS 6u
#define MESSAGES 400u
#define WINDOW 6u
#define SIZE (64u << 10)

enum what { GOOD, EMPTY, SHARED, HALF, LONG };

static inline enum what what_of(const char *name)
{
	static const char *const names[] = { "good", "empty", "share", "half", "long" };

	for (unsigned int i = 0; i < 5; i++)
		if (!strcmp(name, names[i]))
			return (enum what)i;
	die("%s is no case", name);
}

static inline uint32_t length_of(enum what what, unsigned int conn, uint32_t n)
{
	return what == HALF ? SIZE : 16 + (uint32_t)(mix(conn * 1000 + n) % 6000);
}

static inline void ok(int err, const char *name)
{
	if (err)
		die("%s: %s", name, strerror(-err));
}

#endif
