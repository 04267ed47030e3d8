// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which directories of a path may be whose, and who may write there. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netif/trust.h"

#define NOBODY 65534

static char base[] = "/tmp/xiw-trust-XXXXXX", middle[64], last[96], why[256];

/* Three directories, of which nobody else can write to any. */
static void setup(void)
{
	if (geteuid())
		cr_skip_test("needs root, for directories of other users");
	umask(022);
	cr_assert(mkdtemp(base));
	snprintf(middle, sizeof(middle), "%s/middle", base);
	snprintf(last, sizeof(last), "%s/last", middle);
	cr_assert(!mkdir(middle, 0755) && !mkdir(last, 0755));
}

static void teardown(void)
{
	unlink(last);
	rmdir(last);
	rmdir(middle);
	rmdir(base);
}

TestSuite(netif_trust, .init = setup, .fini = teardown);

static int trusts(void)
{
	return xiw_trust_dir(last, why, sizeof(why));
}

/* It is refused because of this directory. */
static void refuses(const char *at, const char *words)
{
	char want[256];

	snprintf(want, sizeof(want), "%s%s", at, words);
	cr_expect_eq(trusts(), -EUCLEAN);
	cr_expect_str_eq(why, want);
}

Test(netif_trust, directories_of_ours)
{
	cr_expect_eq(trusts(), 0);
	cr_expect_eq(rmdir(last), 0);
	cr_expect_eq(trusts(), -ENOENT);
}

/* Others may make names in it, but not take away ours. */
Test(netif_trust, a_sticky_directory_on_the_way)
{
	chmod(middle, 01777);
	cr_expect_eq(trusts(), 0);
	chmod(middle, 0777);
	refuses(middle, ": others can write there: chmod go-w");
}

/* What lies in the last one is used, so nobody may make names there. */
Test(netif_trust, a_sticky_directory_at_the_end)
{
	chmod(last, 01777);
	refuses(last, ": others can write there: chmod go-w");
}

Test(netif_trust, a_group_counts_as_others)
{
	chmod(last, 0770);
	refuses(last, ": others can write there: chmod go-w");
}

/* Root has made it, and given it away. */
Test(netif_trust, the_last_one_may_be_given_to_a_user)
{
	cr_assert_eq(chown(last, NOBODY, NOBODY), 0);
	cr_expect_eq(trusts(), 0);
}

/* Its owner can put anything in the place of what lies in it. */
Test(netif_trust, one_on_the_way_may_not)
{
	cr_assert_eq(chown(middle, NOBODY, NOBODY), 0);
	refuses(middle, " is user 65534's: remove it");
}

/* The user may have made it, as others can write where it lies. */
Test(netif_trust, the_last_one_in_a_sticky_directory_may_not)
{
	chmod(middle, 01777);
	cr_assert_eq(chown(last, NOBODY, NOBODY), 0);
	refuses(last, " is user 65534's: remove it");
}

Test(netif_trust, slashes_behind_the_last_one)
{
	char with[128];

	chmod(last, 01777);
	snprintf(with, sizeof(with), "%s//", last);
	cr_expect_eq(xiw_trust_dir(with, why, sizeof(why)), -EUCLEAN);
}

Test(netif_trust, a_link_at_the_end)
{
	cr_assert(!rmdir(last) && !symlink(base, last));
	refuses(last, " is a symbolic link: remove it");
}
