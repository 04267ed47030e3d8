/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xiwarp/engine.h - the engine: drives every connection made from it, and reports completions.
 *
 * xiw_engine_next() takes completions from a queue in memory, in one order. With XIW_ENGINE_APP_RING
 * each of them is also announced by a CQE in the application's io_uring `app_ring_fd`
 * (IORING_OP_MSG_RING), with the completion's user_data, and with its length (at most INT_MAX) or a
 * negative errno as res. The CQE is a doorbell, and comes in the next call of xiw_engine_run() at the
 * latest. Take one completion for each CQE. There is none if its connection was freed meanwhile, so
 * only a completion says that what user_data points to still exists. If a doorbell cannot be rung,
 * because the ring is still disabled, for example, or was closed, xiw_engine_run() reports that; the
 * completion stays in the queue. Only an engine whose own ring is an io_uring can do this.
 *
 * Where the kernel refuses io_uring (by seccomp, a sysctl, or because it is older than Linux 6.1), an
 * engine has epoll and calls that do not block in its place. XIWARP_RING=epoll or io_uring in the environment
 * chooses. Nothing else differs.
 *
 * When the queue is full, the engine stops receiving until there is room. No completion is dropped.
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
	XIW_USE_DIRECT = 2, /* establish no connection that cannot go direct */
};

struct xiw_engine_opts {
	size_t size;		 /* sizeof(struct xiw_engine_opts) */
	unsigned int cq_entries; /* power of two, >= 4096; 0: 8192 */
	/*
	 * With XIW_ENGINE_APP_RING: the io_uring in which completions are announced. It stays the
	 * application's. Otherwise 0 or -1.
	 */
	int app_ring_fd;
	enum xiw_use_path path;
	unsigned int frames; /* AF_XDP frames per queue, power of two, >= 256; 0: 8192 */
	/*
	 * Receive window on the direct path, in octets, unless the kernel has offered more: 4 KiB to
	 * 512 MiB; 0: 1 MiB.
	 */
	uint32_t window;
	const char *pin_dir; /* NULL: /sys/fs/bpf/xiwarp */
	unsigned int flags;  /* enum xiw_engine_flags */
	uint32_t reserved;   /* 0 */
	/*
	 * Budget, in octets, of the memory that connections and the behaviour of their peers take:
	 * connections with their queues, incomplete FPDUs, queued messages, out-of-order segments
	 * (partly reserved from the start), and queued events. At least 4 MiB; 0: 512 MiB.
	 *
	 * When it is used up, new connections are refused (-ENOMEM). If an established connection
	 * needs memory, another one whose peer has left something incomplete for two seconds is
	 * ended instead (XIW_EV_CLOSED with -ENOMEM); if there is none, the connection itself.
	 *
	 * Not included: what xiw_engine_create() and each interface take once (about 10 MiB, and
	 * `frames` * 2 KiB per queue, or 4 KiB with zero-copy or an MTU above 1500), regions, and
	 * the kernel's socket buffers.
	 */
	uint64_t memory;
	/*
	 * Limit of connections without a Request, of all listeners together (max_unstarted in
	 * xiwarp/conn.h); 0: 4096, or half of RLIMIT_NOFILE if that is less.
	 */
	unsigned int max_unstarted;
	/*
	 * How long, in microseconds, xiw_engine_run() looks for something to do before it sleeps; 0:
	 * it sleeps at once, but looks for 20 us where messages go to and fro one at a time and the
	 * last sleep was shorter than 50. Meanwhile it takes what no other thread wants of its core, but what comes
	 * is handled sooner, and a thread that calls xiw_engine_wake() or xiw_engine_call() makes no
	 * system call. Never longer than timeout_ms. At most 1 s.
	 */
	uint32_t spin_us;
	/*
	 * Bit q: this engine serves receive queue q of each interface that it uses. 0: every queue
	 * that nobody else has. Engines of one process or of several share an interface by queues,
	 * and only connections whose segments come on a queue of their own engine go direct; a
	 * segment on any other queue takes the kernel path, and the connection with it until its
	 * segments come on the engine's queues again (XIW_REASON_STEERED, or XIW_REASON_NO_XSK if
	 * nobody serves that queue). A queue that another engine or other AF_XDP software has
	 * costs only that queue, and the interface is refused only if there is none left.
	 *
	 * While it runs, the engine looks about once a second for queues that it should serve and
	 * does not, and takes them: those of an engine that has ended, however it ended, and those
	 * that the interface has got meanwhile ('ethtool -L', which cannot take away a queue that
	 * is served). It cannot if the process has given up the privilege for it.
	 */
	uint64_t queues;
	/*
	 * The most queues of each interface that the engine takes, so that others find some; 0: no
	 * limit.
	 */
	uint32_t max_queues;
	uint32_t reserved_end; /* 0 */
	/*
	 * The interface that xiw_engine_prepare() opens for a wildcard, and whose queues decide how many engines a
	 * group has, by any of its names; NULL: all that xiwarp is loaded on.
	 */
	const char *interface;
};

