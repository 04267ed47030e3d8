/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The edges of a stretch: which segments begin it, and which the socket is given where it ends, as a model for Spin.
 * All steps of XDP are one here, and nothing is lost in injecting; handoff.pml has what that leaves out. Numbers are
 * those of the wire on both sides: where a commit moves the skew, the socket's place moves with it.
 *
 *   ingress   xiw_kernel_data(), xiw_armed_data(), xiw_direct_data(), and XDP taking the stream back
 *   engine    wait_for_socket(), enter(), segment(), xiw_fall_back(), xiw_inject_late(), xiw_fall_back_finish(),
 *             xiw_ownership_lost(), xiw_stale_segment()
 *   PASSES    xiw_receiver_passes()        PASSES_OLD    xiw_receiver_passes_old()
 *
 * A segment is one octet. The network may deliver any one at any time, also one of three kinds that no receiver takes:
 * OLD, whose timestamp is older than the newest; UNACK, whose acknowledgement is too old; and BARE, without the
 * timestamp that was negotiated, which Linux takes. Injected segments are not judged by the socket any more: their
 * timestamp is brought up to date, and Linux does not look at the acknowledgement of a segment in order.
 *
 * Properties
 *   took_old, took_unack   no such octet is taken, by the engine or, injected, by the socket (RFC 7323 section 5.3,
 *                          RFC 5961 section 5.2)
 *   took_bare              nor is a segment without the timestamp (RFC 7323 section 3.2)
 *   bare_begins            none begins a stretch
 */
#define KERNEL 1
#define ARMED 2
#define DIRECT 3

#define GOOD 0
#define OLD 1
#define UNACK 2
#define BARE 3
#define NONE 15

#ifndef OCTETS
#define OCTETS 3
#endif
#ifndef ARMS
#define ARMS 2
#endif

#define OFF 0
#define WAITS 1
#define RUNS 2
#define ENDS 3

byte owner = KERNEL, epoch, committed, high, sock_nxt, arms;
chan ring = [2] of { byte, byte, byte };

byte took_old, took_unack, took_bare, bare_begins;
#define PROPERTY(broken, when) broken = (when); assert(!(broken))


inline took(kind)
{
	PROPERTY(took_old, kind == OLD);
	PROPERTY(took_unack, kind == UNACK);
	PROPERTY(took_bare, kind == BARE)
}

inline raise(to)
{
	if
	:: high < (to) -> high = to
	:: else
	fi
}

/* By XDP: the socket judges it. */
inline pass(n, k)
{
	raise(n + 1);
	if
	:: n == sock_nxt && (k == GOOD || k == BARE) -> sock_nxt++
	:: else
	fi
}

/* The socket takes whatever is in order. */
inline inject(n, k)
{
	raise(n + 1);
	if
	:: n == sock_nxt -> took(k); sock_nxt++
	:: else
	fi
}

#ifdef NO_BARE_BEGIN
#define MAY_BEGIN(k) true
#else
#define MAY_BEGIN(k) (k != BARE)
#endif

inline to_kernel()
{
	owner = KERNEL;
	epoch++;
	raise(committed)
}

active proctype ingress()
{
	byte n, k;

end_segment:
	atomic {
		n = 0;
		do
		:: n < OCTETS - 1 -> n++
		:: break
		od;
		if
		:: k = GOOD
		:: k = OLD
		:: k = UNACK
		:: k = BARE
		fi;
		if
		:: owner == KERNEL -> pass(n, k)
		:: owner == ARMED && n == high && MAY_BEGIN(k) && nfull(ring) ->
			PROPERTY(bare_begins, k == BARE);
			owner = DIRECT; epoch++; committed = n;
			ring!n, k, epoch
		:: owner == ARMED -> pass(n, k)
		:: owner == DIRECT && nfull(ring) -> ring!n, k, epoch
		:: owner == DIRECT /* lost */
		:: owner == DIRECT && empty(ring) -> to_kernel(); pass(n, k)
		fi;
		n = 0; k = 0
	};
	goto end_segment
}

byte state, e_epoch, e_com, rcv;
bool known; /* the receiver has TS.Recent and SND.UNA, of this stretch or of one before */
byte w_n = NONE, w_k;

