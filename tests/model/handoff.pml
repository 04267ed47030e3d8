/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The hand-off of a stream between the kernel's socket and the engine, as a model for Spin. `make model` searches all
 * states of several configurations (tests/model/run). It also searches mutations, each of which lacks one guard (NO_*),
 * and expects to find an error in each.
 *
 * What is modelled, and where it is in the code
 *
 *   xiw_ingress (ingress.pml): bpf/
 *     segment        xiw_read_owner()            go_direct    xiw_armed_data(), xiw_go_direct()
 *     to_kernel      xiw_to_kernel()             kernel_data  xiw_kernel_data(), xiw_raise_high()
 *     STUCK          xiw_dead_end(), xiw_stuck() try_begin    xiw_try_begin()
 *     STEERS         xiw_ring_check(): the segment came on a queue of another engine (queues.pml has the queues)
 *     redirect()     xiw_direct_data(), and the frame on its way to the ring
 *   engine (engine.pml, receiver.pml): user/engine and user/path; a pass through the process is one turn()
 *     turn           xiw_recv_done(), look_at_owner(), feed()
 *     packet         packet(), current(), begin(), wait_for_socket(), xiw_inject_old()
 *     enter, segment(), take(), take_kept()     the same names
 *     fall_back      xiw_fall_back(); late: xiw_inject_late(); leave: xiw_fall_back_finish(), xiw_flow_fall_back()
 *     ownership_lost xiw_ownership_lost()        stale        xiw_stale_segment()
 *     inject         inject_kept(), inject_whole(), out_of_direct()
 *     batch          xiw_direct_poll()           settle       settle(), xiw_stretch_resume()
 *     direct_settle  xiw_commit(): xiw_flow_commit(), send_ack(); then xiw_try_arm()
 *     broken         damaged() with REFUSES, wait_for_socket() with NO_LO, xiw_progress_unheard() with DEAF
 *     seen           xiw_note_seen()                GIVES_UP, GOES_ON     xiw_progress_refused()
 *   hold.pml: Sends that find no posted buffer; it lists its own
 *   kernel.pml
 *     loopback       the interface lo, through which injected segments reach the socket; the socket pruning its queue
 *     xiw_egress     the kernel builds its acknowledgement, then xiw_translate() translates it
 *   weather          the environment: when it calms down (see below), when the engine dies (DEAD), when one path breaks
 *
 *   owner_path, owner_epoch, owner_value, kernel_nxt (K), kernel_nxt_epoch, kernel_high: fields of struct xiw_flow;
 *   c_*: fields of struct xiw_conn; tcp_rcv_nxt: of struct xiw_tcp_rx; sock_*: the kernel's socket.
 *
 * A step of a process is one access to something that another process can change meanwhile: a load, a compare-and-swap,
 * moving a frame or a segment, reading octets from the socket. Changes of a process's own memory belong to the step
 * before them. Some accesses are one step together:
 *   - a loop of load and compare-and-swap (raise()), because it takes effect at one moment;
 *   - a load and a swap between which nobody can come: only the engine leaves KERNEL, and K is fixed in DIRECT;
 *   - the loads of xiw_read_owner(), except with SPLIT_READ: a packet is dropped if the word changes between them, and
 *     that is like losing it.
 *
 * With STEERS any segment may come on a queue of another engine, at any time, also after the environment has calmed
 * down. In KERNEL and ARMED such a segment goes to the socket, as any other one may.
 *
 * The stream has OCTETS octets; an "octet" stands for the smallest piece at which something is cut. FPDUs lie between
 * BOUNDARIES. The peer cuts the stream anywhere, and differently when it resends. A segment that begins within an FPDU
 * and ends with one looks aligned. The network does its worst: any segment may arrive at any time, for the first time
 * or again, or never. So the network has no state, and neither has the peer. Frames may be lost on the way to the ring,
 * injected and passed segments on the way to the socket, and the socket may prune its out-of-order queue.
 *
 * One path may break at any time, and then stays broken, also after the environment has calmed down. With LOST_FRAMES
 * every frame is lost on the way to the ring, with REFUSES the engine refuses every frame, with DEAF the peer hears
 * none of the engine's acknowledgements, with NO_LO every injected segment is lost. The code reacts to this only after
 * some time. In the model a segment that comes again came either soon after the first one, and then proves nothing, or
 * late; it came late if the peer sends because nothing else can move.
 *
 * Properties
 *   app_wrong_octet    The application gets the stream in order, and each octet once.
 *   app_not_at_fpdu    The direct path begins and continues only between two FPDUs.
 *   ack_of_unheld      No acknowledgement, of the engine or of the kernel, covers an octet that the owner of the stream
 *                      does not hold. Octets that were placed but not committed are not held.
 *   queue_wrong_place  The socket's queues hold no octet at a wrong place. Whatever is queued beyond sock_rcv_nxt was
 *                      queued under the current skew, and nothing is queued when the skew changes.
 *   cannot_finish      From every state the stream can finish (AG EF). In every state each CPU and the engine can
 *                      complete what they are doing, because nothing blocks them; so only states in which they have
 *                      done so need to be looked at. In these `weather` may set `calm`, and the peer may have been told
 *                      of any part of what is held, which it then does not resend. From then on nothing is lost,
 *                      repeated or taken back, except by what is broken, and the peer sends its oldest octet when
 *                      nothing else can move (timeout). It is an error if the peer sends TRIES times without an
 *                      answer, or if everything is acknowledged but the application (or the socket, if the engine is
 *                      dead) does not have everything. All ways to continue are searched, so finishing is not only
 *                      possible but certain. The formula at the end of this file (LTL) shows, without any assumption
 *                      of fairness, that there is no cycle in which the peer never gets to send again.
 *   invalid end states Spin's own property: no process waits for something that will not come.
 *
 * Not modelled
 *   - windows (the whole stream is offered), PAWS and timestamps (an injected segment that the kernel refuses counts as
 *     lost), segments without data, RST, SYN, IP fragments, SACK, urgent data (handled like FIN);
 *   - run_needed (XDP goes direct whenever it could), wrap-around of numbers and epochs, several queues of one engine (the
 *     order of frames of two CPUs is arbitrary already), single CRC errors (like a lost frame; lasting ones are like REFUSES);
 *   - registration and end of a connection; memory models weaker than sequential consistency (swaps are full barriers,
 *     and x86 keeps the other orders);
 *   - of the checks that the stream moves on: times; that silence after two refusals ends a stretch too (CLOSE ends it
 *     anywhere); that a barred connection is armed no more, which only saves useless stretches; our sending half.
 *
 * What else the search shows
 *   - XDP and the engine (enter()) both look at kernel_high after the swap, and both must. Without the engine's look,
 *     frames are taken while the CPU that began the stretch stands still. Without XDP's, the socket may have been read
 *     beyond S before the engine knows of the stretch, which then waits for S for ever.
 *   - Every check that the stream moves on must also count segments that end before rcv_nxt: if their acknowledgement
 *     was lost, the peer sends nothing else.
 *   - Four guards can be taken out without any property failing. xiw_to_kernel() raises kernel_high, but the engine
 *     raises it too before it arms again. The swap is the last step of a fall-back, which only keeps segments in order.
 *     The engine tells XDP that it looks at frames; without that, stretches end although they need not. A held stream is
 *     not armed; a stretch of it would end at once.
 */

