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
struct xiw_group_region;

struct xiw_group_opts {
	size_t size; /* sizeof(struct xiw_group_opts) */
	/*
	 * How many engines, at most XIW_GROUP_ENGINES_MAX. 0: one for each receive queue of the interface that has
	 * the programs (of the one with most queues, if there are several), but no more than the CPUs that the
	 * process may use; at least one.
	 */
	unsigned int engines;
	uint32_t reserved; /* 0 */
	/*
	 * The options of every engine; NULL: the defaults. max_unstarted is that of all engines together, memory
	 * that of each.
	 */
	const struct xiw_engine_opts *engine;
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
 * Calls xiw_engine_prepare() for every engine. To be called before they run. Returns 0 if all are ready; otherwise what
 * xiw_engine_prepare() has returned for the first one that is not, with its line in `why`.
 */
XIW_API int xiw_group_prepare(struct xiw_group *group, const struct sockaddr *addr, char *why,
			      size_t why_len);

/*
 * Destroys the engines that are left, as xiw_engine_destroy() does, and the group with its listeners. Regions that the
 * application has not freed stay its own, as those of an engine do. NULL is fine. Returns 0. -EEXIST: another thread
 * runs one of the engines; nothing was done.
 *
 * xiw_engine_destroy() takes a single engine out of its group. Its connections end; those that come on its queues later
 * are served by the others, on the kernel path.
 */
XIW_API int xiw_group_destroy(struct xiw_group *group);

/*
 * Registers memory with all engines, under one STag. opts->conn may name a connection of any of them; the region is
 * then registered with that connection's engine alone. A peer can invalidate only such a region (RFC 5040 section 5.3:
 * the STag must be bound to its stream), so an STag that all engines know is invalidated by the application alone.
 *
 * -EINVAL, -EEXIST, -ENOMEM, -ENOSPC: as xiw_region_register(); -ESHUTDOWN: all engines have been destroyed.
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
