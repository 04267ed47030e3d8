/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xiwarp.h - MPA (RFC 5044) and DDP (RFC 5041) over TCP, received through XDP and AF_XDP where it can
 * be had, through the kernel's socket everywhere else.
 *
 *   engine.h   the engine: one thread's io_uring, AF_XDP sockets and completion queue
 *   region.h   memory that a peer may write into by STag
 *   conn.h     connections: startup, sending, posted receives, closing, reports
 *   rdmap.h    RDMAP (RFC 5040) on a connection: Send, RDMA Write, RDMA Read, Terminate
 *   load.h     the BPF programs on an interface (needs privilege)
 *   error.h    the RFCs' error numbers
 *   abi.h      what user space and the BPF programs share
 *
 * Thread rules: an engine and everything made from it belong to one thread at a time. Only
 * xiw_engine_next() may run on another thread, one at a time, beside it. xiw_engine_run() belongs
 * to one thread for good, the first that calls it: an engine may be made in one thread, with
 * listeners, connections and regions, and be run in another; all functions but xiw_engine_run() may
 * still be called by any thread then, as long as no two do so at a time. What they ask of the
 * kernel goes out in the next turn. How an engine ends in another thread: xiw_engine_destroy(). No
 * function blocks except xiw_engine_run(), and xiw_engine_destroy() for up to a second.
 *
 * fork(): an engine that nobody has run, and that has not been prepared, may go on in the child
 * (daemon(3)); then the parent calls nothing of it any more. One that has been run stays its
 * process's: in a child xiw_engine_run() and xiw_engine_destroy() are -EEXIST, and nothing else of
 * it may be called. The child has none of its sockets, queues and rings, by pthread_atfork(3), so
 * that they end with the parent, however long the child lives.
 *
 * Lengths are octets; integers are in host byte order.
 *
 * Structures that grow. Option structures begin with `size`, which a caller sets to sizeof of the
 * structure as he has it; members that he does not name are to be zero, which is always the
 * default, and so is NULL in place of a whole structure. Programs built with an older header run
 * with a newer library, which takes what they do not have for zero; those built with a newer header
 * run with an older library as long as what it does not know is zero. Everything else is -EINVAL,
 * in every function that takes options: a size of 0, less than the structure ever had, or above
 * 4096; unknown flags and enumerators; and reserved members that are not zero. Structures that the
 * library fills in come with their size as an argument: a shorter one gets its part, a longer one
 * zeros behind.
 */
#ifndef XIWARP_H
#define XIWARP_H

#include <xiwarp/abi.h>
#include <xiwarp/conn.h>
#include <xiwarp/engine.h>
#include <xiwarp/error.h>
#include <xiwarp/load.h>
#include <xiwarp/rdmap.h>
#include <xiwarp/region.h>

#endif
