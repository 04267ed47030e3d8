/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The hand-off of a stream between the kernel's socket and the engine, for Spin. `make model` searches all states
 * of several configurations of it (tests/model/run), and then of mutations, each without one guard (NO_*), in
 * which an error must be found.
 *
 * What is modelled, and where it is in the code
 *
 *   xiw_ingress    bpf/xiw_ingress.bpf.c: xiw_segment() and what it calls; bpf/handoff.h
 *     segment        xiw_read_owner()            go_direct    xiw_armed_data(), xiw_go_direct()
 *     to_kernel      xiw_to_kernel()             kernel_data  xiw_kernel_data(), xiw_raise_high()
 *     STUCK          xiw_dead_end(), xiw_stuck() try_begin    xiw_try_begin()
 *     redirect()     xiw_direct_data(), the frame on its way to the ring
 *   engine         user/engine: one turn after the other, engine.c: turn()
 *     turn           xiw_recv_done(), look_at_owner(), feed() (stream.c)
 *     packet         packet(), current(), begin(), wait_for_socket() (direct.c); xiw_inject_old() (handback.c)
 *     enter          enter() (direct.c)          segment(), take(), drain_kept()   the same names (direct.c)
 *     fall_back      xiw_fall_back(), late: xiw_inject_late(), leave: xiw_leave(), xiw_flow_fall_back()
 *     ownership_lost xiw_ownership_lost()        stale        xiw_stale_segment()  (handback.c)
 *     inject         inject_kept(), inject_whole(), out_of_direct() (handback.c); user/handoff/inject.c
 *     batch          xiw_direct_poll()           settle       settle() (engine.c), xiw_direct_drained()
 *     direct_settle  xiw_direct_settle() (settle.c): xiw_flow_commit(), send_ack(); then xiw_try_arm()
 *     broken         with REFUSES damaged(), with NO_LO wait_for_socket() (direct.c), with DEAF xiw_not_heard()
 *     looked         looked() (direct.c)         GIVES_UP, GOES_ON     xiw_no_progress() (progress.c)
 *   loopback       lo, by which injected segments come to the socket, and the socket pruning its queue
 *   xiw_egress     the kernel's acknowledgement, built (E), then translated: bpf/xiw_egress.bpf.c: xiw_translate()
 *   weather        the environment: when it calms down, see below; the engine stopping (DEAD); one way breaking
 *   owner_path, owner_epoch, owner_value, kernel_nxt (K, kernel_nxt_epoch), kernel_high: struct xiw_flow (abi.h);
 *   c_*: struct xiw_conn; tcp_rcv_nxt: struct xiw_tcp_rx; sock_*: the kernel's socket.
 *
 * A step of a process is one access to what another one can change meanwhile: a load, a compare-and-swap, a frame
 * or a segment moved, octets read from the socket. What a process does with its own memory goes with the step
 * before. Taken together are a load and a compare-and-swap in a loop (raise(): it takes effect in one moment), a
 * load and a swap that nobody can come between (KERNEL is left by the engine alone; K is fixed under DIRECT), and
 * the loads of xiw_read_owner() unless SPLIT_READ: what changes between them is dropped, as if lost.
 *
 * The stream has OCTETS octets ("octet" is the smallest piece that something is cut at). FPDUs lie between
 * BOUNDARIES. The peer cuts the stream as it likes, and differently when it sends again; a segment that begins
 * within an FPDU and ends with one looks aligned. The network is the worst there is: at any time any segment may
 * arrive, again or for the first time, or never. So it has no state, and neither has the peer. Frames are lost in
 * front of the ring, injected and passed segments in front of the socket, and its out-of-order queue is pruned.
 *
 * One way may break, at any time, and stays broken, in the calm too: every frame is lost in front of the ring
 * (LOST_FRAMES), the engine refuses every frame (REFUSES), the peer hears none of the engine's acknowledgements (DEAF),
 * every injected segment is lost (NO_LO). What is done about it takes time in the code. Here, a segment that comes
 * again may have come soon after the first one, and then shows nothing, or late; when the peer sends because nothing
 * else can move, it is late.
 *
 * Properties
 *   app_wrong_octet    the application gets the stream in order, each octet once
 *   app_not_at_fpdu    the direct path begins, and goes on, between two FPDUs
 *   ack_of_unheld      no acknowledgement, the engine's or the kernel's, covers an octet that the side which has the
 *                      stream by then does not hold: octets placed but not committed are not held
 *   queue_wrong_place  the socket's queues hold no octet at a wrong place: whatever comes into them beyond what it
 *                      has in order came under the skew that holds, and there is nothing when that skew moves
 *   cannot_finish      from every state the stream can finish (AG EF). From every state each CPU and the engine get
 *                      to the end of what they do by themselves, for nothing blocks them; so it is enough to look
 *                      at states in which they have. There `weather` may set `calm`, with the peer having been
 *                      told of any part of what is held: it will not send that again. From then on nothing is
 *                      lost, repeated or taken back, except by what is broken, and the peer sends its oldest octet
 *                      once nothing else can move (timeout). TRIES times without an answer, or everything
 *                      acknowledged and not everything with the application (in the socket, if the engine is dead),
 *                      is the error. All ways to go on are searched, so that it is not only possible to finish
 *                      but certain. That there is no cycle in which the peer never gets to send again is shown by
 *                      the formula at the end, without any assumption of fairness (LTL).
 *   invalid end states Spin's own: nobody waits for what will not come.
 *
 * Left out: windows (all of the stream is offered), PAWS and timestamps (an injected segment that the kernel does
 * not take is lost), segments without data, RST, SYN, fragments, SACK, urgent data (it takes the way of FIN),
 * run_needed (XDP goes direct whenever it could), wrap-around of numbers and epochs, several queues (the order of
 * frames of two CPUs is arbitrary already), single CRC errors (the frame is as good as lost; those that last are
 * counted as REFUSES are), the registration and the end of a connection, memory models weaker than sequential
 * consistency (swaps are full barriers; x86 keeps the rest). Of the checks that the stream goes on: times; that silence
 * after two refusals ends a stretch as well (CLOSE ends it anywhere); that a connection is barred, and armed no more,
 * which only saves the time of stretches that lead nowhere; and what they do for our sending half.
 *
 * What the search shows besides. kernel_high is looked at after the swap by XDP and by the engine (enter()), and both
 * are needed: without the engine's look, frames are taken while the CPU that began the stretch stands still; without
 * XDP's, the socket may have been read beyond S before the engine knows of the stretch, which then waits for ever
 * for S. Every check that the stream goes on must count segments that end before the place where it stands, too: where
 * their acknowledgement was lost the peer sends nothing else. Without each of three guards no property fails:
 * xiw_to_kernel() raising kernel_high, since the engine raises it before it arms again; the swap as the last step of a
 * fall-back, which only keeps the order of segments; and the engine telling XDP that it looks at frames, without which
 * stretches end that need not.
 */

