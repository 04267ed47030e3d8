/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The engine: what all layers above know of it. */
#ifndef XIW_CORE_ENGINE_H
#define XIW_CORE_ENGINE_H

#include <liburing.h>
#include <net/if.h>
#include <pthread.h>

#include <xiwarp/xiwarp.h>

#include "core/budget.h"
#include "core/conn.h"
#include "core/policy.h"
#include "core/netif.h"
#include "ddp/region.h"
#include "handoff/inject.h"
#include "netif/xsk.h"

#define XIW_BATCH 64
#define XIW_SQ_ENTRIES 512
#define XIW_BUFS 128u /* provided buffers for the fallback sockets */
#define XIW_BUF_SIZE (64u << 10)
#define XIW_BUF_GROUP 0
#define XIW_WHEEL 512u /* milliseconds: most delayed ACKs are due within */

/*
 * The most completions that one received packet can cause: an FPDU takes 20 octets at least. While
 * the queue has less room, no batch of packets is taken, and no FPDU from a socket.
 */
#define XIW_CQ_RESERVE 1024u

#define XIW_LOOK_MS 1000   /* between two looks at interfaces */
#define XIW_COLLECT_MS 100 /* between two looks for abandoned slots */

/* Accepted connections before their stream begins, oldest first; and by peer, newest first. */
#define XIW_UNSTARTED_CHAINS 256u
struct xiw_unstarted {
	struct xiw_conn *first, *last;
	struct xiw_conn *chains[XIW_UNSTARTED_CHAINS];
	uint64_t secret, resets;
	uint32_t n;
};

struct xiw_region {
	struct xiw_engine *engine;     /* NULL: it is gone */
	struct xiw_region *next, **at; /* in engine->own_regions */
	struct xiw_orphan orphan;
	uint64_t serial;
	uint32_t stag;
};

/* A completion in the queue, and the connection or listener that it is of; NULL: it is freed, nobody gets this. */
struct xiw_entry {
	struct xiw_completion done;
	const void *owner;
};

/* ---- the rooms of the engine -------------------------------------------------------------------------- */

/* core/ring.c: io_uring, and the thread that runs it. */
struct xiw_uring {
	struct io_uring ring;
	bool ready, enabled;
	bool orphan; /* the thread that ran it has ended */
	pthread_mutex_t runner;
	/* Requests that wait for room in the submission queue, from line_head on. */
	struct io_uring_sqe *line, nowhere;
	uint32_t line_head, line_n, line_room;
	struct io_uring_buf_ring *bufs; /* provided buffers */
	uint8_t *buf_area;
	uint32_t bufs_out; /* not with the kernel */
};

/* core/cq.c: this thread writes the tail, xiw_engine_next() the head, each in a cache line of its own. */
struct xiw_cq {
	struct xiw_entry *entries;
	uint32_t mask;
	uint32_t tail __attribute__((aligned(64)));
	uint32_t head __attribute__((aligned(64)));
	/*
	 * Events that found the queue full: bounded by what the application has queued and posted, and by the
	 * messages in one batch of packets and those kept behind a gap that it fills.
	 */
	struct xiw_entry *overflow __attribute__((aligned(64)));
	size_t overflow_n, overflow_room, overflow_head; /* a ring */
	uint64_t told;	    /* completions, since the engine was made */
	bool lost;	    /* one was, for want of memory */
	int doorbell_error; /* that the application has not heard of */
	uint64_t doorbells_lost;
};

/* core/agenda.c, and the lists of those who wait. */
struct xiw_agenda {
	struct xiw_conn *dirty;
	struct xiw_conn *finishing;    /* were dirty: acknowledged, and about to send */
	struct xiw_conn *falling_back; /* never from one turn to the next */
	struct xiw_conn *ending;       /* asked to end; the turn sees to it */
	struct xiw_conn *holders;      /* with octets for which the completion queue had no room */
	struct xiw_conn *starved, **starved_end; /* stopped receiving for want of a buffer */
	struct xiw_conn *stageless,
		**stageless_end; /* would send, but there is no memory for a stage */
	struct xiw_conn *slotless, **slotless_end; /* would go direct, but the flow table is full */
};

