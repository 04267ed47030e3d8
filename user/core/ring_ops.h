/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a kind of ring does for core/ring.c. Each of these functions makes a system call, or stands for one. Requests
 * and completions are those of io_uring with every kind, so all others use e->io.ring by liburing's inline functions.
 */
#ifndef XIW_CORE_RING_OPS_H
#define XIW_CORE_RING_OPS_H

#include <errno.h>

#include "core/engine.h"

#define XIW_CQ_ENTRIES 4096u /* of the ring */

struct xiw_ring_ops {
	const char *name;
	/* A request can put a completion in a ring of the application's. */
	bool app_rings;
	/* Creates e->io.ring, which serves nobody yet. If it fails, *call is what the kernel has refused. */
	int (*create)(struct xiw_engine *e, const char **call);
	/* Takes the provided buffers of e->io.bufs from now on. */
	int (*use_bufs)(struct xiw_engine *e);
	/* The calling thread is the one that it serves from now on. */
	int (*enable)(struct xiw_engine *e);
	/* As xiw_ring_submit() and so on, without regard to requests that wait in line. */
	int (*submit)(struct xiw_engine *e);
	int (*submit_and_get)(struct xiw_engine *e);
	int (*submit_and_wait)(struct xiw_engine *e, struct __kernel_timespec *ts);
	int (*wait)(struct xiw_engine *e, struct __kernel_timespec *ts);
	/* As xiw_ring_waited(); NULL: nothing is to be done. */
	int (*fetch)(struct xiw_engine *e);
	/* As xiw_ring_forget(); NULL: nothing is to be done. */
	void (*forget)(const struct xiw_engine *e, int fd);
	/* Writes to the eventfd `fd` for completions. Returns the descriptor to poll. */
	int (*announce)(struct xiw_engine *e, int fd);
	/* Closes its descriptors in the child of a fork(), and nothing else. */
	void (*shut)(struct xiw_engine *e);
	void (*free)(struct xiw_engine *e);
};

/* Is `err` what a seccomp profile, another security module or a kernel without the call says? */
static inline bool xiw_ring_forbidden(int err)
{
	return err == -EPERM || err == -EACCES || err == -ENOSYS;
}

extern const struct xiw_ring_ops xiw_uring_ops, xiw_soft_ops;

#endif