enum xiw_engine_flags {
	/*
	 * Do not verify TCP checksums on the direct path: the interface has done so, or the wire is a
	 * virtual one whose sender leaves them unfinished. (Those of a veth are accepted in any
	 * case.)
	 */
	XIW_ENGINE_TRUST_CHECKSUM = 1 << 0,
	XIW_ENGINE_APP_RING = 1 << 1, /* app_ring_fd is valid, even if it is 0 */
};

enum xiw_event {
	/* Responder: an MPA Request came. Answer with xiw_conn_accept() or xiw_conn_reject(). */
	XIW_EV_REQUEST,
	XIW_EV_CONNECTED, /* MPA startup is complete, both roles */
	/*
	 * Initiator: the peer rejected (its Private Data may say why), or startup failed (status).
	 * XIW_EV_CLOSED follows.
	 */
	XIW_EV_REFUSED,
	XIW_EV_SENT,	 /* TCP has a message's last octet: its buffer may be used again */
	XIW_EV_RECEIVED, /* an untagged message is complete in its posted buffer */
	XIW_EV_WRITTEN,	 /* a tagged message is placed and delivered */
	XIW_EV_FLUSHED, /* a posted buffer or queued message was not used, and is the application's again */
	/*
	 * The incoming stream is in error (xiw_conn_info() says which), and nothing more of it is
	 * delivered. A last message can still be sent (RFC 5044 section 8, RFC 5041 section 7.1).
	 * Then close or abort.
	 */
	XIW_EV_ERROR,
	XIW_EV_EOF,    /* the peer has closed its half at the end of an FPDU */
	XIW_EV_CLOSED, /* always the last event of a connection: call xiw_conn_free() */
	/* Initiator with review_reply: an accepting MPA Reply came. Answer as for XIW_EV_REQUEST. */
	XIW_EV_REPLY,
	XIW_EV_READ,	   /* RDMAP: an RDMA Read is complete, its octets are in the sink */
	XIW_EV_TERMINATED, /* RDMAP: the peer sent a Terminate; XIW_EV_CLOSED follows */
	/*
	 * A listener could not accept a connection. conn is NULL, user_data is the listener's, and
	 * status says why: file descriptors or memory are missing (reported once until it accepts one
	 * again; it goes on trying), or with -EUSERS too many connections have not sent a Request
	 * (reported once until there has been room for as long as a startup may take), or with -EDQUOT a
	 * peer has its share of `capacity` (reported once in as long as a startup may take, by each engine;
	 * xiw_engine_info() says which peer).
	 */
	XIW_EV_NOT_ACCEPTED,
	XIW_EV_ATOMIC, /* RDMAP: an atomic operation is complete; value is what was there before */
	/*
	 * Initiator of a group (xiwarp/group.h): the TCP connection is open and belongs to this engine.
	 * Answer with xiw_conn_accept(), which starts MPA.
	 */
	XIW_EV_ARRIVED,
	XIW_EV_CHANGED, /* RDMAP: the rights of a region have changed as was posted */
	/*
	 * A shared receive queue has fewer buffers than its limit (xiw_srq_set_limit()). conn is NULL,
	 * user_data is the queue's, and length is the number of buffers. status: see XIW_SRQ_TELL_MISSED.
	 */
	XIW_EV_SRQ_LOW,
};

