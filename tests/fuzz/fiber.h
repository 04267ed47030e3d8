/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fibers: threads that switch only at given points, so that the schedule can be a part of the input. */
#ifndef XIW_TESTS_FUZZ_FIBER_H
#define XIW_TESTS_FUZZ_FIBER_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

struct fiber {
	ucontext_t context;
	void *stack;
	void (*run)(void *arg); /* runs once for each time that the fiber is started */
	void *arg;
	bool busy;
	void *fake; /* ASan's */
};

/* To be called before each access to shared memory. Outside of a fiber it does nothing. */
void fiber_step(void);
/* Makes a fiber that runs `run` each time it is started. */
void fiber_make(struct fiber *f, void (*run)(void *arg), void *arg);
/* Runs the fiber for that many steps, or to its end. */
void fiber_go(struct fiber *f, uint32_t steps);

#endif
