/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The flow table of one interface: the pinned maps, mapped into memory, and the slots in it. Processes
 * share a table; a slot belongs to the engine whose number it carries, for as long as that lives.
 */
#ifndef XIW_HANDOFF_TABLE_H
#define XIW_HANDOFF_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <xiwarp/abi.h>

struct xiw_table {
	int flows_fd, index_fd, queues_fd, xsks_fd;
	int socket_fd;		      /* the program xiw_socket */
	int dir_fd;		      /* where they are pinned, with this engine's lock */
	uint32_t me;		      /* whose slots are this engine's */
	struct xiw_flow *flows;	      /* XIW_MAX_FLOWS, shared with BPF */
	struct xiw_queue *queues;     /* XIW_MAX_QUEUES, shared with BPF */
	uint32_t hint;		      /* where to look for a free slot */
	uint32_t next;		      /* where to look for abandoned ones */
	uint64_t leaves;	      /* slots abandoned so far */
	uint64_t left[XIW_MAX_FLOWS]; /* which of them this slot was; 0: another process left it */
};

/*
 * Opens the pins in @dir and maps them. -ENOENT: not loaded; -EPERM; -EPROTO: the maps are of another
 * version of xiwarp.
 */
int xiw_table_open(struct xiw_table *t, const char *dir);
void xiw_table_close(struct xiw_table *t);

/* Closes its descriptors alone: in a child, which has no mappings. */
void xiw_table_shut(struct xiw_table *t);

/*
 * Finds or makes the slot for a connection and claims it for this process. A slot that an earlier
 * connection with the same addresses left behind keeps its skew: the kernel may still be translating for
 * that one, and a connection that followed it without being registered lives under that skew as well.
 * Returns the index, *skew is set; the slot's path is NONE for a new one. -ENOSPC: table full;
 * -EBUSY: a living process has it.
 */
int xiw_table_claim(struct xiw_table *t, const struct xiw_flow_key *key, uint32_t *skew);

/* A table that is not open; closing it is fine. */
void xiw_table_none(struct xiw_table *t);

/* Puts the slot into the index: from here on BPF finds it. */
int xiw_table_insert(struct xiw_table *t, uint32_t index);

/* Takes the slot out of the index and frees it: the kernel has no such connection any more. */
void xiw_table_remove(struct xiw_table *t, uint32_t index);

/*
 * The same for a connection whose numbers are the wire's (skew 0), so that its socket needs no slot, ever so long
 * as the kernel keeps it. Nobody else has the slot before the next collection: frames may be on their way that name it.
 */
void xiw_table_retire(struct xiw_table *t, uint32_t index);

/* Leaves the slot to be collected when the kernel is done with the connection. Translation goes on. */
void xiw_table_abandon(struct xiw_table *t, uint32_t index);

/*
 * Removes slots whose process is gone, or that were abandoned, and whose connection is gone too.
 * Returns how many. Slow: one netlink question per abandoned slot.
 */
int xiw_table_collect(struct xiw_table *t);

/*
 * The table is full: gives up the oldest abandoned slot whose connection is gone, or is in TIME-WAIT. There both
 * sides have every octet; without translation a FIN that the peer sends again, since the last acknowledgement was
 * lost, finds an answer that it does not understand, and its socket goes a little later. False: there is none among
 * the oldest few.
 */
bool xiw_table_make_room(struct xiw_table *t);

/*
 * The same for those that were abandoned, with `most` questions at most, going on where the last call ended.
 * True if there are some left.
 */
bool xiw_table_collect_some(struct xiw_table *t, unsigned int most);

/*
 * Gives every stream to the kernel, for whoever has just bound all queues of the interface: nobody else can take
 * frames any more, whatever a process that died, or waits as a zombie for its parent, has left its flows in.
 */
void xiw_table_take_over(struct xiw_table *t);

/* Fills a key from socket addresses of one family. */
void xiw_flow_key_set(struct xiw_flow_key *key, const struct sockaddr_storage *remote,
		      const struct sockaddr_storage *local);

#endif