enum xiw_completion_flags {
	/*
	 * XIW_EV_WRITTEN: the message's octets are not contiguous at [to, to + length), because the
	 * peer left gaps or wrote some octets twice (which RFC 5041 section 5.2 does not let DDP
	 * refuse), or because the STag passed to another region meanwhile. length is 0; to is where
	 * the first octet went.
	 */
	XIW_COMPLETION_SCATTERED = 1 << 0,
	/* RDMAP, XIW_EV_RECEIVED: it was a Send with Solicited Event. */
	XIW_COMPLETION_SOLICITED = 1 << 1,
};

/*
 * What a completion is of: an operation of the application, or a buffer that it posted. An interface
 * like libibverbs' makes an ibv_wc_opcode of it: IBV_WC_SEND, _RDMA_WRITE, _RDMA_READ, _RECV.
 */
enum xiw_operation {
	XIW_OPERATION_NONE, /* an event of the connection, or a message of the peer that needs no buffer */
	XIW_OPERATION_SEND,  /* an untagged message, or a Send of any kind */
	XIW_OPERATION_WRITE, /* a tagged message, or an RDMA Write, with or without Immediate Data */
	XIW_OPERATION_READ,  /* an RDMA Read */
	XIW_OPERATION_RECV,  /* a posted buffer */
	XIW_OPERATION_IMMEDIATE,
	XIW_OPERATION_FETCH_ADD,
	XIW_OPERATION_CMP_SWAP,
	XIW_OPERATION_REGISTER, /* IBV_WC_BIND_MW, _LOCAL_INV */
	XIW_OPERATION_LOCAL_INVALIDATE,
	XIW_OPERATION_MAX,
};

/*
 * Why an operation or a posted buffer ended without success (XIW_EV_FLUSHED). The one that ended the
 * stream has the cause: the operation that the peer's Terminate names (RFC 5040 section 4.8; of several
 * Writes to one place the oldest), the Read whose answer was wrong, the buffer whose message was wrong,
 * or the oldest operation if the peer was silent. Sends and Writes before one that the peer's Terminate
 * names have succeeded. All others have XIW_CAUSE_FLUSHED. A Send or Write is complete as soon as TCP
 * has it, so it is often not there any more when the peer refuses it; XIW_EV_TERMINATED has the cause in
 * any case, and xiw_rdma_info() the header of the message. The comments name the ibv_wc_status that means
 * the same.
 */
enum xiw_cause {
	XIW_CAUSE_NONE,		    /* success: IBV_WC_SUCCESS */
	XIW_CAUSE_FLUSHED,	    /* the stream ended before it was done: IBV_WC_WR_FLUSH_ERR */
	XIW_CAUSE_LOCAL_LENGTH,	    /* a Send longer than its buffer came: IBV_WC_LOC_LEN_ERR */
	XIW_CAUSE_LOCAL_PROTECTION, /* our memory for it is not there any more: IBV_WC_LOC_PROT_ERR */
	XIW_CAUSE_LOCAL_ACCESS, /* a Send came that may not do what it asks for: IBV_WC_LOC_ACCESS_ERR */
	XIW_CAUSE_BAD_RESPONSE, /* the answer is not what was asked for: IBV_WC_BAD_RESP_ERR */
	XIW_CAUSE_REMOTE_INVALID, /* the peer found it malformed or too long: IBV_WC_REM_INV_REQ_ERR */
	XIW_CAUSE_REMOTE_ACCESS, /* the peer's memory may not be accessed so: IBV_WC_REM_ACCESS_ERR */
	XIW_CAUSE_REMOTE_OPERATION, /* the peer could not do it: IBV_WC_REM_OP_ERR */
	XIW_CAUSE_TIMEOUT,	    /* the peer was silent for too long: IBV_WC_RETRY_EXC_ERR */
	XIW_CAUSE_NOT_READY,	    /* the peer had no buffer for it: IBV_WC_RNR_RETRY_EXC_ERR */
	XIW_CAUSE_MAX,
};