#define KERNEL 1 /* XIW_PATH_* */
#define ARMED 2
#define DIRECT 3

/* ---- sizes --------------------------------------------------------------------------------------- */

#ifndef OCTETS
#define OCTETS 3
#endif
#ifndef BOUNDARIES
#define BOUNDARIES 15 /* bit x: an FPDU ends, and the next one begins, in front of octet x */
#endif
#ifndef SEGMENTS
#define SEGMENTS 511 /* bit s: the peer sends segment s */
#endif
#ifndef CPUS
#define CPUS 1
#endif
#ifndef ARMS
#define ARMS 1
#endif
#ifndef RING
#define RING 1
#endif
#ifndef KEPT
#define KEPT 1
#endif
#ifndef TRIES
#define TRIES 4
#endif

/* Segment s: one octet or two, from START(s) up to END(s). */
#define START(s) ((s) >> 1)
#define END(s) (((s) >> 1) + 1 + ((s) & 1))
#define SEGMENT(s) (((SEGMENTS >> (s)) & 1) && END(s) <= OCTETS)
#define LAST (2 * OCTETS - 2)
#define NONE 15

#define BOUNDARY(x) ((BOUNDARIES >> (x)) & 1)
#ifdef FIN
#define CONTROL(s) (END(s) == OCTETS)
#else
#define CONTROL(s) false
#endif
/* The classifier sees where a segment ends, not what its first octet is. */
#define XIW_V_ALIGNED(s) (BOUNDARY(END(s)) && !CONTROL(s))

/* ---- struct xiw_flow ----------------------------------------------------------------------------- */

byte owner_path = KERNEL, owner_epoch, owner_value;
byte kernel_nxt, kernel_nxt_epoch = 255;
byte kernel_high;

/* What holds under the owner word of this moment: for properties, no process looks at it. */
#define SKEW (owner_value - (owner_path == DIRECT) * kernel_nxt)

/* ---- the rest of the world ----------------------------------------------------------------------- */

/* The kernel's socket, in its own numbers. */
byte sock_rcv_nxt, sock_copied;
byte sock_ooo;		  /* bit n: octet n is in the out-of-order queue */
byte sock_octet[OCTETS]; /* which octet of the stream lies there */
bool sock_owes_ack;

chan ring = [RING] of { byte, byte };	    /* AF_XDP: segment, epoch */
chan lo = [1] of { byte, byte, byte };	    /* injected: from, to, skew */

byte app_nxt;
byte arms;

