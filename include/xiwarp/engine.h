/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xiwarp/engine.h - the engine: drives every connection made from it, and reports completions.
 *
 * Completions come in one order, two ways: xiw_engine_next() takes them from a queue in memory; and
 * with XIW_ENGINE_APP_RING each one is announced by a CQE in the application's io_uring ring
 * `app_ring_fd` (IORING_OP_MSG_RING) with the completion's user_data, and res = its length (at most
 * INT_MAX), or a negative errno. The CQE is the doorbell, and comes in the next call of
 * xiw_engine_run() at the latest. Take one completion for each; there is none if its connection was
 * freed meanwhile, so the completion alone says whether what user_data points to still exists. A
 * doorbell that cannot be rung, because the ring is still disabled, say, or was closed, is reported
 * by xiw_engine_run(); its completion stays in the queue.
 *
 * When the queue is full the engine stops receiving until there is room; nothing is dropped.
 */
#ifndef XIWARP_ENGINE_H
#define XIWARP_ENGINE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <xiwarp/error.h>
#include <xiwarp/export.h>

XIW_BEGIN_DECLS

struct xiw_engine;
struct xiw_conn;
struct xiw_listener;

enum xiw_use_path {
	XIW_USE_AUTO = 0,   /* direct where the interface has the programs, else kernel */
	XIW_USE_KERNEL = 1, /* never direct */
	XIW_USE_DIRECT = 2, /* fail to establish where direct cannot be had */
};

struct xiw_engine_opts {
	size_t size;		 /* sizeof(struct xiw_engine_opts) */
	unsigned int cq_entries; /* power of two, >= 4096; 0: 8192 */
	/*
	 * With XIW_ENGINE_APP_RING: io_uring to announce completions in. It stays the
	 * application's. Else 0 or -1.
	 */
	int app_ring_fd;
	enum xiw_use_path path;
	unsigned int frames; /* AF_XDP frames per queue, power of two, >= 256; 0: 8192 */
	/* Octets offered on the direct path, or what the kernel has offered: 4 KiB to 512 MiB; 0: 1 MiB. */
	uint32_t window;
	const char *pin_dir; /* NULL: /sys/fs/bpf/xiwarp */
	unsigned int flags;  /* enum xiw_engine_flags */
	uint32_t reserved;   /* 0 */
	/*
	 * Octets that connections and what their peers do may take of this process's memory:
	 * connections with their queues, unfinished FPDUs, what waits to be sent, segments kept out
	 * of order (some of it from the start), events that wait. At least 4 MiB; 0: 512 MiB. When
	 * it is used up, connections are refused (-ENOMEM); one whose peer has let unfinished
	 * business lie for two seconds is ended (XIW_EV_CLOSED with -ENOMEM) for one that wants to
	 * go on; and if there is none, that one. Not in it: what xiw_engine_create() and each
	 * interface take once (some 10 MiB, and `frames` * 2 KiB per queue), regions, and the
	 * kernel's socket buffers.
	 */
	uint64_t memory;
	/*
	 * The sum of all listeners' max_unstarted (xiwarp/conn.h); 0: 4096, or half of
	 * RLIMIT_NOFILE if that is less.
	 */
	unsigned int max_unstarted;
	uint32_t reserved2; /* 0 */
};

enum xiw_engine_flags {
	/*
	 * Do not verify TCP checksums of directly received segments: the interface has done so, or
	 * the wire is a virtual one whose sender leaves them unfinished. (Of a veth such are taken
	 * in any case.)
	 */
	XIW_ENGINE_TRUST_CHECKSUM = 1 << 0,
	XIW_ENGINE_APP_RING = 1 << 1, /* app_ring_fd is one, even if it is 0 */
};

enum xiw_event {
	/* Responder: an MPA Request came; answer with xiw_conn_accept() or xiw_conn_reject(). */
	XIW_EV_REQUEST,
	XIW_EV_CONNECTED, /* MPA startup is complete, both roles */
	/*
	 * Initiator: rejected (private data may tell why) or startup failed (status). XIW_EV_CLOSED
	 * follows.
	 */
	XIW_EV_REFUSED,
	XIW_EV_SENT,	 /* a message's last octet was given to TCP; its buffer is yours again */
	XIW_EV_RECEIVED, /* an untagged message is complete in its posted buffer */
	XIW_EV_WRITTEN,	 /* a tagged message was placed and is delivered */
	XIW_EV_FLUSHED,	 /* a posted buffer or queued message comes back unused */
	/*
	 * The incoming stream is in error (xiw_conn_info() says which): nothing more of it will be
	 * delivered. Sending goes on, for a last message (RFC 5044 section 8, RFC 5041 section
	 * 7.1): then close or abort.
	 */
	XIW_EV_ERROR,
	XIW_EV_EOF,    /* the peer has closed its half at the end of an FPDU */
	XIW_EV_CLOSED, /* the last event of a connection, always; call xiw_conn_free() */
	/* Initiator with review_reply: an accepting MPA Reply came; answer as XIW_EV_REQUEST. */
	XIW_EV_REPLY,
	XIW_EV_READ,	   /* RDMAP: an RDMA Read is complete, its octets are in the sink */
	XIW_EV_TERMINATED, /* RDMAP: the peer sent a Terminate; XIW_EV_CLOSED follows */
	/*
	 * A listener could not take a connection, for want of file descriptors or memory: status
	 * says which; conn is NULL, user_data the listener's. Once, until it takes one again; it
	 * goes on trying. -EUSERS: too many that have not sent a Request; once, until there has
	 * been room for as long as a startup may take.
	 */
	XIW_EV_NOT_ACCEPTED,
};