/* A few words for each, never NULL; static storage. */
XIW_API const char *xiw_operation_name(enum xiw_operation operation);
XIW_API const char *xiw_cause_name(enum xiw_cause cause);

struct xiw_completion {
	uint64_t user_data; /* of the message or buffer; of the connection for its own events */
	struct xiw_conn *conn;
	enum xiw_event event;
	int32_t status;	 /* 0 or negative errno */
	uint64_t length; /* octets of the message; see XIW_COMPLETION_SCATTERED */
	union {
		uint64_t to;	/* tagged: of the first octet; 0 if the message is empty */
		uint64_t value; /* XIW_EV_ATOMIC, and Immediate Data (xiwarp/rdmap.h) */
	};
	uint32_t stag;	    /* tagged */
	uint32_t qn, msn;   /* untagged */
	uint8_t rsvdulp[5]; /* RsvdULP as received: 1 octet tagged, 5 untagged */
	uint8_t flags;	    /* enum xiw_completion_flags */
	uint8_t op;	    /* enum xiw_operation */
	uint8_t cause; /* enum xiw_cause; of events of a connection only XIW_EV_TERMINATED has one */
	uint8_t reserved[4];
};

/*
 * Makes an engine. It belongs to the thread that first calls xiw_engine_run(). opts may be NULL for
 * the defaults.
 *
 * -EINVAL: opts, or XIWARP_RING; -EBADF: app_ring_fd is not an io_uring; -EOPNOTSUPP: XIW_ENGINE_APP_RING,
 * and the engine has no io_uring (xiw_engine_fd() and the descriptors of queues tell of completions);
 * -ENAMETOOLONG: pin_dir, interface; -ENOMEM; -EMFILE; -EPERM, -ENOSYS: XIWARP_RING is io_uring, which is
 * not available.
 */
XIW_API int xiw_engine_create(const struct xiw_engine_opts *opts, struct xiw_engine **engine);

/*
 * Opens what the direct path needs now instead of at the first connection: for connections to the
 * local address @addr, or with a wildcard or NULL on every interface that xiwarp is loaded on, or on
 * the one that the options name.
 * Everything that takes CAP_NET_RAW, CAP_IPC_LOCK or the right to open the pins happens here. A
 * process that gives those up afterwards and keeps CAP_NET_ADMIN still has the direct path on these
 * interfaces. The library itself never changes the privilege of the process.
 *
 * Returns 0 if an interface is ready. If one is not, `why` (if not NULL) gets one line with cause and
 * remedy; connections there take the kernel path. It also tells which queues the engine should serve
 * and cannot, as others have them.
 *
 * -ENOENT: not loaded on any of them; -EUNATCH: one of the two programs is not attached; -EPERM: a
 * capability is missing; -EBUSY: other engines or programs have all queues; -ENXIO: the interface has
 * none of the queues that the engine is to serve; -ENOBUFS: the memlock limit;
 * -EUCLEAN: the pins may be somebody else's; -EPROTO: the pins are of another version; -ENODEV: no
 * interface has the address; -EOPNOTSUPP: the kernel path was asked for, or the interface has no
 * direct path.
 */
XIW_API int xiw_engine_prepare(struct xiw_engine *engine, const struct sockaddr *addr, char *why,
			       size_t why_len);

/*
 * The queues of the interface that the engine serves now, by bits; 0: it does not use the interface.
 * To be called in the thread that runs the engine.
 */
XIW_API uint64_t xiw_engine_queues(const struct xiw_engine *engine, const char *ifname);

