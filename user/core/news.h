/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's messages about interfaces; path/watch.c reads them. */
#ifndef XIW_CORE_NEWS_H
#define XIW_CORE_NEWS_H

#include "core/engine.h"

/* Asks io_uring to report when messages have come, unless it is asked already. */
void xiw_news_poll(struct xiw_engine *e);

/*
 * Opens the socket when the first interface is in use. If that fails, the engine relies on looking at its interfaces
 * every XIW_LOOK_MS.
 */
void xiw_news_begin(struct xiw_engine *e);

/* Asks how soon conntrack forgets. If that has changed, connections show themselves with their next octets. */
void xiw_news_conntrack(struct xiw_engine *e);

#endif
