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
#include "core/port.h"
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

struct xiw_engine {
	struct xiw_engine *next_engine; /* of the process */
	bool forked; /* in a child: the parent's, and nothing can be done with it */
	struct io_uring ring;
	bool ring_ready, ring_enabled;
	bool ring_orphan; /* the thread that ran it has ended */
	pthread_mutex_t runner;
	/* Requests that wait for room in the submission queue, from line_head on. */
	struct io_uring_sqe *line, nowhere;
	uint32_t line_head, line_n, line_room;
	struct xiw_engine_opts opts;
	char pin_dir[433]; /* as long as xiw_load() takes it */
	enum xiw_crc_policy crc_policy;

	/* Completion queue: this thread writes tail, xiw_engine_next() head. */
	struct xiw_entry *cq;
	uint32_t cq_mask;
	uint32_t cq_tail __attribute__((aligned(64)));
	uint32_t cq_head __attribute__((aligned(64)));
	/*
	 * Events that found the queue full: bounded by what the application has queued and posted, and by the
	 * messages in one batch of packets and those kept behind a gap that it fills.
	 */
	struct xiw_entry *overflow __attribute__((aligned(64)));
	size_t overflow_n, overflow_room, overflow_head; /* a ring */
	uint64_t told;	 /* completions, since the engine was made */
	bool destroying; /* xiw_engine_destroy() is under way */
	bool lost_event;
	int doorbell_error; /* that the application has not heard of */
	uint64_t doorbells_lost;
	struct xiw_budget budget;
	bool short_of_memory; /* somebody is hungry: xiw_reclaim() */
	uint64_t reclaim_ms;  /* not sooner, unless a connection cannot read on */
	uint32_t nconns;

	struct xiw_port *ports;
	struct xiw_port *retired; /* out of use, until io_uring has let go of them */
	struct {
		char ifname[IF_NAMESIZE];
		int err;
		uint64_t until_ms; /* for so long nobody tries again */
		char why[96];
	} refused;	       /* the interface whose AF_XDP sockets could not be had last */
	int watch_fd;	       /* news of interfaces and filters; -1: none */
	bool look_now;	       /* some news is of what is looked at at once */
	bool news_read;	       /* since the octets were read that io_uring has just brought */
	bool watching;	       /* a poll on it is with io_uring */
	uint64_t addresses_ms; /* when local addresses are looked at; 0: not at all */
	uint64_t watch_ms;     /* when ports are looked at without news, or XIW_NEVER */
	/* By xiw_engine_prepare(): the interface that could not be opened, and why. */
	bool prepared;
	char unready[IF_NAMESIZE], unready_why[96];
	struct xiw_conn *conns;
	struct xiw_conn *dirty;
	struct xiw_conn *settling; /* were dirty: acknowledged, and about to send */
	struct xiw_conn *leaving;  /* never from one turn to the next */
	struct xiw_conn *ending;   /* asked to end; the turn sees to it */
	struct xiw_unstarted unstarted;
	struct xiw_listener *listeners;
	struct xiw_listener
		*closed_listeners;	/* that it has ended, and the application has not freed */
	struct xiw_region *own_regions; /* the application's; their memory is in `regions` */
	uint32_t accepts;		/* with io_uring */
	struct xiw_ddp_table regions;
	struct xiw_injector injector;
	struct xiw_kept *kept, *kept_free;
	uint32_t kept_total, kept_frames; /* packets that can be kept; frames that are */

	struct io_uring_buf_ring *bufs;
	uint8_t *buf_area;
	uint32_t bufs_out; /* not with the kernel */

	struct xiw_stage *stages; /* for whoever has something to send */
	uint32_t nstages;
	struct xiw_conn *holders; /* with octets for which the completion queue had no room */
	struct xiw_conn *starved, **starved_end; /* stopped receiving for want of a buffer */
	struct xiw_conn *stageless,
		**stageless_end; /* would send, but there is no memory for a stage */
	struct xiw_conn *slotless, **slotless_end; /* would go direct, but the flow table is full */

	uint64_t now_ms, now_ns;
	int64_t clock_lead;    /* of this process's clock before that of the BPF programs, in ns */
	uint64_t next_scan_ms; /* the wheel and abandoned slots are looked at when this has come */
	uint64_t wheel_ms;     /* everything up to here was looked at */
	struct xiw_conn *wheel[XIW_WHEEL];
	uint32_t timers;     /* on it */
	uint64_t collect_ms; /* when abandoned slots are looked for, or XIW_NEVER */
	uint32_t next_id;
	uint32_t batch; /* counts them */
	struct xiw_packet packets[XIW_BATCH];
};

static inline uint32_t xiw_cq_room(const struct xiw_engine *e)
{
	return e->cq_mask + 1 - (e->cq_tail - __atomic_load_n(&e->cq_head, __ATOMIC_ACQUIRE));
}

/* Every time that BPF programs are to compare with theirs is this one. */
static inline uint64_t xiw_bpf_clock(const struct xiw_engine *e)
{
	return e->now_ns - (uint64_t)e->clock_lead;
}

#endif
