/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The flow table of one interface: the pinned maps, mapped into memory, and their slots. Processes share a table; a
 * slot belongs to the engine whose number it carries, as long as that engine lives.
 */
#ifndef XIW_HANDOFF_TABLE_H
#define XIW_HANDOFF_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include <xiwarp/abi.h>

#include "handoff/slots.h"

struct xiw_table {
	int flows_fd, taken_fd, index_fd, queues_fd, xsks_fd;
	int socket_fd; /* the program xiw_socket */
	int arrivals_fd, obstacles_fd;
	int egress_fd; /* the link that holds xiw_egress; negative: it is a filter of clsact, or others put it there */
	int dir_fd;		/* where the programs and maps are pinned; locked by this engine */
	uint32_t me;		/* this engine's number */
	struct xiw_flow *flows; /* `nflows`, shared with BPF */
	struct xiw_queue *queues;	/* XIW_MAX_QUEUES, shared with BPF */
	struct xiw_obstacle *obstacles; /* XIW_OBSTACLES, shared with other processes */
	uint64_t *taken;		/* a bit for each slot, shared with other processes */
	uint32_t nflows;		/* as the table was loaded */
	uint32_t hint;			/* where to look for a free slot */
	struct xiw_slot_lists lists;	/* slots that this engine collects */
	uint32_t next;			/* the one of XIW_SLOTS_LEFT that is asked for next */
	uint64_t
		gather_ms; /* when it may look for slots that others have left, if the table is full */
};

/*
 * Opens the pins in @dir and maps them. -ENOENT: not loaded; -EPERM; -EPROTO: the maps are of another
 * version of xiwarp.
 */
int xiw_table_open(struct xiw_table *t, const char *dir);
void xiw_table_close(struct xiw_table *t);

/* Closes its descriptors alone, in a child process, which has no mappings. */
void xiw_table_shut(struct xiw_table *t);

/*
 * Finds or makes the slot for a connection and claims it for this engine. A slot that an earlier connection with the
 * same addresses has left keeps its skew: its numbers may still be translated, and a connection that followed it
 * without being registered uses that skew as well. Returns the index and sets *skew; the path of a new slot is NONE.
 * -ENOSPC: the table is full; -EBUSY: a living engine has the slot.
 */
int xiw_table_claim(struct xiw_table *t, const struct xiw_flow_key *key, uint32_t *skew);

/* A table that is not open, which may be closed. */
void xiw_table_none(struct xiw_table *t);

/* Puts the slot into the index: from here on BPF finds it. */
int xiw_table_insert(struct xiw_table *t, uint32_t index);

/* Takes the slot out of the index and frees it. The kernel has no such connection any more. */
void xiw_table_remove(struct xiw_table *t, uint32_t index);

/*
 * The same for a connection with skew 0, whose socket needs no slot even if the kernel keeps it for long. Nobody else
 * gets the slot before the next collection, as frames that name it may be on their way.
 */
void xiw_table_retire(struct xiw_table *t, uint32_t index);

/*
 * Leaves the slot to be collected when the kernel has finished the connection. Its numbers are translated until then.
 */
void xiw_table_abandon(struct xiw_table *t, uint32_t index);

/*
 * The first slot from @from on that is taken, or `nflows`. All of them cost time for those that are taken, not for all
 * that there are.
 */
uint32_t xiw_table_next(const struct xiw_table *t, uint32_t from);

/*
 * Frees slots that were abandoned, or whose engine is gone, once their connection is gone too. Returns their number.
 * For an engine that begins: it looks at all slots that are taken. Those that it does not free are left to
 * xiw_table_collect_some().
 */
unsigned int xiw_table_collect(struct xiw_table *t);

/*
 * The table is full: frees the oldest abandoned slot whose connection is gone or in TIME-WAIT. In TIME-WAIT both sides
 * have every octet. If the last acknowledgement was lost and the peer sends its FIN again, it gets an untranslated
 * answer that it does not understand, and its socket ends a little later. At most once a second it also looks for slots
 * that engines which have ended did not collect. False: there is no such slot among the oldest few.
 */
bool xiw_table_make_room(struct xiw_table *t, uint64_t now_ms);

/*
 * Frees slots that this engine has retired, and those that it has abandoned or found abandoned, once their connection
 * is gone. It makes at most @most requests to the kernel, and goes on where the last call ended. True if some are left.
 */
bool xiw_table_collect_some(struct xiw_table *t, unsigned int most);

/* Takes the note of the queue on which the connection's SYN has come. False: there is none. */
bool xiw_table_arrival(const struct xiw_table *t, const struct xiw_flow_key *key, uint32_t *queue);

/*
 * Gives the streams of engines that do not live to the kernel: nobody takes their frames any more, whatever state a
 * process that died, or is a zombie, has left its flows in.
 */
void xiw_table_take_over(struct xiw_table *t);

/* Does another engine of the interface live? @dir_fd: the directory of the pins, opened by the one who asks. */
bool xiw_engine_lives_at(int dir_fd, uint32_t engine);

#endif
