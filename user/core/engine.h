/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The engine, as all layers above know it. */
#ifndef XIW_CORE_ENGINE_H
#define XIW_CORE_ENGINE_H

#include <liburing.h>
#include <net/if.h>
#include <pthread.h>
#include <stddef.h>

#include <xiwarp/xiwarp.h>

#include "core/budget.h"
#include "core/conn.h"
#include "core/gate.h"
#include "core/policy.h"
#include "core/netif.h"
#include "core/pace.h"
#include "ddp/region.h"
#include "handoff/inject.h"
#include "netif/xsk.h"

#define XIW_SQ_ENTRIES 512
#define XIW_BUFS 128u /* provided buffers to receive from sockets */
#define XIW_BUF_SIZE (64u << 10)
#define XIW_BUF_GROUP 0
#define XIW_BUFS_OFFERED 8u /* of them, the kernel has so many, and one more for each connection */
#define XIW_WHEEL 512u /* milliseconds; most delayed ACKs are due within that time */

/*
 * The most completions that one received packet can cause, as an FPDU takes at least 20 octets. While the queue has
 * less room, the engine takes no batch of packets and no FPDU from a socket.
 */
#define XIW_CQ_RESERVE 1024u

#define XIW_LOOK_MS 1000     /* time between two looks at interfaces */
#define XIW_LOOK_ROUTES 256u /* connections whose routes are checked in one look */
#define XIW_COLLECT_MS 100   /* time between two looks for abandoned slots */

#define XIW_PEER_PLACES 256u /* of tables by peer: core/peer.h */

/* conn/unstarted.c: unstarted connections, oldest first, and in chains by peer, newest first. */
struct xiw_unstarted {
	struct xiw_conn *first, *last;
	struct xiw_conn *chains[XIW_PEER_PLACES];
	uint64_t secret, resets;
	uint32_t n;
	/* Connections that were refused because their peer has its share, and the last one of which was told. */
	uint64_t refused;
	struct sockaddr_storage refused_peer;
};

/* core/region.c */
struct xiw_region {
	struct xiw_engine *engine;     /* NULL: it was destroyed */
	struct xiw_region *next, **at; /* in engine->own.regions */
	struct xiw_orphan orphan;
	void *memory;
	size_t len;
	uint64_t serial;
	uint32_t stag;
	bool writable; /* was so when a right to change it was given */
};

/* A completion in the queue, and the connection or listener that it names; NULL: that was freed, so it is skipped. */
struct xiw_entry {
	struct xiw_completion done;
	const void *owner;
};

/* ---- the parts of the engine -------------------------------------------------------------------------- */

struct xiw_ring_ops;
struct xiw_soft;

/* core/ring.c: the ring, and the thread that runs it. */
struct xiw_io {
	struct io_uring ring;
	const struct xiw_ring_ops *ops; /* of its kind */
	struct xiw_soft *soft;		/* core/soft.c; NULL: the ring is io_uring */
	/* When the ring was last asked for work that it may have, and how long it need not be after that. */
	uint64_t asked_ns, ask_ns;
	/* Why it is not io_uring: the call that the kernel refused, and its error. NULL: it is, or was not to be. */
	const char *refused;
	int refused_err;
	bool ready, enabled;
	bool orphan; /* the thread that ran it has ended */
	pthread_mutex_t runner;
	/* Requests that wait for room in the submission queue, from line_head on; `nowhere`: one is lost. */
	struct io_uring_sqe *line, nowhere;
	uint32_t line_head, line_n, line_room;
	struct io_uring_buf_ring *bufs; /* provided buffers */
	uint8_t *buf_area;
	uint32_t bufs_out; /* buffers that the kernel has filled and we use */
	uint32_t bufs_in;  /* buffers that the kernel has, as far as we know */
	uint16_t spare[XIW_BUFS]; /* all others: the last one is that which was used last */
	uint32_t nspare;
	uint64_t all_bufs_until_ms; /* the kernel has all of them, as a receive got none */
};

