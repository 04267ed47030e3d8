// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/fuzz/fiber.h"

#include "tests/fuzz/fuzz.h"

#define FIBER_STACK (512u << 10)

/* ASan must be told of each change of stacks. */
void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size)
	__attribute__((weak));
void __sanitizer_finish_switch_fiber(void *save, const void **bottom, size_t *size)
	__attribute__((weak));

static ucontext_t fiber_main;
static void *fiber_main_fake;
static const void *fiber_main_stack;
static size_t fiber_main_size;
static struct fiber *fiber_current;
static uint32_t fiber_budget; /* steps before it yields */

static void fiber_switched_in(void *fake)
{
	const void *bottom = NULL;
	size_t size = 0;

	if (!__sanitizer_finish_switch_fiber)
		return;
	__sanitizer_finish_switch_fiber(fake, &bottom, &size);
	if (fiber_current && !fiber_main_stack) {
		fiber_main_stack = bottom;
		fiber_main_size = size;
	}
}

/* Back to the schedule. */
static void fiber_yield(void)
{
	struct fiber *f = fiber_current;

	fiber_current = NULL;
	if (__sanitizer_start_switch_fiber)
		__sanitizer_start_switch_fiber(&f->fake, fiber_main_stack, fiber_main_size);
	CHECK(!swapcontext(&f->context, &fiber_main));
	fiber_switched_in(f->fake);
}

void fiber_step(void)
{
	if (!fiber_current)
		return;
	if (!fiber_budget)
		fiber_yield();
	else
		fiber_budget--;
}

static void fiber_body(void)
{
	fiber_switched_in(NULL);
	for (;;) {
		struct fiber *f = fiber_current;

		f->run(f->arg);
		f->busy = false;
		fiber_yield();
	}
}

void fiber_make(struct fiber *f, void (*run)(void *arg), void *arg)
{
	if (!f->stack)
		f->stack = malloc(FIBER_STACK);
	CHECK(f->stack && !getcontext(&f->context));
	f->context.uc_stack.ss_sp = f->stack;
	f->context.uc_stack.ss_size = FIBER_STACK;
	f->context.uc_link = NULL;
	f->run = run;
	f->arg = arg;
	f->busy = false;
	f->fake = NULL;
	makecontext(&f->context, fiber_body, 0);
}

void fiber_go(struct fiber *f, uint32_t steps)
{
	f->busy = true;
	fiber_current = f;
	fiber_budget = steps;
	if (__sanitizer_start_switch_fiber)
		__sanitizer_start_switch_fiber(&fiber_main_fake, f->stack, FIBER_STACK);
	CHECK(!swapcontext(&fiber_main, &f->context));
	fiber_switched_in(fiber_main_fake);
}
