/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xiwarp/group.h - several engines of one process that share the receive queues of an interface, so that as many
 * threads receive, each from queues of its own.
 *
 * The application runs each engine by xiw_engine_run() in a thread of its choice; one thread may run several engines,
 * one after the other. An engine of a group is an engine like any other. Per packet the engines share nothing.
 *
 * Unlike those of an engine, the functions of a group may be called by any thread at any time, also while other threads
 * run the engines. What they ask of an engine is done in its next turns.
 */
#ifndef XIWARP_GROUP_H
#define XIWARP_GROUP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <xiwarp/conn.h>
#include <xiwarp/engine.h>
#include <xiwarp/export.h>
#include <xiwarp/region.h>

XIW_BEGIN_DECLS

#define XIW_GROUP_ENGINES_MAX 64

struct xiw_group;
struct xiw_group_listener;
struct xiw_group_region;

struct xiw_group_opts {
	size_t size; /* sizeof(struct xiw_group_opts) */
	/*
	 * How many engines, at most XIW_GROUP_ENGINES_MAX. 0: one for each receive queue of the interface that has
	 * the programs (of the one with most queues, if there are several), but no more than the CPUs that the
	 * process may use, and no more than max_queues of the engines' options; at least one.
	 */
	unsigned int engines;
	uint32_t reserved; /* 0 */
	/*
	 * The options of every engine; NULL: the defaults. max_unstarted and max_queues are those of all engines
	 * together, memory that of each. queues are those that the engines share. There must not be more engines than
	 * max_queues.
	 */
	const struct xiw_engine_opts *engine;
	/*
	 * Which receive queues each engine serves: bit q of queues[i] stands for queue q and engine i. There are as
	 * many as `engines` says, which then is not 0; each has a queue, and none two engines. NULL: the queues are
	 * dealt out, so that of all of them queue q belongs to engine q modulo `engines`.
	 */
	const uint64_t *queues;
};

/*
 * Makes a group and its engines. opts may be NULL.
 *
 * -EINVAL: opts; others as xiw_engine_create().
 */
XIW_API int xiw_group_create(const struct xiw_group_opts *opts, struct xiw_group **group);

/* The number of engines that the group was made with, and one of them; NULL: that one has been destroyed. */
XIW_API unsigned int xiw_group_engines(const struct xiw_group *group);
XIW_API struct xiw_engine *xiw_group_engine(const struct xiw_group *group, unsigned int i);

/*
 * Calls xiw_engine_prepare() for every engine. To be called before they run. Returns 0 if one is ready; otherwise what
 * xiw_engine_prepare() has returned for the first one. `why` gets the line of the first one that is not ready.
 */
XIW_API int xiw_group_prepare(struct xiw_group *group, const struct sockaddr *addr, char *why,
			      size_t why_len);

/*
 * Destroys the engines that are left, as xiw_engine_destroy() does, and the group with its listeners. Regions that the
 * application has not freed stay its own, as those of an engine do. No other function of the group, its listeners or
 * its regions may be under way in another thread. NULL is fine. Returns 0. -EEXIST: another thread runs one of the
 * engines, or is destroying it; nothing was done.
 *
 * xiw_engine_destroy() takes a single engine out of its group. Its connections end. Another engine takes over its
 * queues within about a second, if the process still has the privilege for it; else connections that come on them take
 * the kernel path. If the thread of an engine ends instead, what the engine has stands still, until any thread calls
 * xiw_engine_destroy() for it.
 */
XIW_API int xiw_group_destroy(struct xiw_group *group);

/*
 * Listens with all engines on one address (Responder). A connection belongs to the engine that serves the receive
 * queue of its SYN, from its first event to its last. Queues are known on the interfaces that xiw_group_prepare() has
 * opened. Elsewhere, and while a flood of SYNs is under way, any engine may get it. Otherwise as xiw_listen();
 * max_unstarted and max_unstarted_peer are divided among the engines, and rounded up; capacity is that of all
 * together. XIW_EV_NOT_ACCEPTED comes from each engine for itself.
 *
 * An engine that ends leaves the connections that it has not accepted yet to the others.
 *
 * -EINVAL, -ENOMEM, -EADDRINUSE and others as xiw_listen(); -ESHUTDOWN: all engines have been destroyed.
 */
