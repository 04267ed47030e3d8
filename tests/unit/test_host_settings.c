// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the environment says about engines: each value is taken, or refused; none is taken for another. */
#include <errno.h>
#include <stdlib.h>

#include <criterion/criterion.h>

#include "host/settings.h"

static struct xiw_engine_opts eo;
static struct xiw_group_opts go;

static int settings(const char *path, const char *queues, const char *engines)
{
	eo = (struct xiw_engine_opts){ .size = sizeof(eo) };
	go = (struct xiw_group_opts){ .size = sizeof(go) };
	setenv("XIWARP_PATH", path, 1);
	setenv("XIWARP_QUEUES", queues, 1);
	setenv("XIWARP_ENGINES", engines, 1);
	return xiw_host_settings(&eo, &go);
}

Test(host_settings, taken)
{
	unsetenv("XIWARP_PIN_DIR");
	cr_expect(!settings("", "", ""));
	cr_expect(eo.path == XIW_USE_AUTO && !eo.max_queues && !go.engines && !eo.pin_dir);
	cr_expect(!settings("auto", "0", "0"));
	cr_expect(eo.path == XIW_USE_AUTO && !eo.max_queues && !go.engines);
	cr_expect(!settings("kernel", "64", "64"));
	cr_expect(eo.path == XIW_USE_KERNEL && eo.max_queues == 64 && go.engines == 64);
	setenv("XIWARP_PIN_DIR", "/somewhere", 1);
	cr_expect(!settings("direct", "", "3"));
	cr_expect(eo.path == XIW_USE_DIRECT && !eo.max_queues && go.engines == 3);
	cr_expect_str_eq(eo.pin_dir, "/somewhere");
}

/* An engine without a queue of its own would take all. */
Test(host_settings, no_more_engines_than_queues)
{
	cr_expect(!settings("auto", "2", "3"));
	cr_expect(eo.max_queues == 2 && go.engines == 2);
}

Test(host_settings, refused)
{
	static const char *const numbers[] = { "65",  "-1", " 1",  "1 ",
					       "0x1", "+1", "two", "99999999999999999999999" };

	cr_expect_eq(settings("Direct", "", ""), -EINVAL);
	cr_expect_eq(settings("directly", "", ""), -EINVAL);
	cr_expect_eq(settings(" kernel", "", ""), -EINVAL);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		cr_expect_eq(settings("auto", numbers[i], ""), -EINVAL, "%s", numbers[i]);
		cr_expect_eq(settings("auto", "", numbers[i]), -EINVAL, "%s", numbers[i]);
	}
}
