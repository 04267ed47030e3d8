/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who takes an engine's turns, and who wakes whom, as a model for Spin: the engine's thread, one that polls, one or two
 * that wait for events, and one or two that ask for something, while frames and completions come at any time. Each
 * access to what threads without the lock see is a step of its own; what only the holder of the lock sees changes with
 * the step beside it.
 *
 * What is modelled, and where it is in the code
 *
 *   engine      serve(), run(), sleep_in_ring(), wait() and the functions of engine/share.c that they call
 *   poller      xiw_host_look(), and xiw_host_sleeps() when it stops
 *   waiter      in waiter.pml: xiw_host_eq_await(), xiw_host_await(). Signals may end its sleep, and it may be cancelled there, or
 *               leave by a jump and never come back (GOES)
 *   asker       xiw_inbox_put(), and if it posts operations xiw_host_posted()
 *   turn        xiw_turn(), take_all(). What is asked may leave a request for the ring (sqe), or a time that the
 *               engine's thread must know (due); a frame becomes an event
 *   kernel      brings frames, and work from which completions come. With DEFER_TASKRUN only the engine's thread makes
 *               completions of it, in io_uring_enter(), but any thread with the lock may take these first
 *
 *   note, op, mark: the inbox's word: something is asked for; an operation is; ASLEEP. bell: inbox.bell. rung: s->bell
 *   is readable. work: for the engine's thread, as by a write to inbox.fd. cqe: completions. frame: the AF_XDP socket is
 *   readable; polled: the request to report that. All others are named as in struct xiw_sharing and struct xiw_host_eq.
 *   How often others take turns is not counted: `often` and `driven` may change at each look.
 *
 * Properties
 *   lost_wakeup     While the engine's thread sleeps without a limit and nobody else looks, nothing waits: nothing that
 *                   is asked, no request, no time and no frame.
 *   waits_for_nap   While it naps, which ends after a millisecond, a frame may wait, and what is asked, but no request,
 *                   no operation while `driven` is set, and nothing that is asked while a driver sleeps.
 *   event_missed    No thread sleeps while there is an event for it.
 *   without_lock    Only the holder of the lock has a turn.
 *   lock_left       No thread that waits or has gone holds the lock.
 *
 * Not modelled: a multishot poll on inbox.fd that has ended because the completion queue was full; memory that is not
 * sequentially consistent; the end of the engine.
 */

#define ENGINE 3 /* waiters are 1 and 2 */
#define POLLER 4
#define ASKER 5 /* and 6 */

/* The inbox and the kernel. */
#define RING 0 /* inbox.fd */
#define BELL 1 /* s->bell */
bool note, mark, rung, work, cqe, frame;
bit bell;
mtype = { NOT, ASKED, CAME, DONE };
mtype polled = NOT;
#ifdef ASKS
bool op;
#define OP op
#else
#define OP note
#endif

/* With the lock, besides owner, often and driven, which are atomic. */
byte lock, waiters, passive;
bool owner, often, driven, asleep, driver;
bool reaped; /* *khead != s->head */
bool sqe, due;

/* The queue of events. */
byte events, looking;
bool lit;

/* Where threads are. */
mtype = { ELSEWHERE, RUNS, SLEEPS, GONE };
mtype waiter_is[3] = ELSEWHERE;
bool by_queues[3], is_driver[3], is_passive[3];
bool polls, asks[7];
bool in_ring, nap; /* the engine's thread waits in its ring; not longer than a millisecond */
#ifdef NO_NAP_LIMIT
#define NAPS false
#else
#define NAPS nap
#endif

bool lost_wakeup, waits_for_nap, event_missed, without_lock, lock_left;
#define when(condition, step) if :: condition -> step :: else fi
#define PROPERTY(broken, when) broken = (when); assert(!(broken))

#define READY(w) (lit || by_queues[w] && frame || is_driver[w] && rung)
#define RESTS(w) \
	(waiter_is[w] == ELSEWHERE || waiter_is[w] == GONE || waiter_is[w] == SLEEPS && !READY(w))
#define DRIVES(w) (waiter_is[w] == SLEEPS && is_driver[w])
#define OTHERS_REST (!polls && RESTS(1) && RESTS(2) && !asks[ASKER] && !asks[ASKER + 1])
#define ENGINE_WAITS (in_ring && !work && polled != CAME)
#define HELD(who, rests) (lock == (who) && (rests))