XIW_API int xiw_group_listen(struct xiw_group *group, const struct sockaddr *addr, socklen_t len,
			     const struct xiw_conn_opts *opts,
			     struct xiw_group_listener **listener);

/*
 * The steps of xiw_group_listen(): binds the address, so that xiw_group_listener_addr() tells the port, and starts to
 * listen. Nobody can connect before. xiw_group_listener_free() after either of them, also if it
 * has failed to start. If the port is in use, binding it is tried again for a second: the kernel frees that of a
 * process some time after the process has ended.
 *
 * xiw_group_listener_start(): backlog 0: that of the options. Negative errno of listen(2) and others as
 * xiw_group_listen(); -EALREADY: it was started; -ESHUTDOWN: the group was destroyed. After any other error it is bound
 * as before, and may be started again.
 */
XIW_API int xiw_group_listener_bind(struct xiw_group *group, const struct sockaddr *addr,
				    socklen_t len, const struct xiw_conn_opts *opts,
				    struct xiw_group_listener **listener);
XIW_API int xiw_group_listener_start(struct xiw_group_listener *listener, int backlog);

/* The bound address, as getsockname(2). -EBADF: the group was destroyed. */
XIW_API int xiw_group_listener_addr(const struct xiw_group_listener *l,
				    struct sockaddr_storage *addr, socklen_t *len);

/*
 * Frees the listener. Nothing is accepted any more once this has returned, though the port is free only after the next
 * turn of every engine; the connections that were accepted go on. Allowed after xiw_group_destroy(). NULL is fine.
 */
XIW_API void xiw_group_listener_free(struct xiw_group_listener *listener);

/*
 * Connects (Initiator) for whichever engine the peer's segments come to. When the TCP connection is open,
 * XIW_EV_ARRIVED comes from the engine that serves the queue of the peer's SYN-ACK, with the connection, which is that
 * engine's from then on. The application prepares it there (xiw_rdma_attach(), posted receives), and goes on with
 * xiw_conn_accept(), which sends the MPA Request: with the Private Data that it is given, or with those of opts if it
 * is given none. If the queue is not known, as for xiw_group_listen(), or nobody serves it, the engine that has
 * connected keeps the connection. fall_back makes the second TCP connection with the same engine, from a port that
 * leads to its queues. An engine that ends leaves the connections that have not arrived yet to the others.
 *
 * If the connection fails, XIW_EV_REFUSED and XIW_EV_CLOSED come from one of the engines, with a connection that must
 * be freed. If there is no memory for a connection, XIW_EV_REFUSED comes alone, and conn is NULL. All events carry
 * opts->user_data until xiw_conn_set_user_data(). startup_timeout_ms limits the TCP connect, and again the startup that
 * begins with xiw_conn_accept(); the time between is the application's.
 *
 * -EINVAL: opts; -ENOMEM; -ESHUTDOWN: all engines have been destroyed.
 */
XIW_API int xiw_group_connect(struct xiw_group *group, const struct sockaddr *addr, socklen_t len,
			      const struct xiw_conn_opts *opts);

/*
 * Registers memory with all engines, under one STag. opts->conn may name a connection of any of them; the region is
 * then registered with that connection's engine alone. A peer can invalidate only such a region (RFC 5040 section 5.3:
 * the STag must be bound to its stream), so an STag that all engines know is invalidated by the application alone.
 *
 * -EINVAL, -EEXIST, -ENOMEM, -ENOSPC, -EFAULT: as xiw_region_register(); -ESHUTDOWN: all engines have been destroyed.
 */
XIW_API int xiw_group_region_register(struct xiw_group *group, void *addr, size_t len,
				      const struct xiw_region_opts *opts,
				      struct xiw_group_region **region);

XIW_API uint32_t xiw_group_region_stag(const struct xiw_group_region *region);

/* As xiw_region_set_access(), with all engines. It waits for their turns to end, which is microseconds. */
XIW_API int xiw_group_region_set_access(struct xiw_group_region *region, unsigned int access);

/*
 * As xiw_region_free(): once this has returned, no engine places anything in the memory or reads from it. It waits for
 * the turns of the engines to end. NULL is fine.
 */
XIW_API void xiw_group_region_free(struct xiw_group_region *region);

XIW_END_DECLS

#endif