/* core/inbox.c: the one cache line of an engine that any thread may write. */
struct xiw_inbox {
	uint64_t word __attribute__((aligned(64)));
	int bell;    /* eventfd by which the engine is rung while it sleeps */
	int fd;	     /* eventfd for sleeps in the ring */
	bool polled; /* a poll on it is with io_uring */
};

/* engine/share.c: turns that other threads take. All but the first two is for whoever holds the lock. */
struct xiw_sharing {
	bool on;    /* never false again */
	bool owner; /* the engine's thread wants the lock, and others leave it to that thread */
	pthread_mutex_t lock;
	bool asleep;	/* the engine's thread waits, and everything ends that */
	bool often;	/* others take so many turns that the engine's thread need not; atomic */
	uint32_t turns; /* of others, since since_ns; atomic */
	uint32_t head;	/* of io_uring's completions, when a turn of another thread began */
	uint64_t since_ns;
	uint64_t until_ms; /* how long the engine's thread waits */
	/* Threads that wait for events. One that is alone takes turns, and sleeps by the queues' descriptors. */
	unsigned int waiters, passive;
	uint32_t sleeps;   /* of one that was alone, or that it has spared itself, since since_ns */
	uint64_t waits_ns; /* since when it has looked in vain; 0: it has not */
	bool soon;	   /* its last wait was short */
	bool driven; /* they were so many that the engine's thread need not take frames; atomic */
	bool driver; /* one sleeps now, and `bell` tells it what is asked of the engine */
	int bell;    /* an eventfd; -1: there is none */
};

/* How the engine waits. engine/ready.c: the descriptor of xiw_engine_fd(). */
struct xiw_ready {
	int fd; /* eventfd, which the kernel writes when the ring has something; -1: nobody has asked for it */
	int to_poll;	   /* what the application polls: `fd`, or one that is readable with it */
	bool lit;	   /* it is readable, and the kernel need not write it */
	uint64_t timer_ms; /* when a timeout that is with io_uring comes, or XIW_NEVER */
	struct __kernel_timespec timer;
	struct xiw_pace pace;
	struct xiw_sharing share;
};

/*
 * core/cq.c, cqs.c: a completion queue. The engine's thread writes the tail, and the application's thread, which takes
 * completions, the head; each has its own cache line. Both write `armed`.
 */
struct xiw_cq {
	struct xiw_entry *entries;
	uint32_t mask;
	int app_ring_fd; /* the application's io_uring in which completions are announced; -1: none */
	int fd; /* an eventfd, which tells of a completion if the queue is armed; -1: none */
	struct xiw_engine *engine; /* NULL: it was destroyed */
	uint32_t tail __attribute__((aligned(64)));
	uint32_t head __attribute__((aligned(64)));
	uint32_t armed __attribute__((aligned(64))); /* enum xiw_cq_armed */
	/*
	 * A ring of completions that found the queue full. What the application has queued and posted bounds them, and
	 * in the engine's own queue the messages in one batch of packets and behind a gap that the batch fills.
	 */
	struct xiw_entry *overflow __attribute__((aligned(64)));
	size_t overflow_n, overflow_room, overflow_head;
	struct xiw_cq *next_overflowing; /* in cqs.overflowing while overflow_n */
	uint64_t told;			 /* completions since the queue was created */

	/* The engine's own queue does not need these. */
	struct xiw_cq *next, **at; /* in cqs.made */
	uint32_t users;		   /* outlets of connections that lead here */
	size_t memory;		   /* taken from the budget */
	struct xiw_orphan orphan;
};

/* core/cq.c: what all completion queues of an engine share. */
struct xiw_cqs {
	struct xiw_cq *made;	    /* by the application, besides the engine's own */
	struct xiw_cq *overflowing; /* have completions that found them full */
	bool news;	    /* one of these got a completion since xiw_engine_run() last returned */
	bool lost;	    /* a completion was lost because there was no memory */
	int doorbell_error; /* one that xiw_engine_run() has not returned yet */
	uint64_t doorbells_lost;
};