#define KERNEL 1 /* XIW_PATH_* */
#define ARMED 2
#define DIRECT 3

/* ---- sizes --------------------------------------------------------------------------------------- */

#ifndef OCTETS
#define OCTETS 3
#endif
#ifndef BOUNDARIES
#define BOUNDARIES 15 /* bit x: one FPDU ends and the next begins in front of octet x */
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

/* Segment s is one octet or two, from START(s) up to END(s). */
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

/* The skew under the current owner word. Only properties use it, no process does. */
#define SKEW (owner_value - (owner_path == DIRECT) * kernel_nxt)

/* ---- socket, peer, environment -------------------------------------------------------------------- */

/* The kernel's socket, in its own numbers. */
byte sock_rcv_nxt, sock_copied;
byte sock_ooo;		  /* bit n: octet n is in the out-of-order queue */
byte sock_octet[OCTETS]; /* which octet of the stream is there */
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
bool broken; /* one path is, and stays so */
#endif
#ifdef LOST_FRAMES
#define LOST_FRAME broken
byte try_nxt = NONE;
bool seen; /* `seen` differs from try_seen */
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
#define FINISHED (peer_una == OCTETS && (APP_FINISHED || !ALIVE))

/* ---- properties ---------------------------------------------------------------------------------- */

byte app_wrong_octet, app_not_at_fpdu, ack_of_unheld, queue_wrong_place, cannot_finish;
#define PROPERTY(broken, when) broken = (when); assert(!(broken))

/* A commit changes the skew: the socket must then hold everything below K and nothing beyond. */
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
		:: t_x - skew < sock_rcv_nxt /* a duplicate */
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

/* The engine's acknowledgement, over AF_XDP. */
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

#include "hold.pml"

/* The processes. Spin numbers them in this order; the code of xiw_ingress relies on being the first. */
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
