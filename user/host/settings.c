// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/settings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NULL: it is not set, or empty, or whoever started this program must not decide. */
static const char *value_of(const char *name)
{
	const char *value = secure_getenv(name);

	return value && *value ? value : NULL;
}

/* Every object that is made would have the same to say. */
static int wrong(const char *name, const char *value, const char *expected)
{
	static bool said;

	if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		fprintf(stderr, "xiwarp: %s: '%.64s' is not %s\n", name, value, expected);
	return -EINVAL;
}

static int path(enum xiw_use_path *to)
{
	static const char *const words[] = {
		[XIW_USE_AUTO] = "auto",
		[XIW_USE_KERNEL] = "kernel",
		[XIW_USE_DIRECT] = "direct",
	};
	const char *value = value_of("XIWARP_PATH");

	for (unsigned int i = 0; value && i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(value, words[i])) {
			*to = i;
			return 0;
		}
	}
	return value ? wrong("XIWARP_PATH", value, "auto, direct or kernel") : 0;
}

static int number(const char *name, unsigned int *to)
{
	const char *value = value_of(name);
	unsigned long n;
	char *end;

	if (!value)
		return 0;
	n = strtoul(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || n > XIW_GROUP_ENGINES_MAX)
		return wrong(name, value, "a number from 0 to 64");
	*to = (unsigned int)n;
	return 0;
}

static int ring(void)
{
	const char *value = value_of("XIWARP_RING");

	return !value || !strcmp(value, "io_uring") || !strcmp(value, "epoll")
		       ? 0
		       : wrong("XIWARP_RING", value, "io_uring or epoll");
}

int xiw_host_settings(struct xiw_engine_opts *engine, struct xiw_group_opts *group)
{
	int err = path(&engine->path);

	engine->pin_dir = value_of("XIWARP_PIN_DIR");
	engine->interface = value_of("XIWARP_IF");
	if (!err)
		err = ring();
	if (!err)
		err = number("XIWARP_QUEUES", &engine->max_queues);
	if (!err)
		err = number("XIWARP_ENGINES", &group->engines);
	/* No engine is without a queue of its own. */
	if (engine->max_queues && group->engines > engine->max_queues)
		group->engines = engine->max_queues;
	return err;
}

bool xiw_host_send_first(void)
{
	return value_of("XIWARP_SEND_FIRST");
}
