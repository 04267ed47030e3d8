/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What serve, put, sink, rping and perf share: their engine, and the privilege that it needs. */
#ifndef XIW_TOOL_ENDPOINT_H
#define XIW_TOOL_ENDPOINT_H

#include <stdbool.h>
#include <xiwarp/conn.h>
#include <xiwarp/engine.h>
#include <xiwarp/group.h>

#include "args.h"

/* Makes an engine as the options say, for this path; on failure prints a line and returns an exit code. */
int xiw_endpoint_open(const struct xiw_args *args, enum xiw_use_path path,
		      struct xiw_engine **engine);
/* The same for a group of engines, as many as --threads says. */
int xiw_endpoint_open_group(const struct xiw_args *args, struct xiw_group **group);
/*
 * Does everything that takes privilege, for connections of the local address `addr` or (NULL) any, and gives up the
 * capabilities that the command does not keep. `output_dir` is where the command will make files; NULL: nowhere. Prints
 * the reason if there is no direct path. Returns 0, or an exit code if the options do not allow to go on.
 */
int xiw_endpoint_prepare(const struct xiw_args *args, struct xiw_engine *engine,
			 const struct sockaddr *addr, const char *output_dir);
/*
 * The same for a group, in two steps: a server begins to listen between them, when every engine has its queues and the
 * privilege for a port below 1024 is still there. `direct` is what the first has found, and what the second is given.
 */
int xiw_endpoint_ready_group(const struct xiw_args *args, struct xiw_group *group,
			     const struct sockaddr *addr, const char *output_dir, bool *direct);
int xiw_endpoint_drop(const struct xiw_args *args, bool direct, const char *output_dir);
/* Sets the limits of a connection so that a peer that vanished is noticed within --peer-timeout. */
void xiw_endpoint_limits(const struct xiw_args *args, struct xiw_conn_opts *opts);
/* One turn of the engine, which waits up to `wait_ms`. On failure prints a line and returns an exit code. */
int xiw_endpoint_turn(struct xiw_engine *engine, int wait_ms);

#endif