/* core/timer.c */
struct xiw_wheel {
	uint64_t
		next_ms; /* the wheel, and all else that has a time, is looked at when this has come */
	uint64_t ms;	 /* everything up to here was looked at */
	uint64_t collect_ms; /* when abandoned slots are looked for, or XIW_NEVER */
	uint32_t n;	     /* on it */
	struct xiw_conn *slots[XIW_WHEEL];
};

/* core/news.c, path/watch.c: what becomes of interfaces. */
struct xiw_watch {
	int fd;		       /* rtnetlink; -1: none */
	bool look_now;	       /* some news is of what is looked at at once */
	bool read;	       /* since the octets were read that io_uring has just brought */
	bool polled;	       /* a poll on it is with io_uring */
	uint64_t look_ms;      /* when interfaces are looked at without news, or XIW_NEVER */
	uint64_t addresses_ms; /* when local addresses are looked at; 0: not at all */
};

/* core/netif.c, engine/prepare.c: interfaces that cannot be had. */
struct xiw_unready {
	bool prepared;			   /* xiw_engine_prepare() was called, */
	char ifname[IF_NAMESIZE], why[96]; /* and could not open this one */
	/* The one whose AF_XDP sockets could not be had last. */
	char refused[IF_NAMESIZE], refused_why[96];
	int refused_err;
	uint64_t refused_until_ms; /* for so long nobody tries again */
};

/* path/packet.c, conn/stage.c: what connections take from and give back to. */
struct xiw_pools {
	struct xiw_kept *kept, *kept_free;
	uint32_t kept_total, kept_frames; /* packets that can be kept; frames that are */
	struct xiw_stage *stages;	  /* for whoever has something to send */
	uint32_t nstages;
};

struct xiw_engine {
	uint64_t now_ms, now_ns;
	int64_t clock_lead; /* of this process's clock before that of the BPF programs, in ns */
	uint32_t batch;	    /* counts them */
	struct xiw_netif *netifs;
	struct xiw_ddp_table regions;
	struct xiw_agenda agenda;
	struct xiw_pools pools;
	struct xiw_injector injector;
	struct xiw_cq cq;
	struct xiw_uring io;
	struct xiw_wheel wheel;
	struct xiw_watch watch;
	struct xiw_unready unready;
	struct xiw_unstarted unstarted;
	struct xiw_budget budget;
	bool short_of_memory; /* somebody is hungry: xiw_reclaim() */
	uint64_t reclaim_ms;  /* not sooner, unless a connection cannot read on */
	struct xiw_conn *conns;
	uint32_t nconns, next_id;
	struct xiw_listener *listeners;
	struct xiw_listener
		*closed_listeners; /* it has ended these, and the application has not freed them */
	uint32_t accepts;	   /* with io_uring */
	struct xiw_netif *retired; /* out of use, until io_uring has let go of them */
	struct xiw_region *own_regions; /* the application's; their memory is in `regions` */
	struct xiw_engine *next_engine; /* of the process */
	bool forked;	 /* in a child: the parent's, and nothing can be done with it */
	bool destroying; /* xiw_engine_destroy() is under way */
	enum xiw_crc_policy crc_policy;
	struct xiw_engine_opts opts;
	char pin_dir[433]; /* as long as xiw_load() takes it */
	struct xiw_packet packets[XIW_BATCH];
};

static inline uint32_t xiw_cq_room(const struct xiw_engine *e)
{
	return e->cq.mask + 1 - (e->cq.tail - __atomic_load_n(&e->cq.head, __ATOMIC_ACQUIRE));
}

/* Every time that BPF programs are to compare with theirs is this one. */
static inline uint64_t xiw_bpf_clock(const struct xiw_engine *e)
{
	return e->now_ns - (uint64_t)e->clock_lead;
}

#endif