/*
 * Resets the connections that are still open, gives every flow back to the kernel, ends all objects
 * that were made from the engine, and frees the engine. Queued completions are lost. No region's
 * memory is touched any more. NULL is fine.
 *
 * Connections, listeners and regions that the application has not freed stay its own: it may free
 * them afterwards, in any order, and until then their functions answer as for an object that has
 * ended. (A process that ends need not free them.)
 *
 * To be called in the thread that runs the engine, or in any thread if nobody ever ran it or that
 * thread has ended. Returns 0. -EEXIST: another thread runs it; nothing was done.
 */
XIW_API int xiw_engine_destroy(struct xiw_engine *engine);

/*
 * One turn: handles everything that is ready. If nothing is, waits up to timeout_ms milliseconds (-1:
 * no limit, 0: does not wait). xiw_engine_wake() and xiw_engine_call() end a wait, as do
 * completions, in whichever queue. Returns the number of completions in the engine's own queue, those of
 * freed connections included, or negative errno:
 *
 *   -EINTR   a signal came
 *   -EEXIST  another thread has run this engine, and must go on to run it: a ring serves one
 *            thread. If that thread has ended, the engine can only be destroyed
 *   -ENOMEM  permanent: there was no memory for a request, or for an event while the queue was full
 *   others   of MSG_RING, with XIW_ENGINE_APP_RING: doorbells could not be rung in the turns since
 *            the last call. -EBADFD: the ring is disabled; -EBADF, -EOPNOTSUPP: it was closed;
 *            -EOVERFLOW: it has no room. Everything goes on, and the completions are in the queue:
 *            take all that xiw_engine_next() has, whatever CQEs come
 */
XIW_API int xiw_engine_run(struct xiw_engine *engine, int timeout_ms);

/*
 * Replaces spin_us of the options from the next xiw_engine_run() on: for a program that looks for a while only when
 * it has reason to. To be called in the thread that runs the engine. More than 1 s is 1 s.
 */
XIW_API void xiw_engine_set_spin(struct xiw_engine *engine, uint32_t spin_us);

/*
 * Returns a descriptor by which a program with a loop of its own (epoll, poll, select, libuv, GLib)
 * waits for the engine: it is readable when the engine has something to do, be it frames, octets of
 * sockets, a timer, xiw_engine_wake() or xiw_engine_call().
 *
 *	for (;;) {
 *		epoll_wait(...);                      other descriptors are handled here
 *		while (xiw_engine_run(engine, 0) > 0)
 *			while (xiw_engine_next(engine, &completion) > 0)
 *				...
 *	}
 *
 * After xiw_engine_run(engine, 0) has returned 0, nothing is left to do, and the descriptor becomes
 * readable with the next event. Whoever calls other functions of the engine after that calls
 * xiw_engine_run(engine, 0) again before waiting, as it gives the kernel what they ask for. When it
 * returns something else, the descriptor is or becomes readable as well, if there is more to do, but
 * edge-triggered epoll (EPOLLET) may not report that: with it, the loop above is needed. After an
 * error, xiw_engine_run(engine, 0) is to be called again.
 *
 * One call of xiw_engine_run(engine, 0) then makes up to 16 turns while it finds work and has no
 * completions. It arms what the descriptor reports only when it finds nothing to do, so a busy engine
 * makes no more system calls than without. The descriptor may be readable although there is nothing
 * to do. It belongs to the engine: it is only to be polled, and is closed by xiw_engine_destroy().
 *
 * -EEXIST: another thread runs the engine (the first call must be in that thread, or come before
 * anybody runs it); -EMFILE, -ENFILE, -ENOMEM.
 */
XIW_API int xiw_engine_fd(struct xiw_engine *engine);

/*
 * Makes the engine's thread come back from xiw_engine_run(): a call that waits returns soon, and if
 * there is none, the next one does not wait. What the caller wrote before is seen by the engine's
 * thread then. No call is lost; several may have the effect of one. While the engine does not
 * sleep, this is one atomic operation and no system call.
 *
 * Any thread, and a signal handler, may call it at any time between xiw_engine_create() and
 * xiw_engine_destroy().
 */
