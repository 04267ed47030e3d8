/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Receiver not ready (user/path/hold.c): included by handoff.pml. With HOLDS, the FPDUs of SENDS are Sends, each of
 * which takes a buffer, and every FPDU is one octet. The application posts as many buffers as there are Sends, between
 * two turns of the engine, at any time.
 *
 *   LACKS             xiw_ddp_rx_lacks_buffer()          hold_begin, hold_keep, hold_posted   the same names
 *   hold_fed          xiw_hold_taken(), the end of xiw_stream_resume()
 *   hold_cancelled    xiw_recv_done(): the receive has ended, and is posted again unless the stream is held
 *   hold_expire       xiw_hold_expire(), with TIME_ENDS    hold_failed    xiw_conn_failed()
 *   PATIENT           xiw_patient(); it may end at any time, as its own does, or when too many frames are kept
 *   STEALS            another stream takes so many buffers of a shared queue (xiw_srq_post(), first_shared())
 *
 * Once the environment has calmed down, the application waits until the peer has been told of the whole stream. So a
 * held stream must answer the peer. Then either it posts, or the time ends. Not modelled: the limit for a stream's
 * share of a queue, and the end of a connection while it is held.
 *
 * Properties
 *   app_no_buffer     No Send is placed without a buffer.
 *   error_early       The stream ends only in front of a Send whose time is up, and which has no buffer.
 *   cannot_finish     also: the stream goes on when a buffer is posted, and ends with an error when the time is up.
 */

#ifdef HOLDS
#ifndef SENDS
#define SENDS 7 /* bit x: the FPDU that begins in front of octet x is a Send */
#endif
#ifndef STEALS
#define STEALS 0
#endif
#define SEND(x) ((SENDS >> (x)) & 1)
#define ALL_SENDS (SEND(0) + (OCTETS > 1 && SEND(1)) + (OCTETS > 2 && SEND(2)))

byte app_buffers, app_posts;
byte app_no_buffer, error_early;
bool hold_on, hold_waits, hold_over, hold_cancels, rx_dead;
bool recv_posted = true;
byte hold_kept; /* octets that were read and wait, the one at which the stream stands among them */
byte hold_at = NONE; /* where the time was up */
byte steals;
bool srq_missed;

bool c_patient; /* the segment in hand waits for a buffer, and the ring holds those behind it */
#define PATIENT c_patient
#define LACKS(x) (SEND(x) && !app_buffers)
#ifdef NO_LOOK_AGAIN
byte c_stop = NONE;
#define STOPS(x) (LACKS(x) || c_stop == (x))
#else
#define STOPS(x) LACKS(x)
#endif
#define HERE sock_octet[sock_copied]
/* Octets are at hand, and nothing is in front of them. */
#define OCTETS_COME (sock_copied < sock_rcv_nxt && (hold_on -> hold_kept && !hold_waits : recv_posted))
#define STOPPED (OCTETS_COME && !c_skip && !rx_dead && STOPS(HERE))
/* The time that was up is that of this Send. */
#ifdef NO_OVER_AGAIN
#define OVER hold_over
#else
#define OVER (hold_over && hold_at == HERE)
#endif
#define READS (OCTETS_COME && (c_skip || rx_dead || !STOPS(HERE)))
#define RECEIVES recv_posted
#define THROWN_AWAY rx_dead
#define AWAITS_POST (hold_waits && !hold_over && app_posts < ALL_SENDS)
#define APP_FINISHED (app_nxt == OCTETS || rx_dead || AWAITS_POST)
/* The last thing to happen, when nothing else can. */
#define AT_LAST (timeout && peer_una == OCTETS && AWAITS_POST)
#ifdef NO_HOLD_ARM
#define MAY_ARM !rx_dead
#else
#define MAY_ARM (!hold_on && !rx_dead)
#endif
#ifdef NO_HELD_LEAVES
#define HELD false
#else
#define HELD hold_on
#endif

inline take_buffer(x)
{
	if
	:: SEND(x) -> PROPERTY(app_no_buffer, !app_buffers); app_buffers--
	:: else
	fi
}

/* The FPDUs of a segment up to the first one without a buffer. */
inline take_posted(s)
{
	t_end = tcp_rcv_nxt;
	do
	:: t_end < END(s) && !LACKS(t_end) -> deliver(t_end, t_end + 1); t_end++
	:: else -> break
	od;
	srq_missed = srq_missed || t_end < END(s);
#ifdef NO_LOOK_AGAIN
	if
	:: t_end < END(s) -> c_stop = t_end
	:: else
	fi;
#endif
#ifdef NO_STOP
	t_end = END(s);
#endif
	tcp_rcv_nxt = t_end
}

inline hold_begin()
{
	printf("engine: held at %d\n", HERE);
#ifdef NO_MISSED
	srq_missed = srq_missed || !hold_on;
#else
	srq_missed = true;
#endif
	if
	:: !hold_on -> hold_on = true; hold_kept = 1
	:: else
	fi;
	hold_waits = true; hold_over = false; hold_at = NONE;
	hold_cancels = recv_posted;
	c_dirty = true
}

/* Octets that the receive had taken before it was cancelled. */
inline hold_keep()
{
	hold_kept++
}

inline hold_fed()
{
	if
	:: hold_on ->
		hold_kept--;
		if
		:: !hold_kept ->
			hold_on = false; hold_over = false; hold_at = NONE;
#ifndef NO_RECV_AGAIN
			recv_posted = true;
#endif
			c_want_arm = true; c_dirty = true
		:: else
		fi
	:: else
	fi
}

inline hold_cancelled()
{
	hold_cancels = false;
#ifdef NO_CANCELLED
	recv_posted = false
#else
	recv_posted = !hold_on
#endif
}

inline hold_posted()
{
	app_posts++;
	app_buffers++;
	printf("application: posts, %d buffers\n", app_buffers);
	if
#if STEALS
	:: srq_missed ->
		srq_missed = false;
#else
	:: true ->
#endif
#ifdef NO_LOOK_AGAIN
		if
		:: hold_waits -> c_stop = NONE
		:: else
		fi;
#endif
#ifndef NO_RESUME
		hold_waits = false;
#endif
		skip
#if STEALS
	:: else
#endif
	fi
}

inline hold_expire()
{
	printf("engine: the time is up\n");
	hold_over = true;
	hold_at = HERE;
#ifndef NO_TIME_RESUME
	hold_waits = false
#endif
}

/* The octets that are kept are thrown away, and so is what comes. */
inline hold_failed()
{
	printf("application: told of the error at %d\n", HERE);
	PROPERTY(error_early, hold_at != HERE || !LACKS(HERE));
	rx_dead = true;
	hold_on = false; hold_over = false; hold_at = NONE; hold_waits = false;
	do
	:: hold_kept -> sock_octet[sock_copied] = 0; sock_copied++; hold_kept--
	:: else -> break
	od;
	recv_posted = true;
	if
	:: !c_direct && owner_path == ARMED -> set_owner(KERNEL, owner_epoch + 1, owner_value)
	:: !c_direct && owner_path == DIRECT ->
		set_owner(KERNEL, owner_epoch + 1, owner_value - kernel_nxt)
	:: else
	fi
}
#else
#define PATIENT false
#define READS (sock_copied < sock_rcv_nxt)
#define RECEIVES true
#define THROWN_AWAY false
#define APP_FINISHED (app_nxt == OCTETS)
#define MAY_ARM true
#endif