bool calm;
byte peer_una, peer_tries;
byte busy;
bool engine_busy;
#ifdef DEAD
bool dead;
#define ALIVE (!dead)
#else
#define ALIVE true
#endif
#if defined(LOST_FRAMES) || defined(REFUSES) || defined(DEAF) || defined(NO_LO)
#define BREAKS
bool broken; /* one way is, and stays so */
#endif
#ifdef LOST_FRAMES
#define LOST_FRAME broken
byte try_nxt = NONE;
bool looked; /* `looked` is not try_looked */
#else
#define LOST_FRAME false
#endif
#ifdef DEAF
#define HEARD (!broken)
#else
#define HEARD true
#endif
#ifdef NO_LO
#define LOST_INJECTED broken
#else
#define LOST_INJECTED false
#endif
#ifdef NO_LOSS
#define LOSES false
#else
#define LOSES (!calm)
#endif
#define FINISHED (peer_una == OCTETS && (app_nxt == OCTETS || !ALIVE))

/* ---- properties ---------------------------------------------------------------------------------- */

byte app_wrong_octet, app_not_at_fpdu, ack_of_unheld, queue_wrong_place, cannot_finish;
#define PROPERTY(broken, when) broken = (when); assert(!(broken))

/* The skew moves with a commit: then the socket must hold nothing beyond K, and all that is below it. */
#define COMMITTED PROPERTY(queue_wrong_place, sock_ooo || sock_rcv_nxt != kernel_nxt)

byte t_x, t_end, t_s;

#define OWNER_IS(path, epoch, value) \
	(owner_path == (path) && owner_epoch == (epoch) && owner_value == (value))

inline set_owner(path, epoch, value)
{
	owner_path = path;
	owner_epoch = epoch;
	owner_value = value;
	if
	:: owner_path == DIRECT ->
		printf("owner: DIRECT rcv_nxt %d, epoch %d, K %d, kernel_high %d\n", owner_value,
		       owner_epoch, kernel_nxt, kernel_high)
	:: owner_path == ARMED ->
		printf("owner: ARMED skew %d, epoch %d, kernel_high %d\n", owner_value,
		       owner_epoch, kernel_high)
	:: else ->
		printf("owner: KERNEL skew %d, epoch %d, kernel_high %d\n", owner_value,
		       owner_epoch, kernel_high)
	fi
}

inline raise(number, to)
{
	if
	:: number < (to) -> number = to
	:: else
	fi
}

inline sock_input(from, to, skew)
{
	t_x = from;
	do
	:: t_x >= to -> break
	:: else ->
		if
		:: t_x - skew < sock_rcv_nxt /* has it already */
		:: else ->
			PROPERTY(queue_wrong_place, skew != SKEW);
			if
			:: sock_ooo & (1 << (t_x - skew))
			:: else ->
				sock_ooo = sock_ooo | (1 << (t_x - skew));
				sock_octet[t_x - skew] = t_x
			fi
		fi;
		t_x++
	od;
	do
	:: sock_ooo & (1 << sock_rcv_nxt) ->
		sock_ooo = sock_ooo & ~(1 << sock_rcv_nxt);
		sock_rcv_nxt++
	:: else -> break
	od;
	t_x = 0;
	sock_owes_ack = calm;
	printf("socket: rcv_nxt %d, out of order %d\n", sock_rcv_nxt, sock_ooo)
}

inline peer_acked(ack)
{
	PROPERTY(ack_of_unheld, (ack) > sock_rcv_nxt + SKEW);
	if
	:: calm && (ack) > peer_una -> peer_una = ack; peer_tries = 0
	:: else
	fi
}

/* By AF_XDP. */
inline peer_acked_direct(ack)
{
	if
	:: HEARD -> peer_acked(ack)
	:: !HEARD -> PROPERTY(ack_of_unheld, (ack) > sock_rcv_nxt + SKEW)
	fi;
#ifdef BREAKS
	c_ack_due = false
#endif
}

/* ---- xiw_ingress --------------------------------------------------------------------------------- */

#define ARRIVES(s) (SEGMENT(s) && (!calm || START(s) == peer_una))
#define GOES(s) (ARRIVES(s) && XIW_V_ALIGNED(s) && ALIVE)

inline arrives()
{
	if
	:: ARRIVES(0) -> seg = 0
	:: ARRIVES(1) -> seg = 1
	:: ARRIVES(2) -> seg = 2
	:: ARRIVES(3) -> seg = 3
	:: ARRIVES(4) -> seg = 4
	:: ARRIVES(5) -> seg = 5
	:: ARRIVES(6) -> seg = 6
	:: ARRIVES(7) -> seg = 7
	:: ARRIVES(8) -> seg = 8
	fi
}

inline redirect()
{
	if
	:: !LOST_FRAME && nfull(ring) ->
		printf("xdp: %d..%d to the ring, epoch %d\n", START(seg), END(seg), o_epoch);
		ring!seg, o_epoch
	:: LOSES || LOST_FRAME -> printf("xdp: %d..%d lost in front of the ring\n", START(seg), END(seg))
	fi;
	done()
}

