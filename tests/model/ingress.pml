/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* xiw_ingress: included by handoff.pml. */

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
/* The time limit is part of this. It has passed if nothing else can move; otherwise it may have passed. */
#ifdef NO_STUCK
#define STUCK false
#elif defined(NO_STUCK_BEHIND)
#define STUCK (START(seg) <= o_value && END(seg) > o_value && try_nxt == o_value && !seen)
#else
#define STUCK (START(seg) <= o_value && try_nxt == o_value && !seen)
#endif

inline xiw_try_begin(at)
{
	try_nxt = at;
	seen = false
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

#ifdef SLOW_CPU /* the second CPU takes one segment in all, and may stand still with it at any step */
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
#ifdef STEERS
#ifdef NO_STEERED
	/* to the ring of another engine, which has no connection for it */
	:: d_step { o_path == DIRECT -> done() }; goto end_segment
#else
	:: o_path == DIRECT -> goto to_kernel
#endif
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