XIW_API void xiw_engine_wake(struct xiw_engine *engine);

/* The library's part of a call. */
struct xiw_note {
	struct xiw_note *next;
	void (*run)(struct xiw_engine *engine, struct xiw_note *note);
};

/*
 * A function for the engine's thread to call. The caller provides the memory, mostly as a member of
 * a structure of its own, from which the function learns what it has to do.
 */
struct xiw_call {
	/*
	 * Runs in the engine's thread, within xiw_engine_run(), and may call every function of the
	 * engine except xiw_engine_run() and xiw_engine_destroy(): post operations, accept, close
	 * and free connections. status is 0.
	 *
	 * If the engine is destroyed first, it runs within xiw_engine_destroy() with a status of
	 * -ECANCELED, and may only use memory of its own: it must call no function of the engine.
	 *
	 * The call is the application's again when the function begins. The function may free it,
	 * or hand it over again; it then runs in the turn after this one.
	 */
	void (*run)(struct xiw_engine *engine, struct xiw_call *call, int status);
	struct xiw_note note; /* need not be set */
};

/*
 * Hands a call to the engine, from any thread (not from a signal handler, unless the call's memory
 * is safe there). The engine's thread runs it in its next turn, once, after all calls that were
 * handed over before; it wakes up for it as by xiw_engine_wake(). Until then the call belongs to
 * the library, and must not be handed over again. An engine that nobody runs keeps its calls. This
 * takes no memory and no lock, and does not fail for want of anything.
 *
 * Returns 0. -ECANCELED: the engine is being destroyed; the call is not run, and stays the
 * application's. This function, like xiw_engine_wake(), uses the engine until it has returned, so
 * xiw_engine_destroy() must not return before it: a call that asks for the engine's end does not say
 * that whoever handed it over is out of this function.
 */
XIW_API int xiw_engine_call(struct xiw_engine *engine, struct xiw_call *call);

/* Doorbells that could not be rung since the engine was created. */
XIW_API uint64_t xiw_engine_doorbells_lost(const struct xiw_engine *engine);

/* What an engine uses. The counters never go back. */
struct xiw_engine_info {
	/* The budget of xiw_engine_opts.memory, in octets: in use, the most so far, and its size. */
	uint64_t memory, memory_most, memory_limit;
	uint64_t memory_refused;  /* how often it was exhausted */
	uint64_t unstarted_reset; /* connections reset in favour of others: see max_unstarted */
	uint32_t connections;	  /* that are not freed */
	uint32_t unstarted;	  /* of these, those that max_unstarted counts */
	/*
	 * of these, those on the kernel path because the interface's flow table is full, or their peer has its
	 * share of it
	 */
	uint32_t slotless;
	uint32_t reserved;
	uint64_t queued; /* completions in its own queue that are not taken yet */
	uint32_t cqs;	 /* completion queues that the application has made of it (cq.h) */
	uint32_t srqs;	 /* shared receive queues (srq.h) */
	uint64_t share_refused; /* connections refused because their peer has its share: see `capacity` in conn.h */
	struct sockaddr_storage share_peer; /* the peer of which XIW_EV_NOT_ACCEPTED told last with -EDQUOT */
	/*
	 * The ring by which it has the kernel's answers: "io_uring" or "epoll", static storage. Why it is
	 * epoll: what the kernel refused, as "io_uring_setup: Operation not permitted", or that XIWARP_RING says
	 * so; empty if it is io_uring.
	 */
	const char *ring;
	char ring_why[96];
};

/* `size` is sizeof(struct xiw_engine_info). */
XIW_API void xiw_engine_info(const struct xiw_engine *engine, struct xiw_engine_info *info,
			     size_t size);

/*
 * Takes the oldest completion, but none of a freed connection or listener. Returns 1, or 0 if there is
 * none.
 */
XIW_API int xiw_engine_next(struct xiw_engine *engine, struct xiw_completion *completion);

XIW_END_DECLS

#endif
