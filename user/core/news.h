/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CORE_NEWS_H
#define XIW_CORE_NEWS_H

#include "core/engine.h"

void xiw_news_poll(struct xiw_engine *e);
void xiw_news_begin(struct xiw_engine *e);

#endif
