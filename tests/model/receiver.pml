/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The engine's steps on one segment, and the guards that mutations take out: included by handoff.pml. */

/*
 * xiw_progress_refused(). c_tried: a segment was refused at the octet where the stream stands (STANDS_AT). The time limit is
 * as in STUCK.
 */
#ifdef BREAKS
#define STANDS_AT (c_draining -> c_stream_nxt : tcp_rcv_nxt)
#define GIVES_UP c_tried
#define GOES_ON (!c_tried || !calm)
#ifdef DEAF
#define MOVED c_tried = false; c_dup = 0
#else
#define MOVED c_tried = false
#endif
#define ACK_DUE c_ack_due
#else
#define MOVED skip
#define ACK_DUE true
#endif
/* Which segments count: comes_again(). */
#ifdef NO_REFUSED_BEHIND
#define COUNTS(s) (START(s) <= STANDS_AT && END(s) > STANDS_AT)
#elif defined(NO_GIVE_UP)
#define COUNTS(s) false
#elif defined(NO_GIVE_UP_DRAINING)
#define COUNTS(s) (!c_draining && START(s) <= STANDS_AT)
#else
#define COUNTS(s) (START(s) <= STANDS_AT)
#endif
#ifdef NO_OLD_AGAIN
#define OLD_COUNTS(s) false
#elif defined(NO_OLD_BEHIND)
#define OLD_COUNTS(s) (START(s) <= c_stream_nxt && END(s) > c_stream_nxt)
#else
#define OLD_COUNTS(s) (START(s) <= c_stream_nxt)
#endif

/*
 * xiw_progress_unheard(): did the last segment of the stream so far, or the same segment as before, come again? c_dup is where
 * the previous one began, or NONE if it was the last.
 */
#define HAD(seg) (seg != NONE && END(seg) <= tcp_rcv_nxt)
#ifdef NO_OTHER_CUT
#define DUP(seg) (END(seg) == tcp_rcv_nxt -> NONE : seg)
#else
#define DUP(seg) (END(seg) == tcp_rcv_nxt -> NONE : START(seg))
#endif
#define AGAIN(seg) (c_tried && (c_dup == NONE || c_dup == DUP(seg)))

/* Octets go to the stream's parser and from there to the application. */
inline deliver(from, to)
{
	t_x = from;
	do
	:: t_x >= to -> break
	:: else ->
		PROPERTY(app_wrong_octet, t_x != app_nxt);
#ifdef HOLDS
		take_buffer(t_x);
#endif
		app_nxt++;
		t_x++
	od;
	t_x = 0;
	printf("application: has all below %d\n", app_nxt)
}

/* Take the whole FPDUs of a segment in order. If something is left, the segment goes into `hand`. */
inline take(s)
{
	if
	:: CONTROL(s) -> hand = s
	:: else ->
		PROPERTY(app_not_at_fpdu, !BOUNDARY(tcp_rcv_nxt));
#ifdef HOLDS
		take_posted(s);
#else
		t_end = END(s);
		do
		:: BOUNDARY(t_end) || t_end == tcp_rcv_nxt -> break
		:: else -> t_end--
		od;
		deliver(tcp_rcv_nxt, t_end);
		tcp_rcv_nxt = t_end;
#endif
		if
		:: t_end != END(s) -> hand = s
		:: else
		fi;
		MOVED;
		t_end = 0
	fi
}

inline keep(s)
{
	if
	:: !(c_kept & (1 << s)) && c_kept_n < KEPT ->
		c_kept = c_kept | (1 << s);
		c_kept_n++
	:: else
	fi
}

inline take_kept()
{
	t_s = 0;
	do
	:: t_s > LAST || hand != NONE -> break
	:: else ->
		if
		:: (c_kept & (1 << t_s)) && START(t_s) <= tcp_rcv_nxt ->
			c_kept = c_kept & ~(1 << t_s);
			c_kept_n--;
			if
			:: END(t_s) > tcp_rcv_nxt -> take(t_s)
			:: else
			fi
		:: else
		fi;
		t_s++
	od;
	t_s = 0
}

inline segment(s)
{
	if
	:: s == NONE -> take_kept()
	:: s != NONE && END(s) <= tcp_rcv_nxt
	:: s != NONE && START(s) > tcp_rcv_nxt -> keep(s)
	:: else ->
		take(s);
		take_kept()
	fi
}

inline out_of_direct()
{
	c_direct = false; c_draining = false; c_leaving = false; c_ack_due = false;
	MOVED;
	c_want_arm = true; c_dirty = true;
	c_epoch = 0; c_committed = 0; tcp_rcv_nxt = 0
}

#define LEAVING 1
#define LOST 2
#define STARTED (c_kept == 0 && c_stream_nxt == c_committed)
#ifdef NO_DRAIN
#define DRAINED true
#else
#define DRAINED STARTED
#endif

#ifdef NO_FRAME_EPOCH
#define OF_EPOCH true
#else
#define OF_EPOCH (owner_epoch == epoch)
#endif
#ifdef NO_BOUNDARY
#define AT_BOUNDARY true
#else
#define AT_BOUNDARY BOUNDARY(app_nxt)
#endif
#if defined(NO_KERNEL_HIGH) || defined(NO_ENTER_KERNEL_HIGH)
#define NOTHING_BEYOND true
#else
#define NOTHING_BEYOND (kernel_high == c_committed)
#endif
#ifdef NO_STALE_CHECK
#define STILL true
#else
#define STILL (owner_epoch == epoch)
#endif
#ifdef NO_NOTICE
#define LOST_BY_NOW false
#else
#define LOST_BY_NOW (c_direct && !c_draining && !c_leaving && owner_epoch != c_epoch)
#endif