#ifdef LOST_FRAMES
/* Time is in this: when nothing else can move, it has passed; else it may have. */
#ifdef NO_STUCK
#define STUCK false
#elif defined(NO_STUCK_BEHIND)
#define STUCK (START(seg) <= o_value && END(seg) > o_value && try_nxt == o_value && !looked)
#else
#define STUCK (START(seg) <= o_value && try_nxt == o_value && !looked)
#endif

inline xiw_try_begin(at)
{
	try_nxt = at;
	looked = false
}
#endif

inline done()
{
	seg = 0; o_path = 0; o_epoch = 0; o_value = 0; k = 0; k_epoch = 0; busy--
}

inline xiw_read_owner()
{
	busy++;
	o_path = owner_path; o_epoch = owner_epoch;
#ifndef SPLIT_READ
	o_value = owner_value;
#endif
	k = kernel_nxt; k_epoch = kernel_nxt_epoch
}

#ifdef NO_READ_OWNER
#define READ_SAME true
#else
#define READ_SAME (o_path == owner_path && o_epoch == owner_epoch && \
		   (owner_path != DIRECT || k_epoch == owner_epoch))
#endif

#ifdef SLOW_CPU /* the second CPU takes one segment in all, and stands still with it wherever it likes */
#define TAKES (_pid == 0 || !slow_cpu)
bool slow_cpu;
#define TAKEN slow_cpu = slow_cpu || _pid == 1
#else
#define TAKES true
#define TAKEN skip
#endif

