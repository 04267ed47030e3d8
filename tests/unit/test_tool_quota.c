// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What one peer may hold of what a server has for all, and when it is idle. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <string.h>

#include "tools/xiwarp/quota.c"

static struct sockaddr_storage at(const char *ip)
{
	struct sockaddr_storage s = {};
	struct sockaddr_in *in = (struct sockaddr_in *)&s;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&s;

	if (inet_pton(AF_INET, ip, &in->sin_addr) == 1)
		s.ss_family = AF_INET;
	else if (inet_pton(AF_INET6, ip, &in6->sin6_addr) == 1)
		s.ss_family = AF_INET6;
	return s;
}

static struct xiw_quota budget = { .lock = PTHREAD_MUTEX_INITIALIZER, .limit = 100 };

static bool take(struct xiw_holding *h, const char *ip, uint64_t bytes)
{
	const struct sockaddr_storage peer = at(ip);

	return xiw_quota_take(&budget, h, &peer, bytes, false);
}

Test(tool_quota, a_peer_that_holds_nothing_may_have_all)
{
	struct xiw_holding a = {}, b = {};

	cr_assert(!take(&a, "192.0.2.1", 101));
	cr_assert(take(&a, "192.0.2.1", 100));
	cr_assert(!take(&b, "192.0.2.2", 1));
	xiw_quota_give(&budget, &a);
	cr_assert(take(&b, "192.0.2.2", 100));
}

Test(tool_quota, a_peer_that_holds_something_leaves_half)
{
	struct xiw_holding a[3] = {}, b = {}, c = {};

	cr_assert(take(&a[0], "192.0.2.1", 30));
	cr_assert(!take(&a[1], "192.0.2.1", 21));
	cr_assert(take(&a[1], "192.0.2.1", 20));
	cr_assert(!take(&a[2], "192.0.2.1", 1));
	cr_assert(take(&b, "192.0.2.2", 50));
	cr_assert(!take(&c, "192.0.2.3", 1));
	xiw_quota_give(&budget, &a[0]);
	/* Half of the 50 that the other one leaves. */
	cr_assert(!take(&a[0], "192.0.2.1", 6));
	cr_assert(take(&a[0], "192.0.2.1", 5));
}

Test(tool_quota, roomy_is_half_of_it)
{
	const struct sockaddr_storage peer = at("192.0.2.1");
	struct xiw_holding a = {}, b = {};

	cr_assert(!xiw_quota_take(&budget, &a, &peer, 51, true));
	cr_assert(xiw_quota_take(&budget, &a, &peer, 20, true));
	cr_assert(!xiw_quota_take(&budget, &b, &peer, 6, true));
	cr_assert(xiw_quota_take(&budget, &b, &peer, 5, true));
}

Test(tool_quota, who_is_one_peer)
{
	const struct {
		const char *a, *b;
		bool same;
	} rows[] = {
		{ "192.0.2.1", "::ffff:192.0.2.1", true },
		{ "::ffff:192.0.2.1", "::ffff:192.0.2.2", false },
		{ "2001:db8::1", "2001:db8::ffff:2", true },
		{ "2001:db8::1", "2001:db8:0:1::1", false },
		{ "::1", "192.0.2.1", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct xiw_holding a = {}, b = {};

		cr_assert(take(&a, rows[i].a, 40));
		cr_assert_eq(take(&b, rows[i].b, 50), !rows[i].same, "row %zu", i);
		xiw_quota_give(&budget, &a);
		xiw_quota_give(&budget, &b);
	}
}

Test(tool_quota, what_is_not_held_is_given_back_without_harm)
{
	struct xiw_holding a = {}, never = {};

	cr_assert(take(&a, "192.0.2.1", 100));
	xiw_quota_give(&budget, &never);
	xiw_quota_give(&budget, &a);
	xiw_quota_give(&budget, &a);
	cr_assert(take(&a, "192.0.2.1", 100));
}

Test(tool_quota, a_trickle_is_idle)
{
	struct xiw_activity a = {};

	xiw_activity_note(&a, 0, 5 * NS);
	for (uint64_t s = 0; s <= 10; s++)
		cr_assert(!xiw_activity_idle(&a, s, (5 + s) * NS, 64, 10));
	cr_assert(xiw_activity_idle(&a, 63, 15 * NS + 1, 64, 10));
	cr_assert(!xiw_activity_idle(&a, 64, 15 * NS + 1, 64, 10));
	cr_assert(!xiw_activity_idle(&a, 64, 25 * NS, 64, 10));
	cr_assert(xiw_activity_idle(&a, 127, 25 * NS + 2, 64, 10));
}

Test(tool_quota, long_limits_do_not_wrap)
{
	struct xiw_activity a = {};

	cr_assert(!xiw_activity_idle(&a, 0, 86400 * NS, 1, 86400));
	cr_assert(xiw_activity_idle(&a, 0, 86400 * NS + 1, 1, 86400));
}
