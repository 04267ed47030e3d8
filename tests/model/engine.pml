/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The engine, one turn after the other: included by handoff.pml. */

active proctype engine()
#ifdef DEAD
	provided (!dead)
#endif
{
	/* struct xiw_conn */
	bool c_direct, c_draining, c_leaving, c_dirty = true, c_want_arm = true;
	byte c_epoch, c_committed, c_stream_nxt, c_skip, c_kept_n;
	byte tcp_rcv_nxt;
	unsigned c_kept : 10; /* segments that wait: for the socket to be read, later for a gap to close */

	byte seg = NONE, epoch, hand = NONE, skew, cur = NONE, mode;
	bool in_batch, settling, now;
	bool c_tried, c_ack_due; /* used only if something BREAKS */
	byte c_dup;

	xr ring;
	xs lo;

end_turn:
	if
	:: atomic { !PATIENT && nempty(ring) -> ring?seg, epoch; engine_busy = true }; goto packet
#ifndef NO_NOTICE
	:: atomic {
		sock_copied < sock_rcv_nxt && RECEIVES && LOST_BY_NOW ->
		engine_busy = true
	   };
	   goto ownership_lost
#endif
	:: d_step {
		READS && !LOST_BY_NOW ->
		if
		:: c_skip -> c_skip--; printf("engine: passes over octet %d\n", sock_octet[sock_copied])
		:: !c_skip && THROWN_AWAY
		:: else -> deliver(sock_octet[sock_copied], sock_octet[sock_copied] + 1)
		fi;
		sock_octet[sock_copied] = 0;
		sock_copied++;
		c_stream_nxt++;
		MOVED;
		c_dirty = c_dirty || c_draining;
#ifdef HOLDS
		hold_fed();
#endif
		if
		:: !c_direct && owner_path == KERNEL && arms < ARMS ->
			c_want_arm = true; c_dirty = true
		:: else
		fi
	   };
	   goto end_turn
#ifdef HOLDS
	:: d_step {
		PATIENT && !LACKS(tcp_rcv_nxt) -> c_patient = false; seg = hand; hand = NONE; engine_busy = true
	   };
	   goto deliver_segment
#ifndef NO_PATIENT_END
	:: atomic { PATIENT -> engine_busy = true }; goto fall_back
#endif
	:: d_step { STOPPED && !LOST_BY_NOW && !OVER -> hold_begin() }; goto end_turn
	:: d_step { hold_on && recv_posted && sock_copied + hold_kept < sock_rcv_nxt -> hold_keep() };
	   goto end_turn
	:: d_step { hold_cancels -> hold_cancelled() }; goto end_turn
	:: atomic { app_posts < ALL_SENDS && (!calm || AT_LAST) -> hold_posted() }; goto end_turn
#if STEALS
	:: d_step { !calm && app_buffers && steals < STEALS -> steals++; app_buffers--; app_posts-- };
	   goto end_turn
#endif
#ifdef TIME_ENDS
	:: atomic { hold_waits && !hold_over && (!calm || AT_LAST) -> hold_expire() }; goto end_turn
	:: d_step { STOPPED && !LOST_BY_NOW && OVER -> hold_failed(); engine_busy = true };
	   if
	   :: c_direct && !c_leaving -> goto fall_back
	   :: else -> goto turn
	   fi
#endif
#endif
	:: atomic { c_dirty -> c_dirty = false; engine_busy = true }; goto settle
	:: atomic { c_leaving -> engine_busy = true }; goto leave
#ifdef CLOSE
	:: atomic { !calm && c_direct && !c_leaving -> engine_busy = true }; goto fall_back
#endif
	fi;

packet:
#ifdef TIME_ENDS
	if
	:: d_step { rx_dead && !c_leaving -> seg = NONE; epoch = 0 }; goto batch
	:: else
	fi;
#endif
	if
	:: in_batch && c_direct && c_epoch == epoch -> epoch = 0
	:: else ->
#if defined(LOST_FRAMES) && !defined(NO_LOOKED)
		if
		:: d_step { true -> seen = true }
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
#ifdef HOLDS
	:: d_step { hand != NONE && LACKS(tcp_rcv_nxt) -> c_patient = true; printf("engine: is patient\n") };
	   goto batch
#endif
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
#ifdef HOLDS
		c_patient = false;
#endif
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
#ifdef HOLDS
		if
		:: c_patient -> c_patient = false; cur = hand; hand = NONE
		:: else
		fi;
#endif
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
	:: atomic { !settling && !PATIENT && nempty(ring) -> ring?seg, epoch }; goto packet
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
	/* xiw_stretch_resume() */
	if
	:: c_draining && !c_leaving ->
		if
		:: owner_epoch != c_epoch -> goto ownership_lost
#ifdef HOLDS
		:: owner_epoch == c_epoch && HELD -> goto fall_back
#endif
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
		:: !c_direct && owner_path == KERNEL && arms < ARMS && MAY_ARM ->
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
