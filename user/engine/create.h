/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_ENGINE_CREATE_H
#define XIW_ENGINE_CREATE_H

#include <xiwarp/engine.h>

#define XIW_SPIN_MAX_US 1000000u /* the longest spin_us */

/* Copies the options of an engine, without judging them. Returns 0, or -EINVAL for a wrong size. */
int xiw_engine_opts_take(struct xiw_engine_opts *own, const struct xiw_engine_opts *opts);

#endif
