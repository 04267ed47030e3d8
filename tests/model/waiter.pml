/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Threads that wait for events: a part of the model in share.pml. */

/* xiw_share_wake_up(), before its end */
inline wake_up()
{
	atomic { !lock -> lock = me; driver = driver && !is_driver[me] };
	when(heard, rung = false)
}

/* ... and its end */
inline forget()
{
	passive = passive - is_passive[me];
	by_queues[me] = false;
	is_driver[me] = false;
	is_passive[me] = false;
	heard = false
}

proctype waiter(byte me)
{
	bool ok, look, heard, found;

end_elsewhere:
	waiter_is[me] = RUNS;
	/* xiw_share_wait() */
	d_step { !lock -> lock = me; waiters++ };
again:
	/* looks() */
	atomic {
		forget();
#ifdef EVENTS
		looking++;
		light()
#endif
	};
	turn();
#ifdef EVENTS
	/* ready() */
	d_step {
		found = events > 0;
		events = events - found;
		looking--;
#ifdef NO_LIGHT
		lit = lit && events
#else
		light()
#endif
	};
#endif
	if
	:: goto over /* a signal has come, or there is an event */
	:: !found
#ifdef NO_CANCEL_OFF
	:: waiter_is[me] = GONE; goto gone
#endif
	fi;
	/* xiw_share_fall_asleep() */
	if
	:: d_step { waiters > 1 -> is_passive[me] = true; passive++ };
		/* fall_passive() */
		when(driven && !asleep, ring(RING));
		leave()
	:: waiters == 1 && !sqe && !owner -> goto again /* looks_on() */
	:: d_step { waiters == 1 && asleep -> by_queues[me] = true };
		leave()
	:: waiters == 1 && !asleep ->
		inbox_sleep(BELL);
		if
		:: !ok -> goto again
		:: else -> ok = false
		fi;
		when(sqe, ring(RING));
		d_step {
			driver = true; is_driver[me] = true; by_queues[me] = true;
			reaped = false;
			lock = 0
		}
	fi;
	/* sleep_by() */
	waiter_is[me] = SLEEPS;
	if
	:: d_step { READY(me) -> heard = is_driver[me] && rung; waiter_is[me] = RUNS }
	:: waiter_is[me] = RUNS /* a signal */
	:: waiter_is[me] = RUNS; goto cut
#ifdef GOES
	:: waiter_is[me] = GONE; goto gone
#endif
	fi;
	wake_up();
	goto again;
cut:
	/* xiw_share_wait_cut() */
	wake_up();
#ifndef NO_CUT_RING
	ring(RING);
#endif
	d_step { forget(); waiters--; lock = 0; waiter_is[me] = ELSEWHERE };
	goto end_elsewhere;
over:
	/* xiw_share_wait_over() */
	atomic { waiters--; found = false };
	leave();
	waiter_is[me] = ELSEWHERE;
	goto end_elsewhere;
gone:	skip
}
