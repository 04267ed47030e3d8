/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_OPTS_H
#define XIW_CONN_OPTS_H

#include "core/engine.h"

/*
 * Copies the application's options, of whatever size, checks them and fills in the defaults. Returns 0 or
 * -EINVAL.
 */
int xiw_conn_opts_take(struct xiw_conn_opts *own, const struct xiw_conn_opts *theirs,
		       bool initiator);

#endif
