/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_OPTS_H
#define XIW_CONN_OPTS_H

#include "core/engine.h"

/* opts.c: from the application's, of whatever size, to complete ones; -EINVAL */
int xiw_conn_opts_take(struct xiw_conn_opts *own, const struct xiw_conn_opts *theirs,
		       bool initiator);

#endif
