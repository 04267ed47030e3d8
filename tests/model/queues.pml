/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which engine serves a receive queue, as a model for Spin: two engines that both want it, each of which may close it or
 * die at any step, and XDP with segments of both engines' flows. What becomes of a stretch whose segments come on
 * another queue is in handoff.pml (STEERS).
 *
 * What is modelled, and where it is in the code
 *
 *   claim, begin    xiw_queue_claim(), xiw_queue_begin()   end, release    xiw_queue_end(), xiw_queue_release()
 *   bind            xiw_xsk_create(): the kernel lets one socket have the queue
 *   xiw_ingress     xiw_ring_check()
 *   kernel          lets go of a dead engine's socket some time after its lock: first of its place in xiw_xsks
 *
 *   queue_engine: of struct xiw_queue; xsk: the socket that is in xiw_xsks; bound: the one that has the queue in the
 *   kernel; dead: the engine's lock is gone. Numbers of engines are not used again.
 *
 * Properties
 *   two_engines            No two living engines have the queue.
 *   frame_elsewhere        No socket that has the queue gets a frame of another engine's flow.
 *   number_without_socket  When XDP finds a living engine's number, that engine's socket is in the map.
 *   queue_unserved         If an engine that wants the queue lives, one serves it in the end.
 */

#define OPENING 4 /* XIW_QUEUE_OPENING */
#ifndef CLOSES
#define CLOSES 2
#endif

byte queue_engine, xsk, bound, closes;
byte sockets; /* how many have been made: an engine that opens the queue again has another one */
#define OWNER(socket) (1 + ((socket) & 1))
bool dead[3], has[3];
#define LIVES(e) ((e) && !dead[e])
#define OTHER(e) (3 - (e))

bool two_engines, frame_elsewhere, number_without_socket, queue_unserved;
#define PROPERTY(broken, when) broken = (when); assert(!(broken))

inline release()
{
	queue_engine = 0;
	has[me] = false
}

proctype engine(byte me) provided (!dead[me])
{
	byte seen;

end_claim:
#ifdef NO_QUEUE_LIVES
	atomic { !has[me] -> seen = queue_engine };
#elif defined(NO_DEAD_CLAIM)
	atomic { !queue_engine -> seen = 0 };
#else
	atomic { !LIVES(queue_engine & 3) -> seen = queue_engine };
#endif
	if
#ifdef NO_QUEUE_CAS
	:: d_step {
		true ->
#else
	:: d_step {
		queue_engine == seen ->
#endif
#ifdef NO_OPENING
		queue_engine = me;
#else
		queue_engine = me | OPENING;
#endif
		has[me] = true;
		seen = 0;
		PROPERTY(two_engines, has[OTHER(me)] && !dead[OTHER(me)])
	   }
	:: d_step { else -> seen = 0 }; goto end_claim
	fi;
	/* bind */
	if
	:: d_step {
		!bound ->
		sockets++;
		bound = 2 * sockets + me - 1;
		printf("engine %d: has the queue\n", me)
	   }
	:: d_step { bound -> release() }; goto end_claim
	fi;
	if
	:: d_step { true -> xsk = bound }
	fi;
	if
	:: d_step { true -> queue_engine = me; printf("engine %d: serves\n", me) }
	fi;
end_serve:
	if
	:: d_step { closes < CLOSES -> closes++; printf("engine %d: closes\n", me) }
	fi;
#ifndef NO_QUEUE_END
	if
	:: d_step { true -> queue_engine = me | OPENING }
	fi;
#endif
	if
	:: d_step { true -> xsk = 0 }
	fi;
	if
	:: d_step { true -> bound = 0 }
	fi;
	if
	:: d_step { true -> release() }
	fi;
	goto end_claim
}

proctype kernel(byte e)
{
end_kernel:
	if
	:: d_step {
		dead[e] && bound && OWNER(bound) == e && xsk == bound -> xsk = 0
	   }
	:: d_step { dead[e] && bound && OWNER(bound) == e && xsk != bound -> bound = 0 }
	fi;
	goto end_kernel
}

/* One segment, at any time: the program remembers nothing from one to the next. */
proctype xiw_ingress()
{
	byte flow, to, engine_read;

	if
	:: flow = 1
	:: flow = 2
	fi;
#ifdef NO_XSK_FIRST
	if
	:: d_step { true -> engine_read = queue_engine }
	fi;
	if
	:: d_step { true -> to = xsk }
	fi;
#else
	if
	:: d_step { true -> to = xsk }
	fi;
	if
	:: d_step { true -> engine_read = queue_engine }
	fi;
#endif
	d_step {
		if
#ifdef NO_COMPARE
		:: to -> PROPERTY(frame_elsewhere, OWNER(to) != flow && bound == to)
#else
		:: to && engine_read == flow -> PROPERTY(frame_elsewhere, OWNER(to) != flow && bound == to)
#endif
		:: else
		fi;
		flow = 0; to = 0; engine_read = 0
	}
}

/* One of the two may die. It has no turn from then on. */
active proctype weather()
{
	run engine(1);
	run engine(2);
	run kernel(1);
	run xiw_ingress();
end_weather:
	if
	:: dead[1] = true; printf("engine 1: dies\n")
	:: skip
	fi;
	if
	:: d_step {
		LIVES(queue_engine & 3) && !(queue_engine & OPENING) &&
		(!xsk || OWNER(xsk) != queue_engine) ->
		PROPERTY(number_without_socket, true)
	   }
	:: timeout -> 
		PROPERTY(queue_unserved, !LIVES(queue_engine & 3) || queue_engine & OPENING)
	fi
}
