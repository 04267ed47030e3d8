/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_COMMIT_H
#define XIW_PATH_COMMIT_H

#include "core/engine.h"

/* The turn calls these functions for each dirty connection, at the end of a batch. */

/* Writes the connection's counters into its slot, where other processes read them. */
void xiw_counts_publish(const struct xiw_conn *c);

/*
 * Commits what the batch has placed, then sends the ACKs that are due, or notes by xiw_tell_socket() that one waits for
 * the application's answer. Does nothing outside of a stretch.
 */
void xiw_commit(struct xiw_conn *c);

#endif