enum xiw_completion_flags {
	/*
	 * XIW_EV_WRITTEN: the message's octets do not lie at [to, to + length), for its segments
	 * did not follow each other: the peer left gaps, or wrote some octets twice (RFC 5041
	 * section 5.2 does not have DDP refuse that), or the STag went to another region meanwhile.
	 * length is 0; to is where the first octet went.
	 */
	XIW_COMPLETION_SCATTERED = 1 << 0,
};

struct xiw_completion {
	uint64_t user_data; /* of the message or buffer; of the connection for its own events */
	struct xiw_conn *conn;
	enum xiw_event event;
	int32_t status;	    /* 0 or negative errno */
	uint64_t length;    /* octets of the message, see XIW_COMPLETION_SCATTERED */
	uint64_t to;	    /* tagged: of the message's first octet; 0 if it has none */
	uint32_t stag;	    /* tagged */
	uint32_t qn, msn;   /* untagged */
	uint8_t rsvdulp[5]; /* RsvdULP as it came: 1 octet tagged, 5 untagged */
	uint8_t flags;	    /* enum xiw_completion_flags */
	uint8_t reserved[6];
};

/*
 * Makes an engine. Which thread runs it is decided by the first call of xiw_engine_run().
 * -EINVAL: opts; -EBADF: app_ring_fd is not an io_uring; -ENAMETOOLONG: pin_dir; -ENOMEM; -EMFILE;
 * -EPERM, -ENOSYS: io_uring is not to be had. opts may be NULL for the defaults.
 */
XIW_API int xiw_engine_create(const struct xiw_engine_opts *opts, struct xiw_engine **engine);

/*
 * Opens now what the direct path needs for connections to the local address @addr, or with a
 * wildcard or NULL on every interface that xiwarp is loaded on, instead of at the first connection
 * there. Everything that takes CAP_NET_RAW, CAP_IPC_LOCK or the right to open the pins happens
 * here: a process that gives those up afterwards, and keeps CAP_NET_ADMIN for its connections, has
 * the direct path on these interfaces. The library itself never changes what a process may do.
 *
 * Returns 0 if an interface is ready. `why` (if not NULL) gets one line if one is not, with cause
 * and remedy; connections there take the kernel's path. -ENOENT: not loaded on any of them;
 * -EUNATCH: one of the two programs is not attached; -EPERM: a capability is missing; -EBUSY:
 * another process serves the interface; -ENOBUFS: the memlock limit;
 * -EUCLEAN: the pins may be somebody else's; -EPROTO: of another version; -ENODEV: no interface has
 * the address; -EOPNOTSUPP: the kernel path was asked for, or the interface cannot.
 */
XIW_API int xiw_engine_prepare(struct xiw_engine *engine, const struct sockaddr *addr, char *why,
			       size_t why_len);

/*
 * Closes abruptly what is still open, hands every flow back to the kernel, ends all that is made
 * from the engine and frees it. Connections, listeners and regions that the application has not
 * freed are still its own: it may free each afterwards, in any order, and until then their
 * functions answer as they do for one that has ended. (One that ends as well need not.) Completions
 * that are queued are gone; no region's memory is touched any more. NULL is fine. Returns 0. In the
 * thread that runs the engine, or in any if nobody ever ran it or that thread has ended;
 * -EEXIST: another thread runs it, and nothing was done.
 */
XIW_API int xiw_engine_destroy(struct xiw_engine *engine);

/*
 * One turn: handles everything that is ready; if nothing is, waits up to timeout_ms (-1: no limit,
 * 0: not at all). Returns the number of completions in the queue, freed connections' included, or
 * negative errno:
 *
 *   -EINTR   a signal came
 *   -EEXIST  another thread has run this engine: run it there. io_uring serves one thread, and an
 *            engine whose thread has ended can only be destroyed
 *   -ENOMEM  for good: there was no memory to keep an event for which the queue had no room, or a
 *            request
 *   others   of MSG_RING, with XIW_ENGINE_APP_RING: doorbells could not be rung in the turns since
 *            the last call. -EBADFD: the ring is disabled; -EBADF, -EOPNOTSUPP: it was closed;
 *            -EOVERFLOW: no room. Everything goes on; their completions are in the queue: take all
 *            that xiw_engine_next() has, whatever CQEs come
 */
XIW_API int xiw_engine_run(struct xiw_engine *engine, int timeout_ms);

/* Doorbells that could not be rung since the engine was created. */
XIW_API uint64_t xiw_engine_doorbells_lost(const struct xiw_engine *engine);

/* What an engine uses. Counters never go back. */
struct xiw_engine_info {
	/* Octets of what xiw_engine_opts.memory limits: now, the most so far, and the limit. */
	uint64_t memory, memory_most, memory_limit;
	uint64_t memory_refused;  /* times that something was not to be had */
	uint64_t unstarted_reset; /* connections reset for others' sake: see max_unstarted */
	uint32_t connections;	  /* until xiw_conn_free() */
	uint32_t unstarted;	  /* of them those that max_unstarted counts */
	/* of them on the kernel's path for want of a slot in the interface's flow table */
	uint32_t slotless;
	uint32_t reserved;
};

/* `size` is sizeof(struct xiw_engine_info). */
XIW_API void xiw_engine_info(const struct xiw_engine *engine, struct xiw_engine_info *info,
			     size_t size);

/*
 * Takes the oldest completion; those of connections and listeners that are freed are passed over.
 * Returns 1, or 0 if there is none.
 */
XIW_API int xiw_engine_next(struct xiw_engine *engine, struct xiw_completion *completion);

XIW_END_DECLS

#endif
