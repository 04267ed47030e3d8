// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which handlers let a wait in poll() go on. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>

#include "host/host.h"

static void stays(int number)
{
	(void)number;
}

static void goes(int number)
{
	signal(number, SIG_DFL);
}

static void install(int number, void (*handler)(int number), int flags)
{
	const struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	cr_assert(!sigaction(number, &action, NULL));
}

/* The harness may have handlers of its own. */
static void set_up(void)
{
	for (int i = 1; i <= SIGRTMAX; i++)
		if (i != SIGKILL && i != SIGSTOP && (i < 32 || i >= SIGRTMIN))
			install(i, SIG_DFL, 0);
}

TestSuite(host_restart, .init = set_up);

Test(host_restart, all_have_it)
{
	install(SIGUSR1, stays, SA_RESTART);
	install(SIGCHLD, stays, SA_RESTART);
	install(SIGSEGV, stays, 0);
	xiw_host_look_at_handlers();
	cr_assert(!raise(SIGUSR1));
	cr_expect(xiw_host_restarts());
}

Test(host_restart, one_has_it_not)
{
	sigset_t set;

	install(SIGUSR1, stays, SA_RESTART);
	install(SIGINT, stays, 0);
	xiw_host_look_at_handlers();
	cr_assert(!raise(SIGUSR1));
	cr_expect_not(xiw_host_restarts());
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	cr_assert(!pthread_sigmask(SIG_BLOCK, &set, NULL));
	cr_expect(xiw_host_restarts(), "this thread blocks it");
}

/* Of a handler that is gone when it has run, as those are that let a second Ctrl-C kill the program. */
static void ends_once(void (*handler)(int number), int flags)
{
	install(SIGCHLD, stays, SA_RESTART);
	install(SIGINT, handler, flags);
	xiw_host_look_at_handlers();
	cr_assert(!raise(SIGINT));
	cr_expect_not(xiw_host_restarts());
	install(SIGINT, handler, flags);
	xiw_host_look_at_handlers();
	cr_assert(!raise(SIGINT));
	cr_expect_not(xiw_host_restarts(), "it was installed again");
	xiw_host_look_at_handlers();
	cr_assert(!raise(SIGCHLD));
	cr_expect(xiw_host_restarts(), "only the other one is left");
}

Test(host_restart, runs_once)
{
	ends_once(stays, SA_RESETHAND);
}

Test(host_restart, takes_itself_away)
{
	ends_once(goes, 0);
}

Test(host_restart, runs_once_with_it)
{
	install(SIGUSR1, stays, SA_RESETHAND | SA_RESTART);
	xiw_host_look_at_handlers();
	cr_assert(!raise(SIGUSR1));
	cr_expect(xiw_host_restarts());
}

/* Callers return the errno of their poll(). glibc refuses to tell of signals of its own. */
Test(host_restart, errno_stays)
{
	install(SIGUSR1, stays, SA_RESTART);
	install(SIGRTMIN, stays, 0);
	errno = EINTR;
	xiw_host_look_at_handlers();
	cr_expect_eq(errno, EINTR);
	cr_expect_not(xiw_host_restarts());
	cr_expect_eq(errno, EINTR);
}
