/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's messages about interfaces; path/watch.c reads them. */
#ifndef XIW_CORE_NEWS_H
#define XIW_CORE_NEWS_H

#include "core/engine.h"

struct ifaddrs;

/* Asks io_uring to report when messages have come, unless it is asked already. */
void xiw_news_poll(struct xiw_engine *e);

/*
 * Opens the socket when the first interface is in use. If that fails, the engine relies on looking at its interfaces
 * every XIW_LOOK_MS.
 */
void xiw_news_begin(struct xiw_engine *e);

/*
 * Gives the host's addresses, until xiw_news_forget() or the next call. While rtnetlink tells of no change they are not
 * asked for again, which costs as much as a third of a connection's startup. Returns 0 or an error.
 */
int xiw_news_addresses(struct xiw_engine *e, const struct ifaddrs **all);
/* A message has come, or the engine ends. */
void xiw_news_forget(struct xiw_engine *e);

/* Asks how soon conntrack forgets. If that has changed, connections show themselves with their next octets. */
void xiw_news_conntrack(struct xiw_engine *e);

#endif