active [CPUS] proctype xiw_ingress()
{
	byte seg, o_path, o_epoch, o_value, k, k_epoch;

end_segment:
	if
	:: d_step { !calm && TAKES -> xiw_read_owner(); TAKEN }
	:: atomic {
		calm && timeout && _pid == 0 && !FINISHED ->
		d_step {
			PROPERTY(cannot_finish, peer_una == OCTETS || peer_tries == TRIES);
			peer_tries++;
			xiw_read_owner()
		}
	   }
	fi;
#ifdef SPLIT_READ
	if
	:: d_step {
		!READ_SAME -> done()
	   };
	   goto end_segment
	:: d_step { else -> o_path = owner_path; o_epoch = owner_epoch; o_value = owner_value }
	fi;
#endif
#ifndef NO_READ_OWNER
	if
	:: d_step { o_path == DIRECT && k_epoch != o_epoch -> done() }; goto end_segment
	:: else
	fi;
#endif
	if
	:: o_path == KERNEL -> goto kernel_data
	:: o_path == ARMED -> goto kernel_data
#ifdef NO_S_IS_HIGH
	:: atomic { o_path == ARMED -> arrives() };
	   if
	   :: GOES(seg) -> goto go_direct
	   :: else -> seg = 0; goto kernel_data
	   fi
#else
	:: atomic { o_path == ARMED && GOES(2 * kernel_high) -> seg = 2 * kernel_high };
	   goto go_direct
	:: atomic { o_path == ARMED && GOES(2 * kernel_high + 1) -> seg = 2 * kernel_high + 1 };
	   goto go_direct
#endif
#ifdef LOST_FRAMES
	:: atomic {
		o_path == DIRECT && ALIVE -> arrives();
		if
		:: STUCK -> seg = 0; goto to_kernel
		:: STUCK && !calm
		:: !STUCK && START(seg) <= o_value -> xiw_try_begin(o_value)
		:: START(seg) > o_value
		fi
	   };
	   atomic { LOSES || LOST_FRAME || nfull(ring) -> redirect() };
	   goto end_segment
#else
	:: atomic { o_path == DIRECT && ALIVE && (LOSES || nfull(ring)) -> arrives(); redirect() };
	   goto end_segment
#endif
#ifdef WATCHDOG
	:: o_path == DIRECT && !calm -> goto to_kernel
#endif
#ifndef NO_WATCHDOG
	:: o_path == DIRECT && !ALIVE -> goto to_kernel
#else
	:: d_step { o_path == DIRECT && !ALIVE -> done() }; goto end_segment
#endif
	fi;

go_direct:
#ifdef LOST_FRAMES
	if
	:: d_step { true -> xiw_try_begin(START(seg)) }
	fi;
#endif
	/* claim K */
	if
#ifdef NO_K_CLAIM
	:: d_step {
		true ->
#elif defined(NO_K_EARLY)
	:: d_step {
		kernel_nxt_epoch != o_epoch + 1 ->
#else
	:: d_step {
		k_epoch != o_epoch + 1 && kernel_nxt == k && kernel_nxt_epoch == k_epoch ->
#endif
		kernel_nxt = START(seg) - o_value; kernel_nxt_epoch = o_epoch + 1;
		printf("xdp: claims K %d for epoch %d\n", kernel_nxt, kernel_nxt_epoch);
		k = 0; k_epoch = 0
	   }
	:: d_step { else -> done() }; goto end_segment
	fi;
	if
	:: d_step {
		OWNER_IS(o_path, o_epoch, o_value) ->
		o_epoch++;
		set_owner(DIRECT, o_epoch, START(seg))
	   }
	:: d_step { else -> done() }; goto end_segment
	fi;
#if !defined(NO_KERNEL_HIGH) && !defined(NO_S_IS_HIGH) && !defined(NO_XDP_KERNEL_HIGH)
	if
	:: kernel_high == START(seg)
	:: kernel_high != START(seg) ->
		d_step {
			if
			:: OWNER_IS(DIRECT, o_epoch, START(seg)) ->
				set_owner(KERNEL, o_epoch + 1, o_value)
			:: else
			fi;
			done()
		};
		goto end_segment
	fi;
#endif
	atomic { LOSES || LOST_FRAME || nfull(ring) -> redirect() };
	goto end_segment;

to_kernel:
#ifndef NO_TO_KERNEL_HIGH
	if
	:: d_step { true -> raise(kernel_high, o_value) }
	fi;
#endif
	if
	:: d_step {
		OWNER_IS(o_path, o_epoch, o_value) ->
		o_path = KERNEL; o_epoch++; o_value = o_value - k;
		printf("xdp: takes the stream back\n");
		set_owner(KERNEL, o_epoch, o_value)
	   }
	:: d_step { else -> done() }; goto end_segment
	fi;

kernel_data:
	atomic { arrives(); raise(kernel_high, END(seg)); k = 0; k_epoch = 0 };
	if
	:: d_step {
#if defined(NO_RECHECK)
		true ->
#elif defined(NO_EPOCH)
		owner_path == o_path ->
#else
		owner_path == o_path && owner_epoch == o_epoch ->
#endif
		o_path = 0; o_epoch = 0
	   }
	:: d_step { else -> done() }; goto end_segment
	fi;
	if
	:: d_step {
		true ->
		printf("xdp: %d..%d passed, skew %d\n", START(seg), END(seg), o_value);
		sock_input(START(seg), END(seg), o_value); done()
	   }
	:: d_step { LOSES -> done() }
	fi;
	goto end_segment
}

/* ---- the engine ---------------------------------------------------------------------------------- */

/* xiw_stream_at() and xiw_no_progress(): c_tried, one was refused where the stream stands. Time as in STUCK. */
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
/* Which ones count: comes_again(). */
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

/* xiw_not_heard(): the last segment, or the same one again. c_dup is where the one before began, or NONE: the last. */
#define HAD(seg) (seg != NONE && END(seg) <= tcp_rcv_nxt)
#ifdef NO_OTHER_CUT
#define DUP(seg) (END(seg) == tcp_rcv_nxt -> NONE : seg)
#else
#define DUP(seg) (END(seg) == tcp_rcv_nxt -> NONE : START(seg))
#endif
#define AGAIN(seg) (c_tried && (c_dup == NONE || c_dup == DUP(seg)))

/* Octets go to the stream's parser, and from there to the application. */
inline deliver(from, to)
{
	t_x = from;
	do
	:: t_x >= to -> break
	:: else ->
		PROPERTY(app_wrong_octet, t_x != app_nxt);
		app_nxt++;
		t_x++
	od;
	t_x = 0;
	printf("application: has all below %d\n", app_nxt)
}

/* take(): the FPDUs of a segment in order. `hand`: not all of it could be taken. */
inline take(s)
{
	if
	:: CONTROL(s) -> hand = s
	:: else ->
		PROPERTY(app_not_at_fpdu, !BOUNDARY(tcp_rcv_nxt));
		t_end = END(s);
		do
		:: BOUNDARY(t_end) || t_end == tcp_rcv_nxt -> break
		:: else -> t_end--
		od;
		deliver(tcp_rcv_nxt, t_end);
		tcp_rcv_nxt = t_end;
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

inline drain_kept()
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
	:: s == NONE -> drain_kept()
	:: s != NONE && END(s) <= tcp_rcv_nxt
	:: s != NONE && START(s) > tcp_rcv_nxt -> keep(s)
	:: else ->
		take(s);
		drain_kept()
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

active proctype engine()
#ifdef DEAD
	provided (!dead)
#endif
{
	/* struct xiw_conn */
	bool c_direct, c_draining, c_leaving, c_dirty = true, c_want_arm = true;
	byte c_epoch, c_committed, c_stream_nxt, c_skip, c_kept_n;
	byte tcp_rcv_nxt;
	unsigned c_kept : 10; /* segments: c->early while draining, then the TCP receiver's */

	byte seg = NONE, epoch, hand = NONE, skew, cur = NONE, mode;
	bool in_batch, settling, now;
	bool c_tried, c_ack_due; /* where something BREAKS */
	byte c_dup;

	xr ring;
	xs lo;

end_turn:
	if
	:: atomic { ring?seg, epoch -> engine_busy = true }; goto packet
#ifndef NO_NOTICE
	:: atomic {
		sock_copied < sock_rcv_nxt && LOST_BY_NOW ->
		engine_busy = true
	   };
	   goto ownership_lost
#endif
	:: d_step {
		sock_copied < sock_rcv_nxt && !LOST_BY_NOW ->
		if
		:: c_skip -> c_skip--; printf("engine: passes over octet %d\n", sock_octet[sock_copied])
		:: else -> deliver(sock_octet[sock_copied], sock_octet[sock_copied] + 1)
		fi;
		sock_octet[sock_copied] = 0;
		sock_copied++;
		c_stream_nxt++;
		MOVED;
		c_dirty = c_dirty || c_draining;
		if
		:: !c_direct && owner_path == KERNEL && arms < ARMS ->
			c_want_arm = true; c_dirty = true
		:: else
		fi
	   };
	   goto end_turn
	:: atomic { c_dirty -> c_dirty = false; engine_busy = true }; goto settle
	:: atomic { c_leaving -> engine_busy = true }; goto leave
#ifdef CLOSE
	:: atomic { !calm && c_direct && !c_leaving -> engine_busy = true }; goto fall_back
#endif
	fi;

packet:
	if
	:: in_batch && c_direct && c_epoch == epoch -> epoch = 0
	:: else ->
#if defined(LOST_FRAMES) && !defined(NO_LOOKED)
		if
		:: d_step { true -> looked = true }
		fi;
#endif
		/* begin() */
		if
		:: d_step { c_direct && owner_epoch != c_epoch -> epoch = 0 };
		   goto ownership_lost
		:: d_step {
			else ->
			if
			:: owner_path == DIRECT && OF_EPOCH ->
				if
				:: !c_direct ->
					c_direct = true; c_draining = true;
					c_epoch = epoch; c_committed = owner_value;
					printf("engine: begins epoch %d at %d, the socket read up to %d\n",
					       c_epoch, c_committed, c_stream_nxt)
				:: else
				fi;
				in_batch = true; c_dirty = true; epoch = 0
			:: else -> epoch = 255
			fi
		   }
		fi;
		if
		:: epoch == 255 -> epoch = 0; goto stale
		:: else
		fi
	fi;
#ifdef REFUSES
	if
	:: d_step { broken && (c_leaving || !COUNTS(seg)) -> seg = NONE }; goto batch
	:: d_step { broken && !c_leaving && COUNTS(seg) && GIVES_UP -> seg = NONE }; goto fall_back
	:: d_step { broken && !c_leaving && COUNTS(seg) && GOES_ON -> c_tried = true; seg = NONE };
	   goto batch
	:: !broken
	fi;
#endif
	if
	:: c_leaving -> goto late
	:: !c_leaving && c_draining && DRAINED -> goto enter
	:: !c_leaving && c_draining && !DRAINED ->
		if
		:: START(seg) < c_committed ->
			/* xiw_inject_old() */
#ifndef NO_OLD
			atomic {
				t_x = END(seg);
#ifndef NO_OLD_CUT
				if
				:: t_x > c_committed -> t_x = c_committed
				:: else
				fi;
#endif
				printf("engine: injects %d..%d, from before the stretch\n", START(seg), t_x);
				lo!START(seg), t_x, c_committed - kernel_nxt;
				t_x = 0
			};
#endif
#ifdef NO_LO
			if
			:: d_step { !OLD_COUNTS(seg) -> seg = NONE }
			:: d_step { OLD_COUNTS(seg) && GIVES_UP -> seg = NONE }; goto fall_back
			:: d_step { OLD_COUNTS(seg) && GOES_ON -> c_tried = true; seg = NONE }
			fi
#else
			seg = NONE
#endif
		:: else -> d_step { keep(seg); seg = NONE }
		fi;
		goto batch
	:: else
	fi;
deliver_segment:
#if defined(DEAF) && !defined(NO_UNHEARD)
	if
	:: d_step { HAD(seg) && AGAIN(seg) -> hand = seg; seg = NONE; c_dup = 0 }; goto fall_back
	:: HAD(seg) && AGAIN(seg) && !calm
	:: d_step { HAD(seg) && !AGAIN(seg) -> c_tried = true; c_dup = DUP(seg) }
	:: else
	fi;
#endif
	if
	:: d_step {
		true ->
		segment(seg);
		seg = NONE;
#ifdef BREAKS
		c_ack_due = true
#endif
	   }
	fi;
	if
	:: hand != NONE -> goto fall_back
	:: else -> goto batch
	fi;

enter:
	if
	:: AT_BOUNDARY && NOTHING_BEYOND ->
		d_step { c_draining = false; tcp_rcv_nxt = c_committed };
		goto deliver_segment
	:: else -> goto fall_back
	fi;

fall_back:
	if
	:: !c_draining && tcp_rcv_nxt != c_committed ->
		if
		:: d_step {
			OWNER_IS(DIRECT, c_epoch, c_committed) ->
			COMMITTED;
			set_owner(DIRECT, c_epoch, tcp_rcv_nxt)
		   }
		:: d_step { else -> seg = hand; hand = NONE }; goto ownership_lost
		fi
	:: else
	fi;
	d_step {
		if
		:: !c_draining -> c_committed = tcp_rcv_nxt; c_stream_nxt = tcp_rcv_nxt
		:: else
		fi;
		c_leaving = true;
		printf("engine: falls back at %d\n", c_committed);
		skew = c_committed - kernel_nxt;
		cur = hand; hand = NONE;
		mode = LEAVING
	};
#ifdef NO_SWAP_LAST
	if
	:: d_step { true -> raise(kernel_high, c_committed) }
	fi;
	if
	:: d_step {
		OWNER_IS(DIRECT, c_epoch, c_committed) -> set_owner(KERNEL, c_epoch + 1, skew)
	   }
	:: else
	fi;
#endif
	goto inject;

ownership_lost:
	if
	:: d_step {
		true ->
		printf("engine: ownership lost at %d, committed %d\n", tcp_rcv_nxt, c_committed);
		mode = LOST;
		skew = owner_value;
		if
		:: !c_draining && !c_leaving ->
			c_stream_nxt = c_committed;
#ifndef NO_SKIP
			c_skip = tcp_rcv_nxt - c_committed
#endif
		:: else
		fi
	   }
	fi;
#ifndef NO_LOST_HIGH
	if
	:: d_step { !c_draining && !c_leaving -> raise(kernel_high, tcp_rcv_nxt) }
	:: else
	fi;
#endif

inject:
	if
	:: d_step {
		cur == NONE && c_kept ->
		cur = 0;
		do
		:: c_kept & (1 << cur) -> break
		:: else -> cur++
		od;
		c_kept = c_kept & ~(1 << cur);
		c_kept_n--
	   }
	:: else
	fi;
	if
	:: cur != NONE -> goto inject_whole
	:: cur == NONE && mode == LEAVING ->
		mode = 0; skew = 0;
		if
		:: seg != NONE -> goto late
		:: else -> goto batch
		fi
	:: else ->
		d_step { mode = 0; skew = 0; out_of_direct() };
		if
		:: seg != NONE -> goto stale
		:: else -> goto batch
		fi
	fi;

late:
	if
	:: d_step { true -> skew = c_committed - kernel_nxt; cur = seg; seg = NONE }
	fi;
inject_whole:
#ifndef NO_INJECTED_HIGH
	if
	:: d_step { true -> raise(kernel_high, END(cur)) }
	fi;
#endif
	atomic {
		lo!START(cur), END(cur), skew;
		printf("engine: injects %d..%d, skew %d\n", START(cur), END(cur), skew);
		cur = NONE
	};
	if
	:: mode -> goto inject
	:: else -> skew = 0; goto batch
	fi;

stale:
	if
	:: d_step {
		true ->
		if
#ifdef NO_STALE_PATH
		:: true ->
#else
		:: owner_path == KERNEL || owner_path == ARMED ->
#endif
			skew = owner_value; epoch = owner_epoch; cur = seg
#ifndef NO_STALE_PATH
		:: else
#endif
		fi;
		seg = NONE
	   }
	fi;
	if
	:: cur == NONE -> goto batch
#ifndef NO_INJECTED_HIGH
	:: d_step { else -> raise(kernel_high, END(cur)) }
#else
	:: else
#endif
	fi;
	if
	:: STILL ->
		atomic {
			lo!START(cur), END(cur), skew;
			printf("engine: injects %d..%d, stale, skew %d\n", START(cur), END(cur), skew);
			cur = NONE; skew = 0; epoch = 0
		}
	:: d_step { else -> epoch = 0; cur = NONE; skew = 0 }
	fi;

batch:
	if
	:: settling -> in_batch = false; goto direct_settle
	:: atomic { !settling && nempty(ring) -> ring?seg, epoch }; goto packet
	:: !settling && c_direct && !c_draining && !c_leaving && tcp_rcv_nxt != c_committed ->
		now = true;
		goto direct_settle
	:: !settling -> in_batch = false
	fi;
	if
	:: c_dirty -> c_dirty = false; goto settle
	:: else -> goto turn
	fi;

settle:
	settling = true;
	/* xiw_direct_drained() */
	if
	:: c_draining && !c_leaving ->
		if
		:: owner_epoch != c_epoch -> goto ownership_lost
		:: owner_epoch == c_epoch && c_stream_nxt == c_committed && c_kept -> goto enter
		:: else
		fi
	:: else
	fi;
direct_settle:
	settling = false;
	if
	:: c_direct && !c_draining && !c_leaving ->
#ifdef NO_COMMIT_FIRST
		d_step { peer_acked(tcp_rcv_nxt) };
#endif
		if
		:: tcp_rcv_nxt != c_committed ->
			if
			:: d_step {
				OWNER_IS(DIRECT, c_epoch, c_committed) ->
				COMMITTED;
				c_committed = tcp_rcv_nxt;
				set_owner(DIRECT, c_epoch, c_committed)
			   }
			:: else -> settling = !now; now = false; goto ownership_lost
			fi
		:: tcp_rcv_nxt == c_committed && owner_epoch != c_epoch ->
			settling = !now; now = false;
			goto ownership_lost
		:: else
		fi;
#ifndef NO_COMMIT_FIRST
		if
		:: d_step { ACK_DUE -> peer_acked_direct(tcp_rcv_nxt) }
		:: else
		fi
#endif
	:: else
	fi;
	if
	:: now -> now = false; goto batch
	:: else
	fi;
	if
	:: d_step {
		c_want_arm ->
		c_want_arm = false;
		if
		:: !c_direct && owner_path == KERNEL && arms < ARMS ->
			arms++;
			set_owner(ARMED, owner_epoch + 1, owner_value)
		:: else
		fi
	   }
	:: else
	fi;
turn:
	if
	:: d_step { true -> in_batch = false; engine_busy = false }
	fi;
	goto end_turn;

leave:
#ifndef NO_FALL_BACK_HIGH
	if
	:: d_step { true -> raise(kernel_high, c_committed) }
	fi;
#endif
	if
	:: d_step {
		true ->
		if
		:: OWNER_IS(DIRECT, c_epoch, c_committed) ->
			set_owner(KERNEL, c_epoch + 1, c_committed - kernel_nxt)
		:: else
		fi;
		out_of_direct()
	   }
	fi;
	goto turn
}

/* ---- the kernel ---------------------------------------------------------------------------------- */

active proctype loopback()
{
	byte from, to, skew;

	xr lo;

end_segment:
	if
	:: d_step {
		!LOST_INJECTED && nempty(lo) -> lo?from, to, skew;
		sock_input(from, to, skew); from = 0; to = 0; skew = 0
	   }
	:: d_step { (LOSES || LOST_INJECTED) && nempty(lo) -> lo?from, to, skew; from = 0; to = 0; skew = 0 }
	:: d_step { LOSES && sock_ooo -> sock_ooo = 0; printf("socket: prunes\n") }
	fi;
	goto end_segment
}

active proctype xiw_egress()
{
#ifdef EGRESS
	byte ack, o_path, o_epoch, k, k_epoch;

end_segment:
	if
	:: d_step { !calm || sock_owes_ack -> ack = sock_rcv_nxt; sock_owes_ack = false; busy++ }
	fi;
	d_step { o_path = owner_path; o_epoch = owner_epoch; k = kernel_nxt; k_epoch = kernel_nxt_epoch };
	d_step {
		if
		:: o_path == owner_path && o_epoch == owner_epoch &&
		   (owner_path != DIRECT || k_epoch == owner_epoch) ->
#ifdef NO_KERNEL_ACK
			if
			:: o_path == DIRECT -> peer_acked(owner_value)
			:: else -> peer_acked(ack + owner_value)
			fi
#else
			peer_acked(ack + owner_value - (o_path == DIRECT) * k)
#endif
		:: else
		fi;
		ack = 0; o_path = 0; o_epoch = 0; k = 0; k_epoch = 0; busy--
	};
	goto end_segment
#else
end_segment:
	if
	:: d_step { sock_owes_ack -> sock_owes_ack = false; peer_acked(sock_rcv_nxt + SKEW) }
	fi;
	goto end_segment
#endif
}

#ifdef NO_CALM
#define CALMS false
#else
#define CALMS true
#endif

active proctype weather()
{
end_weather:
	if
	:: atomic {
		CALMS && busy == 0 && (!engine_busy || !ALIVE) -> calm = true;
		do
		:: peer_una < sock_rcv_nxt + SKEW -> peer_una++
		:: break
		od;
		printf("calm: the peer has been told of all below %d\n", peer_una)
	   }
#ifdef BREAKS
	:: atomic { !broken -> broken = true; printf("broken\n") }; goto end_weather
#endif
#ifdef DEAD
	:: atomic { !dead -> dead = true; printf("engine: stopped for good\n") }; goto end_weather
#endif
	fi
}

#ifdef LTL
ltl finishes { [] (calm -> <> (peer_una == OCTETS && app_nxt == OCTETS)) }
#endif