/* Lists of connections: those with work for the turn (core/agenda.c), and those that wait for something. */
struct xiw_agenda {
	struct xiw_conn *dirty;
	struct xiw_conn *finishing;    /* were dirty, and send next (engine/turn.c) */
	struct xiw_conn *falling_back; /* empty at the end of each turn (path/fallback.c) */
	struct xiw_conn *ending;       /* asked to end */
	struct xiw_conn *holders;      /* have octets that waited: xiw_retry() */
	struct xiw_conn *telling;      /* have news for their sockets: xiw_tell_socket() */
	struct xiw_conn *starved, **starved_end; /* found no buffer to receive (path/kernel.c) */
	struct xiw_conn *stageless, **stageless_end; /* found no memory (conn/stage.c) */
	struct xiw_conn *slotless, **slotless_end; /* found the flow table full (conn/register.c) */
	uint32_t sending; /* connections whose sends, or pauses between them, are with io_uring (conn/send.c) */
};

/* core/timer.c, agenda.c; conn/register.c and engine/turn.c set the times anew when they have come. */
struct xiw_wheel {
	uint64_t next_ms;    /* when the turn next looks at the wheel and at all other times */
	uint64_t ms;	     /* the wheel was looked at up to this time */
	uint64_t collect_ms; /* when abandoned slots are collected, or XIW_NEVER */
	uint32_t n;	     /* connections on the wheel */
	struct xiw_conn *slots[XIW_WHEEL];
};

/* path/hop.c: a next hop may have changed. */
struct xiw_hops {
	bool due;	  /* a look at them is due */
	uint32_t wait_ms; /* between the last look and another one */
	uint64_t look_ms; /* when the last one was, or the next one is due */
	struct xiw_conn *next; /* in the look that is under way, or NULL */
};

/* core/news.c, path/watch.c: watching interfaces. */
struct xiw_watch {
	int fd;		       /* rtnetlink; -1: none */
	bool look_now;	       /* a message asks for a look at once */
	bool read;	       /* messages were read since io_uring's completions were last taken */
	bool polled;	       /* a poll on it is with io_uring */
	uint64_t look_ms;      /* when to look at interfaces without a message, or XIW_NEVER */
	uint64_t addresses_ms; /* when to look at local addresses; 0: not at all */
	struct ifaddrs *addresses; /* as they are as long as no message has come, or NULL (core/news.c) */
	uint64_t mtu_ms;       /* conn/dial.c: until then `largest_mtu` is taken for that of all interfaces */
	uint32_t largest_mtu;
	uint32_t rebinds; /* interfaces whose queues are bound anew (path/rebind.c) */
	struct xiw_conn *next_route; /* whose route is checked next; NULL: the first one's */
	uint64_t routes;	     /* routes checked */
	struct xiw_hops hops;
	uint64_t forgets_ms; /* how soon conntrack forgets what it does not see; 0: not at all */
	/* Not on the stack, which may be a small one of the application's. */
	_Alignas(max_align_t) char messages[16384];
};

/* core/netif.c, engine/prepare.c: interfaces that could not be opened. */
struct xiw_unready {
	bool prepared;			   /* xiw_engine_prepare() was called */
	char ifname[IF_NAMESIZE], why[96]; /* an interface that it could not open */
	/* The interface whose AF_XDP sockets could not be made last. */
	char refused[IF_NAMESIZE], refused_why[96];
	int refused_err;
	uint64_t refused_until_ms; /* until then no connection tries again */
	uint32_t waited_ms;	   /* in vain for busy queues, by other engines, too */
};

/* path/packet.c, gaps.c, conn/stage.c, core/blocks.c: objects that connections take and give back. */
struct xiw_pools {
	struct xiw_kept *kept, *kept_free;
	uint32_t kept_total;	  /* packets that can be kept */
	uint32_t kept_frames;	  /* frames that are kept */
	uint32_t kept_of[XIW_PEER_PLACES]; /* of these, by peer */
	bool kept_short;      /* path/gaps.c: a segment has found no room since the last look */
	uint8_t gap_look;     /* the number of that look, modulo 256 */
	uint64_t gap_look_ms; /* when it looks next, at the earliest */
	struct xiw_stage *stages; /* free ones */
	uint32_t nstages;
	struct xiw_free_block *blocks; /* free ones */
	uint32_t nblocks;
};

