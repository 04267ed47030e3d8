// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Segments that are injected over lo, and that reach the socket late, or not at all. */
#include <criterion/criterion.h>

#include "path/arm.h"
#include "path/output.h"
#include "path/probe.h"
#include "path/progress.h"
#include "tests/unit/stretch_rig.h"

static struct stretch t;
static struct xiw_engine *const e = &t.e;
static struct xiw_conn *const c = &t.c;
static struct xiw_flow *const flow = &t.flow;

static void setup(void)
{
	stretch_begin(&t);
}

TestSuite(path_probe, .init = setup);

static void is_the_kernels(void)
{
	c->stretch.state = XIW_STRETCH_OFF;
	c->state = XIW_OPEN;
	c->progress.inject_works = true;
	flow->owner = xiw_owner_pack(0, c->stretch.epoch + 1, XIW_PATH_KERNEL);
}

static bool arms(void)
{
	xiw_try_arm(c, 1);
	return xiw_owner_path(xiw_flow_owner(flow)) == XIW_PATH_ARMED;
}

/* A busy CPU passes the probes on late, and the connection is not barred for that. Nothing arrives if lo is down. */
Test(path_probe, probes_that_arrive_late)
{
	is_the_kernels();
	c->progress.inject_works = false;
	for (int i = 0; i < 250; i++, e->now_ms++)
		cr_assert(!arms() && !flow->barred, "attempt %d", i);
	cr_assert_neq(c->no_direct[0], '\0', "no cause is told meanwhile");
	flow->lo_segs++;
	cr_assert(arms());
	cr_assert_eq(c->no_direct[0], '\0', "%s", c->no_direct);
}

/* A connection whose peer says no more after its first octets does not report that nothing arrives. */
Test(path_probe, a_probe_that_arrives_after_the_last_octet)
{
	is_the_kernels();
	c->progress.inject_works = false;
	cr_assert(!arms());
	cr_assert_neq(c->no_direct[0], '\0');
	flow->lo_segs++;
	xiw_progress_end(c);
	cr_assert_eq(c->no_direct[0], '\0', "%s", c->no_direct);
}

Test(path_probe, probes_that_do_not_arrive)
{
	is_the_kernels();
	c->progress.inject_works = false;
	for (int i = 0; i < 10 && !flow->barred; i++, e->now_ms += 350)
		cr_assert(!arms());
	cr_assert_eq(flow->barred, XIW_REASON_INJECT);
	xiw_progress_end(c);
	cr_assert_neq(c->no_direct[0], '\0');
}

/* What was injected before the last look has had its time. The cause may pass, so that a probe decides. */
Test(path_probe, injections_that_are_missing_for_a_time)
{
	c->counts.injected += 5;
	cr_assert(!xiw_probe_lost(c));
	cr_assert(xiw_probe_missing(c));
	flow->lo_segs += 3;
	cr_assert(!xiw_probe_lost(c), "two of five are no sign");
	c->counts.injected += 5;
	xiw_output_watch(c);
	c->progress.output.left = 0;
	cr_assert(c->stretch.state == XIW_STRETCH_RUNS);
	xiw_output_look(c);
	cr_assert_eq(c->stretch.state, XIW_STRETCH_ENDS);
	cr_assert_eq(c->handoff.reason, XIW_REASON_INJECT);
	cr_assert(!flow->barred);
	is_the_kernels();
	c->progress.inject_works = false;
	cr_assert(!arms());
	flow->lo_segs++;
	cr_assert(arms());
}

/* What a stretch left to the socket at its end has not come: the next stretch waits for a probe. */
Test(path_probe, injections_of_the_end_that_are_missing)
{
	is_the_kernels();
	c->counts.injected++;
	for (int i = 0; i < 2; i++, e->now_ms += 200) {
		cr_assert(!arms());
		cr_assert_eq(c->no_direct[0], '\0', "it may be on its way");
	}
	for (int i = 0; i < 2; i++, e->now_ms += 100)
		cr_assert(!arms());
	cr_assert_neq(c->no_direct[0], '\0');
	flow->lo_segs++;
	cr_assert(arms());
	cr_assert_eq(c->no_direct[0], '\0', "%s", c->no_direct);
}

Test(path_probe, injections_of_the_end_that_come_late)
{
	is_the_kernels();
	c->counts.injected++;
	cr_assert(!arms());
	flow->lo_segs++;
	cr_assert(arms());
}
