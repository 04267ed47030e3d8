/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xiwarp.h - MPA (RFC 5044) and DDP (RFC 5041) over TCP, received through XDP and AF_XDP where that is
 * possible and through the kernel's socket everywhere else.
 *
 *   engine.h   the engine: one thread's ring, AF_XDP sockets and completion queue
 *   group.h    several engines, a thread for each, that share an interface's queues
 *   cq.h       more completion queues, for RDMAP Streams
 *   region.h   memory that a peer may write into by STag
 *   conn.h     connections: startup, sending, posted receives, closing, reports
 *   rdmap.h    RDMAP (RFC 5040) on a connection: Send, RDMA Write, RDMA Read, Terminate
 *   srq.h      receive queues that several RDMAP Streams share
 *   load.h     the BPF programs on an interface (needs privilege)
 *   error.h    the RFCs' error numbers
 *   abi.h      what user space and the BPF programs share
 *
 * Units. Lengths are octets; integers are in host byte order unless a comment says otherwise.
 *
 * Threads. An engine and everything made from it may be used by one thread at a time. Only
 * xiw_engine_next(), xiw_cq_next() and xiw_cq_arm() may run on other threads beside it, one at a time
 * for each queue, and xiw_engine_wake() and xiw_engine_call() on any number of threads. By
 * xiw_engine_call() a thread that does not run the engine has a function called in the thread that does,
 * which needs no lock; that is how any thread posts operations at any time. xiw_engine_run() belongs to
 * the first thread that calls it, for good: an engine, with listeners, connections and regions, may be
 * made in one thread and run in another. All other functions may still be called by any thread then,
 * as long as no two do so at a time; what they ask of the kernel goes out in the next turn.
 * The functions of a group (xiwarp/group.h) may be called by any number of threads.
 * xiw_engine_destroy() says how an engine ends in another thread. No function blocks except
 * xiw_engine_run(), and xiw_engine_destroy() for up to a second.
 *
 * fork(). An engine that nobody has run or prepared may go on in the child (daemon(3)); then the
 * parent must not call any of its functions again. An engine that has been run belongs to its process:
 * in a child xiw_engine_run() and xiw_engine_destroy() return -EEXIST, and no other function may be
 * called. By pthread_atfork(3) the child has none of its sockets, queues and rings, so that they end
 * with the parent, however long the child lives. The exceptions are sockets that were accepted and of
 * which no event has told yet, and sockets on their way from one engine of a group to another: the
 * child may keep these until it ends or calls execve(2).
 *
 * Structures that grow. An option structure begins with `size`, which the caller sets to sizeof of the
 * structure as it was compiled. Members that the caller does not set are zero, which is always the
 * default, as is NULL instead of a structure. A program built with an older header runs with a newer
 * library, which takes the members that the program does not have as zero. A program built with a
 * newer header runs with an older library as long as the members that the library does not know are
 * zero. Every function that takes options returns -EINVAL for anything else: a size of 0, below that
 * of the first release, or above 4096; unknown flags and enumerators; reserved members that are not
 * zero. A structure that the library fills in comes with its size as an argument: a shorter one gets
 * its part, a longer one is filled up with zeros.
 */
#ifndef XIWARP_H
#define XIWARP_H

#include <xiwarp/abi.h>
#include <xiwarp/conn.h>
#include <xiwarp/cq.h>
#include <xiwarp/engine.h>
#include <xiwarp/error.h>
#include <xiwarp/group.h>
#include <xiwarp/load.h>
#include <xiwarp/rdmap.h>
#include <xiwarp/region.h>
#include <xiwarp/srq.h>

#endif
