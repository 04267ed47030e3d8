/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CORE_TIMER_H
#define XIW_CORE_TIMER_H

#include "core/engine.h"

void xiw_timer_stop(struct xiw_conn *c);
void xiw_timer(struct xiw_conn *c);
/*
 * timer.c: `c` is looked at when its deadline_ms or ack_ms has come. xiw_conn_deadline() is the one way to set a
 * deadline, or to take it away (XIW_LIMIT_NONE): xiw_conn_limit() is called when it has come.
 */
void xiw_conn_deadline(struct xiw_conn *c, enum xiw_limit limit, unsigned int ms);
void xiw_collect_soon(struct xiw_engine *e);
struct xiw_conn *xiw_timer_due(struct xiw_engine *e);
void xiw_timer_wake(struct xiw_engine *e);

#endif
