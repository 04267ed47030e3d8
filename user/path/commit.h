/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_COMMIT_H
#define XIW_PATH_COMMIT_H

#include "core/engine.h"

/* settle.c: once a turn, for each dirty connection */
void xiw_counts_publish(const struct xiw_conn *c);
void xiw_commit(struct xiw_conn *c);
void xiw_feedback_flush(struct xiw_conn *c);

#endif