/* ---- what all threads do ---------------------------------------------------------------------------- */

/* xiw_inbox_ring_bell() */
#define ring(which) d_step { work = work || (which) == RING; rung = rung || (which) == BELL }

/* xiw_inbox_sleep() */
inline inbox_sleep(which)
{
	bell = which;
	d_step {
#ifdef NO_SLEEP_CAS
		ok = true;
#else
		ok = !note && !mark;
#endif
		mark = mark || ok
	}
}

/* light(), with the queue's lock */
inline light()
{
	lit = events && (lit || !looking)
}

inline turn()
{
	/* xiw_inbox_run() */
	d_step {
		PROPERTY(without_lock, lock != me);
#ifdef ASKS
		op = false;
#endif
		note = false; mark = false
	};
#ifdef LEAVES
	if
	:: sqe = true
	:: due = true
	:: skip
	fi;
#endif
	/* xiw_turn_reap() */
	d_step {
		reaped = reaped || cqe || polled == DONE;
		cqe = false;
		polled = (polled == DONE -> NOT : polled)
	};
	/* poll_queue() */
	frame = false
}

/* xiw_share_leave() */
inline leave()
{
	/* ends_sleep() */
	d_step {
		ok = true;
		look = driven && !asleep && !driver;
#ifndef NO_TIME
		ok = ok && !(asleep && due);
#endif
#ifndef NO_HEAD
		ok = ok && !(asleep && reaped);
#endif
	};
#ifndef NO_MARK_AGAIN
	when(asleep && ok, inbox_sleep(RING));
#endif
#ifdef NO_RING_REQUESTS
	when(!ok, ring(RING));
#else
	when(!ok || sqe, ring(RING));
#endif
#ifndef NO_BELL_AGAIN
	when(driver, inbox_sleep(BELL); when(!ok, ring(BELL)));
#endif
	d_step { ok = false; reaped = false; lock = 0 };
#ifndef NO_LOOK_AFTER
	when(look && note, ring(RING));
#endif
	look = false
}

/* look(): a turn in the place of the engine's thread, if nobody has the lock */
inline take_turn()
{
	if
	:: owner
	:: else ->
		if
#ifdef NO_TRYLOCK
		:: lock = me;
#else
		:: d_step { !lock -> lock = me };
#endif
			turn();
			leave()
		:: lock
		fi
	fi
}

/* ---- the engine's thread ------------------------------------------------------------------------------- */

/* xiw_share_give() */
inline give(sleeps)
{
	d_step {
		asleep = (sleeps);
		due = false; /* it is until_ms */
		reaped = false;
#ifndef NO_GIVE_DRIVER
		driver = driver && !asleep;
#endif
		lock = 0
	}
}

/* xiw_share_take() */
inline take()
{
	owner = true;
	d_step { !lock -> lock = me };
	d_step { owner = false; asleep = false }
}

/* xiw_ring_submit(): a poll on a queue that has a frame completes at once */
inline submit()
{
	d_step {
		sqe = false;
		polled = (polled == ASKED && frame -> DONE : polled)
	}
}

proctype engine()
{
	byte me = ENGINE;
	bool ok;

serve:
	turn();
	if
	:: submit(); give(false); take(); goto serve /* xiw_share_yield() */
	:: skip
	fi;
	/* sleep_in_ring(), xiw_share_busy() */
	if
	:: skip
#ifdef POLLS
	:: often = !often
#endif
	fi;
	if
	:: skip
	:: driven = !driven
	fi;
	if
	:: atomic { often || (driven && !passive) -> nap = true; ok = true };
#ifndef NO_NAP_MARK
		/* xiw_share_nap() */
		when(driver, inbox_sleep(BELL))
#endif
	:: atomic {
		else ->
#ifndef NO_POLL_QUEUES
		polled = (polled == NOT -> ASKED : polled)
#endif
	   };
		inbox_sleep(RING)
	fi;
	/* wait() */
	submit();
	if
	:: d_step { cqe || polled == DONE -> nap = false }; goto serve
	:: else
	fi;
	give(ok && !nap);
#ifndef NO_MAY_WAIT
	/* xiw_share_may_wait() */
	when(!asleep && driven && note, goto over);
#endif
enter:
	/* xiw_ring_wait(). If !ok the limit is 0. */
	atomic {
		in_ring = false;
		cqe = cqe || work;
		work = false;
		polled = (polled == CAME -> DONE : polled)
	};
	if
	:: cqe || polled == DONE || !ok -> goto over
	:: else -> in_ring = true
	fi;
	if
	:: work || polled == CAME -> goto enter
	:: NAPS
	fi;
over:
	atomic { in_ring = false; nap = false; ok = false };
	take();
	goto serve
}

