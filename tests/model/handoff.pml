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
#include "ingress.pml"
#include "receiver.pml"
#include "engine.pml"
#include "kernel.pml"

/* ---- the environment ----------------------------------------------------------------------------- */

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