/* Judges by TS.Recent of the socket or the last stretch, and by the receiver once there is one. */
#ifdef NO_PASSES
#define PASSES(k) true
#else
#define PASSES(k) ((k) == GOOD || ((k) == UNACK && !known))
#endif
#ifdef NO_PASSES_OLD
#define PASSES_OLD(k) true
#else
#define PASSES_OLD(k) ((k) == GOOD || (k) == UNACK)
#endif

inline give(n, k)
{
	if
	:: PASSES(k) -> inject(n, k)
	:: else
	fi
}

inline skip_receiver()
{
	if
#ifndef NO_SKIP_RECEIVER
	:: state == WAITS -> known = true
#endif
	:: else
	fi
}

inline give_waiting()
{
	if
	:: w_n != NONE -> give(w_n, w_k); w_n = NONE; w_k = 0
	:: else
	fi
}

inline ownership_lost()
{
	if
	:: state == RUNS -> raise(rcv)
	:: else
	fi;
	skip_receiver();
	give_waiting();
	state = OFF
}

/* Octets that were placed but not committed come again, and are passed over: the socket is behind them. */
inline lose_or_commit()
{
	if
	:: epoch != e_epoch -> ownership_lost()
	:: else ->
		sock_nxt = sock_nxt + (rcv - e_com);
		e_com = rcv;
		committed = rcv
	fi
}

inline fall_back(n, k)
{
	if
	:: state == RUNS -> lose_or_commit()
	:: else
	fi;
	if
	:: state != OFF ->
		skip_receiver();
		state = ENDS;
		if
		:: n != NONE -> inject(n, k)
		:: else
		fi;
		give_waiting()
	:: state == OFF && n != NONE -> give(n, k)
	:: else
	fi
}

inline segment(n, k)
{
	if
	:: n == rcv && k == GOOD -> /* takes it, or cannot */
		if
		:: rcv++
		:: fall_back(n, k)
		fi
#ifdef NO_PAWS_BEGIN
	:: n == rcv && k == OLD && rcv == e_com -> took(k)
#endif
	:: else
	fi
}

inline enter(n, k)
{
	if
	:: high != e_com -> fall_back(NONE, 0); give(n, k)
	:: else ->
		state = RUNS; known = true; rcv = e_com;
		segment(n, k)
	fi
}

active proctype engine()
{
	byte n, k, e;

end_turn:
	if
	:: atomic {
		nempty(ring) -> ring?n, k, e;
		if
		:: state != OFF && epoch != e_epoch -> ownership_lost()
		:: else
		fi;
		if
		:: owner == DIRECT && epoch == e ->
			if
			:: state == OFF -> state = WAITS; e_epoch = e; e_com = committed
			:: else
			fi;
			if
			:: state == ENDS -> give(n, k)
			:: state == WAITS && n < e_com ->
				if
				:: PASSES_OLD(k) && n == sock_nxt && k != UNACK -> inject(n, k)
				:: else
				fi
			:: state == WAITS && n >= e_com && (w_n != NONE || sock_nxt != e_com) ->
				if
				:: w_n == NONE -> w_n = n; w_k = k
				:: w_n == NONE -> fall_back(NONE, 0); give(n, k)
				:: else
				fi
			:: state == WAITS && n >= e_com && w_n == NONE && sock_nxt == e_com -> enter(n, k)
			:: state == RUNS -> segment(n, k)
			fi
		:: else ->
			if
			:: owner != DIRECT -> give(n, k)
			:: else
			fi
		fi;
		n = 0; k = 0; e = 0
	   }
	:: atomic {
		state == WAITS && w_n != NONE && sock_nxt == e_com ->
		if
		:: epoch != e_epoch -> ownership_lost()
		:: else -> n = w_n; k = w_k; w_n = NONE; w_k = 0; enter(n, k)
		fi;
		n = 0; k = 0
	   }
	:: atomic { state == RUNS && (rcv != e_com || epoch != e_epoch) -> lose_or_commit() }
	:: atomic { state == WAITS && epoch != e_epoch -> ownership_lost() }
	:: atomic { state == WAITS && w_n != NONE -> fall_back(NONE, 0) }
	:: atomic {
		state == ENDS && empty(ring) ->
		if
		:: owner == DIRECT && epoch == e_epoch -> to_kernel()
		:: else
		fi;
		state = OFF
	   }
	:: atomic { state == OFF && owner == KERNEL && arms < ARMS -> arms++; owner = ARMED; epoch++ }
	fi;
	goto end_turn
}