/* ---- a thread that polls ------------------------------------------------------------------------------- */

proctype poller()
{
	byte me = POLLER;
	bool ok, look;

end_elsewhere:
	polls = true;
	do
	:: take_turn()
	:: break
	od;
	/* xiw_share_stop() */
	if
	:: d_step { often -> often = false }; ring(RING)
	:: else
	fi;
	polls = false;
	goto end_elsewhere
}

#include "waiter.pml"

/* ---- those who ask ------------------------------------------------------------------------------------- */

proctype asker(byte me; bool posts)
{
	bool ok, look;
	bit by;

end_elsewhere:
	asks[me] = true;
	/* xiw_inbox_put() */
	d_step {
		ok = mark && !note;
		note = true;
#ifdef ASKS
		op = op || posts
#endif
	};
	when(ok, by = bell; ring(by); d_step { ok = false; by = 0 });
#ifndef NO_POSTED
	/* xiw_share_unattended() */
	if
	:: posts && driven ->
		if
		:: d_step { !lock -> lock = me; look = !asleep && !driver };
#ifdef NO_UNLOCK_FIRST
			look = look && note;
			lock = 0;
#else
			lock = 0;
			look = look && note;
#endif
			when(look, look = false; take_turn())
		:: lock
		fi
	:: else
	fi;
#endif
	asks[me] = false;
	goto end_elsewhere
}

/* ---- what comes, and the properties -------------------------------------------------------------------- */

proctype frames()
{
end_frames:
	atomic { !frame -> frame = true; polled = (polled == ASKED -> CAME : polled) };
	goto end_frames
}

proctype completions()
{
end_completions:
	atomic { !work -> work = true };
	goto end_completions
}

/* append(), by any thread */
proctype puts()
{
end_puts:
	atomic { events < 2 -> events++; light() };
	goto end_puts
}

proctype watch()
{
end_watch:
	if
	:: d_step {
		ENGINE_WAITS && !NAPS && OTHERS_REST && (note || sqe || due || frame) ->
		PROPERTY(lost_wakeup, true)
	   }
	:: d_step {
		ENGINE_WAITS && NAPS && OTHERS_REST &&
		(sqe || OP && driven && !driver || note && driver && (DRIVES(1) || DRIVES(2))) ->
		PROPERTY(waits_for_nap, true)
	   }
	:: d_step {
		ENGINE_WAITS && OTHERS_REST && events &&
		(waiter_is[1] == SLEEPS || waiter_is[2] == SLEEPS) ->
		PROPERTY(event_missed, true)
	   }
	:: d_step {
		HELD(POLLER, !polls) || HELD(1, RESTS(1)) || HELD(2, RESTS(2)) ||
		HELD(ASKER, !asks[ASKER]) || HELD(ASKER + 1, !asks[ASKER + 1]) ||
		HELD(ENGINE, in_ring) ->
		PROPERTY(lock_left, true)
	   }
	fi
}

init
{
	atomic {
		lock = ENGINE; /* xiw_share_begin() */
		run engine();
#ifdef POLLS
		run poller();
#endif
#if WAIT >= 1
		run waiter(1);
#endif
#if WAIT >= 2
		run waiter(2);
#endif
#if POST >= 1
		run asker(ASKER, true);
#endif
#if POST >= 2
		run asker(ASKER + 1, true);
#endif
#ifdef ASKS
		run asker(ASKER + 1, false);
#endif
#ifdef FRAMES
		run frames();
#endif
#ifdef WORK
		run completions();
#endif
#ifdef EVENTS
		run puts();
#endif
		run watch()
	}
}