/* What a group does for an engine that it has. */
struct xiw_group_ops {
	/* The engine is about to be destroyed. Returns the group, for left(). */
	struct xiw_group *(*leave)(struct xiw_engine *e);
	/* The engine has run the last one of its notes, which may use the group. */
	void (*left)(struct xiw_group *g);
	/* A socket was accepted. True: another engine is to have it, and gets it. */
	bool (*accepted)(struct xiw_listener *l, int fd);
	/* The engine is left behind in a child (engine/fork.c). */
	void (*forked)(struct xiw_engine *e);
};

struct xiw_engine {
	uint64_t now_ms, now_ns;
	int64_t clock_lead; /* ns by which this process's clock leads that of the BPF programs */
	uint32_t batch;	    /* number of batches so far */
	struct xiw_netif *netifs;
	struct xiw_ddp_table regions;
	struct xiw_agenda agenda;
	struct xiw_pools pools;
	struct xiw_injector injector;
	struct xiw_cq cq;
	struct xiw_inbox inbox;
	struct xiw_cqs cqs;
	struct xiw_srq *srqs;
	struct xiw_ready ready;
	struct xiw_io io;
	struct xiw_wheel wheel;
	struct xiw_watch watch;
	struct xiw_unready unready;
	struct xiw_unstarted unstarted;
	struct xiw_budget budget;
	bool short_of_memory; /* a connection lacks memory: the turn calls xiw_reclaim() */
	uint64_t reclaim_ms;  /* xiw_reclaim() waits until then, unless a connection is hungry */
	struct xiw_conn *conns;
	uint32_t nconns, next_id;
	struct xiw_listener *listeners;
	struct xiw_listener *closed_listeners; /* have ended, and are not freed yet */
	uint32_t accepts;		       /* accept requests that are with io_uring */
	struct xiw_netif *retired;	/* out of use, but io_uring still has requests for them */
	struct {
		struct xiw_region *regions; /* the application's objects; `regions` above has their memory */
		/* All memory of regions that were freed since xiw_regions_settle() lies between; zeros: none was */
		uintptr_t gone_from, gone_to;
	} own;
	struct xiw_group *group;	/* NULL: none (group/group.c) */
	const struct xiw_group_ops *group_ops;
	struct xiw_gate gate;		/* for the regions, if it belongs to a group */
	struct xiw_engine *next_engine; /* the next one of this process (engine/fork.c) */
	bool forked;	 /* this is a child's copy of its parent's engine, which must not be used */
	bool destroying; /* xiw_engine_destroy() is under way */
	enum xiw_crc_policy crc_policy;
	struct xiw_engine_opts opts;
	struct {
		char pin_dir[433];   /* xiw_load() accepts no longer one */
		char interface[128]; /* ALTIFNAMSIZ */
	} texts;		     /* of the options */
	struct xiw_packet packets[XIW_XSK_BATCH_FRAMES];
};

static inline uint32_t xiw_cq_room_in(const struct xiw_cq *q)
{
	return q->mask + 1 - (q->tail - __atomic_load_n(&q->head, __ATOMIC_ACQUIRE));
}

/* In the engine's own queue, the only one that peers alone can fill: no operation bounds what they make of it. */
static inline uint32_t xiw_cq_room(const struct xiw_engine *e)
{
	return xiw_cq_room_in(&e->cq);
}

/* In the engine's thread: what was posted in memory whose regions were freed takes nothing more (ddp/revoke.h). */
void xiw_regions_settle(struct xiw_engine *e);

/* Around every use of the engine's regions by its own thread. `e` may be NULL. */
static inline void xiw_regions_enter(struct xiw_engine *e)
{
	if (!e)
		return;
	xiw_gate_enter(&e->gate);
	if (e->own.gone_to)
		xiw_regions_settle(e);
}

static inline void xiw_regions_leave(struct xiw_engine *e)
{
	if (e)
		xiw_gate_leave(&e->gate);
}

/* Returns the time on the clock of the BPF programs, for every time that is given to them. */
static inline uint64_t xiw_bpf_clock(const struct xiw_engine *e)
{
	return e->now_ns - (uint64_t)e->clock_lead;
}

#endif
